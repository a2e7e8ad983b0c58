//! The data of an export, with or without a write cache that a power cut empties.

use std::fs::File;
use std::io;

use diskarm_core::device::Persisted;
use diskarm_core::units::{Bytes, SectorCount};

use super::cache::{Cache, Losses, PendingWrite, PowerCut, WriteId};
use crate::store::{Extent, Store};

/// The path of an export's data to their store.
///
/// The methods report the progress of writes in the device. The defaults are for a store whose
/// power cannot be cut; [`VolatileStore`] keeps what a power cut would revert.
pub trait DataPath: Store {
    /// Returns true if a power cut can revert writes.
    fn can_lose_writes(&self) -> bool {
        false
    }

    /// Number of sector versions kept for a power cut; sectors written twice count twice.
    fn version_count(&self) -> u64 {
        0
    }

    /// Returns true if so many versions are kept that no further write should start.
    fn is_full(&self) -> bool {
        false
    }

    /// Registers a write that follows in parts.
    fn open(&mut self, _offset: u64, _length: u64) -> WriteId {
        WriteId::NONE
    }

    fn write_part(&mut self, _write: WriteId, offset: u64, data: &[u8]) -> io::Result<()> {
        self.write(offset, data)
    }

    /// Writes zeroes as a part of a write; see [`Store::zero`].
    fn zero_part(
        &mut self,
        _write: WriteId,
        offset: u64,
        length: u64,
        may_free: bool,
    ) -> io::Result<()> {
        self.zero(offset, length, may_free)
    }

    /// Ends a write after its first `length` bytes, because no more will arrive.
    fn shorten(&mut self, _write: WriteId, _length: u64) {}

    /// The device has received the write.
    fn mark_submitted(&mut self, _write: WriteId) {}

    /// The device reports that these blocks have reached the media.
    fn mark_persisted(&mut self, _persisted: &[Persisted]) {}

    fn mark_acknowledged(&mut self, _write: WriteId) {}

    /// Makes the write permanent, because it had FUA or has failed.
    fn make_safe(&mut self, _write: WriteId) {}

    /// The mark to pass to [`Self::complete_flush`] for a flush that arrives now.
    fn flush_mark(&self) -> u64 {
        0
    }

    /// A flush that arrived at `mark` has completed.
    fn complete_flush(&mut self, _mark: u64) {}

    /// Registers a write whose `data` reach the store in [`Self::carry_out`].
    fn plan(&mut self, _offset: u64, _data: &[u8]) -> WriteId {
        WriteId::NONE
    }

    /// Stores the data of a planned write.
    fn carry_out(&mut self, _write: WriteId) -> io::Result<()> {
        Ok(())
    }

    /// Drops a planned write; makes any other permanent.
    fn withdraw(&mut self, _write: WriteId) {}

    /// Discards data, which then read as zeroes. On the media, earlier writes take effect first.
    fn trim(&mut self, offset: u64, length: u64) -> io::Result<()> {
        self.zero(offset, length, true)
    }

    /// Permanently makes all `bytes` zero.
    fn clear(&mut self, bytes: u64) -> io::Result<()> {
        self.zero(0, bytes, true)
    }

    /// The writes that have not reached the media.
    fn pending_writes(&self) -> Vec<PendingWrite> {
        Vec::new()
    }

    /// Cuts the power; fails if the store fails, and then some writes that should be lost survive.
    fn cut(&mut self, _cut: &PowerCut) -> io::Result<Losses> {
        Ok(Losses::default())
    }
}

impl DataPath for Box<dyn Store> {}

/// The path to `store`, which has sectors of this size. A power cut can revert writes if
/// `capacity`, the size of the drive's buffer, is given; see [`VolatileStore::new`].
pub(crate) fn data_path(
    store: Box<dyn Store>,
    sector: Bytes,
    capacity: Option<SectorCount>,
    is_timed: bool,
) -> Box<dyn DataPath> {
    match capacity {
        Some(capacity) => Box::new(VolatileStore::new(store, sector, capacity, is_timed)),
        None => Box::new(store),
    }
}

/// Limit of the sectors kept for unacknowledged writes: 32 MiB of the smallest sectors.
const MAX_UNACKNOWLEDGED: u64 = 1 << 16;

/// A store with a write cache that loses its content when the power is cut.
pub struct VolatileStore {
    store: Box<dyn Store>,
    sector: u64,
    cache: Cache,
}

impl VolatileStore {
    /// The data in `store`, with sectors of this size, cached in a buffer of `capacity`. With
    /// `is_timed`, [`DataPath::mark_persisted`] reports what has reached the media.
    pub fn new(
        store: Box<dyn Store>,
        sector: Bytes,
        capacity: SectorCount,
        is_timed: bool,
    ) -> Self {
        Self {
            store,
            sector: sector.0,
            cache: Cache::new(capacity.0, is_timed),
        }
    }

