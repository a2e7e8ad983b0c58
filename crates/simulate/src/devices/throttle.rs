//! A throttle in a stack of devices.

use diskarm_core::sched::Knowledge;
use diskarm_core::stack::BoxedDevice;
use diskarm_core::text::{InputError, quantity};
use diskarm_core::units::Bytes;
use diskarm_core::wrap::{Limits, Throttle};

use crate::device::{Below, Config, DRIVE, DeviceInfo, Entry, Parameters};

pub(super) const ENTRY: Entry = Entry {
    info: DeviceInfo {
        name: "throttle",
        summary: "limits requests and bytes per second",
        parameters: &[
            DRIVE,
            (
                "rate=100/s",
                "the maximum number of requests per second (/s), minute (/min) or hour (/h), \
                 including flushes",
            ),
            (
                "bytes=10MiB/s",
                "the maximum number of bytes per second, in B, KiB, MiB, GiB or sectors; at least \
                 one of rate and bytes is needed",
            ),
            (
                "burst=0ms",
                "how far requests may run ahead of the limits after a pause, up to an hour: with \
                 rate=100/s and burst=30ms, four requests can pass at the same time",
            ),
        ],
        needs: Knowledge::Nothing,
        provides: None,
        example: "throttle(rate=100/s, drive=hp-c2247)",
    },
    read,
};

const RATE: &str = "a rate from one per hour to 1000000000/s, such as \"100/s\"";
const BYTES: &str = "at least 100 bytes per second, in whole B, KiB, MiB, GiB or sectors, such as \
                     \"10 MiB/s\"";

#[derive(Debug)]
struct Limited(Limits);

fn read(args: &mut Parameters<'_>) -> Result<Box<dyn Config>, InputError> {
    let sector = args.context.disk().sector;
    let limits = Limits {
        requests_per_s: args.maybe("rate", RATE, requests_per_s)?,
        bytes_per_s: args.maybe("bytes", BYTES, |text| bytes_per_s(text, sector))?,
        burst: args.time_or_none("burst")?,
    };
    if limits.requests_per_s.is_none() && limits.bytes_per_s.is_none() {
        args.finish()?;
        let expected = format!("{RATE}, or bytes");
        return Err(InputError::missing(args.field("rate"), expected));
    }
    Ok(Box::new(Limited(limits)))
}

fn requests_per_s(text: &str) -> Option<f64> {
    quantity::interval(text)?;
    quantity::per_s(text)
}

/// Parses a rate such as `10 MiB/s` or `100 sectors/s`. Sizes need not be whole sectors.
fn bytes_per_s(text: &str, sector: Bytes) -> Option<f64> {
    let size = text.strip_suffix("/s")?.trim_end();
    let unit = if size.contains("sector") {
        sector
    } else {
        Bytes(1)
    };
    let bytes = quantity::sectors(size, unit)?.0.checked_mul(unit.0)?;
    (bytes >= 100).then_some(bytes as f64)
}

impl Config for Limited {
    fn build(&self, below: &Below<'_>, _: u64) -> Result<BoxedDevice, InputError> {
        let device = below.device()?;
        Ok(device.wrap(|inner| Throttle::new(inner, self.0)))
    }
}
