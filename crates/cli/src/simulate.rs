//! `diskarm simulate`: simulates one drive under one workload and one host policy.

use std::fmt::Write;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use diskarm_core::sched::PolicyConfig;
use diskarm_core::text::InputError;
use diskarm_core::units::{SectorCount, Span};
use diskarm_core::workload::arrivals::{Closed, Deterministic, Poisson};
use diskarm_core::workload::{
    Arrivals, Disk, GeneratorInfo, Pauses, Places, Sizes, Stream, Workload, sizes,
};
use diskarm_drives::text::{Edit, Value};
use diskarm_results::output_file::Files;
use diskarm_results::prose;
use diskarm_results::simulated::{self, Inputs, OptionArrivals, SimulationMetrics};
use diskarm_simulate::{
    ChoiceCounter, GeneratedRequests, Input, Issue, MakePolicy, Run, Simulation, Sink, System,
    TraceReplay, doubts, never_stop,
};

use crate::args::{self, Changes, integer, positive_time, rate, share, time};
use crate::error::Error;
use crate::output::{self, Results, RowFile, Target};
use crate::plot;
use crate::progress::Progress;
use crate::trace::TraceOptions;

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
    // Choices are counted only if the drive's own queue may leave the host policy no choice.
    let has_drive_queue = settings.queue == Queue::Host && depth > 1;
    let host: &dyn MakePolicy = if has_drive_queue {
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
        let drawn = plot::responses(&title, &simulated.workload.sentence, &curves);
        target.write(&drawn)?;
    }
    let is_saturated = simulated.is_saturated();
    let mut metrics = simulated.metrics(cell);
    if has_drive_queue && choices.count() == 0 && metrics.waiting_max() > 1 {
        metrics.remark(format!(
            "{policy} never had more than one request to choose from: the drive takes up to \
             {depth} commands into its own queue and orders them itself. --queue drive puts \
             {policy} into that queue; --set queue.depth=1 leaves the choice to the host"
        ));
    }
    if settings.json {
        return results.print_json(&metrics);
    }
    let mut text = metrics.table();
    if is_saturated {
        text += SATURATED;
    }
    text += &notes(&metrics.remarks);
    results.print(&text)
}

#[derive(Clone, Copy)]
pub struct Cell<'a> {
    pub settings: &'a Settings,
    pub name: &'a str,
    pub model: &'a System,
    pub policy: &'a PolicyConfig,
    /// The policy of the host's queue: `policy`, unless that orders the drive's own queue.
    pub host: &'a dyn MakePolicy,
    /// The largest command into which the host's queue merges sequential requests.
    pub merge: Option<SectorCount>,
    /// The file that gets a row for each request.
    pub rows: Option<&'a Target>,
    /// True if nothing else runs at the same time, so that a progress bar can be shown.
    pub shows_progress: bool,
}

