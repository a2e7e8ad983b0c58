//! Synthetic workloads: that what is drawn has the statistics that it is said to have, and that
//! what is written means what it says.
//!
//! Bounds are five standard deviations of the statistic, computed from the distribution: of a
//! hundred such tests with other seeds one in twenty thousand would fail.

mod arrivals;
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

/// Draws of a test.
const N: usize = 200_000;

/// The only stream of a workload in one string.
fn stream(text: &str) -> Stream {
    let workload = Workload::parse(text, DISK).expect("a sound workload");
    let [stream] = &workload.streams[..] else {
        panic!("not one stream: {text}");
    };
    stream.clone()
}

/// Its first requests, with seed 1.
fn drawn(text: &str) -> Vec<Request> {
    stream(text).requests(DISK, 1).take(N).collect()
}

/// Holds the mean of independent `values`, whose distribution has this mean and variance.
fn hold_mean(what: &str, values: impl ExactSizeIterator<Item = f64>, mean: f64, variance: f64) {
    let n = values.len() as f64;
    let found = values.sum::<f64>() / n;
    let bound = 5.0 * (variance / n).sqrt();
    assert!(
        (found - mean).abs() <= bound,
        "{what}: mean {found}, expected {mean} ± {bound}"
    );
}

/// Holds the share of `hits`, each independent with this probability.
fn hold_share(what: &str, hits: impl ExactSizeIterator<Item = bool>, share: f64) {
    let values = hits.map(|hit| f64::from(u8::from(hit)));
    hold_mean(what, values, share, share * (1.0 - share));
}
