//! Counts the empty cylinders between zones, using seek times.
//!
//! # Hypothesis
//! A seek takes longer the more cylinders it crosses, whether they hold blocks or not. Over the
//! same distance, it takes equally long across a zone boundary and within a zone.
//!
//! # Test vector
//! Pairs of reads ([`crate::mtbrc`]) that seek outward. Some cross a boundary, from the first
//! cylinders after it to the last ones before it. Others stay within the largest zone, over all
//! short distances, where measured curves are uneven, and over distances that take about as long as
//! crossing a boundary. If several numbers of empty cylinders explain the times, the times are
//! measured more precisely.
//!
//! # Decision
//! The number of empty cylinders is the one for which seeks across the boundary take as long as
//! seeks over equally many cylinders within the zone. If several numbers fit, 0 is chosen if it
//! fits, otherwise the number with the smallest error over all distances. If read completions
//! scatter, angles between zones are less certain, and a number that fits at several boundaries is
//! preferred.
//!
//! # Confidence
//! Exact if one more cylinder takes at least 0.005 ms longer and completions do not scatter.
//! Otherwise the range of numbers that fit is reported. The count cannot exceed the number of
//! cylinders of the largest zone.
//!
//! # Cost
//! About 30 pairs per boundary, and 15 for each of 40 to 80 distances.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{Geometry, Sparing, Zone};

use super::assemble::MeasuredLayout;
use super::timing;
use crate::clock::Access;
use crate::pairs::Pairs;
use crate::seek::{self, Movement};
use crate::threshold::{Threshold, ThresholdEstimate};
use crate::track::Track;
use crate::{Disk, Error, Setup};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmptyCylinders {
    /// The number of empty cylinders before each zone except the first.
    pub cylinders: Vec<u32>,
    /// Assumptions made where seek times are inconclusive, each a full sentence.
    pub assumed: Vec<String>,
}

impl EmptyCylinders {
    /// Inserts the empty cylinders into a layout that was found by timing.
    pub(crate) fn apply(self, to: &mut MeasuredLayout) {
        self.insert(&mut to.geometry);
        to.assumed
            .retain(|sentence| sentence != timing::ASSUMED_ADJACENT);
        to.assumed.extend(self.assumed);
    }

    /// Inserts the empty cylinders into a layout that has none.
    pub fn insert(&self, geometry: &mut Geometry) {
        let mut before = 0;
        for (n, zone) in geometry.zones.iter_mut().enumerate() {
            zone.first_cylinder += before;
            zone.end_cylinder += before;
            let after = self.cylinders.get(n).copied().unwrap_or(0);
            before += after;
            // Spare tracks are likelier than empty cylinders.
            if geometry.sparing == Sparing::TracksPerZone {
                zone.end_cylinder += after;
                zone.spares += u64::from(after) * u64::from(geometry.surfaces);
            }
        }
        geometry.cylinders += before;
    }
}

/// Distances across a boundary, in cylinders with blocks, and target half-widths in nanoseconds.
const BOUNDARY_DISTANCES: [(u32, f64); 7] = [
    (1, ROUGH),
    (2, ROUGH),
    (3, ROUGH),
    (1, FINE),
    (2, FINE),
    (3, FINE),
    (5, FINE),
];
const ROUGH: f64 = 6e3;
const FINE: f64 = 1.5e3;
const MAX_CANDIDATES: usize = 64;
/// Minimum number of distances across each boundary.
const MIN_DISTANCES: usize = 2;
/// Uncertainty of the angle between two zones, in standard deviations of completions.
const ANGLE_UNCERTAINTY: f64 = 0.15;
/// A number is ruled out if its error exceeds the smallest error by this much.
const REFUTATION: f64 = 4.0;

/// Counts the empty cylinders between zones, using only reads. The layout must not have any yet.
pub fn measure(
    disk: &mut Disk<'_>,
    setup: &Setup<'_>,
    zones: &[Zone],
) -> Result<EmptyCylinders, Error> {
    let ends = zones.iter().map(|zone| used_range(setup.layout, zone));
    let zones: Vec<(u32, u32)> = ends.collect();
    let largest = zones.iter().max_by_key(|(first, last)| last - first);
    let pairs = setup.pairs(disk)?;
    let is_noisy = pairs.is_noisy;
    let mut seeks = Seeks {
        pairs,
        zone: largest.copied().unwrap_or((0, 0)),
        zone_times: BTreeMap::new(),
        max: setup.effort.choose([40, 100, 400]),
        angle_uncertainty: if is_noisy {
            ANGLE_UNCERTAINTY * setup.rotation.scatter_ns
        } else {
            0.0
        },
    };
    let mut empty = EmptyCylinders::default();
    let boundaries = zones.windows(2);
    let between = |boundary: &[(u32, u32)]| seeks.candidates_between(boundary[0], boundary[1]);
    let all: Vec<Vec<Candidate>> = boundaries.map(between).collect::<Result<_, _>>()?;
    let common = if is_noisy { most_common(&all) } else { None };
    for (candidates, boundary) in all.iter().zip(zones.windows(2)) {
        let chosen = choose(candidates, common);
        empty.cylinders.push(chosen);
        let numbers = candidates.iter().map(|one| one.empty);
        if let (Some(min), Some(max)) = (numbers.clone().min(), numbers.max())
            && min < max
        {
            empty.assumed.push(format!(
                "Seek times are consistent with {min} to {max} empty cylinders after cylinder {}: \
                 {chosen} is assumed.",
                boundary[0].1
            ));
        }
    }
    Ok(empty)
}

