//! The progress of a run: what remains, how much it may cost, and reports to an observer.

use diskarm_core::units::{Instant, Span};

use super::checkpoint::{Checkpoint, Outcome};
use super::measurements::{MEASUREMENTS, Measurement};
use crate::{Cost, Data, Effort, Limits, Reply, Transport, TransportError};

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The current measurement.
    pub measurement: &'static Measurement,
    pub effort: Effort,
    /// Number of finished measurements, including failed and skipped ones.
    pub done: usize,
    /// The cost of the run so far, including the runs that it continues.
    pub cost: Cost,
    /// Estimated remaining time, from the usual times of other drives.
    pub left: Span,
}

/// Observes the progress of a run.
pub trait Observer {
    /// Called at the start of each measurement and after each command.
    fn progressed(&mut self, progress: &Progress);

    /// Called after each measurement to save the checkpoint.
    ///
    /// # Errors
    /// It could not be saved; the run ends.
    fn save(&mut self, checkpoint: &Checkpoint) -> Result<(), String>;
}

/// Returns true if a measurement is still to be made.
fn is_pending(checkpoint: &Checkpoint, measurement: &Measurement) -> bool {
    checkpoint.record(measurement.name).is_none()
        && (checkpoint.options.writes || !measurement.writes)
}

/// Returns the progress at the start of a measurement.
pub(super) fn progress(checkpoint: &Checkpoint, measurement: &'static Measurement) -> Progress {
    let effort = checkpoint.options.effort;
    let pending = MEASUREMENTS
        .iter()
        .filter(|other| is_pending(checkpoint, other));
    let add = |sum: Span, other: &Measurement| sum + other.usual(effort);
    Progress {
        measurement,
        effort,
        done: checkpoint.records.len(),
        cost: checkpoint.cost(),
        left: pending.fold(Span::ZERO, add),
    }
}

/// Returns the outcome of a measurement that cannot be made.
pub(super) fn obstacle(checkpoint: &Checkpoint, measurement: &Measurement) -> Option<Outcome> {
    let missing =
        measurement
            .needs
            .iter()
            .find_map(|name| match &checkpoint.record(name)?.outcome {
                Outcome::Done => None,
                Outcome::Failed(_) => Some(format!("needs {name}, which failed")),
                Outcome::Skipped(why) => Some(why.clone()),
            });
    if let Some(why) = missing {
        return Some(Outcome::Skipped(why));
    }
    let forbidden = measurement.writes && !checkpoint.options.writes;
    forbidden.then(|| Outcome::Skipped("needs writes".to_owned()))
}

/// Fraction of each measurement's share of time that earlier measurements cannot use.
const KEPT: f64 = 0.5;

/// Limits of a run: commands of one measurement, and minutes on the drive of all.
fn max(effort: Effort) -> (u64, f64) {
    match effort {
        Effort::Quick => (1_000_000, 20.0),
        Effort::Normal => (3_000_000, 30.0),
        Effort::Thorough => (10_000_000, 120.0),
    }
}

/// Factor by which a run may take longer where command completions scatter by more than this many
/// nanoseconds: means of many are as exact as single ones that do not scatter.
const SCATTERED: (f64, f64) = (3.0, 20_000.0);

/// Returns the limits of `measurement`: the remaining time of the run without the time kept for
/// others. Drives that answer as expected stay far below.
pub(super) fn limits(checkpoint: &Checkpoint, measurement: &Measurement) -> Limits {
    let options = &checkpoint.options;
    let (commands, minutes) = max(options.effort);
    let all: f64 = MEASUREMENTS.iter().map(|one| one.share).sum();
    let others = MEASUREMENTS
        .iter()
        .filter(|one| one.name != measurement.name && is_pending(checkpoint, one));
    let kept = KEPT * others.map(|one| one.share).sum::<f64>() / all;
    let rotation = checkpoint.findings.rotation.as_ref();
    let (times, ns) = SCATTERED;
    let is_scattered = rotation.is_some_and(|rotation| rotation.scatter_ns > ns);
    let minutes = if is_scattered {
        times * minutes
    } else {
        minutes
    };
    let left = Span::from_s(60.0 * minutes * (1.0 - kept)) - checkpoint.cost().time;
    Limits {
        commands,
        time: left.or_zero(),
    }
}

/// A transport that reports each command to an observer.
pub(super) struct ObservedTransport<'a> {
    transport: Box<dyn Transport>,
    observer: &'a mut dyn Observer,
    /// The progress at the start of the measurement.
    before: Progress,
    began: Instant,
    commands: u64,
}

impl<'a> ObservedTransport<'a> {
    pub fn new(
        transport: Box<dyn Transport>,
        before: Progress,
        observer: &'a mut dyn Observer,
    ) -> Self {
        observer.progressed(&before);
        Self {
            began: transport.now(),
            transport,
            observer,
            before,
            commands: 0,
        }
    }

    fn report(&mut self) {
        let so_far = self.transport.now() - self.began;
        let usual = self.before.measurement.usual(self.before.effort);
        let over = if so_far < usual { so_far } else { usual };
        let progress = Progress {
            cost: Cost {
                commands: self.before.cost.commands + self.commands,
                time: self.before.cost.time + so_far,
                ..self.before.cost
            },
            left: (self.before.left - over).max(Span::ZERO),
            ..self.before
        };
        self.observer.progressed(&progress);
    }
}

impl Transport for ObservedTransport<'_> {
    fn execute(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, TransportError> {
        let reply = self.transport.execute(command, data);
        self.commands += 1;
        self.report();
        reply
    }

    fn rest(&mut self, span: Span) {
        self.transport.rest(span);
    }

    fn now(&self) -> Instant {
        self.transport.now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Identity;
    use crate::rotation::{Rereads, Rotation};
    use crate::suite::{Options, Record};

    /// Even if every measurement uses up its limit, the run stays within its time, and each
    /// measurement has time left.
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

    /// A run may take longer if completion times scatter, as means of many samples are needed.
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
