//! The simulations with which the theory is compared, and the compared values.

use std::sync::Arc;

use diskarm_core::device::Completion;
use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::Mechanism;
use diskarm_core::stats::half_width_95_of_numbers;
use diskarm_core::units::{Angle, Lbn, SectorCount, Span};
use diskarm_core::workload::arrivals::{Closed, Deterministic, Poisson};
use diskarm_core::workload::{Arrivals, Pauses, Sizes, Stream, Workload, sizes};
use diskarm_queueing::service::mechanism_alone;
use serde::Serialize;

use crate::{
    Error, GeneratedRequests, Input, Model, Run, Simulation, Sink, System, never_stop, parallel,
};

/// If more requests than this wait, they arrive faster than they are served.
const MAX_WAITING: u64 = 2_000;

/// Simulates requests on one drive.
pub struct Simulator<'a> {
    /// The drive without the features that the theory ignores.
    pub system: System,
    pub parameters: &'a Parameters,
    /// Called after each simulation, on any thread.
    on_each: &'a (dyn Fn() + Sync),
    read_share: f64,
}

/// The results of [`RUNS`] simulations.
pub struct Runs(Vec<(Run, SeekDistance)>);

impl Runs {
    pub fn mean(&self, value: impl Fn(&Run) -> Option<f64>) -> Option<SimulatedMean> {
        SimulatedMean::new(self.0.iter().map(|(run, _)| value(run)))
    }

    /// Like [`Self::mean`], but `None` if requests arrived faster than they were served.
    pub fn steady(&self, value: impl Fn(&Run) -> Option<f64>) -> Option<SimulatedMean> {
        self.mean(|run| value(run).filter(|_| !run.is_saturated))
    }

    /// Returns warnings about the drive, which are the same in all runs.
    pub fn doubts(self) -> Vec<String> {
        let first = self.0.into_iter().next();
        first.map(|(run, _)| run.doubts).unwrap_or_default()
    }

    /// Returns the mean distance from one request to the next, in cylinders.
    pub fn seek_distance(&self) -> Option<SimulatedMean> {
        SimulatedMean::new(self.0.iter().map(|(_, distance)| distance.mean_cylinders()))
    }
}

impl<'a> Simulator<'a> {
    pub fn new(model: &Model, parameters: &'a Parameters, on_each: &'a (dyn Fn() + Sync)) -> Self {
        let spec = mechanism_alone(&model.spec);
        let mechanism = Mechanism::new(&spec, Arc::clone(model.layout()), Angle::ZERO);
        let model = Model {
            spec,
            mechanism,
            ..model.clone()
        };
        Self {
            system: model.into(),
            parameters,
            on_each,
            read_share: parameters.read_share,
        }
    }

    /// Returns a simulator of a mirrored pair of the drive, with the parameters `mirror`.
    pub fn pair(&self, mirror: &str, read_share: f64) -> Result<Self, Error> {
        let text = format!("mirror({mirror}, drive={})", self.system.drive.name);
        Ok(Self {
            system: System::with_devices(self.system.drive.clone(), &text)?,
            read_share,
            ..*self
        })
    }

    /// Simulates clients without think time: each always has a request at the drive.
    pub fn closed(&self, policy: &'static str, clients: usize) -> Result<Runs, Error> {
        let mean = Span::ZERO;
        let think = Pauses::Deterministic(Deterministic { mean });
        self.runs(policy, Arrivals::Closed(Closed { clients, think }))
    }

    pub fn open(&self, policy: &'static str, mean: Span) -> Result<Runs, Error> {
        self.runs(policy, Arrivals::Open(Pauses::Poisson(Poisson { mean })))
    }

    fn runs(&self, policy: &'static str, arrivals: Arrivals) -> Result<Runs, Error> {
        let policy = crate::policy("policy", policy)?;
        let sectors = self.parameters.sectors;
        let stream = Stream {
            arrivals,
            sizes: Sizes::Fixed(sizes::Fixed { sectors }),
            read_share: self.read_share,
            ..Stream::worthington94()
        };
        let streams = vec![stream];
        let generated = GeneratedRequests {
            requests: Some(self.parameters.requests),
            seed: self.parameters.seed,
            replications: Some(RUNS),
            ..GeneratedRequests::new(Workload { streams })
        };
        let seeds = generated.seeds();
        let run = |number: usize| {
            let mut generated = generated.clone();
            generated.seed = seeds[number];
            let input = Input::Generated(generated);
            let mut distance = SeekDistance::new(&self.system.drive);
            let run = Simulation {
                warm_up: self.parameters.requests / 10,
                max_waiting: Some(MAX_WAITING),
                ..Simulation::new(&self.system, &policy, &input)
            };
            Ok((run.run(&never_stop, Some(&mut distance))?, distance))
        };
        let runs = parallel::map(seeds.len(), run, |_| (self.on_each)());
        Ok(Runs(runs.into_iter().collect::<Result<_, Error>>()?))
    }
}

/// Sums up the distances from each request to the next, in order of service.
struct SeekDistance {
    layout: Arc<Layout>,
    at: Option<u32>,
    cylinders: u64,
    count: u64,
}

