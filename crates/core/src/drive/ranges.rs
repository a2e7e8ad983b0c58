//! The dirty ranges waiting in a write cache, and the log of runs that reach the media.
//!
//! A write is merged with ranges that it overlaps, and with adjacent ones up to a maximum length.

use std::collections::{BTreeMap, VecDeque};

use crate::device::Persisted;
use crate::mechanics::Piece;
use crate::request::{Op, Request};
use crate::sched::Pending;
use crate::units::{Instant, Lbn, SectorCount, Span};

/// The first block, and the block after the last.
pub(super) type Blocks = (Lbn, Lbn);

#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    ranges: BTreeMap<Lbn, Range>,
    sectors: u64,
    next: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Range {
    end: Lbn,
    id: u64,
    arrived: Instant,
    pub writes: Writes,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// Ids of requests that no longer exist.
    pub gone: Vec<u64>,
    pub new: Vec<Pending>,
}

impl Range {
    fn pending(&self, first: Lbn) -> Pending {
        Pending {
            request: Request::new(self.id, Op::Write, first, SectorCount(self.end.0 - first.0)),
            arrived: self.arrived,
        }
    }
}

impl Ranges {
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub fn sectors(&self) -> SectorCount {
        SectorCount(self.sectors)
    }

    pub fn blocks(&self) -> impl Iterator<Item = Blocks> {
        let ranges = self.ranges.iter();
        ranges.map(|(first, range)| (*first, range.end))
    }

    fn first_ending_after(&self, at: Lbn) -> Option<(Lbn, &Range)> {
        let before = self.ranges.range(..=at).next_back();
        let holding = before.filter(|(_, range)| range.end > at);
        let found = holding.or_else(|| self.ranges.range(at..).next());
        found.map(|(first, range)| (*first, range))
    }

    pub fn overlapping(&self, (first, end): Blocks) -> Vec<Lbn> {
        let from = self.first_ending_after(first).map_or(end, |(from, _)| from);
        let ranges = self.ranges.range(from.min(end)..end);
        ranges.map(|(first, _)| *first).collect()
    }

    /// Returns the end of the range that contains block `at`.
    pub fn holding(&self, at: Lbn) -> Option<Lbn> {
        let (first, range) = self.first_ending_after(at)?;
        (first <= at).then_some(range.end)
    }

    /// Adds a write whose data arrived at `now`. Merges adjacent ranges up to `longest` blocks.
    pub fn add(
        &mut self,
        now: Instant,
        blocks: Blocks,
        longest: SectorCount,
        keeps_writes: bool,
    ) -> Change {
        let mut change = Change::default();
        let overlapping = self.overlapping(blocks);
        if let [only] = overlapping[..]
            && let Some(range) = self.ranges.get_mut(&only)
            && only <= blocks.0
            && blocks.1 <= range.end
        {
            if keeps_writes {
                range.writes.add(blocks, 1);
            }
            return change;
        }
        let mut first = blocks.0;
        let mut merged = self.new_range(blocks.1, now);
        for other in overlapping {
            self.join(&mut first, &mut merged, other, &mut change);
        }
        let before = self.ranges.range(..first).next_back();
        let adjacent = before.filter(|(_, range)| range.end == first);
        let touching = [adjacent.map(|(other, _)| *other), Some(merged.end)];
        for other in touching.into_iter().flatten() {
            let length = |range: &Range| range.end.0 - other.0 + (merged.end.0 - first.0);
            let range = self.ranges.get(&other);
            if range.is_some_and(|range| length(range) <= longest.0) {
                self.join(&mut first, &mut merged, other, &mut change);
            }
        }
        if keeps_writes {
            merged.writes.add(blocks, 1);
        }
        change.new.push(merged.pending(first));
        self.insert(first, merged);
        change
    }

    fn new_range(&mut self, end: Lbn, arrived: Instant) -> Range {
        let (id, writes) = (self.next, Writes::default());
        self.next += 1;
        Range {
            end,
            id,
            arrived,
            writes,
        }
    }

    fn join(&mut self, first: &mut Lbn, merged: &mut Range, other: Lbn, change: &mut Change) {
        if let Some(range) = self.take(other) {
            change.gone.push(range.id);
            *first = other.min(*first);
            merged.end = merged.end.max(range.end);
            merged.writes.add_all(range.writes.runs());
        }
    }

    fn insert(&mut self, first: Lbn, range: Range) {
        self.sectors += range.end.0 - first.0;
        self.ranges.insert(first, range);
    }

    pub fn take(&mut self, first: Lbn) -> Option<Range> {
        let range = self.ranges.remove(&first)?;
        self.sectors -= range.end.0 - first.0;
        Some(range)
    }

    pub fn take_request(&mut self, first: Lbn) -> Option<(Request, Writes)> {
        let range = self.take(first)?;
        Some((range.pending(first).request, range.writes))
    }

