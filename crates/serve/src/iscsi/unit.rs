//! The disk and the data of a logical unit.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use diskarm_core::device::{Completion, Device, Persisted, Status, SubmitError};
use diskarm_core::engine::Observer;
use diskarm_core::geometry::Layout;
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::{Geometry, Spec};
use diskarm_core::text::InputError;
use diskarm_core::units::{Bytes, Instant, Lbn, SectorCount};
use diskarm_emulate::{Backing, Single, Unavailable};

use crate::power::{DataPath, InjectedFaults, Losses, PowerCut, WriteId};
use crate::recording::{Tap, Tappable};

/// The device behind a unit. The unit may expose only the first blocks of the device. A single
/// drive reports its specification and layout; other devices report nothing about themselves.
pub struct Disk {
    device: Box<dyn Backing>,
    sectors: SectorCount,
    tap: Option<Tap>,
    faults: InjectedFaults,
}

impl Disk {
    fn new(device: Box<dyn Backing>, sectors: SectorCount) -> Self {
        Self {
            device,
            sectors,
            tap: None,
            faults: InjectedFaults::default(),
        }
    }

    pub fn from_drive(drive: Single) -> Self {
        let sectors = drive.capacity();
        Self::new(Box::new(drive), sectors)
    }

    pub fn from_device(device: Box<dyn Device>, sectors: SectorCount) -> Self {
        Self::new(Box::new(device), sectors)
    }

    /// Creates a disk whose requests take no time.
    pub fn instant(sectors: SectorCount, sector: Bytes) -> Self {
        Self::from_device(Box::new(InstantDevice::new(sectors, sector)), sectors)
    }

    /// Makes requests to injected bad blocks fail.
    pub(super) fn with_faults(self, faults: InjectedFaults) -> Self {
        Self { faults, ..self }
    }
}

impl Device for Disk {
    diskarm_core::forward!(device: sector_size has_room next_event abort components persisted);

