//! Pending requests by cylinder and angle, for policies that select the request with the minimum
//! positioning time or related cost. A decision need not examine every request.
//!
//! jacobson91 (section 4.2, figures 4 and 5) divides the disk into cells and searches them in a
//! precomputed order. Here a cell is a ring of cylinders. Rings are searched from the arm outward,
//! until seeks are too long to beat the best candidate. Within a ring, the exact time of a request
//! is computed only if the request may be better than that candidate: the arm cannot arrive before
//! the shortest seek has ended, and then waits until the sector passes. This test takes a
//! subtraction and a comparison, and most requests fail it.

use std::collections::VecDeque;

use super::policy::{Estimate, Outlook, Pending, Policy, Shape};
use super::waiting::{Candidate, Select, Waiting};
use crate::request::Op;
use crate::units::{Angle, Instant, Span};

/// Maximum number of rings. Each has a bit in one word, so that non-empty rings are found fast.
const RINGS: u32 = 64;

/// Number of rings for a short queue. Examining a ring costs as much as examining two requests.
const FEW_RINGS: u32 = 16;

/// Queue length at which a growing queue switches to [`RINGS`].
const LONG_QUEUE: usize = 192;

/// Queue length at which a shrinking queue returns to [`FEW_RINGS`].
const SHORT_QUEUE: usize = 96;

/// A revolution, in the units of phases.
const TURN: i64 = 1 << 32;

/// Bound that keeps sums of costs far from overflow.
const MAX_UNITS: i64 = 1 << 61;

/// Number of fraction bits of `per_ns_fixed`.
const FRACTION_BITS: u32 = 8;

#[derive(Clone, Copy, Debug)]
struct Slot {
    candidate: Candidate,
    /// Arrival number; [`GONE`] after removal.
    arrival: u64,
}

const GONE: u64 = u64::MAX;

/// The few bytes that decide whether a candidate's exact time is worth computing.
#[derive(Clone, Copy, Debug)]
struct Spot {
    /// Start angle of the first block, in units of 2^-32 revolutions.
    angle: u32,
    cylinder: u32,
    /// 0 for a read, 1 for a write.
    op: u32,
    /// Minimum excess of the cost over the positioning time, in units of phases.
    excess: i64,
    slot: u32,
}

#[derive(Debug)]
struct Field {
    rings: Vec<Vec<Spot>>,
    /// A bit for each ring that holds a request.
    occupied: u64,
    width: u32,
    cylinders: u32,
    waiting: usize,
    slots: Vec<Slot>,
    free: Vec<u32>,
    arrivals: u64,
    /// Slot, arrival and [`Spot::excess`] of every request that arrived since the oldest pending
    /// one; `None` unless costs grow with arrival time.
    ages: Option<VecDeque<(u32, u64, i64)>>,
    per_ns: f64,
    /// Like `per_ns`, with [`FRACTION_BITS`] bits of fraction, rounded down.
    per_ns_fixed: u64,
    /// Tolerance for phases, as times are rounded: a sector that is just beginning is in time.
    margin: i64,
}

/// The cost of a candidate: a time, or a difference of times.
pub(super) trait Cost: Copy + PartialOrd {
    fn ns(self) -> f64;
}

impl Cost for Span {
    #[inline]
    fn ns(self) -> f64 {
        self.as_ns() as f64
    }
}

/// A cost in units of 10^-18 s.
impl Cost for i128 {
    #[inline]
    fn ns(self) -> f64 {
        self as f64 / 1e9
    }
}

#[derive(Clone, Copy, Debug)]
struct Location {
    ring: usize,
    index: usize,
}

impl Field {
    /// Creates an empty field for a drive of this shape. `has_ages` is true if the excess of costs
    /// over positioning times grows with arrival time.
    fn new(shape: Shape, has_ages: bool) -> Self {
        let per_ns = TURN as f64 / shape.revolution.as_ns() as f64;
        Self {
            rings: vec![Vec::new(); RINGS as usize],
            occupied: 0,
            width: shape.cylinders.div_ceil(FEW_RINGS).max(1),
            cylinders: shape.cylinders,
            waiting: 0,
            slots: Vec::new(),
            free: Vec::new(),
            arrivals: 0,
            ages: has_ages.then(VecDeque::new),
            per_ns,
            per_ns_fixed: (per_ns * f64::from(1 << FRACTION_BITS)) as u64,
            margin: (TURN >> 19) + (4.0 * per_ns).ceil() as i64,
        }
    }

