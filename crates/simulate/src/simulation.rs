//! A simulation, and its runs.

use std::iter;

use diskarm_core::array::SideBySide;
use diskarm_core::device::Device;
use diskarm_core::drive::Drive;
use diskarm_core::engine::{
    self, ArrivalStream, ClosedLoop, Load, OpenLoop, Replay, ReplayStep, Streams,
};
use diskarm_core::host::Host;
use diskarm_core::report::{Disks, Report, RequestTotals, Windows};
use diskarm_core::sched::{Policy, PolicyConfig};
use diskarm_core::stack::{self, BoxedDevice, InsufficientKnowledge};
use diskarm_core::units::{Instant, SectorCount, Span};
use diskarm_core::workload::{Arrivals, Thinking, Times};

use crate::backlog::Backlog;
use crate::doubts;
use crate::error::Error;
use crate::input::{Generated, Input, Issue, Traced};
use crate::model::Model;
use crate::parallel;
use crate::progress::{Progress, ProgressCalls};
use crate::rows::Sink;
use crate::run::{Replayed, Run};
use crate::tower::{Disk, Tower, disk_seeds};
use crate::trace_rows::{MAX_DISKS, Row, TraceRows};
use crate::watched::{End, Extras, Watched};

/// The largest number of windows of a run.
const MAX_WINDOWS: usize = 100_000;

/// Makes the policy of a host queue; each drive has its own queue.
pub trait MakePolicy: Sync {
    /// A policy for `drive`, with nothing pending.
    fn policy(&self, drive: &Drive) -> Box<dyn Policy<Drive>>;

    /// A policy for `device`, which is a tower, with nothing pending.
    ///
    /// # Errors
    /// If the policy needs to know more than the device provides.
    fn boxed(
        &self,
        device: &BoxedDevice,
    ) -> Result<Box<dyn Policy<BoxedDevice>>, InsufficientKnowledge>;
}

impl MakePolicy for PolicyConfig {
    fn policy(&self, drive: &Drive) -> Box<dyn Policy<Drive>> {
        self.policy(drive)
    }

    fn boxed(
        &self,
        device: &BoxedDevice,
    ) -> Result<Box<dyn Policy<BoxedDevice>>, InsufficientKnowledge> {
        stack::policy(self, device)
    }
}

/// Parses the policy in `argument`.
///
/// # Errors
/// If the policy is invalid.
pub fn policy(argument: &'static str, text: &str) -> Result<PolicyConfig, Error> {
    PolicyConfig::parse(text, argument).map_err(|error| error.in_argument(argument).into())
}

/// The drive of `model`, or its tower, behind a host's queue in the order of `policy`; `seed` is
/// for what it does at random.
///
/// # Errors
/// If the policy needs to know more than the tower provides.
pub fn queued(model: &Model, policy: &dyn MakePolicy, seed: u64) -> Result<Box<dyn Device>, Error> {
    Ok(match &model.tower {
        None => Box::new(host(model, policy, seed)),
        Some(tower) => Box::new(host_of(model, tower, policy, seed)?),
    })
}

/// The tower of `model` with what `disk` makes in place of each of its drives.
///
/// # Errors
/// If there is no tower, it has drives of several models or with faults, which such a disk has not,
/// or a device of it needs to know more than such a disk provides.
pub fn over_disks(model: &Model, seed: u64, disk: &Disk<'_>) -> Result<BoxedDevice, Error> {
    let tower = model.tower.as_ref();
    let tower = tower.filter(|tower| tower.others().is_empty() && !tower.changes_drives());
    let Some(tower) = tower else {
        let expected = "an array of drives of one model, without faults in front of each";
        return Err(Error::argument("drive", model.name.as_str(), expected));
    };
    Ok(tower.build_over(model, seed, disk)?)
}

/// The drive of `model` behind its host's queue.
fn host(model: &Model, policy: &dyn MakePolicy, seed: u64) -> Host<Drive> {
    let drive = model.drive().seeded(seed);
    let policy = policy.policy(&drive);
    Host::new(drive, policy)
}

