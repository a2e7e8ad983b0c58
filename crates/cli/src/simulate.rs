//! `diskarm simulate`: one drive, one workload, one host policy.

pub mod args;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use diskarm_core::sched::PolicyConfig;
use diskarm_core::text::InputError;
use diskarm_core::units::{SectorCount, Span};
use diskarm_core::workload::arrivals::{Closed, Deterministic, Poisson};
use diskarm_core::workload::{Arrivals, Disk, Pauses, Sizes, Stream, Workload, sizes};
use diskarm_drives::text::{Edit, Value};
use diskarm_results::output_file::Files;
use diskarm_results::prose;
use diskarm_results::simulated::{self, Inputs, OptionArrivals, SimulationMetrics, WorkloadSource};
use diskarm_simulate::{
    ChoiceCounter, GeneratedRequests, Input, Issue, MakePolicy, Run, Simulation, Sink, System,
    TraceReplay, doubts, never_stop,
};

use crate::error::Error;
use crate::output::{self, Results, Target};
use crate::plot;
use crate::progress::Progress;
use crate::rows::RequestRows;
use args::{Queue, Replay, Settings};

pub use args::Args;

/// Runs the simulation and prints its results.
pub fn run(args: Args) -> Result<(), Error> {
    let settings = &args.settings;
    let model = System::parse(&settings.drive)?;
    let mut files = settings.files([&model]);
    let model = settings.changes.apply_to_system(model)?;
    let policy = diskarm_simulate::policy("--policy", &args.policy)?;
    let placed = PlacedPolicy::new(settings.queue, &model, &policy)?;
    let merge = merge(settings, &model)?;
    let mut results = Results::default();
    let rows = results.output_file(&mut files, "--per-request", args.per_request.as_deref())?;
    let drawing = results.output_file(&mut files, "--plot", settings.plot.as_deref())?;
    let depth = model.drive.spec.queue.depth;
    let choices = ChoiceCounter::new(&placed.host);
    // Only counted when the drive's own queue may leave the host policy nothing to choose.
    let orders_itself = settings.queue == Queue::Host && depth > 1;
    let host: &dyn MakePolicy = if orders_itself {
        &choices
    } else {
        &placed.host
    };
    let cell = Cell {
        settings,
        name: &model.name,
        model: &placed.model,
        policy: &policy,
        host,
        merge,
        rows: rows.as_ref(),
        shows_progress: true,
    };
    let simulated = simulate(cell)?;
    output::print_warnings(&doubts(&simulated.runs));
    if let Some(target) = drawing {
        let title = format!("Response times of {}, {policy}", model.name);
        let curves = plot::by_direction(&simulated.runs);
        let drawn = plot::responses(&title, &simulated.workload.sentence(), &curves);
        target.write(&drawn)?;
    }
    let is_saturated = simulated.is_saturated();
    let mut metrics = simulated.metrics(cell);
    if orders_itself && choices.count() == 0 && metrics.waiting_max() > 1 {
        metrics.remark(format!(
            "{policy} never had more than one request to choose from: the drive takes up to \
             {depth} commands into its own queue and orders them itself. --queue drive puts \
             {policy} into that queue; --set queue.depth=1 leaves all to the host's"
        ));
    }
    if settings.json {
        return results.print_json(&metrics);
    }
    let mut text = metrics.table();
    if is_saturated {
        text += SATURATED;
    }
    text += &notes(metrics.remarks());
    results.print(&text)
}

/// The simulation to run.
#[derive(Clone, Copy)]
pub struct Cell<'a> {
    pub settings: &'a Settings,
    /// The name of the drive in results.
    pub name: &'a str,
    pub model: &'a System,
    pub policy: &'a PolicyConfig,
    /// The policy of the host's queue: `policy`, unless that orders the drive's own queue.
    pub host: &'a dyn MakePolicy,
    /// The largest command into which the host's queue merges sequential requests.
    pub merge: Option<SectorCount>,
    /// The file that gets a row for each request.
    pub rows: Option<&'a Target>,
    /// Shows a progress bar, because nothing else runs at the same time.
    pub shows_progress: bool,
}

/// The result of one or several runs.
pub struct Simulated {
    pub workload: simulated::Workload,
    /// One run, or several replications.
    pub runs: Vec<Run>,
    wall: Duration,
}

