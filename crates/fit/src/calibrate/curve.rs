//! Corrections to a seek curve.

use diskarm_core::mechanics::SeekTimes;
use diskarm_core::request::Op;
use diskarm_core::spec::{Mechanics, SeekCurve};
use diskarm_core::units::{Cylinder, Span};

/// A given seek curve and its corrections: piecewise linear between knots.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The given curve, by distance.
    given: Vec<Span>,
    /// Distances of the knots, ascending.
    pub knots: Vec<u32>,
    /// The corrections at the knots, in milliseconds.
    pub added_ms: Vec<f64>,
}

/// The number of knots per factor of two in distance.
const KNOTS_AN_OCTAVE: f64 = 2.0;

impl Curve {
    /// The curve of `mechanics` for `op`, without corrections.
    pub fn new(mechanics: &Mechanics, op: Op, cylinders: u32) -> Self {
        let arm = Mechanics {
            head_switch: Span::ZERO,
            write_settle: Span::ZERO,
            inward_seek: Span::ZERO,
            ..mechanics.clone()
        };
        let times = SeekTimes::new(&arm, cylinders);
        let way = |d: u32| (Cylinder(0), Cylinder(d));
        let given = (0..cylinders)
            .map(|d| times.total(op, way(d), false))
            .collect();
        let last = f64::from(cylinders - 1);
        let octaves = (0..).map(|k| (f64::from(k) / KNOTS_AN_OCTAVE).exp2().round());
        let mut knots: Vec<u32> = octaves
            .take_while(|&d| d < last)
            .map(|d| d as u32)
            .collect();
        knots.push(last as u32);
        knots.dedup();
        let added_ms = vec![0.0; knots.len()];
        Self {
            given,
            knots,
            added_ms,
        }
    }

    /// The correction at distance `d`, in milliseconds.
    fn added(&self, d: u32) -> f64 {
        let above = self.knots.partition_point(|&k| k < d);
        match (self.knots.get(above), above.checked_sub(1)) {
            (Some(&k), Some(below)) if k != d => {
                let from = self.knots[below];
                let share = f64::from(d - from) / f64::from(k - from);
                self.added_ms[below] * (1.0 - share) + self.added_ms[above] * share
            }
            (Some(_), _) => self.added_ms[above],
            (None, below) => below.map_or(0.0, |below| self.added_ms[below]),
        }
    }

    /// The corrected time over distance `d`.
    fn time(&self, d: u32) -> Span {
        (self.given[d as usize] + Span::from_ms(self.added(d))).or_zero()
    }

    /// The shortest of the corrected times.
    pub fn shortest(&self) -> Span {
        let times = (1..self.given.len() as u32).map(|d| self.time(d));
        times.min().unwrap_or(Span::ZERO)
    }

    /// By how many milliseconds the corrected curve falls from each knot to the next, where it
    /// falls more than the given one.
    pub fn falls_ms(&self) -> impl Iterator<Item = f64> {
        let time = |of: &dyn Fn(u32) -> Span, k: usize| of(self.knots[k]).as_ms();
        (1..self.knots.len()).map(move |k| {
            let given = |d: u32| self.given[d as usize];
            let fall = time(&|d| self.time(d), k - 1) - time(&|d| self.time(d), k);
            let given_fall = time(&given, k - 1) - time(&given, k);
            (fall - given_fall.max(0.0)).max(0.0)
        })
    }

    /// The corrected curve: every distance up to twenty, then fewer and fewer.
    pub fn corrected(&self) -> SeekCurve {
        let last = self.given.len() as u32 - 1;
        let mut points = Vec::new();
        let mut d = 1;
        while d < last {
            points.push((d, self.time(d)));
            d += (d / 16).max(1);
        }
        points.push((last, self.time(last)));
        SeekCurve::Table(points)
    }
}

#[cfg(test)]
mod tests;
