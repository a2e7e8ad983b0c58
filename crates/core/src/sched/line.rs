//! Pending requests along a line of blocks or cylinders, shared by all policies that reduce seeks.
//!
//! A coordinate on the line is a block or a cylinder, depending on [`Line`]. Under every policy,
//! requests at the arm's coordinate are served first, in ascending order from the arm's position
//! and then from the lowest block (worthington94 section 5.2). The arm enters a new coordinate at
//! its lowest pending block. So a policy only decides whether the arm moves up or down the line.

use std::fmt::Debug;
use std::ops::Range;

use super::policy::{Estimate, Knowledge, Pending, Policy, read_word};
use crate::request::{Op, Request};
use crate::text::{Args, InputError};
use crate::units::{Instant, Lbn, SectorCount};

/// The mapping from blocks to a line: one for each of two levels of knowledge below positioning
/// times (worthington94 sections 5.1, 5.2 and 6.2), and a crude one between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Line {
    #[default]
    Lbn,
    /// Block numbers divided by a fixed number of blocks per cylinder.
    Fixed(SectorCount),
    /// The cylinders of the drive's layout.
    Map,
}

impl Line {
    pub(super) const PARAMETER: (&'static str, &'static str) = (
        "by=lbn",
        "the unit of distances: a block, a cylinder of a fixed number of blocks (by=1024), or a \
         cylinder of the drive (by=map); requests for one cylinder are served in ascending order",
    );

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let expected = "lbn, map, or a number of blocks per cylinder, from 1 to 1000000000";
        let read = |text: &str| match text {
            "lbn" => Some(Self::Lbn),
            "map" => Some(Self::Map),
            _ => {
                let blocks = text
                    .parse()
                    .ok()
                    .filter(|n| (1..=1_000_000_000).contains(n));
                blocks.map(|blocks| Self::Fixed(SectorCount(blocks)))
            }
        };
        Ok(args.maybe("by", expected, read)?.unwrap_or_default())
    }

    #[inline]
    pub(super) fn coordinate<E: Estimate + ?Sized>(self, at: Lbn, drive: &E) -> u64 {
        match self {
            Self::Lbn => at.0,
            Self::Fixed(blocks) => at.0 / blocks.0,
            Self::Map => {
                let request = Request::new(0, Op::Read, at, SectorCount(1));
                u64::from(drive.locate(&request).cylinder.0)
            }
        }
    }

    fn length<E: Estimate + ?Sized>(self, drive: &E) -> u64 {
        let shape = drive.shape();
        match self {
            Self::Lbn => shape.sectors.0,
            Self::Fixed(blocks) => shape.sectors.0.div_ceil(blocks.0),
            Self::Map => u64::from(shape.cylinders),
        }
    }

    /// Returns the fraction `share` of the line's length. A line has far fewer than 2^53
    /// coordinates, so fractions of 0 and 1 are exact.
    pub(super) fn share<E: Estimate + ?Sized>(self, share: f64, drive: &E) -> f64 {
        share * self.length(drive) as f64
    }
}

/// The block of the previous request from which distances are measured (worthington94 section 6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The first block, so that an upward sweep still finds requests that overlap the previous one.
    First,
    Last,
}

impl Origin {
    /// Documentation of the parameter `from` if the first block is the default.
    pub(super) const FIRST: (&'static str, &'static str) = ("from=first", Self::MEANING);

    /// Documentation of the parameter `from` if the last block is the default.
    pub(super) const LAST: (&'static str, &'static str) = ("from=last", Self::MEANING);

    const MEANING: &'static str = "distances start at the first block of the request served last \
         (from=first) or just beyond its last block (from=last)";
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    pub line: Line,
    pub origin: Origin,
}

impl Metric {
    /// Reads the parameters `by` and `from`; the latter defaults to `origin`.
    pub(super) fn read(args: &mut Args<'_>, origin: Origin) -> Result<Self, InputError> {
        let line = Line::read(args)?;
        let words = [("first", Origin::First), ("last", Origin::Last)];
        let origin = read_word(args, "from", words)?.unwrap_or(origin);
        Ok(Self { line, origin })
    }

    pub(super) fn knowledge(self) -> Knowledge {
        match self.line {
            Line::Lbn | Line::Fixed(_) => Knowledge::Blocks,
            Line::Map => Knowledge::Cylinders,
        }
    }

