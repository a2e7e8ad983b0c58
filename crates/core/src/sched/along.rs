//! Pending requests along a line, and the position of the arm on it, as all seek-reducing policies
//! need them.
//!
//! A place on the line is a block or a cylinder, depending on [`Line`]. Under every policy,
//! requests at the arm's current place go first, ascending from the position and then from the
//! lowest (worthington94 section 5.2), and the arm enters a new place at its lowest pending block.
//! So a policy decides only whether the arm moves up or down the line.

use std::fmt::Debug;

use super::line::{Line, Mark, Measure};
use super::sorted::Sorted;
use super::{Estimate, Pending};
use crate::request::Request;
use crate::units::Lbn;

/// A position on a line: place, and block within the place.
pub(super) trait Key: Send + Copy + Ord + Debug + 'static {
    fn of<E: Estimate>(line: Line, at: Lbn, drive: &E) -> Self;

    /// Just beyond the last block of a request.
    fn beyond<E: Estimate>(line: Line, request: &Request, drive: &E) -> Self;

    fn place(self) -> u64;
}

/// Every block is a place.
impl Key for Lbn {
    #[inline]
    fn of<E: Estimate>(_: Line, at: Lbn, _: &E) -> Self {
        at
    }

    #[inline]
    fn beyond<E: Estimate>(_: Line, request: &Request, _: &E) -> Self {
        request.end()
    }

    #[inline]
    fn place(self) -> u64 {
        self.0
    }
}

/// A block in a cylinder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct InCylinder {
    place: u64,
    block: Lbn,
}

impl Key for InCylinder {
    #[inline]
    fn of<E: Estimate>(line: Line, at: Lbn, drive: &E) -> Self {
        Self {
            place: line.place_of(at, drive),
            block: at,
        }
    }

    /// The arm is still in the cylinder of the last block, even if the next block is not.
    #[inline]
    fn beyond<E: Estimate>(line: Line, request: &Request, drive: &E) -> Self {
        let last = Lbn(request.end().0 - 1);
        Self {
            place: line.place_of(last, drive),
            block: request.end(),
        }
    }

    #[inline]
    fn place(self) -> u64 {
        self.place
    }
}

impl Measure {
    /// The position of the arm after `request`.
    #[inline]
    pub(super) fn position_after<K: Key, E: Estimate>(self, request: &Request, drive: &E) -> K {
        match self.from {
            Mark::First => K::of(self.by, request.start, drive),
            Mark::Last => K::beyond(self.by, request, drive),
        }
    }
}

/// A direction along the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Up,
    Down,
}

/// Requests along a line, by position and then in order of arrival.
#[derive(Debug)]
pub(super) struct Along<K> {
    measure: Measure,
    pending: Sorted<K, Entry>,
    /// The position of the arm.
    at: K,
    /// Index of the first request at or beyond it.
    ahead: usize,
    arrivals: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    pending: Pending,
    arrival: u64,
}

impl<K: Key> Along<K> {
    /// An empty queue with the arm at the first block.
    pub fn new<E: Estimate>(measure: Measure, drive: &E) -> Self {
        Self {
            measure,
            pending: Sorted::default(),
            at: K::of(measure.by, Lbn(0), drive),
            ahead: 0,
            arrivals: 0,
        }
    }

    /// Number of pending requests.
    #[inline]
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    #[inline]
    pub fn add<E: Estimate>(&mut self, pending: Pending, drive: &E) {
        let key = self.first(&pending.request, drive);
        self.ahead += usize::from(key < self.at);
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.pending.insert(key, Entry { pending, arrival });
    }

    /// The position at which a request begins.
    #[inline]
    pub fn first<E: Estimate>(&self, request: &Request, drive: &E) -> K {
        K::of(self.measure.by, request.start, drive)
    }

    /// The place of the arm.
    #[inline]
    pub fn place(&self) -> u64 {
        self.at.place()
    }

    /// The place of the request at `index`.
    #[inline]
    pub fn place_at(&self, index: usize) -> u64 {
        self.pending.key(index).place()
    }

    /// Distance from the arm to the request at `index`.
    #[inline]
    pub fn distance(&self, index: usize) -> u64 {
        self.place_at(index).abs_diff(self.place())
    }

    /// The arrival number of the request at `index`.
    #[inline]
    pub fn arrival(&self, index: usize) -> u64 {
        self.pending.get(index).arrival
    }

    /// The request at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> &Pending {
        &self.pending.get(index).pending
    }

    /// The next request at the arm's place.
    #[inline]
    pub fn here(&self) -> Option<usize> {
        let place = self.place();
        if self.ahead < self.len() && self.place_at(self.ahead) == place {
            return Some(self.ahead);
        }
        let behind = self.ahead.checked_sub(1)?;
        (self.place_at(behind) == place).then(|| self.lowest_at(place))
    }

    /// The next request up the line. Call only if there is none at the arm's place.
    #[inline]
    pub fn above(&self) -> Option<usize> {
        (self.ahead < self.len()).then_some(self.ahead)
    }

    /// The next request down the line. Call only if there is none at the arm's place.
    #[inline]
    pub fn below(&self) -> Option<usize> {
        let place = self.place_at(self.ahead.checked_sub(1)?);
        Some(self.lowest_at(place))
    }

    /// Indices of requests in the order of C-LOOK, until it would wrap around.
    pub fn ascending(&self) -> impl Iterator<Item = usize> + use<K> {
        let place = self.place();
        let begin = self.lowest_at(place);
        let end = self.pending.first_where(|key| key.place() > place);
        // Requests ahead at this place, those left behind at it, and those beyond.
        let here = (self.ahead..end).chain(begin..self.ahead);
        here.chain(end..self.len())
    }

    /// Removes the request at `index`, which must be the first of those at its position, and moves
    /// the arm there.
    #[inline]
    pub fn serve<E: Estimate>(&mut self, index: usize, drive: &E) -> Pending {
        let key = self.pending.key(index);
        let pending = self.pending.remove(index).pending;
        match self.measure.from {
            Mark::First => (self.at, self.ahead) = (key, index),
            Mark::Last => self.passed(&pending.request, drive),
        }
        pending
    }

    /// Removes the request at `index` without moving the arm.
    pub fn remove(&mut self, index: usize) -> Pending {
        self.ahead -= usize::from(index < self.ahead);
        self.pending.remove(index).pending
    }

    /// Moves the arm past a request that was not pending here.
    pub fn passed<E: Estimate>(&mut self, request: &Request, drive: &E) {
        self.rest_at(self.measure.position_after(request, drive));
    }

    /// Removes the request `id`.
    pub fn take(&mut self, id: u64) -> Option<Pending> {
        let index = self.pending.find(|entry| entry.pending.request.id == id)?;
        Some(self.remove(index))
    }

    fn rest_at(&mut self, at: K) {
        self.at = at;
        self.ahead = self.pending.before(at);
    }

    fn lowest_at(&self, place: u64) -> usize {
        self.pending.first_where(|key| key.place() >= place)
    }
}
