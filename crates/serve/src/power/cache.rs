//! The writes that a power cut can revert, and the cut itself.

use std::collections::{BTreeMap, BTreeSet};

use diskarm_core::random::below;
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

/// A power cut. By default, a write survives only if all of it has reached the media.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PowerCut {
    /// True to keep those sectors of the write in progress that have reached the media. If requests
    /// take no time, a random part of the oldest pending write is kept instead.
    pub torn: bool,
    /// True to choose survivors at random among all writes that no flush or FUA has made safe.
    pub worst: bool,
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// Acknowledged writes that are at least partly lost.
    pub lost_writes: u64,
    /// Writes that had not been acknowledged.
    pub unfinished_writes: u64,
    /// Sectors that were reverted to older data.
    pub reverted_sectors: u64,
}

/// Writes in order of arrival, with the previous content of their sectors.
///
/// A write is removed once it is safe: when it is acknowledged if it had FUA, when a flush that
/// arrived after its acknowledgement completes, or when the drive's buffer needs its space. A drive
/// acknowledges writes in the order in which it writes them. Among unacknowledged writes of the
/// same sectors, the first to arrive is assumed to reach the media first.
///
/// Cost: memory for the old content of sectors until writes are safe, and a lookup per sector.
pub struct Cache {
    /// Maximum number of sectors of acknowledged writes.
    pub capacity: u64,
    /// True if the caller reports what has reached the media.
    is_timed: bool,
    writes: BTreeMap<u64, CachedWrite>,
    sectors: BTreeMap<u64, Vec<Version>>,
    next: u64,
    /// Number of writes acknowledged so far.
    pub acknowledged: u64,
    /// Total number of kept sector versions; a sector written twice counts twice.
    pub versions: u64,
    /// Sectors of acknowledged writes; if `is_timed`, only of those that have reached the media.
    settled_sectors: u64,
}

#[derive(Clone, Copy)]
struct CachedWrite {
    first: u64,
    sectors: u64,
    /// Sectors that have not reached the media.
    left: u64,
    /// True if the drive has received the write.
    is_submitted: bool,
    /// True if the data are not yet in the store.
    is_planned: bool,
    /// The number of writes acknowledged before this one; `None` until this one is acknowledged.
    acknowledged: Option<u64>,
}

/// A version of a sector, created by a write or a trim.
struct Version {
    /// `None` for a trim, which takes effect after earlier writes.
    write: Option<u64>,
    /// The previous content; for a planned write, the new content.
    content: SectorData,
    /// True if the version has reached the media.
    is_persisted: bool,
}

type SectorData = Box<[u8]>;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteId(u64);

impl WriteId {
    pub const NONE: Self = Self(0);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PendingWrite {
    pub first_sector: u64,
    pub sectors: u64,
    /// Sectors that have reached the media.
    pub landed_sectors: u64,
    pub is_acknowledged: bool,
}

impl Cache {
    /// Creates a cache for at most `capacity` sectors of acknowledged writes that are not safe. If
    /// `is_timed`, the caller reports what has reached the media.
    pub fn new(capacity: u64, is_timed: bool) -> Self {
        Self {
            capacity,
            is_timed,
            writes: BTreeMap::new(),
            sectors: BTreeMap::new(),
            next: WriteId::NONE.0 + 1,
            acknowledged: 0,
            versions: 0,
            settled_sectors: 0,
        }
    }

    /// Registers a write whose data will follow.
    pub fn open(&mut self, first: u64, sectors: u64) -> WriteId {
        let number = self.next;
        self.next += 1;
        let written = CachedWrite {
            first,
            sectors,
            left: sectors,
            is_submitted: false,
            is_planned: false,
            acknowledged: None,
        };
        self.writes.insert(number, written);
        WriteId(number)
    }

    /// Records the content of a sector before a write changes it.
    pub fn record_change(&mut self, write: WriteId, sector: u64, before: SectorData) {
        self.push(Some(write.0), sector, before);
    }

    /// Records the content of a sector before a trim. Only needed for sectors with kept writes.
    pub fn record_trim(&mut self, sector: u64, before: SectorData) {
        self.push(None, sector, before);
    }

    fn push(&mut self, write: Option<u64>, sector: u64, before: SectorData) {
        self.versions += 1;
        let versions = self.sectors.entry(sector).or_default();
        // Planned versions follow the existing ones.
        let index = first_planned(versions, &self.writes);
        let version = Version {
            write,
            content: before,
            is_persisted: false,
        };
        versions.insert(index, version);
    }

