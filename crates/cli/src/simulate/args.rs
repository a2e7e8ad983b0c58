//! The arguments of `diskarm simulate`.

use std::fmt::Write;

use clap::ValueEnum;
use diskarm_core::units::Span;
use diskarm_core::workload::{Arrivals, GeneratorInfo, Places, Sizes};

use crate::args::{self, Changes};
use crate::args::{positive_time, rate, share, time, whole};
use crate::plot;
use crate::trace::input::{Fitting, Reading, TracePart};
use diskarm_results::prose;

/// Simulate one drive under one workload and one host policy
///
/// Prints response and service times, utilisation, queue and throughput. The same inputs give
/// the same results, to the bit; only wall-clock times differ.
#[derive(clap::Args)]
#[command(override_usage = USAGE, after_long_help = METRICS)]
pub struct Args {
    /// Scheduling policy; `diskarm policies` lists them
    #[arg(long, display_order = AFTER_DRIVE)]
    pub policy: String,

    /// Write a CSV row for each request, in order of completion, including the warm-up
    #[arg(long, value_name = "FILE", long_help = prose::flowing(ROWS))]
    #[arg(display_order = AFTER_WINDOW)]
    pub per_request: Option<String>,

    #[command(flatten)]
    pub settings: Settings,
}

/// The positions in the help of options that a command adds to those of [`Settings`], which count
/// from 2. (After all of these they would get the heading of the last one.)
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
    #[arg(allow_negative_numbers = true, value_parser = whole::<u64>(0..=u64::MAX))]
    pub seed: u64,

    /// Exclude the first N completions, and the time until then, from all results
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(allow_negative_numbers = true, value_parser = whole::<u64>(0..=u64::MAX))]
    #[arg(alias = "warm-up")]
    pub warmup: u64,

    /// Also report each window of this length, from the start of the run, including the warm-up
    #[arg(long, value_name = "TIME", value_parser = positive_time, allow_hyphen_values = true)]
    pub window: Option<Span>,

    /// Plot the distribution of response times to this file, or - for standard output
    ///
    /// A file that the command reads is refused.
    #[arg(long, value_name = "FILE.svg", value_parser = plot::svg_name)]
    pub plot: Option<String>,

    /// Print JSON: one object; names end in their unit; null where a value cannot be computed
    #[arg(long)]
    pub json: bool,

    /// Number of requests, including the warm-up [default: 100000]
    #[arg(long, value_name = "N")]
    #[arg(help_heading = "With --random or --workload")]
    #[arg(allow_negative_numbers = true, value_parser = whole::<u64>(1..=u64::MAX))]
    pub requests: Option<u64>,

    /// Run N times, each with its own seed, on all processors
    #[arg(long, value_name = "N")]
    #[arg(help_heading = "With --random or --workload", long_help = REPLICATIONS)]
    #[arg(allow_negative_numbers = true, value_parser = whole::<u64>(2..=MAX_REPLICATIONS))]
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
    #[arg(allow_negative_numbers = true, value_parser = whole::<u32>(1..=10_000_000))]
    pub outstanding: Option<u32>,

    /// Closed: think time between a completion and the next request [default: "0 ms"]
    #[arg(long, value_name = "TIME", value_parser = time)]
    #[arg(help_heading = "With --random or --trace", allow_hyphen_values = true)]
    pub think: Option<Span>,

    /// Issue times of the requests of a trace, without --outstanding
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Replay::Traced)]
    #[arg(help_heading = "With --trace")]
    pub replay: Replay,

    #[command(flatten, next_help_heading = "With --trace")]
    pub part: TracePart,

    #[command(flatten, next_help_heading = "With --trace")]
    pub fitting: Fitting,

    #[command(flatten, next_help_heading = "With --trace")]
    pub reading: Reading,
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

/// The help of `--queue`.
const QUEUE: &str = "\
The queue that the policy orders: the host's, in front of the drive, or the drive's own.\n\n\
A drive with a queue of its own (queue.depth above 1: NCQ of SATA drives, tagged queueing of SCSI \
drives) takes that many requests at once and orders them itself. The host's queue then holds only \
requests that the drive has no room for, so its policy often has nothing to choose from. With \
--queue drive the policy orders the drive's queue, and the host passes requests on in order of \
arrival. With --set queue.depth=1 the drive takes one request at a time, and the host decides";

