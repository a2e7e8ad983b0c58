//! All measurements of a drive, one after the other.
//!
//! [`MEASUREMENTS`] lists them. A measurement that fails is recorded with the reason, those that
//! need its findings are skipped, and all others continue. After each, the [`Checkpoint`] holds what
//! is known so far; a run that was interrupted continues from it.
//!
//! Each measurement has a connection and a seed of its own. So a run that was interrupted and
//! continued sends a drive that begins anew with each connection, as a simulated one does, the same
//! commands as a run that was not.

mod bench;
mod budget;
mod checkpoint;
mod described;
mod findings;
mod how;
mod table;
mod watched;

use diskarm_core::units::Span;
use serde::{Deserialize, Serialize};

pub use checkpoint::{Checkpoint, Outcome, Record};
pub use described::{MeasuredDrive, MeasuredValue};
pub use findings::{Findings, MtbrcFinding, WriteSeeks};
pub use how::{Provenance, undetermined_keys};
pub use table::{MEASUREMENTS, Measurement};

use crate::{Cost, Disk, Effort, Error, Identity, Transport, TransportError};
use bench::Bench;
use watched::Watched;

/// How a drive is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// How much it may cost.
    pub effort: Effort,
    /// Whether it may write: data are then lost at random places.
    pub writes: bool,
    /// Seed of everything that is random in the measurements.
    pub seed: u64,
}

/// Opens a connection to the drive. The seed is for what a simulated drive and its host do at
/// random.
pub type Connect<'a> = dyn FnMut(u64) -> Result<Box<dyn Transport>, TransportError> + 'a;

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// What is being measured.
    pub measurement: &'static Measurement,
    /// How much the run may cost.
    pub effort: Effort,
    /// How many measurements are over, failed and skipped ones too.
    pub done: usize,
    /// What the run has cost so far, with what it continues.
    pub cost: Cost,
    /// How long it will take on, by what it took other drives.
    pub left: Span,
}

/// Who wants to know how a run goes.
pub trait Observer {
    /// Called in the beginning of each measurement and after each command.
    fn progressed(&mut self, progress: &Progress);

    /// Called after each measurement, to keep the checkpoint.
    ///
    /// # Errors
    /// It could not be kept; the run ends.
    fn save(&mut self, checkpoint: &Checkpoint) -> Result<(), String>;
}

/// Why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The transport failed. The checkpoint has all measurements before this one.
    Transport {
        /// During which measurement; `None` in the beginning.
        during: Option<&'static str>,
        /// Why.
        broken: TransportError,
    },
    /// The drive does not answer as a disk does.
    Drive(Error),
    /// The checkpoint could not be kept.
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

/// Asks a drive who it is.
///
/// # Errors
/// The transport failed, or what answers is no disk.
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

/// Measures what `checkpoint` does not have yet.
///
/// # Errors
/// The transport failed, or the observer could not keep the checkpoint.
pub fn run(
    connect: &mut Connect<'_>,
    checkpoint: &mut Checkpoint,
    observer: &mut dyn Observer,
) -> Result<(), RunError> {
    for measurement in MEASUREMENTS {
        if checkpoint.record(measurement.name).is_some() {
            continue;
        }
        let (outcome, cost) = match checkpoint.obstacle(measurement) {
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
    let so_far = checkpoint.progress(measurement);
    let mut watched = Watched::new(transport, so_far, observer);
    let limits = budget::limits(checkpoint, measurement);
    let mut cost = Cost::default();
    let result = Disk::new(&mut watched).and_then(|disk| {
        let mut disk = disk.with_limits(limits);
        let mut bench = Bench {
            disk: &mut disk,
            findings: &mut checkpoint.findings,
            options,
            seed,
        };
        let result = (measurement.run)(&mut bench);
        cost = disk.cost();
        result
    });
    match result {
        Ok(()) => Ok((Outcome::Done, cost)),
        Err(Error::Transport(broken @ TransportError::Lost(_))) => Err(stopped(broken)),
        Err(error) => Ok((Outcome::Failed(error.to_string()), cost)),
    }
}