    /// Returns the sectors in `[first, first + sectors)` that kept writes have changed.
    pub fn changed_sectors(&self, first: u64, sectors: u64) -> Vec<u64> {
        let range = self.sectors.range(first..first + sectors);
        range.map(|(sector, _)| *sector).collect()
    }

    pub fn mark_submitted(&mut self, write: WriteId) {
        if let Some(written) = self.writes.get_mut(&write.0) {
            written.is_submitted = true;
        }
    }

    /// Shortens the write to its first `sectors` sectors, because no more will arrive.
    pub fn shorten(&mut self, write: WriteId, sectors: u64) {
        if let Some(written) = self.writes.get_mut(&write.0) {
            written.left = sectors;
            written.sectors = sectors;
        }
    }

    pub fn mark_persisted(&mut self, first: u64, sectors: u64) {
        for (_, versions) in self.sectors.range_mut(first..first + sectors) {
            let writes = &mut self.writes;
            let is_unpersisted = |version: &Version, condition: fn(&CachedWrite) -> bool| {
                let write = version.write.and_then(|write| writes.get(&write));
                !version.is_persisted && write.is_some_and(condition)
            };
            let first_unpersisted = |condition| {
                versions
                    .iter()
                    .position(|version| is_unpersisted(version, condition))
            };
            let acknowledged = first_unpersisted(|written| written.acknowledged.is_some());
            let Some(next) =
                acknowledged.or_else(|| first_unpersisted(|written| written.is_submitted))
            else {
                continue;
            };
            let version = &mut versions[next];
            version.is_persisted = true;
            let write = version.write.and_then(|write| writes.get_mut(&write));
            if let Some(write) = write {
                write.left -= 1;
                self.settled_sectors += write.settled_sectors_if(write.left == 0 && self.is_timed);
            }
        }
        self.make_room();
    }

    pub fn mark_acknowledged(&mut self, write: WriteId) {
        self.reassign_persisted(write);
        if let Some(written) = self.writes.get_mut(&write.0) {
            written.acknowledged = Some(self.acknowledged);
            self.acknowledged += 1;
            self.settled_sectors += written.settled_sectors_if(written.left == 0 || !self.is_timed);
        }
        self.make_room();
    }

    /// Corrects the assumed order of unacknowledged writes when `write` is acknowledged. In each
    /// sector, exchanges it with another write that was wrongly assumed to be on the media.
    fn reassign_persisted(&mut self, write: WriteId) {
        let Some(&own) = self.writes.get(&write.0).filter(|own| own.left > 0) else {
            return;
        };
        let range = self.sectors.range_mut(own.first..own.first + own.sectors);
        for (_, versions) in range.filter(|(_, versions)| versions.len() > 1) {
            let is_own =
                |version: &Version| version.write == Some(write.0) && !version.is_persisted;
            let writes = &self.writes;
            let is_other = |version: &Version| {
                let other = version.write.and_then(|other| writes.get(&other));
                version.is_persisted && other.is_some_and(|other| other.acknowledged.is_none())
            };
            let positions = versions.iter().position(is_own);
            let Some((own, other)) = positions.zip(versions.iter().position(is_other)) else {
                continue;
            };
            for (index, is_persisted) in [(own, true), (other, false)] {
                versions[index].is_persisted = is_persisted;
                let write = versions[index].write;
                if let Some(write) = write.and_then(|write| self.writes.get_mut(&write)) {
                    write.left = write.left + 1 - 2 * u64::from(is_persisted);
                }
            }
        }
    }

    pub fn complete_flush(&mut self, mark: u64) {
        let is_before = |written: &CachedWrite| written.acknowledged.is_some_and(|at| at < mark);
        let before = self.writes.iter().filter(|(_, written)| is_before(written));
        let safe: Vec<u64> = before.map(|(number, _)| *number).collect();
        for number in safe {
            self.make_safe(WriteId(number));
        }
    }

    /// Makes the write permanent, and drops the older versions of its sectors.
    pub fn make_safe(&mut self, write: WriteId) {
        let Some(safe) = self.writes.remove(&write.0) else {
            return;
        };
        self.settled_sectors -= safe.settled_sectors_if(safe.left == 0 || !self.is_timed);
        let range = self.sectors.range(safe.first..safe.first + safe.sectors);
        let sectors: Vec<u64> = range.map(|(sector, _)| *sector).collect();
        for sector in sectors {
            self.drop_versions(sector, write.0);
        }
    }

