//! A simulation, and its runs.

use std::iter;

use diskarm_core::array::IndependentDisks;
use diskarm_core::device::Device;
use diskarm_core::drive::Drive;
use diskarm_core::engine::{
    self, ArrivalStream, ClosedLoop, Load, OpenLoop, Replay, ReplayStep, Streams,
};
use diskarm_core::host::Host;
use diskarm_core::random::Purpose;
use diskarm_core::report::{Disks, Report, RequestTotals, Windows};
use diskarm_core::sched::Estimate;
use diskarm_core::stack::BoxedDevice;
use diskarm_core::units::{Instant, SectorCount, Span};
use diskarm_core::workload::{Arrivals, PauseStream, Times};

use crate::error::Error;
use crate::input::{GeneratedRequests, Input, Issue, TraceReplay};
use crate::observer::{Backlog, EarlyEnd, Extras, Progress, ProgressCalls, RunObserver, Sink};
use crate::parallel;
use crate::policies::MakePolicy;
use crate::run::{ReplayInfo, Run, failure_doubts};
use crate::stack::DeviceStack;
use crate::system::System;
use crate::trace_rows::{TraceRequest, TraceRows};

const MAX_WINDOWS: usize = 100_000;

/// A system below a host's queue, and its requests.
#[derive(Clone, Copy)]
pub struct Simulation<'a> {
    /// The drive, or the devices in front of it.
    pub system: &'a System,
    /// The order of service in the host's queue.
    pub policy: &'a dyn MakePolicy,
    /// The requests to serve.
    pub input: &'a Input,
    /// The host's queue merges sequential requests up to this size; `None` if it does not merge.
    pub merge: Option<SectorCount>,
    /// The number of initial completions that the report omits, with the time that they take.
    pub warm_up: u64,
    /// The length of the time windows to report.
    pub window: Option<Span>,
    /// The largest number of requests that may wait under an open load: those outstanding at all
    /// drives, minus one. When more wait, the run is saturated and ends at the next completion.
    pub max_waiting: Option<u64>,
}

impl<'a> Simulation<'a> {
    /// Creates a simulation of `input` on `system` in the order of `policy`, with default options.
    pub fn new(system: &'a System, policy: &'a dyn MakePolicy, input: &'a Input) -> Self {
        Self {
            system,
            policy,
            input,
            merge: None,
            warm_up: 0,
            window: None,
            max_waiting: None,
        }
    }

    /// Runs once: with the first seed if requests are generated. Fails if the workload, the warm-up
    /// or the windows do not fit the run, or if a trace is invalid.
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

    /// Runs all replications on all processors, or a trace once. Calls `finished` with the number
    /// of finished runs. Fails like [`Self::run`].
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

