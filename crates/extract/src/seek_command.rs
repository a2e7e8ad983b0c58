//! Seek times measured with the SEEK command (worthington96 section 5.3).
//!
//! # Hypothesis
//! SEEK ends when the arm has arrived. It takes a fixed processing time plus a seek time, which
//! depends on the distance and, on some drives, on the direction and the starting point.
//!
//! # Test vector
//! For each distance of [`crate::seek`], ten SEEKs inward and ten back outward from each of five
//! starting points, which are spread evenly over the possible cylinders; a full stroke has only one
//! starting point. Where the curve bends, distances in between are added. SEEK addresses only 2^32
//! blocks (SBC-2), so on a larger drive the curve covers only distances between those.
//!
//! # Decision
//! Times from a starting point in one direction are discarded if they deviate from their median by
//! more than 10 %, because they are due to retries, recalibrations or host delays. The mean of the
//! others represents the starting point. The mean curve is the mean over starting points, and the
//! maximum curve is the largest.
//!
//! The overhead of a SEEK is the time of a SEEK over one cylinder minus that of the movement, both
//! inward. The movement takes MTBRC(1-sector write, 1-sector read on the adjacent cylinder) minus
//! MTBRC(1-sector write, 1-sector read on the same track). Without writes, reads are used.
//!
//! # Confidence
//! The 95 % interval of the mean of starting points, plus the uncertainty of the overhead. Settling
//! on the current track cannot be separated from the command overhead, because a SEEK to the
//! current track may or may not include it. If SEEK takes the same time over any distance, it ends
//! before the arm arrives, and the curve cannot be measured.
//!
//! # Cost
//! 100 SEEKs for each distance, about 8,000 in total, and two MTBRCs.

use std::collections::BTreeSet;

use diskarm_core::geometry::Layout;
use diskarm_core::units::{Lbn, Span};
use serde::{Deserialize, Serialize};