    /// Drops the versions of a sector up to that of `write`, and the trims right after it.
    fn drop_versions(&mut self, sector: u64, write: u64) {
        let Some(versions) = self.sectors.get_mut(&sector) else {
            return;
        };
        let own = versions
            .iter()
            .position(|version| version.write == Some(write));
        let Some(own) = own else { return };
        let after = &versions[own + 1..];
        let trims = after.iter().take_while(|version| version.write.is_none());
        let count = own + 1 + trims.count();
        for version in versions.drain(..count) {
            self.versions -= 1;
            let other = version.write.and_then(|write| self.writes.get_mut(&write));
            // An overwritten version counts as persisted.
            if let Some(other) = other.filter(|_| !version.is_persisted) {
                other.left -= 1;
                self.settled_sectors += other.settled_sectors_if(other.left == 0 && self.is_timed);
            }
        }
        if versions.is_empty() {
            self.sectors.remove(&sector);
        }
    }

    /// Makes the oldest writes safe until the remaining ones fit in the drive's buffer.
    fn make_room(&mut self) {
        while self.settled_sectors > self.capacity {
            let is_settled = |written: &&CachedWrite| {
                written.acknowledged.is_some() && (written.left == 0 || !self.is_timed)
            };
            let mut writes = self.writes.iter();
            let Some((&oldest, _)) = writes.find(|(_, written)| is_settled(written)) else {
                return;
            };
            self.make_safe(WriteId(oldest));
        }
    }

    /// Returns the writes that have not reached the media, in order of arrival.
    pub fn pending_writes(&self) -> Vec<PendingWrite> {
        let left = self.writes.values().filter(|written| written.left > 0);
        left.map(|written| PendingWrite {
            first_sector: written.first,
            sectors: written.sectors,
            landed_sectors: written.sectors - written.left,
            is_acknowledged: written.acknowledged.is_some(),
        })
        .collect()
    }

    /// Empties the cache; returns the surviving content of the sectors that lose data.
    pub fn cut(&mut self, cut: &PowerCut) -> (Vec<(u64, SectorData)>, Losses) {
        let survivors = self.survivors(cut);
        let mut reverted = Vec::new();
        let mut damaged = BTreeSet::new();
        for (sector, versions) in &self.sectors {
            let last = self.surviving_versions(*sector, versions, &survivors, cut);
            let lost = &versions[last..];
            damaged.extend(lost.iter().filter_map(|version| version.write));
            if let Some(version) = lost.first() {
                reverted.push((*sector, version.content.clone()));
            }
        }
        let damaged = damaged.iter().filter_map(|write| self.writes.get(write));
        let lost_writes = damaged.filter(|written| written.acknowledged.is_some());
        let writes = self.writes.values();
        let unfinished = writes.filter(|written| written.acknowledged.is_none());
        let lost = Losses {
            lost_writes: lost_writes.count() as u64,
            unfinished_writes: unfinished.count() as u64,
            reverted_sectors: reverted.len() as u64,
        };
        self.clear();
        (reverted, lost)
    }

    /// Makes all writes permanent.
    pub fn clear(&mut self) {
        let next = self.next;
        *self = Self {
            next,
            ..Self::new(self.capacity, self.is_timed)
        };
    }

    /// For each write whose survival is random, chooses how many of its first sectors survive: none
    /// or all or, if the write is torn, any number short of all.
    fn survivors(&self, cut: &PowerCut) -> BTreeMap<u64, u64> {
        let mut random = Pcg64Mcg::seed_from_u64(cut.seed);
        let mut survivors = BTreeMap::new();
        if cut.worst {
            let all = self.writes.iter();
            survivors.extend(
                all.map(|(write, written)| (*write, below(&mut random, 2) * written.sectors)),
            );
        }
        let mut left = self.writes.iter().filter(|(_, written)| written.left > 0);
        let tears_oldest = cut.torn && (cut.worst || !self.is_timed);
        if tears_oldest && let Some((oldest, written)) = left.next() {
            survivors.insert(*oldest, below(&mut random, written.sectors));
        }
        survivors
    }