    #[inline]
    pub(super) fn position_after<P: Position, E: Estimate>(
        self,
        request: &Request,
        drive: &E,
    ) -> P {
        match self.origin {
            Origin::First => P::new(self.line, request.start, drive),
            Origin::Last => P::after(self.line, request, drive),
        }
    }
}

/// A position on a line: a coordinate, and a block at this coordinate.
pub(super) trait Position: Send + Copy + Ord + Debug + 'static {
    fn new<E: Estimate>(line: Line, at: Lbn, drive: &E) -> Self;

    /// Returns the position just beyond the last block of a request.
    fn after<E: Estimate>(line: Line, request: &Request, drive: &E) -> Self;

    fn coordinate(self) -> u64;
}

impl Position for Lbn {
    #[inline]
    fn new<E: Estimate>(_: Line, at: Lbn, _: &E) -> Self {
        at
    }

    #[inline]
    fn after<E: Estimate>(_: Line, request: &Request, _: &E) -> Self {
        request.end()
    }

    #[inline]
    fn coordinate(self) -> u64 {
        self.0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct InCylinder {
    coordinate: u64,
    block: Lbn,
}

impl Position for InCylinder {
    #[inline]
    fn new<E: Estimate>(line: Line, at: Lbn, drive: &E) -> Self {
        Self {
            coordinate: line.coordinate(at, drive),
            block: at,
        }
    }

    /// The arm is still in the cylinder of the last block, even if the next block is not.
    #[inline]
    fn after<E: Estimate>(line: Line, request: &Request, drive: &E) -> Self {
        let last = Lbn(request.end().0 - 1);
        Self {
            coordinate: line.coordinate(last, drive),
            block: request.end(),
        }
    }

    #[inline]
    fn coordinate(self) -> u64 {
        self.coordinate
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

/// Requests along a line, ordered by position and then by arrival.
#[derive(Debug)]
pub(super) struct LineQueue<P> {
    metric: Metric,
    pending: Sorted<P, Entry>,
    at: P,
    /// Index of the first request at or beyond the arm.
    ahead: usize,
    arrivals: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    pending: Pending,
    arrival: u64,
}

impl<P: Position> LineQueue<P> {
    /// Creates an empty queue with the arm at the first block.
    pub fn new<E: Estimate>(metric: Metric, drive: &E) -> Self {
        Self {
            metric,
            pending: Sorted::default(),
            at: P::new(metric.line, Lbn(0), drive),
            ahead: 0,
            arrivals: 0,
        }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    #[inline]
    pub fn add<E: Estimate>(&mut self, pending: Pending, drive: &E) {
        let position = self.start(&pending.request, drive);
        self.ahead += usize::from(position < self.at);
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.pending.insert(position, Entry { pending, arrival });
    }

    #[inline]
    pub fn start<E: Estimate>(&self, request: &Request, drive: &E) -> P {
        P::new(self.metric.line, request.start, drive)
    }

    #[inline]
    pub fn arm(&self) -> u64 {
        self.at.coordinate()
    }

    #[inline]
    pub fn coordinate(&self, index: usize) -> u64 {
        self.pending.key(index).coordinate()
    }

    #[inline]
    pub fn distance(&self, index: usize) -> u64 {
        self.coordinate(index).abs_diff(self.arm())
    }

    #[inline]
    pub fn get(&self, index: usize) -> &Pending {
        &self.pending.get(index).pending
    }

    /// Returns the next request at the arm's coordinate.
    #[inline]
    pub fn here(&self) -> Option<usize> {
        let arm = self.arm();
        if self.ahead < self.len() && self.coordinate(self.ahead) == arm {
            return Some(self.ahead);
        }
        let previous = self.ahead.checked_sub(1)?;
        (self.coordinate(previous) == arm).then(|| self.lowest_at(arm))
    }

    /// Returns the next request up the line. Call only if no request is at the arm's coordinate.
    #[inline]
    pub fn above(&self) -> Option<usize> {
        (self.ahead < self.len()).then_some(self.ahead)
    }

    /// Returns the next request down the line. Call only if no request is at the arm's coordinate.
    #[inline]
    pub fn below(&self) -> Option<usize> {
        let coordinate = self.coordinate(self.ahead.checked_sub(1)?);
        Some(self.lowest_at(coordinate))
    }

    /// Returns the cheaper direction, given the cost and the index of the request on each side;
    /// ties go to the request that arrived first.
    pub fn cheaper<C: PartialOrd>(&self, up: (C, usize), down: (C, usize)) -> Direction {
        let arrival = |index| self.pending.get(index).arrival;
        let is_earlier = arrival(up.1) < arrival(down.1);
        if up.0 < down.0 || (up.0 == down.0 && is_earlier) {
            Direction::Up
        } else {
            Direction::Down
        }
    }

    /// Returns the indices of requests in the order of C-LOOK, until it would wrap around.
    pub fn ascending(&self) -> impl Iterator<Item = usize> + use<P> {
        let arm = self.arm();
        let begin = self.lowest_at(arm);
        let end = self.pending.first_where(|key| key.coordinate() > arm);
        // Requests ahead at this coordinate, those that the arm has passed there, and those beyond.
        let here = (self.ahead..end).chain(begin..self.ahead);
        here.chain(end..self.len())
    }

    /// Removes the request at `index`, the first at its position, and moves the arm there.
    #[inline]
    pub fn serve<E: Estimate>(&mut self, index: usize, drive: &E) -> Pending {
        let key = self.pending.key(index);
        let pending = self.pending.remove(index).pending;
        match self.metric.origin {
            Origin::First => (self.at, self.ahead) = (key, index),
            Origin::Last => self.move_past(&pending.request, drive),
        }
        pending
    }

    /// Removes the request at `index` without moving the arm.
    pub fn remove(&mut self, index: usize) -> Pending {
        self.ahead -= usize::from(index < self.ahead);
        self.pending.remove(index).pending
    }

    /// Moves the arm past a request that was not pending here.
    pub fn move_past<E: Estimate>(&mut self, request: &Request, drive: &E) {
        self.at = self.metric.position_after(request, drive);
        self.ahead = self.pending.count_below(self.at);
    }

    pub fn take(&mut self, id: u64) -> Option<Pending> {
        let index = self.pending.find(|entry| entry.pending.request.id == id)?;
        Some(self.remove(index))
    }

    fn lowest_at(&self, coordinate: u64) -> usize {
        self.pending
            .first_where(|key| key.coordinate() >= coordinate)
    }
}

/// The choice of a direction when the arm leaves a coordinate and there are requests on both sides:
/// it moves to the side whose nearest requests have the smaller mean distance.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnRule {
    /// The number of requests considered on each side; at least 1.
    pub count: usize,
    /// The distance that a reversal costs; `None` if the arm reverses only when nothing is ahead.
    pub penalty: Option<f64>,
}

impl TurnRule {
    /// Chooses between the next request on each side; the arm last moved in direction `last`.
    fn direction<P: Position>(
        self,
        queue: &LineQueue<P>,
        last: Direction,
        above: usize,
        below: usize,
    ) -> Direction {
        let Some(penalty) = self.penalty else {
            return last;
        };
        // Numbers below 2^53 are exact, so the mean of a single distance is that distance.
        let cost = |to, indices: Range<usize>, index| {
            let count = indices.len() as f64;
            let total: u64 = indices.map(|index| queue.distance(index)).sum();
            let reversals = f64::from(u8::from(last != to));
            (total as f64 / count + penalty * reversals, index)
        };
        // No request is left at the arm's coordinate: all are above or below.
        let upper = above..queue.len().min(above + self.count);
        let lower = above.saturating_sub(self.count)..above;
        let up = cost(Direction::Up, upper, above);
        queue.cheaper(up, cost(Direction::Down, lower, below))
    }
}

/// Creates a policy that serves all requests for the arm's coordinate in the order of C-LOOK
/// (worthington94 section 5.2), and then moves to the next coordinate with requests. If there are
/// requests on both sides, `rule` decides. A request that bypassed the policy also sets the
/// direction if it moved the arm.
///
/// Each arrival takes one binary search and each decision up to three. Both move 16 bytes (24 when
/// ordering by cylinder) for every request pending at a higher block.
pub(super) fn two_way<E: Estimate>(
    metric: Metric,
    rule: TurnRule,
    drive: &E,
) -> Box<dyn Policy<E>> {
    match metric.line {
        Line::Lbn => Box::new(TwoWay::<Lbn>::new(metric, rule, drive)),
        Line::Fixed(_) | Line::Map => Box::new(TwoWay::<InCylinder>::new(metric, rule, drive)),
    }
}

#[derive(Debug)]
struct TwoWay<P> {
    queue: LineQueue<P>,
    last: Direction,
    rule: TurnRule,
}

impl<P: Position> TwoWay<P> {
    fn new<E: Estimate>(metric: Metric, rule: TurnRule, drive: &E) -> Self {
        Self {
            queue: LineQueue::new(metric, drive),
            last: Direction::Up,
            rule,
        }
    }
}

impl<E: Estimate, P: Position> Policy<E> for TwoWay<P> {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.queue.add(pending, drive);
    }

    fn note_bypass(&mut self, request: &Request, drive: &E) {
        let coordinate = self.queue.start(request, drive).coordinate();
        if coordinate != self.queue.arm() {
            let is_up = coordinate > self.queue.arm();
            self.last = if is_up {
                Direction::Up
            } else {
                Direction::Down
            };
        }
        self.queue.move_past(request, drive);
    }

    fn next(&mut self, _: Instant, drive: &E) -> Option<Pending> {
        let queue = &self.queue;
        let index = queue.here().or_else(|| {
            let (above, below) = (queue.above(), queue.below());
            self.last = match (above, below) {
                (Some(above), Some(below)) => self.rule.direction(queue, self.last, above, below),
                (Some(_), None) => Direction::Up,
                (None, Some(_)) => Direction::Down,
                (None, None) => return None,
            };
            match self.last {
                Direction::Up => above,
                Direction::Down => below,
            }
        })?;
        Some(self.queue.serve(index, drive))
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.queue.take(id)
    }
}

/// Entries in ascending order of their keys, and then of arrival.
///
/// Keys are in one array and entries in another, so that an insertion or removal moves a few bytes
/// per entry and a search touches only keys. A balanced tree, which moves nothing, is slower up to
/// about ten thousand pending requests.
#[derive(Clone, Debug)]
pub(super) struct Sorted<K, T> {
    keys: Vec<(K, u32)>,
    entries: Vec<T>,
    free: Vec<u32>,
}

impl<K, T> Default for Sorted<K, T> {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            entries: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<K: Ord + Copy, T: Copy> Sorted<K, T> {
    #[inline]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Adds an entry after those with equal keys.
    #[inline]
    pub fn insert(&mut self, key: K, entry: T) {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.entries[slot as usize] = entry;
                slot
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        };
        let index = self.keys.partition_point(|&(k, _)| k <= key);
        self.keys.insert(index, (key, slot));
    }

    #[inline]
    pub fn key(&self, index: usize) -> K {
        self.keys[index].0
    }

    #[inline]
    pub fn get(&self, index: usize) -> &T {
        &self.entries[self.keys[index].1 as usize]
    }

    /// Returns the index of the first key that matches, or the number of entries. All keys after a
    /// match must match too.
    #[inline]
    pub fn first_where(&self, matches: impl Fn(K) -> bool) -> usize {
        self.keys.partition_point(|&(k, _)| !matches(k))
    }

    #[inline]
    pub fn count_below(&self, key: K) -> usize {
        self.keys.partition_point(|&(k, _)| k < key)
    }

    pub fn find(&self, matches: impl Fn(&T) -> bool) -> Option<usize> {
        let mut slots = self.keys.iter().map(|&(_, slot)| slot as usize);
        slots.position(|slot| matches(&self.entries[slot]))
    }

    #[inline]
    pub fn remove(&mut self, index: usize) -> T {
        let (_, slot) = self.keys.remove(index);
        self.free.push(slot);
        self.entries[slot as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_in_order_of_key_then_of_arrival() {
        let mut sorted = Sorted::default();
        for (key, name) in [(5, 'a'), (3, 'b'), (5, 'c'), (1, 'd'), (3, 'e')] {
            sorted.insert(key, name);
        }
        assert_eq!(sorted.remove(0), 'd');
        // The slot of `d` is reused.
        sorted.insert(4, 'f');
        assert_eq!(sorted.key(2), 4);
        let order: String = (0..sorted.len()).map(|_| sorted.remove(0)).collect();
        assert_eq!(order, "befac");
    }
}
