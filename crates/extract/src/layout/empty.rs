//! Cylinders between two zones that hold no blocks, by the times of seeks.
//!
//! # Hypothesis
//! A seek takes longer the more cylinders it crosses, whether they hold blocks or not, and as long
//! across the boundary of two zones as within one.
//!
//! # Test vector
//! Pairs of reads ([`crate::mtbrc`]) outward: across each boundary from the first cylinders with
//! blocks to the last ones in front of it, and within the largest zone over all short distances,
//! as measured curves are uneven there, and those that take about as long. Where several numbers of
//! empty cylinders explain the times, more exact ones follow.
//!
//! # Decision
//! So many cylinders are empty that seeks across the boundary take as long as those over as many
//! cylinders within the zone. Where several numbers do: none, if that is one of them, else the one
//! that is least off over all distances. Where the ends of reads scatter, angles between zones are
//! less certain, and of several numbers the one is taken that fits at the most boundaries.
//!
//! # Confidence
//! Exact where a cylinder more takes 0.005 ms longer and arrivals do not scatter. Otherwise the
//! numbers that are nearly as little off are told. More cylinders than the largest zone has cannot
//! be counted.
//!
//! # Cost
//! Some 30 pairs for each boundary, and 15 for each of 40 to 80 distances.

use std::collections::BTreeMap;

use diskarm_core::geometry::Layout;
use diskarm_core::spec::{Geometry, Sparing, Zone};

use super::timing;
use crate::pairs::{Access, Pairs};
use crate::seek::route::{self, Way};
use crate::threshold::{Found, Threshold};
use crate::{Disk, Effort, Error, Setup, idle};

/// What was found between zones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Empty {
    /// The number of empty cylinders in front of each zone but the first.
    pub cylinders: Vec<u32>,
    /// What the times of seeks left open, a sentence each.
    pub assumed: Vec<String>,
}

impl Empty {
    /// Puts them into a layout that was found by timing.
    pub(crate) fn apply(self, to: &mut super::MeasuredLayout) {
        self.insert(&mut to.geometry);
        to.assumed.retain(|told| told != timing::CLOSED);
        to.assumed.extend(self.assumed);
    }

    /// Puts them into a layout that has none.
    pub fn insert(&self, geometry: &mut Geometry) {
        let mut before = 0;
        for (n, zone) in geometry.zones.iter_mut().enumerate() {
            zone.first_cylinder += before;
            zone.end_cylinder += before;
            let behind = self.cylinders.get(n).copied().unwrap_or(0);
            before += behind;
            // Whole spare tracks are likelier than cylinders that hold nothing.
            if geometry.sparing == Sparing::TracksPerZone {
                zone.end_cylinder += behind;
                zone.spares += u64::from(behind) * u64::from(geometry.surfaces);
            }
        }
        geometry.cylinders += before;
    }
}

