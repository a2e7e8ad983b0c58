//! Measures a curve of seek times.

use std::collections::{BTreeMap, BTreeSet};

use diskarm_core::units::Lbn;

use super::plan::{
    Measured, Movement, coarse_first, distances, refinements, sharpest_bend, target_width, tracks,
};
use super::{SeekPoint, Seeks};
use crate::clock::Access;
use crate::mtbrc::{self, Kind, To};
use crate::pairs::Pairs;
use crate::threshold::{Threshold, ThresholdEstimate, span};
use crate::{Disk, Effort, Error, Estimate, Setup};

/// Number of trials that must confirm each end of an interval.
const CONFIRMATIONS: u32 = 3;
/// Number of confirming trials required if seek times over a neighbouring distance vary.
const CONFIRMATIONS_NEAR_SCATTER: u32 = 20;
/// Target half-width of the interval when directions are compared, in nanoseconds.
const RESOLUTION: f64 = 3e3;
/// Minimum number of distances for a curve.
const MIN: usize = 8;

pub(super) struct Curve<'a, 'd> {
    pairs: Pairs<'a, 'd>,
    access: Access,
    effort: Effort,
    /// The first and the last cylinder with blocks.
    ends: (u32, u32),
    /// Threshold without a seek, in nanoseconds.
    threshold_without_seek: f64,
    /// Extra time of inward seeks, in nanoseconds.
    inward: f64,
    found: BTreeMap<u32, ThresholdEstimate>,
    /// Distances whose trials were inconclusive.
    inconclusive: BTreeSet<u32>,
    /// True if any seek time has been seen to vary.
    has_varied: bool,
    max: u32,
}

impl<'a, 'd> Curve<'a, 'd> {
    /// Measures the threshold without a seek.
    pub fn new(disk: &'a mut Disk<'d>, setup: &Setup<'a>, access: Access) -> Result<Self, Error> {
        let layout = setup.layout;
        let mut pairs = setup.pairs(disk)?;
        let kind = Kind::one_sector((access, access), To::SameTrack);
        let still = mtbrc::threshold(&mut pairs, kind, setup.effort)?;
        let first = layout.extent(Lbn(0)).cylinder.0;
        let last = layout.extent(Lbn(layout.sectors().0 - 1)).cylinder.0;
        Ok(Self {
            pairs,
            access,
            effort: setup.effort,
            ends: (first.min(last), first.max(last)),
            threshold_without_seek: still.value.as_ns() as f64,
            inward: 0.0,
            found: BTreeMap::new(),
            inconclusive: BTreeSet::new(),
            has_varied: false,
            max: setup.effort.choose([40, 100, 600]),
        })
    }

    /// Measures all distances, or as many as the limits allow. Fails if those are too few.
    pub fn measure(mut self) -> Result<Seeks, Error> {
        let stroke = self.ends.1 - self.ends.0;
        if stroke == 0 {
            let reason = "all blocks are on one cylinder".to_owned();
            return Err(Error::Undecided(reason));
        }
        let inward = self.measure_inward_excess(stroke)?;
        let wanted = coarse_first(&distances(stroke));
        let mut failure = None;
        for &distance in &wanted {
            failure = failure.or(unless_fatal(self.add(distance))?);
            if self.pairs.disk.is_spent() {
                break;
            }
        }
        let is_missing = |at: &&u32| !self.found.contains_key(at);
        let missing = wanted.iter().filter(is_missing).count();
        if self.found.len() < MIN.min(wanted.len()) {
            let reason = "most pairs do not bound the seek time".to_owned();
            return Err(failure.unwrap_or(Error::Undecided(reason)));
        }
        if failure.is_none() {
            failure = unless_fatal(self.refine(refinements(self.effort)))?;
        }
        let (omitted, all) = (self.inconclusive.len(), wanted.len());
        let remark = match failure {
            Some(error) if missing == 0 => Some(format!(
                "bends of the curve were not measured more closely: {error}"
            )),
            Some(error) => Some(format!(
                "{missing} of {all} distances were not measured: {error}"
            )),
            None => (omitted > 0).then(|| {
                let all = omitted + self.found.len();
                format!(
                    "{omitted} of {all} distances were omitted because their pairs do not bound \
                     the seek time"
                )
            }),
        };
        let point = |(&distance, found): (&u32, &ThresholdEstimate)| SeekPoint {
            distance,
            mean: found.estimate(),
            maximum: span(found.upper),
        };
        Ok(Seeks {
            points: self.found.iter().map(point).collect(),
            inward,
            remark,
        })
    }