impl SeekDistance {
    fn new(model: &Model) -> Self {
        Self {
            layout: Arc::clone(model.layout()),
            at: None,
            cylinders: 0,
            count: 0,
        }
    }

    fn mean_cylinders(&self) -> Option<f64> {
        (self.count > 0).then(|| self.cylinders as f64 / self.count as f64)
    }
}

impl Sink for SeekDistance {
    fn take(&mut self, completion: &Completion) {
        let request = &completion.request;
        let cylinder = |at| self.layout.pba(at).cylinder.0;
        let first = cylinder(request.start);
        let last = cylinder(Lbn(request.start.0 + request.sectors.0 - 1));
        if let Some(at) = self.at.replace(last) {
            self.cylinders += u64::from(first.abs_diff(at));
            self.count += 1;
        }
    }
}

/// The number of simulations for each value.
pub const RUNS: u64 = 10;

/// The parameters of the requests, which are uniform over the drive, at multiples of their size.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// The size of each request.
    pub sectors: SectorCount,
    /// The share of reads, from 0 to 1.
    pub read_share: f64,
    /// The mean times between Poisson arrivals to compare; if empty, those of [`LOADS`].
    pub pauses: Vec<Span>,
    /// The number of requests of each simulation, at least 10; results omit the first tenth.
    pub requests: u64,
    /// The seed of the first simulation.
    pub seed: u64,
}

/// The default rates, as shares of the largest rate that can be served in order of arrival.
pub const LOADS: [f64; 3] = [0.3, 0.6, 0.9];

/// The compared values, and everything needed to repeat the comparison.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// The name of the drive.
    pub drive: String,
    /// The size of a request, in sectors.
    pub size_sectors: u64,
    /// The share of reads, from 0 to 1.
    pub read_share: f64,
    /// The number of simulations for each value, all with different seeds.
    pub runs: u64,
    /// The number of requests of each simulation, including the warm-up.
    pub requests: u64,
    /// The number of requests that the results of each simulation omit.
    pub warmup: u64,
    /// The seed of the first simulation.
    pub seed: u64,
    /// The values, in groups.
    pub groups: Vec<Group>,
    /// Warnings about the drive.
    pub notes: Vec<String>,
}

/// Values of one kind.
#[derive(Debug, Serialize)]
pub struct Group {
    /// Its name for programs.
    pub name: &'static str,
    /// Its heading, which names the formula and the unit.
    #[serde(skip)]
    pub heading: &'static str,
    /// Its values, in order.
    pub values: Vec<Value>,
}

impl Group {
    pub(super) fn new(name: &'static str, heading: &'static str, values: Vec<Value>) -> Self {
        Self {
            name,
            heading,
            values,
        }
    }
}

/// A theoretical value, and the simulated value if there is one.
#[derive(Debug, Serialize)]
pub struct Value {
    /// Its name for programs, with the unit at the end.
    pub name: &'static str,
    /// Its name in the table.
    #[serde(skip)]
    pub label: String,
    /// True if the drive meets the formula's assumptions; otherwise, the value is an approximation.
    pub is_exact: bool,
    /// The arrival rate for which it holds, in requests per second.
    pub rate_per_s: Option<f64>,
    /// The theoretical value; `None` if requests arrive faster than they are served.
    pub theory: Option<f64>,
    /// The mean over all simulations; `None` if there are none or one was saturated.
    pub simulated: Option<f64>,
    /// Half the width of its 95 % confidence interval (Student's t).
    pub ci95: Option<f64>,
    /// True if the theoretical value is in the simulation's interval.
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

    pub(super) fn approximate(mut self) -> Self {
        self.is_exact = false;
        self
    }

    pub(super) fn with_rate(mut self, rate_per_s: f64) -> Self {
        self.rate_per_s = Some(rate_per_s);
        self
    }

    pub(super) fn with_simulation(mut self, found: Option<SimulatedMean>) -> Self {
        let agrees = |found: SimulatedMean| Some((self.theory? - found.mean).abs() <= found.ci95);
        self.is_within = found.and_then(agrees);
        self.simulated = found.map(|found| found.mean);
        self.ci95 = found.map(|found| found.ci95);
        self
    }
}

/// A mean over [`RUNS`] simulations.
#[derive(Clone, Copy, Debug)]
pub(super) struct SimulatedMean {
    pub mean: f64,
    /// Half the width of its 95 % confidence interval (Student's t).
    pub ci95: f64,
}

impl SimulatedMean {
    /// Returns the mean over at least two runs; `None` if a run has no value.
    pub fn new(values: impl Iterator<Item = Option<f64>>) -> Option<Self> {
        let values: Vec<f64> = values.collect::<Option<_>>()?;
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let ci95 = half_width_95_of_numbers(&values)?;
        Some(Self { mean, ci95 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 to 10 have the mean 5.5 and variance 55 / 6; t is 2.262157 with 9 degrees of freedom.
    #[test]
    fn intervals_follow_students_t() {
        let found = SimulatedMean::new((1..=10).map(|n| Some(f64::from(n)))).unwrap();
        assert_eq!(found.mean, 5.5);
        assert!((found.ci95 - 2.262_157 * (55.0_f64 / 60.0).sqrt()).abs() < 1e-12);
        assert!(SimulatedMean::new([Some(1.0), None].into_iter()).is_none());
    }
}
