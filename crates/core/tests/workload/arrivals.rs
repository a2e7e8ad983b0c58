//! Pauses against the moments of their distributions.

use diskarm_core::units::Instant;
use diskarm_core::workload::{Arrivals, Times};

use crate::{N, assert_mean, assert_share, stream};

/// Returns the pauses of a workload's arrivals, in units of its documented mean, `mean`.
fn pauses(text: &str, mean_ms: f64) -> Vec<f64> {
    let arrivals = stream(text).arrivals;
    let promised = arrivals.mean_pause().as_ms();
    assert!(
        (promised / mean_ms - 1.0).abs() < 1e-6,
        "{promised} {mean_ms}"
    );
    let Arrivals::Open(pauses) = &arrivals else {
        panic!("not open: {text}");
    };
    let mut last = Instant::START;
    let times = Times::new(pauses, 7, 0).take(N);
    let pauses = times.map(|at| (at - std::mem::replace(&mut last, at)).as_ms() / mean_ms);
    pauses.collect()
}

/// Asserts the mean and second moment, whose variances need the second and fourth moment, all in
/// units of the mean.
fn assert_moments(what: &str, pauses: &[f64], second: f64, fourth: f64) {
    assert_mean(what, pauses.iter().copied(), 1.0, second - 1.0);
    let squares = pauses.iter().map(|x| x * x);
    assert_mean(what, squares, second, fourth - second * second);
}

/// Asserts that successive pauses are uncorrelated: the product of their differences from the mean
/// has mean zero, and a variance equal to the square of theirs.
fn assert_uncorrelated(what: &str, pauses: &[f64], variance: f64) {
    let products = pauses
        .windows(2)
        .map(|pair| (pair[0] - 1.0) * (pair[1] - 1.0));
    assert_mean(what, products, 0.0, variance * variance);
}

#[test]
fn poisson() {
    // Moments of the exponential distribution: n!.
    let found = pauses("poisson(mean=31.2ms)", 31.2);
    assert_moments("poisson", &found, 2.0, 24.0);
    assert_uncorrelated("poisson", &found, 1.0);
    // P(x > 2) = e^-2.
    assert_share("poisson", found.iter().map(|x| *x > 2.0), (-2.0f64).exp());
    assert_eq!(pauses("poisson(rate=62.5/s)", 16.0).len(), N);
}

#[test]
fn uniform() {
    // From 0 to 2 in units of the mean: moments 2^n / (n + 1).
    let found = pauses("uniform(to=22ms)", 11.0);
    assert_moments("uniform", &found, 4.0 / 3.0, 16.0 / 5.0);
    assert_uncorrelated("uniform", &found, 1.0 / 3.0);
    assert!(found.iter().all(|x| (0.0..=2.0).contains(x)));
    // From 0.5 to 1.5: mean 1, second moment 13/12, fourth 121/80.
    let found = pauses("uniform(from=5ms, to=15ms)", 10.0);
    assert_moments("uniform", &found, 13.0 / 12.0, 121.0 / 80.0);
}

#[test]
fn deterministic() {
    let found = pauses("deterministic(rate=40/s)", 25.0);
    assert!(found.iter().all(|x| *x == 1.0));
}

#[test]
fn erlang() {
    // The Gamma distribution of shape k and mean 1: the n-th moment is
    // k (k + 1) ... (k + n - 1) / k^n.
    for k in [1.0f64, 2.0, 4.0, 50.0] {
        let moment = |n: i32| (0..n).map(|i| (k + f64::from(i)) / k).product::<f64>();
        let found = pauses(&format!("erlang(k={k}, mean=20ms)"), 20.0);
        assert_moments(&format!("erlang {k}"), &found, moment(2), moment(4));
        assert_uncorrelated("erlang", &found, 1.0 / k);
    }
    // Two stages: P(x > t) = e^-2t (1 + 2t).
    let found = pauses("erlang(k=2, mean=20ms)", 20.0);
    assert_share(
        "erlang",
        found.iter().map(|x| *x > 1.5),
        4.0 * (-3.0f64).exp(),
    );
}

#[test]
fn hyperexponential() {
    // liu05's: p = 0.1, a ratio of 9. With short mean m = 1 / 1.8, the n-th moment is
    // n! m^n (0.1 * 9^n + 0.9). Squared coefficient of variation 41/9.
    let m = 1.0 / 1.8f64;
    let moment = |n: i32| m.powi(n) * (0.1 * 9f64.powi(n) + 0.9);
    let found = pauses("hyperexponential(long=10%, ratio=9, rate=50/s)", 20.0);
    let second = 2.0 * moment(2);
    assert!((second - 1.0 - 41.0 / 9.0).abs() < 1e-12);
    assert_moments("hyperexponential", &found, second, 24.0 * moment(4));
    assert_uncorrelated("hyperexponential", &found, 41.0 / 9.0);
}

#[test]
fn bursts() {
    // Rate 600/s for 100 ms on average, then none for 900 ms: 60 in 1000 ms. The pauses are
    // hyperexponential (Kuczura): with l = 600, a = 1/0.1, b = 1/0.9 (all per second) the rates
    // of the branches are the roots of s^2 - (l + a + b) s + l b, and the share of the faster is
    // (l - slower) / (faster - slower).
    let (l, a, b) = (600.0f64, 10.0, 1.0 / 0.9);
    let root = ((l + a + b).powi(2) - 4.0 * l * b).sqrt();
    let (faster, slower) = ((l + a + b + root) / 2.0, (l + a + b - root) / 2.0);
    let share = (l - slower) / (faster - slower);
    let mean = 1.0 / 60.0;
    let moment =
        |n: i32| (share / (faster * mean).powi(n)) + (1.0 - share) / (slower * mean).powi(n);
    assert!((moment(1) - 1.0).abs() < 1e-9);
    let second = 2.0 * moment(2);
    // The closed form that its documentation gives.
    let cv2 = 1.0 + 2.0 * l * 0.1 * 0.9 * 0.9;
    assert!((second - 1.0 - cv2).abs() < 1e-9, "{second} {cv2}");
    let found = pauses("bursts(on=100ms, off=900ms, rate=600/s)", 1e3 / 60.0);
    assert_moments("bursts", &found, second, 24.0 * moment(4));
    assert_uncorrelated("bursts", &found, cv2);
}

#[test]
fn each_stream_of_a_seed_has_its_own_arrivals() {
    let Arrivals::Open(pauses) = stream("poisson(rate=60/s)").arrivals else {
        panic!("not open");
    };
    let first = |seed, number| Times::new(&pauses, seed, number).next();
    assert_eq!(first(1, 0), first(1, 0));
    assert_ne!(first(1, 0), first(2, 0));
    assert_ne!(first(1, 0), first(1, 1));
}
