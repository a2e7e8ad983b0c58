//! `diskarm trace`: summarises, prints and converts traces. Defines the options that all commands
//! reading traces share.

mod convert;
mod head;
mod info;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser};
use diskarm_core::text::quantity;
use diskarm_core::units::{Bytes, Instant, SectorCount};
use diskarm_simulate::TraceReplay;
use diskarm_trace::adapt::{Disks, Factor, Notes, parse_instant};
use diskarm_trace::{
    ArrivalEvent, FORMATS, OnError, Reader, TraceError, disabled_formats, writable,
};

use crate::error::Error;

/// Inspect and convert block traces
///
/// The format and the compression (gzip, zstd, xz, bzip2) are detected from the content. If a trace
/// consists of several files, one per processor (blktrace), naming one opens all.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Info(info::Args),
    Head(head::Args),
    Convert(convert::Args),
}

pub fn run(args: Args) -> Result<(), Error> {
    match args.command {
        Command::Info(args) => info::run(args),
        Command::Head(args) => head::run(args),
        Command::Convert(args) => convert::run(args),
    }
}

/// A trace, and how to read it.
#[derive(clap::Args)]
pub struct Input {
    /// The trace; - for standard input
    #[arg(value_name = "FILE")]
    pub file: String,

    #[command(flatten)]
    reading: Reading,
}

#[derive(clap::Args, Clone, Debug)]
pub struct Reading {
    /// Format of the trace, if it cannot be detected
    #[arg(long, value_parser = formats())]
    format: Option<String>,

    /// On an invalid row: stop, or skip it and count it by reason
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = InvalidRow::Stop)]
    on_error: InvalidRow,

    /// The event that counts as the arrival in traces of the Linux block layer (blktrace,
    /// blkparse): issue to the device, or queueing
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ArrivalChoice::Issue)]
    arrival: ArrivalChoice,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum InvalidRow {
    Stop,
    Skip,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ArrivalChoice {
    Issue,
    Queue,
}

impl Input {
    pub fn open(&self) -> Result<Reader, TraceError> {
        self.reading.to_library().open(&self.file)
    }
}

impl Reading {
    pub fn to_library(&self) -> diskarm_simulate::ReadOptions {
        diskarm_simulate::ReadOptions {
            format: self.format.clone(),
            on_error: match self.on_error {
                InvalidRow::Stop => OnError::Stop,
                InvalidRow::Skip => OnError::Skip,
            },
            arrival: match self.arrival {
                ArrivalChoice::Issue => ArrivalEvent::Issue,
                ArrivalChoice::Queue => ArrivalEvent::Queue,
            },
        }
    }
}

fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(FORMATS.iter().map(format_value).chain(missing_formats()))
}

/// Returns the formats that can be written, as values of an option.
pub fn writable_formats() -> PossibleValuesParser {
    let formats = writable().map(|(entry, _)| format_value(entry));
    PossibleValuesParser::new(formats.chain(missing_formats()))
}

fn format_value(entry: &diskarm_trace::FormatEntry) -> PossibleValue {
    PossibleValue::new(entry.info.name).help(entry.info.summary)
}

/// Returns the formats that this build lacks, as hidden values; the library says how to get them.
fn missing_formats() -> impl Iterator<Item = PossibleValue> {
    let names = disabled_formats().iter().map(|format| format.name);
    names.map(|name| PossibleValue::new(name).hide(true))
}

/// Changes to a trace before it is written.
#[derive(clap::Args)]
pub struct Adapt {
    #[command(flatten)]
    part: TracePart,

    /// Renumber the devices from 0, in order of first appearance
    #[arg(long)]
    renumber: bool,

    /// Size of the target disk, in sectors of 512 bytes, KiB, MiB or GiB
    #[arg(long, alias = "room", value_name = "SIZE", value_parser = size)]
    target_size: Option<SectorCount>,

    #[command(flatten)]
    fitting: Fitting,
}

/// The requests that are used, and their pace.
#[derive(clap::Args)]
pub struct TracePart {
    /// Keep only the requests of this device; list several as 0,2 or repeat the flag
    #[arg(long, value_name = "N", value_delimiter = ',')]
    device: Vec<u32>,

    /// Keep requests that arrive at this time (ns, us, ms, s, min or h) or later; it becomes time 0
    #[arg(long, value_name = "TIME", value_parser = instant, allow_hyphen_values = true)]
    from: Option<Instant>,

    /// Keep requests that arrive before this time
    #[arg(long, value_name = "TIME", value_parser = instant, allow_hyphen_values = true)]
    until: Option<Instant>,

