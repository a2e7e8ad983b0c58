//! The data of an export, with what they were before writes that can be lost.

use std::fs::File;
use std::io;

use super::cache::{Cache, PendingWrite, Write};
use super::cut::{Losses, PowerCut};
use crate::store::{Extent, Store};
use diskarm_core::device::Landed;
use diskarm_core::units::{Bytes, SectorCount};

/// A store and, if the power can be cut, what its sectors held before.
pub struct Data {
    store: Box<dyn Store>,
    sector: u64,
    cache: Option<Cache>,
}

/// How many sectors may be kept, beside those of acknowledged writes, before no further writes are
/// taken: 32 MiB of the smallest.
const UNDER_WAY: u64 = 1 << 16;

impl Data {
    /// The data in `store`, with sectors of this size; nothing is kept of what they were.
    pub fn new(store: Box<dyn Store>, sector: Bytes) -> Self {
        Self {
            store,
            sector: sector.0,
            cache: None,
        }
    }

    /// The same, which can lose writes. A buffer of `capacity` has those that are acknowledged;
    /// `is_timed` if [`Self::landed`] says which are on the media.
    pub fn losing(self, capacity: SectorCount, is_timed: bool) -> Self {
        Self {
            cache: Some(Cache::new(capacity.0, is_timed)),
            ..self
        }
    }

    /// Whether writes can be lost.
    pub fn can_lose(&self) -> bool {
        self.cache.is_some()
    }

    /// Sectors that are kept of what data were, those twice that were written twice.
    pub fn kept(&self) -> u64 {
        self.cache.as_ref().map_or(0, Cache::kept)
    }

    /// Whether so much is kept that no further write should begin.
    pub fn is_full(&self) -> bool {
        // A buffer of writes that are on the media and not safe, and one of those that are not.
        let max = |cache: &Cache| 2 * cache.capacity() + UNDER_WAY;
        self.cache
            .as_ref()
            .is_some_and(|cache| cache.kept() > max(cache))
    }

    /// The device has the write.
    pub fn submitted(&mut self, write: Write) {
        if let Some(cache) = &mut self.cache {
            cache.submitted(write);
        }
    }

    /// The device says that these blocks are on the media.
    pub fn landed(&mut self, landed: &[Landed]) {
        if let Some(cache) = &mut self.cache {
            for run in landed {
                cache.landed(run.first.0, run.sectors.0);
            }
        }
    }

    /// The write has been answered.
    pub fn acknowledged(&mut self, write: Write) {
        if let Some(cache) = &mut self.cache {
            cache.acknowledged(write);
        }
    }

    /// Nothing can undo the write any more: it had FUA, or failed.
    pub fn safe(&mut self, write: Write) {
        if let Some(cache) = &mut self.cache {
            cache.safe(write);
        }
    }

    /// What a flush that arrives now is for.
    pub fn mark(&self) -> u64 {
        self.cache.as_ref().map_or(0, Cache::mark)
    }

    /// A flush that arrived at `mark` has completed.
    pub fn flushed(&mut self, mark: u64) {
        if let Some(cache) = &mut self.cache {
            cache.flushed(mark);
        }
    }

    /// The write ends after its first `length` bytes, because no more arrives.
    pub fn shorten(&mut self, write: Write, length: u64) {
        if let Some(cache) = &mut self.cache {
            cache.shorten(write, length / self.sector);
        }
    }

    /// Writes zeroes as a part of `write`; see [`Store::zero`].
    ///
    /// # Errors
    /// Those of the store.
    pub fn zero_part(
        &mut self,
        write: Write,
        offset: u64,
        length: u64,
        may_free: bool,
    ) -> io::Result<()> {
        self.keep(write, offset, length)?;
        self.store.zero(offset, length, may_free)
    }

    /// A write is going to put `data` at `offset`, by [`Self::carry_out`].
    pub fn plan(&mut self, offset: u64, data: &[u8]) -> Write {
        let write = self.open(offset, data.len() as u64);
        if let Some(cache) = &mut self.cache {
            cache.plan(write, data, self.sector);
            cache.submitted(write);
        }
        write
    }

