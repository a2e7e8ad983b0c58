//! The data of an export as those of a unit, and what of them a power cut takes.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use diskarm_core::device::Landed;
use diskarm_core::request::{Op, Request};
use diskarm_core::units::Lbn;
use diskarm_emulate::Unavailable;

use crate::power::{Data, Losses, PowerCut, Write};
use crate::store::Store;

/// The data, of which the unit has a handle and the target another.
#[derive(Clone)]
pub struct UnitStore(Arc<Mutex<Media>>);

pub(super) struct Media {
    pub data: Data,
    /// Bytes of a block.
    sector: u64,
    /// Bytes of all blocks.
    bytes: u64,
    /// Writes and flushes that the device has, by their ids there.
    under: BTreeMap<u64, Under>,
    /// Writes whose data have come before the device has them, and where they are.
    early: Vec<(Lbn, Write)>,
    /// The write that the device has just completed, and whether it had FUA.
    completed: Option<(Write, bool)>,
}

/// A request under way.
enum Under {
    /// A write whose data come when it ends.
    Planned(Write),
    /// A write whose data are there.
    Early(Write),
    /// A flush, and what it is for.
    Flush(u64),
}

impl UnitStore {
    /// Those in `data`.
    pub fn new(data: Data, sector: u64, bytes: u64) -> Self {
        Self(Arc::new(Mutex::new(Media {
            data,
            sector,
            bytes,
            under: BTreeMap::new(),
            early: Vec::new(),
            completed: None,
        })))
    }

    /// Cuts the power.
    ///
    /// # Errors
    /// Those of the store, in which then too much has survived.
    pub fn cut(&self, cut: &PowerCut) -> io::Result<Losses> {
        let mut media = self.media();
        media.under.clear();
        media.early.clear();
        media.data.cut(cut)
    }

    /// The data. Only the thread of the export asks.
    pub(super) fn media(&self) -> MutexGuard<'_, Media> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Media {
    fn write(&mut self, at: Lbn, data: &[u8]) -> io::Result<()> {
        let offset = at.0 * self.sector;
        if let Some((write, is_safe)) = self.completed.take() {
            self.data.carry_out(write)?;
            self.settle(write, is_safe);
            return Ok(());
        }
        let write = self.data.open(offset, data.len() as u64);
        let written = self.data.write_part(write, offset, data);
        if written.is_err() {
            self.data.withdraw(write);
        } else if self.data.can_lose() {
            self.early.push((at, write));
        }
        written
    }

    fn left_over(&mut self, at: Lbn, before: usize) {
        let early = self.early.iter().enumerate();
        let mut there = early.filter(|(_, (early, _))| *early == at);
        if let Some((place, _)) = there.nth(before) {
            let (_, write) = self.early.remove(place);
            self.data.withdraw(write);
        }
    }

    /// The drive has answered a write.
    fn settle(&mut self, write: Write, is_safe: bool) {
        self.data.acknowledged(write);
        if is_safe {
            self.data.safe(write);
        }
    }

    fn submitted(&mut self, request: &Request, data: &[u8]) {
        let under = match request.op {
            Op::Flush => Under::Flush(self.data.mark()),
            _ if data.is_empty() => {
                let mut early = self.early.iter();
                let Some(place) = early.position(|(at, _)| *at == request.start) else {
                    return;
                };
                let (_, write) = self.early.remove(place);
                self.data.submitted(write);
                Under::Early(write)
            }
            _ => Under::Planned(self.data.plan(request.start.0 * self.sector, data)),
        };
        self.under.insert(request.id, under);
    }

    fn completed(&mut self, request: &Request, counts: bool) {
        let is_safe = request.force_unit_access;
        match self.under.remove(&request.id) {
            Some(Under::Planned(write)) if counts => self.completed = Some((write, is_safe)),
            Some(Under::Early(write)) if counts => self.settle(write, is_safe),
            Some(Under::Planned(write) | Under::Early(write)) => self.data.withdraw(write),
            Some(Under::Flush(mark)) if counts => self.data.flushed(mark),
            Some(Under::Flush(_)) | None => {}
        }
    }
}

impl diskarm_emulate::Store for UnitStore {
    fn read(&mut self, at: Lbn, data: &mut [u8]) -> Result<(), Unavailable> {
        let mut media = self.media();
        let offset = at.0 * media.sector;
        let read = media.data.read(offset, data);
        read.map_err(|_| Unavailable)
    }

    fn write(&mut self, at: Lbn, data: &[u8]) -> Result<(), Unavailable> {
        let written = self.media().write(at, data);
        written.map_err(|_| Unavailable)
    }

    fn clear(&mut self) -> Result<(), Unavailable> {
        let mut media = self.media();
        let bytes = media.bytes;
        media.data.clear(bytes).map_err(|_| Unavailable)
    }

    fn follows(&self) -> bool {
        self.media().data.can_lose()
    }

    fn submitted(&mut self, request: &Request, data: Vec<u8>) {
        self.media().submitted(request, &data);
    }

    fn completed(&mut self, request: &Request, counts: bool) {
        self.media().completed(request, counts);
    }

    fn left_over(&mut self, at: Lbn, before: usize) {
        self.media().left_over(at, before);
    }

    fn landed(&mut self, landed: &[Landed]) {
        self.media().data.landed(landed);
    }
}
