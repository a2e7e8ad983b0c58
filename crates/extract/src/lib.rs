//! Measures a disk drive over SCSI: sends it commands, times them, and derives the layout,
//! mechanics and buffer behaviour of the drive (worthington96).
//!
//! Measurements access a drive only through a [`Disk`], whose [`Transport`] times each command.

pub mod cache;
mod clock;
mod compare;
pub mod defects;
mod estimate;
pub mod hits;
pub mod idle;
pub mod layout;
pub mod mtbrc;
pub mod overheads;
mod pairs;
pub mod rotation;
pub mod seek;
pub mod seek_command;
mod serial;
mod simulated;
pub mod suite;
mod threshold;
pub mod timing;
mod track;

pub use clock::Access;
pub use compare::{
    Comparison, Difference, LayoutDifference, ObservableTimes, SeekDifference,
    mean_sequential_response,
};
pub use diskarm_transport::{
    CommandTimes, Cost, Data, Disk, Error, Identity, Limits, PhysicalAddress, Reply, Transport,
    TransportError,
};
pub use estimate::{Effort, Estimate};
pub use idle::Setup;
pub use simulated::{HostDelay, NoisyTransport, SimulatedDrive};
