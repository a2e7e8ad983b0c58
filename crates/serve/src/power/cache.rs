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

/// Maximum number of versions of acknowledged writes beyond twice the size of the drive's buffer.
const MAX_EXTRA: u64 = 1 << 16;

/// The smallest position of a planned write's versions, which follow all others.
const PLANNED: u64 = 1 << 63;

/// Writes in order of arrival, with the previous content of their sectors.
///
/// A write is removed once it is safe: when it is acknowledged if it had FUA, when a flush that
/// arrived after its acknowledgement completes, or when the drive's buffer needs its space. A drive
/// acknowledges writes in the order in which it writes them. Among unacknowledged writes of the
/// same sectors, the first to arrive is assumed to reach the media first. Trims need no record: a
/// trim takes effect with the write before it, which restores older content if it is lost, and the
/// next write keeps the zeroes.
///
/// Cost: memory for the old content of sectors until writes are safe, and per sector and event a
/// few operations that are logarithmic in the number of kept versions.
pub struct Cache {
    /// Maximum number of sectors of acknowledged writes.
    capacity: u64,
    /// True if the caller reports what has reached the media.
    is_timed: bool,
    writes: BTreeMap<u64, CachedWrite>,
    /// The versions of sectors, by sector and position.
    versions: BTreeMap<Key, Version>,
    /// The versions at listed stages, by sector, stage and position.
    stages: BTreeSet<(u64, Stage, u64)>,
    /// The last number of a write or position of a version.
    last: u64,
    /// Number of writes acknowledged so far.
    pub acknowledged: u64,
    /// The acknowledged writes, in order of acknowledgement.
    acknowledgements: BTreeMap<u64, u64>,
    /// The sector versions of writes that have not been acknowledged.
    pub unacknowledged: u64,
    /// The acknowledged writes that only wait for a flush; see [`CachedWrite::is_settled`].
    settled: BTreeSet<u64>,
    settled_sectors: u64,
}

/// A sector and the position of one of its versions.
type Key = (u64, u64);

struct CachedWrite {
    first: u64,
    sectors: u64,
    /// Sectors that have not reached the media.
    left: u64,
    /// For each sector whose data have arrived, the position of its version; otherwise 0.
    positions: Vec<u64>,
    /// True if the drive has received the write.
    is_submitted: bool,
    /// True if the data are not yet in the store.
    is_planned: bool,
    /// The number of writes acknowledged before this one; `None` until this one is acknowledged.
    acknowledged: Option<u64>,
}

impl CachedWrite {
    /// Returns true if the write is acknowledged and, if the caller reports it, on the media.
    fn is_settled(&self, is_timed: bool) -> bool {
        self.acknowledged.is_some() && (self.left == 0 || !is_timed)
    }
}

/// A version of a sector, created by a write.
struct Version {
    write: u64,
    /// The previous content; for a planned write, the new content.
    content: SectorData,
    stage: Stage,
}

type SectorData = Box<[u8]>;

/// The progress of a version. Those that can reach the media come first, in order of preference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// Acknowledged, but not on the media.
    Acknowledged,
    /// Received by the drive, and neither acknowledged nor on the media.
    Submitted,
    /// Assumed to be on the media, but not acknowledged.
    Assumed,
    /// Not yet received by the drive. This stage and the next are not listed.
    Arriving,
    /// Acknowledged and on the media.
    Landed,
}

impl Stage {
    fn is_listed(self) -> bool {
        self < Self::Arriving
    }

    fn is_persisted(self) -> bool {
        matches!(self, Self::Assumed | Self::Landed)
    }

