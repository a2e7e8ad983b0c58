//! Sources in real time: what other threads read, as a device for the scheduler in front of it.
//!
//! A [`Source`] is opened once for each read under way; each such [`Reader`] has a thread of its
//! own. [`Live`] makes a device of a source, whose instants are those of a clock that begins with
//! it ([`Inbox`]), and [`run`] hands in these instants instead of virtual ones.

mod answers;
mod data;
mod device;
mod file;
mod nbd;
mod pass;
mod run;
mod scan;
mod source;
mod worker;

pub use answers::{Inbox, ReadData};
pub use device::Live;
pub use file::FileSource;
pub use nbd::NbdSource;
pub use pass::SequentialPass;
pub use run::{ReadOnly, run};
pub use source::{ReadError, Reader, Source, SourceLost, SourceSize};