/// Returns the number that fits at the most boundaries, if it fits at more than one. The smaller
/// total error decides between equally common numbers.
fn most_common(boundaries: &[Vec<Candidate>]) -> Option<u32> {
    let mut fits: BTreeMap<u32, (u32, f64)> = BTreeMap::new();
    for one in boundaries.iter().flatten() {
        let (count, error) = fits.entry(one.empty).or_default();
        *count += 1;
        *error += one.error;
    }
    let common = fits.into_iter().filter(|(_, (count, _))| *count > 1);
    let best = common.max_by(|(_, a), (_, b)| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    best.map(|(empty, _)| empty)
}

fn choose(candidates: &[Candidate], common: Option<u32>) -> u32 {
    let is_candidate = |empty: u32| candidates.iter().any(|one| one.empty == empty);
    let likeliest = candidates.iter().min_by(|a, b| a.error.total_cmp(&b.error));
    match common {
        Some(common) if is_candidate(common) => common,
        _ if is_candidate(0) => 0,
        _ => likeliest.map_or(0, |one| one.empty),
    }
}

/// Returns the first and the last of the cylinders of a zone that hold blocks.
fn used_range(layout: &Layout, zone: &Zone) -> (u32, u32) {
    let has_blocks = |cylinder: &u32| Track::first_in_cylinder(layout, *cylinder).is_some();
    let all = zone.first_cylinder..zone.end_cylinder;
    let first = all.clone().find(has_blocks).unwrap_or(zone.first_cylinder);
    let last = all.rev().find(has_blocks).unwrap_or(first);
    (first, last)
}

struct Seeks<'a, 'd> {
    pairs: Pairs<'a, 'd>,
    /// First and last cylinder of the largest zone.
    zone: (u32, u32),
    /// Seek times within that zone, by distance.
    zone_times: BTreeMap<u32, ThresholdEstimate>,
    max: u32,
    /// Uncertainty of the angle between two zones, in nanoseconds.
    angle_uncertainty: f64,
}

impl Seeks<'_, '_> {
    /// Measures the lead of outward seeks over a distance, within the range of `cylinders`.
    fn time(
        &mut self,
        cylinders: (u32, u32),
        distance: u32,
        near: Threshold,
        target_width: f64,
    ) -> Result<ThresholdEstimate, Error> {
        let room = cylinders.1 - cylinders.0 - distance;
        let kinds = (Access::Read, Access::Read);
        let wanted = (target_width, self.max);
        let search = self.pairs.search(kinds, (1, 1), near, wanted, |pairs, k| {
            let movement = Movement {
                outer: cylinders.0 + (u64::from(room) * u64::from(k % 5) / 4) as u32,
                distance,
                inward: false,
            };
            let (from, to) = seek::tracks(pairs, Access::Read, movement, cylinders)?;
            Ok((from, to, 0.0))
        })?;
        Ok(search.found)
    }

    /// Returns the lead of an outward seek within the largest zone. Measures it unless it is known.
    fn time_within(
        &mut self,
        distance: u32,
        target_width: f64,
    ) -> Result<ThresholdEstimate, Error> {
        let is_enough = |known: &&ThresholdEstimate| {
            known.uncertainty <= target_width || known.samples >= u64::from(self.max)
        };
        if let Some(known) = self.zone_times.get(&distance).filter(is_enough) {
            return Ok(*known);
        }
        let below = self.zone_times.range(..distance).next_back();
        let above = self.zone_times.range(distance..).next();
        let near = below.or(above).map(|(_, found)| found.median);
        let start = near.map_or_else(Threshold::default, |near| Threshold::near(near, 1e5));
        let found = self.time(self.zone, distance, start, target_width)?;
        self.zone_times.insert(distance, found);
        Ok(found)
    }

    /// Returns the numbers of empty cylinders that explain seeks between two zones.
    fn candidates_between(
        &mut self,
        outer: (u32, u32),
        inner: (u32, u32),
    ) -> Result<Vec<Candidate>, Error> {
        let across = inner.0 - outer.1;
        let mut remaining: Option<Vec<Candidate>> = None;
        for (number, (further, target_width)) in BOUNDARY_DISTANCES.into_iter().enumerate() {
            let ends = (
                outer.0.max((outer.1 + 1).saturating_sub(further)),
                inner.1.min(inner.0 + further - 1),
            );
            let distance = across + further - 1;
            if ends.1 - ends.0 < distance {
                continue;
            }
            let near = self.time_within(distance.min(self.reach()), ROUGH)?.median;
            let time = self.time(ends, distance, Threshold::near(near, 1e5), target_width)?;
            let mut candidates = match remaining {
                Some(remaining) => remaining,
                None => self.candidates(distance, &time)?,
            };
            if candidates.len() <= MAX_CANDIDATES {
                self.compare(&mut candidates, distance, &time, target_width)?;
            }
            if candidates.len() == 1 && number + 1 >= MIN_DISTANCES {
                return Ok(candidates);
            }
            remaining = Some(candidates);
        }
        Ok(remaining.unwrap_or_default())
    }

    /// Adds to the errors of candidates, and removes those with much larger errors than the best.
    fn compare(
        &mut self,
        candidates: &mut Vec<Candidate>,
        distance: u32,
        time: &ThresholdEstimate,
        target_width: f64,
    ) -> Result<(), Error> {
        for one in candidates.iter_mut() {
            // Longer seeks are impossible within the zone.
            let known = self.time_within((distance + one.empty).min(self.reach()), target_width)?;
            let difference = (known.median - time.median).abs();
            let uncertainty = known.uncertainty + time.uncertainty + FINE + self.angle_uncertainty;
            one.error += (difference / uncertainty).powi(2);
        }
        let errors = candidates.iter().map(|one| one.error);
        let min = errors.fold(f64::INFINITY, f64::min);
        candidates.retain(|one| one.error < min + REFUTATION);
        Ok(())
    }

    /// Returns the candidates with which a seek over `distance` occupied cylinders may take `time`.
    fn candidates(
        &mut self,
        distance: u32,
        time: &ThresholdEstimate,
    ) -> Result<Vec<Candidate>, Error> {
        let margin = 3.0 * (time.uncertainty + ROUGH + self.angle_uncertainty);
        let times = time.median - margin..=time.median + margin;
        let mut found = Vec::new();
        let distances = short_and_long(self.reach());
        for (short, long) in distances.clone().zip(distances.skip(1)) {
            self.collect_distances(short, long, &times, &mut found)?;
        }
        found.sort_unstable();
        found.dedup();
        let longest = self.time_within(self.reach(), ROUGH)?.median;
        if found.is_empty() {
            let is_longer = time.median > longest;
            found.push(if is_longer { self.reach() } else { distance });
        }
        let empty = found.iter().filter_map(|all| all.checked_sub(distance));
        Ok(empty.map(|empty| Candidate { empty, error: 0.0 }).collect())
    }

    /// Collects the distances from `short` to `long` over which seeks may take one of the `times`.
    fn collect_distances(
        &mut self,
        short: u32,
        long: u32,
        times: &RangeInclusive<f64>,
        found: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let from = self.time_within(short, ROUGH)?.median;
        let to = self.time_within(long, ROUGH)?.median;
        let is_between = from.min(to) <= *times.end() && from.max(to) >= *times.start();
        if !is_between || found.len() > MAX_CANDIDATES {
            return Ok(());
        }
        if long - short > 1 {
            let middle = short.midpoint(long);
            self.collect_distances(short, middle, times, found)?;
            return self.collect_distances(middle, long, times, found);
        }
        found.extend(times.contains(&from).then_some(short));
        found.extend(times.contains(&to).then_some(long));
        Ok(())
    }

    /// Returns the longest distance within the largest zone.
    fn reach(&self) -> u32 {
        (self.zone.1 - self.zone.0).max(1)
    }
}

/// A number of empty cylinders and its error, a sum of squares in units of the uncertainty.
struct Candidate {
    empty: u32,
    error: f64,
}

/// Returns short distances, then steps of 10 %, which suffice where curves are monotonic.
fn short_and_long(reach: u32) -> impl Iterator<Item = u32> + Clone {
    let next = move |last: &u32| (*last < reach).then(|| (last + (last / 10).max(1)).min(reach));
    std::iter::successors(Some(1), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(all: &[(u32, f64)]) -> Vec<Candidate> {
        let candidate = |&(empty, error): &(u32, f64)| Candidate { empty, error };
        all.iter().map(candidate).collect()
    }

    #[test]
    fn the_most_common_number_decides_between_candidates() {
        let clear = || candidates(&[(1, 0.1)]);
        let open = || candidates(&[(0, 0.2), (1, 0.3), (9, 0.1)]);
        let other = || candidates(&[(4, 0.5), (7, 0.1)]);
        let max = most_common(&[clear(), open(), clear(), other()]);
        assert_eq!(max, Some(1));
        assert_eq!(choose(&open(), max), 1);
        assert_eq!(choose(&other(), max), 7);
        assert_eq!(most_common(&[open()]), None);
        assert_eq!(choose(&open(), None), 0);
        let two = || candidates(&[(3, 0.9), (20, 0.1)]);
        assert_eq!(most_common(&[two(), two()]), Some(20));
    }
}