/// Distances between cylinders with blocks across a boundary, and half an interval of the times of
/// seeks that is narrow enough, in nanoseconds.
const ACROSS: [(u32, f64); 7] = [
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
/// More numbers of empty cylinders are not told apart.
const CANDIDATES: usize = 64;
/// Distances across each boundary at least.
const CONFIRMED: usize = 2;
/// How far off the angle between two zones may be, as a share of the standard deviation of the ends
/// of reads, if they scatter.
const DOUBT: f64 = 0.15;
/// A sum of squares that is larger by this much is of a wrong number.
const CLEARLY: f64 = 4.0;

/// Counts the empty cylinders between the zones of a layout that has none. Reads only.
///
/// # Errors
/// A command failed, or too few reads were served by the media.
pub fn measure(
    disk: &mut Disk<'_>,
    setup: &Setup<'_>,
    zones: &[Zone],
    effort: Effort,
    seed: u64,
) -> Result<Empty, Error> {
    let held: Vec<(u32, u32)> = zones.iter().map(|zone| held(setup.layout, zone)).collect();
    let largest = held
        .iter()
        .copied()
        .max_by_key(|(first, last)| last - first);
    let mut seeks = Seeks {
        pairs: setup.pairs(disk, seed)?,
        zone: largest.unwrap_or((0, 0)),
        within: BTreeMap::new(),
        max: match effort {
            Effort::Quick => 40,
            Effort::Normal => 100,
            Effort::Thorough => 400,
        },
        doubt: 0.0,
    };
    let scatters = seeks.pairs.scatters;
    if scatters {
        seeks.doubt = DOUBT * setup.rotation.scatter_ns;
    }
    let mut empty = Empty {
        cylinders: Vec::new(),
        assumed: Vec::new(),
    };
    let mut all = Vec::new();
    for boundary in held.windows(2) {
        all.push(seeks.empty((boundary[0], boundary[1]))?);
    }
    let common = if scatters { common(&all) } else { None };
    for (left, boundary) in all.iter().zip(held.windows(2)) {
        let taken = taken(left, common);
        let numbers = left.iter().map(|one| one.empty);
        let (min, max) = (numbers.clone().min(), numbers.max());
        empty.cylinders.push(taken);
        if let (Some(min), Some(max)) = (min, max)
            && min < max
        {
            empty.assumed.push(format!(
                "{min} to {max} cylinders after cylinder {} hold nothing, as seeks tell: they \
                 are taken for {taken}.",
                boundary[0].1
            ));
        }
    }
    Ok(empty)
}

/// The number that explains the times of seeks across the most boundaries, if it does so across
/// more than one; of several the one that is least off.
fn common(boundaries: &[Vec<Candidate>]) -> Option<u32> {
    let mut fits: BTreeMap<u32, (u32, f64)> = BTreeMap::new();
    for one in boundaries.iter().flatten() {
        let (count, off) = fits.entry(one.empty).or_default();
        *count += 1;
        *off += one.off;
    }
    let best = fits
        .into_iter()
        .max_by(|(_, a), (_, b)| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    best.filter(|(_, (count, _))| *count > 1)
        .map(|(empty, _)| empty)
}

/// The number of empty cylinders at a boundary, of those that explain the times of seeks across it.
fn taken(left: &[Candidate], common: Option<u32>) -> u32 {
    let is_left = |empty: u32| left.iter().any(|one| one.empty == empty);
    let likeliest = left.iter().min_by(|a, b| a.off.total_cmp(&b.off));
    match common {
        Some(common) if is_left(common) => common,
        _ if is_left(0) => 0,
        _ => likeliest.map_or(0, |one| one.empty),
    }
}

/// The first and the last cylinder of a zone that hold blocks.
fn held(layout: &Layout, zone: &Zone) -> (u32, u32) {
    let has_blocks = |cylinder: &u32| idle::beginning(layout, *cylinder).is_some();
    let all = zone.first_cylinder..zone.end_cylinder;
    let first = all.clone().find(has_blocks).unwrap_or(zone.first_cylinder);
    let last = all.rev().find(has_blocks).unwrap_or(first);
    (first, last)
}

struct Seeks<'a, 'd> {
    pairs: Pairs<'a, 'd>,
    /// The cylinders of the largest zone.
    zone: (u32, u32),
    /// What seeks within it take, by distance.
    within: BTreeMap<u32, Found>,
    /// Pairs for one time.
    max: u32,
    /// How far off the angle between two zones may be, in nanoseconds.
    doubt: f64,
}

impl Seeks<'_, '_> {
    /// The lead of an outward seek over a distance between two of these cylinders.
    fn time(
        &mut self,
        (first, last): (u32, u32),
        distance: u32,
        (near, narrow): (Threshold, f64),
    ) -> Result<Found, Error> {
        let room = last - first - distance;
        let kinds = (Access::Read, Access::Read);
        let wanted = (narrow, self.max);
        let search = self.pairs.search(kinds, (1, 1), near, wanted, |pairs, k| {
            let outer = first + (u64::from(room) * u64::from(k % 5) / 4) as u32;
            let way = Way {
                outer,
                distance,
                inward: false,
            };
            let (from, to) = route::tracks(pairs, Access::Read, way, (first, last))?;
            Ok((from, to, 0.0))
        })?;
        Ok(search.found)
    }

    /// The same within the largest zone.
    fn within(&mut self, distance: u32, narrow: f64) -> Result<Found, Error> {
        let is_enough =
            |known: &&Found| known.uncertainty <= narrow || known.samples >= u64::from(self.max);
        if let Some(known) = self.within.get(&distance).filter(is_enough) {
            return Ok(*known);
        }
        let below = self.within.range(..distance).next_back();
        let above = self.within.range(distance..).next();
        let near = below.or(above).map(|(_, found)| found.median);
        let near = near.map_or_else(Threshold::default, |near| Threshold::near(near, 1e5));
        let found = self.time(self.zone, distance, (near, narrow))?;
        self.within.insert(distance, found);
        Ok(found)
    }

    /// The numbers of empty cylinders that explain seeks across a boundary, given the cylinders of
    /// the zones on both sides.
    fn empty(&mut self, (outer, inner): ((u32, u32), (u32, u32))) -> Result<Vec<Candidate>, Error> {
        let across = inner.0 - outer.1;
        let mut left: Option<Vec<Candidate>> = None;
        for (seen, (further, narrow)) in ACROSS.into_iter().enumerate() {
            let ends = (
                outer.0.max((outer.1 + 1).saturating_sub(further)),
                inner.1.min(inner.0 + further - 1),
            );
            let distance = across + further - 1;
            if ends.1 - ends.0 < distance {
                continue;
            }
            let near = self.within(distance.min(self.reach()), ROUGH)?.median;
            let time = self.time(ends, distance, (Threshold::near(near, 1e5), narrow))?;
            let mut candidates = match left {
                Some(left) => left,
                None => self.candidates(distance, &time)?,
            };
            if candidates.len() <= CANDIDATES {
                self.compare(&mut candidates, distance, (&time, narrow))?;
            }
            let is_clear = candidates.len() == 1 && seen + 1 >= CONFIRMED;
            left = Some(candidates);
            if is_clear {
                break;
            }
        }
        Ok(left.unwrap_or_default())
    }

    /// Adds to how far candidates are off, and drops those that are much farther off than the best.
    fn compare(
        &mut self,
        candidates: &mut Vec<Candidate>,
        distance: u32,
        (time, narrow): (&Found, f64),
    ) -> Result<(), Error> {
        for one in candidates.iter_mut() {
            // Farther seeks cannot be compared.
            let within = self.within((distance + one.empty).min(self.reach()), narrow)?;
            let off = (within.median - time.median).abs();
            let uncertain = within.uncertainty + time.uncertainty + FINE + self.doubt;
            one.off += (off / uncertain).powi(2);
        }
        let min = candidates.iter().map(|one| one.off);
        let min = min.fold(f64::INFINITY, f64::min);
        candidates.retain(|one| one.off < min + CLEARLY);
        Ok(())
    }

    /// Numbers of empty cylinders with which a seek across the boundary over this many cylinders
    /// that hold blocks may take this time.
    fn candidates(&mut self, distance: u32, time: &Found) -> Result<Vec<Candidate>, Error> {
        let off = 3.0 * (time.uncertainty + ROUGH + self.doubt);
        let mut found = Vec::new();
        let mut last: Option<u32> = None;
        for next in short_and_long(self.reach()) {
            if let Some(last) = last {
                self.between(
                    (last, next),
                    (time.median - off, time.median + off),
                    &mut found,
                )?;
            }
            last = Some(next);
        }
        found.sort_unstable();
        found.dedup();
        let longest = self.within(self.reach(), ROUGH)?.median;
        if found.is_empty() {
            found.push(if time.median > longest {
                self.reach()
            } else {
                distance
            });
        }
        let empty = found.iter().filter_map(|all| all.checked_sub(distance));
        Ok(empty.map(|empty| Candidate { empty, off: 0.0 }).collect())
    }

    /// Collects the distances from one to another of which seeks may take this long.
    fn between(
        &mut self,
        (short, long): (u32, u32),
        (min, max): (f64, f64),
        found: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let ends = [
            self.within(short, ROUGH)?.median,
            self.within(long, ROUGH)?.median,
        ];
        let is_between = ends[0].min(ends[1]) <= max && ends[0].max(ends[1]) >= min;
        if !is_between || found.len() > CANDIDATES {
            return Ok(());
        }
        if long - short > 1 {
            let middle = short.midpoint(long);
            self.between((short, middle), (min, max), found)?;
            return self.between((middle, long), (min, max), found);
        }
        let is_one = |time: f64| (min..=max).contains(&time);
        found.extend(is_one(ends[0]).then_some(short));
        found.extend(is_one(ends[1]).then_some(long));
        Ok(())
    }

    /// The longest distance within the largest zone.
    fn reach(&self) -> u32 {
        (self.zone.1 - self.zone.0).max(1)
    }
}

/// A number of empty cylinders, and how far off it is: the sum of squares, in units of what is
/// uncertain.
struct Candidate {
    empty: u32,
    off: f64,
}

/// Distances between which a curve is taken to rise or fall steadily: all short ones, as measured
/// curves are uneven there, then each a tenth longer.
fn short_and_long(reach: u32) -> impl Iterator<Item = u32> {
    let next = move |last: &u32| (*last < reach).then(|| (last + (last / 10).max(1)).min(reach));
    std::iter::successors(Some(1), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(all: &[(u32, f64)]) -> Vec<Candidate> {
        let candidate = |&(empty, off): &(u32, f64)| Candidate { empty, off };
        all.iter().map(candidate).collect()
    }

    /// What most boundaries have decides between the numbers that one of them leaves, but not
    /// against all of them; without such a number none counts, then the one that is least off.
    #[test]
    fn the_most_common_number_decides_where_several_are_left() {
        let clear = || candidates(&[(1, 0.1)]);
        let open = || candidates(&[(0, 0.2), (1, 0.3), (9, 0.1)]);
        let other = || candidates(&[(4, 0.5), (7, 0.1)]);
        let max = common(&[clear(), open(), clear(), other()]);
        assert_eq!(max, Some(1));
        assert_eq!(taken(&open(), max), 1);
        assert_eq!(taken(&other(), max), 7);
        assert_eq!(common(&[open()]), None);
        assert_eq!(taken(&open(), None), 0);
        // Of numbers that are as common the one that is least off.
        let two = || candidates(&[(3, 0.9), (20, 0.1)]);
        assert_eq!(common(&[two(), two()]), Some(20));
    }
}
