//! The writes that a power cut can undo.

mod planned;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::cut::{Choice, Fate, Losses, PowerCut};

/// Writes in the order in which they arrived, and what their sectors held before.
///
/// A write goes from here when it is safe: a flush that came after its acknowledgement has
/// completed, or it had FUA, or the drive's buffer needs its room. A drive answers writes in the
/// order in which it writes them. Of writes of the same sectors that it has not answered, the one
/// that came first counts as the first on the media.
///
/// Cost: what each sector held before, until the write is safe, and a search among sectors for each
/// that is written.
pub struct Cache {
    /// Sectors of acknowledged writes that can be here.
    capacity: u64,
    /// Whether somebody tells what has reached the media.
    is_timed: bool,
    writes: BTreeMap<u64, Written>,
    sectors: BTreeMap<u64, Vec<Version>>,
    next: u64,
    /// How many have been acknowledged.
    acknowledged: u64,
    /// Versions of all sectors.
    versions: u64,
    /// Sectors of writes that have been acknowledged, and are on the media if that is known.
    settled: u64,
}

#[derive(Clone, Copy)]
struct Written {
    first: u64,
    sectors: u64,
    /// Sectors that are not on the media.
    left: u64,
    /// The drive has it.
    is_submitted: bool,
    /// Its data are not in the store.
    is_planned: bool,
    /// How many were acknowledged before it, if it is.
    acknowledged: Option<u64>,
}

/// What a sector holds from some write on.
struct Version {
    /// The write; a trim if there is none, which takes effect after the writes before it.
    write: Option<u64>,
    /// What it held before; of a write that is planned, what it is to hold.
    before: Before,
    /// It is on the media.
    has_landed: bool,
}

/// What a sector held.
type Before = Box<[u8]>;

/// The number of a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Write(u64);

impl Write {
    /// No write.
    pub const NONE: Self = Self(0);
}

/// A write that is not on the media.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PendingWrite {
    /// Its first sector.
    pub first_sector: u64,
    /// How many it has.
    pub sectors: u64,
    /// How many of them are on the media.
    pub landed_sectors: u64,
    /// Whether it has been acknowledged.
    pub is_acknowledged: bool,
}

impl Cache {
    /// At most this many sectors of acknowledged writes that are not safe; `is_timed` if it is told
    /// what has landed.
    pub fn new(capacity: u64, is_timed: bool) -> Self {
        Self {
            capacity,
            is_timed,
            writes: BTreeMap::new(),
            sectors: BTreeMap::new(),
            next: Write::NONE.0 + 1,
            acknowledged: 0,
            versions: 0,
            settled: 0,
        }
    }

    /// A write begins to arrive.
    pub fn open(&mut self, first: u64, sectors: u64) -> Write {
        let number = self.next;
        self.next += 1;
        let written = Written {
            first,
            sectors,
            left: sectors,
            is_submitted: false,
            is_planned: false,
            acknowledged: None,
        };
        self.writes.insert(number, written);
        Write(number)
    }

    /// The write is about to change a sector.
    pub fn change(&mut self, write: Write, sector: u64, before: Before) {
        self.push(Some(write.0), sector, before);
    }

    /// A trim is about to change a sector; only sectors that writes here have changed matter.
    pub fn trim(&mut self, sector: u64, before: Before) {
        self.push(None, sector, before);
    }

    fn push(&mut self, write: Option<u64>, sector: u64, before: Before) {
        self.versions += 1;
        let versions = self.sectors.entry(sector).or_default();
        // What is planned comes after what is there.
        let place = planned::first(versions, &self.writes);
        let version = Version {
            write,
            before,
            has_landed: false,
        };
        versions.insert(place, version);
    }

    /// The sectors of `[first, first + sectors)` that writes here have changed.
    pub fn changed(&self, first: u64, sectors: u64) -> Vec<u64> {
        let range = self.sectors.range(first..first + sectors);
        range.map(|(sector, _)| *sector).collect()
    }

    /// The drive has the write.
    pub fn submitted(&mut self, write: Write) {
        if let Some(written) = self.writes.get_mut(&write.0) {
            written.is_submitted = true;
        }
    }

