//! The simulations beside the theory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use diskarm_core::device::Completion;
use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::Mechanism;
use diskarm_core::stats::student::t95_factor;
use diskarm_core::units::{Angle, Lbn, SectorCount, Span};
use diskarm_core::workload::arrivals::{Closed, Deterministic, Poisson};
use diskarm_core::workload::{Arrivals, Pauses, Sizes, Stream, Workload, sizes};
use diskarm_queueing::service::mechanism_alone;
use diskarm_simulate::{
    Error, Generated, Input, Model, Run, Simulation, Sink, System, never_stop, parallel,
};

use super::Asked;

/// The simulations of each value.
pub const RUNS: u64 = 10;

/// Requests arrive faster than they are served if more than this many wait. Far more than at any
/// load of which [`RUNS`] simulations tell the mean.
const MAX_WAITING: u64 = 2_000;

/// A mean over [`RUNS`] simulations.
#[derive(Clone, Copy, Debug)]
pub struct Simulated {
    pub mean: f64,
    /// Half the width of its 95 % confidence interval, by Student's t.
    pub ci95: f64,
}

impl Simulated {
    /// The mean of what each run found; `None` if one found nothing.
    fn of(values: impl Iterator<Item = Option<f64>>) -> Option<Self> {
        let values: Vec<f64> = values.collect::<Option<_>>()?;
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error = (squares / (count - 1.0) / count).sqrt();
        let ci95 = t95_factor(values.len() as u64 - 1) * error;
        Some(Self { mean, ci95 })
    }
}

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
pub struct Bench<'a> {
    /// The drive without what the theory leaves out.
    pub system: System,
    asked: &'a Asked,
    counter: Counter<'a>,
    /// From 0 to 1.
    read_share: f64,
}

/// The results of [`RUNS`] simulations.
pub struct Runs(Vec<(Run, SeekDistance)>);

impl Runs {
    /// The mean over all runs of a number of each.
    pub fn mean(&self, of: impl Fn(&Run) -> Option<f64>) -> Option<Simulated> {
        Simulated::of(self.0.iter().map(|(run, _)| of(run)))
    }

    /// The same, or `None` if requests arrived faster than they were served.
    pub fn steady(&self, of: impl Fn(&Run) -> Option<f64>) -> Option<Simulated> {
        self.mean(|run| of(run).filter(|_| !run.is_saturated))
    }

    /// Doubts about the drive, which are the same in all runs.
    pub fn doubts(self) -> Vec<String> {
        let first = self.0.into_iter().next();
        first.map(|(run, _)| run.doubts).unwrap_or_default()
    }

    /// The mean distance from one request to the next, in cylinders.
    pub fn seek_distance(&self) -> Option<Simulated> {
        Simulated::of(self.0.iter().map(|(_, distance)| distance.mean_cylinders()))
    }
}

impl<'a> Bench<'a> {
    /// The drive of `model` without what the theory leaves out.
    pub fn new(model: &Model, asked: &'a Asked, counter: Counter<'a>) -> Self {
        let spec = mechanism_alone(&model.spec);
        let mechanism = Mechanism::new(&spec, Arc::clone(model.layout()), Angle::ZERO);
        let model = Model {
            spec,
            mechanism,
            ..model.clone()
        };
        let read_share = asked.read_share;
        Self {
            system: model.into(),
            asked,
            counter,
            read_share,
        }
    }

    /// The same with a mirrored pair of the drive, which is written with `parameters`, and other
    /// shares of reads.
    pub fn pair(&self, parameters: &str, read_share: f64) -> Result<Self, Error> {
        let text = format!("mirror({parameters}, drive={})", self.system.drive.name);
        Ok(Self {
            system: System::with_devices(self.system.drive.clone(), &text)?,
            read_share,
            ..*self
        })
    }

    /// The size of each request.
    pub fn sectors(&self) -> SectorCount {
        self.asked.sectors
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
        let policy = diskarm_simulate::policy("policy", policy)?;
        let sectors = self.asked.sectors;
        let stream = Stream {
            arrivals,
            sizes: Sizes::Fixed(sizes::Fixed { sectors }),
            read_share: self.read_share,
            ..Stream::worthington94()
        };
        let streams = vec![stream];
        let generated = Generated {
            requests: Some(self.asked.requests),
            seed: self.asked.seed,
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
                warm_up: self.asked.requests / 10,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 to 10: mean 5.5, variance 55 / 6, and t is 2.262157 with 9 degrees of freedom.
    #[test]
    fn an_interval_is_students() {
        let found = Simulated::of((1..=10).map(|n| Some(f64::from(n)))).unwrap();
        assert_eq!(found.mean, 5.5);
        assert!((found.ci95 - 2.262_157 * (55.0_f64 / 60.0).sqrt()).abs() < 1e-12);
        assert!(Simulated::of([Some(1.0), None].into_iter()).is_none());
    }
}
