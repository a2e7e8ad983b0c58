//! Pending requests by cylinder and angle: the data structure for policies that select the least
//! positioning time, so that a decision need not examine every request.
//!
//! jacobson91 (section 4.2, figures 4 and 5) divides the disk into cells and searches them in an
//! order that is computed beforehand. Here a cell is a ring of cylinders. Rings are searched from
//! the arm outward, until seeks are too long to beat the best candidate. Within a ring a request's
//! exact time is computed only if its phase permits it to be better: the arm cannot be there before
//! the shortest seek, and from then on it waits until the sector passes. That takes a subtraction
//! and a comparison, and most requests fail the test.

use std::collections::VecDeque;

use super::waiting::Candidate;
use super::{Outlook, Pending, Shape};
use crate::request::Op;
use crate::units::{Angle, Span};

/// Maximum number of rings: the bits of a word, so that the next non-empty ring is found in a few
/// steps.
const RINGS: u32 = 64;

/// Number of rings for a short queue. Examining a ring costs as much as two requests in it.
const FEW_RINGS: u32 = 16;

/// Queue length from which there are [`RINGS`] rings.
const LONG: usize = 192;

/// Queue length from which there are [`FEW_RINGS`] again.
const SHORT: usize = 96;

/// A revolution, in the units of phases.
const TURN: i64 = 1 << 32;

/// Bound that keeps sums of costs far from overflow.
const MAX_UNITS: i64 = 1 << 61;

/// Fraction bits of the phase units per nanosecond.
const FRACTION_BITS: u32 = 8;

/// A slot with its candidate.
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
    /// Start angle of its first block, in units of 2^-32 revolutions.
    angle: u32,
    cylinder: u32,
    /// 0 for a read, 1 for a write.
    op: u32,
    /// Minimum excess of its cost over its positioning time, in units of phases.
    more: i64,
    /// The index of its slot.
    slot: u32,
}

/// Pending requests by cylinder and angle.
#[derive(Debug)]
pub(super) struct Field {
    rings: Vec<Vec<Spot>>,
    /// A bit for each ring that holds a request.
    held: u64,
    /// Cylinders of a ring.
    width: u32,
    /// Cylinders of the drive.
    cylinders: u32,
    /// Number of pending requests.
    waiting: usize,
    slots: Vec<Slot>,
    free: Vec<u32>,
    arrivals: u64,
    /// If costs grow with arrival time: slot, arrival and [`Spot::more`] of every request since the
    /// oldest pending one.
    ages: Option<VecDeque<(u32, u64, i64)>>,
    /// Phase units per nanosecond.
    per_ns: f64,
    /// The same with [`FRACTION_BITS`] bits of fraction, rounded down.
    per_ns_fixed: u64,
    /// Tolerance of phases: the drive catches a sector that has just begun, and instants are
    /// rounded to nanoseconds.
    margin: i64,
}

/// What a candidate costs: a time, or a difference of times.
pub(super) trait Cost: Copy + PartialOrd {
    fn ns(self) -> f64;
}

impl Cost for Span {
    #[inline]
    fn ns(self) -> f64 {
        self.as_ns() as f64
    }
}

/// In units of 10^-18 s.
impl Cost for i128 {
    #[inline]
    fn ns(self) -> f64 {
        self as f64 / 1e9
    }
}

/// Location of a candidate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    ring: usize,
    index: usize,
}

