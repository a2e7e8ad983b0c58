//! An export: a name, a size, data, and a device that determines how long requests take.

use diskarm_core::device::Device;
use diskarm_core::units::{Bytes, SectorCount};

use crate::recording::{Tap, Tappable};
use crate::store::Store;
use crate::timeline::Speed;

pub struct Export<D = Box<dyn Device>> {
    pub facts: Facts,
    pub store: Box<dyn Store>,
    /// `None` if requests take no time.
    pub timing: Option<Timing<D>>,
    /// `None` if the power cannot be cut.
    pub power: Option<PowerConfig<D>>,
}

/// The properties of an export that clients can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The name; empty for the default export.
    pub name: String,
    pub description: String,
    /// Sector size. All offsets and lengths are multiples of it.
    pub sector: Bytes,
    /// Physical sector size; requests that are not aligned to it are slower.
    pub physical: Bytes,
    pub sectors: SectorCount,
    pub is_read_only: bool,
    /// False if requests take no time. Writing zeroes is then faster than writing data.
    pub is_timed: bool,
}

impl Facts {
    pub const fn bytes(&self) -> Bytes {
        Bytes(self.sectors.0 * self.sector.0)
    }
}

pub struct Timing<D = Box<dyn Device>> {
    /// The device that serves the requests. It must always have room for another request.
    pub device: D,
    pub speed: Speed,
    /// True if the thread never sleeps while requests are in progress. Otherwise, it stays awake
    /// only shortly before a reply is due.
    pub spins: bool,
}

/// Builds a device in the state after power-on.
pub type DeviceFactory<D> = Box<dyn Fn() -> D + Send>;

/// The configuration of an export whose power can be cut.
pub struct PowerConfig<D> {
    /// Capacity of the drive's buffer. It limits the writes that can be lost.
    pub capacity: SectorCount,
    /// Number of sector versions, kept for writes that are arriving or in progress, above which
    /// further large writes wait.
    pub max_unacknowledged: SectorCount,
    /// Builds a new device; `None` if requests take no time.
    pub device: Option<DeviceFactory<D>>,
}

impl<D: Tappable + 'static> PowerConfig<D> {
    /// Attaches `tap` to each device that is built.
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