impl Simulated {
    pub fn is_saturated(&self) -> bool {
        self.runs.iter().any(|run| run.is_saturated)
    }

    pub fn metrics(self, cell: Cell<'_>) -> SimulationMetrics {
        let inputs = Inputs {
            drive: cell.name.to_owned(),
            policy: cell.policy.to_string(),
            is_in_drive: cell.settings.queue == Queue::Drive,
            merge: cell.merge,
            workload: self.workload,
            seed: self.runs.first().and_then(|run| run.seed),
        };
        SimulationMetrics::new(inputs, &self.runs, self.wall)
    }
}

/// Formats notes below a table.
pub fn notes(notes: &[String]) -> String {
    let notes = notes
        .iter()
        .map(|note| prose::wrapped(&format!("note: {note}"), 0));
    notes.map(|note| format!("\n{note}")).collect()
}

/// A policy in one of two queues.
pub struct PlacedPolicy {
    /// The drive: as given, or with the policy in its own queue.
    pub model: System,
    /// The policy of the host's queue.
    pub host: PolicyConfig,
}

impl PlacedPolicy {
    /// # Errors
    /// If the drive has no queue of its own.
    pub fn new(queue: Queue, model: &System, policy: &PolicyConfig) -> Result<Self, Error> {
        if queue == Queue::Host {
            return Ok(Self {
                model: model.clone(),
                host: policy.clone(),
            });
        }
        if model.drive.spec.queue.depth == 1 {
            return Err(Error::Usage(format!(
                "`--queue drive` needs a drive with a queue of its own: {} takes one command at a \
                 time (--set queue.depth=32 gives it a queue)",
                model.name
            )));
        }
        let edit = Edit {
            key: "queue.policy".into(),
            value: Value::Text(policy.to_string()),
        };
        Ok(Self {
            model: model.with_values(&[edit], "--queue")?,
            host: PolicyConfig::default(),
        })
    }
}

/// Parses the size given by `--merge`, for this drive.
///
/// # Errors
/// If that is not a valid size of a command.
pub fn merge(settings: &Settings, model: &System) -> Result<Option<SectorCount>, Error> {
    let read = |text: &String| diskarm_simulate::size("--merge", text, model.disk());
    Ok(settings.merge.as_ref().map(read).transpose()?)
}

/// Simulates once, or all replications.
pub fn simulate(cell: Cell<'_>) -> Result<Simulated, Error> {
    let Cell {
        settings, model, ..
    } = cell;
    let began = Instant::now();
    let (input, given) = match &settings.trace[..] {
        [] => {
            let (generated, given) = generated(settings, model)?;
            (Input::Generated(generated), Some(given))
        }
        files => (Input::Traced(trace_input(settings, files)?), None),
    };
    let simulation = Simulation {
        merge: cell.merge,
        warm_up: settings.warmup,
        window: settings.window,
        ..Simulation::new(model, cell.host, &input)
    };
    let runs = match settings.replications {
        Some(count) => {
            let progress = cell.progress(Some(count));
            simulation.replications(&never_stop, |done| progress.set(done))?
        }
        None => vec![run_once(cell, simulation)?],
    };
    Ok(Simulated {
        workload: described_workload(cell, &input, given, &runs),
        runs,
        wall: began.elapsed(),
    })
}

