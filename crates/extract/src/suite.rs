//! Makes all measurements of a drive.
//!
//! [`MEASUREMENTS`] lists them. If a measurement fails, the reason is recorded, measurements that
//! need its findings are skipped, and all others continue. After each one, the [`Checkpoint`] holds
//! the findings so far, and an interrupted run continues from it.
//!
//! Each measurement has its own connection and seed. A drive that restarts with each connection, as
//! a simulated one does, therefore receives the same commands if a run is interrupted and
//! continued.

mod checkpoint;
mod measurements;
mod provenance;

pub use checkpoint::{Checkpoint, Findings, MtbrcFinding, Options, Outcome, Record, WriteSeeks};
pub use measurements::{MEASUREMENTS, Measurement};
pub use provenance::{MeasuredDrive, MeasuredValue, Provenance, undetermined_keys};

use diskarm_core::units::{Instant, Span};

use crate::{Cost, Data, Disk, Effort, Error, Identity, Limits, Reply, Transport, TransportError};
use measurements::Context;

/// Opens a connection to the drive. The seed is for the noise of a simulated drive and its host.
pub type Connect<'a> = dyn FnMut(u64) -> Result<Box<dyn Transport>, TransportError> + 'a;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The transport failed. The checkpoint contains all earlier measurements.
    Transport {
        /// The measurement during which it failed; `None` at the start.
        during: Option<&'static str>,
        broken: TransportError,
    },
    Drive(Error),
    Checkpoint(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Transport { during, broken } => match during {
                Some(name) => write!(f, "the transport failed while measuring {name}: {broken}"),
                None => write!(f, "the transport failed: {broken}"),
            },
            Self::Drive(error) => error.fmt(f),
            Self::Checkpoint(error) => f.write_str(error),
        }
    }
}

impl std::error::Error for RunError {}

pub fn identity(connect: &mut Connect<'_>) -> Result<Identity, RunError> {
    let broken = |broken| RunError::Transport {
        during: None,
        broken,
    };
    let mut transport = connect(0).map_err(broken)?;
    let identity = Disk::new(&mut *transport).and_then(|mut disk| Identity::read(&mut disk));
    identity.map_err(|error| match error {
        Error::Transport(error) => broken(error),
        error => RunError::Drive(error),
    })
}

/// Makes the missing measurements. Fails if the transport fails or a checkpoint cannot be saved.
pub fn run(
    connect: &mut Connect<'_>,
    checkpoint: &mut Checkpoint,
    observer: &mut dyn Observer,
) -> Result<(), RunError> {
    for measurement in MEASUREMENTS {
        if checkpoint.record(measurement.name).is_some() {
            continue;
        }
        let (outcome, cost) = match obstacle(checkpoint, measurement) {
            Some(outcome) => (outcome, Cost::default()),
            None => measure(measurement, connect, checkpoint, observer)?,
        };
        checkpoint.records.push(Record {
            name: measurement.name.to_owned(),
            outcome,
            cost,
        });
        observer.save(checkpoint).map_err(RunError::Checkpoint)?;
    }
    Ok(())
}

