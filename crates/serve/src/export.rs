//! What is served: a name, a size, data, and a device that says how long requests take.

use diskarm_core::device::Device;
use diskarm_core::units::{Bytes, SectorCount};

use crate::clock::Speed;
use crate::power::PowerConfig;
use crate::store::Store;

/// A disk to serve.
pub struct Export<D = Box<dyn Device>> {
    /// What clients are told about it.
    pub facts: Facts,
    /// Its data.
    pub store: Box<dyn Store>,
    /// How long requests take; without it they take no time.
    pub timing: Option<Timing<D>>,
    /// What is needed to cut its power, if that may be asked for.
    pub power: Option<PowerConfig<D>>,
}

/// What clients are told about an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its name; empty for the default.
    pub name: String,
    /// What it is, for people.
    pub description: String,
    /// Size of a sector: offsets and lengths of requests are multiples of it.
    pub sector: Bytes,
    /// Size of a sector on the media: requests had better be multiples of it.
    pub physical: Bytes,
    /// How many sectors it has.
    pub sectors: SectorCount,
    /// Whether writes are refused.
    pub is_read_only: bool,
    /// Whether requests take their time. Where they do not, zeroes are written faster than data.
    pub is_timed: bool,
}

impl Facts {
    /// Its size.
    pub const fn bytes(&self) -> Bytes {
        Bytes(self.sectors.0 * self.sector.0)
    }
}

/// How long the requests of an export take.
pub struct Timing<D = Box<dyn Device>> {
    /// The device that serves them. It always has room.
    pub device: D,
    /// How fast its time runs.
    pub speed: Speed,
    /// Never sleep while requests are under way; otherwise it is until shortly before a reply is
    /// due.
    pub spins: bool,
}
