//! What can be predicted without knowing the drive.

use std::collections::BTreeMap;

use diskarm_core::request::{Op, Request};
use diskarm_core::stats::Moments;
use diskarm_core::units::{SectorCount, Span};

/// The mean response of the requests seen so far, by type and size.
#[derive(Clone, Debug, Default)]
pub struct RunningMeans {
    reads: Means,
    writes: Means,
}

/// The sums of one type.
#[derive(Clone, Debug, Default)]
struct Means {
    all: Moments,
    by_size: BTreeMap<SectorCount, Moments>,
}

impl RunningMeans {
    /// The mean of the type and size; if there was no such request, of the type; zero if there was
    /// none of the type either.
    pub fn expect(&self, request: &Request) -> Span {
        let means = match request.op {
            Op::Read => &self.reads,
            Op::Write | Op::Flush => &self.writes,
        };
        let alike = means.by_size.get(&request.sectors);
        alike.unwrap_or(&means.all).mean().unwrap_or_default()
    }

    pub fn observe(&mut self, request: &Request, response: Span) {
        let means = match request.op {
            Op::Read => &mut self.reads,
            Op::Write | Op::Flush => &mut self.writes,
        };
        means.all.record(response);
        let alike = means.by_size.entry(request.sectors).or_default();
        alike.record(response);
    }
}
