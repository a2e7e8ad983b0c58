//! What a device was loaded with.

use diskarm_core::report::{Replications, Report};
use diskarm_core::stats::ResponseStats;
use diskarm_simulate::Origin;
use serde::Serialize;

use super::kind::Kind;
use super::table::Table;

/// Hits, utilisation, queue and throughput; the names are those of the JSON.
#[derive(Serialize)]
pub struct Load {
    pub cache_hit_rate: Option<f64>,
    pub utilisation: Option<f64>,
    pub queue: Queue,
    pub throughput_per_s: Option<f64>,
}

#[derive(Serialize)]
pub struct Queue {
    pub mean: Option<f64>,
    pub max: u64,
}

impl Load {
    pub fn of(report: &Report) -> Self {
        Self::of_all(&Replications::new([report]), &[])
    }

    /// In one run or several; of several disks the mean utilisation, and the sum of what waits.
    pub fn of_all(runs: &Replications<'_>, disks: &[(Origin, Report)]) -> Self {
        let mut load = Self {
            cache_hit_rate: runs.cache_hit_fraction(),
            utilisation: runs.utilisation_fraction(),
            queue: Queue {
                mean: runs.waiting_mean_count(),
                max: runs.waiting_max_count(),
            },
            throughput_per_s: runs.throughput_per_s(),
        };
        if !disks.is_empty() {
            let reports = || disks.iter().map(|(_, report)| report);
            let busy: Option<f64> = reports().map(Report::utilisation_fraction).sum();
            load.utilisation = busy.map(|busy| busy / disks.len() as f64);
            load.queue = Queue {
                mean: reports().map(Report::waiting_mean_count).sum(),
                max: reports().map(Report::waiting_max_count).max().unwrap_or(0),
            };
        }
        load
    }

    /// A line with the responses of `all` requests.
    pub fn line(&self, label: &str, all: &Kind, t: &mut Table) {
        let load = [self.utilisation, self.queue.mean];
        line(label, all.requests, all.response_ms.of, load, t);
    }
}

/// The columns of [`line()`].
pub const HEAD: [&str; 5] = ["requests", "mean, ms", "95 %, ms", "busy, %", "waiting"];

/// Responses and load of some `requests`, in a line.
pub fn line(
    label: &str,
    requests: u64,
    responses: Option<ResponseStats>,
    [utilisation, waiting]: [Option<f64>; 2],
    t: &mut Table,
) {
    let busy = utilisation.map(|share| share * 100.0);
    let (mean, p95) = (responses.map(|r| r.mean_ms), responses.map(|r| r.p95_ms));
    t.numbers(label, requests, [mean, p95, busy, waiting]);
}
