use super::*;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

fn uniform(generator: &mut Pcg64Mcg) -> f64 {
    (generator.next_u64() >> 11) as f64 / 2f64.powi(53)
}

/// Simulates trials with a revolution of 1000 and a threshold whose distribution is logistic.
fn simulate_trials(
    threshold: f64,
    spread: f64,
    trials: u32,
    guess: Option<(f64, f64)>,
) -> ThresholdEstimate {
    let mut generator = Pcg64Mcg::seed_from_u64(7);
    let mut found = Threshold {
        guess,
        ..Threshold::default()
    };
    for _ in 0..trials {
        let at = found.aim(1.0, uniform(&mut generator)) + 40.0 * (uniform(&mut generator) - 0.5);
        let u = uniform(&mut generator);
        let needed = threshold + spread * (u / (1.0 - u)).ln();
        let round = ((needed - at) / 1000.0).ceil();
        found.add(at + (round - 1.0) * 1000.0, at + round * 1000.0);
    }
    found.found()
}

#[test]
fn a_sharp_threshold_is_bracketed() {
    for guess in [None, Some((2_340.0, 20.0)), Some((100.0, 20.0))] {
        let found = simulate_trials(2_345.0, 0.0, 30, guess);
        let off = (found.median - 2_345.0).abs();
        assert!(
            off <= found.uncertainty && found.uncertainty < 2.0,
            "{found:?}"
        );
    }
}

#[test]
fn a_varying_threshold_has_the_right_percentiles() {
    let found = simulate_trials(2_345.0, 30.0, 1_000, None);
    let off = (found.median - 2_345.0).abs();
    assert!(
        off < found.uncertainty && found.uncertainty < 6.0,
        "{found:?}"
    );
    let off_upper = (found.upper - (2_345.0 + 2.944 * 30.0)).abs();
    assert!(off_upper < 20.0, "{found:?}");
}

#[test]
fn agreement_by_chance_is_not_trusted() {
    let mut generator = Pcg64Mcg::seed_from_u64(11);
    for spread in [0.0, 10e3, 30e3] {
        let (mut outside, mut trials) = (0, 0);
        for _ in 0..200 {
            let mut found = Threshold::near(0.0, 1e5).demand(3).varying();
            while found.missed.len() < 100 && !found.is_done(8e3) {
                let aim = found.aim(8e3, uniform(&mut generator));
                let at = aim + 1e5 * (uniform(&mut generator) - 0.5);
                let u = uniform(&mut generator);
                let needed = spread * (u / (1.0 - u)).ln();
                let late = ((needed - at) / 1e7).ceil();
                found.add(at + (late - 1.0) * 1e7, at + late * 1e7);
            }
            let result = found.found();
            outside += u32::from(result.median.abs() > result.uncertainty);
            trials += result.samples;
        }
        assert!(outside <= 16, "spread {spread}: {outside} of 200 outside");
        assert!(trials > 200 * 12, "{trials}");
    }
}

/// A threshold that may vary is unbounded if all trials missed or all caught.
#[test]
fn an_unbounded_threshold_is_not_reported() {
    for revolution in [4e6, 6e6, 11e6, 17e6] {
        for few in 1..=6 {
            let mut threshold = Threshold::near(0.0, 1e5).varying();
            for _ in 0..few {
                threshold.add(-revolution, 0.0);
            }
            let found = threshold.found();
            assert!(!found.is_bounded(), "{few} of {revolution}: {found:?}");
        }
        let mut threshold = Threshold::near(0.0, 1e5).varying();
        for k in 1..=3 {
            threshold.add(-revolution, 2e4);
            threshold.add(-2e4, revolution);
            let found = threshold.found();
            assert_eq!(found.is_bounded(), k > 1, "{k} on each side: {found:?}");
        }
    }
    assert!(simulate_trials(2_345.0, 0.0, 30, None).is_bounded());
}

#[test]
fn one_outlier_in_twenty_is_ignored() {
    let mut threshold = Threshold::default();
    for k in 0..30 {
        let k = f64::from(k);
        threshold.add(100.0 - k, 101.0 + k);
    }
    threshold.add(500.0, 1500.0);
    assert_eq!(threshold.contradictions(0.0), 1);
    assert_eq!(threshold.found().median, 100.5);
    for _ in 0..5 {
        threshold.add(500.0, 1500.0);
    }
    assert!(threshold.found().upper > 110.0);
}