    /// Counts the versions of a sector up to the last one that survives.
    fn surviving_versions(
        &self,
        sector: u64,
        versions: &[Version],
        survivors: &BTreeMap<u64, u64>,
        cut: &PowerCut,
    ) -> usize {
        let mut kept = 0;
        for (index, version) in versions.iter().enumerate() {
            let survives = match version.write {
                None => kept == index,
                Some(write) => match (survivors.get(&write), self.writes.get(&write)) {
                    (_, None) => true,
                    (Some(count), Some(written)) => sector - written.first < *count,
                    (None, Some(written)) => written.left == 0 || cut.torn && version.is_persisted,
                },
            };
            if survives {
                kept = index + 1;
            }
        }
        kept
    }
}

impl CachedWrite {
    /// Returns the number of sectors if the write is acknowledged and `is_settled`, otherwise 0.
    fn settled_sectors_if(&self, is_settled: bool) -> u64 {
        match self.acknowledged {
            Some(_) if is_settled => self.sectors,
            _ => 0,
        }
    }
}

/// Returns the index of the first planned version. Searches backwards, as thousands may precede it.
fn first_planned(versions: &[Version], writes: &BTreeMap<u64, CachedWrite>) -> usize {
    let is_carried_out = |version: &Version| {
        let write = version.write.and_then(|write| writes.get(&write));
        write.is_none_or(|write| !write.is_planned)
    };
    let last = versions.iter().rposition(is_carried_out);
    last.map_or(0, |last| last + 1)
}

impl Cache {
    /// Keeps the `data` of a write, in sectors of `sector` bytes, until it is carried out.
    pub fn plan(&mut self, write: WriteId, data: &[u8], sector: u64) {
        let Some(written) = self.writes.get_mut(&write.0) else {
            return;
        };
        written.is_planned = true;
        for (at, data) in (written.first..).zip(data.chunks_exact(sector as usize)) {
            self.versions += 1;
            self.sectors.entry(at).or_default().push(Version {
                write: Some(write.0),
                content: data.into(),
                is_persisted: false,
            });
        }
    }

    /// Returns the first sector and the data of a planned write.
    pub fn planned_data(&self, write: WriteId) -> Option<(u64, Vec<u8>)> {
        let written = self.writes.get(&write.0).filter(|own| own.is_planned)?;
        let range = written.first..written.first + written.sectors;
        let is_own = |version: &&Version| version.write == Some(write.0);
        let sectors = self.sectors.range(range);
        let own = sectors.filter_map(|(_, versions)| versions.iter().rfind(is_own));
        let data = own.flat_map(|version| version.content.iter().copied());
        Some((written.first, data.collect()))
    }

    /// Marks a planned write as carried out: its data have replaced `before`.
    pub fn mark_carried_out(&mut self, write: WriteId, before: &[u8], sector: u64) {
        let Some(&CachedWrite { first, sectors, .. }) = self.writes.get(&write.0) else {
            return;
        };
        let range = self.sectors.range_mut(first..first + sectors);
        for ((_, versions), before) in range.zip(before.chunks_exact(sector as usize)) {
            let is_own = |version: &Version| version.write == Some(write.0);
            if let Some(own) = versions.iter().rposition(is_own) {
                let index = first_planned(versions, &self.writes);
                let mut version = versions.remove(own);
                version.content = before.into();
                versions.insert(index, version);
            }
        }
        if let Some(written) = self.writes.get_mut(&write.0) {
            written.is_planned = false;
        }
    }

    /// Returns the planned writes, in the order in which the drive received them.
    pub fn planned_writes(&self) -> Vec<WriteId> {
        let writes = self.writes.iter();
        let planned = writes.filter(|(_, written)| written.is_planned);
        planned.map(|(number, _)| WriteId(*number)).collect()
    }

    /// Drops a planned write that has failed or was aborted. Makes any other write safe.
    pub fn withdraw(&mut self, write: WriteId) {
        let Some(&written) = self.writes.get(&write.0) else {
            return;
        };
        if !written.is_planned {
            return self.make_safe(write);
        }
        self.writes.remove(&write.0);
        for sector in written.first..written.first + written.sectors {
            let Some(versions) = self.sectors.get_mut(&sector) else {
                continue;
            };
            let before = versions.len();
            versions.retain(|version| version.write != Some(write.0));
            self.versions -= (before - versions.len()) as u64;
            if versions.is_empty() {
                self.sectors.remove(&sector);
            }
        }
    }
}