    fn capacity(&self) -> SectorCount {
        self.sectors
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        self.device.submit(now, request)?;
        if let Some(tap) = &mut self.tap {
            tap.arrived(now, &request);
        }
        Ok(())
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        let mut done = self.device.advance(now)?;
        if let Some(tap) = &mut self.tap {
            tap.completed(&done);
        }
        if done.status.is_success()
            && let Some(first) = self.faults.first_failure(&done.request)
        {
            let offset = (first.0 - done.request.start.0) as u16;
            done.status = Status::MediumError { offset };
        }
        Some(done)
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

/// The methods dereference the box, because the box itself is a plain device that reports nothing.
impl Backing for Disk {
    fn spec(&self) -> Option<&Spec> {
        (*self.device).spec()
    }

    fn layout(&self) -> Option<&Layout> {
        (*self.device).layout()
    }

    fn seek(&mut self, now: Instant, at: Lbn) -> Instant {
        (*self.device).seek(now, at)
    }

    fn set_buffer(&mut self, now: Instant, spec: &Spec) {
        (*self.device).set_buffer(now, spec);
    }

    fn set_geometry(&mut self, now: Instant, geometry: &Geometry) -> Result<(), InputError> {
        (*self.device).set_geometry(now, geometry)
    }
}

pub struct InstantDevice {
    sectors: SectorCount,
    sector: Bytes,
    done: VecDeque<Completion>,
}

impl InstantDevice {
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

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
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

/// The data of a unit, shared by the unit and its target.
#[derive(Clone)]
pub struct UnitStore(Arc<Mutex<UnitData>>);

pub(super) struct UnitData {
    pub data: DataPath,
    /// Block size, in bytes.
    sector_bytes: u64,
    capacity_bytes: u64,
    /// Writes and flushes in the device, by request id.
    active: BTreeMap<u64, ActiveRequest>,
    /// Writes whose data arrived before the device received the request, with their locations.
    early: BTreeSet<(Lbn, WriteId)>,
    /// The write that the device has just completed, and whether it had FUA.
    completed: Option<(WriteId, bool)>,
}

enum ActiveRequest {
    /// A write whose data are stored when it completes.
    Planned(WriteId),
    /// A write whose data are already stored.
    Early(WriteId),
    /// A flush, with its mark.
    Flush(u64),
}

impl UnitStore {
    pub fn new(data: DataPath, sector_bytes: u64, capacity_bytes: u64) -> Self {
        Self(Arc::new(Mutex::new(UnitData {
            data,
            sector_bytes,
            capacity_bytes,
            active: BTreeMap::new(),
            early: BTreeSet::new(),
            completed: None,
        })))
    }

    /// Cuts the power. Fails if the store fails; writes that should be lost may then survive.
    pub fn cut(&self, cut: &PowerCut) -> io::Result<Losses> {
        let mut unit = self.lock();
        unit.active.clear();
        unit.early.clear();
        unit.data.cut(cut)
    }

    /// Locks the data. Only the thread of the export accesses them.
    pub(super) fn lock(&self) -> MutexGuard<'_, UnitData> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnitData {
    fn write(&mut self, at: Lbn, data: &[u8]) -> io::Result<()> {
        let offset = at.0 * self.sector_bytes;
        if let Some((write, is_safe)) = self.completed.take() {
            self.data.carry_out(write)?;
            self.data.mark_acknowledged(write, is_safe);
            return Ok(());
        }
        let write = self.data.open(offset, data.len() as u64);
        let written = self.data.write_part(write, offset, data);
        if written.is_err() {
            self.data.withdraw(write);
        } else if self.data.can_lose_writes() {
            self.early.insert((at, write));
        }
        written
    }

    /// Removes and returns a write whose data were stored at `at` in advance, with `before` earlier
    /// ones.
    fn take_early(&mut self, at: Lbn, before: usize) -> Option<WriteId> {
        let matching = (at, WriteId::NONE)..(Lbn(at.0 + 1), WriteId::NONE);
        let &found = self.early.range(matching).nth(before)?;
        self.early.remove(&found);
        Some(found.1)
    }
}

impl diskarm_emulate::Store for UnitStore {
    fn read(&mut self, at: Lbn, data: &mut [u8]) -> Result<(), Unavailable> {
        let mut unit = self.lock();
        let offset = at.0 * unit.sector_bytes;
        let read = unit.data.store.read(offset, data);
        read.map_err(|_| Unavailable)
    }

    fn write(&mut self, at: Lbn, data: &[u8]) -> Result<(), Unavailable> {
        let written = self.lock().write(at, data);
        written.map_err(|_| Unavailable)
    }

    fn clear(&mut self) -> Result<(), Unavailable> {
        let mut unit = self.lock();
        let capacity_bytes = unit.capacity_bytes;
        unit.data.clear(capacity_bytes).map_err(|_| Unavailable)
    }

    fn wants_events(&self) -> bool {
        self.lock().data.can_lose_writes()
    }

    fn submitted(&mut self, request: &Request, data: Vec<u8>) {
        let unit = &mut *self.lock();
        let active = match request.op {
            Op::Flush => ActiveRequest::Flush(unit.data.flush_mark()),
            _ if data.is_empty() => {
                let Some(write) = unit.take_early(request.start, 0) else {
                    return;
                };
                unit.data.mark_submitted(write);
                ActiveRequest::Early(write)
            }
            _ => ActiveRequest::Planned(unit.data.plan(request.start.0 * unit.sector_bytes, &data)),
        };
        unit.active.insert(request.id, active);
    }

    fn completed(&mut self, request: &Request, takes_effect: bool) {
        let unit = &mut *self.lock();
        let is_safe = request.force_unit_access;
        match unit.active.remove(&request.id) {
            Some(ActiveRequest::Planned(write)) if takes_effect => {
                unit.completed = Some((write, is_safe));
            }
            Some(ActiveRequest::Early(write)) if takes_effect => {
                unit.data.mark_acknowledged(write, is_safe);
            }
            Some(ActiveRequest::Planned(write) | ActiveRequest::Early(write)) => {
                unit.data.withdraw(write);
            }
            Some(ActiveRequest::Flush(mark)) if takes_effect => unit.data.complete_flush(mark),
            Some(ActiveRequest::Flush(_)) | None => {}
        }
    }

    fn withdrawn(&mut self, at: Lbn, before: usize) {
        let unit = &mut *self.lock();
        if let Some(write) = unit.take_early(at, before) {
            unit.data.withdraw(write);
        }
    }

    fn persisted(&mut self, persisted: &[Persisted]) {
        self.lock().data.mark_persisted(persisted);
    }
}
