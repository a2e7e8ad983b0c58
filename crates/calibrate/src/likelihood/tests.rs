//! Checks densities against numerical integrals and closed forms.

use diskarm_core::device::{Breakdown, Status};
use diskarm_core::request::{Op, Request};
use diskarm_core::units::{Instant, Lbn, SectorCount};

use super::*;

const PERIOD_MS: f64 = 11.0;

const NOISE: Noise = Noise {
    buffer_ms: 0.1,
    media_ms: 0.05,
    arm_ms: 0.2,
};

/// The predicted response, the same in all cases.
const RESPONSE_MS: f64 = 20.0;

fn predicted(outcome: Outcome, wait_ms: f64) -> Completion {
    let arrived = Instant::from_ns(1_000_000_000);
    let rotation = Span::from_ms(wait_ms);
    Completion {
        request: Request::new(0, Op::Read, Lbn(0), SectorCount(1)),
        arrived,
        at: arrived + Span::from_ms(RESPONSE_MS),
        breakdown: Breakdown {
            rotation,
            ..Breakdown::default()
        },
        outcome,
        status: Status::Good,
    }
}

/// Density of a response with this error, without the flat part.
fn density(predicted: &Completion, error_ms: f64, locked: bool) -> f64 {
    let response = Span::from_ms(RESPONSE_MS + error_ms);
    NOISE.density(predicted, response, locked, PERIOD_MS)
}

/// Whether the platter's angle is known, the outcome, and the predicted wait.
fn cases() -> Vec<(bool, Completion)> {
    let waits = [0.0, 0.1, 5.0, 10.9, PERIOD_MS];
    let mut all = Vec::new();
    for outcome in [
        Outcome::Hit,
        Outcome::Absorbed,
        Outcome::PartialHit,
        Outcome::Miss,
    ] {
        for wait_ms in waits {
            all.extend([true, false].map(|locked| (locked, predicted(outcome, wait_ms))));
        }
    }
    all
}

/// The integral by the midpoint rule, in steps of a microsecond.
fn integral(f: impl Fn(f64) -> f64, from_ms: f64, to_ms: f64) -> f64 {
    let steps = ((to_ms - from_ms) * 1e3).round() as u32;
    let at = |step: u32| from_ms + (f64::from(step) + 0.5) / 1e3;
    (0..steps).map(|step| f(at(step)) / 1e3).sum()
}

#[test]
fn every_density_has_an_integral_of_one() {
    for (locked, predicted) in cases() {
        let all = integral(|ms| density(&predicted, ms, locked), -30.0, 30.0);
        assert!((all - 1.0).abs() < 1e-4, "{all} {locked} {predicted:?}");
        // Including the flat part, which is spread over four revolutions.
        let whole = |ms: f64| {
            let response = Span::from_ms(RESPONSE_MS + ms);
            let ln = NOISE.ln_density(&predicted, response, locked, PERIOD_MS);
            ln.exp()
        };
        let all = integral(whole, -2.0 * PERIOD_MS, 2.0 * PERIOD_MS);
        assert!((all - 1.0).abs() < 1e-4, "{all} {locked} {predicted:?}");
    }
}

/// An arm that arrives just when its sector does misses it every other time, except for requests
/// that slip anyway: 1 % to either side, 2 % of a partial hit, whose wait carries no information.
#[test]
fn revolutions_are_lost_and_gained_at_the_edges_of_a_wait() {
    let share = |outcome, wait_ms, revolutions: f64| {
        let predicted = predicted(outcome, wait_ms);
        let about = revolutions * PERIOD_MS;
        integral(|ms| density(&predicted, ms, true), about - 2.0, about + 2.0)
    };
    let half = 0.01 + 0.96 / 2.0;
    // One standard deviation beyond the edge: 15.866 %.
    let tail = 0.01 + 0.96 * 0.158_655;
    for (outcome, wait_ms, early, late) in [
        (Outcome::Miss, 0.0, 0.01, half),
        (Outcome::Miss, 0.2, 0.01, tail),
        (Outcome::Miss, 5.0, 0.01, 0.01),
        (Outcome::Miss, PERIOD_MS - 0.2, tail, 0.01),
        (Outcome::Miss, PERIOD_MS, half, 0.01),
        (Outcome::PartialHit, 0.0, 0.02, 0.02),
        (Outcome::Hit, 0.0, 0.0, 0.0),
    ] {
        for (revolutions, should) in [(-1.0, early), (1.0, late), (0.0, 1.0 - early - late)] {
            let is = share(outcome, wait_ms, revolutions);
            assert!(
                (is - should).abs() < 1e-4,
                "{outcome:?} {wait_ms} {revolutions}: {is}"
            );
        }
    }
}

/// If the angle is unknown, the wait is anything from zero to a revolution.
#[test]
fn an_unknown_wait_is_even_between_soft_edges() {
    for outcome in [Outcome::Miss, Outcome::PartialHit] {
        let predicted = predicted(outcome, 4.0);
        let at = |wait_ms: f64| PERIOD_MS * density(&predicted, wait_ms - 4.0, false);
        for (wait_ms, should) in [
            (-1.0, 0.0),
            (-0.2, 0.158_655),
            (0.0, 0.5),
            (0.2, 0.841_345),
            (1.0, 1.0),
            (10.0, 1.0),
            (PERIOD_MS, 0.5),
            (PERIOD_MS + 0.2, 0.158_655),
            (12.0, 0.0),
        ] {
            let is = at(wait_ms);
            assert!((is - should).abs() < 1e-5, "{wait_ms}: {is}, not {should}");
        }
    }
}

/// Laplace: `exp(-|x| / s) / 2s`. Beyond the distance at which that falls below the flat part,
/// `s ln(0.98 / 2s * 4 periods / 0.02)` or 0.92 ms, a response is not explained.
#[test]
fn answers_of_the_buffer_are_sharp() {
    let predicted = predicted(Outcome::Hit, 0.0);
    for ms in [-0.3f64, -0.1, 0.0, 0.1, 0.3] {
        let should = (-ms.abs() * 10.0).exp() * 5.0;
        assert!((density(&predicted, ms, true) - should).abs() < 1e-9);
    }
    let explains = |ms: f64| {
        let response = Span::from_ms(RESPONSE_MS + ms);
        NOISE.explains(&predicted, response, true, PERIOD_MS)
    };
    let edge = 0.1 * (0.98 / 0.2 * 4.0 * PERIOD_MS / 0.02).ln();
    for side in [-1.0, 1.0] {
        assert!(explains(side * (edge - 0.001)));
        assert!(!explains(side * (edge + 0.001)));
    }
}
