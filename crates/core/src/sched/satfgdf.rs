//! Shortest access time first with guided delayed forcing.
//!
//! # What it does
//! Like `satfdf` with one request forced: once the oldest has waited for `age`, it gets a deadline,
//! some revolutions after the earliest possible instant. Until then, of the requests after which
//! the deadline can still be met, the next is the one that leaves the largest area of the disk
//! within reach: the sum, over all cylinders, of the time that the head could spend there between
//! the request's end and the deadline.
//!
//! # Origin
//! jacobson91 section 5.1, figures 7 to 9: SATFGDF. This "area" depends on the remaining time and
//! the distance to the forced request's cylinder; for each remaining time it is a quadratic fitted
//! to the drive's minimum seek times when the policy is created, with no linear term and as if no
//! edge were near. Departures: the paper does not define "too old", the default is ours, and its
//! figure, which always forces, is `age=0s`; the forced request itself is taken only when nothing
//! else fits (the figure also compares its area, and does not say from where); a stay of several
//! revolutions counts in full (the paper does not say; counted once, the area of a long gap is the
//! whole disk wherever the head goes); the remaining time has a resolution of a 64th of a
//! revolution, not of a sector, as sectors differ between zones; and the deadline is checked on a
//! copy of the drive.
//!
//! # Cost
//! A scan of all pending requests; while it forces, two requests tried on copies of the drive for
//! each pending one. Memory: 16 bytes for each 64th of a revolution in two full seeks.
//!
//! # When it is bad
//! It sustains less throughput than SATF and ASATF (jacobson91 section 6.1).

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

/// Maximizes the part of the disk within reach.
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
            // The head must be there when the transfer begins.
            let (_, transfer) = after.positioning_and_transfer(to);
            let left = end.due - after.at - transfer;
            let distance = candidate.location.cylinder.distance(to.location.cylinder);
            let share = self.reachable(left, distance);
            if best.is_none_or(|(max, _)| share > max) {
                best = Some((share, index));
            }
        }
        best.map(|(_, index)| index)
    }
}

/// Resolution of the remaining time: steps per revolution.
const STEPS: i64 = 64;
/// Maximum number of starting cylinders that a fit samples.
const STARTS: u32 = 16;
/// Maximum number of cylinders on the way that a fit samples.
const STOPS: u32 = 64;

/// The area of the disk that can pass under a head that must be elsewhere by a deadline, as a
/// function of remaining time and distance (jacobson91 section 5.1, figures 8 and 9): for each
/// remaining time a quadratic in the distance, without a linear term, fitted to the drive's seek
/// times. Once there is time for two of the longest seeks, every cylinder counts, and each further
/// revolution adds one whole disk: no fit is needed there.
#[derive(Clone, Debug)]
struct Area {
    step: Span,
    revolution: Span,
    /// For 0, 1, 2... steps of remaining time, up to two of the longest seeks.
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

    /// Fits seek times, in nanoseconds, over 0, 1, 2... cylinders.
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

/// Fits the area by least squares over starts up to half the disk away from the middle, where the
/// forced request is placed because it is farthest from the edges. Starts from which nothing can be
/// reached are left out, as the paper's parabolas end there.
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

/// Computes the exact area: for each cylinder on the way, the revolutions that the head can spend
/// there between arriving and having to leave. A stay of several revolutions counts in full: it
/// passes no new sectors, but offers more choices.
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

    /// Returns a drive of 101 cylinders whose arm crosses one in 0.1 ms, at 10 ms per revolution.
    fn seeks() -> Vec<f64> {
        (0..101).map(|d| f64::from(d) * 1e5).collect()
    }

    #[test]
    fn the_area_of_a_steady_arm_is_a_trapezium() {
        // From the end itself with 6 ms to go: 6 ms less 0.2 ms for each cylinder away, up to 29 to
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

    /// Oracle: for each of 101 places, the sectors of 0.1 ms that begin between the arrival there
    /// and the departure, counted one by one.
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
