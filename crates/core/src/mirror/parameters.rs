//! The parameters of a pair.

use super::destaging::DestageConfig;
use super::routing::Routing;
use crate::device::Failure;
use crate::sched::PolicyConfig;
use crate::units::{Lbn, SectorCount};

/// The parameters of a mirrored pair. The default is routed in turn, in order of arrival.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MirrorConfig {
    /// The order in which each member serves what waits for it.
    pub policy: PolicyConfig,
    /// Where reads wait.
    pub reads: ReadDispatch,
    /// When writes complete.
    pub writes: WriteCompletion,
    /// The second member holds units of this many blocks in the opposite order. At least one; a
    /// last part of the device that is no whole unit stays where it is.
    pub transposed: Option<SectorCount>,
    /// When writes go to the members; `None` is at once. For a shared queue, and writes that
    /// complete with both copies.
    pub destaging: Option<DestageConfig>,
    /// The members that fail, each at most once.
    pub failures: Vec<Failure>,
    /// What the first failed member had is rebuilt on a spare.
    pub rebuild: Option<RebuildConfig>,
    /// What a random routing depends on.
    pub seed: u64,
}

/// How a pair rebuilds what a failed member had.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RebuildConfig {
    /// The share of the time in which the rebuild is under way, above 0 and at most 1.
    pub share_fraction: f64,
    /// The blocks that it reads and writes at once, from 1 to [`Request::MAX_SECTORS`].
    ///
    /// [`Request::MAX_SECTORS`]: crate::request::Request::MAX_SECTORS
    pub unit: SectorCount,
}

/// Where reads wait until a member serves them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadDispatch {
    /// In one queue for both members.
    Shared,
    /// In one queue from which each member takes those of its own part: affinity (liu05 sections
    /// 7.2.1 and 7.5).
    Divided {
        /// The first block of the second member's part.
        pivot: Lbn,
        /// A member for which nothing waits takes a read of the other's, if more than this many
        /// commands wait for that; `None` is strict.
        relaxed: Option<u64>,
    },
    /// In the queue of one member.
    Routed(Routing),
}

impl Default for ReadDispatch {
    fn default() -> Self {
        Self::Routed(Routing::default())
    }
}

/// When a write completes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteCompletion {
    /// With the later copy.
    #[default]
    Both,
    /// With the first copy that succeeds. A flush then covers what has been written so far: the
    /// other copy may still wait.
    First,
}
