//! A SCSI logical unit on top of a simulated device, in the device's virtual time.
//!
//! A [`Unit`] takes tasks (command blocks with their data, from several initiators) and instants,
//! and returns responses and the instant of its next event. Like the devices below it, it performs
//! no I/O and reads no clock. Apart from serving requests, it reports and changes only what its
//! [`Backing`] offers: everything for a [`Single`] drive, nothing for other devices.
//!
//! Commands (`command`) and mode pages (`mode`) are each listed in one table. Commands that do not
//! touch the medium take no time, because no parameter set includes their durations.

mod backing;
mod command;
mod mode;
mod realism;
mod reservation;
mod state;
mod unit;

pub use backing::{Backing, MemoryStore, Single, Store, Unavailable};
pub use realism::{Places, Realism, Recalibration, WarmUp};
pub use state::Identity;
pub use unit::{Attribute, Response, Status, Task, Unit};
