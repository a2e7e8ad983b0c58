//! The device below a unit.

use std::sync::Arc;

use diskarm_core::device::{Completion, ComponentReport, Device, Persisted, SubmitError};
use diskarm_core::drive::Drive;
use diskarm_core::geometry::Layout;
use diskarm_core::request::Request;
use diskarm_core::spec::Spec;
use diskarm_core::text::InputError;
use diskarm_core::units::{Angle, Bytes, Instant, Lbn, SectorCount};

/// The device below a unit, with what the unit may know of it and change beyond serving requests.
/// By default that is nothing: arrays, pairs and wrappers have no layout to report.
pub trait Backing: Device {
    /// The specification of the one drive that it is, with the buffer rules in force.
    fn spec(&self) -> Option<&Spec> {
        None
    }

    /// The layout of the one drive that it is.
    fn layout(&self) -> Option<&Layout> {
        None
    }

    /// Moves the arm to the track of a block while no request is outstanding; returns when that has
    /// ended.
    fn seek(&mut self, now: Instant, _at: Lbn) -> Instant {
        now
    }

    /// Changes the buffer rules, watermarks and write caching. Only called where
    /// [`Self::spec`] is known.
    fn set_buffer(&mut self, _now: Instant, _spec: &Spec) {}

    /// Replaces the defects, in a geometry with the same number of blocks, while no request is
    /// outstanding.
    ///
    /// # Errors
    /// The geometry contradicts itself, or nothing is known of the device.
    fn set_geometry(
        &mut self,
        _now: Instant,
        geometry: &diskarm_core::spec::Geometry,
    ) -> Result<(), InputError> {
        let given = geometry.zones.len();
        let expected = "nothing: the device has no geometry of its own";
        Err(InputError::shown("geometry.zones", given, expected))
    }
}

impl<D: Device + ?Sized> Backing for Box<D> {}

/// One drive, of which all is known.
pub struct Single {
    drive: Drive,
    spec: Spec,
}

impl Single {
    /// The drive of `spec`, its platter at angle `origin` when the clock begins, with the seed of
    /// what it does at random.
    ///
    /// # Errors
    /// The specification contradicts itself.
    pub fn new(spec: &Spec, origin: Angle, seed: u64) -> Result<Self, InputError> {
        Ok(Self {
            drive: Drive::new(spec, origin)?.seeded(seed),
            spec: spec.clone(),
        })
    }
}

impl Device for Single {
    fn capacity(&self) -> SectorCount {
        self.drive.capacity()
    }

    fn sector_size(&self) -> Bytes {
        self.drive.sector_size()
    }

    fn has_room(&self) -> bool {
        self.drive.has_room()
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        self.drive.submit(now, request)
    }

    fn next_event(&self) -> Option<Instant> {
        self.drive.next_event()
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        self.drive.advance(now)
    }

    fn abort(&mut self, now: Instant, id: u64) -> bool {
        self.drive.abort(now, id)
    }

    fn components(&self, now: Instant) -> Vec<ComponentReport> {
        self.drive.components(now)
    }

    fn persisted(&mut self, now: Instant) -> Option<Vec<Persisted>> {
        self.drive.persisted(now)
    }
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

    fn set_geometry(
        &mut self,
        now: Instant,
        geometry: &diskarm_core::spec::Geometry,
    ) -> Result<(), InputError> {
        let layout = Layout::new(geometry)?;
        self.drive.set_layout(now, Arc::new(layout));
        self.spec.geometry = geometry.clone();
        Ok(())
    }
}
