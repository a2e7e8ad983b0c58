//! The values of a comparison of theory and simulation.

use diskarm_core::stats::t95_factor;
use diskarm_core::units::{SectorCount, Span};
use serde::Serialize;

/// The number of simulations of each value.
pub const RUNS: u64 = 10;

/// The requests: uniform over the drive, at multiples of their size.
#[derive(Clone, Debug)]
pub struct Parameters {
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

/// The compared values, and all that is needed to repeat the comparison.
#[derive(Debug, Serialize)]
pub struct Comparison {
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
    pub(super) fn new(
        name: &'static str,
        label: impl Into<String>,
        theory: impl Into<Option<f64>>,
    ) -> Self {
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

    pub(super) fn approximate(self) -> Self {
        Self {
            is_exact: false,
            ..self
        }
    }

    pub(super) fn with_rate(self, rate_per_s: f64) -> Self {
        Self {
            rate_per_s: Some(rate_per_s),
            ..self
        }
    }

    pub(super) fn with_simulation(self, found: Option<SimulatedMean>) -> Self {
        let within = |found: SimulatedMean| Some((self.theory? - found.mean).abs() <= found.ci95);
        Self {
            is_within: found.and_then(within),
            simulated: found.map(|found| found.mean),
            ci95: found.map(|found| found.ci95),
            ..self
        }
    }
}

/// A mean over [`RUNS`] simulations.
#[derive(Clone, Copy, Debug)]
pub(super) struct SimulatedMean {
    pub mean: f64,
    /// Half the width of its 95 % confidence interval, by Student's t.
    pub ci95: f64,
}

impl SimulatedMean {
    /// Returns the mean over the values of all runs; `None` if one has no value.
    pub fn new(values: impl Iterator<Item = Option<f64>>) -> Option<Self> {
        let values: Vec<f64> = values.collect::<Option<_>>()?;
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error = (squares / (count - 1.0) / count).sqrt();
        let ci95 = t95_factor(values.len() as u64 - 1) * error;
        Some(Self { mean, ci95 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 to 10: mean 5.5, variance 55 / 6, and t is 2.262157 with 9 degrees of freedom.
    #[test]
    fn an_interval_is_students() {
        let found = SimulatedMean::new((1..=10).map(|n| Some(f64::from(n)))).unwrap();
        assert_eq!(found.mean, 5.5);
        assert!((found.ci95 - 2.262_157 * (55.0_f64 / 60.0).sqrt()).abs() < 1e-12);
        assert!(SimulatedMean::new([Some(1.0), None].into_iter()).is_none());
    }
}
