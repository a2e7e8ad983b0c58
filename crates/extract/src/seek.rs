//! Seek times by distance (worthington96 section 5.3).
//!
//! # Hypothesis
//! The time that a drive needs from a command to the moment when it can read a sector is a fixed
//! overhead, and a seek time that depends on the distance in cylinders. It may be longer inward
//! than outward, by the same time at all distances.
//!
//! # Test vector
//! Pairs of reads ([`crate::mtbrc`]): the first on one cylinder, the second on another one, sent so
//! that its sector passes when the drive may just have reached it. The inner loop of the paper's
//! MTBRC search is over distances in whole sectors; here the second read is sent at any time, and
//! whether it catches its sector narrows the seek time down until the interval is half a percent or
//! 0.012 ms. Five starting points are spread evenly over the cylinders, and seeks go inward and
//! outward in turn.
//!
//! The distances are the paper's: all up to 10 cylinders, then every 2nd, 5th, 10th, 25th and
//! 100th. Where a point is far off the line between its neighbours, the middles of the intervals
//! next to it are measured too, and so on.
//!
//! # Decision
//! A seek takes as much longer as its pair's threshold is above that of pairs on one track. What
//! pairs on one track need beyond the overhead, such as a time to settle, cannot be told from the
//! overhead and is part of it. Where read-ahead must end first, it leaves another head behind, and
//! a seek that is shorter than a head switch is seen as one.
//!
//! # Confidence
//! Half the interval between the longest lead that missed and the shortest that caught; where these
//! overlap because seeks scatter, the 95 % interval of a logistic fit. The maximum is the 95th
//! percentile over all starting points.
//!
//! # Cost
//! Some 10 pairs for each distance, 1000 to 3000 in all.

use std::collections::BTreeMap;

use diskarm_core::units::{Lbn, Span};
use serde::{Deserialize, Serialize};

use crate::pairs::{Access, Pairs, Track};
use crate::threshold::{Found, Threshold, span};
use crate::{Disk, Effort, Error, Estimate, Setup, idle, mtbrc};

/// A curve of seek times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seeks {
    /// By distance, in ascending order; between two of them the time is on a straight line.
    pub points: Vec<SeekPoint>,
    /// What an inward seek takes longer than these, and an outward one less.
    pub inward: Estimate,
}

/// The time of seeks over one distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeekPoint {
    /// In cylinders.
    pub distance: u32,
    /// The mean of both directions: more precisely the 50th percentile.
    pub mean: Estimate,
    /// The 95th percentile.
    pub maximum: Span,
}

/// Half an interval that is narrow enough, in nanoseconds, and as a share of the seek.
const NARROW: (f64, f64) = (7e3, 0.0035);

/// Half an interval, in nanoseconds, that only seeks have that scatter.
const SCATTER: f64 = 1e5;
/// Distances at which seeks before writes are compared with those before reads.
const CHECKED: usize = 16;

/// Distances to measure first, up to `last` cylinders (section 5.3).
pub(crate) fn distances(last: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut next = 1;
    while next < last {
        found.push(next);
        next += match next {
            0..10 => 1,
            10..20 => 2,
            20..50 => 5,
            50..100 => 10,
            100..500 => 25,
            _ => 100,
        };
    }
    found.push(last);
    found
}

/// What is being measured: which commands, and what pairs on one track need.
struct Curve<'p, 'a, 'd> {
    pairs: &'p mut Pairs<'a, 'd>,
    access: Access,
    /// The first and the last cylinder with blocks.
    ends: (u32, u32),
    /// The threshold without a movement, in nanoseconds.
    still: f64,
    /// What inward seeks take longer, in nanoseconds.
    inward: f64,
    found: BTreeMap<u32, Found>,
    most: u32,
}

/// Measures seeks before reads. Reads only.
///
/// # Errors
/// A command failed; or a distance cannot be had, or too few reads were served by the media.
pub fn measure(
    disk: &mut Disk<'_>,
    setup: &Setup<'_>,
    effort: Effort,
    seed: u64,
) -> Result<Seeks, Error> {
    let mut pairs = setup.pairs(disk, seed)?;
    let still = mtbrc::still(&mut pairs, setup, (Access::Read, Access::Read), effort)?;
    Curve::new(&mut pairs, Access::Read, still, effort).measure(effort)
}

