//! A SCSI logical unit over a device of the model, on the device's timeline.
//!
//! A [`Unit`] is given tasks (command blocks with their data, from several initiators) and
//! instants, and returns responses and the instant of its next event. It does no I/O and reads no
//! clock, as the devices it stands in front of. What it knows and may change beyond serving
//! requests is what its [`Backing`] tells: a [`Single`] drive tells all of it, other devices
//! nothing.
//!
//! Commands are rows of one table (`command`), each executed in a file of its own; so are mode
//! pages (`mode`). Commands that touch no medium take no time, because no parameter set measures
//! them.

mod backing;
mod command;
mod log;
mod mode;
mod nexus;
mod ratio;
mod realism;
mod reservation;
mod sparing;
mod state;
mod store;
mod task;
mod unit;
mod work;

pub use backing::{Backing, Single};
pub use realism::{Places, Realism, Recalibration, WarmUp};
pub use state::Identity;
pub use store::{Sparse, Store, Unavailable};
pub use task::{Attribute, Response, Status, Task};
pub use unit::Unit;