    /// Divide the times between requests by FACTOR: 2 doubles the rate, 0.5 halves it
    #[arg(long, value_name = "FACTOR", value_parser = factor, allow_hyphen_values = true)]
    faster: Option<Factor>,
}

/// The mapping of blocks to the disk.
#[derive(clap::Args)]
pub struct Fitting {
    /// Mapping of blocks if the traced disk and the target disk differ in size
    #[arg(long, value_name = "HOW", value_enum, default_value_t = BlockMapping::Refuse)]
    fit: BlockMapping,

    /// Number of disks over which --fit spread distributes each device
    #[arg(long, value_name = "N", required_if_eq("fit", "spread"))]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    disks: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BlockMapping {
    /// A request beyond the end ends the run
    Refuse,
    /// Scale block numbers so that the last block of the trace becomes the last block of the disk
    /// (reads the trace twice)
    Scale,
    /// Blocks beyond the end wrap around to block 0
    Fold,
    /// Blocks beyond the end continue at block 0 of the next of --disks disks
    Spread,
}

fn instant(text: &str) -> Result<Instant, &'static str> {
    parse_instant(text).ok_or("expected a time with its unit, such as \"90 s\" or \"1.5 h\"")
}

fn factor(text: &str) -> Result<Factor, &'static str> {
    Factor::parse(text).ok_or("expected a number above 0 with at most nine decimals, such as 1.5")
}

fn size(text: &str) -> Result<SectorCount, &'static str> {
    const BLOCK: Bytes = Bytes(512);
    let size = quantity::sectors(text, BLOCK).filter(|size| size.0 > 0);
    size.ok_or("expected a size with its unit, such as \"2054864 sectors\" or \"1 GiB\"")
}

impl Adapt {
    /// Opens the trace of `input` with the requested changes.
    ///
    /// # Errors
    /// If a size is missing, or the trace is invalid at or before its first record (with `scale`,
    /// anywhere).
    pub fn open(&self, input: &Input) -> Result<Box<dyn Notes>, Error> {
        let part = self.part.to_library()?;
        let adapted = || -> Result<Box<dyn Notes>, TraceError> {
            let devices = part.devices(input.open()?);
            let paced = part.pace(part.window(devices));
            Ok(if self.renumber {
                Box::new(Disks::new(paced))
            } else {
                paced
            })
        };
        match (self.target_size, self.fitting.to_library()?) {
            (Some(size), fitting) => Ok(fitting.fit(size, &input.file, adapted)?),
            (None, diskarm_simulate::Fitting::Refuse) => Ok(adapted()?),
            (None, _) => {
                let expected = "the size of the disk, for --fit";
                Err(Error::option("--target-size", "", expected))
            }
        }
    }
}

/// The options of a command that replays traces.
#[derive(clap::Args)]
pub struct TraceOptions {
    #[command(flatten)]
    part: TracePart,

    #[command(flatten)]
    fitting: Fitting,

    #[command(flatten)]
    reading: Reading,
}

impl TraceOptions {
    /// Returns the replay of `files` with these options, by default at the traced times.
    pub fn replay(&self, files: &[String]) -> Result<TraceReplay, Error> {
        Ok(TraceReplay {
            reading: self.reading.to_library(),
            selection: self.part.to_library()?,
            fitting: self.fitting.to_library()?,
            ..TraceReplay::new(files.to_vec())
        })
    }
}

impl TracePart {
    pub fn to_library(&self) -> Result<diskarm_simulate::TraceSelection, Error> {
        if let (Some(from), Some(until)) = (self.from, self.until)
            && until <= from
        {
            let expected = format!("a time after that of --from, {} s", from.as_s());
            let found = format!("{} s", until.as_s());
            return Err(Error::option("--until", found, expected));
        }
        Ok(diskarm_simulate::TraceSelection {
            devices: self.device.clone(),
            from: self.from,
            until: self.until,
            faster: self.faster,
        })
    }
}

impl Fitting {
    pub fn to_library(&self) -> Result<diskarm_simulate::Fitting, Error> {
        if self.disks.is_some() && self.fit != BlockMapping::Spread {
            return Err(Error::Failed("`--disks` needs `--fit spread`".to_owned()));
        }
        Ok(match self.fit {
            BlockMapping::Refuse => diskarm_simulate::Fitting::Refuse,
            BlockMapping::Scale => diskarm_simulate::Fitting::Scale,
            BlockMapping::Fold => diskarm_simulate::Fitting::Fold,
            // Clap ensures that the number is given.
            BlockMapping::Spread => diskarm_simulate::Fitting::Spread(self.disks.unwrap_or(1)),
        })
    }
}
