//! Properties of the statistics, checked against slow definitions.

use diskarm_core::stats::{Histogram, Moments, OverTime, ResponseSummary, SortedSpans, demerit};
use diskarm_core::units::{Instant, Span};
use proptest::collection::vec;
use proptest::prelude::*;

#[path = "workload/measured.rs"]
mod measured;

fn spans(ns: &[i64]) -> impl Iterator<Item = Span> {
    ns.iter().map(|&ns| Span::from_ns(ns))
}

fn sorted(ns: &[i64]) -> SortedSpans {
    spans(ns).collect()
}

fn distance_ns(a: &[i64], b: &[i64]) -> i64 {
    demerit(&sorted(a), &sorted(b))
        .expect("neither sample is empty")
        .as_ns()
}

fn responses() -> impl Strategy<Value = Vec<i64>> {
    vec(0i64..100_000_000, 1..40)
}

/// Responses of all magnitudes, to hit every octave of the histogram.
fn magnitudes() -> impl Strategy<Value = Vec<i64>> {
    let one = (0u32..63, any::<i64>()).prop_map(|(bits, ns)| (ns & i64::MAX) >> bits);
    vec(one, 1..200)
}

fn summary_of(ns: &[i64]) -> ResponseSummary {
    let mut summary = ResponseSummary::default();
    spans(ns).for_each(|span| summary.record(span));
    summary
}

proptest! {
    #[test]
    fn demerit_of_a_shifted_sample_is_the_shift(a in responses(), shift in 0i64..1 << 40) {
        let shifted: Vec<i64> = a.iter().map(|ns| ns + shift).collect();
        prop_assert_eq!(distance_ns(&a, &shifted), shift);
    }

    #[test]
    fn demerit_is_a_metric(a in responses(), b in responses(), c in responses()) {
        let (ab, bc, ac) = (distance_ns(&a, &b), distance_ns(&b, &c), distance_ns(&a, &c));
        prop_assert_eq!(ab, distance_ns(&b, &a));
        prop_assert!(ac <= ab + bc + 2, "each is rounded: {} > {} + {}", ac, ab, bc);
        prop_assert_eq!(distance_ns(&a, &a), 0);
    }

    /// Replicating every order statistic does not change a distribution, and makes the sizes equal.
    #[test]
    fn demerit_of_unequal_sizes_matches_replicated_samples(a in responses(), b in responses()) {
        let replicate = |of: &[i64], times: usize| -> Vec<i64> {
            let mut all: Vec<i64> = of.iter().flat_map(|&ns| vec![ns; times]).collect();
            all.sort_unstable();
            all
        };
        let (x, y) = (replicate(&a, b.len()), replicate(&b, a.len()));
        let squares: i128 = x.iter().zip(&y).map(|(x, y)| i128::from(x - y).pow(2)).sum();
        let brute = (squares as f64 / x.len() as f64).sqrt();
        let error = distance_ns(&a, &b) as f64 - brute;
        prop_assert!(error.abs() <= 0.5 + 1e-6, "off by {}", error);
    }

    #[test]
    fn moments_match_exact_fractions(ns in vec(0i64..1 << 40, 2..200)) {
        let mut moments = Moments::default();
        spans(&ns).for_each(|span| moments.record(span));
        // Variance times n (n - 1), whole: at most 2^80 * 200^2 here.
        let n = ns.len() as i128;
        let (sum, squares) = ns.iter().fold((0i128, 0i128), |(sum, squares), &ns| {
            (sum + i128::from(ns), squares + i128::from(ns) * i128::from(ns))
        });
        let variance = (n * squares - sum * sum) as f64 / (n * (n - 1)) as f64;
        let relative = |got: f64, wanted: f64| (got - wanted).abs() <= 1e-14 * wanted;
        prop_assert!(relative(moments.variance_ms2().unwrap(), variance * 1e-12));
        prop_assert_eq!(moments.std().unwrap().as_ns(), variance.sqrt().round() as i64);
        let mean = i128::from(moments.mean().unwrap().as_ns());
        prop_assert!((2 * (mean * n - sum)).abs() <= n, "mean {} of {} in {}", mean, sum, n);
        if sum > 0 {
            let cv2 = (n * squares - sum * sum) as f64 * n as f64
                / ((n - 1) as f64 * sum as f64 * sum as f64);
            prop_assert!(relative(moments.cv2().unwrap(), cv2));
        }
    }

    #[test]
    fn quantiles_match_order_statistics_within_the_stated_error(
        ns in magnitudes(), p in 0.0f64..=1.0,
    ) {
        let mut histogram = Histogram::default();
        spans(&ns).for_each(|span| histogram.record(span));
        let sample = sorted(&ns);
        let rank = (p * ns.len() as f64).ceil().max(1.0) as usize;
        let exact = sample.as_slice()[rank - 1].as_ns();
        let got = histogram.quantile(p).unwrap().as_ns();
        let error = (got - exact).abs();
        prop_assert!(error <= 64 || error <= exact / 1024, "{} for {}", got, exact);
        prop_assert_eq!(histogram.min(), sample.as_slice().first().copied());
        prop_assert_eq!(histogram.max(), sample.as_slice().last().copied());
        prop_assert_eq!(histogram.quantile(0.0), histogram.min());
        prop_assert_eq!(histogram.quantile(1.0), histogram.max());
        prop_assert_eq!(histogram.count(), ns.len() as u64);
    }

    /// Moments and histograms do not depend on order; up to 63 batches of one keep it.
    #[test]
    fn merging_matches_recording_everything(a in responses(), b in vec(0i64..1 << 36, 0..20)) {
        let mut merged = summary_of(&a);
        merged.merge(&summary_of(&b));
        let whole = summary_of(&[a.clone(), b.clone()].concat());
        prop_assert_eq!(&merged, &whole);
        let mut turned = summary_of(&b);
        turned.merge(&summary_of(&a));
        prop_assert_eq!(turned.moments(), whole.moments());
        prop_assert_eq!(turned.histogram(), whole.histogram());
        prop_assert_eq!(turned.stats(), whole.stats());
    }

    #[test]
    fn time_averages_match_sampling_every_nanosecond(
        steps in vec((0u64..30, 0u64..9), 0..30), rest in 1u64..20,
    ) {
        let start = 1_000;
        let mut queued = OverTime::new(Instant::from_ns(start), 4);
        let mut looks: Vec<u64> = Vec::new();
        let (mut now, mut value, mut max) = (start, 4, 4);
        for (pause, next) in steps {
            looks.extend((0..pause).map(|_| value));
            now += pause;
            value = next;
            max = max.max(value);
            queued.set(Instant::from_ns(now), value);
        }
        looks.extend((0..rest).map(|_| value));
        let average = looks.iter().sum::<u64>() as f64 / looks.len() as f64;
        prop_assert_eq!(queued.average_count(Instant::from_ns(now + rest)), Some(average));
        prop_assert_eq!(queued.max(), max);
    }
}

