//! What the drive does at random, as far as a trace shows it.

use diskarm_core::spec::{Mechanics, ReadAhead, SeekCurve, Spec};
use diskarm_core::units::Span;

use crate::calibrate::likelihood::{ARMS_MS, Noise, Row};
use crate::calibrate::search::EVIDENCE;
use crate::calibrate::trace::{KINDS, distances};

/// Sets the random behaviours of `spec` to those that `noise` has and `rows` show.
///
/// * Read-ahead fails if that makes the rows more likely than outliers alone.
/// * The arm scatters over those distances where it makes the rows more likely than the scatter of
///   rows of the same direction that do not move it. That one is noise of the measurement and of
///   the model, and the arm's variance is what is added to it.
/// * Reads that continue others and miss scatter if that makes them more likely than the scatter of
///   their direction and distance.
pub fn set(spec: &mut Spec, noise: &Noise, rows: &[Row], period_ms: f64) {
    let without = Noise {
        failures: 0.0,
        ..noise.clone()
    };
    let all = |noise: &Noise| noise.ln_likelihood(rows.iter(), period_ms);
    let reads_ahead = spec.buffer.read_ahead != ReadAhead::None;
    let fails = reads_ahead && all(noise) > all(&without) + EVIDENCE;
    // As it will be written: a percentage of four decimals.
    let share = (noise.failures * 1e6).round() / 1e6;
    spec.buffer.read_ahead_failures = if fails { share } else { 0.0 };
    let scatters = |kind: usize| {
        let own = || rows.iter().filter(|row| row.kind == kind);
        let ln = |arm_ms: f64| {
            let noise = Noise {
                arm_ms: [arm_ms; KINDS],
                ..noise.clone()
            };
            noise.ln_likelihood(own(), period_ms)
        };
        let (still, all) = (noise.arm_ms[kind % 2], noise.arm_ms[kind]);
        if all > still && ln(all) > ln(still) + EVIDENCE {
            (all * all - still * still).sqrt()
        } else {
            0.0
        }
    };
    spec.overheads.read_miss_in_sequence_scatter = in_sequence(noise, rows, period_ms);
    let cylinders = spec.geometry.cylinders;
    let [reads, writes] = [0, 1].map(|write| curve(write, cylinders, scatters));
    let Mechanics {
        seek_scatter,
        write_seek_scatter,
        ..
    } = &mut spec.mechanics;
    *write_seek_scatter = match (&reads, writes) {
        // Without a curve of their own, writes would have that of reads.
        (Some(_), None) => Some(SeekCurve::Table(vec![(1, Span::ZERO)])),
        (_, writes) => writes,
    };
    *seek_scatter = reads;
}

/// The standard deviation of read misses in sequence beyond that of other rows of their kind; zero
/// if they have none.
fn in_sequence(noise: &Noise, rows: &[Row], period_ms: f64) -> Span {
    let own: Vec<&Row> = rows.iter().filter(|row| row.missed_in_sequence()).collect();
    let scattering = |more_ms: f64| Noise {
        arm_ms: noise.arm_ms.map(|arm_ms| arm_ms.hypot(more_ms)),
        ..noise.clone()
    };
    let ln = |more_ms| scattering(more_ms).ln_likelihood(own.iter().copied(), period_ms);
    let tried = ARMS_MS.map(|more_ms| (ln(more_ms), more_ms));
    let best = tried.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    match best {
        Some((best, more_ms)) if best > ln(0.0) + EVIDENCE => Span::from_ms(more_ms),
        _ => Span::ZERO,
    }
}

/// The deviations of one direction, constant over the distances of each kind; `None` if there are
/// none.
fn curve(write: usize, cylinders: u32, scatters: impl Fn(usize) -> f64) -> Option<SeekCurve> {
    let mut points: Vec<(u32, Span)> = Vec::new();
    // Kinds 0 and 1 do not move the arm.
    for kind in (2 + write..KINDS).step_by(2) {
        let (first, last) = match distances(kind) {
            Some(distances) if distances.0 < cylinders => distances,
            _ => break,
        };
        let deviation = Span::from_ms(scatters(kind));
        points.push((first, deviation));
        if last > first {
            points.push((last, deviation));
        }
    }
    // What changes nothing between its neighbours says nothing.
    let all = points.clone();
    let inner = |k: usize| {
        k > 0 && k + 1 < all.len() && all[k - 1].1 == all[k].1 && all[k].1 == all[k + 1].1
    };
    let mut k = 0..;
    points.retain(|_| !k.next().is_some_and(inner));
    let any = points.iter().any(|&(_, deviation)| deviation > Span::ZERO);
    any.then_some(SeekCurve::Table(points))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // Distances that the drive does not have say nothing.
        assert_eq!(curve(0, 32, scatters), None);
    }
}
