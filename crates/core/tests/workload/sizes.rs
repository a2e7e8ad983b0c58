//! Sizes against the moments of their distributions.

use crate::{assert_mean, assert_share, generated};

fn sizes(text: &str) -> Vec<f64> {
    let requests = generated(&format!("poisson(rate=1/s) size={text}"));
    requests.iter().map(|r| r.sectors.0 as f64).collect()
}

#[test]
fn fixed() {
    assert!(sizes("8KiB").iter().all(|size| *size == 16.0));
    assert!(
        sizes("fixed(size=3 sectors)")
            .iter()
            .all(|size| *size == 3.0)
    );
}

#[test]
fn exponential() {
    // Geometric with mean m: variance m (m - 1); P(more than k) = (1 - 1/m)^k.
    for (text, m, unit) in [
        ("exponential(mean=8KiB)", 16.0f64, 1.0),
        ("exponential(mean=6KiB, unit=2KiB)", 3.0, 4.0),
        ("exponential(mean=1sector)", 1.0, 1.0),
        ("exponential(mean=2MiB)", 4096.0, 1.0),
    ] {
        let found: Vec<f64> = sizes(text).iter().map(|size| size / unit).collect();
        assert!(found.iter().all(|size| *size >= 1.0 && size.fract() == 0.0));
        assert_mean(text, found.iter().copied(), m, m * (m - 1.0));
        for k in [1.0, 2.0, 30.0] {
            let tail = (1.0 - 1.0 / m).powf(k);
            assert_share(text, found.iter().map(|size| *size > k), tail);
        }
    }
}

#[test]
fn mixed() {
    // liu05: 96 % of 4 KB, 4 % of 24 KB.
    let found = sizes("mixed(4KiB=96%, 24KiB=4%)");
    assert_share("small", found.iter().map(|size| *size == 8.0), 0.96);
    assert_share("large", found.iter().map(|size| *size == 48.0), 0.04);
    let found = sizes("mixed(1sector=20%, 2sectors=30%, 3sectors=50%)");
    for (size, share) in [(1.0, 0.2), (2.0, 0.3), (3.0, 0.5)] {
        assert_share("of three", found.iter().map(|s| *s == size), share);
    }
}

#[test]
fn places_are_multiples_of_the_unit() {
    for (size, unit) in [
        ("24KiB", 48),
        ("mixed(4KiB=96%, 24KiB=4%)", 8),
        ("mixed(6KiB=50%, 4KiB=50%)", 4),
        ("exponential(mean=16KiB, unit=4KiB)", 8),
    ] {
        for places in [
            "uniform",
            "hot(at=33%)",
            "zipf(exponent=1)",
            "sequential(runs=3)",
        ] {
            let text = format!("poisson(rate=1/s) {places} size={size}");
            let requests = generated(&text);
            let strange = requests.iter().find(|r| r.start.0 % unit != 0);
            assert_eq!(strange, None, "{text}");
        }
    }
}
