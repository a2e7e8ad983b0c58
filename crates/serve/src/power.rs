//! Cutting the power of a disk: which data survive.
//!
//! A drive answers a write when its cache has the data, and loses them if the power goes before
//! they are on the media. [`Data`] are those of an export, and what they were before the writes
//! that can still be lost; the device of the model says when a write gets to the media. A [`Cut`]
//! takes back the writes that do not survive.

mod cache;
mod cut;
mod data;
mod strike;
mod switch;

pub use cache::{Unwritten, Write};
pub use cut::{Cut, Lost};
pub use data::Data;
pub use strike::{Side, Strike, When};
pub use switch::Switch;

use diskarm_core::units::SectorCount;

/// What is needed to cut the power of an export.
pub struct Power<D> {
    /// How much the drive's buffer holds: no more can wait to be written.
    pub capacity: SectorCount,
    /// Builds the device anew, as it is after it has been switched on; nothing if requests take no
    /// time.
    pub device: Option<Box<dyn Fn() -> D + Send>>,
}
