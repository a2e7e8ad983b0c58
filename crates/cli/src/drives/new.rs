//! `diskarm drives new`: a specification from a data sheet.

mod asking;

use diskarm_core::units::{Bytes, Span};
use diskarm_drives::text::{Datasheet, Sectors, figure};
use diskarm_results::prose;

use crate::error::Error;
use crate::output;
use crate::simulate::args::{time, whole};

/// Print a specification made from the figures of a data sheet
///
/// Redirect it to a .toml file, which --drive takes. What the data sheet does not say is assumed,
/// and marked as assumed in the file. --capacity, --rpm, --seek and --outer are needed. Without
/// options, on a terminal, it asks for each figure.
#[derive(clap::Args, PartialEq)]
#[command(after_long_help = prose::wrapped(MORE, 0) + EXAMPLE)]
pub struct Args {
    /// Capacity, such as 8TB or 640GB; a data sheet's gigabytes are 10^9 bytes
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    capacity: Option<Bytes>,

    /// Revolutions per minute
    #[arg(long, value_name = "N", value_parser = rpm)]
    rpm: Option<u32>,

    /// Mean time of a seek before a read, over all pairs of cylinders, such as 8.5ms
    #[arg(long, value_name = "TIME", value_parser = time)]
    seek: Option<Span>,

    /// Sustained transfer rate of the outermost tracks, such as 250MB/s
    #[arg(long, value_name = "RATE", value_parser = rate)]
    outer: Option<f64>,

    /// Sustained transfer rate of the innermost tracks [default: half of --outer]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    inner: Option<f64>,

    /// Mean time of a seek before a write [default: an eighth longer, by at most 1 ms]
    #[arg(long, value_name = "TIME", value_parser = time)]
    write_seek: Option<Span>,

    /// Time of a seek over one cylinder [default: 1 ms, or half of a --seek below 2 ms]
    #[arg(long, value_name = "TIME", value_parser = time)]
    track_to_track: Option<Span>,

    /// Time of a seek over all cylinders [default: twice --seek]
    #[arg(long, value_name = "TIME", value_parser = time)]
    full_stroke: Option<Span>,

    /// Size of the buffer, such as 256MB [default: 64MiB]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    cache: Option<Bytes>,

    /// Platters, with two surfaces each [default: as few as have at most 450,000 tracks a surface]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=16))]
    platters: Option<u32>,

    /// Commands that can be queued, 1 for none [default: 32]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=4096))]
    queue: Option<u32>,

    /// Transfer rate of the interface [default: 600MB/s]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    interface: Option<f64>,

    /// Sectors of 512 bytes, 512 emulated on 4096, or 4096 bytes: 512n, 512e or 4Kn [default: 512n
    /// up to 4TB, 512e above]
    #[arg(long, value_name = "WORD", value_parser = sectors)]
    sectors: Option<Sectors>,

    /// Name of the drive
    #[arg(long, value_name = "NAME", default_value = "new-drive")]
    name: String,
}

/// The figures without a default.
const NEEDED: [&str; 4] = ["capacity", "rpm", "seek", "outer"];

/// What to say of those that are missing.
fn missing(args: &Args) -> String {
    let is_given = [
        args.capacity.is_some(),
        args.rpm.is_some(),
        args.seek.is_some(),
        args.outer.is_some(),
    ];
    let missing = NEEDED
        .iter()
        .zip(is_given)
        .filter(|(_, is_given)| !is_given);
    let missing: Vec<String> = missing.map(|(name, _)| format!("--{name}")).collect();
    format!(
        "{}: found nothing, expected a figure of the data sheet for each, as none can be assumed; \
         such as --capacity 8TB --rpm 7200 --seek 8.5ms --outer 250MB/s",
        missing.join(", ")
    )
}

const MORE: &str = "\
Capacities of whole gigabytes from 50GB to 8TB have the sectors that makers have agreed on (IDEMA \
LBA1-03): 4TB has 7,814,037,168. The sectors of a track are such that reading in sequence has the \
rates of the data sheet at both ends of the disk.";

const EXAMPLE: &str = r"
Example:
  diskarm drives new --capacity 8TB --rpm 7200 --seek 8.5ms --outer 250MB/s \
      --inner 110MB/s --cache 256MB > mine.toml";

/// Prints the specification.
pub fn run(args: Args) -> Result<(), Error> {
    let args = match asking::is_wanted(&args) {
        true => asking::ask()?,
        false => args,
    };
    let needed = (args.capacity, args.rpm, args.seek, args.outer);
    let (Some(capacity), Some(rpm), Some(seek), Some(outer_per_s)) = needed else {
        return Err(Error::Usage(missing(&args)));
    };
    let datasheet = Datasheet {
        name: args.name,
        capacity,
        rpm,
        seek,
        write_seek: args.write_seek,
        track_to_track: args.track_to_track,
        full_stroke: args.full_stroke,
        outer_per_s,
        inner_per_s: args.inner,
        cache: args.cache,
        platters: args.platters,
        queue: args.queue,
        interface_per_s: args.interface,
        sectors: args.sectors,
    };
    let specification = datasheet.specification();
    let (text, _) = specification.map_err(|error| {
        let flag = format!("--{}", error.field.replace('_', "-"));
        error.named(&flag)
    })?;
    output::print(&text)
}

/// Revolutions per minute, with their unit or without.
fn rpm(text: &str) -> Result<u32, String> {
    let number = text.trim_end().strip_suffix("rpm").unwrap_or(text);
    whole::<u32>(300..=60_000)(number.trim())
}

/// A size.
fn bytes(text: &str) -> Result<Bytes, String> {
    figure::bytes(text).map_err(|expected| format!("expected {expected}"))
}

/// Bytes per second.
fn rate(text: &str) -> Result<f64, String> {
    figure::per_s(text).map_err(|expected| format!("expected {expected}"))
}

/// Sizes of sectors.
fn sectors(text: &str) -> Result<Sectors, String> {
    Sectors::of(text.trim()).ok_or_else(|| "expected 512n, 512e or 4Kn".to_owned())
}