pub struct Simulated {
    pub workload: simulated::Workload,
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

pub fn notes(notes: &[String]) -> String {
    let paragraph = |note| format!("\n{}", prose::wrapped(&format!("note: {note}"), 0));
    notes.iter().map(paragraph).collect()
}

pub struct PlacedPolicy {
    /// The drive: as given, or with the policy in its own queue.
    pub model: System,
    pub host: PolicyConfig,
}

impl PlacedPolicy {
    pub fn new(queue: Queue, model: &System, policy: &PolicyConfig) -> Result<Self, Error> {
        if queue == Queue::Host {
            return Ok(Self {
                model: model.clone(),
                host: policy.clone(),
            });
        }
        if model.drive.spec.queue.depth == 1 {
            return Err(Error::Failed(format!(
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

pub fn merge(settings: &Settings, model: &System) -> Result<Option<SectorCount>, Error> {
    let read = |text: &String| diskarm_simulate::size("--merge", text, model.disk());
    Ok(settings.merge.as_ref().map(read).transpose()?)
}

pub fn simulate(cell: Cell<'_>) -> Result<Simulated, Error> {
    let (settings, model) = (cell.settings, cell.model);
    let began = Instant::now();
    let (input, description) = match &settings.trace[..] {
        [] => {
            let (generated, description) = generated_requests(settings, model)?;
            (Input::Generated(generated), Some(description))
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
    let workload = match (description, &runs[0].replayed) {
        (Some(description), _) => description,
        (None, Some(replayed)) => simulated::Workload::trace(replayed, settings.warmup),
        (None, None) => unreachable!("requests are generated or traced"),
    };
    Ok(Simulated {
        workload,
        runs,
        wall: began.elapsed(),
    })
}

impl Settings {
    pub fn files<'m>(&self, models: impl IntoIterator<Item = &'m System>) -> Files {
        let mut files = Files::default();
        for model in models {
            files = files.with_input("--drive", model.drive_name());
        }
        if let Some(workload) = &self.workload {
            files = files.with_input("--workload", workload);
        }
        for trace in &self.trace {
            files = files.with_input_trace("--trace", trace);
        }
        files
    }
}

fn trace_input(settings: &Settings, files: &[String]) -> Result<TraceReplay, Error> {
    Ok(TraceReplay {
        issue: match (settings.outstanding, settings.replay) {
            (Some(clients), _) => Issue::Outstanding {
                clients,
                think: settings.think.unwrap_or_default(),
            },
            (None, Replay::Traced) => Issue::Traced,
            (None, Replay::Pauses) => Issue::Pauses,
        },
        seed: settings.seed,
        ..settings.traced.replay(files)?
    })
}

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
    let mut rows = cell.rows.cloned().map(RowFile::for_requests).transpose()?;
    let sink = rows.as_mut().map(|rows| rows as &mut dyn Sink);
    let run = simulation.run(&on_progress, sink)?;
    rows.map_or(Ok(()), RowFile::finish)?;
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

/// The note below the results if the drive could not keep up with open arrivals.
const SATURATED: &str = "
note: requests arrive faster than they are served; the means grow with the length of the run
";

/// Keeps the drives of the classic studies busy but not saturated: hp-c2247 is 70 % busy.
const INTERARRIVAL: Span = Span::from_ns(31_200_000);

pub const SIZE: &str = "8 KiB";

fn generated_requests(
    settings: &Settings,
    model: &System,
) -> Result<(GeneratedRequests, simulated::Workload), Error> {
    let generated = |workload| GeneratedRequests {
        workload,
        requests: settings.requests,
        seed: settings.seed,
        replications: settings.replications,
    };
    if let Some(text) = &settings.workload {
        let generated = generated(model.workload(text)?);
        let description = simulated::Workload::written(&generated, text, settings.warmup);
        return Ok((generated, description));
    }
    let arrivals = match settings.outstanding {
        Some(outstanding) => OptionArrivals::Closed {
            outstanding: outstanding as usize,
            think: settings.think.unwrap_or_default(),
        },
        None => {
            let mean = settings.interarrival.or(settings.rate);
            let mean = mean.unwrap_or(INTERARRIVAL);
            OptionArrivals::Poisson { mean }
        }
    };
    let classic = Stream::worthington94();
    let disk = model.disk();
    let sectors = size_of(settings.size.as_deref(), disk)?;
    let read_share = settings.reads.unwrap_or(classic.read_share);
    let stream = Stream {
        arrivals: match arrivals {
            OptionArrivals::Poisson { mean } => Arrivals::Open(Pauses::Poisson(Poisson { mean })),
            OptionArrivals::Closed { outstanding, think } => Arrivals::Closed(Closed {
                clients: outstanding,
                think: Pauses::Deterministic(Deterministic { mean: think }),
            }),
        },
        sizes: Sizes::Fixed(sizes::Fixed { sectors }),
        read_share,
        ..classic
    };
    let streams = vec![stream];
    let generated = generated(Workload { streams });
    let description = simulated::Workload::random(
        generated.requests_count(),
        sectors.0 * disk.sector.0,
        read_share,
        arrivals,
        settings.warmup,
    );
    Ok((generated, description))
}

pub fn size_of(typed: Option<&str>, disk: Disk) -> Result<SectorCount, diskarm_simulate::Error> {
    if let Some(typed) = typed {
        return diskarm_simulate::size("--size", typed, disk);
    }
    diskarm_simulate::size("--size", SIZE, disk).map_err(|_| {
        let expected = format!("a size that divides the default --size, {SIZE}, or another --size");
        InputError::shown("geometry.sector_bytes", disk.sector.0, expected).into()
    })
}

/// Simulate one drive under one workload and one host policy
///
/// Prints response and service times, utilisation, queue and throughput. The same inputs give
/// bit-identical results; only wall-clock times differ.
#[derive(clap::Args)]
#[command(override_usage = USAGE, after_long_help = METRICS)]
pub struct Args {
    /// Scheduling policy; `diskarm policies` lists all policies
    #[arg(long, display_order = AFTER_DRIVE)]
    pub policy: String,

    /// Write a CSV row for each request, in order of completion, including the warm-up
    #[arg(long, value_name = "FILE", long_help = prose::flowing(ROWS))]
    #[arg(display_order = AFTER_WINDOW)]
    pub per_request: Option<String>,

    #[command(flatten)]
    pub settings: Settings,
}

/// Help positions of the options that a command adds to [`Settings`], whose own options start at 2.
/// (An option after all of these would get the heading of the last one.)
pub const AFTER_DRIVE: usize = 2;
const AFTER_WINDOW: usize = 12;
pub const AFTER_PLOT: usize = 13;

/// A drive, its workload, and what to report.
#[derive(clap::Args)]
pub struct Settings {
    /// Drive: a name from the catalogue, or a .toml file
    #[arg(long, value_name = "NAME|FILE", long_help = args::stack_help())]
    pub drive: String,

    #[command(flatten)]
    pub changes: Changes,

    /// The queue that the policy orders: the host's, or the drive's own
    #[arg(long, value_name = "WHOSE", value_enum, default_value_t = Queue::Host)]
    #[arg(long_help = prose::flowing(QUEUE))]
    pub queue: Queue,

    /// Replay a trace, or several merged; - for standard input. Each device in each trace becomes a
    /// drive
    #[arg(long, value_name = "FILE", num_args = 1.., long_help = prose::flowing(TRACE))]
    pub trace: Vec<String>,

    /// Random requests, uniform over the disk and aligned to their size
    #[arg(long)]
    pub random: bool,

    /// Requests from a workload expression, or from a .toml file
    #[arg(long, value_name = "TEXT|FILE", long_help = workload_help())]
    pub workload: Option<String>,

    /// Merge sequential requests in the host queue into commands of up to this size
    /// [default: no merging]
    #[arg(long, value_name = "SIZE", long_help = prose::flowing(MERGE))]
    #[arg(allow_hyphen_values = true)]
    pub merge: Option<String>,

    /// Seed of generated requests and of random faults
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(allow_negative_numbers = true, value_parser = integer::<u64>(0..=u64::MAX))]
    pub seed: u64,

    /// Exclude the first N completions, and the time until then, from all results
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(allow_negative_numbers = true, value_parser = integer::<u64>(0..=u64::MAX))]
    #[arg(alias = "warm-up")]
    pub warmup: u64,

    /// Also report each window of this length, from the start of the run, including the warm-up
    #[arg(long, value_name = "TIME", value_parser = positive_time, allow_hyphen_values = true)]
    pub window: Option<Span>,

    /// Plot the distribution of response times to this file, or - for standard output. The file
    /// must not be one that the command reads
    #[arg(long, value_name = "FILE.svg", value_parser = plot::svg_name)]
    pub plot: Option<String>,

    /// Print JSON: one object; key names end in the unit; null where a value cannot be computed
    #[arg(long)]
    pub json: bool,

    /// Number of requests, including the warm-up [default: 100000]
    #[arg(long, value_name = "N")]
    #[arg(help_heading = "With --random or --workload")]
    #[arg(allow_negative_numbers = true, value_parser = integer::<u64>(1..=u64::MAX))]
    pub requests: Option<u64>,

    /// Run N times, each with its own seed, on all processors
    #[arg(long, value_name = "N")]
    #[arg(help_heading = "With --random or --workload", long_help = REPLICATIONS)]
    #[arg(allow_negative_numbers = true, value_parser = integer::<u64>(2..=MAX_REPLICATIONS))]
    pub replications: Option<u64>,

    /// Request size, in sectors, B, KiB, MiB or GiB [default: "8 KiB"]
    #[arg(long, value_name = "SIZE")]
    #[arg(help_heading = "With --random", allow_hyphen_values = true)]
    pub size: Option<String>,

    /// Percentage of reads, from "0 %" to "100 %" [default: two thirds]
    #[arg(long, value_name = "PERCENT")]
    #[arg(help_heading = "With --random", allow_hyphen_values = true, value_parser = share)]
    pub reads: Option<f64>,

    /// Open: Poisson arrivals with this mean time between requests, in ns, us, ms or s
    /// [default: "31.2 ms", unless --rate or --outstanding is given]
    #[arg(long, value_name = "TIME", value_parser = positive_time, allow_hyphen_values = true)]
    #[arg(help_heading = "With --random")]
    pub interarrival: Option<Span>,

    /// Open: Poisson arrivals at this mean rate, such as 32/s
    #[arg(long, value_name = "RATE", value_parser = rate, allow_hyphen_values = true)]
    #[arg(help_heading = "With --random")]
    pub rate: Option<Span>,

    /// Closed: N clients, each of which issues a request when its previous one completes
    #[arg(long, value_name = "N")]
    #[arg(help_heading = "With --random or --trace")]
    #[arg(allow_negative_numbers = true, value_parser = integer::<u32>(1..=10_000_000))]
    pub outstanding: Option<u32>,

    /// Closed: think time between a completion and the next request [default: "0 ms"]
    #[arg(long, value_name = "TIME", value_parser = time)]
    #[arg(help_heading = "With --random or --trace", allow_hyphen_values = true)]
    pub think: Option<Span>,

    /// The times at which the requests of a trace are issued, without --outstanding
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Replay::Traced)]
    #[arg(help_heading = "With --trace")]
    pub replay: Replay,

    #[command(flatten, next_help_heading = "With --trace")]
    pub traced: TraceOptions,
}

/// The queue that a policy orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Queue {
    /// The host's, in front of the drive
    Host,
    /// The drive's own
    Drive,
}

/// The way a trace is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Replay {
    /// At the recorded arrivals; if there are none, one at a time with the measured pauses
    Traced,
    /// One at a time, with the measured pauses between each completion and the next arrival
    Pauses,
}

/// The usage line that clap generates is wider than a terminal.
const USAGE: &str = "diskarm simulate [OPTIONS] --drive <NAME|FILE> --policy <POLICY>\n       \
                     <--trace <FILE>...|--random|--workload <TEXT|FILE>>";

/// Returns the syntax of workload expressions, from the tables of generators.
fn workload_help() -> String {
    let mut text = String::from(
        "Requests from a workload expression, or from a file whose name ends in .toml:\n\n  \
         \"poisson(rate=60/s) uniform size=8KiB reads=67%\"\n\nThe arrivals come first, then \
         the places (with shares if there are several: \"sequential(share=30%) uniform\"), the \
         size and the percentage of reads. The defaults are uniform places, 8 KiB and two thirds \
         reads. A + separates concurrent streams. A file has the keys arrivals, places, size and \
         reads with the same syntax, or a list of tables [[stream]] with these keys.\n",
    );
    let families: [(&str, Vec<&GeneratorInfo>); 3] = [
        ("Arrivals", Arrivals::infos().collect()),
        ("Places", Places::INFOS.iter().collect()),
        ("Sizes", Sizes::INFOS.iter().collect()),
    ];
    for (family, infos) in families {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{family}:");
        for info in infos {
            let _ = writeln!(text, "- {}: {}", info.name, info.summary);
            for (parameter, meaning) in info.parameters {
                let _ = writeln!(text, "    {parameter}  {meaning}");
            }
        }
    }
    text
}

const QUEUE: &str = "\
The queue that the policy orders: the host's, in front of the drive, or the drive's own.\n\n\
A drive with a queue of its own (queue.depth above 1: NCQ of SATA drives, tagged queueing of SCSI \
drives) takes that many requests at once and orders them itself. The host's queue then holds only \
requests that the drive has no room for, so its policy often has nothing to choose from. With \
--queue drive the policy orders the drive's queue, and the host passes requests on in order of \
arrival. With --set queue.depth=1 the drive takes one request at a time, and the host decides";

const MERGE: &str = "\
Merge sequential requests in the host queue into commands of up to this size, in sectors, B, \
KiB, MiB or GiB [default: no merging].\n\n\
The request that the policy chooses goes to the drive as one command with the waiting requests of \
the same direction that continue it. Results still count the original \
requests: each completes with its command and has its own queue wait, but the other parts of \
its response and its cache outcome are those of the command. So the service times of the \
requests of one command overlap, and all but one of them count as waiting";

const TRACE: &str = "\
Replay a trace, or several merged; - for standard input. `diskarm trace info` summarises a \
trace.\n\n\
Each device in each trace becomes a drive of the same model with its own host queue. Results \
cover all drives, with one line for each. Traces whose times count from 1970 keep their \
offsets; others start together. Requests are issued at their recorded arrivals. With \
--outstanding N, N requests are outstanding over all drives, in trace order, and recorded times \
are ignored. With --replay pauses, one request is outstanding, and the next follows after the \
measured pause.\n\n\
A request beyond the end of the drive ends the run, unless --fit maps it elsewhere. Changes \
to the trace are listed with the results. Warnings about the trace (its time unit, skipped \
rows) go to standard error and, with --json, to notes";

/// Each run uses about 200 KiB until all have finished.
const MAX_REPLICATIONS: u64 = 1_000;

const REPLICATIONS: &str = "\
Run N times, each with its own seed, on all processors. Each run has --requests requests and \
its own warm-up.\n\n\
The first run uses --seed, and the other seeds are derived from it. The output lists all seeds; \
passing one as --seed repeats that run. Requests of all runs are pooled; fractions, rates and \
queue lengths are means over the runs. Confidence intervals are Student's t over the means of \
the independent runs: unlike the batch means of a single run, they are also valid near saturation";

const ROWS: &str = "\
Write a CSV row for each request, in order of completion, including the warm-up, during the \
run: id, disk, op (R, W), lbn, sectors, outcome (miss, hit, partial, absorbed; for failed \
requests medium-error, not-ready, aborted), and in microseconds arrived_us, completed_us, \
response_us and the parts that add up to the response: queue_us, owed_us, overhead_us, seek_us, \
settle_us, rotation_us, transfer_us, bus_us. With n streams, id modulo n is the number of the \
stream, from 0. The file must not be one that the command reads. With -, the rows go to standard \
output and the results to standard error";

const METRICS: &str = "\
Metrics (keys of --json):
  requests             requests counted
  simulated_s          simulated time, from the first arrival (or the end of the warm-up) to the
                       last completion; with several replications, the sum
  wall_s, requests_per_wall_s
                       time the simulation took, and its speed
  response_ms          from arrival to completion: mean, half width of its 95 % confidence
                       interval (ci95; by batch means, null below 512 requests; of several
                       replications by Student's t over their means), std, squared coefficient of
                       variation (cv2, no unit), percentiles (to within 0.1 % or 64 ns),
                       max
  service_ms           response without queue wait: mean, and its parts, which add up to it: owed
                       (work the drive must finish first: dirty data, mandatory read-ahead),
                       overhead, seek, settle (head switch without a seek, and what a write
                       takes to settle beyond a read; negative where its setup overlaps the
                       seek), rotation, transfer, bus
  cache_hit_rate       fraction of reads served entirely from the drive's buffer, 0 to 1; a partial
                       hit counts as a miss
  utilisation          fraction of time with a request outstanding, 0 to 1; with several drives, the
                       mean
  queue                requests outstanding except the one in service: average over time, max; with
                       several drives, the sum of the averages and the largest max
  throughput_per_s     requests per simulated second
  reads, writes        requests, response_ms and service_ms for each direction
  streams              the same for each stream of a workload, in order; null for one stream
  disks                with several drives, for each: disk (from 0), trace (index of its file, from
                       0), device, part (of a device spread over several), requests, response_ms,
                       service_ms, cache_hit_rate, utilisation, queue, throughput_per_s, all over
                       the whole run; null for one drive
  parts                if the device has any, for each: part (its position), kind (disk, cache,
                       buffer or redundancy), and its activity from the start of the run,
                       including the warm-up. For a disk, until the last request was completed:
                       reads and writes (commands), reading and writing (fractions of time),
                       in_batches (the same for batches of writes), batches, batch_ms_mean,
                       between_batches_ms_mean, waiting_mean, waiting_max, writes_waiting_mean.
                       For a cache, until it has destaged all that it will destage: absorbed
                       (writes that completed in it), waited (writes that waited for room), hits,
                       overwritten_blocks, destages, failed (destages), dirty_mean and dirty_max
                       (blocks). For the buffer of a drive with buffer.write_cache=deferred, until
                       the drive's last action before the last request was completed:
                       destaged_blocks, destaged_in_gaps_blocks (in gaps between commands),
                       writes_in_gaps. For disk failures (redundancy), until the rebuild has
                       ended: failed_disks, failed_at_s (of the first), rebuilt (fraction),
                       rebuild_s, rebuild_projected_s (if all of it ran under this load),
                       rebuild_stopped_at_block, lost_blocks, lost_from_block, lost_at_s. With
                       replications, the means; null for a single disk without such a buffer
  windows              with --window, for each window: start_s, requests that arrived, response_ms
                       of the requests completed, utilisation, queue_mean; several drives count
                       as one here
  replications         with --replications, for each: seed, requests, response_ms, service_ms,
                       cache_hit_rate, utilisation, queue, throughput_per_s; null for one run
  ci95                 with --replications, half widths of the 95 % confidence intervals of the
                       means: service_ms, cache_hit_rate, utilisation, queue, throughput_per_s;
                       null for one run
  flushes, recovered, failed
                       flushes; reads and writes that succeeded after retries; requests that did not
                       succeed, which no metric includes except utilisation and queue; each only
                       if there were any
  merge_max_sectors    with --merge, sectors of the largest merged command, otherwise null
  drive, policy, policy_in, workload, seed, version
                       what is needed to repeat the run; policy_in only with --queue drive; seed is
                       null if nothing is random
  notes                warnings about the drive or a trace, failures of disks after the last
                       request, losses of data, and the changes made on request

Saturation: with open arrivals (all but --outstanding, closed workloads and traces without arrivals)
and a throughput below 99 % of the arrival rate, the queue grows without limit, and the means grow
with the length of the run. A note below the table reports it; --json has none.";