    /// Keeps the content that a part of `write` is about to replace.
    fn keep(&mut self, write: WriteId, offset: u64, length: u64) -> io::Result<()> {
        let mut before = vec![0; length as usize];
        self.store.read(offset, &mut before)?;
        let sectors = before.chunks_exact(self.sector as usize);
        for (sector, before) in (offset / self.sector..).zip(sectors) {
            self.cache.record_change(write, sector, before.into());
        }
        Ok(())
    }
}

impl DataPath for VolatileStore {
    fn can_lose_writes(&self) -> bool {
        true
    }

    fn version_count(&self) -> u64 {
        self.cache.version_count()
    }

    fn is_full(&self) -> bool {
        // Twice the buffer: writes that have reached the media but are not safe, and pending ones.
        self.cache.version_count() > 2 * self.cache.capacity() + MAX_UNACKNOWLEDGED
    }

    fn open(&mut self, offset: u64, length: u64) -> WriteId {
        self.cache.open(offset / self.sector, length / self.sector)
    }

    fn write_part(&mut self, write: WriteId, offset: u64, data: &[u8]) -> io::Result<()> {
        self.keep(write, offset, data.len() as u64)?;
        self.store.write(offset, data)
    }

    fn zero_part(
        &mut self,
        write: WriteId,
        offset: u64,
        length: u64,
        may_free: bool,
    ) -> io::Result<()> {
        self.keep(write, offset, length)?;
        self.store.zero(offset, length, may_free)
    }

    fn shorten(&mut self, write: WriteId, length: u64) {
        self.cache.shorten(write, length / self.sector);
    }

    fn mark_submitted(&mut self, write: WriteId) {
        self.cache.mark_submitted(write);
    }

    fn mark_persisted(&mut self, persisted: &[Persisted]) {
        for run in persisted {
            self.cache.mark_persisted(run.first.0, run.sectors.0);
        }
    }

    fn mark_acknowledged(&mut self, write: WriteId) {
        self.cache.mark_acknowledged(write);
    }

    fn make_safe(&mut self, write: WriteId) {
        self.cache.make_safe(write);
    }

    fn flush_mark(&self) -> u64 {
        self.cache.flush_mark()
    }

    fn complete_flush(&mut self, mark: u64) {
        self.cache.complete_flush(mark);
    }

    fn plan(&mut self, offset: u64, data: &[u8]) -> WriteId {
        let write = self.open(offset, data.len() as u64);
        self.cache.plan(write, data, self.sector);
        self.cache.mark_submitted(write);
        write
    }

    fn carry_out(&mut self, write: WriteId) -> io::Result<()> {
        let Some((first, data)) = self.cache.planned_data(write) else {
            return Ok(());
        };
        let offset = first * self.sector;
        let mut before = vec![0; data.len()];
        self.store.read(offset, &mut before)?;
        self.store.write(offset, &data)?;
        self.cache.mark_carried_out(write, &before, self.sector);
        Ok(())
    }

    fn withdraw(&mut self, write: WriteId) {
        self.cache.withdraw(write);
    }

    fn trim(&mut self, offset: u64, length: u64) -> io::Result<()> {
        let (first, sectors) = (offset / self.sector, length / self.sector);
        for sector in self.cache.changed_sectors(first, sectors) {
            let mut before = vec![0; self.sector as usize];
            self.store.read(sector * self.sector, &mut before)?;
            self.cache.record_trim(sector, before.into());
        }
        self.store.zero(offset, length, true)
    }

    fn clear(&mut self, bytes: u64) -> io::Result<()> {
        self.cache.clear();
        self.store.zero(0, bytes, true)
    }

    fn pending_writes(&self) -> Vec<PendingWrite> {
        self.cache.pending_writes()
    }

    fn cut(&mut self, cut: &PowerCut) -> io::Result<Losses> {
        // The part of a planned write that has reached the media must be in the store.
        for write in self.cache.planned_writes() {
            self.carry_out(write)?;
        }
        let (reverted, losses) = self.cache.cut(cut);
        for (sector, before) in reverted {
            self.store.write(sector * self.sector, &before)?;
        }
        Ok(losses)
    }
}

impl Store for VolatileStore {
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        self.store.read(offset, data)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        let write = self.open(offset, data.len() as u64);
        self.write_part(write, offset, data)
    }

    fn zero(&mut self, offset: u64, length: u64, may_free: bool) -> io::Result<()> {
        let write = self.open(offset, length);
        self.zero_part(write, offset, length, may_free)
    }

    fn extent(&mut self, offset: u64, length: u64) -> io::Result<Extent> {
        self.store.extent(offset, length)
    }

    fn sync_file(&self) -> Option<&File> {
        self.store.sync_file()
    }
}
