//! What is typed behind `diskarm simulate`.

use std::fmt::Write;
use std::ops::RangeInclusive;

use clap::ValueEnum;
use diskarm_core::text::quantity;
use diskarm_core::units::Span;
use diskarm_core::workload::{Arrivals, GeneratorInfo, Places, Sizes};

use crate::drive_arg;
use crate::trace::adapt::{Fitting, Part};
use crate::trace::input::Reading;
use diskarm_results::prose;

/// Simulate one drive under one workload and one host policy
///
/// Prints response and service times, utilisation, queue and throughput. The same inputs give
/// the same figures, to the bit; only wall-clock times differ.
#[derive(clap::Args)]
#[command(override_usage = USAGE, after_long_help = FIGURES)]
pub struct Args {
    /// Order of service in the host's queue, in front of the drive; `diskarm policies` lists them.
    #[arg(long)]
    pub policy: String,

    /// Write a CSV row for each request, in the order of completion, warm-up and all.
    #[arg(long, value_name = "FILE", long_help = prose::flowing(ROWS))]
    #[arg(conflicts_with = "replications")]
    pub per_request: Option<String>,

    #[command(flatten)]
    pub setting: Setting,
}

/// A drive and its workload, and what is wanted of them.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("load").required(true).args(["trace", "random", "workload"])))]
#[command(mut_group("Part", |group| group.conflicts_with_all(DRAWN)))]
#[command(mut_group("Fitting", |group| group.conflicts_with_all(DRAWN)))]
#[command(mut_group("Reading", |group| group.conflicts_with_all(DRAWN)))]
pub struct Setting {
    /// Drive: a name of the catalogue, or a .toml file.
    #[arg(long, value_name = "NAME|FILE", long_help = drive_arg::long_help())]
    pub drive: String,

    /// Replay a trace, or several merged; - for standard input. Each device of each is a drive of
    /// its own.
    #[arg(long, value_name = "FILE", num_args = 1.., long_help = prose::flowing(TRACE))]
    pub trace: Vec<String>,

    /// Requests at random places, uniform over the disk, at multiples of their size.
    #[arg(long)]
    pub random: bool,

    /// Requests of a workload that is described in words, or in a .toml file.
    #[arg(long, value_name = "TEXT|FILE", long_help = workload_help())]
    pub workload: Option<String>,

    /// Merge sequential requests that wait in the host's queue into commands of up to this size
    /// [default: none are merged].
    #[arg(long, value_name = "SIZE", long_help = prose::flowing(MERGE))]
    #[arg(allow_hyphen_values = true)]
    pub merge: Option<String>,

    /// Seed of all that is random; a trace has nothing random.
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(allow_negative_numbers = true, value_parser = whole::<u64>(0..=u64::MAX))]
    pub seed: u64,

    /// Leave the first N completions out of all figures, and the time until then.
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(allow_negative_numbers = true, value_parser = whole::<u64>(0..=u64::MAX))]
    pub warmup: u64,

    /// Report each window of this length as well, from the start of the run on, warm-up and all.
    #[arg(long, value_name = "TIME", value_parser = positive_time, allow_hyphen_values = true)]
    pub window: Option<Span>,

    /// Print JSON: one object; names end in their unit; null for what cannot be computed.
    #[arg(long)]
    pub json: bool,

    /// Number of requests, the warm-up included [default: 100000].
    #[arg(long, value_name = "N", conflicts_with = "trace")]
    #[arg(help_heading = "With --random or --workload")]
    #[arg(allow_negative_numbers = true, value_parser = whole::<u64>(1..=u64::MAX))]
    pub requests: Option<u64>,

    /// Run N times, each with a seed of its own, on every processor.
    #[arg(long, value_name = "N", conflicts_with_all = ["trace", "window"])]
    #[arg(help_heading = "With --random or --workload", long_help = REPLICATIONS)]
    #[arg(allow_negative_numbers = true, value_parser = whole::<u64>(2..=MOST_REPLICATIONS))]
    pub replications: Option<u64>,

    /// Size of a request, in sectors, B, KiB, MiB or GiB [default: "8 KiB"].
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["trace", "workload"])]
    #[arg(help_heading = "With --random", allow_hyphen_values = true)]
    pub size: Option<String>,

    /// Share of reads, from "0 %" to "100 %" [default: two thirds].
    #[arg(long, value_name = "PERCENT", conflicts_with_all = ["trace", "workload"])]
    #[arg(help_heading = "With --random", allow_hyphen_values = true, value_parser = share)]
    pub reads: Option<f64>,

    /// Open: Poisson arrivals, this long apart on average, in ns, us, ms or s
    /// [default: "31.2 ms", unless --rate or --outstanding is given].
    #[arg(long, value_name = "TIME", value_parser = positive_time, allow_hyphen_values = true)]
    #[arg(help_heading = "With --random")]
    #[arg(conflicts_with_all = ["rate", "outstanding", "trace", "workload"])]
    pub interarrival: Option<Span>,

    /// Open: the same as a rate, such as 32/s.
    #[arg(long, value_name = "RATE", value_parser = rate, allow_hyphen_values = true)]
    #[arg(help_heading = "With --random")]
    #[arg(conflicts_with_all = ["outstanding", "trace", "workload"])]
    pub rate: Option<Span>,

    /// Closed: N clients, each of which asks again when its request is completed.
    #[arg(long, value_name = "N", conflicts_with = "workload")]
    #[arg(help_heading = "With --random or --trace")]
    #[arg(allow_negative_numbers = true, value_parser = whole::<u32>(1..=10_000_000))]
    pub outstanding: Option<u32>,

    /// Closed: pause of a client before it asks again [default: "0 ms"].
    #[arg(long, value_name = "TIME", requires = "outstanding", value_parser = time)]
    #[arg(help_heading = "With --random or --trace", allow_hyphen_values = true)]
    pub think: Option<Span>,

    /// When the requests of a trace are issued, without --outstanding.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Replay::Traced)]
    #[arg(help_heading = "With --trace")]
    #[arg(conflicts_with_all = ["random", "workload", "outstanding"])]
    pub replay: Replay,

    #[command(flatten, next_help_heading = "With --trace")]
    pub part: Part,

    #[command(flatten, next_help_heading = "With --trace")]
    pub fitting: Fitting,

    #[command(flatten, next_help_heading = "With --trace")]
    pub reading: Reading,
}