impl Field {
    /// An empty field for a drive of this shape. `has_ages`: the excess of costs over positioning
    /// times grows with arrival time.
    pub fn new(shape: Shape, has_ages: bool) -> Self {
        let per_ns = TURN as f64 / shape.revolution.as_ns() as f64;
        Self {
            rings: vec![Vec::new(); RINGS as usize],
            held: 0,
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

    /// Adds a request whose cost is at least `more_ns` above its positioning time.
    ///
    /// # Panics
    /// If that is more than some thirty years.
    #[inline]
    pub fn add(&mut self, candidate: Candidate, more_ns: f64) {
        let arrival = self.arrivals;
        self.arrivals += 1;
        let taken = Slot { candidate, arrival };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = taken;
                slot
            }
            None => {
                self.slots.push(taken);
                (self.slots.len() - 1) as u32
            }
        };
        let more = self.units(more_ns);
        assert!(more.abs() < MAX_UNITS, "a cost out of range: {more_ns} ns");
        if let Some(ages) = &mut self.ages {
            ages.push_back((slot, arrival, more));
        }
        self.waiting += 1;
        if self.waiting == LONG {
            self.divide(RINGS);
        }
        let Candidate { pending, place } = candidate;
        let spot = Spot {
            angle: upper(place.start),
            cylinder: place.cylinder.0,
            op: u32::from(!pending.request.op.is_read()),
            more,
            slot,
        };
        self.put(spot);
    }

    #[inline]
    fn put(&mut self, spot: Spot) {
        let ring = (spot.cylinder / self.width) as usize;
        self.rings[ring].push(spot);
        self.held |= 1 << ring;
    }

    /// Divides the drive into `rings` rings.
    #[cold]
    fn divide(&mut self, rings: u32) {
        let width = self.cylinders.div_ceil(rings).max(1);
        if width == self.width {
            return;
        }
        self.width = width;
        self.held = 0;
        let spots: Vec<Spot> = self
            .rings
            .iter_mut()
            .flat_map(|ring| ring.drain(..))
            .collect();
        for spot in spots {
            self.put(spot);
        }
    }

    /// The candidate with the least `cost`; ties go to the earliest arrival. Costs are measured
    /// from the same instant as positioning times, and exceed them by at least the `more_ns` of
    /// [`Field::add`] minus `less_ns`.
    #[inline]
    pub fn min<O: Outlook, K: Cost>(
        &mut self,
        outlook: &O,
        less_ns: f64,
        cost: impl Fn(&Candidate) -> K,
    ) -> Option<Found> {
        let from = [Op::Read, Op::Write]
            .map(|op| upper(outlook.angle(op)).wrapping_sub(self.margin as u32));
        let less = self.units(less_ns);
        let floor = self.least_more();
        let mut best: Option<(K, u64, Found)> = None;
        // Candidates with a later phase cannot be better.
        let mut bound = i64::MAX;
        let arm = outlook.cylinder().0;
        let mut rings = Outward::from(self.held, arm / self.width);
        while let Some(ring) = rings.next() {
            let moved = self.moved(outlook.min_seek(self.distance(ring, arm)));
            if moved + floor > bound {
                rings.end_beyond(ring);
                continue;
            }
            let ring = ring as usize;
            // How long after the shortest seek the sector may begin to pass.
            let base = from.map(|from| from.wrapping_add(moved as u32));
            let mut longest = wait_below(bound - floor - moved);
            for (index, spot) in self.rings[ring].iter().enumerate() {
                if spot.angle.wrapping_sub(base[spot.op as usize]) > longest {
                    continue;
                }
                // The same with the request's own cylinder and excess.
                let own = self.moved(outlook.min_seek(spot.cylinder.abs_diff(arm)));
                let wait = spot.angle.wrapping_sub(from[spot.op as usize]);
                let wait = wait.wrapping_sub(own as u32);
                if own + i64::from(wait) + spot.more > bound {
                    continue;
                }
                let slot = &self.slots[spot.slot as usize];
                let own = cost(&slot.candidate);
                let is_better = best.is_none_or(|(min, arrival, _)| {
                    own < min || (own == min && slot.arrival < arrival)
                });
                if is_better {
                    best = Some((own, slot.arrival, Found { ring, index }));
                    bound = self.units(own.ns()) + less + 2 * self.margin;
                    longest = wait_below(bound - floor - moved);
                }
            }
        }
        best.map(|(_, _, found)| found)
    }