/// Measures seeks before writes, unless they differ from those before `reads` by a constant. The
/// writes go behind writes. Data are lost at random places.
///
/// Times are what a write takes longer than a write on the track of the one before; the time to
/// settle before a write is part of them.
///
/// # Errors
/// As [`measure`].
pub fn measure_writes(
    disk: &mut Disk<'_>,
    setup: &Setup<'_>,
    reads: &Seeks,
    effort: Effort,
    seed: u64,
) -> Result<Option<Seeks>, Error> {
    let mut pairs = setup.pairs(disk, seed)?;
    let still = mtbrc::still(&mut pairs, setup, (Access::Write, Access::Write), effort)?;
    let mut curve = Curve::new(&mut pairs, Access::Write, still, effort);
    curve.inward = reads.inward.value.as_ns() as f64;
    if curve.is_parallel(reads)? {
        return Ok(None);
    }
    curve.inward = 0.0;
    curve.measure(effort).map(Some)
}

impl<'p, 'a, 'd> Curve<'p, 'a, 'd> {
    /// `still` is the threshold of a pair on one track, in nanoseconds.
    fn new(pairs: &'p mut Pairs<'a, 'd>, access: Access, still: f64, effort: Effort) -> Self {
        let layout = pairs.layout;
        let first = layout.extent(Lbn(0)).cylinder.0;
        let last = layout.extent(Lbn(layout.sectors().0 - 1)).cylinder.0;
        Self {
            pairs,
            access,
            ends: (first.min(last), first.max(last)),
            still,
            inward: 0.0,
            found: BTreeMap::new(),
            most: match effort {
                Effort::Quick => 40,
                Effort::Normal => 100,
                Effort::Thorough => 600,
            },
        }
    }

    /// Measures all distances.
    fn measure(mut self, effort: Effort) -> Result<Seeks, Error> {
        let stroke = self.ends.1 - self.ends.0;
        let inward = self.directions(stroke)?;
        for distance in distances(stroke) {
            self.add(distance)?;
        }
        self.refine(refinements(effort))?;
        let point = |(&distance, found): (&u32, &Found)| SeekPoint {
            distance,
            mean: found.estimate(),
            maximum: span(found.upper),
        };
        Ok(Seeks {
            points: self.found.iter().map(point).collect(),
            inward,
        })
    }

