//! The parameters of a mirrored pair.

use super::destage::DestageConfig;
use super::routing::Routing;
use crate::device::Failure;
use crate::sched::{Knowledge, PolicyConfig};
use crate::stack::{BoxedDevice, InsufficientKnowledge};
use crate::units::{Lbn, SectorCount};

/// The parameters of a mirrored pair. By default, reads are routed in turn, and queues are FCFS.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MirrorConfig {
    /// The order in which each member serves the commands that wait for it.
    pub policy: PolicyConfig,
    /// The queues in which reads wait.
    pub reads: ReadDispatch,
    /// The copies that a write waits for.
    pub writes: WriteCompletion,
    /// If given, the second member holds units of this many blocks, at least one, in the opposite
    /// order. An incomplete unit at the end of the device keeps its position.
    pub transposed: Option<SectorCount>,
    /// The rules by which writes wait for the members; with `None`, they do not wait. Requires a
    /// shared queue, and writes that complete with both copies.
    pub destaging: Option<DestageConfig>,
    /// The members that fail, each at most once.
    pub failures: Vec<Failure>,
    /// The rebuild of the first failed member on a spare.
    pub rebuild: Option<RebuildConfig>,
    /// The seed of a random routing.
    pub seed: u64,
}

/// The rebuild of a failed member of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RebuildConfig {
    /// The share of time during which the rebuild is in progress, above 0 and at most 1.
    pub share_fraction: f64,
    /// The number of blocks that a step reads and writes, from 1 to [`Request::MAX_SECTORS`].
    pub unit: SectorCount,
}

/// The queues in which reads wait until a member serves them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadDispatch {
    /// One queue for both members.
    Shared,
    /// One queue from which each member takes the reads of its half (liu05 sections 7.2.1, 7.5).
    Divided {
        /// The first block of the second member's half.
        pivot: Lbn,
        /// A member without waiting commands takes a read of the other half if more than this many
        /// commands wait for the other member; with `None`, it never does.
        relaxed: Option<u64>,
    },
    /// The queue of one member.
    Routed(Routing),
}

impl Default for ReadDispatch {
    fn default() -> Self {
        Self::Routed(Routing::default())
    }
}

/// The copies that a write waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteCompletion {
    /// Both copies, so the write completes with the later copy.
    #[default]
    Both,
    /// The first copy that succeeds. A flush then covers only the copies that are already written.
    First,
}

/// Checks that the members have the knowledge that the routing and the order of batches need.
pub(super) fn check_knowledge(
    members: &[BoxedDevice; 2],
    config: &MirrorConfig,
) -> Result<(), InsufficientKnowledge> {
    let check = |name, needed| {
        let mut members = members.iter();
        members.try_for_each(|member| member.check_knowledge(name, needed))
    };
    if let ReadDispatch::Routed(routing) = config.reads
        && let Some((needed, name)) = routing.rehearsed()
    {
        assert_eq!(config.policy.to_string(), needed, "wrong policy for {name}");
        check(name, Knowledge::Times)?;
    }
    if let Some(destaging) = config.destaging {
        assert_eq!(
            config.reads,
            ReadDispatch::Shared,
            "destaging needs a shared queue"
        );
        assert_eq!(
            config.writes,
            WriteCompletion::Both,
            "destaged writes must write both copies"
        );
        let (needed, name) = destaging.order.required_knowledge();
        check(name, needed)?;
    }
    Ok(())
}
