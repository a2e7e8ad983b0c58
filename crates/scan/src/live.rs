//! Sources in real time: what other threads read, as a device for the scheduler in front of it.
//!
//! A [`Source`] is opened once for each read under way; each such [`Reader`] has a thread of its
//! own. [`Live`] makes a device of a source, whose instants are those of a clock that begins with
//! it ([`Answers`]), and [`run`] hands in these instants instead of virtual ones.

mod answers;
mod data;
mod device;
mod file;
mod pass;
mod run;
mod scan;
mod worker;

pub use answers::{Answers, Brought};
pub use device::Live;
pub use diskarm_transport::nbd::NbdSource;
pub use diskarm_transport::source::{Fault, Lost, Reader, Size, Source};
pub use file::FileSource;
pub use pass::Pass;
pub use run::{ReadOnly, run};
