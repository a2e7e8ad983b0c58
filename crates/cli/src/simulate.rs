//! `diskarm simulate`: one drive, one workload, one host policy.

mod args;
mod backlog;
pub mod compare;
mod figures;
mod rows;
mod trace_rows;
mod watched;
mod workload;

pub use args::Args;
use args::Setting;

use std::time::{Duration, Instant};

use diskarm_core::array::SideBySide;
use diskarm_core::drive::{Device, Drive};
use diskarm_core::engine::{self, Arriving, Closed, Load, Open, Replay, Step, Streams};
use diskarm_core::host::Host;
use diskarm_core::report::{Disks, Report, Served, Window, Windows};
use diskarm_core::sched::Choice;
use diskarm_core::units::{self, Angle, SectorCount};
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
    let setting = &args.setting;
    let chosen = drive_arg::choose("--drive", &setting.drive)?;
    let policy = policy_arg::choose("--policy", &args.policy)?;
    let merge = merge(setting, &chosen)?;
    let cell = Cell {
        setting,
        chosen: &chosen,
        policy: &policy,
        merge,
        rows: args.per_request.as_deref(),
        shows_progress: setting.replications.is_none(),
    };
    let simulated = simulate(cell)?;
    warn(&simulated.runs);
    let is_saturated = simulated.is_saturated();
    let figures = simulated.figures(cell);
    if setting.json {
        return output::print_json(&figures);
    }
    let mut text = figures.table();
    if is_saturated {
        text += SATURATED;
    }
    output::print(&text)
}

/// Tells what is doubtful about a trace.
fn warn(runs: &[Run]) {
    for doubt in runs.iter().flat_map(|run| &run.doubts) {
        eprintln!("warning: {doubt}");
    }
}

/// What is simulated.
#[derive(Clone, Copy)]
struct Cell<'a> {
    setting: &'a Setting,
    chosen: &'a Chosen,
    policy: &'a Choice,
    /// The largest command that the host's queue makes of sequential requests, if it does.
    merge: Option<SectorCount>,
    /// The file that gets a row for each request.
    rows: Option<&'a str>,
    /// Nothing else runs beside it, and it tells how far it has come.
    shows_progress: bool,
}

/// What came of it.
struct Simulated {
    workload: figures::Workload,
    /// One, or several replications.
    runs: Vec<Run>,
    wall: Duration,
}

impl Simulated {
    fn is_saturated(&self) -> bool {
        self.runs.iter().any(|run| run.is_saturated)
    }

    fn figures(self, cell: Cell<'_>) -> Figures {
        let setting = cell.setting;
        let inputs = Inputs {
            drive: cell.chosen.name.clone(),
            policy: cell.policy.to_string(),
            merge: cell.merge,
            workload: self.workload,
            seed: setting.trace.is_empty().then_some(setting.seed),
        };
        Figures::new(inputs, &self.runs, self.wall)
    }
}

/// What `--merge` means on this drive.
///
/// # Errors
/// When that is no size, or none that a command has.
fn merge(setting: &Setting, chosen: &Chosen) -> Result<Option<SectorCount>, Error> {
    let read = |text: &String| workload::size("--merge", text, workload::disk(chosen));
    setting.merge.as_ref().map(read).transpose()
}

/// Simulates once, or as often as replications are asked for.
fn simulate(cell: Cell<'_>) -> Result<Simulated, Error> {
    let Cell {
        setting, chosen, ..
    } = cell;
    let began = Instant::now();
    let (workload, runs) = match &setting.trace[..] {
        [] => run_synthetic(cell, &Synthetic::new(setting, chosen)?)?,
        files => {
            let trace = TraceRows::open(setting, files, chosen)?;
            let (workload, run) = run_trace(cell, trace)?;
            (workload, vec![run])
        }
    };
    Ok(Simulated {
        workload,
        runs,
        wall: began.elapsed(),
    })
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
    cell: Cell<'_>,
    synthetic: &Synthetic,
) -> Result<(figures::Workload, Vec<Run>), Error> {
    let setting = cell.setting;
    let runs = match setting.replications {
        None => vec![replication(cell, synthetic, setting.seed)?],
        Some(count) => {
            let seeds = replication_seeds(setting.seed).take(count as usize);
            let seeds: Vec<u64> = seeds.collect();
            let run = |number: usize| replication(cell, synthetic, seeds[number]);
            let runs = parallel::map(seeds.len(), run);
            runs.into_iter().collect::<Result<_, Error>>()?
        }
    };
    let workload = figures::Workload::of_synthetic(synthetic, setting.warmup);
    Ok((workload, runs))
}

