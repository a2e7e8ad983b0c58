//! Measures a disk drive over SCSI: sends it commands, times them, and concludes how the drive is
//! built and how it behaves (worthington96).
//!
//! A [`Transport`] carries commands and tells when each was sent and when it ended. [`Disk`] has a
//! method for each command that a measurement needs, and counts what they cost. The measurements
//! see nothing else of a drive.

pub mod cache;
mod clock;
mod compare;
mod cost;
pub mod defects;
mod disk;
mod error;
mod estimate;
pub mod hits;
mod identity;
pub mod idle;
pub mod layout;
mod line;
mod logistic;
mod modes;
pub mod mtbrc;
pub mod overheads;
mod pairs;
pub mod retry;
pub mod rotation;
pub mod safety;
pub mod seek;
pub mod seek_command;
mod serial;
mod setup;
mod simulated;
pub mod suite;
mod threshold;
pub mod timing;
mod track;
mod transport;

pub use compare::{
    Comparison, Difference, LayoutDifference, ObservableTimes, SeekDifference,
    mean_sequential_response,
};
pub use cost::{Cost, Limits};
pub use disk::{Disk, Place, Timed};
pub use error::Error;
pub use estimate::{Effort, Estimate};
pub use identity::Identity;
pub use pairs::Access;
pub use setup::Setup;
pub use simulated::{HostDelay, NoisyTransport, SimulatedDrive};
pub use transport::{Broken, Data, Reply, Transport};
