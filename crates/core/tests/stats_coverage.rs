//! Checks that confidence intervals cover the true mean as often as they should, on series whose
//! true mean and variance are known.

use diskarm_core::stats::BatchMeans;
use diskarm_core::stats::t95_factor;
use diskarm_core::testing::SplitMix64;
use diskarm_core::units::Span;

const REPETITIONS: u64 = 500;
const SPANS: u64 = 8_192;
/// The batches that `SPANS` spans produce: 32 of 256.
const BATCHES: u64 = 32;
const MEAN_NS: f64 = 20e6;
const DEVIATION_NS: f64 = 1e6;

/// Standard normal deviates (Box-Muller).
struct Normals(SplitMix64);

impl Normals {
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    fn draw(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// Variance of the mean of `n` values of a first-order autoregression with correlation `r` between
/// neighbours, with variance 1: `(1 + r) / (1 - r) / n` minus a correction at the ends.
fn variance_of_mean(n: u64, r: f64) -> f64 {
    let n = n as f64;
    ((1.0 + r) / (1.0 - r) - 2.0 * r * (1.0 - r.powf(n)) / (n * (1.0 - r) * (1.0 - r))) / n
}

/// Returns how often the interval covered the true mean, and the mean of the variance that it
/// implies, in units of the series' own variance.
fn cover(r: f64) -> (u64, f64) {
    let mut covered = 0;
    let mut variances = 0.0;
    for seed in 0..REPETITIONS {
        let mut normals = Normals(SplitMix64::new(seed << 32));
        let mut value = normals.draw();
        let mut series = BatchMeans::default();
        let mut sum = 0.0;
        for _ in 0..SPANS {
            let span = Span::from_ns((MEAN_NS + DEVIATION_NS * value).round() as i64);
            series.record(span);
            sum += span.as_ns() as f64;
            value = r * value + (1.0 - r * r).sqrt() * normals.draw();
        }
        let half = series.half_width_95().expect("enough spans").as_ns() as f64;
        covered += u64::from((sum / SPANS as f64 - MEAN_NS).abs() <= half);
        variances += (half / t95_factor(BATCHES - 1) / DEVIATION_NS).powi(2);
    }
    (covered, variances / REPETITIONS as f64)
}

fn check(r: f64) {
    let (covered, variance) = cover(r);
    // Binomial: 500 trials at 0.95 have mean 475 and deviation sqrt(500 * 0.95 * 0.05) = 4.9;
    // four of these either way.
    assert!((456..=494).contains(&covered), "{covered} covered at {r}");
    // k batch means of variance v around a mean of variance w: the mean of the estimate of w is
    // (v - w) / (k - 1), and its relative deviation sqrt(2 / 31 / 500) = 1.1 %.
    let within = variance_of_mean(SPANS / BATCHES, r);
    let wanted = (within - variance_of_mean(SPANS, r)) / (BATCHES - 1) as f64;
    let off = variance / wanted - 1.0;
    assert!(off.abs() < 0.04, "variance off by {off} at {r}");
}

#[test]
fn intervals_cover_the_mean_of_independent_values() {
    check(0.0);
}

/// Treated as independent, the values would give a third of the true width and cover half.
#[test]
fn intervals_cover_the_mean_of_correlated_values() {
    check(0.8);
}

/// Merged replications cover the mean as often as one series does.
#[test]
fn intervals_of_merged_replications_cover_the_mean() {
    let mut covered = 0;
    for seed in 0..REPETITIONS {
        let mut merged = BatchMeans::default();
        let (mut sum, mut count) = (0.0, 0u64);
        for (part, spans) in [(0, 2_000), (1, 1_200), (2, 3_000)] {
            let mut normals = Normals(SplitMix64::new((seed << 32) + (part << 24)));
            let mut series = BatchMeans::default();
            for _ in 0..spans {
                let span = Span::from_ns((MEAN_NS + DEVIATION_NS * normals.draw()) as i64);
                series.record(span);
                sum += span.as_ns() as f64;
                count += 1;
            }
            merged.merge(&series);
        }
        let half = merged.half_width_95().expect("enough spans").as_ns() as f64;
        covered += u64::from((sum / count as f64 - MEAN_NS).abs() <= half);
    }
    assert!((456..=494).contains(&covered), "{covered} covered");
}
