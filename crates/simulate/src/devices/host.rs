//! A host queue inside a stack of devices.

use diskarm_core::host::Host;
use diskarm_core::sched::{Knowledge, PolicyConfig};
use diskarm_core::stack::{self, BoxedDevice};
use diskarm_core::text::InputError;
use diskarm_core::units::SectorCount;

use crate::device::{Below, Config, DRIVE, DeviceInfo, Entry, Parameters};
use crate::model::command_size;

pub(super) const ENTRY: Entry = Entry {
    info: DeviceInfo {
        name: "host",
        summary: "an unlimited queue ordered by a policy",
        parameters: &[
            DRIVE,
            (
                "policy=fcfs",
                "the policy that orders the requests: one that `diskarm policies` lists, with its \
                 parameters",
            ),
            (
                "merge=128KiB",
                "waiting sequential requests are merged into one command of at most this size; \
                 without this parameter none are merged",
            ),
        ],
        needs: Knowledge::Inner,
        provides: Some(Knowledge::Blocks),
        example: "host(policy=sptf, drive=hp-c2247)",
    },
    read,
};

#[derive(Debug)]
struct Queue {
    policy: PolicyConfig,
    merge: Option<SectorCount>,
}

fn read(args: &mut Parameters<'_>) -> Result<Box<dyn Config>, InputError> {
    let disk = args.context.disk();
    let policy = args.maybe_read("policy", PolicyConfig::parse)?;
    let merge = args.maybe_read("merge", |text, field| command_size(field, text, disk))?;
    let policy = policy.unwrap_or_default();
    Ok(Box::new(Queue { policy, merge }))
}

impl Config for Queue {
    fn build(&self, below: &Below<'_>, _: u64) -> Result<BoxedDevice, InputError> {
        let inner = below.device()?;
        let policy = stack::policy(&self.policy, &inner);
        let policy = policy.map_err(|unknown| below.refused(&unknown))?;
        let host = Host::new(inner, policy);
        Ok(BoxedDevice::opaque(match self.merge {
            Some(max) => host.merging(max),
            None => host,
        }))
    }
}
