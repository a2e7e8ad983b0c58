//! Random orders of writes, trims, flushes and power cuts, against a model that keeps the whole
//! history and follows the rules literally.

use std::collections::BTreeSet;

use diskarm_core::device::Persisted;
use diskarm_core::units::{Bytes, Lbn, SectorCount};
use diskarm_serve::power::{DataPath, Losses, PendingWrite, PowerCut, WriteId};
use diskarm_serve::store::SparseStore;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

const SECTOR: u64 = 512;
/// Few sectors, so that most events overlap.
const SECTORS: u64 = 12;

struct Write {
    id: WriteId,
    first: u64,
    sectors: u64,
    /// Number of sectors whose data have arrived.
    arrived: u64,
    is_submitted: bool,
    is_acknowledged: bool,
    /// True if no power cut can undo it.
    is_safe: bool,
}

/// A change of one sector.
#[derive(Clone, Copy)]
struct Change {
    /// `None` for a trim.
    write: Option<usize>,
    sector: u64,
    fill: u8,
    is_persisted: bool,
}

/// All that has happened since the last power cut.
struct History {
    capacity: u64,
    is_timed: bool,
    base: Vec<u8>,
    writes: Vec<Write>,
    /// In the order in which the store was changed.
    changes: Vec<Change>,
    /// Changes of planned writes, in order of arrival.
    planned: Vec<Change>,
}

/// The content of all sectors after a power cut, and what was lost.
type Outcome = (Vec<u8>, Losses);