    /// Whether seeks differ by a constant from `others`, at some distances of these.
    fn is_parallel(&mut self, others: &Seeks) -> Result<bool, Error> {
        let step = (others.points.len() / CHECKED).max(1);
        let mut differences: Vec<f64> = Vec::new();
        for other in others.points.iter().step_by(step) {
            let time = other.mean.value.as_ns() as f64;
            let near = match differences.last() {
                Some(last) => Threshold::near(time + last, 5e4),
                None => Threshold::default(),
            };
            let found = self.threshold(other.distance, near, NARROW.0, |k| k % 2 == 0)?;
            if found.median < 2.0 * NARROW.0 {
                // The media wait for the data, not for the arm.
                continue;
            }
            let uncertain = found.uncertainty + other.mean.uncertainty.as_ns() as f64;
            let difference = found.median - time;
            differences.push(difference);
            let mut sorted = differences.clone();
            sorted.sort_by(f64::total_cmp);
            let usual = sorted[sorted.len() / 2];
            if (difference - usual).abs()
                > (2.0 * uncertain).max(2.0 * NARROW.0.max(NARROW.1 * time))
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Curve<'_, '_, '_> {
    /// By how much inward seeks take longer, from a few distances.
    fn directions(&mut self, stroke: u32) -> Result<Estimate, Error> {
        let mut halves = Vec::new();
        let mut samples = 0;
        for share in [100, 40, 15, 6, 3] {
            let distance = (stroke / share).max(1);
            let mut way = [0.0; 2];
            for (time, inward) in way.iter_mut().zip([false, true]) {
                let near = Threshold::default();
                let found = self.threshold(distance, near, 3e3, |_| inward)?;
                *time = found.median;
                samples += found.samples;
            }
            halves.push((way[1] - way[0]) / 2.0);
        }
        halves.sort_by(f64::total_cmp);
        let middle = halves[1..4].iter().sum::<f64>() / 3.0;
        // Less than the resolution is nothing.
        self.inward = if middle.abs() < 3e3 { 0.0 } else { middle };
        Ok(Estimate {
            value: span(self.inward),
            uncertainty: span((halves[3] - halves[1]).max(3e3)),
            samples,
        })
    }

    /// The threshold of pairs over a distance, less that without a movement. `inward` tells which
    /// way a trial goes.
    fn threshold(
        &mut self,
        distance: u32,
        near: Threshold,
        narrow: f64,
        inward: impl Fn(u32) -> bool,
    ) -> Result<Found, Error> {
        let (first, last) = self.ends;
        let room = last - first - distance;
        let uneven = self.inward;
        let still = self.still;
        let access = self.access;
        let mut behind: Option<u32> = None;
        let search = self.pairs.search(
            (access, access),
            (1, 1),
            near,
            (narrow, self.most),
            |pairs, k| {
                let inward = inward(k);
                let outer = match behind.filter(|_| access == Access::Write && k % 8 != 0) {
                    // There and back again: the head is where the last write left it.
                    Some(outer) => outer,
                    None => first + (u64::from(room) * u64::from(k / 2 % 5) / 4) as u32,
                };
                behind = Some(outer);
                let (a, b) = ends_of(pairs, (outer, inward), distance, (first, last))?;
                let (from, to) = if inward { (a, b) } else { (b, a) };
                let differs = still + if inward { uneven } else { -uneven };
                Ok((from, to, differs))
            },
        )?;
        Ok(search.found)
    }

    fn add(&mut self, distance: u32) -> Result<(), Error> {
        if self.found.contains_key(&distance) {
            return Ok(());
        }
        let expected = self.expected(distance);
        let near = match expected {
            Some((time, width)) => Threshold::near(time, width),
            None => Threshold::default(),
        };
        let scatters = self.found.values().any(|found| found.uncertainty > SCATTER);
        let near = if scatters { near.doubted() } else { near };
        let narrow = |time: f64| NARROW.0.max(NARROW.1 * time);
        let size = expected.map_or(0.0, |(time, _)| time);
        let mut found = self.threshold(distance, near, narrow(size), |k| k % 2 == 0)?;
        if found.uncertainty > narrow(found.median) && found.uncertainty <= narrow(size) {
            // Much shorter than its neighbours.
            let near = Threshold::near(found.median, found.uncertainty);
            found = self.threshold(distance, near, narrow(found.median), |k| k % 2 == 0)?;
        }
        self.found.insert(distance, found);
        Ok(())
    }

    /// What the neighbours let expect of a distance, and how far that may be off.
    fn expected(&self, distance: u32) -> Option<(f64, f64)> {
        let mut below = self.found.range(..distance).rev();
        let mut above = self.found.range(distance..);
        let (d0, t0) = below.next().map(|(d, found)| (*d, found.median))?;
        if let Some((d1, found)) = above.next() {
            let share = f64::from(distance - d0) / f64::from(d1 - d0);
            return Some((t0 + share * (found.median - t0), 5e4));
        }
        let slope = below
            .next()
            .map_or(0.0, |(d, found)| (t0 - found.median) / f64::from(d0 - d));
        Some((t0 + slope * f64::from(distance - d0), 1e5))
    }

    /// Measures the middles of intervals at which the curve bends, the sharpest bend first.
    fn refine(&mut self, most: u32) -> Result<(), Error> {
        for _ in 0..most {
            let points = self.found.iter();
            let points = points.map(|(d, found)| (*d, found.median, found.uncertainty));
            let points: Vec<Measured> = points.collect();
            let Some(middle) = sharpest(&points) else {
                return Ok(());
            };
            self.add(middle)?;
        }
        Ok(())
    }
}

/// Middles of intervals that are measured at most.
pub(crate) fn refinements(effort: Effort) -> u32 {
    match effort {
        Effort::Quick => 0,
        Effort::Normal => 200,
        Effort::Thorough => 400,
    }
}

/// A point of a curve: distance, time in nanoseconds, and how uncertain it is.
pub(crate) type Measured = (u32, f64, f64);

/// The middle of the interval where a straight line may be farthest off, unless that is little.
pub(crate) fn sharpest(points: &[Measured]) -> Option<u32> {
    let slope =
        |a: usize, b: usize| (points[b].1 - points[a].1) / f64::from(points[b].0 - points[a].0);
    // If the curve went on with the slope that it has outside the interval, and had its kink in the
    // middle, the line would be off by half the difference of slopes times the width; off a smooth
    // curve it is by an eighth. The outside slope is that over half the width at least, as two near
    // points tell none.
    let of_interval = |k: usize| {
        let (left, right) = (points[k].0, points[k + 1].0);
        let wide = right - left;
        let before = (0..k).rev().find(|&j| left - points[j].0 >= wide / 2);
        let after = (k + 2..points.len()).find(|&j| points[j].0 - right >= wide / 2);
        let outside = [before.map(|j| slope(j, k)), after.map(|j| slope(k + 1, j))];
        let inside = slope(k, k + 1);
        let turns = outside
            .iter()
            .flatten()
            .map(|outside| (outside - inside).abs());
        let off = turns.fold(0.0, f64::max) * f64::from(wide) / 2.0;
        let allowed = 1.5 * NARROW.0.max(NARROW.1 * points[k].1);
        let uncertain = points[k].2.max(points[k + 1].2);
        // Where seeks scatter, points bend the curve at random.
        let allowed = if uncertain > allowed {
            3.0 * uncertain
        } else {
            allowed
        };
        (wide > 1 && off > allowed).then(|| (off / allowed, left + wide / 2))
    };
    let worst = (0..points.len().saturating_sub(1)).filter_map(of_interval);
    worst.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, d)| d)
}

