//! The data of an export, with or without a write cache that a power cut empties.

use std::io;

use diskarm_core::device::Persisted;
use diskarm_core::units::{Bytes, SectorCount};

use super::cache::{Cache, Losses, PendingWrite, PowerCut, WriteId};
use crate::store::Store;

/// Default of [`crate::PowerConfig::max_unacknowledged`]: 32 MiB of the smallest sectors.
pub const MAX_UNACKNOWLEDGED: SectorCount = SectorCount(1 << 16);

/// The path of an export's data to its store. It follows the progress of writes in the device, and
/// keeps the data that a power cut would restore.
pub struct DataPath {
    pub store: Box<dyn Store>,
    sector: u64,
    max_unacknowledged: u64,
    /// The writes that a power cut can revert; `None` if the power cannot be cut.
    cache: Option<Cache>,
}

impl DataPath {
    /// Creates a path to a store. `capacity` is the size of the drive's buffer; without it, the
    /// power cannot be cut. If `is_timed`, the caller reports what has reached the media.
    pub fn new(
        store: Box<dyn Store>,
        sector: Bytes,
        capacity: Option<SectorCount>,
        is_timed: bool,
    ) -> Self {
        Self {
            store,
            sector: sector.0,
            max_unacknowledged: MAX_UNACKNOWLEDGED.0,
            cache: capacity.map(|capacity| Cache::new(capacity.0, is_timed)),
        }
    }

    /// Sets the number of sector versions for writes that are arriving or in progress above which
    /// the data path [is full](Self::is_full).
    pub fn with_max_unacknowledged(self, max: SectorCount) -> Self {
        Self {
            max_unacknowledged: max.0,
            ..self
        }
    }

    pub fn can_lose_writes(&self) -> bool {
        self.cache.is_some()
    }

    /// Returns the number of kept sector versions; a sector written twice counts twice.
    pub fn version_count(&self) -> u64 {
        self.cache.as_ref().map_or(0, Cache::version_count)
    }

    /// Returns true if no further large write should start, because too many versions are kept for
    /// writes that are arriving or in progress.
    pub fn is_full(&self) -> bool {
        let is_full = |cache: &Cache| cache.unacknowledged > self.max_unacknowledged;
        self.cache.as_ref().is_some_and(is_full)
    }

    /// Keeps the content that a part of `write` is about to replace.
    fn keep(&mut self, write: WriteId, offset: u64, length: u64) -> io::Result<()> {
        let Some(cache) = &mut self.cache else {
            return Ok(());
        };
        let mut before = vec![0; length as usize];
        self.store.read(offset, &mut before)?;
        let sectors = before.chunks_exact(self.sector as usize);
        for (sector, before) in (offset / self.sector..).zip(sectors) {
            cache.record_change(write, sector, before.into());
        }
        Ok(())
    }

    /// Registers a write whose data will arrive in parts.
    pub fn open(&mut self, offset: u64, length: u64) -> WriteId {
        let (first, sectors) = (offset / self.sector, length / self.sector);
        let cache = self.cache.as_mut();
        cache.map_or(WriteId::NONE, |cache| cache.open(first, sectors))
    }

    pub fn write_part(&mut self, write: WriteId, offset: u64, data: &[u8]) -> io::Result<()> {
        self.keep(write, offset, data.len() as u64)?;
        self.store.write(offset, data)
    }

    /// Writes zeroes as a part of a write; see [`Store::zero`].
    pub fn zero_part(
        &mut self,
        write: WriteId,
        offset: u64,
        length: u64,
        may_free: bool,
    ) -> io::Result<()> {
        self.keep(write, offset, length)?;
        self.store.zero(offset, length, may_free)
    }

    /// Ends a write after its first `length` bytes, because no more will arrive.
    pub fn shorten(&mut self, write: WriteId, length: u64) {
        if let Some(cache) = &mut self.cache {
            cache.shorten(write, length / self.sector);
        }
    }