    /// Adds a request whose cost is at least `excess_ns` above its positioning time.
    ///
    /// # Panics
    /// If the excess is more than about thirty years.
    #[inline]
    fn add(&mut self, candidate: Candidate, excess_ns: f64) {
        let arrival = self.arrivals;
        self.arrivals += 1;
        let entry = Slot { candidate, arrival };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = entry;
                slot
            }
            None => {
                self.slots.push(entry);
                (self.slots.len() - 1) as u32
            }
        };
        let excess = self.units(excess_ns);
        assert!(
            excess.abs() < MAX_UNITS,
            "cost out of range: {excess_ns} ns"
        );
        if let Some(ages) = &mut self.ages {
            ages.push_back((slot, arrival, excess));
        }
        self.waiting += 1;
        if self.waiting == LONG_QUEUE {
            self.divide(RINGS);
        }
        let Candidate { pending, location } = candidate;
        let spot = Spot {
            angle: upper(location.start),
            cylinder: location.cylinder.0,
            op: u32::from(!pending.request.op.is_read()),
            excess,
            slot,
        };
        self.put(spot);
    }

    #[inline]
    fn put(&mut self, spot: Spot) {
        let ring = (spot.cylinder / self.width) as usize;
        self.rings[ring].push(spot);
        self.occupied |= 1 << ring;
    }

    #[cold]
    fn divide(&mut self, rings: u32) {
        let width = self.cylinders.div_ceil(rings).max(1);
        if width == self.width {
            return;
        }
        self.width = width;
        self.occupied = 0;
        let rings = self.rings.iter_mut();
        let spots: Vec<Spot> = rings.flat_map(|ring| ring.drain(..)).collect();
        for spot in spots {
            self.put(spot);
        }
    }

    /// Finds the candidate with the minimum `cost`; ties go to the earliest arrival. Costs are
    /// measured from the same instant as positioning times, and exceed them by at least the
    /// `excess_ns` of [`Field::add`] minus `rebate_ns`.
    #[inline]
    fn min<O: Outlook, K: Cost>(
        &mut self,
        outlook: &O,
        rebate_ns: f64,
        cost: impl Fn(&Candidate) -> K,
    ) -> Option<Location> {
        let from = [Op::Read, Op::Write]
            .map(|op| upper(outlook.angle(op)).wrapping_sub(self.margin as u32));
        let rebate = self.units(rebate_ns);
        let floor = self.min_excess();
        let mut best: Option<(K, u64, Location)> = None;
        // Candidates with a later phase cannot be better.
        let mut bound = i64::MAX;
        let arm = outlook.cylinder().0;
        let mut rings = Outward::from(self.occupied, arm / self.width);
        while let Some(ring) = rings.next() {
            let seek = self.seek_units(outlook.min_seek(self.distance(ring, arm)));
            if seek + floor > bound {
                rings.end_beyond(ring);
                continue;
            }
            let ring = ring as usize;
            // The phases from which waits are measured: those at the end of the shortest seek.
            let base = from.map(|from| from.wrapping_add(seek as u32));
            let mut longest = max_wait(bound - floor - seek);
            for (index, spot) in self.rings[ring].iter().enumerate() {
                if spot.angle.wrapping_sub(base[spot.op as usize]) > longest {
                    continue;
                }
                // Repeat the test with the request's own cylinder and excess.
                let own = self.seek_units(outlook.min_seek(spot.cylinder.abs_diff(arm)));
                let wait = spot
                    .angle
                    .wrapping_sub(from[spot.op as usize])
                    .wrapping_sub(own as u32);
                if own + i64::from(wait) + spot.excess > bound {
                    continue;
                }
                let slot = &self.slots[spot.slot as usize];
                let own = cost(&slot.candidate);
                let is_better = best.is_none_or(|(min, arrival, _)| {
                    own < min || (own == min && slot.arrival < arrival)
                });
                if is_better {
                    best = Some((own, slot.arrival, Location { ring, index }));
                    bound = self.units(own.ns()) + rebate + 2 * self.margin;
                    longest = max_wait(bound - floor - seek);
                }
            }
        }
        best.map(|(_, _, location)| location)
    }

    #[inline]
    fn remove(&mut self, location: Location) -> Pending {
        let ring = &mut self.rings[location.ring];
        let spot = ring.swap_remove(location.index);
        if ring.is_empty() {
            self.occupied &= !(1 << location.ring);
        }
        self.free.push(spot.slot);
        let slot = &mut self.slots[spot.slot as usize];
        slot.arrival = GONE;
        let pending = slot.candidate.pending;
        self.waiting -= 1;
        if self.waiting == SHORT_QUEUE {
            self.divide(FEW_RINGS);
        }
        pending
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        let candidate = |spot: &Spot| self.slots[spot.slot as usize].candidate;
        let has_id = |spot: &Spot| candidate(spot).pending.request.id == id;
        let mut rings = self.rings.iter().enumerate();
        let location = rings.find_map(|(ring, spots)| {
            let index = spots.iter().position(has_id)?;
            Some(Location { ring, index })
        })?;
        Some(self.remove(location))
    }

    /// Returns the minimum excess of any candidate's cost over its positioning time.
    #[inline]
    fn min_excess(&mut self) -> i64 {
        let Some(ages) = &mut self.ages else {
            return 0;
        };
        while let Some(&(slot, arrival, excess)) = ages.front() {
            if self.slots[slot as usize].arrival == arrival {
                return excess;
            }
            ages.pop_front();
        }
        0
    }

    #[inline]
    fn distance(&self, ring: u32, arm: u32) -> u32 {
        let first = ring * self.width;
        let last = first + (self.width - 1);
        first.saturating_sub(arm).max(arm.saturating_sub(last))
    }

    /// Converts a seek time to units of phases, rounded down.
    #[inline]
    fn seek_units(&self, span: Span) -> i64 {
        // The product is below 2^62: a seek takes at most about 2^31 ns, and because a revolution
        // takes at least a microsecond, a nanosecond is at most 2^23 units.
        ((span.as_ns() as u64 * self.per_ns_fixed) >> FRACTION_BITS) as i64
    }

    #[inline]
    fn units(&self, ns: f64) -> i64 {
        (ns * self.per_ns) as i64
    }
}

