//! The figures of one of several replications, and confidence intervals over all of them.

use diskarm_core::report::{ReplicatedTotals, Replications};
use diskarm_simulate::Run;
use serde::Serialize;

use super::kind::Kind;
use super::load::{self, Load};
use super::table::Table;

/// One run; the names are those of the JSON.
#[derive(Serialize)]
pub struct Replication {
    seed: Option<u64>,
    #[serde(flatten)]
    all: Kind,
    #[serde(flatten)]
    load: Load,
}

impl Replication {
    /// The figures of a run.
    pub fn of(run: &Run) -> Self {
        Self {
            seed: run.seed,
            all: Kind::of(&ReplicatedTotals::new(vec![run.report.all()])),
            load: Load::of(&run.report),
        }
    }
}

/// A line for each replication, named after its seed.
pub fn lines(replications: &[Replication], t: &mut Table) {
    t.cells("seed", load::HEAD);
    for run in replications {
        let label = run.seed.map_or_else(String::new, |seed| seed.to_string());
        run.load.line(&label, &run.all, t);
    }
}

/// Half-widths of confidence intervals; each has the name of its mean.
#[derive(Clone, Copy, Default, Serialize)]
pub struct Ci95 {
    pub service_ms: Option<f64>,
    pub cache_hit_rate: Option<f64>,
    pub utilisation: Option<f64>,
    pub queue: Option<f64>,
    pub throughput_per_s: Option<f64>,
}

impl Ci95 {
    /// The intervals over several runs.
    pub fn of(runs: &Replications<'_>, all: &ReplicatedTotals) -> Self {
        Self {
            service_ms: all.service_ci95_ms(),
            cache_hit_rate: runs.cache_hit_ci95_fraction(),
            utilisation: runs.utilisation_ci95_fraction(),
            queue: runs.waiting_ci95_count(),
            throughput_per_s: runs.throughput_ci95_per_s(),
        }
    }
}