    /// Records that the device has received the write.
    pub fn mark_submitted(&mut self, write: WriteId) {
        if let Some(cache) = &mut self.cache {
            cache.mark_submitted(write);
        }
    }

    pub fn mark_persisted(&mut self, persisted: &[Persisted]) {
        if let Some(cache) = &mut self.cache {
            for run in persisted {
                cache.mark_persisted(run.first.0, run.sectors.0);
            }
        }
    }

    /// Marks a write as acknowledged by the device. A write with FUA (`is_safe`) becomes permanent.
    pub fn mark_acknowledged(&mut self, write: WriteId, is_safe: bool) {
        if let Some(cache) = &mut self.cache {
            cache.mark_acknowledged(write);
            if is_safe {
                cache.remove(write);
            }
        }
    }

    /// Returns the mark to pass to [`Self::complete_flush`] for a flush that arrives now.
    pub fn flush_mark(&self) -> u64 {
        self.cache.as_ref().map_or(0, |cache| cache.acknowledged)
    }

    /// Completes a flush that arrived at `mark`.
    pub fn complete_flush(&mut self, mark: u64) {
        if let Some(cache) = &mut self.cache {
            cache.complete_flush(mark);
        }
    }

    /// Registers a write whose `data` are stored later, by [`Self::carry_out`].
    pub fn plan(&mut self, offset: u64, data: &[u8]) -> WriteId {
        let write = self.open(offset, data.len() as u64);
        if let Some(cache) = &mut self.cache {
            cache.plan(write, data, self.sector);
            cache.mark_submitted(write);
        }
        write
    }

    /// Stores the data of a planned write. If the store fails, drops the write.
    pub fn carry_out(&mut self, write: WriteId) -> io::Result<()> {
        let Some(cache) = &mut self.cache else {
            return Ok(());
        };
        let Some((first, data)) = cache.planned_data(write) else {
            return Ok(());
        };
        let offset = first * self.sector;
        let mut before = vec![0; data.len()];
        let read = self.store.read(offset, &mut before);
        let stored = read.and_then(|()| self.store.write(offset, &data));
        match stored {
            Ok(()) => cache.mark_carried_out(write, &before, self.sector),
            Err(_) => cache.remove(write),
        }
        stored
    }

    /// Drops a planned write; makes any other write permanent.
    pub fn withdraw(&mut self, write: WriteId) {
        if let Some(cache) = &mut self.cache {
            cache.remove(write);
        }
    }

    /// Discards data, which then read as zeroes. On the media, earlier writes take effect first: a
    /// power cut that reverts one of them also reverts the trim.
    pub fn trim(&mut self, offset: u64, length: u64) -> io::Result<()> {
        self.store.zero(offset, length, true)
    }

    /// Permanently zeroes all `bytes`.
    pub fn clear(&mut self, bytes: u64) -> io::Result<()> {
        if let Some(cache) = &mut self.cache {
            cache.clear();
        }
        self.store.zero(0, bytes, true)
    }

    pub fn pending_writes(&self) -> Vec<PendingWrite> {
        let cache = self.cache.as_ref();
        cache.map_or_else(Vec::new, Cache::pending_writes)
    }

    /// Cuts the power. Fails if the store fails; writes that should be lost may then survive.
    pub fn cut(&mut self, cut: &PowerCut) -> io::Result<Losses> {
        // Planned writes must be in the store, because parts of them may have reached the media.
        let planned = self.cache.as_ref().map(Cache::planned_writes);
        let mut result = Ok(());
        for write in planned.into_iter().flatten() {
            result = result.and(self.carry_out(write));
        }
        let Some(cache) = &mut self.cache else {
            return Ok(Losses::default());
        };
        let (reverted, losses) = cache.cut(cut);
        for (sector, before) in reverted {
            result = result.and(self.store.write(sector * self.sector, &before));
        }
        result.map(|()| losses)
    }
}
