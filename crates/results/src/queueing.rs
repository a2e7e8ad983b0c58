//! Closed forms of a drive's service and response times, each beside its simulation.
//!
//! [`compare`] evaluates the formulas of `diskarm-queueing` and simulates what they describe: the
//! same drive without what they leave out ([`diskarm_queueing::service::mechanism_alone`]).

mod comparison;
mod mirrored;
mod simulation;
mod table;

pub use comparison::compare;
pub use simulation::RUNS;
use simulation::Simulated;
pub use table::table;

use diskarm_core::units::{SectorCount, Span};
use serde::Serialize;

/// The requests: uniform over the drive, at multiples of their size.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The size of each.
    pub sectors: SectorCount,
    /// The share of reads, from 0 to 1.
    pub read_share: f64,
    /// The mean times between Poisson arrivals at which responses are computed; if empty, those of
    /// [`LOADS`].
    pub pauses: Vec<Span>,
    /// The requests of each simulation, of which the first tenth is left out; at least 10.
    pub requests: u64,
    /// The seed of the first simulation.
    pub seed: u64,
}

/// The default rates, as shares of the largest one in order of arrival.
pub const LOADS: [f64; 3] = [0.3, 0.6, 0.9];

/// What is compared, and all that is needed to repeat it.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// The drive.
    pub drive: String,
    /// The size of a request, in sectors.
    pub size_sectors: u64,
    /// The share of reads, from 0 to 1.
    pub read_share: f64,
    /// The simulations of each value, which differ in their seeds.
    pub runs: u64,
    /// The requests of each, with the warm-up.
    pub requests: u64,
    /// The requests of each that are left out of its results.
    pub warmup: u64,
    /// The seed.
    pub seed: u64,
    /// The values, in groups.
    pub groups: Vec<Group>,
    /// Doubts about the drive.
    pub notes: Vec<String>,
}

/// Values of one kind.
#[derive(Debug, Serialize)]
pub struct Group {
    /// Its name for programs.
    pub name: &'static str,
    /// Its heading, which names the formula and the unit.
    #[serde(skip)]
    pub heading: String,
    /// The values.
    pub values: Vec<Value>,
}

/// A value by theory, and its simulation if there is one.
#[derive(Debug, Serialize)]
pub struct Value {
    /// Its name for programs, which ends in its unit.
    pub name: &'static str,
    /// Its name in the table.
    #[serde(skip)]
    pub label: String,
    /// Whether the drive meets the assumptions of the formula. If not, it is an approximation and
    /// need not lie in the interval.
    pub is_exact: bool,
    /// The rate of arrivals that it is for, in requests per second.
    pub rate_per_s: Option<f64>,
    /// By theory; `None` where requests arrive faster than they are served.
    pub theory: Option<f64>,
    /// The mean over all simulations; `None` without any, and as above.
    pub simulated: Option<f64>,
    /// Half the width of its 95 % confidence interval, by Student's t.
    pub ci95: Option<f64>,
    /// Whether the theory is in the simulation's interval.
    pub is_within: Option<bool>,
}

impl Value {
    fn new(name: &'static str, label: impl Into<String>, theory: impl Into<Option<f64>>) -> Self {
        Self {
            name,
            label: label.into(),
            is_exact: true,
            rate_per_s: None,
            theory: theory.into(),
            simulated: None,
            ci95: None,
            is_within: None,
        }
    }

    fn approximate(self) -> Self {
        Self {
            is_exact: false,
            ..self
        }
    }

    fn at(self, rate_per_s: f64) -> Self {
        Self {
            rate_per_s: Some(rate_per_s),
            ..self
        }
    }

    fn beside(self, found: Option<Simulated>) -> Self {
        let within = |found: Simulated| Some((self.theory? - found.mean).abs() <= found.ci95);
        Self {
            is_within: found.and_then(within),
            simulated: found.map(|found| found.mean),
            ci95: found.map(|found| found.ci95),
            ..self
        }
    }
}
