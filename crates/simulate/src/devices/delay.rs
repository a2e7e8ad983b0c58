//! A delay in a stack of devices.

use diskarm_core::device::Work;
use diskarm_core::sched::Knowledge;
use diskarm_core::stack::BoxedDevice;
use diskarm_core::text::InputError;
use diskarm_core::wrap::{Delay, Latency};

use crate::device::{Below, Config, DRIVE, DeviceInfo, Entry, Parameters, PartKind, metrics};

pub(super) const ENTRY: Entry = Entry {
    info: DeviceInfo {
        name: "delay",
        summary: "adds a latency to every request",
        parameters: &[
            DRIVE,
            (
                "time=5ms",
                "the time, up to an hour, by which the completion of each request is delayed; any \
                 number of requests can be delayed at the same time, while the device below serves \
                 others",
            ),
            (
                "writes=10ms",
                "the latency of writes and flushes, if it differs from that of reads",
            ),
        ],
        needs: Knowledge::Nothing,
        provides: None,
        example: "delay(time=5ms, drive=hp-c2247)",
    },
    read,
};

pub(super) const METRICS: PartKind = PartKind {
    name: "delay",
    metrics: metrics! { work @ Work::Named(_) =>
        "delayed" => work.named_number("delayed"), cell "delayed" Count;
        "late_max" => work.named_number("late_max"), cell "late, max" Count;
    },
};

#[derive(Debug)]
struct Delayed(Latency);

fn read(args: &mut Parameters<'_>) -> Result<Box<dyn Config>, InputError> {
    let reads = args.time("time")?;
    let writes = args.maybe_time("writes")?.unwrap_or(reads);
    Ok(Box::new(Delayed(Latency { reads, writes })))
}

impl Config for Delayed {
    fn build(&self, below: &Below<'_>, _: u64) -> Result<BoxedDevice, InputError> {
        let latency = self.0;
        Ok(below.device()?.wrap(|inner| Delay::new(inner, latency)))
    }

    fn is_behaviour(&self) -> bool {
        true
    }
}