    /// Measures the extra time of inward seeks over a few distances.
    fn measure_inward_excess(&mut self, stroke: u32) -> Result<Estimate, Error> {
        let mut halves = Vec::new();
        let mut samples = 0;
        for share in [100, 40, 15, 6, 3] {
            let distance = (stroke / share).max(1);
            let (mut times, mut uncertainty) = ([0.0; 2], 0.0);
            for (time, inward) in times.iter_mut().zip([false, true]) {
                let near = Threshold::default().demand(CONFIRMATIONS);
                let found = self.threshold(distance, near, RESOLUTION, |_| inward)?;
                *time = found.median;
                uncertainty += found.uncertainty / 2.0;
                samples += found.samples;
            }
            halves.push(((times[1] - times[0]) / 2.0, uncertainty.max(RESOLUTION)));
        }
        let (middle, uncertainty) = typical(halves);
        // Values below the resolution count as zero.
        self.inward = if middle.abs() < RESOLUTION {
            0.0
        } else {
            middle
        };
        Ok(Estimate {
            value: span(self.inward),
            uncertainty: span(uncertainty),
            samples,
        })
    }

    /// Measures the threshold of pairs over a distance, minus that of pairs without a seek.
    fn threshold(
        &mut self,
        distance: u32,
        near: Threshold,
        target_width: f64,
        inward: impl Fn(u32) -> bool,
    ) -> Result<ThresholdEstimate, Error> {
        let (first, last) = self.ends;
        let room = last - first - distance;
        let (excess, still, access) = (self.inward, self.threshold_without_seek, self.access);
        let mut prior: Option<u32> = None;
        let route = |pairs: &mut Pairs<'_, '_>, k: u32| {
            let outer = match prior.filter(|_| access == Access::Write && !k.is_multiple_of(8)) {
                // Seek back: the head is still where the last write left it.
                Some(outer) => outer,
                None => first + (u64::from(room) * u64::from(k / 2 % 5) / 4) as u32,
            };
            prior = Some(outer);
            let along = |inward| {
                let movement = Movement {
                    outer,
                    distance,
                    inward,
                };
                let (from, to) = tracks(pairs, access, movement, (first, last))?;
                let shift = still + if inward { excess } else { -excess };
                Ok((from, to, shift))
            };
            // If read-ahead leaves the first cylinder, only an outward seek can be a full stroke.
            along(inward(k)).or_else(|_: Error| along(!inward(k)))
        };
        let search = self.pairs.search(
            (access, access),
            (1, 1),
            near,
            (target_width, self.max),
            route,
        )?;
        self.has_varied |= search.found.is_contradictory;
        Ok(search.found)
    }

    fn add(&mut self, distance: u32) -> Result<(), Error> {
        let expected = self.expected(distance);
        let near = match expected {
            Some((time, width)) => Threshold::near(time, width),
            None => Threshold::default(),
        };
        let near = self.require(distance, near);
        let size = expected.map_or(0.0, |(time, _)| time);
        let mut found = self.threshold(distance, near, target_width(size), |k| k % 2 == 0)?;
        if found.uncertainty > target_width(found.median) && found.uncertainty <= target_width(size)
        {
            // The time is much shorter than expected, so the interval must be narrower.
            let near = self.require(distance, Threshold::near(found.median, found.uncertainty));
            found = self.threshold(distance, near, target_width(found.median), |k| k % 2 == 0)?;
        }
        if found.is_bounded() {
            self.found.insert(distance, found);
        } else {
            self.inconclusive.insert(distance);
        }
        Ok(())
    }

