//! An injector of faults in a stack of devices.

use diskarm_core::sched::Knowledge;
use diskarm_core::stack::BoxedDevice;
use diskarm_core::text::{InputError, quantity};
use diskarm_core::units::{Instant, Lbn, Span};
use diskarm_core::wrap::{
    AffectedOps, BadBlocks, FaultPlan, Faults, Outage, RandomErrors, Recalibration, Spikes,
};

use crate::device::{Below, Config, DRIVE, DeviceInfo, Entry, Parameters};

pub(super) const ENTRY: Entry = Entry {
    info: DeviceInfo {
        name: "faults",
        summary: "injects errors, delays, recalibrations and outages",
        parameters: &[
            DRIVE,
            (
                "medium=\"0.1% after 16 retries\"",
                "this share of reads and writes fails, after this many retries of one revolution \
                 each; a range of blocks instead of the share (1000..1010, which excludes 1010) \
                 makes requests that touch it fail, or only the reads or writes among them \
                 (1000..1010 reads); can be given several times",
            ),
            (
                "recovered=\"0.1% after 2 retries\"",
                "the same syntax as medium, but these requests succeed after retries: with a \
                 share, after 1 to this many, all equally likely; with a range of blocks, after \
                 exactly this many",
            ),
            (
                "spikes=\"1% for 50ms\"",
                "this share of requests takes this much longer",
            ),
            (
                "recalibrate=\"every 10min for 0.5s\"",
                "after each interval the device serves nothing for this time",
            ),
            (
                "outage=\"10s to 12s\"",
                "between these times of the run the device is unreachable: requests fail \
                 immediately, so clients need a think time; can be given several times",
            ),
            (
                "seed=0",
                "added to the seed of the run; another value gives different random faults",
            ),
        ],
        needs: Knowledge::Nothing,
        provides: None,
        example: "faults(recalibrate=\"every 10min for 0.5s\", drive=hp-c2247)",
    },
    read,
};

const ERRORS: &str = "a share or a range of blocks, and the number of retries, such as \"0.1% \
                      after 16 retries\" or \"1000..1010 reads after 2 retries\"";
const SPIKES: &str = "a share and a time, such as \"1% for 50ms\"";
const RECALIBRATE: &str = "two times, the second shorter, such as \"every 10min for 0.5s\"";
const OUTAGE: &str = "two times of the run, the second later, up to an hour, such as \"10s to \
                      12s\"";

#[derive(Debug)]
struct FaultInjection {
    plan: FaultPlan,
    revolution: Span,
}

/// The values of `medium` and `recovered`.
enum Errors {
    Blocks(BadBlocks),
    Random(RandomErrors),
}

fn read(args: &mut Parameters<'_>) -> Result<Box<dyn Config>, InputError> {
    let (medium_errors, random_medium_errors) = errors(args, "medium", 0)?;
    let (recovered_errors, random_recovered_errors) = errors(args, "recovered", 1)?;
    let mut outages = args.several("outage", OUTAGE, outage)?;
    outages.sort_by_key(|outage| outage.from);
    let plan = FaultPlan {
        seed: args.maybe_count("seed", 0..=u64::MAX)?.unwrap_or(0),
        medium_errors,
        recovered_errors,
        random_medium_errors,
        random_recovered_errors,
        spikes: args.maybe("spikes", SPIKES, spikes)?,
        recalibration: args.maybe("recalibrate", RECALIBRATE, recalibration)?,
        outages,
    };
    // Only outages may still be invalid, by overlapping; the rest was checked when it was read.
    plan.check()
        .map_err(|error| error.named(&args.field("outage")))?;
    let revolution = Span::from_ns(args.context.drive.spec.mechanics.period_ns as i64);
    Ok(Box::new(FaultInjection { plan, revolution }))
}

