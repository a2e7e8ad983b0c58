//! Shortest access time first with guided delayed forcing.
//!
//! # What it does
//! Like `satfdf` with one forced request: once the oldest request has waited for `age`, it gets a
//! deadline, some revolutions after the earliest possible instant. Until then, the policy considers
//! the requests after which the deadline can still be met. It serves the one that leaves the
//! largest area of the disk within reach: the sum, over all cylinders, of the time that the head
//! could spend there between the end of the request and the deadline.
//!
//! # Origin
//! jacobson91 section 5.1, figures 7 to 9: SATFGDF. The area depends on the remaining time and on
//! the distance to the cylinder of the forced request. For each remaining time, a quadratic without
//! a linear term is fitted to the drive's minimum seek times, as if no edge were near. Departures:
//! the paper does not define "too old", so the default is ours; its algorithm always forces, as
//! with `age=0s`. The forced request itself is served only when no other fits; the figure also
//! compares its area, but does not say from which position. A stay of several revolutions counts in
//! full, which the paper leaves open; if only one revolution counted, a long gap's area would
//! always be the whole disk. The resolution of the remaining time is 1/64 of a revolution, not a
//! sector, because sectors differ between zones. The deadline is checked on a copy of the drive.
//!
//! # Cost
//! A scan of all pending requests; while one is forced, two trials on copies of the drive for each
//! pending request. Memory: 16 bytes for each 64th of a revolution in two full seeks.
//!
//! # When it is bad
//! Its throughput is lower than that of SATF and ASATF (jacobson91 section 6.1).

use super::forced::{AGE, Forcing, Gap, Splice, read_age};
use super::policy::{Estimate, Knowledge, Outlook, Policy, PolicyInfo, Rehearse, Rule, Shape};
use crate::text::{Args, InputError};
use crate::units::{Instant, Span};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SatfGdf {
    revolutions: u64,
    age: Span,
}

impl Rule for SatfGdf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "satfgdf",
        summary: "SATF, but the arm is guided to the oldest request when it is too old",
        parameters: &[
            (
                "revolutions=5",
                "the slack before the forced request, from 1 to 20",
            ),
            AGE,
        ],
        knowledge: Knowledge::TimesAndBuffer,
        origin: "jacobson91 section 5.1",
        example: "satfgdf(revolutions=4, age=500 ms)",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let revolutions = args.maybe_count("revolutions", 1..=20)?.unwrap_or(5);
        Ok(Self {
            revolutions,
            age: read_age(args)?,
        })
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let shape = drive.shape();
        let area = Area::new(shape, &drive.outlook(Instant::START));
        let slack = shape.revolution * self.revolutions;
        Box::new(Forcing::new(1, self.age, slack, area))
    }
}

/// Maximizes the area of the disk within reach.
impl Splice for Area {
    fn choose<R: Rehearse>(&self, gap: &Gap<'_, R>) -> Option<usize> {
        let start = gap.start();
        let end = gap.end();
        let to = &end.candidate;
        let mut best: Option<(f64, usize)> = None;
        for index in gap.free() {
            let candidate = &gap.all[index];
            let after = start.serve(candidate);
            if gap.keep_promises(&after).is_none() {
                continue;
            }
            // The head must be at the forced request when its transfer begins.
            let (_, transfer) = after.positioning_and_transfer(to);
            let left = end.due - after.at - transfer;
            let distance = candidate.location.cylinder.distance(to.location.cylinder);
            let area = self.reachable(left, distance);
            if best.is_none_or(|(max, _)| area > max) {
                best = Some((area, index));
            }
        }
        best.map(|(_, index)| index)
    }
}

/// Resolution of the remaining time: steps per revolution.
const STEPS: i64 = 64;
/// Maximum number of starting cylinders that are sampled for a fit.
const STARTS: u32 = 16;
/// Maximum number of cylinders on the way that are sampled for a fit.
const STOPS: u32 = 64;

/// The area of the disk within reach of a head that must be elsewhere by a deadline, as a function
/// of remaining time and distance (jacobson91 section 5.1, figures 8 and 9). Once there is time for
/// two of the longest seeks, each further revolution adds one whole disk, so no fit is needed.
#[derive(Clone, Debug)]
struct Area {
    step: Span,
    revolution: Span,
    /// One fit for each step of remaining time from 0 up to two of the longest seeks.
    fits: Vec<Quadratic>,
}

/// `level + bend * distance²`, in whole disks; distances in cylinders.
#[derive(Clone, Copy, Debug)]
struct Quadratic {
    level: f64,
    bend: f64,
}

impl Area {
    fn new<O: Outlook>(shape: Shape, outlook: &O) -> Self {
        let seeks: Vec<f64> = (0..shape.cylinders)
            .map(|distance| outlook.min_seek(distance).as_ns() as f64)
            .collect();
        Self::from_seeks(&seeks, shape.revolution)
    }

    /// Fits the area for the given seek times, in nanoseconds and indexed by distance.
    fn from_seeks(seeks: &[f64], revolution: Span) -> Self {
        let step = Span::from_ns((revolution.as_ns() / STEPS).max(1));
        let longest = seeks.iter().copied().fold(0.0, f64::max);
        let steps = (2.0 * longest / step.as_ns() as f64).ceil() as u64;
        let ns = |span: Span| span.as_ns() as f64;
        let fit = |steps: u64| fit(seeks, ns(step * steps), ns(revolution));
        Self {
            step,
            revolution,
            fits: (0..=steps).map(fit).collect(),
        }
    }

