//! `diskarm scan`: a whole drive read, in the gaps of its foreground if it has one.

mod device;
mod keeper;
mod predictions;
mod scsi;
mod simulated;
mod url;

use diskarm_core::units::Span;
use diskarm_results::prose;
use diskarm_scan::{Account, Place, Settings};

use crate::drive_arg::Changes;
use crate::error::Error;
use crate::simulate::args::{share, time, whole};
use crate::trace::adapt::{Fitting, Part};
use crate::trace::input::Reading;

/// Read a whole drive to check or copy it
///
/// A real device is read in the order of its blocks; with --workload, in the gaps of a foreground
/// that the command generates for measurements, as a simulated drive always is. It is never written
/// to. Blocks that cannot be read are listed with their places, and the exit code is then 1.
///
/// An array such as 'sim:raid5(disks=5, drive=NAME)' is scanned disk by disk, all at the same time,
/// in the gaps of what the array asks of each.
///
/// With a foreground, it serves that in the order of a policy. Before each request it reads what it
/// can until the first sector of the request passes, from any track that can be reached in time,
/// until all blocks of the drive have been read. Then it serves the same requests without the scan,
/// and prints how much longer they took beside it.
// Without the conflict clap would not complain: it waives a requirement that conflicts with a flag
// given.
#[derive(clap::Args)]
#[command(after_long_help = prose::wrapped(MORE, 0) + EXAMPLE)]
#[command(mut_group("Part", |group| group.requires("trace").conflicts_with("workload")))]
#[command(mut_group("Fitting", |group| group.requires("trace").conflicts_with("workload")))]
#[command(mut_group("Reading", |group| group.requires("trace").conflicts_with("workload")))]
pub struct Args {
    /// What is read: a block device, a file, /dev/sgX, nbd://HOST/EXPORT, iscsi://HOST/TARGET/LUN,
    /// or sim:NAME
    #[arg(value_name = "URL", long_help = url::help())]
    url: String,

    /// Write the checksum of each MiB to this file, once all has been read
    ///
    /// A line for each: its first block, the number of its blocks, the CRC-32 of its bytes as zlib
    /// and gzip compute it, and how many of its blocks cannot be read, if any. Those count as
    /// zeroes.
    #[arg(long, value_name = "FILE")]
    checksums: Option<String>,

    /// Copy the device to this file, with holes where it has zeroes or cannot be read
    ///
    /// The file has its name from the beginning, and each block is written in its place. A file
    /// that is not empty is refused, unless --checkpoint continues the scan that has begun it.
    #[arg(long, value_name = "FILE")]
    image: Option<String>,

    /// Keep what has been read in this file, and continue from there if it exists
    ///
    /// It is written every few seconds. However a scan ends early, by Ctrl-C, a signal or a fault,
    /// the same command continues it: no block counts twice, and none is left out. It is removed
    /// when each block has been read or cannot be read: nothing is left to continue. A generated
    /// foreground of a simulated drive continues with other requests: the number of blocks that
    /// were read is added to the seed. A trace begins again with its first request.
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<String>,

    /// Log in to an iSCSI target with the names and secrets (CHAP) of file:PATH or env, as `diskarm
    /// extract` does
    #[arg(long, value_name = "WHERE")]
    chap: Option<String>,

    #[command(flatten)]
    changes: Changes,