    fn replication<'w>(
        &self,
        generated: &GeneratedRequests,
        seed: u64,
        progress: Progress<'w>,
        sink: Option<&'w mut dyn Sink>,
    ) -> Result<Run, Error> {
        match &self.system.stack {
            None => self.run_generated(&mut self.host(seed), generated, seed, progress, sink),
            Some(stack) => {
                let mut host = self.stack_host(stack, seed)?;
                self.run_generated(&mut host, generated, seed, progress, sink)
            }
        }
    }

    fn run_generated<'w>(
        &self,
        device: &mut impl Device,
        generated: &GeneratedRequests,
        seed: u64,
        progress: Progress<'w>,
        sink: Option<&'w mut dyn Sink>,
    ) -> Result<Run, Error> {
        let (workload, total) = (&generated.workload, generated.requests_count());
        let disk = self.system.disk();
        let single = match &workload.streams[..] {
            [stream] => Some((stream.requests(disk, seed), &stream.arrivals)),
            _ => None,
        };
        // A separate load type for a single stream avoids a choice among streams, which would take
        // a sixth of the time per request.
        let is_open = generated.is_open();
        let observer = self.observer(progress, sink, workload.streams.len(), is_open);
        let served = match single {
            Some((requests, Arrivals::Open(pauses))) => {
                let times = Times::new(pauses, seed, 0);
                let mut load = ArrivalStream::new(times, requests, total);
                self.serve(device, &mut load, observer)?
            }
            Some((requests, Arrivals::Closed(clients))) => {
                let thinking = PauseStream::new(&clients.think, seed, 0, Purpose::Thinking);
                let requests = requests.take(total as usize);
                let mut load = ClosedLoop::with_think_times(requests, clients.clients, thinking);
                self.serve(device, &mut load, observer)?
            }
            None => {
                let mut load = Streams::new(workload, disk, seed, total);
                self.serve(device, &mut load, observer)?
            }
        };
        Ok(Run {
            seed: Some(seed),
            is_saturated: served.run.is_saturated && is_open,
            ..served.run
        })
    }

    /// Replays a trace: keeps a fixed number of requests outstanding if asked to, uses the trace's
    /// arrivals if it has any, and otherwise issues one request at a time, with the trace's pauses.
    fn replay<'w>(
        &self,
        traced: &TraceReplay,
        progress: Progress<'w>,
        sink: Option<&'w mut dyn Sink>,
    ) -> Result<Run, Error> {
        let mut seeds = disk_seeds(traced.seed);
        let mut seed = move || seeds.next().unwrap_or_default();
        let Some(stack) = &self.system.stack else {
            return self.replay_on(|| self.host(seed()), traced, progress, sink);
        };
        // Fails here if the stack cannot be built.
        self.stack_host(stack, 0)?;
        let next = || {
            let host = self.stack_host(stack, seed());
            host.unwrap_or_else(|error| panic!("the stack cannot be built again: {error}"))
        };
        self.replay_on(next, traced, progress, sink)
    }

    fn replay_on<'w, D: Device>(
        &self,
        make: impl FnMut() -> D + Send,
        traced: &TraceReplay,
        progress: Progress<'w>,
        sink: Option<&'w mut dyn Sink>,
    ) -> Result<Run, Error> {
        let mut rows = TraceRows::open(traced, self.system)?;
        let mut disks = IndependentDisks::new(self.system.max_copies(), make);
        let issue = match traced.issue {
            Issue::Traced if !rows.has_arrivals() => Issue::Pauses,
            issue => issue,
        };
        let is_open = issue == Issue::Traced;
        let observer = self.observer(progress, sink, 1, is_open);
        let requests = rows.by_ref();
        let served = match issue {
            Issue::Outstanding { clients, think } => {
                let requests = requests.map(|row| row.request);
                let mut load = ClosedLoop::new(requests, clients as usize, think);
                self.serve(&mut disks, &mut load, observer)
            }
            Issue::Traced => {
                let arrival = |row: &TraceRequest| row.arrival.unwrap_or(Instant::START);
                let arrivals = requests.map(|row| (arrival(&row), row.request));
                self.serve(&mut disks, &mut OpenLoop::new(arrivals), observer)
            }
            Issue::Pauses => {
                let steps = requests.map(|row| ReplayStep {
                    request: row.request,
                    think: row.think.unwrap_or_default(),
                });
                let mut load = Replay::new(steps, Instant::START);
                self.serve(&mut disks, &mut load, observer)
            }
        };
        rows.finish()?;
        let Outcome { run, reports, end } = served?;
        let all = rows.requests_count();
        if end.is_none() && self.warm_up >= all {
            let expected = format!("less than {all}, the number of requests in `trace`");
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
            doubts: [run.doubts, rows.warnings()].concat(),
            changes: rows.changes(),
            seed: self.system.is_random().then_some(traced.seed),
            replayed: Some(ReplayInfo {
                files: rows.files(),
                origins,
                issue,
            }),
            ..run
        })
    }

    fn host(&self, seed: u64) -> Host<Drive> {
        self.merged(self.system.drive_host(self.policy, seed))
    }

    fn stack_host(&self, stack: &DeviceStack, seed: u64) -> Result<Host<BoxedDevice>, Error> {
        let host = self.system.stack_host(stack, self.policy, seed)?;
        Ok(self.merged(host))
    }

    fn merged<D: Device + Estimate>(&self, host: Host<D>) -> Host<D> {
        match self.merge {
            Some(max) => host.merging(max),
            None => host,
        }
    }

    fn doubts(&self) -> Vec<String> {
        let others = self.system.others().iter();
        let others = others.map(|model| (&model.name, model));
        let models = iter::once((&self.system.name, &self.system.drive)).chain(others);
        let doubts = models.flat_map(|(name, model)| {
            let doubts = model.spec.mechanics.doubts().into_iter();
            doubts.map(move |doubt| format!("{name}: {doubt}"))
        });
        doubts.collect()
    }

    fn observer<'w>(
        &self,
        progress: Progress<'w>,
        sink: Option<&'w mut dyn Sink>,
        streams: usize,
        is_open: bool,
    ) -> RunObserver<'w> {
        let reported_streams = if streams > 1 { streams } else { 0 };
        let extras = Extras {
            streams: vec![RequestTotals::default(); reported_streams],
            windows: self.window.map(|length| Windows::new(length, MAX_WINDOWS)),
            disks: None,
            rows: sink,
        };
        RunObserver {
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

    fn serve(
        &self,
        device: &mut impl Device,
        load: &mut impl Load,
        mut observer: RunObserver<'_>,
    ) -> Result<Outcome, Error> {
        engine::run(device, load, &mut observer)?;
        let parts = observer.parts(device);
        let failed = observer.report.failed_count();
        let failures = failure_doubts(&parts, observer.backlog.end, failed);
        let extras = observer.extras.map(|extras| *extras).unwrap_or_default();
        let windows = extras.windows.map(|windows| {
            let expected = format!("windows long enough for {MAX_WINDOWS} to cover the run");
            let found = self.window.map_or_else(String::new, |w| w.to_string());
            let finished = windows.finish();
            finished.ok_or_else(|| Error::argument("window", found, expected))
        });
        let run = Run {
            seed: None,
            is_saturated: observer.end == Some(EarlyEnd::Saturated)
                || observer.backlog.is_growing(),
            is_stopped: observer.end == Some(EarlyEnd::Stopped),
            report: observer.report,
            streams: extras.streams,
            windows: windows.transpose()?,
            disks: Vec::new(),
            parts,
            doubts: [self.doubts(), failures].concat(),
            changes: Vec::new(),
            replayed: None,
        };
        Ok(Outcome {
            run,
            reports: extras.disks.map(Disks::finish).unwrap_or_default(),
            end: observer.end,
        })
    }
}

/// The outcome of a run on independent devices.
struct Outcome {
    run: Run,
    reports: Vec<Report>,
    end: Option<EarlyEnd>,
}

/// Returns the seeds of independent stacks. They must differ from the seeds of other runs.
fn disk_seeds(seed: u64) -> impl Iterator<Item = u64> + Send {
    (0..).map(move |disk: u64| seed ^ disk.wrapping_mul(0xa076_1d64_78bd_642f))
}
