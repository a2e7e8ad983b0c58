//! Compares corrections with the values that were set.

use diskarm_core::spec;

use super::*;

const CYLINDERS: u32 = 2051;

fn mechanics() -> Mechanics {
    let entry = diskarm_drives::find("hp-c2247").expect("a drive in the catalogue");
    let spec = spec::parse(entry.text, entry.name).expect("a valid specification");
    spec.mechanics
}

/// Returns a curve that adds `(k mod 5 - 2)` tenths of a millisecond at knot `k`.
fn corrected_curve() -> Curve {
    let mut curve = Curve::new(&mechanics(), Op::Write, CYLINDERS);
    for (k, ms) in curve.added_ms.iter_mut().enumerate() {
        *ms = 0.1 * ((k % 5) as f64 - 2.0);
    }
    curve
}

/// Returns the correction at `d`, from the two knots around it.
fn interpolated(curve: &Curve, d: u32) -> f64 {
    let ends: Vec<(f64, f64)> = curve
        .knots
        .iter()
        .map(|&k| f64::from(k))
        .zip(curve.added_ms.clone())
        .collect();
    let d = f64::from(d);
    let knots = ends.windows(2).find(|w| w[0].0 <= d && d <= w[1].0);
    let pair = knots.expect("every distance is between two knots");
    pair[0].1 + (pair[1].1 - pair[0].1) * (d - pair[0].0) / (pair[1].0 - pair[0].0)
}

#[test]
fn there_are_two_knots_per_octave_up_to_the_full_stroke() {
    let curve = corrected_curve();
    assert_eq!(curve.knots[..9], [1, 2, 3, 4, 6, 8, 11, 16, 23]);
    assert_eq!(curve.knots.last(), Some(&(CYLINDERS - 1)));
    assert!(curve.knots.windows(2).all(|two| two[0] < two[1]));
    assert_eq!(curve.knots.len(), curve.added_ms.len());
}

#[test]
fn corrections_are_linear_between_knots() {
    let curve = corrected_curve();
    for (&knot, &ms) in curve.knots.iter().zip(&curve.added_ms) {
        assert_eq!(curve.added(knot), ms);
    }
    for d in 1..CYLINDERS {
        let (found, expected) = (curve.added(d), interpolated(&curve, d));
        assert!((found - expected).abs() < 1e-12, "{d}: {found}");
    }
}

/// The given curve is the specification's, to which settling and the difference between directions
/// are added.
#[test]
fn the_corrected_table_is_the_sum_of_the_given_curve_and_the_corrections() {
    let curve = corrected_curve();
    let mut uneven = mechanics();
    uneven.inward_seek = Span::from_ms(0.3);
    assert_eq!(Curve::new(&uneven, Op::Write, CYLINDERS).given, curve.given);
    let SeekCurve::Table(points) = curve.corrected() else {
        panic!("the corrected curve is not a table")
    };
    let listed: Vec<u32> = points.iter().map(|&(d, _)| d).collect();
    assert!(listed[..20].iter().copied().eq(1..=20));
    assert_eq!(listed.last(), Some(&(CYLINDERS - 1)));
    assert!(
        listed
            .windows(2)
            .all(|two| two[0] < two[1] && two[1] <= two[0] + two[0].div_ceil(16))
    );
    // worthington94 table A.3: ten entries, a square root below 300 cylinders, linear above.
    let given_ms = |d: u32| match d {
        1 => 2.89,
        10 => 4.99,
        11..300 => 3.81 + 0.33 * f64::from(d).sqrt(),
        _ => 7.75 + 0.0059 * f64::from(d),
    };
    for (d, time) in points.into_iter().filter(|&(d, _)| d == 1 || d >= 10) {
        let expected = given_ms(d) + interpolated(&curve, d);
        assert!(
            (time.as_ms() - expected).abs() < 2e-6,
            "{d}: {time}, not {expected} ms"
        );
    }
}

#[test]
fn the_shortest_seek_is_the_minimum_over_all_distances() {
    let mut curve = corrected_curve();
    // 2.89 - 0.2, against at least 3.68.
    assert_eq!(curve.shortest(), Span::from_ms(2.69));
    curve.added_ms[7] = -2.5;
    // Knot 7 is 16 cylinders: 3.81 + 0.33 * 4 - 2.5.
    assert_eq!(curve.knots[7], 16);
    assert_eq!(curve.shortest(), Span::from_ms(2.63));
    curve.added_ms[7] = -9.0;
    assert_eq!(curve.shortest(), Span::ZERO);
}