use crate::clock::Access;
use crate::mtbrc::{self, Kind, To};
use crate::seek::{
    self, SeekPoint, Seeks, coarse_first, distances, first_pair, refinements, sharpest_bend,
};
use crate::threshold::span;
use crate::track::Track;
use crate::{Disk, Effort, Error, Estimate, Setup};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curves {
    /// Points in ascending order of distance. Times in between are interpolated linearly.
    pub points: Vec<Point>,
    /// Overhead of a SEEK, which has been subtracted from all points.
    pub processing: Estimate,
    /// Number of discarded SEEKs, and of all SEEKs.
    pub discarded: (u64, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// Seek distance in cylinders.
    pub distance: u32,
    /// Mean over directions and starting points.
    pub mean: Estimate,
    /// Mean time of the slowest starting point.
    pub maximum: Span,
    /// Mean times of inward and of outward seeks.
    pub directions: (Span, Span),
}

/// Minimum number of distances for a curve.
const MIN: usize = 8;

/// Times that deviate from the median by more than this fraction of it are discarded.
const OUTLIER: f64 = 0.1;

/// Measures the curves. `first` is the access of the first command of the MTBRC pairs. If it is a
/// write, it destroys data in random blocks.
pub fn measure(disk: &mut Disk<'_>, setup: &Setup<'_>, first: Access) -> Result<Curves, Error> {
    let one_cylinder = one_cylinder(disk, setup, first)?;
    let effort = setup.effort;
    let layout = setup.layout;
    let ends = addressable_cylinders(layout);
    let mut raw: Vec<Measured> = Vec::new();
    for distance in coarse_first(&distances(ends.1 - ends.0)) {
        let seeks = match measure_distance(disk, layout, distance, ends, effort) {
            // The distances measured so far give a less accurate curve.
            Err(Error::Undecided(_)) if raw.len() >= MIN => break,
            seeks => seeks?,
        };
        let next = raw.partition_point(|seeks| seeks.distance < distance);
        raw.insert(next, seeks);
    }
    // The pairs also seek inward.
    let overhead = raw[0].direction_mean(0) - one_cylinder.value.as_ns() as f64;
    for _ in 0..refinements(effort) {
        let points = raw.iter().map(|seeks| {
            let time = seeks.mean() - overhead;
            (seeks.distance, time, seeks.uncertainty())
        });
        let points: Vec<seek::Measured> = points.collect();
        let Some(distance) = sharpest_bend(&points, &BTreeSet::new()) else {
            break;
        };
        let Ok(seeks) = measure_distance(disk, layout, distance, ends, effort) else {
            break;
        };
        let next = raw.partition_point(|seeks| seeks.distance < distance);
        raw.insert(next, seeks);
    }
    let (min, max) = (raw[0].mean(), raw[raw.len() - 1].mean());
    if max - min < one_cylinder.value.as_ns() as f64 / 2.0 {
        return Err(Error::Undecided(format!(
            "SEEK ends before the arm arrives: it takes {:.3} ms over one cylinder and {:.3} ms \
             over all",
            min / 1e6,
            max / 1e6
        )));
    }
    let processing = Estimate {
        value: span(overhead),
        uncertainty: span(raw[0].uncertainty()) + one_cylinder.uncertainty,
        samples: raw[0].kept + one_cylinder.samples,
    };
    let discarded = raw.iter().map(|seeks| seeks.discarded).sum();
    let all = raw.iter().map(|seeks| seeks.discarded + seeks.kept);
    Ok(Curves {
        discarded: (discarded, all.sum()),
        points: raw.iter().map(|seeks| seeks.point(&processing)).collect(),
        processing,
    })
}

/// Returns the first and the last cylinder that SEEK can address with its 32-bit block numbers.
fn addressable_cylinders(layout: &Layout) -> (u32, u32) {
    let blocks = layout.sectors().0;
    let cylinder = |at: u64| layout.extent(Lbn(at)).cylinder.0;
    let (first, last) = match blocks.checked_sub(1 << 32) {
        None | Some(0) => (cylinder(0), cylinder(blocks - 1)),
        // Other tracks of the last cylinder may be out of reach.
        Some(_) => {
            let last = cylinder(u32::MAX.into());
            (cylinder(0), last - u32::from(last > cylinder(0)))
        }
    };
    (first.min(last), first.max(last))
}

/// Measures the time of a movement over one cylinder.
fn one_cylinder(disk: &mut Disk<'_>, setup: &Setup<'_>, first: Access) -> Result<Estimate, Error> {
    let mut pairs = setup.pairs(disk)?;
    let mut lead = |to| {
        let kind = Kind::one_sector((first, Access::Read), to);
        mtbrc::threshold(&mut pairs, kind, setup.effort)
    };
    Ok(lead(To::Cylinders(1))? - lead(To::SameTrack)?)
}

/// SEEKs over one distance. Times are in nanoseconds.
#[derive(Debug, Default)]
struct Measured {
    distance: u32,
    /// Mean of the times that are kept, inward and outward, for each starting point.
    means: Vec<[f64; 2]>,
    kept: u64,
    discarded: u64,
    /// Sum of squared deviations of the kept times from their means.
    scatter: f64,
}

impl Measured {
    /// Discards outliers among the times and returns the mean of the others.
    fn add_times(&mut self, mut times: Vec<f64>) -> f64 {
        times.sort_by(f64::total_cmp);
        let median = times[times.len() / 2];
        let all = times.len();
        times.retain(|time| (time - median).abs() <= OUTLIER * median);
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        self.kept += times.len() as u64;
        self.discarded += (all - times.len()) as u64;
        self.scatter += times.iter().map(|time| (time - mean).powi(2)).sum::<f64>();
        mean
    }

    fn point_means(&self) -> impl Iterator<Item = f64> {
        self.means.iter().map(|means| (means[0] + means[1]) / 2.0)
    }

    fn mean(&self) -> f64 {
        self.point_means().sum::<f64>() / self.means.len() as f64
    }

    /// Returns the mean of seeks inward (0) or outward (1).
    fn direction_mean(&self, n: usize) -> f64 {
        let times = self.means.iter().map(|means| means[n]);
        times.sum::<f64>() / self.means.len() as f64
    }

    /// Returns half the 95 % interval of the mean over these starting points.
    fn uncertainty(&self) -> f64 {
        let free = self.kept.saturating_sub(2 * self.means.len() as u64).max(1) as f64;
        2.0 * (self.scatter / free / self.kept.max(1) as f64).sqrt()
    }

    fn point(&self, processing: &Estimate) -> Point {
        let max = self.point_means().fold(f64::MIN, f64::max);
        let direction = |n: usize| span(self.direction_mean(n)) - processing.value;
        Point {
            distance: self.distance,
            mean: Estimate {
                value: span(self.mean()) - processing.value,
                uncertainty: span(self.uncertainty()) + processing.uncertainty,
                samples: self.kept,
            },
            maximum: span(max) - processing.value,
            directions: (direction(0), direction(1)),
        }
    }
}

fn measure_distance(
    disk: &mut Disk<'_>,
    layout: &Layout,
    distance: u32,
    (first, last): (u32, u32),
    effort: Effort,
) -> Result<Measured, Error> {
    // Number of starting points, and of SEEKs in each direction from each of them.
    let (points, times) = effort.choose([(3, 4), (5, 10), (9, 20)]);
    let room = last - first - distance;
    // A full stroke has one starting point.
    let points = points.min(room + 1);
    let mut measured = Measured {
        distance,
        ..Measured::default()
    };
    for point in 0..points {
        let share = u64::from(room) * u64::from(point) / u64::from((points - 1).max(1));
        let outer = first + share as u32;
        let (outer, inner) = ends(layout, outer, distance, last).ok_or_else(|| {
            let reason = format!("no blocks are {distance} cylinders apart near cylinder {outer}");
            Error::Undecided(reason)
        })?;
        disk.seek(outer)?;
        let mut directions = [Vec::new(), Vec::new()];
        for _ in 0..times {
            for (times, to) in directions.iter_mut().zip([inner, outer]) {
                times.push(disk.seek(to)?.service().as_ns() as f64);
            }
        }
        let [inward, outward] = directions;
        let means = [measured.add_times(inward), measured.add_times(outward)];
        measured.means.push(means);
    }
    Ok(measured)
}

/// Returns blocks `distance` cylinders apart near `outer`, under one head if possible.
fn ends(layout: &Layout, outer: u32, distance: u32, last: u32) -> Option<(Lbn, Lbn)> {
    let shifts = (0..64).flat_map(|shift| [outer.checked_add(shift), outer.checked_sub(shift)]);
    let starts = shifts.flatten().filter(|at| at + distance <= last);
    let candidates = starts.filter_map(|at| {
        let from = Track::first_in_cylinder(layout, at)?;
        let head = from.head();
        Some((from, at + distance, head))
    });
    let (from, to) = first_pair(layout, candidates)?;
    Some((from.first(), to.first()))
}

impl Curves {
    /// Converts the mean curve to the form in which [`crate::seek`] returns it.
    pub fn mean(&self) -> Seeks {
        let half = |point: &Point| {
            let (inward, outward) = point.directions;
            (inward - outward).as_ns() as f64 / 2.0
        };
        let mut halves: Vec<f64> = self.points.iter().map(half).collect();
        halves.sort_by(f64::total_cmp);
        let quartile = |share: usize| halves[(halves.len() - 1) * share / 4];
        let points = self.points.iter().map(|point| SeekPoint {
            distance: point.distance,
            mean: point.mean,
            maximum: point.maximum,
        });
        Seeks {
            points: points.collect(),
            inward: Estimate {
                value: span(quartile(2)),
                uncertainty: span((quartile(3) - quartile(1)).max(1e3)),
                samples: self.discarded.1 - self.discarded.0,
            },
            remark: None,
        }
    }
}