impl Config for FaultInjection {
    fn build(&self, below: &Below<'_>, seed: u64) -> Result<BoxedDevice, InputError> {
        let plan = FaultPlan {
            seed: self.plan.seed.wrapping_add(seed),
            ..self.plan.clone()
        };
        let device = below.device()?;
        Ok(device.wrap(|inner| Faults::new(inner, &plan, self.revolution)))
    }

    fn is_behaviour(&self) -> bool {
        true
    }
}

/// Reads the errors listed under `key`, with at least `min_retries` each.
fn errors(
    args: &mut Parameters<'_>,
    key: &'static str,
    min_retries: u16,
) -> Result<(Vec<BadBlocks>, Option<RandomErrors>), InputError> {
    let read = |text: &str| error(text).filter(|error| error.retries() >= min_retries);
    let expected = match min_retries {
        0 => ERRORS.to_owned(),
        min => format!("{ERRORS}, and at least {min}"),
    };
    let capacity = args.context.disk().sectors.0;
    let (mut blocks, mut random) = (Vec::new(), None);
    for error in args.several(key, &expected, read)? {
        match error {
            Errors::Blocks(bad) if bad.end.0 <= capacity => blocks.push(bad),
            Errors::Blocks(BadBlocks { first, end, .. }) => {
                let found = format!("{}..{}", first.0, end.0);
                let expected = format!("a range within the drive's blocks, 0..{capacity}");
                return Err(InputError::shown(args.field(key), found, expected));
            }
            Errors::Random(errors) if random.is_none() => random = Some(errors),
            Errors::Random(errors) => {
                let found = format!("{} %", errors.share * 100.0);
                return Err(InputError::shown(args.field(key), found, "one share only"));
            }
        }
    }
    Ok((blocks, random))
}

impl Errors {
    fn retries(&self) -> u16 {
        match self {
            Self::Blocks(bad) => bad.retries,
            Self::Random(errors) => errors.retries,
        }
    }
}

/// Parses text such as `0.1% after 16 retries` or `1000..1010 reads after 16 retries`.
fn error(text: &str) -> Option<Errors> {
    let (affected, retries) = text.split_once(" after ")?;
    let number = retries.trim();
    let number = number
        .strip_suffix("retries")
        .or(number.strip_suffix("retry"))?;
    let retries = number.trim_end().parse().ok()?;
    if let Some(share) = share(affected) {
        return Some(Errors::Random(RandomErrors { share, retries }));
    }
    let (range, affected) = match affected.trim().split_once(' ') {
        None => (affected.trim(), AffectedOps::Both),
        Some((range, "reads")) => (range, AffectedOps::Reads),
        Some((range, "writes")) => (range, AffectedOps::Writes),
        Some(_) => return None,
    };
    let (first, end) = range.split_once("..")?;
    let (first, end) = (Lbn(first.parse().ok()?), Lbn(end.parse().ok()?));
    let bad = BadBlocks {
        first,
        end,
        affected,
        retries,
    };
    (first < end).then_some(Errors::Blocks(bad))
}

fn share(text: &str) -> Option<f64> {
    quantity::fraction(text.trim()).filter(|share| (0.0..=1.0).contains(share))
}

fn time(text: &str) -> Option<Span> {
    quantity::span(text.trim())
}

fn spikes(text: &str) -> Option<Spikes> {
    let (fraction, delay) = text.split_once(" for ")?;
    let (share, delay) = (share(fraction)?, time(delay)?);
    (delay > Span::ZERO).then_some(Spikes { share, delay })
}

fn recalibration(text: &str) -> Option<Recalibration> {
    let (every, lasts) = text.strip_prefix("every ")?.split_once(" for ")?;
    let (every, lasts) = (time(every)?, time(lasts)?);
    (Span::ZERO < lasts && lasts < every).then_some(Recalibration { every, lasts })
}

fn outage(text: &str) -> Option<Outage> {
    let (from, until) = text.split_once(" to ")?;
    let (from, until) = (time(from)?, time(until)?);
    (Span::ZERO <= from && from < until).then_some(Outage {
        from: Instant::START + from,
        until: Instant::START + until,
    })
}