/// The tower in front of the drive of `model`, behind its host's queue.
///
/// # Errors
/// If the policy needs to know more than the tower provides.
fn host_of(
    model: &Model,
    tower: &Tower,
    policy: &dyn MakePolicy,
    seed: u64,
) -> Result<Host<BoxedDevice>, Error> {
    let device = tower.build(model, seed)?;
    let refused = |unknown: InsufficientKnowledge| tower.refused(&unknown);
    let policy = policy.boxed(&device).map_err(refused)?;
    Ok(Host::new(device, policy))
}

/// A drive behind a host's queue, and its requests.
#[derive(Clone, Copy)]
pub struct Simulation<'a> {
    /// The drive.
    pub model: &'a Model,
    /// The order of service in the host's queue.
    pub policy: &'a dyn MakePolicy,
    /// The requests.
    pub input: &'a Input,
    /// The largest command into which the host's queue merges sequential requests, if it does.
    pub merge: Option<SectorCount>,
    /// The number of completions to leave out of the report, together with the time up to them.
    pub warm_up: u64,
    /// The length of the time windows to report, if any.
    pub window: Option<Span>,
    /// The largest number of requests that may wait under an open load. At the first
    /// completion with more (all that are outstanding, at all drives together, but one) the run
    /// ends as saturated.
    pub max_waiting: Option<u64>,
}

impl<'a> Simulation<'a> {
    /// Serves `input` on `model` in the order of `policy`, with no merging, no warm-up,
    /// no windows and no early end.
    pub fn new(model: &'a Model, policy: &'a dyn MakePolicy, input: &'a Input) -> Self {
        Self {
            model,
            policy,
            input,
            merge: None,
            warm_up: 0,
            window: None,
            max_waiting: None,
        }
    }

