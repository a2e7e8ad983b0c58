//! What stands behind the logical unit of an export.

use std::collections::VecDeque;

use diskarm_core::device::{Completion, Device, Landed, Part, Refused, Status};
use diskarm_core::engine::Observer;
use diskarm_core::geometry::Layout;
use diskarm_core::request::Request;
use diskarm_core::spec::{Geometry, Spec};
use diskarm_core::text::InputError;
use diskarm_core::units::{Bytes, Instant, Lbn, SectorCount};
use diskarm_emulate::{Backing, Single};

use crate::power::InjectedFaults;
use crate::recording::{Tap, Tappable};

/// A device behind a unit, which may show fewer blocks than it has.
pub struct Disk {
    device: Kind,
    sectors: SectorCount,
    tap: Option<Tap>,
    injections: InjectedFaults,
}

enum Kind {
    /// One drive, which tells all of itself.
    Drive(Box<Single>),
    Any(Box<dyn Device>),
}

impl Disk {
    /// A drive with all its blocks.
    pub fn drive(drive: Single) -> Self {
        Self {
            sectors: drive.capacity(),
            device: Kind::Drive(Box::new(drive)),
            tap: None,
            injections: InjectedFaults::default(),
        }
    }

    /// A device of which `sectors` are shown, and nothing is told.
    pub fn any(device: Box<dyn Device>, sectors: SectorCount) -> Self {
        Self {
            device: Kind::Any(device),
            sectors,
            tap: None,
            injections: InjectedFaults::default(),
        }
    }

    /// One whose requests take no time.
    pub fn instantly(sectors: SectorCount, sector: Bytes) -> Self {
        Self::any(Box::new(InstantDevice::new(sectors, sector)), sectors)
    }

    /// The same with blocks that fail.
    pub(super) fn failing(self, injections: InjectedFaults) -> Self {
        Self { injections, ..self }
    }

    fn device(&self) -> &dyn Device {
        match &self.device {
            Kind::Drive(drive) => &**drive,
            Kind::Any(device) => &**device,
        }
    }

    fn device_mut(&mut self) -> &mut dyn Device {
        match &mut self.device {
            Kind::Drive(drive) => &mut **drive,
            Kind::Any(device) => &mut **device,
        }
    }
}

impl Device for Disk {
    fn capacity(&self) -> SectorCount {
        self.sectors
    }

    fn sector_size(&self) -> Bytes {
        self.device().sector_size()
    }

    fn has_room(&self) -> bool {
        self.device().has_room()
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Refused> {
        self.device_mut().submit(now, request)?;
        if let Some(tap) = &mut self.tap {
            tap.arrived(now, &request);
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        self.device().next_event()
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        let mut done = self.device_mut().advance(now)?;
        if let Some(tap) = &mut self.tap {
            tap.completed(&done);
        }
        if done.status.is_success()
            && let Some(first) = self.injections.fails(&done.request)
        {
            let offset = (first.0 - done.request.start.0) as u16;
            done.status = Status::MediumError { offset };
        }
        Some(done)
    }

    fn abort(&mut self, now: Instant, id: u64) -> bool {
        self.device_mut().abort(now, id)
    }

    fn parts(&self, now: Instant) -> Vec<Part> {
        self.device().parts(now)
    }

    fn landed(&mut self, now: Instant) -> Option<Vec<Landed>> {
        self.device_mut().landed(now)
    }
}

impl Tappable for Disk {
    fn with_tap(self, tap: Tap) -> Self {
        Self {
            tap: Some(tap),
            ..self
        }
    }
}

/// Calls go past the box around a drive, which as a device of its own would know nothing.
impl Backing for Disk {
    fn spec(&self) -> Option<&Spec> {
        match &self.device {
            Kind::Drive(drive) => (**drive).spec(),
            Kind::Any(_) => None,
        }
    }

    fn layout(&self) -> Option<&Layout> {
        match &self.device {
            Kind::Drive(drive) => (**drive).layout(),
            Kind::Any(_) => None,
        }
    }

    fn seek(&mut self, now: Instant, at: Lbn) -> Instant {
        match &mut self.device {
            Kind::Drive(drive) => (**drive).seek(now, at),
            Kind::Any(_) => now,
        }
    }

    fn set_buffer(&mut self, now: Instant, spec: &Spec) {
        if let Kind::Drive(drive) = &mut self.device {
            (**drive).set_buffer(now, spec);
        }
    }

    fn set_geometry(&mut self, now: Instant, geometry: &Geometry) -> Result<(), InputError> {
        match &mut self.device {
            Kind::Drive(drive) => (**drive).set_geometry(now, geometry),
            Kind::Any(device) => Backing::set_geometry(device, now, geometry),
        }
    }
}

/// A device whose requests take no time.
pub struct InstantDevice {
    sectors: SectorCount,
    sector: Bytes,
    done: VecDeque<Completion>,
}

impl InstantDevice {
    /// One with this many blocks of this size.
    pub fn new(sectors: SectorCount, sector: Bytes) -> Self {
        Self {
            sectors,
            sector,
            done: VecDeque::new(),
        }
    }
}

impl Device for InstantDevice {
    fn capacity(&self) -> SectorCount {
        self.sectors
    }

    fn sector_size(&self) -> Bytes {
        self.sector
    }

    fn has_room(&self) -> bool {
        true
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Refused> {
        self.check(&request)?;
        let done = Completion::unserved(request, now, now, Status::Good);
        self.done.push_back(done);
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        self.done.front().map(|completion| completion.at)
    }

    fn advance(&mut self, _: Instant) -> Option<Completion> {
        self.done.pop_front()
    }

    fn abort(&mut self, _: Instant, _: u64) -> bool {
        false
    }
}
