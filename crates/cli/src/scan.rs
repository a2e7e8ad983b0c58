//! `diskarm scan`: reads a whole drive, in the gaps of a foreground workload if there is one.

mod device;
mod predictions;
mod recorder;
mod simulated;
mod target;

use diskarm_core::units::Span;
use diskarm_results::prose;
use diskarm_scan::{BackgroundSettings, SchedulerLocation};
use target::Target;

use crate::args::{Changes, integer, share, time};
use crate::error::Error;
use crate::trace::TraceOptions;

pub fn run(args: &Args) -> Result<(), Error> {
    match Target::parse(&args.url, args.chap.as_deref())? {
        Target::Simulated(name) => simulated::run_scan(args, &name),
        Target::Real(real) => device::run_scan(args, real),
    }
}

/// Read a whole drive to check or copy it
///
/// A real device is read in the order of its blocks or, with --workload, in the gaps of a
/// foreground workload that the command generates for measurements. A simulated drive always has a
/// foreground. The scan never writes to the drive. It lists unreadable blocks with their positions;
/// the exit code is then 1.
///
/// All disks of an array such as 'sim:raid5(disks=5, drive=NAME)' are scanned at the same time, in
/// the gaps of the requests that the array sends to each.
///
/// Foreground requests are served in the order of a policy. In the time before the first sector of
/// each request passes under the head, the scan reads from any track that the arm can reach. When
/// all blocks of the drive have been read, the same requests are served without the scan, to
/// determine the slowdown.
#[derive(clap::Args)]
#[command(after_long_help = prose::wrapped(NOTES, 0) + EXAMPLE)]
pub struct Args {
    /// The device to read: a block device, a file, /dev/sgX, nbd://HOST/EXPORT,
    /// iscsi://HOST/TARGET/LUN, or sim:NAME
    #[arg(value_name = "URL", long_help = target::help())]
    pub url: String,

    /// Write the checksum of each MiB to this file, once everything has been read
    ///
    /// Each line has the first block, the number of blocks, the CRC-32 of the bytes as zlib and
    /// gzip compute it, and the number of unreadable blocks, if any. These count as zeroes.
    #[arg(long, value_name = "FILE")]
    pub checksums: Option<String>,

    /// Copy the device to this file, with holes for zeroes and unreadable blocks
    ///
    /// The file has its final name from the start, and each block is written at its offset. A file
    /// that is not empty is refused, unless --checkpoint continues the scan that created it.
    #[arg(long, value_name = "FILE")]
    pub image: Option<String>,

    /// Record the progress in this file, and continue from there if it exists
    ///
    /// It is written every few seconds. If a scan ends early, by Ctrl-C, a signal or a fault, the
    /// same command continues it: no block counts twice, and none is left out. The file is removed
    /// when no blocks are left. A generated foreground of a simulated drive continues with
    /// different requests: the number of blocks read is added to the seed. A trace starts again
    /// with its first request.
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<String>,

    /// Log in to an iSCSI target with the CHAP names and secrets from file:PATH or env, as `diskarm
    /// extract` does
    #[arg(long, value_name = "WHERE")]
    pub chap: Option<String>,

    #[command(flatten)]
    pub changes: Changes,

    /// The scheduler's model of the drive: a name from the catalogue, or a .toml file [default for
    /// sim: the drive itself, without its scatter]
    ///
    /// A real device needs one for a foreground; --set changes its values. Without a foreground
    /// it is only used to locate unreadable blocks.
    #[arg(long, value_name = "NAME|FILE")]
    pub model: Option<String>,

    /// Foreground: a workload expression, or a .toml file [default: none; for sim: that of the
    /// paper, closed(clients=10) uniform size=exponential(mean=8KiB, unit=4KiB) reads=66.7%]
    ///
    /// On a real device it only reads: its writes become reads of the same blocks.
    #[arg(long, value_name = "TEXT|FILE")]
    pub workload: Option<String>,

    /// Foreground of a simulated drive: the requests of a trace at their recorded arrival times.
    /// The scan ends with the last request
    #[arg(long, value_name = "FILE")]
    pub trace: Option<String>,

    /// Policy of the foreground; `diskarm policies` lists all policies
    #[arg(long, default_value = "sptf-sw(n=40%)")]
    pub policy: String,

    /// Schedule in the drive's firmware, which knows positions and needs no commands
    #[arg(long, alias = "inside")]
    pub in_firmware: bool,

    /// Rebuild a mirrored pair of such drives after the loss of one: read the remaining drive in
    /// the gaps of the pair's foreground, and write to a spare
    ///
    /// A block counts as read when the spare has it. Foreground writes go to both drives. The
    /// rebuild writes to the spare when nothing else is waiting for it. The slowdown compares the
    /// pair with the remaining drive alone.
    #[arg(long)]
    pub rebuild: bool,

