//! The device below a unit, and the store of its data.

use std::collections::BTreeMap;
use std::sync::Arc;

use diskarm_core::device::{Device, Persisted};
use diskarm_core::drive::Drive;
use diskarm_core::geometry::Layout;
use diskarm_core::request::Request;
use diskarm_core::spec::{Geometry, Spec};
use diskarm_core::text::InputError;
use diskarm_core::units::{Angle, Bytes, Instant, Lbn};
use diskarm_wire::Sense;
use diskarm_wire::sense::{Code, Key};

/// The device below a unit, and those of its properties that the unit can read and change. By
/// default, it can use none, because arrays, pairs and wrappers have no layout to report.
pub trait Backing: Device {
    /// Returns the specification of a single drive, with the current buffer rules.
    fn spec(&self) -> Option<&Spec> {
        None
    }

    fn layout(&self) -> Option<&Layout> {
        None
    }

    /// Moves the arm to the track of a block and returns the time at which it arrives. Only called
    /// while no request is outstanding.
    fn seek(&mut self, now: Instant, _at: Lbn) -> Instant {
        now
    }

    /// Changes buffer rules, watermarks and write caching of a device that has a specification.
    fn set_buffer(&mut self, _now: Instant, _spec: &Spec) {}

    /// Replaces the defects, but not the number of blocks. Only called while no request is
    /// outstanding. Fails if the geometry is inconsistent or the device has none of its own.
    fn set_geometry(&mut self, _now: Instant, geometry: &Geometry) -> Result<(), InputError> {
        let zones = geometry.zones.len();
        let expected = "nothing: the device has no geometry of its own";
        Err(InputError::shown("geometry.zones", zones, expected))
    }
}

impl<D: Device + ?Sized> Backing for Box<D> {}

/// A single drive with a known layout and specification.
pub struct Single {
    drive: Drive,
    spec: Spec,
}

impl Single {
    /// Creates the drive that `spec` describes. At time zero its platter is at angle `origin`;
    /// `seed` determines its random behaviour. Fails if the specification is inconsistent.
    pub fn new(spec: &Spec, origin: Angle, seed: u64) -> Result<Self, InputError> {
        Ok(Self {
            drive: Drive::new(spec, origin)?.with_seed(seed),
            spec: spec.clone(),
        })
    }
}

impl Device for Single {
    diskarm_core::forward!(
        drive: capacity sector_size has_room submit next_event advance abort components persisted
    );
}

impl Backing for Single {
    fn spec(&self) -> Option<&Spec> {
        Some(&self.spec)
    }

    fn layout(&self) -> Option<&Layout> {
        Some(self.drive.layout())
    }

    fn seek(&mut self, now: Instant, at: Lbn) -> Instant {
        self.drive.seek(now, at)
    }

    fn set_buffer(&mut self, now: Instant, spec: &Spec) {
        self.drive.set_buffer(now, spec);
        self.spec = spec.clone();
    }

    fn set_geometry(&mut self, now: Instant, geometry: &Geometry) -> Result<(), InputError> {
        let layout = Layout::new(geometry)?;
        self.drive.set_layout(now, Arc::new(layout));
        self.spec.geometry = geometry.clone();
        Ok(())
    }
}

/// Stores the data of blocks. Blocks that were never written read as zeros.
pub trait Store: Send {
    /// Reads the blocks that start at `at` into `data`, which is filled with zeros beforehand.
    fn read(&mut self, at: Lbn, data: &mut [u8]) -> Result<(), Unavailable>;

    /// Writes `data`, a whole number of blocks, at `at`.
    fn write(&mut self, at: Lbn, data: &[u8]) -> Result<(), Unavailable>;

    /// Sets all blocks to zeros.
    fn clear(&mut self) -> Result<(), Unavailable>;

    /// Returns true if the store wants to be notified of the events below.
    fn wants_events(&self) -> bool {
        false
    }

    /// Called when the device has received a write or a flush. `data` will be stored with
    /// [`Self::write`] once the device has completed the write; `data` is empty if already stored.
    fn submitted(&mut self, _request: &Request, _data: Vec<u8>) {}

    /// Called when the device has completed a write or a flush. If `counts`, the request succeeded,
    /// and the data of a write are stored next unless they already are. Otherwise, the request
    /// failed or was aborted. If the unit has no write cache, every write has FUA.
    fn completed(&mut self, _request: &Request, _counts: bool) {}

    /// Called when a write whose data were stored at `at` in advance is aborted before the device
    /// receives it. `before` is the number of earlier writes at `at` still pending. The data stay.
    fn withdrawn(&mut self, _at: Lbn, _before: usize) {}

    /// Called when these blocks have reached the media.
    fn persisted(&mut self, _blocks: &[Persisted]) {}
}

/// A failure of the store itself, independent of the modelled drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unavailable;

impl From<Unavailable> for Sense {
    fn from(_: Unavailable) -> Self {
        Self::new(Key::HardwareError, Code::INTERNAL_FAILURE)
    }
}

/// A store in memory, which allocates a chunk only when nonzero data are written to it.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    block: usize,
    chunks: BTreeMap<u64, Box<[u8]>>,
}

impl MemoryStore {
    const CHUNK: u64 = 64;

    pub fn new(block: Bytes) -> Self {
        Self {
            block: block.0 as usize,
            chunks: BTreeMap::new(),
        }
    }

    /// Splits `length` bytes starting at block `at` at chunk boundaries. Returns the chunk of each
    /// part, its offset in the chunk and in the data, and its length.
    fn parts(
        &self,
        at: Lbn,
        length: usize,
    ) -> impl Iterator<Item = (u64, usize, usize, usize)> + use<> {
        let block = self.block;
        let blocks = (length / block) as u64;
        let mut next = 0;
        std::iter::from_fn(move || {
            let (chunk, offset) = ((at.0 + next) / Self::CHUNK, (at.0 + next) % Self::CHUNK);
            let count = (Self::CHUNK - offset).min(blocks - next);
            let part = (
                chunk,
                offset as usize * block,
                next as usize * block,
                count as usize * block,
            );
            next += count;
            (count > 0).then_some(part)
        })
    }
}

impl Store for MemoryStore {
    fn read(&mut self, at: Lbn, data: &mut [u8]) -> Result<(), Unavailable> {
        for (chunk, from, to, length) in self.parts(at, data.len()) {
            let data = &mut data[to..to + length];
            if let Some(chunk) = self.chunks.get(&chunk) {
                data.copy_from_slice(&chunk[from..from + length]);
            }
        }
        Ok(())
    }

    fn write(&mut self, at: Lbn, data: &[u8]) -> Result<(), Unavailable> {
        let size = Self::CHUNK as usize * self.block;
        for (chunk, to, from, length) in self.parts(at, data.len()) {
            let data = &data[from..from + length];
            if let Some(chunk) = self.chunks.get_mut(&chunk) {
                chunk[to..to + length].copy_from_slice(data);
            } else if data.iter().any(|byte| *byte != 0) {
                let mut fresh = vec![0; size].into_boxed_slice();
                fresh[to..to + length].copy_from_slice(data);
                self.chunks.insert(chunk, fresh);
            }
        }
        Ok(())
    }

    fn clear(&mut self) -> Result<(), Unavailable> {
        self.chunks.clear();
        Ok(())
    }
}