/// How a trace is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Replay {
    /// At its arrivals; where it has none, one at a time with the pauses that were measured
    Traced,
    /// One at a time, with the pauses between each completion and the next arrival that were
    /// measured
    Pauses,
}

/// What draws requests, and has no use for the flags of a trace. (That these require `--trace` is
/// not enough: clap waives a requirement that conflicts with a flag given.)
const DRAWN: [&str; 2] = ["random", "workload"];

/// The line that would be made for us is wider than a terminal.
const USAGE: &str = "diskarm simulate [OPTIONS] --drive <NAME|FILE> --policy <POLICY>\n       \
                     <--trace <FILE>...|--random|--workload <TEXT|FILE>>";

/// All that can stand in a workload, from the tables of its generators.
fn workload_help() -> String {
    let mut text = String::from(
        "Requests of a workload that is described in words, or in the file of a name that ends \
         in .toml:\n\n  \"poisson(rate=60/s) uniform size=8KiB reads=67%\"\n\nFirst when \
         requests come, then where they go (with shares where there are several ways: \
         \"sequential(share=30%) uniform\"), how large they are, and the share of reads. Places \
         are uniform, sizes 8 KiB and two thirds reads when left out. A + parts streams \
         that run side by side. A file has the keys arrivals, places, size and reads with the \
         same words, or a list of tables [[stream]] with these keys.\n",
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

/// What `--merge` does.
const MERGE: &str = "\
Merge sequential requests in the host's queue into commands of up to this size, in sectors, B, \
KiB, MiB or GiB [default: none are merged].\n\n\
When the policy chooses a request, those waiting in the same direction that begin right behind \
its end, and behind theirs, go to the drive with it as one command. Figures stay those of the \
requests as they came: each completes when the command does, with its own queue wait, and the \
other parts of its response, and what the buffer did, are the command's. So the services of \
one command overlap, and all its requests but one count as waiting";

/// What `--trace` does.
const TRACE: &str = "\
Replay a trace, or several merged; - for standard input. `diskarm trace info` tells what is \
in it.\n\n\
Each device of each trace is a drive of its own, of the same model with a host queue of its \
own, and the figures are those of all with a line for each. Several traces that count from \
1970 keep their distance; others begin together. Requests come at their arrivals; or with \
--outstanding N so many are outstanding at all drives together, in the order of the trace, \
whatever its times; or with --replay pauses one is outstanding, and the next comes after \
the pause that was measured.\n\n\
A request beyond the end of the drive ends the run, unless --fit says where it goes. What \
was changed is told with the figures; what is doubtful about the trace (its unit, rows left \
out) on standard error, and in --json in notes";

/// Each keeps some 200 KiB until all are done.
const MOST_REPLICATIONS: u64 = 1_000;

/// What `--replications` does.
const REPLICATIONS: &str = "\
Run N times, each with a seed of its own, on every processor. Each run has --requests \
requests and its own warm-up.\n\n\
The first run has --seed, the others seeds that follow from it; all are told, and each with \
--seed gives that run again. Requests of all runs count together; shares, rates and queues \
are means of the runs. Confidence intervals are Student's over the means of the runs, which \
are independent: unlike those of one run, by batch means, they hold near saturation too";

/// What stands in the file of `--per-request`.
const ROWS: &str = "\
Write a CSV row for each request, in the order of completion, warm-up and all, while the \
run goes on: id, disk, op (R, W), lbn, sectors, outcome (miss, hit, partial, absorbed), and \
in microseconds arrived_us, completed_us, response_us and the parts of the response that \
add up to it: queue_us, owed_us, overhead_us, seek_us, settle_us, rotation_us, transfer_us, \
bus_us. With several streams the remainder of id by their number is the number of the \
stream, from 0";

/// The end of `--help`.
const FIGURES: &str = "\
Figures (keys of --json):
  requests             requests counted
  simulated_s          simulated time, from the first arrival (or the end of the warm-up) to the
                       last completion; of several replications the sum
  wall_s, requests_per_wall_s
                       time that the simulation took, and its speed
  response_ms          from arrival to completion: mean, half width of its 95 % confidence
                       interval (ci95; by batch means, null below 512 requests; of several
                       replications by Student's t over their means), std, squared coefficient of
                       variation (cv2, no unit), percentiles (to within 0.1 % or 64 ns),
                       max
  service_ms           response without queue wait: mean, and the parts that it is the sum of:
                       owed (what the drive does first: dirty data, read-ahead it must finish),
                       overhead, seek, settle (head switch without a seek, and what a write
                       takes to settle beyond a read; negative where its setup overlaps the
                       seek), rotation, transfer, bus
  cache_hit_rate       share of reads served wholly from the drive's buffer, 0 to 1; a partial
                       hit counts as a miss
  utilisation          share of time with a request outstanding, 0 to 1; of several drives the mean
  queue                requests outstanding but the one in service: average over time, max; of
                       several drives the sum of the averages, and the largest at any
  throughput_per_s     requests per simulated second
  reads, writes        requests, response_ms and service_ms of each direction
  streams              the same of each stream of a workload, in their order; null for one stream
  disks                with several drives, of each: disk (from 0), trace (place of its file, from
                       0), device, part (of a device spread over several), requests, response_ms,
                       service_ms, cache_hit_rate, utilisation, queue, throughput_per_s, all over
                       the time of the run; null for one
  windows              with --window, of each window: start_s, requests that arrived, response_ms
                       of the requests completed, utilisation, queue_mean; several drives are
                       one here, so that these are of requests at any
  replications         with --replications, of each: seed, requests, response_ms, service_ms,
                       cache_hit_rate, utilisation, queue, throughput_per_s; null for one run
  ci95                 with --replications, half widths of the 95 % confidence intervals of the
                       means: service_ms, cache_hit_rate, utilisation, queue, throughput_per_s;
                       null for one run
  merge_max_sectors    with --merge, sectors of the largest merged command; null without
  drive, policy, workload, seed, version
                       what gives the same figures again; seed is null for a trace
  notes                of a trace: what is doubtful about it and what was changed on request

Saturation: where requests arrive by themselves (all but --outstanding, closed workloads and traces
without arrivals) and throughput stays below 99 % of their rate, the queue grows without end, and
the means with the length of the run. A note below the table says so; --json has none.";

/// Reads a whole number within `range`, all of which fits into `T`.
fn whole<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.and_then(|n| T::try_from(n).ok()).ok_or_else(|| {
            let (first, last) = (range.start(), range.end());
            let is_too_long = text.bytes().all(|byte| byte.is_ascii_digit());
            if *last == u64::MAX && !(is_too_long && text.len() > 1) {
                format!("expected a whole number of {first} or more")
            } else {
                format!("expected a whole number from {first} to {last}")
            }
        })
    }
}

fn time(text: &str) -> Result<Span, &'static str> {
    let span = quantity::span(text).filter(|span| *span >= Span::ZERO);
    span.ok_or("expected a time from 0 to an hour with its unit, such as \"5 ms\"")
}

fn positive_time(text: &str) -> Result<Span, &'static str> {
    let span = quantity::span(text).filter(|span| *span > Span::ZERO);
    span.ok_or("expected a time above 0, up to an hour, with its unit, such as \"31.2 ms\"")
}

fn rate(text: &str) -> Result<Span, &'static str> {
    quantity::interval(text)
        .ok_or("expected a rate from 1 an hour to 1000000000/s, such as \"32/s\"")
}

fn share(text: &str) -> Result<f64, &'static str> {
    let share = quantity::fraction(text).filter(|share| (0.0..=1.0).contains(share));
    share.ok_or("expected a percentage from 0 % to 100 %, such as \"67 %\"")
}
