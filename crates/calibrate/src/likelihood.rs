//! The likelihood of a measured trace under a specification.
//!
//! Each request is predicted from the previous rows; its response then has a density:
//!
//! * Errors of buffered requests are Laplace-distributed: sharp, with heavy tails.
//! * Errors of media accesses are too if the platter's angle is known, around the predicted instant
//!   and one revolution before and after it. The weights of these three follow from the predicted
//!   rotational wait: an arm with scatter [`Noise::arm_ms`] that arrives just before its sector
//!   misses it almost half the time.
//! * If the angle is unknown, the wait is uniform over a revolution, with edges as soft as the arm
//!   scatters. All information about overheads and seeks is in these edges.
//!
//! A few requests in a hundred follow no model. They have a flat density, so that none of them
//! outweighs the rest.

use diskarm_core::device::{Completion, Outcome};
use diskarm_core::units::Span;

/// Share of outliers among requests.
const STRAY: f64 = 0.02;

/// Probability that a request loses or gains a revolution for another reason than its own wait.
const SLIP: f64 = 0.02;

/// How measurements scatter around a correct prediction, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Mean absolute error of responses from the buffer.
    pub buffer_ms: f64,
    /// Mean absolute error of completions of media accesses around their predicted angle.
    pub media_ms: f64,
    /// Standard deviation of the arm's arrival.
    pub arm_ms: f64,
}

impl Noise {
    /// The scatter assumed before anything is known.
    pub const UNKNOWN: Self = Self {
        buffer_ms: 0.15,
        media_ms: 0.15,
        arm_ms: 0.3,
    };

    /// Logarithm of the density (per millisecond) of a `response`, given what was `predicted`, on a
    /// platter of `period_ms` whose angle is known or not.
    pub fn ln_density(
        &self,
        predicted: &Completion,
        response: Span,
        locked: bool,
        period_ms: f64,
    ) -> f64 {
        let explained = self.density(predicted, response, locked, period_ms);
        ((1.0 - STRAY) * explained + stray_density(period_ms)).ln()
    }

    /// Whether a `response` is more likely to be what was `predicted` than an outlier.
    pub fn explains(
        &self,
        predicted: &Completion,
        response: Span,
        locked: bool,
        period_ms: f64,
    ) -> bool {
        let explained = self.density(predicted, response, locked, period_ms);
        (1.0 - STRAY) * explained > stray_density(period_ms)
    }

    /// Density of a response that is not an outlier.
    fn density(&self, predicted: &Completion, response: Span, locked: bool, period_ms: f64) -> f64 {
        let error_ms = (response - predicted.response()).as_ms();
        match predicted.outcome {
            Outcome::Hit | Outcome::Absorbed => laplace(error_ms, self.buffer_ms),
            Outcome::PartialHit if locked => self.about_an_angle(error_ms, period_ms, [SLIP; 2]),
            Outcome::Miss if locked => {
                let wait_ms = predicted.breakdown.rotation.as_ms();
                let late = normal(-wait_ms / self.arm_ms);
                let early = normal((wait_ms - period_ms) / self.arm_ms);
                let slip = |chance: f64| (1.0 - 2.0 * SLIP) * chance + SLIP / 2.0;
                self.about_an_angle(error_ms, period_ms, [slip(early), slip(late)])
            }
            Outcome::Miss | Outcome::PartialHit => {
                let waited_ms = error_ms + predicted.breakdown.rotation.as_ms();
                let begun = normal(waited_ms / self.arm_ms);
                let over = normal((waited_ms - period_ms) / self.arm_ms);
                (begun - over).max(0.0) / period_ms
            }
        }
    }

    /// Density around the predicted angle, and one revolution before and after it.
    fn about_an_angle(&self, error_ms: f64, period_ms: f64, [early, late]: [f64; 2]) -> f64 {
        let density = |off: f64| laplace(error_ms - off, self.media_ms);
        (1.0 - early - late) * density(0.0)
            + early * density(-period_ms)
            + late * density(period_ms)
    }
}

/// Density of outliers: uniform over four revolutions.
fn stray_density(period_ms: f64) -> f64 {
    STRAY / (4.0 * period_ms)
}

fn laplace(x: f64, scale: f64) -> f64 {
    (-x.abs() / scale).exp() / (2.0 * scale)
}

/// The cumulative distribution function of the normal distribution.
fn normal(z: f64) -> f64 {
    0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}

#[cfg(test)]
mod tests;