/// The help of `--merge`.
const MERGE: &str = "\
Merge sequential requests in the host queue into commands of up to this size, in sectors, B, \
KiB, MiB or GiB [default: no merging].\n\n\
When the policy chooses a request, waiting requests of the same direction that start where it \
ends, and so on, go to the drive with it as one command. Results still count the original \
requests: each completes with its command and has its own queue wait, but the other parts of \
its response and its cache outcome are those of the command. So the service times of one \
command overlap, and all its requests but one count as waiting";

/// The help of `--trace`.
const TRACE: &str = "\
Replay a trace, or several merged; - for standard input. `diskarm trace info` summarizes a \
trace.\n\n\
Each device in each trace becomes a drive of the same model with its own host queue. Results \
cover all drives, with one line for each. Traces whose times count from 1970 keep their \
offsets; others start together. Requests are issued at their recorded arrivals. With \
--outstanding N, N requests are outstanding over all drives, in trace order, and recorded times \
are ignored. With --replay pauses, one request is outstanding, and the next follows after the \
measured pause.\n\n\
A request beyond the end of the drive ends the run, unless --fit says where it goes. Changes \
to the trace are listed with the results. Doubts about the trace (its time unit, skipped \
rows) go to standard error and, with --json, to notes";

/// Each run holds about 200 KiB until all are done.
const MAX_REPLICATIONS: u64 = 1_000;

/// The help of `--replications`.
const REPLICATIONS: &str = "\
Run N times, each with its own seed, on all processors. Each run has --requests requests and \
its own warm-up.\n\n\
The first run uses --seed, and the other seeds are derived from it. The output lists all seeds; \
passing one as --seed repeats that run. Requests of all runs are pooled; fractions, rates and \
queue lengths are means over the runs. Confidence intervals are Student's t over the means of \
the independent runs: unlike the batch means of a single run, they also hold near saturation";

/// The columns of the file of `--per-request`.
const ROWS: &str = "\
Write a CSV row for each request, in order of completion, including the warm-up, during the \
run: id, disk, op (R, W), lbn, sectors, outcome (miss, hit, partial, absorbed; of requests \
that failed medium-error, not-ready, aborted), and in microseconds arrived_us, completed_us, \
response_us and the parts that add up to the response: queue_us, owed_us, overhead_us, \
seek_us, settle_us, rotation_us, transfer_us, bus_us. With n streams, id modulo n is the \
number of the stream, from 0. A file that the command reads is refused; - is standard output, and \
results then go to standard error";

/// The end of `--help`.
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
  parts                of a device that has any, for each: part (its place), kind (disk, cache,
                       buffer or redundancy), what it did from the start of the run, warm-up
                       included. Of a disk, until the last request was completed: reads and writes
                       (commands), reading and writing (fractions of time), in_batches (the same of
                       batches of writes), batches, batch_ms_mean, between_batches_ms_mean,
                       waiting_mean, waiting_max, writes_waiting_mean. Of a cache, until it has
                       destaged everything that it destages: absorbed (writes that completed in
                       it), waited (writes that waited for room), hits, overwritten_blocks,
                       destages, failed (destages), dirty_mean and dirty_max (blocks). Of the
                       buffer of a drive with buffer.write_cache=deferred, until the drive did
                       something last before that: destaged_blocks, those of them in gaps of
                       commands (destaged_in_gaps_blocks), writes_in_gaps. Of failures of disks
                       (redundancy), until the rebuild has ended: failed_disks, failed_at_s (the
                       first), rebuilt (fraction), rebuild_s, rebuild_projected_s (if all of it
                       were under this load), rebuild_stopped_at_block, lost_blocks,
                       lost_from_block, lost_at_s. Of replications the means; null for a single
                       disk without such a buffer
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
  merge_max_sectors    with --merge, sectors of the largest merged command; null without
  drive, policy, policy_in, workload, seed, version
                       what is needed to repeat the run; policy_in only with --queue drive; seed is
                       null if nothing is random
  notes                doubts about the drive or a trace, failures of disks after the last request,
                       losses of data, and the changes made on request

Saturation: with open arrivals (all but --outstanding, closed workloads and traces without arrivals)
and a throughput below 99 % of the arrival rate, the queue grows without limit, and the means grow
with the length of the run. A note below the table reports it; --json has none.";
