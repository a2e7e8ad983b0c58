//! What sequential requests take on the drive that was found and on the one that was given.

use diskarm_core::request::Op;
use diskarm_core::spec::Spec;
use diskarm_core::units::SectorCount;
use diskarm_extract::mean_sequential_response;
use serde::Serialize;

/// Sequential requests of a kind.
#[derive(Debug, Serialize)]
pub struct Sequence {
    pub op: &'static str,
    pub kib: u64,
    /// Their mean response, given and found.
    pub mean_ms: [f64; 2],
}

/// By how much a mean may be off: as a seek, 1 % or 0.02 ms, whichever is more.
const SHARE: f64 = 0.01;
const MIN_MS: f64 = 0.02;

const SIZES: [u64; 2] = [8, 64];

/// Reads and writes of both sizes.
pub fn compared(given: &Spec, found: &Spec) -> Vec<Sequence> {
    let mut all = Vec::new();
    for (name, op) in [("reads", Op::Read), ("writes", Op::Write)] {
        for kib in SIZES {
            let sectors = SectorCount((kib * 1024 / u64::from(given.geometry.sector_bytes)).max(1));
            let mean_ms = [given, found].map(|spec| {
                let mean = mean_sequential_response(spec, op, sectors).expect("it was checked");
                mean.as_ms()
            });
            all.push(Sequence {
                op: name,
                kib,
                mean_ms,
            });
        }
    }
    all
}

impl Sequence {
    /// By how much the mean that was found is off, as a multiple of what is allowed.
    pub fn multiple(&self) -> f64 {
        let [was, is] = self.mean_ms;
        (is - was).abs() / MIN_MS.max(SHARE * was)
    }
}
