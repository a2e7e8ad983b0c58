//! Makes all measurements of a drive.
//!
//! [`MEASUREMENTS`] lists them. If a measurement fails, the reason is recorded, measurements that
//! need its findings are skipped, and all others continue. After each one, the [`Checkpoint`] holds
//! the findings so far, and an interrupted run continues from it.
//!
//! Each measurement has its own connection and seed. A drive that restarts with each connection, as
//! a simulated one does, therefore receives the same commands from an interrupted and continued run
//! as from an uninterrupted one.

mod checkpoint;
mod measurements;
mod progress;
mod provenance;

pub use checkpoint::{Checkpoint, Findings, MtbrcFinding, Options, Outcome, Record, WriteSeeks};
pub use measurements::{MEASUREMENTS, Measurement};
pub use progress::{Observer, Progress};
pub use provenance::{MeasuredDrive, MeasuredValue, Provenance, undetermined_keys};

use crate::{Cost, Disk, Error, Identity, Transport, TransportError};
use measurements::Context;
use progress::ObservedTransport;

/// Opens a connection to the drive. The seed is for the random decisions of a simulated drive and
/// its host.
pub type Connect<'a> = dyn FnMut(u64) -> Result<Box<dyn Transport>, TransportError> + 'a;

/// The reason for which a run ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The transport failed. The checkpoint contains all earlier measurements.
    Transport {
        /// The measurement during which it failed; `None` at the start.
        during: Option<&'static str>,
        broken: TransportError,
    },
    /// The drive does not answer like a disk.
    Drive(Error),
    /// The checkpoint could not be saved.
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

/// Reads the drive's identity.
///
/// # Errors
/// The transport failed, or the device is not a disk.
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

/// Makes the measurements that `checkpoint` does not contain yet.
///
/// # Errors
/// The transport failed, or the observer could not save the checkpoint.
pub fn run(
    connect: &mut Connect<'_>,
    checkpoint: &mut Checkpoint,
    observer: &mut dyn Observer,
) -> Result<(), RunError> {
    for measurement in MEASUREMENTS {
        if checkpoint.record(measurement.name).is_some() {
            continue;
        }
        let (outcome, cost) = match progress::obstacle(checkpoint, measurement) {
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
    let so_far = progress::progress(checkpoint, measurement);
    let mut observed = ObservedTransport::new(transport, so_far, observer);
    let limits = progress::limits(checkpoint, measurement);
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
