//! Scans in real time: a device in front of files, block devices and servers, which threads read.
//!
//! A [`Source`] is opened once for each read under way; each such [`Reader`] has a thread of its
//! own. [`Live`] is a device in front of a source, whose instants are those of a clock that starts
//! with it ([`Inbox`]), and [`run`] passes in these instants instead of virtual ones.

mod device;
mod inbox;
mod nbd;
mod pass;
mod run;
mod source;
mod worker;

pub use device::Live;
pub use inbox::{Inbox, ReadData};
pub use nbd::NbdSource;
pub use pass::SequentialPass;
pub use run::{ReadOnly, run};
pub use source::{FileSource, ReadError, Reader, Source, SourceLost, SourceSize};
