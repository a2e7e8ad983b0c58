//! Carries commands to disk drives, over SG_IO ([`sg`]), iSCSI ([`iscsi`]) and NBD ([`nbd`]).
//!
//! A [`Transport`] executes SCSI commands one at a time and records when each was sent and
//! completed. [`Disk`] has a method for each command that a measurement needs, repeats commands
//! that the drive was not ready to execute, and counts the cost. A [`source::Source`] is anything
//! that several threads can read in parallel. Transports to real drives block commands that would
//! change data or settings until writes are explicitly allowed ([`safety`]).
#![deny(unsafe_code)]

mod disk;
pub mod iscsi;
pub mod nbd;
pub mod safety;
pub mod sg;
pub mod source;
mod transport;

pub use disk::reports::{Identity, PhysicalAddress};
pub use disk::{CommandTimes, Cost, Disk, Limits, MAX_ATTEMPTS, retry_delay};
pub use transport::{Data, Error, Reply, Transport, TransportError};