    /// Returns the area from `distance` cylinders away with `left` remaining, in whole disks;
    /// negative where the fit extrapolates.
    fn reachable(&self, left: Span, distance: u32) -> f64 {
        let last = self.fits.len() - 1;
        let remaining = left.or_zero();
        let steps = (remaining.as_ns() / self.step.as_ns()) as usize;
        let fit = self.fits[steps.min(last)];
        let more = (remaining - self.step * last as u64).or_zero();
        let disks = more.as_ns() as f64 / self.revolution.as_ns() as f64;
        fit.level + fit.bend * f64::from(distance).powi(2) + disks
    }
}

/// Returns `count` evenly spread numbers below `end`, or all of them if there are fewer.
fn spread(end: u32, count: u32) -> impl Iterator<Item = u32> {
    let count = count.min(end);
    (0..count).map(move |i| (u64::from(i) * u64::from(end) / u64::from(count)) as u32)
}

/// Fits the area by least squares. The forced request is in the middle, far from the edges, and the
/// head starts up to half the disk away. Starts from which nothing can be reached are left out,
/// because the paper's parabolas end there.
fn fit(seeks: &[f64], left: f64, revolution: f64) -> Quadratic {
    let cylinders = seeks.len() as u32;
    let starts = spread(cylinders.div_ceil(2), STARTS);
    let area = |distance| area(seeks, left, revolution, distance);
    let areas = starts.map(|distance| (f64::from(distance).powi(2), area(distance)));
    let points: Vec<(f64, f64)> = areas.filter(|&(_, area)| area > 0.0).collect();
    let count = points.len().max(1) as f64;
    let mean = |value: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / count;
    let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
    let variance = mean(&|p| (p.0 - x).powi(2));
    let covariance = mean(&|p| (p.0 - x) * (p.1 - y));
    let bend = if variance > 0.0 {
        covariance / variance
    } else {
        0.0
    };
    let level = y - bend * x;
    Quadratic { level, bend }
}

/// Computes the area: the mean, over sampled cylinders, of the revolutions that the head can spend
/// there. A stay of several revolutions counts in full: no new sectors pass, but there is more
/// choice.
fn area(seeks: &[f64], left: f64, revolution: f64, distance: u32) -> f64 {
    let cylinders = seeks.len() as u32;
    let end = cylinders / 2;
    let start = end - distance.min(end);
    let seek = |from: u32, to: u32| seeks[from.abs_diff(to) as usize];
    let stays = spread(cylinders, STOPS).map(|stop| {
        let stay = left - seek(start, stop) - seek(stop, end);
        (stay / revolution).max(0.0)
    });
    stays.sum::<f64>() / f64::from(cylinders.min(STOPS))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the seek times of a drive with 101 cylinders whose arm takes 0.1 ms per cylinder.
    fn seeks() -> Vec<f64> {
        (0..101).map(|d| f64::from(d) * 1e5).collect()
    }

    #[test]
    fn the_area_of_a_steady_arm_is_a_trapezium() {
        // From the end itself with 6 ms left: 6 ms, less 0.2 ms for each cylinder away, up to 29 on
        // either side: (6 + 2 * (5.8 + 5.6 + ... + 0.2)) / 10 / 101, if all were sampled.
        let exact = (6.0 + 2.0 * (0.2 * 29.0 * 30.0 / 2.0)) / 10.0 / 101.0;
        let found = area(&seeks(), 6e6, 1e7, 0);
        assert!((found - exact).abs() < 0.005, "{found}, {exact}");
        // Each additional revolution adds the whole disk once the farthest cylinder can be reached.
        let more = area(&seeks(), 3.1e7, 1e7, 0) - area(&seeks(), 2.1e7, 1e7, 0);
        assert!((more - 1.0).abs() < 1e-9, "{more}");
        // There is only just enough time to get there.
        assert_eq!(area(&seeks(), 1e6, 1e7, 10), 0.0);
    }

    /// Compares the area with a count of the 0.1 ms sectors that begin between arrival at and
    /// departure from each of 101 cylinders.
    #[test]
    fn the_area_matches_a_count_of_sectors_for_any_gap() {
        let revolution = Span::from_ms(10.0);
        let area = Area::from_seeks(&seeks(), revolution);
        for revolutions in 1..12 {
            let left = revolution * revolutions;
            for distance in [0, 20, 50] {
                let arrive = |place: u32| 0.1 * f64::from(place.abs_diff(50 - distance));
                let leave = |place: u32| left.as_ms() - 0.1 * f64::from(place.abs_diff(50));
                let sectors = (0..101).flat_map(|place| {
                    let begins = (0..1200).map(|sector| f64::from(sector) * 0.1);
                    begins.filter(move |t| (arrive(place)..leave(place)).contains(t))
                });
                let counted = sectors.count() as f64 / 100.0 / 101.0;
                let found = area.reachable(left, distance);
                let error = (found - counted).abs();
                assert!(error < 0.06, "{found}, {counted}, {left:?}");
            }
        }
    }

    #[test]
    fn a_fit_falls_with_distance_and_grows_with_time() {
        let fits = [3e6, 6e6, 9e6, 12e6, 15e6].map(|left| fit(&seeks(), left, 1e7));
        assert!(fits.iter().all(|fit| fit.bend < 0.0), "{fits:?}");
        assert!(fits.is_sorted_by(|a, b| a.level < b.level), "{fits:?}");
    }

    #[test]
    fn spread_numbers_stay_below_the_end() {
        assert!(spread(3, 16).eq(0..3));
        assert!(spread(100, 4).eq([0, 25, 50, 75]));
    }
}
