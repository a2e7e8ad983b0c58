//! Wire formats of SCSI for disks, of iSCSI, and of NBD: the messages between a host and a disk.
//!
//! This crate only encodes and decodes. [`Command::parse`] checks a command block against the table
//! of [`operation`]s, which lists lengths and reserved bits; `emit` does the reverse. Transferred
//! data (sense data, mode pages, lists) have `parse` and `emit`, and `parse(emit(x)) = x`.
//!
//! The standards are SAM-5, SPC-4 and SBC-3 of INCITS T10, and SCSI-2 (X3.131) for features of
//! 1990s drives that the other standards omit. Comments cite them by name and command, since
//! section numbers differ between drafts. [`iscsi`] and [`nbd`] name their own sources.
#![no_std]

extern crate alloc;

#[macro_use]
pub mod layout;

pub mod command;
pub mod defect;
pub mod iscsi;
pub mod mode;
pub mod nbd;
pub mod operation;
pub mod report;
pub mod reservation;
pub mod sense;
pub mod status;

pub use command::Command;
pub use operation::{Invalid, Operation};
pub use sense::Sense;
