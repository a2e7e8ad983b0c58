//! `diskarm simulate`: one drive, one workload, one host policy.

mod args;
mod backlog;
mod figures;
mod rows;
mod trace_rows;
mod watched;
mod workload;

pub use args::Args;

use std::time::Instant;

use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, Arriving, Closed, Load, Open, Replay, Step, Streams};
use diskarm_core::host::Host;
use diskarm_core::report::{Report, Served, Window, Windows};
use diskarm_core::sched;
use diskarm_core::units::{self, Angle};
use diskarm_core::workload::{Arrivals, Thinking, Times};

use crate::drive_arg::{self, Chosen};
use crate::error::Error;
use crate::output;
use crate::progress::Progress;
use backlog::Backlog;
use figures::{Figures, Inputs};
use rows::Rows;
use trace_rows::TraceRows;
use watched::{Extras, Watched};
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
    let figures = Figures::new(inputs, &served, wall);
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
struct Run {
    report: Report,
    /// Of each stream of the workload, where there are several.
    streams: Vec<Served>,
    /// Where they were asked for.
    windows: Option<Vec<Window>>,
    /// Whether arrivals that wait for nothing came faster than the drive served them.
    is_saturated: bool,
}

/// Requests as the seed gives them.
fn run_synthetic(
    args: &Args,
    chosen: &Chosen,
    synthetic: &Synthetic,
) -> Result<(figures::Workload, Run), Error> {
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
            let mut load = Arriving::new(times, requests, total);
            serve(args, chosen, &mut load, Some(total), 1)?
        }
        Some((requests, Arrivals::Closed(clients))) => {
            let thinking = Thinking::new(&clients.think, args.seed, 0);
            let requests = requests.take(total as usize);
            let mut load = Closed::thinking(requests, clients.clients, thinking);
            serve(args, chosen, &mut load, Some(total), 1)?
        }
        None => {
            let mut load = Streams::new(workload, synthetic.disk, args.seed, total);
            let streams = workload.streams.len();
            serve(args, chosen, &mut load, Some(total), streams)?
        }
    };
    let workload = figures::Workload::of_synthetic(synthetic, args.warmup);
    let is_open = synthetic.is_open();
    Ok((workload, if is_open { served } else { closed(served) }))
}

/// Clients that wait for their requests cannot outrun the drive.
fn closed(run: Run) -> Run {
    Run {
        is_saturated: false,
        ..run
    }
}

/// Arrivals as traced where the trace has them; else one request at a time, with its pauses.
fn run_trace(
    args: &Args,
    chosen: &Chosen,
    mut rows: TraceRows,
) -> Result<(figures::Workload, Run), Error> {
    let is_open = rows.has_arrivals();
    let served = if is_open {
        let arrivals = rows
            .by_ref()
            .map(|(record, request)| (record.arrival.unwrap_or(units::Instant::START), request));
        serve(args, chosen, &mut Open::new(arrivals), None, 1)
    } else {
        let steps = rows.by_ref().map(|(record, request)| Step {
            request,
            think: record.think.unwrap_or_default(),
        });
        let mut load = Replay::new(steps, units::Instant::START);
        serve(args, chosen, &mut load, None, 1).map(closed)
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
    streams: usize,
) -> Result<Run, Error> {
    let policy = sched::policy(&args.policy)
        .ok_or_else(|| Error::flag("--policy", &args.policy, "a policy of the table"))?;
    let drive = Drive::with_layout(&chosen.spec, chosen.layout.clone(), Angle::ZERO);
    let extras = extras(args, streams)?;
    let mut watched = Watched {
        report: Report::new(args.warmup),
        backlog: Backlog::default(),
        extras: extras.is_asked_for().then(|| Box::new(extras)),
        progress: Progress::new(total),
    };
    engine::run(&mut Host::new(drive, policy), load, &mut watched)?;
    let extras = watched
        .extras
        .map_or_else(Extras::default, |extras| *extras);
    if let Some(rows) = extras.rows {
        rows.finish()?;
    }
    let windows = extras.windows.map(|windows| {
        let expected = format!("windows of which {MOST_WINDOWS} reach over the run");
        let found = args
            .window
            .map_or_else(String::new, |length| length.to_string());
        let few = windows.finish();
        few.ok_or_else(|| Error::flag("--window", found, expected))
    });
    Ok(Run {
        is_saturated: watched.backlog.is_growing(),
        report: watched.report,
        streams: extras.streams,
        windows: windows.transpose()?,
    })
}

/// More than anybody reads.
const MOST_WINDOWS: usize = 100_000;

/// What `args` ask for beside the report, of a load of so many streams.
fn extras(args: &Args, streams: usize) -> Result<Extras, Error> {
    let rows = args.per_request.as_deref().map(Rows::create).transpose()?;
    let of_streams = if streams > 1 { streams } else { 0 };
    Ok(Extras {
        streams: vec![Served::default(); of_streams],
        windows: args.window.map(|length| Windows::new(length, MOST_WINDOWS)),
        rows,
    })
}
