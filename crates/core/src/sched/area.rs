//! The area of the disk that a head can reach on its way to a place where it must be by a deadline.

use super::{Outlook, Shape};
use crate::units::Span;

/// Resolution of the remaining time: steps per revolution.
const STEPS: u64 = 64;
/// Maximum numbers of starting places, and of places on the way, that a fit samples.
const STARTS: u32 = 16;
const PLACES: u32 = 64;

/// How much of the disk can pass under a head that must be elsewhere by a deadline, as a function
/// of remaining time and distance (jacobson91 section 5.1, figures 8 and 9): for each remaining
/// time a quadratic in the distance, without a linear term, fitted to the drive's seek times.
#[derive(Clone, Debug)]
pub(super) struct Area {
    step: Span,
    /// For 0, 1, 2... steps of remaining time.
    fits: Vec<Quadratic>,
}

/// `level + bend * distance²`, in whole disks; distances in cylinders.
#[derive(Clone, Copy, Debug)]
struct Quadratic {
    level: f64,
    bend: f64,
}

impl Area {
    /// Fits remaining times up to `revolutions`, with the minimum seek times of `outlook`.
    pub fn new<O: Outlook>(shape: Shape, outlook: &O, revolutions: u64) -> Self {
        let seeks: Vec<f64> = (0..shape.cylinders)
            .map(|distance| outlook.least(distance).as_ns() as f64)
            .collect();
        let revolution = shape.revolution.as_ns();
        let step = Span::from_ns((revolution / STEPS as i64).max(1));
        let fit = |steps: u64| {
            let left = (step * steps).as_ns() as f64;
            fit(&seeks, left, revolution as f64)
        };
        Self {
            step,
            fits: (0..=revolutions * STEPS).map(fit).collect(),
        }
    }

    /// The area from `distance` cylinders away with `left` remaining, in whole disks; negative
    /// where the fit extrapolates.
    pub(super) fn reachable(&self, left: Span, distance: u32) -> f64 {
        let steps = (left.or_zero().as_ns() / self.step.as_ns()) as usize;
        let fit = self.fits[steps.min(self.fits.len() - 1)];
        fit.level + fit.bend * f64::from(distance).powi(2)
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
