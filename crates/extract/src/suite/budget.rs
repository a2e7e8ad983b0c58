//! How much a measurement may cost.

use diskarm_core::units::Span;

use super::{Checkpoint, MEASUREMENTS, Measurement};
use crate::{Effort, Limits};

/// This much of the share of each measurement is kept for it, whatever those before it take.
const KEPT: f64 = 0.5;

/// What a run may cost: commands of one measurement, and minutes on the drive of all.
fn max(effort: Effort) -> (u64, f64) {
    match effort {
        Effort::Quick => (1_000_000, 20.0),
        Effort::Normal => (3_000_000, 30.0),
        Effort::Thorough => (10_000_000, 120.0),
    }
}

/// How many times as long a run may take where the ends of commands scatter by more than this, in
/// nanoseconds: a mean of many is as exact as one that does not scatter.
const SCATTERED: (f64, f64) = (3.0, 20_000.0);

/// What `measurement` may cost before it is given up: the time that is left of the run, except for
/// what is kept for others. A drive that answers as the suite expects stays far below.
pub(super) fn limits(checkpoint: &Checkpoint, measurement: &Measurement) -> Limits {
    let options = &checkpoint.options;
    let (commands, minutes) = max(options.effort);
    let all: f64 = MEASUREMENTS.iter().map(|one| one.share).sum();
    let is_to_come = |one: &&Measurement| {
        let is_over = one.name == measurement.name || checkpoint.record(one.name).is_some();
        !is_over && (options.writes || !one.writes)
    };
    let others = MEASUREMENTS.iter().filter(is_to_come);
    let kept = KEPT * others.map(|one| one.share).sum::<f64>() / all;
    let rotation = checkpoint.findings.rotation.as_ref();
    let (times, ns) = SCATTERED;
    let minutes = match rotation.is_some_and(|rotation| rotation.scatter_ns > ns) {
        true => times * minutes,
        false => minutes,
    };
    let left = Span::from_s(60.0 * minutes * (1.0 - kept)) - checkpoint.cost().time;
    Limits {
        commands,
        time: left.or_zero(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rotation::{Rereads, Rotation};
    use crate::suite::{Options, Outcome, Record};
    use crate::{Cost, Identity};

    /// If every measurement takes all that it may, the run stays within its time, and something is
    /// left for each.
    #[test]
    fn no_measurement_takes_the_time_of_the_others() {
        for (effort, minutes) in [(Effort::Quick, 20.0), (Effort::Normal, 30.0)] {
            let options = Options {
                effort,
                writes: true,
                seed: 1,
            };
            let mut checkpoint = Checkpoint::new("any", Identity::default(), options);
            for measurement in MEASUREMENTS {
                let time = limits(&checkpoint, measurement).time;
                let min = measurement.usual(effort).as_s() / 2.0;
                assert!(time.as_s() > min, "{}: {time}", measurement.name);
                checkpoint.records.push(Record {
                    name: measurement.name.to_owned(),
                    outcome: Outcome::Done,
                    cost: Cost {
                        time,
                        ..Cost::default()
                    },
                });
            }
            let all = checkpoint.cost().time;
            assert!(all <= Span::from_s(60.0 * minutes), "{all}");
        }
    }

    /// Where the ends of commands scatter, means of many take longer.
    #[test]
    fn where_ends_scatter_a_run_may_take_three_times_as_long() {
        let options = Options {
            effort: Effort::Normal,
            writes: true,
            seed: 1,
        };
        let mut checkpoint = Checkpoint::new("any", Identity::default(), options);
        let minutes = |checkpoint: &Checkpoint| {
            let last = MEASUREMENTS.last().expect("some");
            limits(checkpoint, last).time.as_s() / 60.0
        };
        let exact = minutes(&checkpoint);
        let rotation = |scatter_ns| Rotation {
            period_ns: 11.1e6,
            uncertainty_ns: 1.0,
            scatter_ns,
            samples: 100,
            rereads: Rereads::FromMedia,
        };
        for (scatter_ns, times) in [(10.0, 1.0), (1e5, 3.0)] {
            checkpoint.findings.rotation = Some(rotation(scatter_ns));
            assert!((minutes(&checkpoint) / exact - times).abs() < 1e-6);
        }
    }
}
