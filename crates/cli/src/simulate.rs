//! `diskarm simulate`: one drive, one workload, one host policy.

pub mod args;
pub mod compare;
mod rows;
pub mod workload;

pub use args::Args;
use args::{Replay, Setting};

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use diskarm_core::sched::PolicyConfig;
use diskarm_core::units::SectorCount;
use diskarm_simulate::{Input, Issue, Model, Run, Simulation, Sink, Traced, doubts, keep_on};

use crate::error::Error;
use crate::output;
use crate::progress::Progress;
use diskarm_results::place::{Files, Place};
use diskarm_results::simulated::{self, Figures, Given, Inputs};
use rows::Rows;

/// Runs the simulation and prints its figures.
pub fn run(args: Args) -> Result<(), Error> {
    let setting = &args.setting;
    let model = Model::assemble(&setting.drive)?;
    let policy = diskarm_simulate::policy("--policy", &args.policy)?;
    let merge = merge(setting, &model)?;
    let mut files = setting.files(&model);
    let rows = args.per_request.as_deref();
    let rows = rows.map(|path| files.place("--per-request", path));
    let rows = rows.transpose()?;
    let cell = Cell {
        setting,
        model: &model,
        policy: &policy,
        merge,
        rows: rows.as_ref(),
        shows_progress: true,
    };
    let simulated = simulate(cell)?;
    output::doubt(&doubts(&simulated.runs));
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

/// The simulation to run.
#[derive(Clone, Copy)]
struct Cell<'a> {
    setting: &'a Setting,
    model: &'a Model,
    policy: &'a PolicyConfig,
    /// The largest command into which the host's queue merges sequential requests, if it does.
    merge: Option<SectorCount>,
    /// The file that gets a row for each request.
    rows: Option<&'a Place>,
    /// Shows a progress bar, because nothing else runs at the same time.
    shows_progress: bool,
}

/// The result.
struct Simulated {
    workload: simulated::Workload,
    /// One run, or several replications.
    runs: Vec<Run>,
    wall: Duration,
}

impl Simulated {
    fn is_saturated(&self) -> bool {
        self.runs.iter().any(|run| run.is_saturated)
    }

    fn figures(self, cell: Cell<'_>) -> Figures {
        let inputs = Inputs {
            drive: cell.model.name.clone(),
            policy: cell.policy.to_string(),
            merge: cell.merge,
            workload: self.workload,
            seed: self.runs.first().and_then(|run| run.seed),
        };
        Figures::new(inputs, &self.runs, self.wall)
    }
}

/// The size given by `--merge`, for this drive.
///
/// # Errors
/// If that is not a valid size of a command.
fn merge(setting: &Setting, model: &Model) -> Result<Option<SectorCount>, Error> {
    let read = |text: &String| diskarm_simulate::size("--merge", text, model.disk());
    Ok(setting.merge.as_ref().map(read).transpose()?)
}

/// Simulates once, or all replications.
fn simulate(cell: Cell<'_>) -> Result<Simulated, Error> {
    let Cell { setting, model, .. } = cell;
    let began = Instant::now();
    let (input, given) = match &setting.trace[..] {
        [] => {
            let (generated, given) = workload::generated(setting, model)?;
            (Input::Generated(generated), Some(given))
        }
        files => (Input::Traced(traced(setting, files)?), None),
    };
    let simulation = Simulation {
        merge: cell.merge,
        warm_up: setting.warmup,
        window: setting.window,
        ..Simulation::new(model, cell.policy, &input)
    };
    let runs = match setting.replications {
        Some(count) => {
            let progress = cell.progress(Some(count));
            simulation.replications(&keep_on, |done| progress.at(done))?
        }
        None => vec![run_once(cell, simulation)?],
    };
    Ok(Simulated {
        workload: named(cell, &input, given, &runs),
        runs,
        wall: began.elapsed(),
    })
}

impl Setting {
    /// The files that it names.
    fn files(&self, model: &Model) -> Files {
        let mut files = Files::default().reading("--drive", model.drive_name());
        if let Some(workload) = &self.workload {
            files = files.reading("--workload", workload);
        }
        for trace in &self.trace {
            files = files.reading_trace("--trace", trace);
        }
        files
    }
}

/// The traces named by `setting`.
///
/// # Errors
/// If its flags contradict each other.
fn traced(setting: &Setting, files: &[String]) -> Result<Traced, Error> {
    Ok(Traced {
        files: files.to_vec(),
        reading: setting.reading.meant(),
        selection: setting.part.meant(),
        fitting: setting.fitting.meant()?,
        issue: match (setting.outstanding, setting.replay) {
            (Some(clients), _) => Issue::Outstanding {
                clients,
                think: setting.think.unwrap_or_default(),
            },
            (None, Replay::Traced) => Issue::Traced,
            (None, Replay::Pauses) => Issue::Pauses,
        },
        seed: setting.seed,
    })
}

/// The inputs, as the output names them.
fn named(cell: Cell<'_>, input: &Input, given: Option<Given>, runs: &[Run]) -> simulated::Workload {
    let warmup = cell.setting.warmup;
    match (input, given, &runs[0].replayed) {
        (Input::Generated(generated), Some(given), _) => {
            simulated::Workload::of_generated(generated, &given, cell.model.disk().sector, warmup)
        }
        (Input::Traced(_), _, Some(replayed)) => simulated::Workload::of_trace(replayed, warmup),
        _ => panic!("requests that are neither generated nor traced"),
    }
}

/// One run, with its rows and a progress bar.
fn run_once(cell: Cell<'_>, simulation: Simulation<'_>) -> Result<Run, Error> {
    let total = match simulation.input {
        Input::Generated(generated) => Some(generated.requests_count()),
        Input::Traced(_) => None,
    };
    let progress = cell.progress(total);
    let look = |done| {
        progress.at(done);
        ControlFlow::Continue(())
    };
    let mut rows = cell.rows.cloned().map(Rows::create).transpose()?;
    let sink = rows.as_mut().map(|rows| rows as &mut dyn Sink);
    let run = simulation.run(&look, sink)?;
    rows.map_or(Ok(()), Rows::finish)?;
    Ok(run)
}

impl Cell<'_> {
    fn progress(self, total: Option<u64>) -> Progress {
        match self.shows_progress {
            true => Progress::new(total),
            false => Progress::none(),
        }
    }
}

/// Printed below the figures of an open run that the drive did not keep up with.
const SATURATED: &str = "
note: requests arrive faster than they are served; the means grow with the length of the run
";