/// Tracks of the same head `distance` cylinders apart, from `outer` inward or a little beside it,
/// from which a pair goes inward or outward: read-ahead stays on the cylinder that it leaves, if
/// there is such a one.
pub(crate) fn ends_of(
    pairs: &Pairs<'_, '_>,
    (outer, inward): (u32, bool),
    distance: u32,
    (first, last): (u32, u32),
) -> Result<(Track, Track), Error> {
    let layout = pairs.layout;
    let shifts = (0..64).flat_map(|shift| [outer.checked_add(shift), outer.checked_sub(shift)]);
    let there = shifts.flatten();
    let mut ends = there
        .filter(|at| *at >= first && at + distance <= last)
        .filter_map(|at| {
            // The first tracks, so that read-ahead finds more of them on the cylinder.
            let from = idle::beginning(layout, at)?;
            let to = idle::beginning(layout, at + distance)?;
            let same = Track::at(layout, at + distance, from.head());
            Some((from, same.unwrap_or(to)))
        });
    let stays =
        |(outer, inner): &(Track, Track)| pairs.keeps_cylinder(if inward { outer } else { inner });
    let any = ends.next();
    let found = any
        .clone()
        .filter(stays)
        .or_else(|| ends.find(stays))
        .or(any);
    found.ok_or_else(|| {
        let reason = format!("no blocks {distance} cylinders apart near cylinder {outer}");
        Error::Undecided(reason)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distances_are_those_of_the_paper() {
        let found = distances(2097);
        assert_eq!(found[..12], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14]);
        for (step, from, to) in [(2, 10, 20), (5, 20, 50), (10, 50, 100), (25, 100, 500)] {
            let expected: Vec<u32> = (from..=to).step_by(step).collect();
            let here: Vec<u32> = found
                .iter()
                .copied()
                .filter(|d| (from..=to).contains(d))
                .collect();
            assert_eq!(here, expected);
        }
        assert_eq!(found[found.len() - 3..], [1900, 2000, 2097]);
        assert_eq!(distances(7), [1, 2, 3, 4, 5, 6, 7]);
    }
}