impl History {
    fn new(capacity: u64, is_timed: bool, base: Vec<u8>) -> Self {
        Self {
            capacity,
            is_timed,
            base,
            writes: Vec::new(),
            changes: Vec::new(),
            planned: Vec::new(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().chain(&self.planned)
    }

    fn change_mut(&mut self, index: usize) -> &mut Change {
        let count = self.changes.len();
        if index < count {
            &mut self.changes[index]
        } else {
            &mut self.planned[index - count]
        }
    }

    /// Returns, for each sector, the number of changes up to the last one that is safe.
    fn safe(&self) -> Vec<usize> {
        let mut safe = vec![0; SECTORS as usize];
        for (index, change) in self.changes.iter().enumerate() {
            if change.write.is_some_and(|write| self.writes[write].is_safe) {
                safe[change.sector as usize] = index + 1;
            }
        }
        safe
    }

    /// Returns the changes by writes that are neither safe nor replaced by one that is.
    fn kept(&self) -> Vec<(usize, usize, Change)> {
        let safe = self.safe();
        let all = self.all().enumerate();
        let kept = all.filter(|(index, change)| *index >= safe[change.sector as usize]);
        kept.filter_map(|(index, change)| Some((index, change.write?, *change)))
            .collect()
    }

    /// Returns the number of sectors that each write must still bring to the media.
    fn left(&self) -> Vec<u64> {
        let missing = |write: &Write| write.sectors - write.arrived;
        let mut left: Vec<u64> = self.writes.iter().map(missing).collect();
        for (_, write, change) in self.kept() {
            left[write] += u64::from(!change.is_persisted);
        }
        left
    }

    fn persist(&mut self, sector: u64) {
        let kept = self.kept();
        let waiting = |is_next: fn(&Write) -> bool| {
            let mut kept = kept.iter();
            let found = kept.find(|(_, write, change)| {
                change.sector == sector && !change.is_persisted && is_next(&self.writes[*write])
            });
            found.map(|(index, ..)| *index)
        };
        let acknowledged = waiting(|write| write.is_acknowledged);
        if let Some(index) = acknowledged.or_else(|| waiting(|write| write.is_submitted)) {
            self.change_mut(index).is_persisted = true;
        }
    }

    fn acknowledge(&mut self, number: usize) {
        for (own, write, change) in self.kept() {
            if write != number || change.is_persisted {
                continue;
            }
            let kept = self.kept();
            let wrong = kept.iter().find(|(_, other, at)| {
                let is_pending = !self.writes[*other].is_acknowledged;
                at.sector == change.sector && at.is_persisted && is_pending
            });
            if let Some(&(wrong, ..)) = wrong {
                self.change_mut(own).is_persisted = true;
                self.change_mut(wrong).is_persisted = false;
            }
        }
        self.writes[number].is_acknowledged = true;
    }

    /// Makes the oldest writes safe that the drive's buffer has no room for.
    fn make_room(&mut self) {
        loop {
            let left = self.left();
            let numbers = 0..self.writes.len();
            let is_settled = |number: &usize| {
                let write = &self.writes[*number];
                let is_on_media = left[*number] == 0 || !self.is_timed;
                write.is_acknowledged && !write.is_safe && is_on_media
            };
            let settled: Vec<usize> = numbers.filter(is_settled).collect();
            let sectors = settled.iter().map(|number| self.writes[*number].sectors);
            if sectors.sum::<u64>() <= self.capacity {
                return;
            }
            self.writes[settled[0]].is_safe = true;
        }
    }

    fn carry_out(&mut self, number: usize) {
        let is_own = |change: &Change| change.write == Some(number);
        let own: Vec<Change> = self.planned.iter().copied().filter(is_own).collect();
        self.planned.retain(|change| !is_own(change));
        self.changes.extend(own);
    }

    fn is_planned(&self, number: usize) -> bool {
        let mut planned = self.planned.iter();
        planned.any(|change| change.write == Some(number))
    }

    fn content(&self) -> Vec<u8> {
        let mut content = self.base.clone();
        for change in &self.changes {
            content[change.sector as usize] = change.fill;
        }
        content
    }

    fn pending(&self) -> Vec<PendingWrite> {
        let left = self.left().into_iter();
        let writes = self.writes.iter().zip(left);
        let pending = writes.filter(|(write, left)| *left > 0 && !write.is_safe);
        pending
            .map(|(write, left)| PendingWrite {
                first_sector: write.first,
                sectors: write.sectors,
                landed_sectors: write.sectors - left,
                is_acknowledged: write.is_acknowledged,
            })
            .collect()
    }

    /// Returns what remains if these changes survive. In each sector, the last surviving write
    /// counts, with the trims before the next write.
    fn outcome(&self, survives: impl Fn(usize, &Change) -> bool) -> Outcome {
        let (mut content, safe) = (self.base.clone(), self.safe());
        let mut lost = vec![BTreeSet::new(); SECTORS as usize];
        for (index, change) in self.changes.iter().enumerate() {
            let sector = change.sector as usize;
            match change.write {
                None if lost[sector].is_empty() => content[sector] = 0,
                Some(write) if index >= safe[sector] && !survives(write, change) => {
                    lost[sector].insert(write);
                }
                Some(_) => {
                    lost[sector].clear();
                    content[sector] = change.fill;
                }
                None => {}
            }
        }
        let reverted = lost.iter().filter(|lost| !lost.is_empty()).count();
        let damaged: BTreeSet<usize> = lost.into_iter().flatten().collect();
        let is_acknowledged = |write: &&usize| self.writes[**write].is_acknowledged;
        let writes = self.writes.iter().filter(|write| !write.is_safe);
        let losses = Losses {
            lost_writes: damaged.iter().filter(is_acknowledged).count() as u64,
            unfinished_writes: writes.filter(|write| !write.is_acknowledged).count() as u64,
            reverted_sectors: reverted as u64,
        };
        (content, losses)
    }

    /// Returns all possible outcomes of a power cut.
    fn outcomes(&self, cut: &PowerCut) -> Vec<Outcome> {
        let left = self.left();
        let unsafe_writes = (0..self.writes.len()).filter(|number| !self.writes[*number].is_safe);
        let unsafe_writes: Vec<usize> = unsafe_writes.collect();
        let oldest = unsafe_writes.iter().find(|number| left[**number] > 0);
        let tears = cut.torn && (cut.worst || !self.is_timed);
        let oldest = oldest.copied().filter(|_| tears);
        let choices = if cut.worst {
            1 << unsafe_writes.len()
        } else {
            1
        };
        let mut outcomes = Vec::new();
        for choice in 0..choices {
            for count in 0..oldest.map_or(1, |oldest| self.writes[oldest].sectors) {
                outcomes.push(self.outcome(|number, change| {
                    let position = || unsafe_writes.iter().position(|other| *other == number);
                    if oldest == Some(number) {
                        change.sector - self.writes[number].first < count
                    } else if cut.worst {
                        choice >> position().expect("an unsafe write") & 1 == 1
                    } else {
                        left[number] == 0 || cut.torn && change.is_persisted
                    }
                }));
            }
        }
        outcomes
    }
}

/// Data, and the model of them.
struct Bench {
    data: DataPath,
    history: History,
    random: Pcg64Mcg,
    /// Writes that have not ended.
    live: Vec<usize>,
    /// Writes that a power cut has ended; no longer of any effect.
    ended: Vec<WriteId>,
    /// Flushes that have not ended: their marks, and the writes acknowledged before.
    flushes: Vec<(u64, Vec<usize>)>,
    fill: u8,
}

impl Bench {
    fn new(seed: u64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let is_timed = !random.next_u64().is_multiple_of(3);
        let capacity = [2, 6, 20, 1000][(random.next_u64() % 4) as usize];
        let store = Box::new(SparseStore::empty(SECTORS * SECTOR));
        let mut data = DataPath::new(store, Bytes(SECTOR), Some(SectorCount(capacity)), is_timed);
        let base: Vec<u8> = (0..SECTORS).map(|sector| 240 + sector as u8).collect();
        for (sector, fill) in (0..).zip(&base) {
            let filled = [*fill; SECTOR as usize];
            data.store.write(sector * SECTOR, &filled).expect("memory");
        }
        Self {
            data,
            history: History::new(capacity, is_timed, base),
            random,
            live: Vec::new(),
            ended: Vec::new(),
            flushes: Vec::new(),
            fill: 0,
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    fn open(&mut self, first: u64, sectors: u64, id: WriteId) -> usize {
        let number = self.history.writes.len();
        self.history.writes.push(Write {
            id,
            first,
            sectors,
            arrived: 0,
            is_submitted: false,
            is_acknowledged: false,
            is_safe: false,
        });
        self.live.push(number);
        number
    }

    /// Returns the changes that fill the next `sectors` sectors of a write.
    fn next_changes(&mut self, number: usize, sectors: u64) -> Vec<Change> {
        let write = &mut self.history.writes[number];
        let first = write.first + write.arrived;
        write.arrived += sectors;
        let change = |sector| Change {
            write: Some(number),
            sector,
            fill: self.fill,
            is_persisted: false,
        };
        (first..first + sectors).map(change).collect()
    }

    /// Writes the next sectors of a write, sometimes as zeroes.
    fn write_part(&mut self, number: usize, sectors: u64) {
        let zeroes = self.below(4) == 0;
        if zeroes {
            self.fill = 0;
        }
        let (offset, length) = {
            let write = &self.history.writes[number];
            ((write.first + write.arrived) * SECTOR, sectors * SECTOR)
        };
        let changes = self.next_changes(number, sectors);
        let id = self.history.writes[number].id;
        let written = if zeroes {
            self.data.zero_part(id, offset, length, true)
        } else {
            let data = vec![self.fill; length as usize];
            self.data.write_part(id, offset, &data)
        };
        written.expect("memory");
        self.history.changes.extend(changes);
    }

    fn end(&mut self, number: usize) {
        self.live.retain(|other| *other != number);
    }

    fn acknowledge(&mut self, number: usize) {
        let is_safe = self.below(6) == 0;
        let id = self.history.writes[number].id;
        self.data.mark_acknowledged(id, is_safe);
        self.history.acknowledge(number);
        self.history.make_room();
        self.history.writes[number].is_safe |= is_safe;
        self.end(number);
    }

    fn withdraw(&mut self, number: usize) {
        self.data.withdraw(self.history.writes[number].id);
        let planned = &mut self.history.planned;
        planned.retain(|change| change.write != Some(number));
        self.history.writes[number].is_safe = true;
        self.end(number);
    }

    /// Continues a write that has not ended.
    fn proceed(&mut self, number: usize) {
        let write = &self.history.writes[number];
        let (id, first, missing) = (write.id, write.first, write.sectors - write.arrived);
        let (arrived, is_submitted) = (write.arrived, write.is_submitted);
        match self.below(16) {
            0 => self.withdraw(number),
            1 if missing > 0 && !is_submitted => {
                self.data.shorten(id, arrived * SECTOR);
                self.history.writes[number].sectors = arrived;
                if arrived == 0 {
                    self.history.writes[number].is_safe = true;
                    self.end(number);
                }
            }
            _ if missing > 0 => {
                let sectors = 1 + self.below(missing);
                self.write_part(number, sectors);
            }
            2 if self.history.is_timed && self.history.is_planned(number) => {
                // The drive may still write other sectors before it answers.
                self.data.carry_out(id).expect("memory");
                self.history.carry_out(number);
            }
            _ if !is_submitted && self.history.is_timed => {
                self.data.mark_submitted(id);
                self.history.writes[number].is_submitted = true;
            }
            _ => {
                assert!(first < SECTORS);
                self.data.carry_out(id).expect("memory");
                self.history.carry_out(number);
                self.acknowledge(number);
            }
        }
    }

    fn step(&mut self) {
        self.fill = 1 + (self.fill + 1) % 200;
        let first = self.below(SECTORS);
        let sectors = 1 + self.below(5).min(SECTORS - first - 1);
        let (offset, length) = (first * SECTOR, sectors * SECTOR);
        match self.below(12) {
            0 | 1 => {
                let id = self.data.open(offset, length);
                let number = self.open(first, sectors, id);
                if self.below(2) == 0 {
                    // As for zeroes, which the drive receives first.
                    self.data.mark_submitted(id);
                    self.history.writes[number].is_submitted = true;
                    self.write_part(number, sectors);
                }
            }
            2 if self.history.is_timed => {
                let data = vec![self.fill; length as usize];
                let id = self.data.plan(offset, &data);
                let number = self.open(first, sectors, id);
                let changes = self.next_changes(number, sectors);
                self.history.planned.extend(changes);
                self.history.writes[number].is_submitted = true;
            }
            3 | 4 if self.history.is_timed => {
                self.data.mark_persisted(&[Persisted {
                    first: Lbn(first),
                    sectors: SectorCount(sectors),
                }]);
                (first..first + sectors).for_each(|sector| self.history.persist(sector));
                self.history.make_room();
            }
            5 => {
                self.data.trim(offset, length).expect("memory");
                self.history
                    .changes
                    .extend((first..first + sectors).map(|sector| Change {
                        write: None,
                        sector,
                        fill: 0,
                        is_persisted: false,
                    }));
            }
            6 => {
                let writes = self.history.writes.iter().enumerate();
                let acknowledged = writes.filter(|(_, write)| write.is_acknowledged);
                let numbers = acknowledged.map(|(number, _)| number).collect();
                self.flushes.push((self.data.flush_mark(), numbers));
            }
            7 if self.below(8) == 0 && !self.ended.is_empty() => {
                let ended = self.ended.remove(0);
                self.data.mark_acknowledged(ended, true);
                self.history.make_room();
            }
            7 if self.below(3) == 0 && !self.flushes.is_empty() => {
                let index = self.below(self.flushes.len() as u64) as usize;
                let (mark, numbers) = self.flushes.swap_remove(index);
                self.data.complete_flush(mark);
                for number in numbers {
                    self.history.writes[number].is_safe = true;
                }
            }
            _ if !self.live.is_empty() => {
                let index = self.below(self.live.len() as u64) as usize;
                self.proceed(self.live[index]);
            }
            _ => {}
        }
    }

    fn content(&mut self) -> Vec<u8> {
        let mut all = vec![0; (SECTORS * SECTOR) as usize];
        self.data.store.read(0, &mut all).expect("memory");
        let sectors = all.chunks_exact(SECTOR as usize);
        let fill = |sector: &[u8]| {
            let is_whole = sector.iter().all(|byte| *byte == sector[0]);
            assert!(is_whole, "a sector was torn");
            sector[0]
        };
        sectors.map(fill).collect()
    }

    fn check(&mut self) {
        assert_eq!(self.data.version_count(), self.history.kept().len() as u64);
        assert_eq!(self.data.pending_writes(), self.history.pending());
        assert_eq!(self.content(), self.history.content());
    }

    /// Cuts the power; returns the outcome, and those of a plain cut and of losing none or all.
    fn cut(&mut self, cut: &PowerCut) -> [Outcome; 4] {
        for number in 0..self.history.writes.len() {
            self.history.carry_out(number);
        }
        let outcomes = self.history.outcomes(cut);
        let plain = PowerCut {
            torn: false,
            worst: false,
            ..*cut
        };
        let [plain] = self.history.outcomes(&plain).try_into().expect("certainty");
        let [none, all] = [true, false].map(|survives| self.history.outcome(|_, _| survives));
        let losses = self.data.cut(cut).expect("memory");
        let outcome = (self.content(), losses);
        assert!(
            outcomes.contains(&outcome),
            "{cut:?}: {outcome:?} is none of {outcomes:?}"
        );
        let live = self.live.iter();
        self.ended
            .extend(live.map(|number| self.history.writes[*number].id));
        let (capacity, is_timed) = (self.history.capacity, self.history.is_timed);
        self.history = History::new(capacity, is_timed, outcome.0.clone());
        self.live.clear();
        // A flush of the past covers none of the writes to come.
        self.flushes
            .iter_mut()
            .for_each(|(_, numbers)| numbers.clear());
        self.check();
        [outcome, plain, none, all]
    }
}

/// Also asserts that cuts of each kind have effects of their own.
#[test]
fn any_order_of_events_leaves_what_the_rules_allow() {
    let (mut torn, mut torn_untimed, mut worst) = (0, 0, 0);
    for seed in 0..150 {
        let mut bench = Bench::new(seed);
        let interval = 10 + bench.below(80);
        for _ in 0..400 {
            if bench.below(interval) != 0 {
                bench.step();
                bench.check();
                continue;
            }
            let unsafe_writes = bench.history.writes.iter().filter(|write| !write.is_safe);
            // The model tries all subsets.
            let may_be_worst = unsafe_writes.count() <= 10;
            let cut = PowerCut {
                torn: bench.below(2) == 0,
                worst: may_be_worst && bench.below(2) == 0,
                seed: bench.below(1000),
            };
            let [outcome, plain, none, all] = bench.cut(&cut);
            match (cut.worst, cut.torn) {
                (true, false) => worst += usize::from(outcome != none && outcome != all),
                (false, true) if bench.history.is_timed => torn += usize::from(outcome != plain),
                (false, true) => torn_untimed += usize::from(outcome != plain),
                _ => {}
            }
        }
    }
    assert!(
        torn > 50 && torn_untimed > 30 && worst > 50,
        "{torn} {torn_untimed} {worst}"
    );
}
