//! `diskarm scan`: a whole drive read in the gaps of its foreground.

use diskarm_core::units::Span;
use diskarm_results::prose;
use diskarm_results::scanned::{Names, Scanned};
use diskarm_scan::{Place, Scan, Settings};
use diskarm_simulate::{Model, policy};

use crate::drive_arg::{self, Changes};
use crate::error::Error;
use crate::output;
use crate::simulate::args::{share, time, whole};

/// Read a whole drive in the rotational gaps of its foreground
///
/// Serves a foreground in the order of a policy. Before each request it reads what it can until the
/// first sector of the request passes, from any track that can be reached in time, until all blocks
/// of the drive have been read. Then it serves the same requests without the scan, and prints how
/// much longer they took beside it.
#[derive(clap::Args)]
#[command(after_long_help = prose::wrapped(MORE, 0))]
pub struct Args {
    /// The drive, simulated: sim:NAME, or sim:FILE.toml
    #[arg(value_name = "URL", long_help = url_help())]
    url: String,

    #[command(flatten)]
    changes: Changes,

    /// The drive that the scheduler believes it to be: a name from the catalogue, or a .toml file
    /// [default: the drive itself, without its scatter]
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "inside")]
    model: Option<String>,

    /// Foreground: a workload expression, or a .toml file
    #[arg(long, value_name = "TEXT|FILE", default_value = FOREGROUND)]
    workload: String,

    /// Policy of the foreground; `diskarm policies` lists them
    #[arg(long, default_value = "sptf-sw(n=40%)")]
    policy: String,

    /// Schedule and fill gaps in the drive's firmware, which knows positions and needs no commands
    #[arg(long)]
    inside: bool,

    /// Requests in the drive at one time, 1 or 2; 2 is for a drive that has a queue
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "inside")]
    #[arg(allow_negative_numbers = true, value_parser = whole::<usize>(1..=2))]
    depth: usize,

    /// Add this to the predicted time of each seek to a background read and behind it, with
    /// --inside only of those to the foreground; in ns, us or ms [default: 0.3 ms; with --inside
    /// 0.4 ms]
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    conservatism: Option<Span>,

    /// Adjust conservatism so that the foreground is not slowed down by more than this
    #[arg(long, value_name = "PERCENT", value_parser = share, conflicts_with = "inside")]
    #[arg(allow_hyphen_values = true)]
    max_slowdown: Option<f64>,

    /// Allow several commands for a track in a gap, and reads on the one where it begins
    #[arg(long, conflicts_with = "inside")]
    any_track: bool,

    /// Also read when the drive has been idle for this long [default: never]
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "inside")]
    #[arg(allow_hyphen_values = true)]
    idle: Option<Span>,

    /// Stop after this many foreground requests, even if the scan is not complete
    #[arg(long, value_name = "N", default_value_t = 5_000_000)]
    #[arg(allow_negative_numbers = true, value_parser = whole::<u64>(1..=u64::MAX))]
    requests: u64,

    /// Seed of the foreground, and of what the drive does at random
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(allow_negative_numbers = true, value_parser = whole::<u64>(0..=u64::MAX))]
    seed: u64,

    /// Print JSON: one object; names end in their unit; null where a value cannot be computed
    #[arg(long)]
    json: bool,
}

/// lumb01, experimental setup, without think time.
const FOREGROUND: &str =
    "closed(clients=10) uniform size=exponential(mean=8KiB, unit=4KiB) reads=66.7%";

const MORE: &str = "\
Outside the drive, a model of it follows its completions: at first it does not know the angle of \
the platter. A read in a gap is a command of its own, or one with the foreground's if it ends \
where that begins. The foreground's requests are held back until the drive has room.

The free bandwidth is that of blocks read for the scan. It falls as fewer blocks are wanted, so it \
is given for the time in which 80 to 20 % of them were, and for the whole scan.

Example, a drive whose seeks scatter by 0.15 ms, with a bus of 80 MB/s:

- diskarm scan sim:quantum-atlas-10k --set mechanics.seek_scatter.form=table --set \
'mechanics.seek_scatter.cylinders_ms=[[1, 0.15]]' --set 'bus.read_sector=0.0064 ms' --set \
'bus.write_sector=0.0064 ms'";

fn url_help() -> String {
    format!("The drive, simulated: sim: and\n{}", drive_arg::long_help())
}

/// Scans and prints.
pub fn run(args: &Args) -> Result<(), Error> {
    let Some(name) = args.url.strip_prefix("sim:") else {
        return Err(Error::flag("URL", &args.url, "sim:NAME, or sim:FILE.toml"));
    };
    let found = Model::find(name).map_err(|error| error.calling("URL"))?;
    found.alone("URL")?;
    let drive = args.changes.of(found)?;
    if args.depth > drive.spec.queue.depth as usize {
        let expected = "1, as the drive takes one command at a time (--set queue.depth=2)";
        return Err(Error::flag("--depth", args.depth.to_string(), expected));
    }
    let believed = args.model.as_ref().map(|name| {
        let model = Model::find(name).map_err(|error| error.calling("--model"))?;
        model.alone("--model")?;
        let blocks = |model: &Model| model.layout().sectors().0;
        if blocks(&model) == blocks(&drive) {
            return Ok(model);
        }
        let expected = format!("a drive of {} blocks, as {name}", blocks(&drive));
        Err(Error::flag("--model", name, expected))
    });
    let believed = believed.transpose()?;
    let model = believed.as_ref().unwrap_or(&drive);
    let scan = Scan {
        spec: &drive.spec,
        model: &model.spec,
        workload: &drive.workload(&args.workload)?,
        policy: &policy("policy", &args.policy)?,
        place: match args.inside {
            true => Place::Inside,
            false => Place::Outside(args.depth),
        },
        settings: Settings {
            conservatism: args.conservatism.unwrap_or(match args.inside {
                true => Span::from_us(400.0),
                false => Settings::default().conservatism,
            }),
            one_per_track: !args.any_track,
            idle: args.idle,
            max_slowdown: args.max_slowdown,
        },
        seed: args.seed,
        max_requests: args.requests,
    };
    let names = Names {
        drive: &drive.name,
        model: &model.name,
        workload: &args.workload,
    };
    let scanned = Scanned::of(&scan, &scan.run()?, names);
    match args.json {
        true => output::print_json(&scanned),
        false => output::print(&scanned.text()),
    }
}
