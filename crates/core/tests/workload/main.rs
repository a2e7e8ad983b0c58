//! Synthetic workloads: generated requests have the documented statistics, and expressions have the
//! documented meaning.
//!
//! Bounds are five standard deviations of the statistic, computed from the distribution: with other
//! seeds, a hundred such tests would fail once in twenty thousand times.

mod arrivals;
mod measured;
mod places;
mod random;
mod reading;
mod sizes;
mod streams;

use diskarm_core::request::Request;
use diskarm_core::units::{Bytes, SectorCount};
use diskarm_core::workload::{Disk, Stream, Workload};

/// Blocks and sectors of the HP C2247.
const DISK: Disk = Disk {
    sectors: SectorCount(2_054_864),
    sector: Bytes(512),
};

/// Number of samples in a test.
const N: usize = 200_000;

/// Returns the only stream of a workload expression.
fn stream(text: &str) -> Stream {
    let workload = Workload::parse(text, DISK).expect("a valid workload");
    let [stream] = &workload.streams[..] else {
        panic!("not one stream: {text}");
    };
    stream.clone()
}

/// Its first requests, with seed 1.
fn generated(text: &str) -> Vec<Request> {
    stream(text).requests(DISK, 1).take(N).collect()
}

/// Asserts the mean of independent `values` from a distribution with this mean and variance.
fn assert_mean(what: &str, values: impl ExactSizeIterator<Item = f64>, mean: f64, variance: f64) {
    let n = values.len() as f64;
    let found = values.sum::<f64>() / n;
    let bound = 5.0 * (variance / n).sqrt();
    assert!(
        (found - mean).abs() <= bound,
        "{what}: mean {found}, expected {mean} ± {bound}"
    );
}

/// Asserts the share of `hits`, each independent with this probability.
fn assert_share(what: &str, hits: impl ExactSizeIterator<Item = bool>, share: f64) {
    let values = hits.map(|hit| f64::from(u8::from(hit)));
    assert_mean(what, values, share, share * (1.0 - share));
}