    fn is_acknowledged(self) -> bool {
        matches!(self, Self::Acknowledged | Self::Landed)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
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
            versions: BTreeMap::new(),
            stages: BTreeSet::new(),
            last: WriteId::NONE.0,
            acknowledged: 0,
            acknowledgements: BTreeMap::new(),
            unacknowledged: 0,
            settled: BTreeSet::new(),
            settled_sectors: 0,
        }
    }

    /// Returns the number of kept sector versions; a sector written twice counts twice.
    pub fn version_count(&self) -> u64 {
        self.versions.len() as u64
    }

    fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Registers a write whose data will arrive.
    pub fn open(&mut self, first: u64, sectors: u64) -> WriteId {
        let number = self.next_number();
        let written = CachedWrite {
            first,
            sectors,
            left: sectors,
            positions: Vec::new(),
            is_submitted: false,
            is_planned: false,
            acknowledged: None,
        };
        self.writes.insert(number, written);
        WriteId(number)
    }

    /// Records the content of a sector before a write changes it.
    pub fn record_change(&mut self, write: WriteId, sector: u64, before: SectorData) {
        let position = self.next_number();
        self.insert(write.0, (sector, position), before, Stage::Arriving);
    }

    /// Adds a version of a write that has not been acknowledged.
    fn insert(&mut self, write: u64, key: Key, content: SectorData, mut stage: Stage) {
        let Some(written) = self.writes.get_mut(&write) else {
            return;
        };
        let index = (key.0 - written.first) as usize;
        if index >= written.positions.len() {
            written.positions.resize(index + 1, 0);
        }
        written.positions[index] = key.1;
        if written.is_submitted && stage == Stage::Arriving {
            stage = Stage::Submitted;
        }
        if stage.is_listed() {
            self.stages.insert((key.0, stage, key.1));
        }
        let version = Version {
            write,
            content,
            stage,
        };
        self.versions.insert(key, version);
        self.unacknowledged += 1;
    }

    /// Returns the keys of the versions of a write, some of which may have been dropped.
    fn keys(&self, write: WriteId) -> Vec<Key> {
        let written = self.writes.get(&write.0);
        let keys = written.map(|own| (own.first..).zip(own.positions.iter().copied()));
        keys.into_iter().flatten().collect()
    }

    /// Changes the stage of a version; returns its write.
    fn set_stage(&mut self, key: Key, stage: Stage) -> Option<u64> {
        let version = self.versions.get_mut(&key)?;
        let before = std::mem::replace(&mut version.stage, stage);
        if before.is_listed() {
            self.stages.remove(&(key.0, before, key.1));
        }
        if stage.is_listed() {
            self.stages.insert((key.0, stage, key.1));
        }
        Some(version.write)
    }

    pub fn mark_submitted(&mut self, write: WriteId) {
        for key in self.keys(write) {
            self.set_stage(key, Stage::Submitted);
        }
        if let Some(written) = self.writes.get_mut(&write.0) {
            written.is_submitted = true;
        }
    }

    /// Shortens the write to its first `sectors` sectors, because no more will arrive.
    pub fn shorten(&mut self, write: WriteId, sectors: u64) {
        if sectors == 0 {
            return self.remove(write);
        }
        if let Some(written) = self.writes.get_mut(&write.0) {
            // Some of the first sectors may count as persisted, because safe writes followed.
            written.left -= written.sectors - sectors;
            written.sectors = sectors;
        }
    }

    /// Marks sectors as persisted: for each, the first version of an acknowledged write or, if
    /// there is none, the first of a write that the drive has received.
    pub fn mark_persisted(&mut self, first: u64, sectors: u64) {
        let start = |sector| (sector, Stage::Acknowledged, 0);
        let (mut next, end) = (first, first + sectors);
        while let Some(&(sector, stage, position)) =
            self.stages.range(start(next)..start(end)).next()
        {
            next = sector + 1;
            let landed = match stage {
                Stage::Acknowledged => Stage::Landed,
                Stage::Submitted => Stage::Assumed,
                _ => continue,
            };
            if let Some(write) = self.set_stage((sector, position), landed) {
                self.count_landed(write);
            }
        }
        self.make_room();
    }

    /// Counts a sector of a write as persisted.
    fn count_landed(&mut self, write: u64) {
        let Some(written) = self.writes.get_mut(&write) else {
            return;
        };
        written.left -= 1;
        if written.is_settled(self.is_timed) && self.settled.insert(write) {
            self.settled_sectors += written.sectors;
        }
    }

    /// Marks a write as acknowledged, and corrects the assumed order of the others: in each sector,
    /// exchanges it with another write that was wrongly assumed to be on the media.
    pub fn mark_acknowledged(&mut self, write: WriteId) {
        for key in self.keys(write) {
            let Some(version) = self.versions.get(&key) else {
                continue;
            };
            self.unacknowledged -= 1;
            let mut stage = Stage::Landed;
            if version.stage != Stage::Assumed {
                let assumed = (key.0, Stage::Assumed, 0)..(key.0, Stage::Arriving, 0);
                if let Some(&(sector, _, position)) = self.stages.range(assumed).next() {
                    let other = self.set_stage((sector, position), Stage::Submitted);
                    if let Some(other) = other.and_then(|other| self.writes.get_mut(&other)) {
                        other.left += 1;
                    }
                    self.count_landed(write.0);
                } else {
                    stage = Stage::Acknowledged;
                }
            }
            self.set_stage(key, stage);
        }
        if let Some(written) = self.writes.get_mut(&write.0) {
            written.acknowledged = Some(self.acknowledged);
            self.acknowledgements.insert(self.acknowledged, write.0);
            self.acknowledged += 1;
            if written.is_settled(self.is_timed) {
                self.settled.insert(write.0);
                self.settled_sectors += written.sectors;
            }
        }
        self.make_room();
    }

    pub fn complete_flush(&mut self, mark: u64) {
        while let Some((&at, &write)) = self.acknowledgements.first_key_value()
            && at < mark
        {
            self.remove(WriteId(write));
        }
    }

    /// Removes a write. A planned write has failed or was aborted, and leaves nothing behind; any
    /// other becomes permanent, and the older versions of its sectors are dropped.
    pub fn remove(&mut self, write: WriteId) {
        let is_planned = |written: &CachedWrite| written.is_planned;
        let is_planned = self.writes.get(&write.0).is_some_and(is_planned);
        let mut dropped = Vec::new();
        for key in self.keys(write) {
            let first = if is_planned { key } else { (key.0, 0) };
            dropped.extend(self.versions.extract_if(first..=key, |_, _| true));
        }
        for (key, version) in dropped {
            self.stages.remove(&(key.0, version.stage, key.1));
            self.unacknowledged -= u64::from(!version.stage.is_acknowledged());
            // An overwritten version counts as persisted.
            if !version.stage.is_persisted() {
                self.count_landed(version.write);
            }
        }
        let removed = self.writes.remove(&write.0);
        if let Some(written) = &removed
            && let Some(at) = written.acknowledged
        {
            self.acknowledgements.remove(&at);
            if self.settled.remove(&write.0) {
                self.settled_sectors -= written.sectors;
            }
        }
    }

    /// Makes the oldest writes safe until the remaining ones fit in the drive's buffer. A sector
    /// that is written often can have more versions than the buffer has sectors, but not without
    /// limit: the buffer counts twice, once for writes that are on the media but not safe, and once
    /// for pending ones.
    fn make_room(&mut self) {
        loop {
            let acknowledged = self.version_count() - self.unacknowledged;
            let oldest = if acknowledged > 2 * self.capacity + MAX_EXTRA {
                self.acknowledgements.values().next()
            } else if self.settled_sectors > self.capacity {
                self.settled.first()
            } else {
                return;
            };
            let Some(&oldest) = oldest else { return };
            self.remove(WriteId(oldest));
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
    pub fn cut(&mut self, cut: &PowerCut) -> (BTreeMap<u64, SectorData>, Losses) {
        let survivors = self.survivors(cut);
        let mut reverted = BTreeMap::new();
        let mut damaged = BTreeSet::new();
        let mut complete = None;
        // The newest version that survives is the content of its sector.
        for ((sector, _), version) in std::mem::take(&mut self.versions).into_iter().rev() {
            if complete == Some(sector) {
                continue;
            }
            if self.survives(sector, &version, &survivors, cut) {
                complete = Some(sector);
            } else {
                damaged.insert(version.write);
                reverted.insert(sector, version.content);
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

    /// Makes all writes permanent. Their numbers, and those of acknowledgements, are not reused.
    pub fn clear(&mut self) {
        *self = Self {
            last: self.last,
            acknowledged: self.acknowledged,
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

    fn survives(
        &self,
        sector: u64,
        version: &Version,
        survivors: &BTreeMap<u64, u64>,
        cut: &PowerCut,
    ) -> bool {
        let Some(written) = self.writes.get(&version.write) else {
            return true;
        };
        match survivors.get(&version.write) {
            Some(count) => sector - written.first < *count,
            None => written.left == 0 || cut.torn && version.stage.is_persisted(),
        }
    }

    /// Keeps the `data` of a write, in sectors of `sector` bytes, until it is carried out.
    pub fn plan(&mut self, write: WriteId, data: &[u8], sector: u64) {
        let Some(written) = self.writes.get_mut(&write.0) else {
            return;
        };
        written.is_planned = true;
        for (at, data) in (written.first..).zip(data.chunks_exact(sector as usize)) {
            self.insert(
                write.0,
                (at, PLANNED + write.0),
                data.into(),
                Stage::Arriving,
            );
        }
    }

    /// Returns the first sector and the data of a planned write.
    pub fn planned_data(&self, write: WriteId) -> Option<(u64, Vec<u8>)> {
        let written = self.writes.get(&write.0).filter(|own| own.is_planned)?;
        let keys = self.keys(write);
        let own = keys.iter().filter_map(|key| self.versions.get(key));
        let data: Vec<&[u8]> = own.map(|version| &*version.content).collect();
        Some((written.first, data.concat()))
    }

    /// Marks a planned write as carried out: its data have replaced `before`.
    pub fn mark_carried_out(&mut self, write: WriteId, before: &[u8], sector: u64) {
        let before = before.chunks_exact(sector as usize);
        for (key, before) in self.keys(write).into_iter().zip(before) {
            let Some(version) = self.versions.remove(&key) else {
                continue;
            };
            self.stages.remove(&(key.0, version.stage, key.1));
            self.unacknowledged -= 1;
            let position = self.next_number();
            self.insert(write.0, (key.0, position), before.into(), version.stage);
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
}
