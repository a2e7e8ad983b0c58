//! The simulations with_simulation the theory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::values::{Parameters, RUNS, SimulatedMean};
use crate::{Error, Generated, Input, Model, Run, Simulation, Sink, System, never_stop, parallel};
use diskarm_core::device::Completion;
use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::Mechanism;
use diskarm_core::units::{Angle, Lbn, SectorCount, Span};
use diskarm_core::workload::arrivals::{Closed, Deterministic, Poisson};
use diskarm_core::workload::{Arrivals, Pauses, Sizes, Stream, Workload, sizes};
use diskarm_queueing::service::mechanism_alone;

/// If more requests than this wait, they arrive faster than they are served. It is far more than at
/// any load whose mean [`RUNS`] simulations can determine.
const MAX_WAITING: u64 = 2_000;

/// Counts the simulations that have been run.
#[derive(Clone, Copy)]
pub struct Counter<'a> {
    pub done: &'a AtomicU64,
    /// Called with that number after each, on any thread.
    pub on_each: &'a (dyn Fn(u64) + Sync),
}

impl Counter<'_> {
    fn one_more(&self) {
        (self.on_each)(1 + self.done.fetch_add(1, Ordering::Relaxed));
    }
}

/// Simulates requests on one drive.
pub struct Simulator<'a> {
    /// The drive without what the theory leaves out.
    pub system: System,
    parameters: &'a Parameters,
    counter: Counter<'a>,
    /// From 0 to 1.
    read_share: f64,
}

/// The results of [`RUNS`] simulations.
pub struct Runs(Vec<(Run, SeekDistance)>);

impl Runs {
    /// Returns the mean over all runs of a number of each.
    pub fn mean(&self, of: impl Fn(&Run) -> Option<f64>) -> Option<SimulatedMean> {
        SimulatedMean::new(self.0.iter().map(|(run, _)| of(run)))
    }

    /// Like [`Self::mean`], but `None` if requests arrived faster than they were served.
    pub fn steady(&self, of: impl Fn(&Run) -> Option<f64>) -> Option<SimulatedMean> {
        self.mean(|run| of(run).filter(|_| !run.is_saturated))
    }

    /// Doubts about the drive, which are the same in all runs.
    pub fn doubts(self) -> Vec<String> {
        let first = self.0.into_iter().next();
        first.map(|(run, _)| run.doubts).unwrap_or_default()
    }

    /// The mean distance from one request to the next, in cylinders.
    pub fn seek_distance(&self) -> Option<SimulatedMean> {
        SimulatedMean::new(self.0.iter().map(|(_, distance)| distance.mean_cylinders()))
    }
}

impl<'a> Simulator<'a> {
    /// The drive of `model` without what the theory leaves out.
    pub fn new(model: &Model, parameters: &'a Parameters, counter: Counter<'a>) -> Self {
        let spec = mechanism_alone(&model.spec);
        let mechanism = Mechanism::new(&spec, Arc::clone(model.layout()), Angle::ZERO);
        let model = Model {
            spec,
            mechanism,
            ..model.clone()
        };
        let read_share = parameters.read_share;
        Self {
            system: model.into(),
            parameters,
            counter,
            read_share,
        }
    }

    /// Returns a simulator of a mirrored pair of the drive, with these parameters of `mirror`.
    pub fn pair(&self, mirror: &str, read_share: f64) -> Result<Self, Error> {
        let text = format!("mirror({mirror}, drive={})", self.system.drive.name);
        Ok(Self {
            system: System::with_devices(self.system.drive.clone(), &text)?,
            read_share,
            ..*self
        })
    }

    /// The size of each request.
    pub fn sectors(&self) -> SectorCount {
        self.parameters.sectors
    }

    /// Clients without think time, each of which always has a request at the drive.
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
        let generated = Generated {
            requests: Some(self.parameters.requests),
            seed: self.parameters.seed,
            replications: Some(RUNS),
            ..Generated::new(Workload { streams })
        };
        let seeds = generated.seeds();
        let run = |number: usize| {
            let seed = seeds[number];
            let input = Input::Generated(Generated {
                seed,
                ..generated.clone()
            });
            let mut distance = SeekDistance::new(&self.system.drive);
            let run = Simulation {
                warm_up: self.parameters.requests / 10,
                max_waiting: Some(MAX_WAITING),
                ..Simulation::new(&self.system, &policy, &input)
            };
            Ok((run.run(&never_stop, Some(&mut distance))?, distance))
        };
        let runs = parallel::map(seeds.len(), run, |_| self.counter.one_more());
        Ok(Runs(runs.into_iter().collect::<Result<_, Error>>()?))
    }
}

/// Adds up the distances from each request to the next, in the order of service.
struct SeekDistance {
    layout: Arc<Layout>,
    /// Where the last request ended.
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
