//! Estimates of measured quantities, the effort of measurements, and least-squares lines.

use diskarm_core::units::Span;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    pub value: Span,
    /// Half the width of the 95 % confidence interval.
    pub uncertainty: Span,
    pub samples: u64,
}

impl std::ops::Sub for Estimate {
    type Output = Self;

    fn sub(self, less: Self) -> Self {
        Self {
            value: self.value - less.value,
            uncertainty: self.uncertainty + less.uncertainty,
            samples: self.samples + less.samples,
        }
    }
}

/// The effort of a measurement; `Normal` follows worthington96.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effort {
    Quick,
    #[default]
    Normal,
    /// More samples, at more places.
    Thorough,
}

impl Effort {
    /// Returns the value for this effort, given those for quick, normal and thorough.
    pub(crate) fn choose<T>(self, [quick, normal, thorough]: [T; 3]) -> T {
        match self {
            Self::Quick => quick,
            Self::Normal => normal,
            Self::Thorough => thorough,
        }
    }
}

impl std::fmt::Display for Effort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.choose(["quick", "normal", "thorough"]))
    }
}

/// A least-squares line through a stream of points. The weights of earlier points may decay.
///
/// Sums are relative to the means, so that long runs lose no precision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// Factor by which each new point reduces the weight of earlier ones.
    decay: f64,
    weight: f64,
    mean: (f64, f64),
    xx: f64,
    xy: f64,
    yy: f64,
    points: u64,
}

impl Line {
    /// Creates a line without points. Each point multiplies the weight of earlier ones by `decay`.
    pub fn new(decay: f64) -> Self {
        Self {
            decay,
            weight: 0.0,
            mean: (0.0, 0.0),
            xx: 0.0,
            xy: 0.0,
            yy: 0.0,
            points: 0,
        }
    }

    pub fn add(&mut self, x: f64, y: f64) {
        let before = self.weight * self.decay;
        self.weight = before + 1.0;
        let (dx, dy) = (x - self.mean.0, y - self.mean.1);
        let share = before / self.weight;
        self.mean.0 += dx / self.weight;
        self.mean.1 += dy / self.weight;
        self.xx = self.xx * self.decay + dx * dx * share;
        self.xy = self.xy * self.decay + dx * dy * share;
        self.yy = self.yy * self.decay + dy * dy * share;
        self.points += 1;
    }

    pub fn points(&self) -> u64 {
        self.points
    }

    /// Returns the slope. `prior` is the weight of a prior slope of zero, in squared units of x.
    pub fn slope(&self, prior: f64) -> f64 {
        match self.xx + prior {
            0.0 => 0.0,
            weight => self.xy / weight,
        }
    }

    /// Returns y at `x`, for the slope that [`Self::slope`] returns.
    pub fn value(&self, x: f64, prior: f64) -> f64 {
        self.mean.1 + self.slope(prior) * (x - self.mean.0)
    }

    /// Returns the standard deviation of the points from the line, given at least three points.
    pub fn scatter(&self) -> f64 {
        let left = self.yy - self.slope(0.0) * self.xy;
        (left.max(0.0) / (self.weight - 2.0).max(1.0)).sqrt()
    }

    /// Returns the standard deviation of the slope, given the points' deviation `scatter`.
    pub fn slope_deviation(&self, scatter: f64) -> f64 {
        scatter / self.xx.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_on_a_line_are_fitted_exactly() {
        let mut line = Line::new(1.0);
        for k in 0..20 {
            line.add(f64::from(k), 3.0 - 0.5 * f64::from(k));
        }
        assert!((line.slope(0.0) + 0.5).abs() < 1e-12);
        assert!((line.value(100.0, 0.0) + 47.0).abs() < 1e-9);
        assert!(line.scatter() < 1e-6);
    }

    #[test]
    fn slope_and_deviation_match_closed_forms() {
        // Points (0, 0), (1, 2), (2, 1): means 1 and 1, xx = 2, xy = 1, yy = 2; the residuals'
        // squares sum to 2 - 1/2 = 3/2 with one degree of freedom.
        let mut line = Line::new(1.0);
        for (x, y) in [(0.0, 0.0), (1.0, 2.0), (2.0, 1.0)] {
            line.add(x, y);
        }
        assert!((line.slope(0.0) - 0.5).abs() < 1e-12);
        assert!((line.scatter() - 1.5f64.sqrt()).abs() < 1e-12);
        let deviation = line.slope_deviation(line.scatter());
        assert!((deviation - (0.75f64).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn old_points_are_forgotten() {
        let mut line = Line::new(0.9);
        for k in 0..200 {
            let x = f64::from(k);
            line.add(x, if k < 100 { 0.0 } else { x });
        }
        assert!((line.slope(0.0) - 1.0).abs() < 0.01, "{}", line.slope(0.0));
    }
}