    /// Requires more trials if any seek time has varied, and even more if a neighbouring one has.
    fn require(&self, distance: u32, near: Threshold) -> Threshold {
        let below = self.found.range(..distance).next_back();
        let above = self.found.range(distance..).next();
        let mut neighbours = below.into_iter().chain(above);
        match (
            self.has_varied,
            neighbours.any(|(_, found)| found.is_contradictory),
        ) {
            (false, _) => near.demand(CONFIRMATIONS),
            (true, false) => near.demand(CONFIRMATIONS).varying(),
            (true, true) => near.demand(CONFIRMATIONS_NEAR_SCATTER).varying(),
        }
    }

    /// Interpolates the expected time from neighbouring distances. Also returns its possible error.
    fn expected(&self, distance: u32) -> Option<(f64, f64)> {
        let mut below = self.found.range(..distance).rev();
        let mut above = self.found.range(distance..);
        let (d0, t0) = below.next().map(|(d, found)| (*d, found.median))?;
        if let Some((d1, found)) = above.next() {
            let share = f64::from(distance - d0) / f64::from(d1 - d0);
            return Some((t0 + share * (found.median - t0), 5e4));
        }
        let slope =
            |(d, found): (&u32, &ThresholdEstimate)| (t0 - found.median) / f64::from(d0 - d);
        let slope = below.next().map_or(0.0, slope);
        Some((t0 + slope * f64::from(distance - d0), 1e5))
    }

    /// Measures the midpoints of intervals in which the curve bends, sharpest bend first.
    fn refine(&mut self, max: u32) -> Result<(), Error> {
        for _ in 0..max {
            let points = self.found.iter();
            let points = points.map(|(d, found)| (*d, found.median, found.uncertainty));
            let points: Vec<Measured> = points.collect();
            let Some(middle) = sharpest_bend(&points, &self.inconclusive) else {
                return Ok(());
            };
            self.add(middle)?;
        }
        Ok(())
    }
}

/// Combines values with their uncertainties. Weights are inversely proportional to the square of
/// the uncertainty, and a fifth of the total weight is cut off at each end before the mean is
/// taken. This limits the influence of outliers and of distances with varying seek times.
fn typical(mut values: Vec<(f64, f64)>) -> (f64, f64) {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let weight = |&(_, uncertainty): &(f64, f64)| uncertainty.powi(-2);
    let total: f64 = values.iter().map(weight).sum();
    let (from, to) = (0.2 * total, 0.8 * total);
    let (mut below, mut sum) = (0.0, 0.0);
    let mut middle = Vec::new();
    for value in &values {
        let share = (below + weight(value)).min(to) - f64::max(below, from);
        if share > 0.0 {
            sum += share * value.0;
            middle.push(value.0);
        }
        below += weight(value);
    }
    let spread = middle[middle.len() - 1] - middle[0];
    (sum / (to - from), spread.max(total.sqrt().recip()))
}

/// Returns the error of one distance as a value, unless it prevents all other measurements.
fn unless_fatal(result: Result<(), Error>) -> Result<Option<Error>, Error> {
    match result {
        Ok(()) => Ok(None),
        Err(error @ Error::Transport(_)) => Err(error),
        Err(error) => Ok(Some(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uncertain_or_distant_values_have_little_weight() {
        // Of five equally certain values, only the middle three count.
        let equal = [4.0, 1.0, 3.0, 90.0, 2.0].map(|value| (value, 1.0));
        let (value, uncertainty) = typical(equal.to_vec());
        assert!((value - 3.0).abs() < 1e-12, "{value}");
        assert_eq!(uncertainty, 2.0);
        // Two values with intervals a hundred times as wide have almost no weight.
        let values = [(-200.0, 100.0), (-99.0, 100.0), (0.0, 1.0), (1.0, 1.0)];
        let (value, _) = typical(values.to_vec());
        assert!((value - 0.5).abs() < 0.01, "{value}");
    }
}