/// One run with the requests that `seed` gives.
fn replication(cell: Cell<'_>, synthetic: &Synthetic, seed: u64) -> Result<Run, Error> {
    let (workload, total) = (&synthetic.workload, synthetic.requests);
    let only = match &workload.streams[..] {
        [only] => Some((only.requests(synthetic.disk, seed), &only.arrivals)),
        _ => None,
    };
    // A load of its own for a single stream spares it the choice among several, a sixth of the
    // time of a request.
    let device = &mut host(cell);
    let extras = extras(cell, workload.streams.len())?;
    let served = match only {
        Some((requests, Arrivals::Open(pauses))) => {
            let times = Times::new(pauses, seed, 0);
            let mut load = Arriving::new(times, requests, total);
            serve(cell, device, &mut load, Some(total), extras)?
        }
        Some((requests, Arrivals::Closed(clients))) => {
            let thinking = Thinking::new(&clients.think, seed, 0);
            let requests = requests.take(total as usize);
            let mut load = Closed::thinking(requests, clients.clients, thinking);
            serve(cell, device, &mut load, Some(total), extras)?
        }
        None => {
            let mut load = Streams::new(workload, synthetic.disk, seed, total);
            serve(cell, device, &mut load, Some(total), extras)?
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
fn run_trace(cell: Cell<'_>, mut rows: TraceRows) -> Result<(figures::Workload, Run), Error> {
    let setting = cell.setting;
    let size = cell.chosen.layout.sectors();
    let mut disks = SideBySide::new(size, MOST_DISKS, || host(cell));
    let mut extras = extras(cell, 1)?;
    extras.disks = Some(Disks::new(size, setting.warmup));
    let mode = match setting.outstanding {
        Some(clients) => Mode::Outstanding(clients as usize),
        None if rows.has_arrivals() => Mode::Open,
        None => Mode::Pauses,
    };
    let requests = rows.by_ref();
    let served = match mode {
        Mode::Outstanding(clients) => {
            let requests = requests.map(|(_, request)| request);
            let mut load = Closed::new(requests, clients, setting.think.unwrap_or_default());
            serve(cell, &mut disks, &mut load, None, extras).map(closed)
        }
        Mode::Open => {
            let arrival = |record: &Record| record.arrival.unwrap_or(units::Instant::START);
            let arrivals = requests.map(|(record, request)| (arrival(&record), request));
            serve(cell, &mut disks, &mut Open::new(arrivals), None, extras)
        }
        Mode::Pauses => {
            let steps = requests.map(|(record, request)| Step {
                request,
                think: record.think.unwrap_or_default(),
            });
            let mut load = Replay::new(steps, units::Instant::START);
            serve(cell, &mut disks, &mut load, None, extras).map(closed)
        }
    };
    rows.finish()?;
    let mut served = served?;
    if served.report.requests_count() == 0 {
        let expected = format!(
            "less than the {} requests of --trace",
            rows.requests_count()
        );
        return Err(Error::flag(
            "--warmup",
            setting.warmup.to_string(),
            expected,
        ));
    }
    let reports = std::mem::take(&mut served.reports);
    if reports.len() > 1 {
        served.disks = rows.origins().into_iter().zip(reports).collect();
    }
    served.doubts = rows.doubts();
    served.changes = rows.changes();
    let workload = figures::Workload::of_trace(&rows, mode, setting);
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
fn host(cell: Cell<'_>) -> Host<Drive> {
    let Chosen { spec, layout, .. } = cell.chosen;
    let drive = Drive::with_layout(spec, layout.clone(), Angle::ZERO);
    let policy = cell.policy.policy(&drive);
    let host = Host::new(drive, policy);
    match cell.merge {
        Some(most) => host.merging(most),
        None => host,
    }
}

/// Runs `load`, of which `total` requests are known to come, on `device`.
fn serve(
    cell: Cell<'_>,
    device: &mut impl Device,
    load: &mut impl Load,
    total: Option<u64>,
    extras: Extras,
) -> Result<Run, Error> {
    let mut watched = Watched {
        report: Report::new(cell.setting.warmup),
        backlog: Backlog::default(),
        extras: extras.is_asked_for().then(|| Box::new(extras)),
        progress: match cell.shows_progress {
            true => Progress::new(total),
            false => Progress::none(),
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
        let window = cell.setting.window;
        let found = window.map_or_else(String::new, |length| length.to_string());
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

/// What is asked for beside the report, of a load of so many streams.
fn extras(cell: Cell<'_>, streams: usize) -> Result<Extras, Error> {
    let rows = cell.rows;
    let rows = rows.map(|path| Rows::create(path, cell.chosen.layout.sectors()));
    let of_streams = if streams > 1 { streams } else { 0 };
    let window = cell.setting.window;
    Ok(Extras {
        streams: vec![Served::default(); of_streams],
        windows: window.map(|length| Windows::new(length, MOST_WINDOWS)),
        disks: None,
        rows: rows.transpose()?,
    })
}
