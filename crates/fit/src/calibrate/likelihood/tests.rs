//! Checks densities against numerical integrals and closed forms.

use diskarm_core::device::{Breakdown, Status};
use diskarm_core::request::{Op, Request};
use diskarm_core::units::{Instant, Lbn, SectorCount};

use super::*;

const PERIOD_MS: f64 = 11.0;

const NOISE: Noise = Noise {
    buffer_ms: 0.1,
    media_ms: 0.05,
    arm_ms: [0.2; KINDS],
    failures: 0.0,
};

/// The predicted response in all cases.
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

fn row(predicted: &Completion, error_ms: f64, is_locked: bool) -> Row {
    Row {
        predicted: *predicted,
        explained: *predicted,
        response: Span::from_ms(RESPONSE_MS + error_ms),
        is_locked,
        kind: 0,
        relation: Relation::Sequential,
    }
}

/// Returns the density of a response with this error, without the flat part.
fn density(predicted: &Completion, error_ms: f64, is_locked: bool) -> f64 {
    NOISE.density(&row(predicted, error_ms, is_locked), PERIOD_MS)
}

/// Returns all outcomes with several predicted waits, each with the angle known and unknown.
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
            all.extend([true, false].map(|is_locked| (is_locked, predicted(outcome, wait_ms))));
        }
    }
    all
}

/// Calculates an integral by the midpoint rule, in steps of a microsecond.
fn integral(f: impl Fn(f64) -> f64, from_ms: f64, to_ms: f64) -> f64 {
    let steps = ((to_ms - from_ms) * 1e3).round() as u32;
    let at = |step: u32| from_ms + (f64::from(step) + 0.5) / 1e3;
    (0..steps).map(|step| f(at(step)) / 1e3).sum()
}

#[test]
fn every_density_has_an_integral_of_one() {
    for (is_locked, predicted) in cases() {
        let all = integral(|ms| density(&predicted, ms, is_locked), -30.0, 30.0);
        assert!((all - 1.0).abs() < 1e-4, "{all} {is_locked} {predicted:?}");
        // Including the flat part, which is spread over four revolutions.
        let full_density = |ms: f64| {
            NOISE
                .ln_density(&row(&predicted, ms, is_locked), PERIOD_MS)
                .exp()
        };
        let all = integral(full_density, -2.0 * PERIOD_MS, 2.0 * PERIOD_MS);
        assert!((all - 1.0).abs() < 1e-4, "{all} {is_locked} {predicted:?}");
    }
}

/// An arm that arrives together with its sector misses it half of the time, apart from requests
/// that slip anyway: 1 % in either direction, and 2 % of partial hits, whose wait is irrelevant.
#[test]
fn revolutions_are_lost_and_gained_at_the_edges_of_a_wait() {
    let share = |outcome, wait_ms, revolutions: f64| {
        let predicted = predicted(outcome, wait_ms);
        let mid = revolutions * PERIOD_MS;
        integral(|ms| density(&predicted, ms, true), mid - 2.0, mid + 2.0)
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
        for (revolutions, expected) in [(-1.0, early), (1.0, late), (0.0, 1.0 - early - late)] {
            let found = share(outcome, wait_ms, revolutions);
            assert!(
                (found - expected).abs() < 1e-4,
                "{outcome:?} {wait_ms} {revolutions}: {found}"
            );
        }
    }
}

/// If the angle is unknown, the wait is between zero and a revolution.
#[test]
fn an_unknown_wait_is_uniform_between_blurred_edges() {
    for outcome in [Outcome::Miss, Outcome::PartialHit] {
        let predicted = predicted(outcome, 4.0);
        let at = |wait_ms: f64| PERIOD_MS * density(&predicted, wait_ms - 4.0, false);
        for (wait_ms, expected) in [
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
            let found = at(wait_ms);
            assert!((found - expected).abs() < 1e-5, "{wait_ms}: {found}");
        }
    }
}

/// Laplace: `exp(-|x| / s) / 2s`. A response is not explained beyond the distance at which this
/// falls below the flat part, `s ln(0.98 / 2s * 4 periods / 0.02)` or 0.92 ms.
#[test]
fn responses_from_the_buffer_are_laplace_distributed() {
    let predicted = predicted(Outcome::Hit, 0.0);
    for ms in [-0.3f64, -0.1, 0.0, 0.1, 0.3] {
        let expected = (-ms.abs() * 10.0).exp() * 5.0;
        assert!((density(&predicted, ms, true) - expected).abs() < 1e-9);
    }
    let explains = |ms: f64| NOISE.explains(&row(&predicted, ms, true), PERIOD_MS);
    let edge = 0.1 * (0.98 / 0.2 * 4.0 * PERIOD_MS / 0.02).ln();
    for side in [-1.0, 1.0] {
        assert!(explains(side * (edge - 0.001)));
        assert!(!explains(side * (edge + 0.001)));
    }
}

