//! `diskarm simulate`: one drive, one workload, one host policy.

mod args;
mod backlog;
mod figures;
mod trace_rows;
mod workload;

pub use args::Args;

use std::time::Instant;

use diskarm_core::drive::{Completion, Drive};
use diskarm_core::engine::{self, Closed, Load, Observer, Open, Replay, Step, Streams};
use diskarm_core::host::Host;
use diskarm_core::report::Report;
use diskarm_core::sched;
use diskarm_core::units::{self, Angle};
use diskarm_core::workload::{Arrivals, Thinking, Times};

use crate::drive_arg::{self, Chosen};
use crate::error::Error;
use crate::output;
use crate::progress::Progress;
use backlog::Backlog;
use figures::{Figures, Inputs};
use trace_rows::TraceRows;
use workload::Synthetic;

/// Runs the simulation and prints its figures.
pub fn run(args: Args) -> Result<(), Error> {
    let chosen = drive_arg::choose("--drive", &args.drive)?;
    let began = Instant::now();
    let (workload, served) = match &args.trace {
        Some(path) => run_trace(&args, &chosen, TraceRows::open(&args, path, &chosen)?)?,
        None => run_synthetic(&args, &chosen, &Synthetic::new(&args, &chosen)?)?,
    };
    let wall = began.elapsed();
    let inputs = Inputs {
        drive: chosen.name,
        policy: args.policy,
        workload,
        seed: args.trace.is_none().then_some(args.seed),
    };
    let figures = Figures::new(inputs, &served.report, wall);
    if args.json {
        return output::print_json(&figures);
    }
    let mut text = figures.table();
    if served.is_saturated {
        text += SATURATED;
    }
    output::print(&text)
}

/// Below the figures of an open run that the drive did not keep up with.
const SATURATED: &str = "
note: requests arrive faster than they are served; the means grow with the length of the run
";

/// What came of a run.
struct Served {
    report: Report,
    /// Whether arrivals that wait for nothing came faster than the drive served them.
    is_saturated: bool,
}

/// Requests as the seed gives them.
fn run_synthetic(
    args: &Args,
    chosen: &Chosen,
    synthetic: &Synthetic,
) -> Result<(figures::Workload, Served), Error> {
    let (workload, total) = (&synthetic.workload, synthetic.requests);
    let only = match &workload.streams[..] {
        [only] => Some((only.requests(synthetic.disk, args.seed), &only.arrivals)),
        _ => None,
    };
    // A load of its own for a single stream spares it the choice among several, a sixth of the
    // time of a request.
    let served = match only {
        Some((requests, Arrivals::Open(pauses))) => {
            let times = Times::new(pauses, args.seed, 0);
            let arrivals = times.zip(requests).take(total as usize);
            serve(args, chosen, &mut Open::new(arrivals), Some(total))?
        }
        Some((requests, Arrivals::Closed(clients))) => {
            let thinking = Thinking::new(&clients.think, args.seed, 0);
            let requests = requests.take(total as usize);
            let mut load = Closed::thinking(requests, clients.clients, thinking);
            serve(args, chosen, &mut load, Some(total))?
        }
        None => {
            let mut load = Streams::new(workload, synthetic.disk, args.seed, total);
            serve(args, chosen, &mut load, Some(total))?
        }
    };
    let workload = figures::Workload::of_synthetic(synthetic, args.warmup);
    let is_open = synthetic.is_open();
    Ok((workload, if is_open { served } else { closed(served) }))
}

/// Clients that wait for their requests cannot outrun the drive.
fn closed(served: Served) -> Served {
    Served {
        is_saturated: false,
        ..served
    }
}

/// Arrivals as traced where the trace has them; else one request at a time, with its pauses.
fn run_trace(
    args: &Args,
    chosen: &Chosen,
    mut rows: TraceRows,
) -> Result<(figures::Workload, Served), Error> {
    let is_open = rows.has_arrivals();
    let served = if is_open {
        let arrivals = rows
            .by_ref()
            .map(|(record, request)| (record.arrival.unwrap_or(units::Instant::START), request));
        serve(args, chosen, &mut Open::new(arrivals), None)
    } else {
        let steps = rows.by_ref().map(|(record, request)| Step {
            request,
            think: record.think.unwrap_or_default(),
        });
        let mut load = Replay::new(steps, units::Instant::START);
        serve(args, chosen, &mut load, None).map(closed)
    };
    rows.finish()?;
    let served = served?;
    if served.report.requests_count() == 0 {
        let (count, name) = (rows.requests_count(), rows.name());
        let expected = format!("less than the {count} requests of {name}");
        return Err(Error::flag("--warmup", args.warmup.to_string(), expected));
    }
    let workload = figures::Workload::of_trace(&rows, is_open, args.warmup);
    Ok((workload, served))
}

/// Runs `load`, of which `total` requests are known to come, on the drive behind the host queue.
fn serve(
    args: &Args,
    chosen: &Chosen,
    load: &mut impl Load,
    total: Option<u64>,
) -> Result<Served, Error> {
    let policy = sched::policy(&args.policy)
        .ok_or_else(|| Error::flag("--policy", &args.policy, "a policy of the table"))?;
    let drive = Drive::with_layout(&chosen.spec, chosen.layout.clone(), Angle::ZERO);
    let mut watched = Watched {
        report: Report::new(args.warmup),
        backlog: Backlog::default(),
        progress: Progress::new(total),
        done: 0,
    };
    engine::run(&mut Host::new(drive, policy), load, &mut watched)?;
    Ok(Served {
        is_saturated: watched.backlog.is_growing(),
        report: watched.report,
    })
}

/// A report, and the bar that shows how far it is.
struct Watched {
    report: Report,
    backlog: Backlog,
    progress: Progress,
    done: u64,
}

/// Requests between two looks at the clock.
const STRIDE: u64 = 1024;

impl Observer for Watched {
    #[inline]
    fn arrived(&mut self, now: units::Instant) {
        self.report.arrived(now);
        self.backlog.arrived(now);
    }

    #[inline]
    fn completed(&mut self, completion: &Completion) {
        self.report.completed(completion);
        self.backlog.completed(completion.at);
        self.done += 1;
        if self.done.is_multiple_of(STRIDE) {
            self.progress.at(self.done);
        }
    }
}