/// Returns the longest wait that is at most `units` and less than a revolution.
#[inline]
fn max_wait(units: i64) -> u32 {
    // `units` is negative only if no candidate can be better than the best one so far.
    u32::try_from(units.max(0)).unwrap_or(u32::MAX)
}

#[inline]
fn upper(angle: Angle) -> u32 {
    (angle.as_raw() >> 32) as u32
}

/// Iterates over the rings that hold requests, nearest first.
struct Outward {
    home: u32,
    /// A bit for each ring from home inward; home has the lowest bit.
    above: u64,
    /// A bit for each ring outward of home; the nearest has the highest bit.
    below: u64,
}

impl Outward {
    #[inline]
    fn from(occupied: u64, home: u32) -> Self {
        Self {
            home,
            above: occupied >> home,
            // Shifted in two steps, because a word cannot be shifted by its full width.
            below: occupied << 1 << (RINGS - 1 - home),
        }
    }

    /// Skips the rings beyond `ring`. There may still be a nearer ring on the other side of home,
    /// because the arm need not be in the middle of home.
    #[inline]
    fn end_beyond(&mut self, ring: u32) {
        if ring >= self.home {
            self.above = 0;
        } else {
            self.below = 0;
        }
    }
}

impl Iterator for Outward {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let (up, down) = (self.above.trailing_zeros(), self.below.leading_zeros());
        if up <= down {
            if self.above == 0 {
                return None;
            }
            self.above &= self.above - 1;
            Some(self.home + up)
        } else {
            self.below &= !(1 << 63 >> down);
            Some(self.home - 1 - down)
        }
    }
}

/// A cost that [`Field`] can minimise: a positioning time plus an excess.
pub(super) trait MinCost: Send + 'static {
    type Cost: Cost;

    /// True if the excess of costs over positioning times grows with arrival time.
    const GROWS_WITH_ARRIVAL: bool = false;

    /// Returns the minimum excess of a candidate's cost over its positioning time, before
    /// [`Self::rebate_ns`] is subtracted. It is in nanoseconds and constant over time.
    fn excess_ns(&self, shape: Shape, candidate: &Candidate) -> f64;

    /// Returns the time subtracted from all costs at `now`, in nanoseconds.
    fn rebate_ns(&self, _: Instant) -> f64 {
        0.0
    }

    fn cost<O: Outlook>(&self, now: Instant, outlook: &O, candidate: &Candidate) -> Self::Cost;
}

/// Examines every pending request, for a cost that [`Field`] cannot bound.
impl<L: MinCost> Select for L {
    fn select<O: Outlook>(&mut self, now: Instant, outlook: &O, queue: &Waiting) -> Option<usize> {
        queue.min(|candidate| self.cost(now, outlook, candidate))
    }
}

/// A policy that serves the request with the minimum cost; ties go to the earliest arrival.
pub(super) struct MinCostQueue<L> {
    rule: L,
    shape: Shape,
    field: Field,
}

impl<L: MinCost> MinCostQueue<L> {
    pub fn new(rule: L, shape: Shape) -> Self {
        Self {
            rule,
            shape,
            field: Field::new(shape, L::GROWS_WITH_ARRIVAL),
        }
    }
}

impl<E: Estimate, L: MinCost> Policy<E> for MinCostQueue<L> {
    #[inline]
    fn add(&mut self, pending: Pending, drive: &E) {
        let candidate = Candidate::new(pending, drive);
        let excess_ns = self.rule.excess_ns(self.shape, &candidate);
        self.field.add(candidate, excess_ns);
    }

    #[inline]
    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        let outlook = drive.outlook(now);
        let rule = &self.rule;
        let cost = |candidate: &Candidate| rule.cost(now, &outlook, candidate);
        let min = self.field.min(&outlook, rule.rebate_ns(now), cost)?;
        Some(self.field.remove(min))
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.field.take(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ring_is_visited_once_nearest_first() {
        let occupied = 1 | 1 << 3 | 1 << 4 | 1 << 40 | 1 << 63;
        let from = |home| Outward::from(occupied, home).collect::<Vec<_>>();
        assert_eq!(from(3), [3, 4, 0, 40, 63]);
        assert_eq!(from(0), [0, 3, 4, 40, 63]);
        assert_eq!(from(63), [63, 40, 4, 3, 0]);
        assert_eq!(from(2), [3, 0, 4, 40, 63]);
        assert_eq!(Outward::from(0, 5).next(), None);
    }
}