    /// Removes a candidate that was found.
    #[inline]
    pub fn remove(&mut self, found: Found) -> Pending {
        let ring = &mut self.rings[found.ring];
        let spot = ring.swap_remove(found.index);
        if ring.is_empty() {
            self.held &= !(1 << found.ring);
        }
        self.free.push(spot.slot);
        let slot = &mut self.slots[spot.slot as usize];
        slot.arrival = GONE;
        let pending = slot.candidate.pending;
        self.waiting -= 1;
        if self.waiting == SHORT {
            self.divide(FEW_RINGS);
        }
        pending
    }

    /// Removes the request `id`.
    pub fn take(&mut self, id: u64) -> Option<Pending> {
        let candidate = |spot: &Spot| self.slots[spot.slot as usize].candidate;
        let named = |spot: &Spot| candidate(spot).pending.request.id == id;
        let mut rings = self.rings.iter().enumerate();
        let found = rings.find_map(|(ring, spots)| {
            let index = spots.iter().position(named)?;
            Some(Found { ring, index })
        })?;
        Some(self.remove(found))
    }

    /// Minimum excess of any candidate's cost over its positioning time.
    #[inline]
    fn least_more(&mut self) -> i64 {
        let Some(ages) = &mut self.ages else {
            return 0;
        };
        while let Some(&(slot, arrival, more)) = ages.front() {
            if self.slots[slot as usize].arrival == arrival {
                return more;
            }
            ages.pop_front();
        }
        0
    }

    /// Cylinders from `arm` to the nearest of `ring`.
    #[inline]
    fn distance(&self, ring: u32, arm: u32) -> u32 {
        let first = ring * self.width;
        let last = first + (self.width - 1);
        first.saturating_sub(arm).max(arm.saturating_sub(last))
    }

    /// An upper bound on a seek time, in units of phases.
    #[inline]
    fn moved(&self, span: Span) -> i64 {
        // Below 2^62: a seek takes at most about 2^31 ns, and because a revolution takes at least a
        // microsecond, a nanosecond is at most 2^23 units.
        ((span.as_ns() as u64 * self.per_ns_fixed) >> FRACTION_BITS) as i64
    }

    /// A time in units of phases.
    #[inline]
    fn units(&self, ns: f64) -> i64 {
        (ns * self.per_ns) as i64
    }
}

/// The longest wait in units of phases that is at most `units`, or a whole turn.
#[inline]
fn wait_below(units: i64) -> u32 {
    // Negative only after a better candidate was found: then none can be better.
    u32::try_from(units.max(0)).unwrap_or(u32::MAX)
}

/// The upper half of an angle.
#[inline]
fn upper(angle: Angle) -> u32 {
    (angle.as_raw() >> 32) as u32
}

/// Iterates over the rings that hold requests, nearest first.
struct Outward {
    home: u32,
    /// Rings from home inward, home in the lowest bit.
    above: u64,
    /// Rings before home, the nearest in the highest bit.
    below: u64,
}

impl Outward {
    #[inline]
    fn from(held: u64, home: u32) -> Self {
        Self {
            home,
            above: held >> home,
            // In two steps, because a word cannot be shifted by its full width.
            below: held << 1 << (RINGS - 1 - home),
        }
    }

    /// Skips what is beyond `ring`. There may still be a nearer ring on the other side of home,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_visits_every_ring_once_nearest_first() {
        let held = [0u32, 3, 4, 40, 63]
            .iter()
            .fold(0u64, |bits, at| bits | 1 << at);
        let from = |home| Outward::from(held, home).collect::<Vec<_>>();
        assert_eq!(from(3), [3, 4, 0, 40, 63]);
        assert_eq!(from(0), [0, 3, 4, 40, 63]);
        assert_eq!(from(63), [63, 40, 4, 3, 0]);
        assert_eq!(from(2), [3, 0, 4, 40, 63]);
        assert_eq!(Outward::from(0, 5).next(), None);
    }
}