    /// Only its first `sectors` have arrived, and no more will.
    pub fn shorten(&mut self, write: Write, sectors: u64) {
        if let Some(written) = self.writes.get_mut(&write.0) {
            written.left = sectors;
            written.sectors = sectors;
        }
    }

    /// These sectors have reached the media.
    pub fn landed(&mut self, first: u64, sectors: u64) {
        for (_, versions) in self.sectors.range_mut(first..first + sectors) {
            let writes = &mut self.writes;
            let waits = |version: &Version, of: fn(&Written) -> bool| {
                let write = version.write.and_then(|write| writes.get(&write));
                !version.has_landed && write.is_some_and(of)
            };
            let first = |of| versions.iter().position(|version| waits(version, of));
            let answered = first(|written| written.acknowledged.is_some());
            let Some(next) = answered.or_else(|| first(|written| written.is_submitted)) else {
                continue;
            };
            let version = &mut versions[next];
            version.has_landed = true;
            let write = version.write.and_then(|write| writes.get_mut(&write));
            if let Some(write) = write {
                write.left -= 1;
                self.settled += write.settled_if(write.left == 0 && self.is_timed);
            }
        }
        self.make_room();
    }

    /// The drive has answered the write.
    pub fn acknowledged(&mut self, write: Write) {
        self.claim(write);
        if let Some(written) = self.writes.get_mut(&write.0) {
            written.acknowledged = Some(self.acknowledged);
            self.acknowledged += 1;
            self.settled += written.settled_if(written.left == 0 || !self.is_timed);
        }
        self.make_room();
    }

    /// Where a write without an answer counts as on the media, and `write`, which is just being
    /// answered, does not, it was this one.
    fn claim(&mut self, write: Write) {
        let Some(&own) = self.writes.get(&write.0).filter(|own| own.left > 0) else {
            return;
        };
        let range = self.sectors.range_mut(own.first..own.first + own.sectors);
        for (_, versions) in range.filter(|(_, versions)| versions.len() > 1) {
            let is_own = |version: &Version| version.write == Some(write.0) && !version.has_landed;
            let writes = &self.writes;
            let is_other = |version: &Version| {
                let other = version.write.and_then(|other| writes.get(&other));
                version.has_landed && other.is_some_and(|other| other.acknowledged.is_none())
            };
            let places = versions.iter().position(is_own);
            let Some((own, other)) = places.zip(versions.iter().position(is_other)) else {
                continue;
            };
            for (place, has_landed) in [(own, true), (other, false)] {
                versions[place].has_landed = has_landed;
                let write = versions[place].write;
                if let Some(write) = write.and_then(|write| self.writes.get_mut(&write)) {
                    write.left = write.left + 1 - 2 * u64::from(has_landed);
                }
            }
        }
    }

    /// What a flush that arrives now is for.
    pub fn mark(&self) -> u64 {
        self.acknowledged
    }

    /// A flush that arrived at `mark` has completed.
    pub fn flushed(&mut self, mark: u64) {
        let is_before = |written: &Written| written.acknowledged.is_some_and(|at| at < mark);
        let writes = self.writes.iter();
        let safe = writes.filter(|(_, written)| is_before(written));
        let safe: Vec<u64> = safe.map(|(number, _)| *number).collect();
        for number in safe {
            self.safe(Write(number));
        }
    }

    /// Nothing can undo the write any more, nor those before it in its sectors.
    pub fn safe(&mut self, write: Write) {
        let Some(safe) = self.writes.remove(&write.0) else {
            return;
        };
        self.settled -= safe.settled_if(safe.left == 0 || !self.is_timed);
        let range = self.sectors.range(safe.first..safe.first + safe.sectors);
        let sectors: Vec<u64> = range.map(|(sector, _)| *sector).collect();
        for sector in sectors {
            self.settle(sector, write.0);
        }
    }