    /// The drive that the scheduler believes it to be: a name from the catalogue, or a .toml file
    /// [default of sim: the drive itself, without its scatter]
    ///
    /// A real device needs one for a foreground, with --set if a value is another. Without a
    /// foreground it only tells the places of blocks that cannot be read.
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "in_firmware")]
    model: Option<String>,

    /// Foreground: a workload expression, or a .toml file [default: none; of sim: that of the
    /// paper, closed(clients=10) uniform size=exponential(mean=8KiB, unit=4KiB) reads=66.7%]
    ///
    /// On a real device it only reads: its writes become reads of the same blocks.
    #[arg(long, value_name = "TEXT|FILE")]
    workload: Option<String>,

    /// Foreground of a simulated drive: the requests of a trace at their arrivals, whether those
    /// before are complete or not. With the last of them the scan ends
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    trace: Option<String>,

    /// Policy of the foreground; `diskarm policies` lists them
    #[arg(long, default_value = "sptf-sw(n=40%)")]
    policy: String,

    /// Schedule and fill gaps in the drive's firmware, which knows positions and needs no commands
    #[arg(long, alias = "inside")]
    in_firmware: bool,

    /// Rebuild a mirrored pair of such drives, of which one is lost: what is read in the gaps of
    /// the other is written to a spare, and the foreground is that of the pair
    ///
    /// A block counts as read when the spare has it. Writes of the foreground go to both, the
    /// rebuild's to the spare when nothing else waits for it. The slowdown is that of the pair over
    /// the drive that is left alone.
    #[arg(long, conflicts_with_all = ["in_firmware", "checkpoint"])]
    rebuild: bool,

    /// Requests in the drive at one time, 1 or 2; 2 is for a drive that has a queue
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        conflicts_with = "in_firmware"
    )]
    #[arg(allow_negative_numbers = true, value_parser = whole::<usize>(1..=2))]
    depth: usize,

    /// Add this to the predicted time of each seek to a background read and behind it, with
    /// --in-firmware only of those to the foreground; in ns, us or ms [default: 0.3 ms; with --in-firmware
    /// 0.4 ms]
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    conservatism: Option<Span>,

    /// Adjust conservatism so that the foreground is not slowed down by more than this; it is then
    /// also added to head switches
    #[arg(long, value_name = "PERCENT", value_parser = share, conflicts_with = "in_firmware")]
    #[arg(allow_hyphen_values = true)]
    max_slowdown: Option<f64>,

    /// Allow several commands for a track in a gap, and reads on the one where it begins
    #[arg(long, conflicts_with = "in_firmware")]
    any_track: bool,

    /// Also read when the drive has been idle for this long [default: never]
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "in_firmware")]
    #[arg(allow_hyphen_values = true)]
    idle: Option<Span>,

    /// Stop after this many foreground requests, even if the scan is not complete
    /// [default: 5000000; all of a trace]
    #[arg(long, value_name = "N")]
    #[arg(allow_negative_numbers = true, value_parser = whole::<u64>(1..=u64::MAX))]
    requests: Option<u64>,

    /// Seed of the foreground, and of what the drive does at random
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(allow_negative_numbers = true, value_parser = whole::<u64>(0..=u64::MAX))]
    seed: u64,

    /// Write the predicted and the measured time of each command beside the scan to this file: .csv
    /// for a row each, .svg for a figure of their differences by size
    ///
    /// A row has the source of the command (foreground, with what is read for the scan in the same
    /// command, or scan alone), whether it reads or writes (R or W), its first block and their
    /// number, when it was sent, how long it was predicted to take (nothing if the model had lost
    /// track of the drive) and how long it took, in microseconds, and whether predictions were
    /// relied on and it succeeded. With --depth 2 times are from sending, also while the command
    /// before is served, and the prediction is the one that was made when that had ended.
    ///
    /// The figure has the commands of the foreground whose predictions were relied on, as that of
    /// `diskarm validate --locked --plot`. Of the foreground without the scan nothing is written,
    /// and a scan that can be continued does not write this file.
    #[arg(long, value_name = "FILE", value_parser = predictions::file_name)]
    #[arg(conflicts_with_all = ["checkpoint", "in_firmware", "rebuild"])]
    predictions: Option<String>,

    /// Print JSON: one object; names end in their unit; null where a value cannot be computed
    #[arg(long)]
    json: bool,

    #[command(flatten, next_help_heading = "With --trace")]
    part: Part,

    #[command(flatten, next_help_heading = "With --trace")]
    fitting: Fitting,

    #[command(flatten, next_help_heading = "With --trace")]
    reading: Reading,
}

const MORE: &str = "\
Outside the drive, a model of it follows its completions: at first it does not know the angle of \
the platter. A read in a gap is a command of its own, or one with the foreground's if it ends \
where that begins. The foreground's requests are held back until the drive has room.