fn measure(
    measurement: &'static Measurement,
    connect: &mut Connect<'_>,
    checkpoint: &mut Checkpoint,
    observer: &mut dyn Observer,
) -> Result<(Outcome, Cost), RunError> {
    let stopped = |broken| RunError::Transport {
        during: Some(measurement.name),
        broken,
    };
    let options = checkpoint.options;
    let seed = measurement.seed(options.seed);
    let transport = connect(seed).map_err(stopped)?;
    let before = progress(checkpoint, measurement);
    observer.progressed(&before);
    let mut observed = ObservedTransport {
        started: transport.now(),
        transport,
        observer,
        before,
        commands: 0,
    };
    let limits = limits(checkpoint, measurement);
    let mut cost = Cost::default();
    let result = Disk::new(&mut observed).and_then(|disk| {
        let mut disk = disk.with_limits(limits);
        let mut context = Context {
            disk: &mut disk,
            findings: &mut checkpoint.findings,
            options,
            seed,
        };
        let result = (measurement.run)(&mut context);
        cost = disk.cost();
        result
    });
    match result {
        Ok(()) => Ok((Outcome::Done, cost)),
        Err(Error::Transport(broken @ TransportError::Lost(_))) => Err(stopped(broken)),
        Err(error) => Ok((Outcome::Failed(error.to_string()), cost)),
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub measurement: &'static Measurement,
    pub effort: Effort,
    /// Number of finished measurements, including those that failed or were skipped.
    pub done: usize,
    /// The cost so far, including that of the interrupted runs that this one continues.
    pub cost: Cost,
    /// Estimated remaining time, based on typical times for other drives.
    pub left: Span,
}

pub trait Observer {
    /// Called at the start of each measurement and after each command.
    fn progressed(&mut self, progress: &Progress);

    /// Called after each measurement to save the checkpoint. An error ends the run.
    fn save(&mut self, checkpoint: &Checkpoint) -> Result<(), String>;
}

fn is_pending(checkpoint: &Checkpoint, measurement: &Measurement) -> bool {
    checkpoint.record(measurement.name).is_none()
        && (checkpoint.options.writes || !measurement.writes)
}

fn progress(checkpoint: &Checkpoint, measurement: &'static Measurement) -> Progress {
    let effort = checkpoint.options.effort;
    let all = MEASUREMENTS.iter();
    let pending = all.filter(|other| is_pending(checkpoint, other));
    let add = |sum: Span, other: &Measurement| sum + other.usual(effort);
    Progress {
        measurement,
        effort,
        done: checkpoint.records.len(),
        cost: checkpoint.cost(),
        left: pending.fold(Span::ZERO, add),
    }
}

fn obstacle(checkpoint: &Checkpoint, measurement: &Measurement) -> Option<Outcome> {
    let missing = |name: &&str| match &checkpoint.record(name)?.outcome {
        Outcome::Done => None,
        Outcome::Failed(_) => Some(format!("needs {name}, which failed")),
        Outcome::Skipped(why) => Some(why.clone()),
    };
    let is_forbidden = measurement.writes && !checkpoint.options.writes;
    let forbidden = || is_forbidden.then(|| "needs writes, which were not allowed".to_owned());
    let unmet = measurement.needs.iter().find_map(missing);
    unmet.or_else(forbidden).map(Outcome::Skipped)
}

/// Fraction of a measurement's share of the time that is reserved for that measurement.
const RESERVED_SHARE: f64 = 0.5;

/// Factor for the time limit, and the scatter of completions in nanoseconds above which it applies.
const NOISY_FACTOR: (f64, f64) = (3.0, 20_000.0);

/// Returns the limits of `measurement`. Its time excludes what is reserved for the others.
fn limits(checkpoint: &Checkpoint, measurement: &Measurement) -> Limits {
    let options = &checkpoint.options;
    // Maximum number of commands per measurement, and total drive time in minutes.
    let choices = [(1_000_000, 20.0), (3_000_000, 30.0), (10_000_000, 120.0)];
    let (commands, minutes) = options.effort.choose(choices);
    let all: f64 = MEASUREMENTS.iter().map(|one| one.share).sum();
    let is_other = |one: &&Measurement| one.name != measurement.name && is_pending(checkpoint, one);
    let others = MEASUREMENTS.iter().filter(is_other);
    let reserved = RESERVED_SHARE * others.map(|one| one.share).sum::<f64>() / all;
    let (times, ns) = NOISY_FACTOR;
    let is_scattered = (checkpoint.findings.rotation).is_some_and(|found| found.scatter_ns > ns);
    let factor = if is_scattered { times } else { 1.0 };
    let left = Span::from_s(60.0 * (factor * minutes) * (1.0 - reserved)) - checkpoint.cost().time;
    Limits {
        commands,
        time: left.or_zero(),
    }
}

/// A transport that reports each command to an observer.
struct ObservedTransport<'a> {
    transport: Box<dyn Transport>,
    observer: &'a mut dyn Observer,
    /// The progress at the start of the measurement.
    before: Progress,
    started: Instant,
    commands: u64,
}

impl ObservedTransport<'_> {
    fn report(&mut self) {
        let so_far = self.transport.now() - self.started;
        let usual = self.before.measurement.usual(self.before.effort);
        let progress = Progress {
            cost: Cost {
                commands: self.before.cost.commands + self.commands,
                time: self.before.cost.time + so_far,
                ..self.before.cost
            },
            left: (self.before.left - so_far.min(usual)).max(Span::ZERO),
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

    fn sleep(&mut self, span: Span) {
        self.transport.sleep(span);
    }

    fn now(&self) -> Instant {
        self.transport.now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rotation::{Rereads, Rotation};

    fn options(effort: Effort) -> Options {
        Options {
            effort,
            writes: true,
            seed: 1,
        }
    }

    #[test]
    fn every_measurement_has_enough_time() {
        for (effort, minutes) in [(Effort::Quick, 20.0), (Effort::Normal, 30.0)] {
            let mut checkpoint = Checkpoint::new("any", Identity::default(), options(effort));
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

    #[test]
    fn a_run_may_take_three_times_as_long_if_completions_scatter() {
        let options = options(Effort::Normal);
        let mut checkpoint = Checkpoint::new("any", Identity::default(), options);
        let minutes = |checkpoint: &Checkpoint| {
            let last = MEASUREMENTS.last().expect("the table is not empty");
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
