//! The area of the disk that a head can reach on its way to a place where it must be by a deadline.

use super::{Outlook, Shape};
use crate::units::Span;

/// Resolution of the remaining time: steps per revolution.
const STEPS: i64 = 64;
/// Maximum numbers of starting places, and of places on the way, that a fit samples.
const STARTS: u32 = 16;
const PLACES: u32 = 64;

/// How much of the disk can pass under a head that must be elsewhere by a deadline, as a function
/// of remaining time and distance (jacobson91 section 5.1, figures 8 and 9): for each remaining
/// time a quadratic in the distance, without a linear term, fitted to the drive's seek times. Once
/// there is time for the two longest seeks, every place counts, and each further revolution adds
/// one whole disk: no fit is needed there.
#[derive(Clone, Debug)]
pub(super) struct Area {
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
    /// Fits the minimum seek times of `outlook`.
    pub fn new<O: Outlook>(shape: Shape, outlook: &O) -> Self {
        let seeks: Vec<f64> = (0..shape.cylinders)
            .map(|distance| outlook.min_seek(distance).as_ns() as f64)
            .collect();
        Self::of(&seeks, shape.revolution)
    }

    /// Fits seek times, in nanoseconds, over 0, 1, 2... cylinders.
    fn of(seeks: &[f64], revolution: Span) -> Self {
        let step = Span::from_ns((revolution.as_ns() / STEPS).max(1));
        let longest = seeks.iter().copied().fold(0.0, f64::max);
        let steps = (2.0 * longest / step.as_ns() as f64).ceil() as u64;
        let fit = |steps: u64| {
            let left = (step * steps).as_ns() as f64;
            fit(seeks, left, revolution.as_ns() as f64)
        };
        Self {
            step,
            revolution,
            fits: (0..=steps).map(fit).collect(),
        }
    }

    /// The area from `distance` cylinders away with `left` remaining, in whole disks; negative
    /// where the fit extrapolates.
    pub(super) fn reachable(&self, left: Span, distance: u32) -> f64 {
        let last = self.fits.len() - 1;
        let left = left.or_zero();
        let steps = (left.as_ns() / self.step.as_ns()) as usize;
        let fit = self.fits[steps.min(last)];
        let more = (left - self.step * last as u64).or_zero();
        let disks = more.as_ns() as f64 / self.revolution.as_ns() as f64;
        fit.level + fit.bend * f64::from(distance).powi(2) + disks
    }
}

/// `count` evenly spread numbers below `end`, or all of them if there are fewer.
fn spread(end: u32, count: u32) -> impl Iterator<Item = u32> {
    let count = count.min(end);
    (0..count).map(move |i| (u64::from(i) * u64::from(end) / u64::from(count)) as u32)
}

/// Least-squares fit of the area over starts up to half the disk away from the middle, where the
/// forced request is placed because it is farthest from the edges. Starts from which nothing can be
/// reached are left out, as the paper's parabolas end there.
fn fit(seeks: &[f64], left: f64, revolution: f64) -> Quadratic {
    let cylinders = seeks.len() as u32;
    let starts = spread(cylinders.div_ceil(2), STARTS);
    let points = starts.map(|distance| {
        let area = area(seeks, left, revolution, distance);
        (f64::from(distance).powi(2), area)
    });
    let points: Vec<(f64, f64)> = points.filter(|&(_, area)| area > 0.0).collect();
    let count = points.len().max(1) as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
    let variance = mean(&|p| (p.0 - x).powi(2));
    let together = mean(&|p| (p.0 - x) * (p.1 - y));
    let bend = if variance > 0.0 {
        together / variance
    } else {
        0.0
    };
    Quadratic {
        level: y - bend * x,
        bend,
    }
}

/// The exact area: for each place on the way, the revolutions that the head can spend there between
/// arriving and having to leave. A stay of several revolutions counts in full: it passes no new
/// sectors, but offers more choices.
fn area(seeks: &[f64], left: f64, revolution: f64, distance: u32) -> f64 {
    let cylinders = seeks.len() as u32;
    let end = cylinders / 2;
    let start = end - distance.min(end);
    let seek = |from: u32, to: u32| seeks[from.abs_diff(to) as usize];
    let stays = spread(cylinders, PLACES).map(|place| {
        let stay = left - seek(start, place) - seek(place, end);
        (stay / revolution).max(0.0)
    });
    let places = cylinders.min(PLACES);
    stays.sum::<f64>() / f64::from(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A drive of 101 cylinders whose arm crosses one in 0.1 ms, at 10 ms per revolution.
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
        // Each additional revolution adds the whole disk once there is time for the farthest place.
        let more = area(&seeks(), 3.1e7, 1e7, 0) - area(&seeks(), 2.1e7, 1e7, 0);
        assert!((more - 1.0).abs() < 1e-9, "{more}");
        // Only just enough time to get there.
        assert_eq!(area(&seeks(), 1e6, 1e7, 10), 0.0);
    }

    /// Oracle: for each of 101 places, the sectors of 0.1 ms that begin between the arrival there
    /// and the departure, counted one by one.
    #[test]
    fn the_area_is_what_a_count_of_sectors_finds_however_long_the_gap() {
        let revolution = Span::from_ms(10.0);
        let area = Area::of(&seeks(), revolution);
        for revolutions in 1..12 {
            let left = revolution * revolutions;
            for distance in [0, 20, 50] {
                let arrive = |place: u32| 0.1 * f64::from(place.abs_diff(50 - distance));
                let leave = |place: u32| left.as_ms() - 0.1 * f64::from(place.abs_diff(50));
                let sectors = (0..101).map(|place| {
                    let begins = (0..1200).map(|sector| f64::from(sector) * 0.1);
                    begins
                        .filter(|t| (arrive(place)..leave(place)).contains(t))
                        .count()
                });
                let counted = sectors.sum::<usize>() as f64 / 100.0 / 101.0;
                let found = area.reachable(left, distance);
                assert!(
                    (found - counted).abs() < 0.06,
                    "{found}, {counted}, {left:?}"
                );
            }
        }
    }

    #[test]
    fn a_fit_falls_with_distance_and_grows_with_time() {
        let fits: Vec<Quadratic> = (1..6)
            .map(|i| fit(&seeks(), f64::from(i) * 3e6, 1e7))
            .collect();
        assert!(fits.iter().all(|fit| fit.bend < 0.0), "{fits:?}");
        assert!(fits.is_sorted_by(|a, b| a.level < b.level), "{fits:?}");
    }

    #[test]
    fn a_spread_keeps_to_its_end() {
        assert!(spread(3, 16).eq(0..3));
        assert!(spread(100, 4).eq([0, 25, 50, 75]));
    }
}