The free bandwidth is that of blocks read for the scan. It falls as fewer blocks are wanted, so it \
is given for the time in which 80 to 20 % of them were, and for the whole scan.";

const EXAMPLE: &str = r"
Example, a drive whose seeks scatter by 0.15 ms, with a bus of 80 MB/s:
  diskarm scan sim:quantum-atlas-10k \
      --set mechanics.seek_scatter.form=table \
      --set 'mechanics.seek_scatter.cylinders_ms=[[1, 0.15]]' \
      --set 'bus.read_sector=0.0064 ms' --set 'bus.write_sector=0.0064 ms'";

impl Args {
    fn place(&self) -> Place {
        match self.in_firmware {
            true => Place::Inside,
            false => Place::Outside(self.depth),
        }
    }

    /// The foreground's requests after which a scan stops.
    fn max_requests(&self) -> u64 {
        let default = match self.trace {
            Some(_) => u64::MAX,
            None => 5_000_000,
        };
        self.requests.unwrap_or(default)
    }

    fn settings(&self) -> Settings {
        let conservatism = self.conservatism;
        Settings {
            conservatism: conservatism.unwrap_or_else(|| self.place().conservatism()),
            one_per_track: !self.any_track,
            idle: self.idle,
            max_slowdown: self.max_slowdown,
        }
    }
}

/// Scans and prints.
pub fn run(args: &Args) -> Result<(), Error> {
    match url::Target::parse(&args.url, args.chap.as_deref())? {
        url::Target::Simulated(name) => simulated::run_scan(args, &name),
        url::Target::Real(..) if args.rebuild => {
            let expected = "sim:NAME, as a real spare would be overwritten";
            Err(Error::flag("URL", &args.url, expected))
        }
        url::Target::Real(..) if args.in_firmware => {
            let expected = "sim:NAME, as the firmware of a device cannot be changed";
            Err(Error::flag("URL", &args.url, expected))
        }
        url::Target::Real(..) if args.trace.is_some() => {
            let expected = "none, as only a simulated drive serves a trace";
            let trace = args.trace.as_deref().unwrap_or_default();
            Err(Error::flag("--trace", trace, expected))
        }
        url::Target::Real(..) if args.workload.is_some() && args.model.is_none() => {
            let expected = "none without --model, which tells what the drive is";
            Err(Error::flag(
                "--workload",
                args.workload.as_deref().unwrap_or_default(),
                expected,
            ))
        }
        url::Target::Real(..) if args.requests.is_some() && args.workload.is_none() => {
            let expected = "none without --workload, as a mere scan has no foreground";
            let requests = args.requests.unwrap_or_default();
            Err(Error::flag("--requests", requests.to_string(), expected))
        }
        url::Target::Real(..) if args.predictions.is_some() && args.workload.is_none() => {
            let expected = "none without --workload, as nothing is predicted of a mere scan";
            let path = args.predictions.as_deref().unwrap_or_default();
            Err(Error::flag("--predictions", path, expected))
        }
        url::Target::Real(real) => device::run_scan(args, real),
    }
}

/// How a scan ends that was not interrupted: the checkpoint of a complete one is removed, and
/// blocks that cannot be read are an error.
fn judged(args: &Args, account: &Account) -> Result<(), Error> {
    if let Some(path) = &args.checkpoint
        && account.left().is_empty()
    {
        // A leftover says that its scan is over, which does no harm.
        let _ = std::fs::remove_file(path);
    }
    let unreadable: u64 = account.unreadable().map(|(_, sectors)| sectors.0).sum();
    match unreadable {
        0 => Ok(()),
        blocks => Err(Error::Unreadable { blocks }),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    /// However long it is.
    #[test]
    fn a_scan_beside_a_trace_ends_with_the_trace() {
        for (more, max) in [
            (&[][..], 5_000_000),
            (&["--trace", "long.csv"], u64::MAX),
            (&["--trace", "long.csv", "--requests", "7"], 7),
        ] {
            let words = [&["scan", "sim:hp-c2247"], more].concat();
            let line = Line::try_parse_from(words).expect("a sound command line");
            assert_eq!(line.args.max_requests(), max);
        }
    }
}