    /// Runs once: with the first seed if requests are generated.
    ///
    /// # Errors
    /// If the workload, the warm-up or the windows do not fit the run, or if a trace is
    /// invalid.
    pub fn run<'w>(
        &self,
        progress: Progress<'w>,
        sink: Option<&'w mut dyn Sink>,
    ) -> Result<Run, Error> {
        match self.input {
            Input::Generated(generated) => {
                generated.check(self.warm_up)?;
                self.replication(generated, generated.seed, progress, sink)
            }
            Input::Traced(traced) => self.replay(traced, progress, sink),
        }
    }

    /// Runs all replications, on every processor; `finished` is called with the number of runs
    /// done. A trace runs once.
    ///
    /// # Errors
    /// The same as [`Self::run`].
    pub fn replications(
        &self,
        progress: Progress<'_>,
        finished: impl Fn(u64) + Sync,
    ) -> Result<Vec<Run>, Error> {
        let Input::Generated(generated) = self.input else {
            return Ok(vec![self.run(progress, None)?]);
        };
        generated.check(self.warm_up)?;
        let seeds = generated.seeds();
        let run = |number: usize| self.replication(generated, seeds[number], progress, None);
        let runs = parallel::map(seeds.len(), run, finished);
        runs.into_iter().collect()
    }

    /// One run, with the requests generated from `seed`.
    fn replication<'w>(
        &self,
        generated: &Generated,
        seed: u64,
        progress: Progress<'w>,
        sink: Option<&'w mut dyn Sink>,
    ) -> Result<Run, Error> {
        match &self.model.tower {
            None => self.draw(&mut self.host(seed), generated, seed, progress, sink),
            Some(tower) => {
                let mut host = self.host_of(tower, seed)?;
                self.draw(&mut host, generated, seed, progress, sink)
            }
        }
    }

    /// The same on `device`.
    fn draw<'w>(
        &self,
        device: &mut impl Device,
        generated: &Generated,
        seed: u64,
        progress: Progress<'w>,
        sink: Option<&'w mut dyn Sink>,
    ) -> Result<Run, Error> {
        let (workload, total) = (&generated.workload, generated.requests_count());
        let disk = self.model.disk();
        let only = match &workload.streams[..] {
            [only] => Some((only.requests(disk, seed), &only.arrivals)),
            _ => None,
        };
        // A separate load type for a single stream avoids the choice among several, a sixth of
        // the time per request.
        let is_open = generated.is_open();
        let watched = self.watched(progress, sink, workload.streams.len(), is_open);
        let served = match only {
            Some((requests, Arrivals::Open(pauses))) => {
                let times = Times::new(pauses, seed, 0);
                let mut load = ArrivalStream::new(times, requests, total);
                self.serve(device, &mut load, watched)?
            }
            Some((requests, Arrivals::Closed(clients))) => {
                let thinking = Thinking::new(&clients.think, seed, 0);
                let requests = requests.take(total as usize);
                let mut load = ClosedLoop::with_think_times(requests, clients.clients, thinking);
                self.serve(device, &mut load, watched)?
            }
            None => {
                let mut load = Streams::new(workload, disk, seed, total);
                self.serve(device, &mut load, watched)?
            }
        };
        Ok(Run {
            seed: Some(seed),
            is_saturated: served.run.is_saturated && is_open,
            ..served.run
        })
    }

    /// Keeps a fixed number outstanding if requested; otherwise uses the arrivals of
    /// the trace if it has them; otherwise issues one request at a time, with the measured pauses.
    fn replay<'w>(
        &self,
        traced: &Traced,
        progress: Progress<'w>,
        sink: Option<&'w mut dyn Sink>,
    ) -> Result<Run, Error> {
        let mut seeds = disk_seeds(traced.seed);
        let mut seed = move || seeds.next().unwrap_or_default();
        let Some(tower) = &self.model.tower else {
            return self.replay_on(|| self.host(seed()), traced, progress, sink);
        };
        // Reports here, as an error, what cannot be built.
        self.host_of(tower, 0)?;
        let next = || {
            let host = self.host_of(tower, seed());
            host.unwrap_or_else(|error| panic!("built before: {error}"))
        };
        self.replay_on(next, traced, progress, sink)
    }

    /// The same on disks created by `make`.
    fn replay_on<'w, D: Device>(
        &self,
        make: impl FnMut() -> D + Send,
        traced: &Traced,
        progress: Progress<'w>,
        sink: Option<&'w mut dyn Sink>,
    ) -> Result<Run, Error> {
        let mut rows = TraceRows::open(traced, self.model)?;
        let mut disks = SideBySide::new(MAX_DISKS, make);
        let issue = match traced.issue {
            Issue::Traced if !rows.has_arrivals() => Issue::Pauses,
            asked => asked,
        };
        let is_open = issue == Issue::Traced;
        let watched = self.watched(progress, sink, 1, is_open);
        let requests = rows.by_ref();
        let served = match issue {
            Issue::Outstanding { clients, think } => {
                let requests = requests.map(|row| row.request);
                let mut load = ClosedLoop::new(requests, clients as usize, think);
                self.serve(&mut disks, &mut load, watched)
            }
            Issue::Traced => {
                let arrival = |row: &Row| row.arrival.unwrap_or(Instant::START);
                let arrivals = requests.map(|row| (arrival(&row), row.request));
                self.serve(&mut disks, &mut OpenLoop::new(arrivals), watched)
            }
            Issue::Pauses => {
                let steps = requests.map(|row| ReplayStep {
                    request: row.request,
                    think: row.think.unwrap_or_default(),
                });
                let mut load = Replay::new(steps, Instant::START);
                self.serve(&mut disks, &mut load, watched)
            }
        };
        rows.finish()?;
        let Ended { run, reports, end } = served?;
        let all = rows.requests_count();
        if end.is_none() && self.warm_up >= all {
            let expected = format!("less than the {all} requests of `trace`");
            let found = self.warm_up.to_string();
            return Err(Error::argument("warm_up", found, expected));
        }
        let origins = rows.origins();
        let several = reports.len() > 1;
        let disks = origins.iter().copied().zip(reports).filter(|_| several);
        Ok(Run {
            // Clients that wait for their requests cannot saturate the drive.
            is_saturated: run.is_saturated && is_open,
            disks: disks.collect(),
            doubts: [run.doubts, rows.doubts()].concat(),
            changes: rows.changes(),
            seed: self.model.is_random().then_some(traced.seed),
            replayed: Some(Replayed {
                files: rows.files(),
                origins,
                issue,
            }),
            ..run
        })
    }

    /// The drive behind its host's queue, for a run with this seed.
    fn host(&self, seed: u64) -> Host<Drive> {
        let host = host(self.model, self.policy, seed);
        match self.merge {
            Some(max) => host.merging(max),
            None => host,
        }
    }

    /// The tower behind its host's queue, for a run with this seed.
    ///
    /// # Errors
    /// If the policy needs to know more than the tower provides.
    fn host_of(&self, tower: &Tower, seed: u64) -> Result<Host<BoxedDevice>, Error> {
        let host = host_of(self.model, tower, self.policy, seed)?;
        Ok(match self.merge {
            Some(max) => host.merging(max),
            None => host,
        })
    }

    /// Doubts about the drives, one line each.
    fn doubts(&self) -> Vec<String> {
        let models = iter::once(self.model).chain(self.model.others());
        let doubts = models.flat_map(|model| {
            let doubts = model.spec.mechanics.doubts().into_iter();
            doubts.map(|doubt| format!("{}: {doubt}", model.name))
        });
        doubts.collect()
    }

    /// The observer of a run with this many streams.
    fn watched<'w>(
        &self,
        progress: Progress<'w>,
        sink: Option<&'w mut dyn Sink>,
        streams: usize,
        is_open: bool,
    ) -> Watched<'w> {
        let of_streams = if streams > 1 { streams } else { 0 };
        let extras = Extras {
            streams: vec![RequestTotals::default(); of_streams],
            windows: self.window.map(|length| Windows::new(length, MAX_WINDOWS)),
            disks: None,
            rows: sink,
        };
        Watched {
            report: Report::new(self.warm_up),
            backlog: Backlog::default(),
            extras: extras.is_requested().then(|| Box::new(extras)),
            calls: ProgressCalls::new(progress),
            // All outstanding requests but one are waiting.
            max_outstanding: match self.max_waiting {
                Some(max) if is_open => max.saturating_add(1),
                _ => u64::MAX,
            },
            end: None,
            parts: None,
        }
    }

    /// Runs `load` on `device`.
    fn serve(
        &self,
        device: &mut impl Device,
        load: &mut impl Load,
        mut watched: Watched<'_>,
    ) -> Result<Ended, Error> {
        engine::run(device, load, &mut watched)?;
        let parts = watched.parts(device);
        let failed = watched.report.failed_count();
        let failures = doubts::of_failures(&parts, watched.backlog.end(), failed);
        let extras = watched.extras.map(|extras| *extras).unwrap_or_default();
        let windows = extras.windows.map(|windows| {
            let expected = format!("windows of which {MAX_WINDOWS} reach over the run");
            let found = self.window.map_or_else(String::new, |w| w.to_string());
            let few = windows.finish();
            few.ok_or_else(|| Error::argument("window", found, expected))
        });
        let run = Run {
            seed: None,
            is_saturated: watched.end == Some(End::Saturated) || watched.backlog.is_growing(),
            is_stopped: watched.end == Some(End::Stopped),
            report: watched.report,
            streams: extras.streams,
            windows: windows.transpose()?,
            disks: Vec::new(),
            parts,
            doubts: [self.doubts(), failures].concat(),
            changes: Vec::new(),
            replayed: None,
        };
        Ok(Ended {
            run,
            reports: extras.disks.map(Disks::finish).unwrap_or_default(),
            end: watched.end,
        })
    }
}

/// The result of a run on devices side by side.
struct Ended {
    run: Run,
    /// The report of each device.
    reports: Vec<Report>,
    /// Why it ended early, if it did.
    end: Option<End>,
}
