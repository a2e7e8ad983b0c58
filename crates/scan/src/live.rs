//! Scans in real time: a device in front of files, block devices and servers, read by threads.
//!
//! A [`Source`] is opened once per concurrent read; each resulting [`Reader`] has its own thread.
//! [`Live`] is a device in front of a source. Its instants come from a clock ([`Inbox`]) that
//! starts when the source is opened, and [`run`] passes in these instants instead of virtual ones.

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
