//! Measures a disk drive over SCSI: sends it commands, times them, and concludes how the drive is
//! built and how it behaves (worthington96).
//!
//! A [`Transport`] carries commands and tells when each was sent and when it ended. [`Disk`] has a
//! method for each command that a measurement needs, and counts what they cost. The measurements
//! see nothing else of a drive.

mod disk;
mod error;
mod estimate;
pub mod layout;
mod simulated;
mod transport;

pub use disk::{Cost, Disk, Place, Timed};
pub use error::Error;
pub use estimate::{Effort, Estimate};
pub use simulated::{Host, Simulated};
pub use transport::{Broken, Data, Reply, Transport};