    /// A write that was planned puts its data.
    ///
    /// # Errors
    /// Those of the store.
    pub fn carry_out(&mut self, write: Write) -> io::Result<()> {
        let Some(cache) = &mut self.cache else {
            return Ok(());
        };
        let Some((first, data)) = cache.plan_of(write) else {
            return Ok(());
        };
        let offset = first * self.sector;
        let mut before = vec![0; data.len()];
        self.store.read(offset, &mut before)?;
        self.store.write(offset, &data)?;
        cache.carried_out(write, &before, self.sector);
        Ok(())
    }

    /// A write that was planned does not happen; of another nothing is lost any more.
    pub fn withdraw(&mut self, write: Write) {
        if let Some(cache) = &mut self.cache {
            cache.withdraw(write);
        }
    }

    /// All is zeroes, and was never anything else.
    ///
    /// # Errors
    /// Those of the store.
    pub fn clear(&mut self, bytes: u64) -> io::Result<()> {
        if let Some(cache) = &mut self.cache {
            cache.forget();
        }
        self.store.zero(0, bytes, true)
    }

    /// The writes that are not on the media.
    pub fn unwritten(&self) -> Vec<PendingWrite> {
        self.cache.as_ref().map_or_else(Vec::new, Cache::unwritten)
    }

    /// Cuts the power.
    ///
    /// # Errors
    /// Those of the store, in which then too much has survived.
    pub fn cut(&mut self, cut: &PowerCut) -> io::Result<Losses> {
        // What is on the media of writes under way belongs there.
        for write in self.cache.as_ref().map_or_else(Vec::new, Cache::planned) {
            self.carry_out(write)?;
        }
        let Some(cache) = &mut self.cache else {
            return Ok(Losses::default());
        };
        let (reverted, lost) = cache.cut(cut);
        for (sector, before) in reverted {
            self.store.write(sector * self.sector, &before)?;
        }
        Ok(lost)
    }

    /// Keeps what a part of `write` is about to change.
    fn keep(&mut self, write: Write, offset: u64, length: u64) -> io::Result<()> {
        let Some(cache) = &mut self.cache else {
            return Ok(());
        };
        let mut before = vec![0; length as usize];
        self.store.read(offset, &mut before)?;
        let sectors = before.chunks_exact(self.sector as usize);
        for (sector, before) in (offset / self.sector..).zip(sectors) {
            cache.change(write, sector, before.into());
        }
        Ok(())
    }

    /// Lets bytes read as zeroes that are of no use any more. That takes effect on the media once
    /// the writes before it have.
    ///
    /// # Errors
    /// Those of the store.
    pub fn trim(&mut self, offset: u64, length: u64) -> io::Result<()> {
        let Some(cache) = &mut self.cache else {
            return self.store.zero(offset, length, true);
        };
        for sector in cache.changed(offset / self.sector, length / self.sector) {
            let mut before = vec![0; self.sector as usize];
            self.store.read(sector * self.sector, &mut before)?;
            cache.trim(sector, before.into());
        }
        self.store.zero(offset, length, true)
    }
}

impl Store for Data {
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        self.store.read(offset, data)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        let write = self.open(offset, data.len() as u64);
        self.write_part(write, offset, data)
    }

    fn open(&mut self, offset: u64, length: u64) -> Write {
        let sector = self.sector;
        let open = |cache: &mut Cache| cache.open(offset / sector, length / sector);
        self.cache.as_mut().map_or_else(Write::default, open)
    }

    fn write_part(&mut self, write: Write, offset: u64, data: &[u8]) -> io::Result<()> {
        self.keep(write, offset, data.len() as u64)?;
        self.store.write(offset, data)
    }

    fn zero(&mut self, offset: u64, length: u64, may_free: bool) -> io::Result<()> {
        let write = self.open(offset, length);
        self.zero_part(write, offset, length, may_free)
    }

    fn extent(&mut self, offset: u64, length: u64) -> io::Result<Extent> {
        self.store.extent(offset, length)
    }

    fn to_sync(&self) -> Option<&File> {
        self.store.to_sync()
    }
}