#[test]
fn summaries_match_an_independent_implementation() {
    // numpy 2 on the same series: x.mean(), x.std(ddof=1), var / mean², np.quantile(x, p,
    // method="inverted_cdf"); the interval as in the tests of `BatchMeans`.
    let series: Vec<i64> = (0..10_000)
        .map(|i| {
            let wave = if i / 50 % 2 == 1 { 2_000_000 } else { 0 };
            5_000_000 + i * 7919 % 1009 * 1000 + wave + i * i % 97 * 10_000
        })
        .collect();
    let stats = summary_of(&series).stats().unwrap();
    let near = |got: f64, wanted: f64, error: f64| {
        assert!((got - wanted).abs() <= error * wanted, "{got} {wanted}");
    };
    assert_eq!(stats.count, 10_000);
    near(stats.mean_ms, 6.983_873_8, 1e-7);
    near(stats.ci95_ms.unwrap(), 0.035_888_059, 1e-4);
    near(stats.std_ms.unwrap(), 1.083_124_736_5, 1e-6);
    near(stats.cv2.unwrap(), 0.024_052_719_290_712, 1e-12);
    near(stats.p50_ms, 6.967, 1.0 / 1024.0);
    near(stats.p95_ms, 8.554, 1.0 / 1024.0);
    near(stats.p99_ms, 8.808, 1.0 / 1024.0);
    near(stats.p999_ms, 8.931, 1.0 / 1024.0);
    near(stats.max_ms, 8.964, 1e-15);
    assert_eq!(ResponseSummary::default().stats(), None);
}

#[test]
fn demerit_of_two_parts_of_a_measured_trace() {
    let rows = measured::trace("hp-c2247");
    // Column 4 of 0..=5 is `response_us`, with three decimals.
    let responses: Vec<i64> = rows
        .lines()
        .skip(1)
        .map(|row| row.split(',').nth(4).expect("a response").parse::<f64>())
        .map(|us| (us.expect("a number") * 1e3).round() as i64)
        .collect();
    assert_eq!(responses.len(), 9_999);
    // Python, all breakpoints i/4000 and j/5999 as `fractions.Fraction`: 298096.53000513156 ns.
    assert_eq!(
        distance_ns(&responses[..4_000], &responses[4_000..]),
        298_097
    );
}