    /// Drops `blocks`, which a write at `now` replaces. Returns the resulting change, and the
    /// number of writes to each dropped block.
    pub fn replace(&mut self, now: Instant, blocks: Blocks) -> (Change, Writes) {
        let (mut change, mut replaced) = (Change::default(), Writes::default());
        for first in self.overlapping(blocks) {
            let Some(range) = self.take(first) else {
                continue;
            };
            change.gone.push(range.id);
            replaced.add_all(range.writes.runs_in(blocks));
            for part in [(first, blocks.0), (blocks.1, range.end)] {
                if part.0 < part.1 {
                    let mut remainder = self.new_range(part.1, now);
                    remainder.writes.add_all(range.writes.runs_in(part));
                    change.new.push(remainder.pending(part.0));
                    self.insert(part.0, remainder);
                }
            }
        }
        (change, replaced)
    }
}

/// The number of writes to each block, as a step function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Writes {
    /// The number of writes to the blocks from each key to the next. Adjacent values differ.
    steps: BTreeMap<Lbn, u64>,
}

impl Writes {
    pub fn add(&mut self, (first, end): Blocks, times: u64) {
        for at in [first, end] {
            let times = self.before(at);
            self.steps.entry(at).or_insert(times);
        }
        for (_, step) in self.steps.range_mut(first..end) {
            *step += times;
        }
        for at in [first, end] {
            if self.steps.get(&at) == Some(&self.before(at)) {
                self.steps.remove(&at);
            }
        }
    }

    /// Returns the number of writes to the block preceding `at`.
    fn before(&self, at: Lbn) -> u64 {
        let before = self.steps.range(..at).next_back();
        before.map_or(0, |(_, times)| *times)
    }

    /// Returns the runs of blocks with equal numbers of writes, and these numbers, in order.
    pub fn runs(&self) -> impl Iterator<Item = (Blocks, u64)> {
        let runs = self.steps.iter().zip(self.steps.keys().skip(1));
        runs.map(|((first, times), end)| ((*first, *end), *times))
            .filter(|(_, times)| *times > 0)
    }

    pub fn runs_in(&self, within: Blocks) -> impl Iterator<Item = (Blocks, u64)> {
        let cut =
            move |(run, times): (Blocks, u64)| ((run.0.max(within.0), run.1.min(within.1)), times);
        self.runs().map(cut).filter(|(run, _)| run.0 < run.1)
    }

    pub fn add_all(&mut self, runs: impl IntoIterator<Item = (Blocks, u64)>) {
        for (blocks, times) in runs {
            self.add(blocks, times);
        }
    }
}

/// The runs of writes that have begun and are not yet reported as persisted.
#[derive(Clone, Debug, Default)]
pub(super) struct PersistLog {
    /// In the order in which they are written; simultaneous runs of the same blocks are adjacent.
    runs: VecDeque<Run>,
    /// Writes that the next runs replace. They are reported together with these runs.
    pub replaced: Writes,
}

/// A run of a write, which may also rewrite other blocks of its physical sectors.
#[derive(Clone, Debug)]
struct Run {
    piece: Piece,
    /// The blocks that the host wrote.
    written: Blocks,
    times: u64,
    reported: SectorCount,
}

impl PersistLog {
    /// Appends a run, of which the host wrote only the blocks `written`.
    pub fn add(&mut self, run: Piece, written: Blocks, period: Span) {
        for piece in parts(run, period) {
            push(&mut self.runs, piece, &self.replaced);
            self.runs.push_back(Run::new(piece, (written, 1)));
        }
    }

    /// Appends a run that contains several writes. Each of them is reported.
    pub fn add_all(&mut self, run: Piece, writes: &Writes, period: Span) {
        for piece in parts(run, period) {
            push(&mut self.runs, piece, writes);
        }
    }

    /// Removes the most recently added run, which has not begun.
    pub fn retract(&mut self, run: Piece, period: Span) {
        let kept = self.runs.len() - parts(run, period).count();
        self.runs.truncate(kept);
    }

    /// Returns the runs that have reached the media by `now`, and marks them as reported.
    pub fn by(&mut self, now: Instant) -> Vec<Persisted> {
        let mut persisted = Vec::new();
        let mut finished = 0;
        for run in &mut self.runs {
            let (piece, done) = (run.piece, run.piece.done(now));
            if done == SectorCount(0) {
                break;
            }
            let first = (piece.first + run.reported).max(run.written.0);
            let end = (piece.first + done).min(run.written.1);
            if first < end {
                let sectors = end - first;
                persisted.extend((0..run.times).map(|_| Persisted { first, sectors }));
            }
            run.reported = done;
            finished += usize::from(done == piece.sectors);
        }
        self.runs.drain(..finished);
        persisted
    }
}

impl Run {
    fn new(piece: Piece, (written, times): (Blocks, u64)) -> Self {
        Self {
            piece,
            written,
            times,
            reported: SectorCount(0),
        }
    }
}