    /// Drops the versions of a sector up to that of `write`, and trims that follow.
    fn settle(&mut self, sector: u64, write: u64) {
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
            // A write that was written over is as good as on the media there.
            if let Some(other) = other.filter(|_| !version.has_landed) {
                other.left -= 1;
                self.settled += other.settled_if(other.left == 0 && self.is_timed);
            }
        }
        if versions.is_empty() {
            self.sectors.remove(&sector);
        }
    }

    /// Makes the oldest writes safe of which the drive's buffer cannot have this many.
    fn make_room(&mut self) {
        while self.settled > self.capacity {
            let is_settled = |written: &&Written| {
                written.acknowledged.is_some() && (written.left == 0 || !self.is_timed)
            };
            let mut writes = self.writes.iter();
            let Some((&oldest, _)) = writes.find(|(_, written)| is_settled(written)) else {
                return;
            };
            self.safe(Write(oldest));
        }
    }

    /// Sectors of acknowledged writes that can be here.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Sectors that are kept, those twice that were written twice.
    pub fn kept(&self) -> u64 {
        self.versions
    }

    /// The writes that are not on the media, in the order in which they arrived.
    pub fn unwritten(&self) -> Vec<PendingWrite> {
        let left = self.writes.values().filter(|written| written.left > 0);
        left.map(|written| PendingWrite {
            first_sector: written.first,
            sectors: written.sectors,
            landed_sectors: written.sectors - written.left,
            is_acknowledged: written.acknowledged.is_some(),
        })
        .collect()
    }

    /// Cuts the power: what sectors hold that do not keep their newest data. Afterwards it is
    /// empty.
    pub fn cut(&mut self, cut: &PowerCut) -> (Vec<(u64, Before)>, Losses) {
        let fates = self.fates(cut);
        let mut reverted = Vec::new();
        let mut harmed = BTreeSet::new();
        for (sector, versions) in &self.sectors {
            let last = self.survivor(*sector, versions, &fates, cut);
            let lost = &versions[last..];
            harmed.extend(lost.iter().filter_map(|version| version.write));
            if let Some(version) = lost.first() {
                reverted.push((*sector, version.before.clone()));
            }
        }
        let written = harmed.iter().filter_map(|write| self.writes.get(write));
        let acknowledged = written.filter(|written| written.acknowledged.is_some());
        let lost_writes = acknowledged.count() as u64;
        let under_way = self.writes.values();
        let under_way = under_way.filter(|written| written.acknowledged.is_none());
        let lost = Losses {
            lost_writes,
            unfinished_writes: under_way.count() as u64,
            reverted_sectors: reverted.len() as u64,
        };
        self.forget();
        (reverted, lost)
    }

    /// Nothing can be undone any more.
    pub fn forget(&mut self) {
        let next = self.next;
        *self = Self {
            next,
            ..Self::new(self.capacity, self.is_timed)
        };
    }

    /// What becomes of each write, where chance decides.
    fn fates(&self, cut: &PowerCut) -> BTreeMap<u64, Fate> {
        let mut fates = BTreeMap::new();
        let mut choice = Choice::new(cut.seed);
        if cut.worst {
            fates.extend(self.writes.keys().map(|write| (*write, choice.fate())));
        }
        let mut left = self.writes.iter().filter(|(_, written)| written.left > 0);
        let is_chosen = cut.torn && (cut.worst || !self.is_timed);
        if is_chosen && let Some((oldest, written)) = left.next() {
            fates.insert(*oldest, choice.part(written.sectors));
        }
        fates
    }

    /// How many versions of a sector, from the oldest on, come before the first that is lost.
    fn survivor(
        &self,
        sector: u64,
        versions: &[Version],
        fates: &BTreeMap<u64, Fate>,
        cut: &PowerCut,
    ) -> usize {
        let mut kept = 0;
        for (index, version) in versions.iter().enumerate() {
            let survives = match version.write {
                None => kept == index,
                Some(write) => {
                    let written = self.writes.get(&write);
                    match (fates.get(&write), written) {
                        (Some(Fate::All), _) | (_, None) => true,
                        (Some(Fate::Nothing), _) => false,
                        (Some(Fate::First(count)), Some(written)) => {
                            sector - written.first < *count
                        }
                        (None, Some(written)) => {
                            written.left == 0 || cut.torn && version.has_landed
                        }
                    }
                }
            };
            if survives {
                kept = index + 1;
            }
        }
        kept
    }
}

impl Written {
    /// Its sectors, if it is acknowledged and `is_there`.
    fn settled_if(&self, is_there: bool) -> u64 {
        match self.acknowledged {
            Some(_) if is_there => self.sectors,
            _ => 0,
        }
    }
}
