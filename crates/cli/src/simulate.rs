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

use diskarm_core::array::SideBySide;
use diskarm_core::drive::{Device, Drive};
use diskarm_core::engine::{self, Arriving, Closed, Load, Open, Replay, Step, Streams};
use diskarm_core::host::Host;
use diskarm_core::report::{Disks, Report, Served, Window, Windows};
use diskarm_core::sched::Choice;
use diskarm_core::units::{self, Angle};
use diskarm_core::workload::{Arrivals, Thinking, Times, replication_seeds};
use diskarm_trace::Record;

use crate::drive_arg::{self, Chosen};
use crate::error::Error;
use crate::output;
use crate::parallel;
use crate::policy_arg;
use crate::progress::Progress;
use backlog::Backlog;
use figures::{Figures, Inputs};
use rows::Rows;
use trace_rows::{MOST_DISKS, Origin, TraceRows};
use watched::{Extras, Watched};
use workload::Synthetic;

/// Runs the simulation and prints its figures.
pub fn run(args: Args) -> Result<(), Error> {
    let chosen = drive_arg::choose("--drive", &args.drive)?;
    let policy = policy_arg::choose("--policy", &args.policy)?;
    let began = Instant::now();
    let (workload, runs) = match &args.trace[..] {
        [] => run_synthetic(&args, &chosen, &policy, &Synthetic::new(&args, &chosen)?)?,
        files => {
            let rows = TraceRows::open(&args, files, &chosen)?;
            let (workload, run) = run_trace(&args, &chosen, &policy, rows)?;
            (workload, vec![run])
        }
    };
    let wall = began.elapsed();
    let inputs = Inputs {
        drive: chosen.name,
        policy: policy.to_string(),
        workload,
        seed: args.trace.is_empty().then_some(args.seed),
    };
    let figures = Figures::new(inputs, &runs, wall);
    for doubt in runs.iter().flat_map(|run| &run.doubts) {
        eprintln!("warning: {doubt}");
    }
    if args.json {
        return output::print_json(&figures);
    }
    let mut text = figures.table();
    if runs.iter().any(|run| run.is_saturated) {
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
    /// `None` where nothing is random.
    seed: Option<u64>,
    report: Report,
    /// Of each stream of the workload, where there are several.
    streams: Vec<Served>,
    /// Where they were asked for.
    windows: Option<Vec<Window>>,
    /// Of the disks of a trace, in their order.
    reports: Vec<Report>,
    /// What each disk holds, and what came of it, where there are several.
    disks: Vec<(Origin, Report)>,
    /// What is doubtful about a trace.
    doubts: Vec<String>,
    /// What was changed of it on request.
    changes: Vec<String>,
    /// Whether arrivals that wait for nothing came faster than the drive served them.
    is_saturated: bool,
}

/// Requests as the seed gives them, in as many runs as were asked for.
fn run_synthetic(
    args: &Args,
    chosen: &Chosen,
    policy: &Choice,
    synthetic: &Synthetic,
) -> Result<(figures::Workload, Vec<Run>), Error> {
    let runs = match args.replications {
        None => vec![replication((args, chosen, policy), synthetic, args.seed)?],
        Some(count) => {
            let seeds = replication_seeds(args.seed).take(count as usize);
            let seeds: Vec<u64> = seeds.collect();
            let run = |number: usize| replication((args, chosen, policy), synthetic, seeds[number]);
            let runs = parallel::map(seeds.len(), run);
            runs.into_iter().collect::<Result<_, Error>>()?
        }
    };
    let workload = figures::Workload::of_synthetic(synthetic, args.warmup);
    Ok((workload, runs))
}

/// One run with the requests that `seed` gives.
fn replication(
    (args, chosen, policy): (&Args, &Chosen, &Choice),
    synthetic: &Synthetic,
    seed: u64,
) -> Result<Run, Error> {
    let (workload, total) = (&synthetic.workload, synthetic.requests);
    let only = match &workload.streams[..] {
        [only] => Some((only.requests(synthetic.disk, seed), &only.arrivals)),
        _ => None,
    };
    // A load of its own for a single stream spares it the choice among several, a sixth of the
    // time of a request.
    let device = &mut host(chosen, policy);
    let extras = extras(args, chosen, workload.streams.len())?;
    let served = match only {
        Some((requests, Arrivals::Open(pauses))) => {
            let times = Times::new(pauses, seed, 0);
            let mut load = Arriving::new(times, requests, total);
            serve(args, device, &mut load, Some(total), extras)?
        }
        Some((requests, Arrivals::Closed(clients))) => {
            let thinking = Thinking::new(&clients.think, seed, 0);
            let requests = requests.take(total as usize);
            let mut load = Closed::thinking(requests, clients.clients, thinking);
            serve(args, device, &mut load, Some(total), extras)?
        }
        None => {
            let mut load = Streams::new(workload, synthetic.disk, seed, total);
            serve(args, device, &mut load, Some(total), extras)?
        }
    };
    Ok(Run {
        seed: Some(seed),
        is_saturated: served.is_saturated && synthetic.is_open(),
        ..served
    })
}

/// Clients that wait for their requests cannot outrun the drive.
fn closed(run: Run) -> Run {
    Run {
        is_saturated: false,
        ..run
    }
}

/// So many outstanding where that was asked for; else arrivals as traced where the trace has them;
/// else one request at a time, with its pauses.
fn run_trace(
    args: &Args,
    chosen: &Chosen,
    policy: &Choice,
    mut rows: TraceRows,
) -> Result<(figures::Workload, Run), Error> {
    let size = chosen.layout.sectors();
    let mut disks = SideBySide::new(size, MOST_DISKS, || host(chosen, policy));
    let mut extras = extras(args, chosen, 1)?;
    extras.disks = Some(Disks::new(size, args.warmup));
    let mode = match args.outstanding {
        Some(clients) => Mode::Outstanding(clients as usize),
        None if rows.has_arrivals() => Mode::Open,
        None => Mode::Pauses,
    };
    let requests = rows.by_ref();
    let served = match mode {
        Mode::Outstanding(clients) => {
            let requests = requests.map(|(_, request)| request);
            let mut load = Closed::new(requests, clients, args.think.unwrap_or_default());
            serve(args, &mut disks, &mut load, None, extras).map(closed)
        }
        Mode::Open => {
            let arrival = |record: &Record| record.arrival.unwrap_or(units::Instant::START);
            let arrivals = requests.map(|(record, request)| (arrival(&record), request));
            serve(args, &mut disks, &mut Open::new(arrivals), None, extras)
        }
        Mode::Pauses => {
            let steps = requests.map(|(record, request)| Step {
                request,
                think: record.think.unwrap_or_default(),
            });
            let mut load = Replay::new(steps, units::Instant::START);
            serve(args, &mut disks, &mut load, None, extras).map(closed)
        }
    };
    rows.finish()?;
    let mut served = served?;
    if served.report.requests_count() == 0 {
        let expected = format!(
            "less than the {} requests of --trace",
            rows.requests_count()
        );
        return Err(Error::flag("--warmup", args.warmup.to_string(), expected));
    }
    let reports = std::mem::take(&mut served.reports);
    if reports.len() > 1 {
        served.disks = rows.origins().into_iter().zip(reports).collect();
    }
    served.doubts = rows.doubts();
    served.changes = rows.changes();
    let workload = figures::Workload::of_trace(&rows, mode, args);
    Ok((workload, served))
}

/// How a trace was replayed.
#[derive(Clone, Copy)]
enum Mode {
    /// At its arrivals.
    Open,
    /// One at a time, with its pauses.
    Pauses,
    /// So many at a time.
    Outstanding(usize),
}

/// The drive behind its host's queue.
fn host(chosen: &Chosen, policy: &Choice) -> Host<Drive> {
    let drive = drive(chosen);
    let policy = policy.policy(&drive);
    Host::new(drive, policy)
}

fn drive(chosen: &Chosen) -> Drive {
    Drive::with_layout(&chosen.spec, chosen.layout.clone(), Angle::ZERO)
}

/// Runs `load`, of which `total` requests are known to come, on `device`.
fn serve(
    args: &Args,
    device: &mut impl Device,
    load: &mut impl Load,
    total: Option<u64>,
    extras: Extras,
) -> Result<Run, Error> {
    let mut watched = Watched {
        report: Report::new(args.warmup),
        backlog: Backlog::default(),
        extras: extras.is_asked_for().then(|| Box::new(extras)),
        progress: match args.replications {
            Some(_) => Progress::none(),
            None => Progress::new(total),
        },
    };
    engine::run(device, load, &mut watched)?;
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
        seed: None,
        is_saturated: watched.backlog.is_growing(),
        report: watched.report,
        streams: extras.streams,
        reports: extras.disks.map(Disks::finish).unwrap_or_default(),
        windows: windows.transpose()?,
        disks: Vec::new(),
        doubts: Vec::new(),
        changes: Vec::new(),
    })
}

/// More than anybody reads.
const MOST_WINDOWS: usize = 100_000;

/// What `args` ask for beside the report, of a load of so many streams.
fn extras(args: &Args, chosen: &Chosen, streams: usize) -> Result<Extras, Error> {
    let path = args.per_request.as_deref();
    let rows = path.map(|path| Rows::create(path, chosen.layout.sectors()));
    let of_streams = if streams > 1 { streams } else { 0 };
    Ok(Extras {
        streams: vec![Served::default(); of_streams],
        windows: args.window.map(|length| Windows::new(length, MOST_WINDOWS)),
        disks: None,
        rows: rows.transpose()?,
    })
}