/// The media served a read that should have been a hit, after some wait. Its density is the share
/// of failures, uniform over a revolution; other reads have the remaining share.
#[test]
fn a_failed_read_may_end_at_any_angle() {
    let noise = Noise {
        failures: 0.03,
        ..NOISE
    };
    let hit = predicted(Outcome::Hit, 0.0);
    let failed = |waited_ms: f64| {
        // Without a wait, the media would have answered 8 ms later.
        let mut row = row(&hit, 8.0 + waited_ms, false);
        row.explained = predicted(Outcome::Miss, 4.0);
        row.explained.at = hit.at + Span::from_ms(8.0 + 4.0);
        assert!(row.has_failed());
        noise.density(&row, PERIOD_MS)
    };
    for (waited_ms, expected) in [(5.0, 0.03 / 11.0), (0.0, 0.015 / 11.0), (13.0, 0.0)] {
        assert!((failed(waited_ms) - expected).abs() < 1e-9, "{waited_ms}");
    }
    let served = noise.density(&row(&hit, 0.0, false), PERIOD_MS);
    assert!((served - 0.97 * 5.0).abs() < 1e-9);
}

/// 300 sequential reads that should be hits, of which 6 fail: (6 + 1/2) / (300 + 100). Only
/// sequential reads count.
#[test]
fn failures_are_counted_among_sequential_reads() {
    let mut rows = vec![row(&predicted(Outcome::Hit, 0.0), 0.01, false); 300];
    for row in &mut rows[..6] {
        row.explained = predicted(Outcome::Miss, 3.0);
    }
    let mut jump = rows[0];
    jump.relation = Relation::SameTrack;
    rows.extend([jump; 50]);
    let mut noise = Noise::UNKNOWN;
    noise.learn(&rows, PERIOD_MS);
    assert_eq!(noise.failures, 6.5 / 400.0);
}

/// Arrivals are normally distributed, with a deviation of 2.4 ms over long distances and 0.1 ms
/// over short ones. The quantiles of the distribution serve as a sample.
#[test]
fn the_arm_scatters_by_kind() {
    let quantiles = |deviation: f64| {
        (0..400).map(move |k| {
            let p = (f64::from(k) + 0.5) / 400.0;
            // The inverse of the distribution function, by bisection.
            let (mut low, mut high) = (-6.0, 6.0);
            for _ in 0..60 {
                let middle = (low + high) / 2.0;
                if normal(middle) < p {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            low * deviation
        })
    };
    // The arm arrives 2 ms before its sector on average, and loses a revolution if it is later.
    let rows = [(10, 2.4), (4, 0.1)]
        .into_iter()
        .flat_map(|(kind, deviation)| {
            quantiles(deviation).map(move |late_ms| {
                let lost = if late_ms > 2.0 { PERIOD_MS } else { 0.0 };
                let gained = if late_ms < 2.0 - PERIOD_MS {
                    PERIOD_MS
                } else {
                    0.0
                };
                let mut row = row(&predicted(Outcome::Miss, 2.0), lost - gained, true);
                row.kind = kind;
                row
            })
        });
    let mut noise = Noise::UNKNOWN;
    noise.learn(&rows.collect::<Vec<_>>(), PERIOD_MS);
    // A fifth of the rows lose a revolution, as expected for a deviation of 2.4 ms.
    assert_eq!(noise.arm_ms[10], 2.4);
    assert!(noise.arm_ms[4] < noise.arm_ms[10]);
}

fn ms(ms: f64) -> Span {
    Span::from_ms(ms)
}

/// Kinds 12 and 13 are reads and writes over 32 to 63 cylinders, on a drive with 100.
#[test]
fn a_kind_that_scatters_is_a_step_in_the_curve() {
    let scatters = |kind: usize| if kind == 12 { 1.5 } else { 0.0 };
    let steps = vec![
        (1, ms(0.0)),
        (31, ms(0.0)),
        (32, ms(1.5)),
        (63, ms(1.5)),
        (64, ms(0.0)),
        (127, ms(0.0)),
    ];
    assert_eq!(curve(0, 100, scatters), Some(SeekCurve::Table(steps)));
    assert_eq!(curve(1, 100, scatters), None);
    // Distances beyond the stroke are ignored.
    assert_eq!(curve(0, 32, scatters), None);
}