    /// Number of requests in the drive at the same time, 1 or 2; 2 needs a drive with a queue
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(allow_negative_numbers = true, value_parser = integer::<usize>(1..=2))]
    pub depth: usize,

    /// Add this time, in ns, us or ms, to each predicted seek to and from a background read (with
    /// --in-firmware, only from it) [default: 0.3 ms; with --in-firmware 0.4 ms]
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub conservatism: Option<Span>,

    /// Adjust the conservatism to keep the slowdown of the foreground below this; the conservatism
    /// is then also added to head switches
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    #[arg(allow_hyphen_values = true)]
    pub max_slowdown: Option<f64>,

    /// Allow several commands for one track in a gap, and reads on the track where the gap starts
    #[arg(long)]
    pub any_track: bool,

    /// Also read when the drive has been idle for this long [default: never]
    #[arg(long, value_name = "TIME", value_parser = time)]
    #[arg(allow_hyphen_values = true)]
    pub idle: Option<Span>,

    /// Stop after this many foreground requests, even if the scan is not complete [default:
    /// 5000000, or all of a trace]
    #[arg(long, value_name = "N")]
    #[arg(allow_negative_numbers = true, value_parser = integer::<u64>(1..=u64::MAX))]
    pub requests: Option<u64>,

    /// Seed of the foreground and of random events in the drive
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(allow_negative_numbers = true, value_parser = integer::<u64>(0..=u64::MAX))]
    pub seed: u64,

    /// Write the predicted and the measured time of each command to this file: to a .csv file as
    /// rows, or to an .svg file as a chart of the differences by size
    ///
    /// Each row has the source of the command (foreground, which includes blocks read for the scan
    /// in the same command, or scan), its operation (R or W), first block and number of blocks; the
    /// time when it was sent, its predicted duration (empty if the model had lost track of the
    /// drive) and its measured duration in microseconds; and whether it succeeded and its
    /// prediction was used. With --depth 2, durations include the wait for the previous command,
    /// and the prediction is made when that command has completed.
    ///
    /// The chart shows the foreground commands whose predictions were used, like that of `diskarm
    /// validate --locked --plot`. Commands of the run without the scan are not written.
    #[arg(long, value_name = "FILE", value_parser = file_name)]
    pub predictions: Option<String>,

    /// Print JSON: one object; key names end in the unit; null where a value cannot be computed
    #[arg(long)]
    pub json: bool,

    #[command(flatten, next_help_heading = "With --trace")]
    pub traced: TraceOptions,
}

const NOTES: &str = "\
A scheduler outside the drive follows its completions with a model, which initially does not know \
the angle of the platter. A read in a gap is a separate command, or is merged with the foreground \
command if it ends where that one starts. Foreground requests wait until the drive has room.

The free bandwidth counts blocks read for the scan. It falls as fewer blocks are left, so it is \
given for the period in which 80 % to 20 % of them were left, and for the whole scan.";

const EXAMPLE: &str = r"
Example, a drive whose seeks scatter by 0.15 ms, with a bus of 80 MB/s:
  diskarm scan sim:quantum-atlas-10k \
      --set mechanics.seek_scatter.form=table \
      --set 'mechanics.seek_scatter.cylinders_ms=[[1, 0.15]]' \
      --set 'bus.read_sector=0.0064 ms' --set 'bus.write_sector=0.0064 ms'";

fn file_name(text: &str) -> Result<String, &'static str> {
    let is_known = [".csv", ".svg"].iter().any(|end| {
        let name = text.to_ascii_lowercase();
        name.len() > end.len() && name.ends_with(end)
    });
    let expected = "expected a name ending in .csv or .svg";
    is_known.then(|| text.to_owned()).ok_or(expected)
}

impl Args {
    pub fn location(&self) -> SchedulerLocation {
        if self.in_firmware {
            SchedulerLocation::InFirmware
        } else {
            SchedulerLocation::Outside(self.depth)
        }
    }

    pub fn max_requests(&self) -> u64 {
        let default = match self.trace {
            Some(_) => u64::MAX,
            None => 5_000_000,
        };
        self.requests.unwrap_or(default)
    }

    pub fn settings(&self) -> BackgroundSettings {
        let conservatism = self.conservatism;
        BackgroundSettings {
            conservatism: conservatism.unwrap_or_else(|| self.location().conservatism()),
            one_per_track: !self.any_track,
            idle: self.idle,
            max_slowdown: self.max_slowdown,
        }
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

    /// With a trace, the number of requests has no default limit.
    #[test]
    fn a_scan_with_a_trace_ends_with_the_trace() {
        for (more, max) in [
            (&[][..], 5_000_000),
            (&["--trace", "long.csv"], u64::MAX),
            (&["--trace", "long.csv", "--requests", "7"], 7),
        ] {
            let words = [&["scan", "sim:hp-c2247"], more].concat();
            let line = Line::try_parse_from(words).expect("a valid command line");
            assert_eq!(line.args.max_requests(), max);
        }
    }
}
