//! Cutting the power of a disk: which data survive.
//!
//! A drive answers a write when its cache has the data, and loses them if the power goes before
//! they are on the media. [`Data`] are those of an export, and what they were before the writes
//! that can still be lost; the device of the model says when a write gets to the media. A [`Cut`]
//! takes back the writes that do not survive.

mod cache;
mod cut;
mod data;
mod injected;
mod strike;
mod switch;

pub use cache::{Unwritten, Write};
pub use cut::{Cut, Lost};
pub use data::Data;
pub use injected::{AFFECTED, Injected, Injections, affected_name};
pub use strike::{Side, Strike, When};
pub use switch::Switch;

use diskarm_core::units::SectorCount;

use crate::recording::{Tap, Tapped};

/// Builds a device as it is after it has been switched on.
pub type Maker<D> = Box<dyn Fn() -> D + Send>;

/// What is needed to cut the power of an export.
pub struct Power<D> {
    /// How much the drive's buffer holds: no more can wait to be written.
    pub capacity: SectorCount,
    /// Builds the device anew; nothing if requests take no time.
    pub device: Option<Maker<D>>,
}

impl<D: Tapped + 'static> Power<D> {
    /// The same, with devices that `tap` watches.
    pub fn watched(self, tap: Tap) -> Self {
        let device = self.device.map(|make| -> Maker<D> {
            Box::new(move || {
                tap.power_cut();
                make().tapped(tap.clone())
            })
        });
        Self { device, ..self }
    }
}