/// Adds a run for each range of blocks with the same number of writes.
fn push(runs: &mut VecDeque<Run>, piece: Piece, writes: &Writes) {
    let written = writes.runs_in((piece.first, piece.end_lbn()));
    runs.extend(written.map(|written| Run::new(piece, written)));
}

/// Splits a run into parts in the order in which they pass the head.
fn parts(run: Piece, period: Span) -> impl Iterator<Item = Piece> {
    let parts = run.in_passing_order(period).into_iter().flatten();
    parts.filter(|part| part.sectors > SectorCount(0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn blocks_of(ranges: &Ranges) -> Vec<(u64, u64)> {
        let all = ranges.ranges.iter();
        all.map(|(first, range)| (first.0, range.end.0)).collect()
    }

    #[test]
    fn overlapping_ranges_merge_and_adjacent_ones_up_to_a_length() {
        let mut ranges = Ranges::default();
        let mut add = |start, sectors| {
            let blocks = (Lbn(start), Lbn(start + sectors));
            ranges.add(Instant::START, blocks, SectorCount(10), false);
            blocks_of(&ranges)
        };
        assert_eq!(add(10, 4), [(10, 14)]);
        assert_eq!(add(14, 4), [(10, 18)]);
        assert_eq!(add(18, 4), [(10, 18), (18, 22)]);
        assert_eq!(add(17, 3), [(10, 22)]);
        assert_eq!(add(6, 4), [(6, 10), (10, 22)]);
        assert_eq!(add(30, 2), [(6, 10), (10, 22), (30, 32)]);
        assert_eq!(add(4, 30), [(4, 34)]);
    }

    type Model = BTreeMap<u64, u64>;

    fn writes_of(writes: &Writes) -> Model {
        let blocks = |(of, times): (Blocks, u64)| (of.0.0..of.1.0).map(move |at| (at, times));
        writes.runs().flat_map(blocks).collect()
    }

    #[test]
    fn overwriting_needs_no_more_memory() {
        let mut ranges = Ranges::default();
        for n in 0..10_000 {
            let blocks = (Lbn(10 + n % 3), Lbn(20 - n % 4));
            ranges.add(Instant::START, blocks, SectorCount(10), true);
        }
        let range = ranges.take(Lbn(10)).expect("a range");
        assert!(range.writes.steps.len() <= 7, "{range:?}");
        let times: u64 = writes_of(&range.writes).values().sum();
        let blocks = (0..10_000).map(|n| 10 - n % 3 - n % 4);
        assert_eq!(times, blocks.sum::<u64>());
    }

    proptest! {
        /// Compares the ranges with a map from each dirty block to its number of writes, and with
        /// the requests that a policy would have received.
        #[test]
        fn ranges_match_a_map_of_blocks(
            steps in prop::collection::vec((0..4u8, 0..60u64, 1..12u64), 1..60),
        ) {
            let (mut ranges, mut model) = (Ranges::default(), Model::new());
            let mut requests: BTreeMap<u64, Request> = BTreeMap::new();
            for (step, start, sectors) in steps {
                let blocks = (Lbn(start), Lbn(start + sectors));
                let mut change = Change::default();
                match step {
                    0 | 1 => {
                        change = ranges.add(Instant::START, blocks, SectorCount(16), true);
                        for block in start..start + sectors {
                            *model.entry(block).or_default() += 1;
                        }
                    }
                    2 => {
                        let replaced;
                        (change, replaced) = ranges.replace(Instant::START, blocks);
                        let mut expected = model.split_off(&start);
                        model.extend(expected.split_off(&(start + sectors)));
                        prop_assert_eq!(writes_of(&replaced), expected);
                    }
                    _ => if let Some(first) = ranges.overlapping(blocks).first() {
                        let (request, writes) = ranges.take_request(*first).expect("a range");
                        requests.remove(&request.id);
                        let mut expected = model.split_off(&request.start.0);
                        model.extend(expected.split_off(&request.end().0));
                        prop_assert_eq!(writes_of(&writes), expected);
                    }
                }
                for gone in &change.gone {
                    prop_assert!(requests.remove(gone).is_some());
                }
                for new in &change.new {
                    prop_assert!(requests.insert(new.request.id, new.request).is_none());
                }
                let ends = requests.values().map(|r| (r.start.0, r.end().0));
                let mut pending: Vec<_> = ends.collect();
                pending.sort_unstable();
                prop_assert_eq!(pending, blocks_of(&ranges));
                prop_assert_eq!(ranges.sectors().0, model.len() as u64);
                for (first, range) in &ranges.ranges {
                    let blocks = (range.end.0 - first.0) as usize;
                    prop_assert!(range.writes.steps.len() <= blocks + 1);
                }
                for block in 0..80 {
                    let holds = ranges.holding(Lbn(block)).is_some();
                    prop_assert_eq!(holds, model.contains_key(&block));
                }
            }
        }
    }
}
