//! `diskarm simulate`: one drive, one workload, one host policy.

pub mod args;
pub mod compare;
mod rows;
pub mod workload;

pub use args::Args;
use args::{Queue, Replay, Setting};

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use diskarm_core::sched::PolicyConfig;
use diskarm_core::units::SectorCount;
use diskarm_drives::text::{Edit, Value};
use diskarm_simulate::{
    ChoiceCounter, Input, Issue, MakePolicy, Run, Simulation, Sink, System, Traced, doubts,
    never_stop,
};

use crate::error::Error;
use crate::output::{self, Results, Target};
use crate::plot;
use crate::progress::Progress;
use diskarm_results::output_file::Files;
use diskarm_results::prose;
use diskarm_results::simulated::{self, Figures, Given, Inputs};
use rows::Rows;

/// Runs the simulation and prints its figures.
pub fn run(args: Args) -> Result<(), Error> {
    let setting = &args.setting;
    let system = System::parse(&setting.drive)?;
    let mut files = setting.files([&system]);
    let system = setting.changes.of_system(system)?;
    let policy = diskarm_simulate::policy("--policy", &args.policy)?;
    let placed = Placed::new(setting.queue, &system, &policy)?;
    let merge = merge(setting, &system)?;
    let mut results = Results::default();
    let rows = results.beside(&mut files, "--per-request", args.per_request.as_deref())?;
    let drawing = results.beside(&mut files, "--plot", setting.plot.as_deref())?;
    let depth = system.drive.spec.queue.depth;
    let choices = ChoiceCounter::new(&placed.host);
    // Counted where the drive may leave the host's policy no choice.
    let orders_itself = setting.queue == Queue::Host && depth > 1;
    let host: &dyn MakePolicy = if orders_itself {
        &choices
    } else {
        &placed.host
    };
    let cell = Cell {
        setting,
        name: &system.name,
        system: &placed.system,
        policy: &policy,
        host,
        merge,
        rows: rows.as_ref(),
        shows_progress: true,
    };
    let simulated = simulate(cell)?;
    output::doubt(&doubts(&simulated.runs));
    if let Some(target) = drawing {
        let title = format!("Response times of {}, {policy}", system.name);
        let curves = plot::by_direction(&simulated.runs);
        let drawn = plot::responses(&title, &simulated.workload.sentence(), &curves);
        target.write(&drawn)?;
    }
    let is_saturated = simulated.is_saturated();
    let mut figures = simulated.figures(cell);
    if orders_itself && choices.count() == 0 && figures.waiting_max() > 1 {
        figures.remark(format!(
            "{policy} never had more than one request to choose from: the drive takes up to \
             {depth} commands into its own queue and orders them itself. --queue drive puts \
             {policy} into that queue; --set queue.depth=1 leaves all to the host's"
        ));
    }
    if setting.json {
        return results.print_json(&figures);
    }
    let mut text = figures.table();
    if is_saturated {
        text += SATURATED;
    }
    text += &notes(figures.remarks());
    results.print(&text)
}

/// The simulation to run.
#[derive(Clone, Copy)]
struct Cell<'a> {
    setting: &'a Setting,
    /// The name of the drive in results.
    name: &'a str,
    system: &'a System,
    policy: &'a PolicyConfig,
    /// The policy of the host's queue: the same, unless that is in the drive's.
    host: &'a dyn MakePolicy,
    /// The largest command into which the host's queue merges sequential requests, if it does.
    merge: Option<SectorCount>,
    /// The file that gets a row for each request.
    rows: Option<&'a Target>,
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
            drive: cell.name.to_owned(),
            policy: cell.policy.to_string(),
            is_in_drive: cell.setting.queue == Queue::Drive,
            merge: cell.merge,
            workload: self.workload,
            seed: self.runs.first().and_then(|run| run.seed),
        };
        Figures::new(inputs, &self.runs, self.wall)
    }
}

/// Notes below a table.
fn notes(notes: &[String]) -> String {
    let notes = notes
        .iter()
        .map(|note| prose::wrapped(&format!("note: {note}"), 0));
    notes.map(|note| format!("\n{note}")).collect()
}

/// A policy in one of two queues.
struct Placed {
    /// The drive: as it was, or with the policy in its own queue.
    system: System,
    /// The policy of the host's queue.
    host: PolicyConfig,
}

impl Placed {
    /// # Errors
    /// If the drive has no queue of its own.
    fn new(queue: Queue, system: &System, policy: &PolicyConfig) -> Result<Self, Error> {
        if queue == Queue::Host {
            return Ok(Self {
                system: system.clone(),
                host: policy.clone(),
            });
        }
        if system.drive.spec.queue.depth == 1 {
            let expected = format!(
                "a drive with a queue of its own, but {} takes one command at a time (--set \
                 queue.depth=32 changes that)",
                system.name
            );
            return Err(Error::flag("--queue", "drive", expected));
        }
        let edit = Edit {
            key: "queue.policy".into(),
            value: Value::Text(policy.to_string()),
        };
        Ok(Self {
            system: system.with_values(&[edit], "--queue")?,
            host: PolicyConfig::default(),
        })
    }
}

/// The size given by `--merge`, for this drive.
///
/// # Errors
/// If that is not a valid size of a command.
fn merge(setting: &Setting, system: &System) -> Result<Option<SectorCount>, Error> {
    let read = |text: &String| diskarm_simulate::size("--merge", text, system.disk());
    Ok(setting.merge.as_ref().map(read).transpose()?)
}

/// Simulates once, or all replications.
fn simulate(cell: Cell<'_>) -> Result<Simulated, Error> {
    let Cell {
        setting, system, ..
    } = cell;
    let began = Instant::now();
    let (input, given) = match &setting.trace[..] {
        [] => {
            let (generated, given) = workload::generated(setting, system)?;
            (Input::Generated(generated), Some(given))
        }
        files => (Input::Traced(traced(setting, files)?), None),
    };
    let simulation = Simulation {
        merge: cell.merge,
        warm_up: setting.warmup,
        window: setting.window,
        ..Simulation::new(system, cell.host, &input)
    };
    let runs = match setting.replications {
        Some(count) => {
            let progress = cell.progress(Some(count));
            simulation.replications(&never_stop, |done| progress.at(done))?
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
    /// The files that it names, with those of `systems`.
    fn files<'m>(&self, systems: impl IntoIterator<Item = &'m System>) -> Files {
        let mut files = Files::default();
        for system in systems {
            files = files.reading("--drive", system.drive_name());
        }
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
        selection: setting.part.meant()?,
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
            simulated::Workload::of_generated(generated, &given, cell.system.disk().sector, warmup)
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
