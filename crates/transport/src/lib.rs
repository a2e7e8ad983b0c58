//! Carries commands to disk drives over SG_IO ([`sg`]), iSCSI ([`iscsi`]) and NBD ([`nbd`]).
//!
//! A [`Transport`] executes SCSI commands one at a time and records when each was sent and
//! completed. [`Disk`] has a method for each command that a measurement needs, repeats commands
//! that the drive was not ready to execute, and counts the cost. A [`Source`] can be read by
//! several threads in parallel. Transports to real drives block commands that would change data or
//! settings until writes are explicitly allowed ([`safety`]).
#![deny(unsafe_code)]

mod disk;
pub mod iscsi;
pub mod nbd;
pub mod safety;
pub mod sg;
mod transport;

pub use disk::{
    CommandTimes, Cost, Disk, Identity, Limits, MAX_ATTEMPTS, PhysicalAddress, retry_delay,
};
pub use transport::{
    Data, Error, Fault, Lost, Reader, Reply, Size, Source, Transport, TransportError,
};
