//! Scans in real time: a device in front of files, block devices and servers, which threads read.
//!
//! A [`Source`] is opened once for each read under way; each such [`Reader`] has a thread of its
//! own. [`Live`] is a device in front of a source, whose instants are those of a clock that starts
//! with it ([`Inbox`]), and [`run`] passes in these instants instead of virtual ones.

mod device;
mod file;
mod inbox;
mod run;

pub use device::Live;
pub(crate) use device::MAX_SECTORS;
pub use diskarm_transport::nbd::NbdSource;
pub use diskarm_transport::{Fault, Lost, Reader, Size, Source};
pub use file::FileSource;
pub use inbox::{Inbox, ReadData};
pub use run::{ReadOnly, SequentialPass, run};