impl Settings {
    /// Returns the input files that the settings and `models` name.
    pub fn files<'m>(&self, models: impl IntoIterator<Item = &'m System>) -> Files {
        let mut files = Files::default();
        for model in models {
            files = files.reading("--drive", model.drive_name());
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

/// # Errors
/// If options of the trace contradict each other.
fn trace_input(settings: &Settings, files: &[String]) -> Result<TraceReplay, Error> {
    Ok(TraceReplay {
        files: files.to_vec(),
        reading: settings.reading.to_library(),
        selection: settings.part.to_library()?,
        fitting: settings.fitting.to_library()?,
        issue: match (settings.outstanding, settings.replay) {
            (Some(clients), _) => Issue::Outstanding {
                clients,
                think: settings.think.unwrap_or_default(),
            },
            (None, Replay::Traced) => Issue::Traced,
            (None, Replay::Pauses) => Issue::Pauses,
        },
        seed: settings.seed,
    })
}

/// Returns the inputs as the results name them.
fn described_workload(
    cell: Cell<'_>,
    input: &Input,
    given: Option<WorkloadSource>,
    runs: &[Run],
) -> simulated::Workload {
    let warmup = cell.settings.warmup;
    match (input, given, &runs[0].replayed) {
        (Input::Generated(generated), Some(given), _) => {
            simulated::Workload::of_generated(generated, &given, cell.model.disk().sector, warmup)
        }
        (Input::Traced(_), _, Some(replayed)) => simulated::Workload::of_trace(replayed, warmup),
        _ => unreachable!("requests are generated or traced"),
    }
}

/// Runs once, with a progress bar and rows of requests.
fn run_once(cell: Cell<'_>, simulation: Simulation<'_>) -> Result<Run, Error> {
    let total = match simulation.input {
        Input::Generated(generated) => Some(generated.requests_count()),
        Input::Traced(_) => None,
    };
    let progress = cell.progress(total);
    let on_progress = |done| {
        progress.set(done);
        ControlFlow::Continue(())
    };
    let mut rows = cell.rows.cloned().map(RequestRows::create).transpose()?;
    let sink = rows.as_mut().map(|rows| rows as &mut dyn Sink);
    let run = simulation.run(&on_progress, sink)?;
    rows.map_or(Ok(()), RequestRows::finish)?;
    Ok(run)
}

impl Cell<'_> {
    fn progress(self, total: Option<u64>) -> Progress {
        if self.shows_progress {
            Progress::new(total)
        } else {
            Progress::none()
        }
    }
}

/// Printed below the results of an open run that the drive could not keep up with.
const SATURATED: &str = "
note: requests arrive faster than they are served; the means grow with the length of the run
";

/// Keeps the drives of the classic studies busy but far from saturated: hp-c2247 is busy 70 % of
/// the time under FCFS.
const INTERARRIVAL: Span = Span::from_ns(31_200_000);

/// The default size of a request.
pub const SIZE: &str = "8 KiB";

/// Returns the requests for the drive `model`, and how they were specified.
///
/// # Errors
/// If the workload is invalid or does not fit on the drive.
fn generated(
    settings: &Settings,
    model: &System,
) -> Result<(GeneratedRequests, WorkloadSource), Error> {
    let (workload, given) = match &settings.workload {
        Some(text) => (model.workload(text)?, WorkloadSource::new(text)),
        None => from_options(settings, model.disk())?,
    };
    let generated = GeneratedRequests {
        workload,
        requests: settings.requests,
        seed: settings.seed,
        replications: settings.replications,
    };
    Ok((generated, given))
}

/// Parses the size of requests, or returns the default.
///
/// # Errors
/// If it is not a valid size of a request.
pub fn size_of(typed: Option<&str>, disk: Disk) -> Result<SectorCount, diskarm_simulate::Error> {
    if let Some(typed) = typed {
        return diskarm_simulate::size("--size", typed, disk);
    }
    diskarm_simulate::size("--size", SIZE, disk).map_err(|_| {
        let expected = format!("a size that divides the default --size, {SIZE}, or another --size");
        InputError::shown("geometry.sector_bytes", disk.sector.0, expected).into()
    })
}

/// Returns the single stream that options describe.
fn from_options(settings: &Settings, disk: Disk) -> Result<(Workload, WorkloadSource), Error> {
    let given = match settings.outstanding {
        Some(outstanding) => OptionArrivals::Closed {
            outstanding: outstanding as usize,
            think: settings.think.unwrap_or_default(),
        },
        None => OptionArrivals::Poisson {
            mean: settings
                .interarrival
                .or(settings.rate)
                .unwrap_or(INTERARRIVAL),
        },
    };
    let arrivals = match given {
        OptionArrivals::Poisson { mean } => Arrivals::Open(Pauses::Poisson(Poisson { mean })),
        OptionArrivals::Closed { outstanding, think } => Arrivals::Closed(Closed {
            clients: outstanding,
            think: Pauses::Deterministic(Deterministic { mean: think }),
        }),
    };
    let classic = Stream::worthington94();
    let sectors = size_of(settings.size.as_deref(), disk)?;
    let read_share = settings.reads.unwrap_or(classic.read_share);
    let stream = Stream {
        arrivals,
        sizes: Sizes::Fixed(sizes::Fixed { sectors }),
        read_share,
        ..classic
    };
    let streams = vec![stream];
    let given = WorkloadSource::Options {
        sectors,
        read_share,
        arrivals: given,
    };
    Ok((Workload { streams }, given))
}
