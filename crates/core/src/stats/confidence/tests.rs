use super::*;

fn series_of(ns: impl IntoIterator<Item = u64>) -> BatchMeans {
    let mut series = BatchMeans::default();
    for ns in ns {
        series.record(Span::from_ns(ns as i64));
    }
    series
}

/// Jagged waves of two periods plus a square wave, in nanoseconds.
fn jagged(i: u64) -> u64 {
    let wave = if i / 50 % 2 == 1 { 2_000_000 } else { 0 };
    5_000_000 + i * 7919 % 1009 * 1000 + wave + i * i % 97 * 10_000
}

#[test]
fn half_widths_match_an_independent_implementation() {
    // numpy 2 and scipy 1.17.1, x the series above, k batches of length l:
    // b = x[:k*l].reshape(k, l).mean(axis=1); t.ppf(0.975, k - 1) * scipy.stats.sem(b)
    for (spans, batches, length, half_width) in [
        (512, 32, 16, 316_637.452_432_072_6),
        (1_000, 62, 16, 216_682.437_347_009_63),
        (10_000, 39, 256, 35_888.059_498_940_87),
    ] {
        let series = series_of((0..spans).map(jagged));
        assert_eq!((series.count, series.length), (batches, length));
        let half: f64 = series.half_width_95().unwrap().as_ns() as f64;
        assert!((half - half_width).abs() <= 1.0, "{half} {half_width}");
    }
}

/// The interval of a mean difference equals the interval of the mean of the differences.
#[test]
fn common_effects_cancel_out() {
    let longer = |i: u64| jagged(i) + i * 31 % 17 * 1_000;
    let [more, base] = [
        series_of((0..5_000).map(longer)),
        series_of((0..5_000).map(jagged)),
    ];
    let differences = series_of((0..5_000).map(|i| longer(i) - jagged(i)));
    let half = more.half_width_95_less(1.0, &base).expect("an interval");
    let expected = differences.half_width_95().expect("an interval");
    assert!((half - expected).as_ns().abs() <= 1, "{half} {expected}");
    assert!(half * 100 < base.half_width_95().expect("an interval"));
    let fewer = series_of((0..4_999).map(jagged));
    assert_eq!(more.half_width_95_less(1.0, &fewer), None);
    let thrice = series_of((0..5_000).map(|i| 3 * jagged(i)));
    assert_eq!(thrice.half_width_95_less(3.0, &base), Some(Span::ZERO));
}

#[test]
fn batches_match_a_series_cut_afterwards() {
    for spans in [1, 63, 64, 65, 127, 128, 1_000, 4_095, 4_096, 99_999] {
        let series = series_of((0..spans).map(jagged));
        let all: Vec<u64> = (0..spans).map(jagged).collect();
        let sum = |batch: &[u64]| batch.iter().map(|&ns| u128::from(ns)).sum::<u128>();
        let cut = all.chunks_exact(series.length as usize);
        assert_eq!(series.incomplete, sum(cut.remainder()));
        assert_eq!(series.missing, series.length - cut.remainder().len() as u64);
        let sums: Vec<u128> = cut.map(sum).collect();
        assert_eq!(&series.sums[..series.count], sums);
        assert!(series.count < BATCHES && (series.count >= 32 || series.length == 1));
    }
}

#[test]
fn merging_whole_batches_matches_recording_everything() {
    // 40 batches of 64, then 50 of 32, which become 25 of 64. Joining all 65 gives 20 and 12 of
    // 128; the odd batch of the second series is lost.
    let (first, second) = (0..2_560, 2_560..4_160);
    let mut merged = series_of(first.clone().map(jagged));
    merged.merge(&series_of(second.clone().map(jagged)));
    let series = series_of(first.chain(second).map(jagged));
    assert_eq!((merged.count, merged.length), (32, 128));
    assert_eq!(merged.sums, series.sums);
}

#[test]
fn an_odd_batch_keeps_filling() {
    // 33 batches of 64 become 16 of 128 and one that is half full.
    let mut merged = series_of((0..2_112).map(jagged));
    merged.merge(&series_of((0..8_192 * 2).map(jagged)));
    assert_eq!(merged.length, 512);
    assert_eq!(merged.count, 4 + 32);
    assert_eq!(merged.missing, 512 - 64);
    let tail: u128 = (2_048..2_112).map(|i| u128::from(jagged(i))).sum();
    assert_eq!(merged.incomplete, tail);
}

#[test]
fn a_short_series_has_no_interval() {
    assert_eq!(series_of((0..511).map(jagged)).half_width_95(), None);
    assert_eq!(series_of([5; 512]).half_width_95(), Some(Span::ZERO));
}

#[test]
fn half_widths_of_independent_values_match_an_independent_implementation() {
    // scipy 1.17.1, x the values: t.ppf(0.975, len(x) - 1) * scipy.stats.sem(x).
    let values = [
        48.47, 48.31, 48.95, 48.6, 48.12, 49.03, 48.44, 48.7, 48.25, 48.88,
    ];
    for (count, half_width) in [
        (2, 1.016_496_378_893_953_8),
        (3, 0.827_383_202_006_764_2),
        (5, 0.389_395_807_366),
        (10, 0.222_292_034_848_195_5),
    ] {
        let found = half_width_95_of_numbers(&values[..count]).unwrap();
        let error = found / half_width - 1.0;
        assert!(error.abs() < 1e-6, "{found} {half_width}");
    }
    assert_eq!(half_width_95_of_numbers(&values[..1]), None);
    assert_eq!(half_width_95_of_numbers(&[]), None);
}

/// Returns the probability of `-t..t`: Abramowitz and Stegun, 26.7.3 (odd) and 26.7.4 (even).
fn probability_within(t: f64, degrees: u64) -> f64 {
    let angle = (t / (degrees as f64).sqrt()).atan();
    let (sin, cos) = angle.sin_cos();
    let odd = degrees % 2;
    // Terms of cos^0, cos^2, ... (even) or cos^1, cos^3, ... (odd), up to cos^(degrees - 2).
    let mut term = if odd == 1 { cos } else { 1.0 };
    let mut sum = 0.0;
    for power in (odd..degrees.saturating_sub(1)).step_by(2) {
        sum += term;
        term *= cos * cos * (power + 1) as f64 / (power + 2) as f64;
    }
    if odd == 1 {
        (angle + sin * sum) / std::f64::consts::FRAC_PI_2
    } else {
        sin * sum
    }
}

#[test]
fn quantiles_enclose_95_percent() {
    for degrees in 1..=2_000 {
        let t = t95_factor(degrees);
        assert!(
            probability_within(t - 1e-5, degrees) < 0.95,
            "{degrees}: {t} too long"
        );
        assert!(
            probability_within(t + 1e-5, degrees) > 0.95,
            "{degrees}: {t} too short"
        );
    }
}

#[test]
fn quantiles_match_the_printed_tables() {
    for (degrees, printed) in [
        (1, 12.706),
        (2, 4.303),
        (4, 2.776),
        (10, 2.228),
        (30, 2.042),
        (60, 2.000),
        (120, 1.980),
        (u64::MAX, 1.960),
    ] {
        let error: f64 = t95_factor(degrees) - printed;
        assert!(error.abs() <= 0.0005, "{degrees}: off by {error}");
    }
}
