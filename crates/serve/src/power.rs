//! Cutting the power of a disk: which data survive.
//!
//! A drive answers a write when its cache has the data, and loses them if the power goes before
//! they are on the media. [`Data`] are those of an export, and what they were before the writes
//! that can still be lost; the device of the model says when a write gets to the media. A [`PowerCut`]
//! takes back the writes that do not survive.

mod cache;
mod cut;
mod data;
mod injected;
mod strike;
mod switch;

pub use cache::{PendingWrite, Write};
pub use cut::{Losses, PowerCut};
pub use data::Data;
pub use injected::{AFFECTED, InjectedFault, InjectedFaults, affected_name};
pub use strike::{Trigger, TriggerEvent, TriggerSide};
pub use switch::PowerSwitch;

use diskarm_core::units::SectorCount;

use crate::recording::{Tap, Tappable};

/// Builds a device as it is after it has been switched on.
pub type DeviceFactory<D> = Box<dyn Fn() -> D + Send>;

/// What is needed to cut the power of an export.
pub struct PowerConfig<D> {
    /// How much the drive's buffer holds: no more can wait to be written.
    pub capacity: SectorCount,
    /// Builds the device anew; nothing if requests take no time.
    pub device: Option<DeviceFactory<D>>,
}

impl<D: Tappable + 'static> PowerConfig<D> {
    /// The same, with devices that `tap` watches.
    pub fn with_tap(self, tap: Tap) -> Self {
        let device = self.device.map(|make| -> DeviceFactory<D> {
            Box::new(move || {
                tap.power_cut();
                make().with_tap(tap.clone())
            })
        });
        Self { device, ..self }
    }
}
