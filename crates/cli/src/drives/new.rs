//! `diskarm drives new`: makes a specification from a data sheet, using options or prompts.

use std::io::{self, BufRead, IsTerminal, Write};

use clap::{Arg, Args as _, Command, FromArgMatches};
use diskarm_core::units::{Bytes, Span};
use diskarm_drives::text::{Datasheet, Sectors, parse_rate_per_s, parse_size};
use diskarm_results::prose;

use crate::args::{integer, time};
use crate::error::Error;
use crate::output;
use crate::usage;

/// Print a specification made from the values of a data sheet
///
/// Redirect it to a .toml file, which --drive accepts. Values that the data sheet lacks are
/// assumed, and marked as assumed in the file. --capacity, --rpm, --seek and --outer are required.
/// If run without options on a terminal, the command asks for each value.
#[derive(clap::Args, PartialEq)]
#[command(after_long_help = prose::wrapped(NOTES, 0) + EXAMPLE)]
pub struct Args {
    /// Capacity, such as 8TB or 640GB; a data sheet's gigabytes are 10^9 bytes
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    capacity: Option<Bytes>,

    /// Revolutions per minute
    #[arg(long, value_name = "N", value_parser = rpm)]
    rpm: Option<u32>,

    /// Mean seek time of reads, over all pairs of cylinders, such as 8.5ms
    #[arg(long, value_name = "TIME", value_parser = time)]
    seek: Option<Span>,

    /// Sustained transfer rate of the outermost tracks, such as 250MB/s
    #[arg(long, value_name = "RATE", value_parser = rate)]
    outer: Option<f64>,

    /// Sustained transfer rate of the innermost tracks [default: half of --outer]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    inner: Option<f64>,

    /// Mean seek time of writes [default: --seek plus an eighth, but at most 1 ms more]
    #[arg(long, value_name = "TIME", value_parser = time)]
    write_seek: Option<Span>,

    /// Seek time over one cylinder [default: 1 ms, or half of a --seek below 2 ms]
    #[arg(long, value_name = "TIME", value_parser = time)]
    track_to_track: Option<Span>,

    /// Seek time over all cylinders [default: twice --seek]
    #[arg(long, value_name = "TIME", value_parser = time)]
    full_stroke: Option<Span>,

    /// Size of the buffer, such as 256MB [default: 64MiB]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    cache: Option<Bytes>,

    /// Number of platters [default: the fewest with at most 450,000 tracks per surface]
    #[arg(long, value_name = "N", value_parser = integer::<u32>(1..=16))]
    platters: Option<u32>,

    /// Number of commands that the drive can queue, 1 for no queue [default: 32]
    #[arg(long, value_name = "N", value_parser = integer::<u32>(1..=4096))]
    queue: Option<u32>,

    /// Transfer rate of the interface [default: 600MB/s]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    interface: Option<f64>,

    /// Sector format: 512n (512 bytes), 512e (512 bytes emulated on 4096) or 4Kn (4096 bytes)
    /// [default: 512n up to 4TB, 512e above]
    #[arg(long, value_name = "WORD", value_parser = sectors)]
    sectors: Option<Sectors>,

    /// Name of the drive
    #[arg(long, value_name = "NAME", default_value = "new-drive")]
    name: String,
}

/// The values that have no default.
const NEEDED: [&str; 4] = ["capacity", "rpm", "seek", "outer"];

fn missing_values(args: &Args) -> String {
    let is_missing = [
        args.capacity.is_none(),
        args.rpm.is_none(),
        args.seek.is_none(),
        args.outer.is_none(),
    ];
    let missing = NEEDED
        .iter()
        .zip(is_missing)
        .filter(|(_, is_missing)| *is_missing);
    let missing: Vec<String> = missing.map(|(name, _)| format!("--{name}")).collect();
    format!(
        "give {} from the data sheet, such as --capacity 8TB --rpm 7200 --seek 8.5ms --outer \
         250MB/s: required values have no default",
        missing.join(", ")
    )
}

const NOTES: &str = "\
Capacities of whole gigabytes from 50GB to 8TB have the sector counts that manufacturers agreed \
on (IDEMA LBA1-03): 4TB has 7,814,037,168 sectors. The number of sectors per track is chosen so \
that sequential reads have the rates of the data sheet at both ends of the disk.";

const EXAMPLE: &str = r"
Example:
  diskarm drives new --capacity 8TB --rpm 7200 --seek 8.5ms --outer 250MB/s \
      --inner 110MB/s --cache 256MB > mine.toml";

pub fn run(args: Args) -> Result<(), Error> {
    let args = if should_ask(&args) { ask()? } else { args };
    let needed = (args.capacity, args.rpm, args.seek, args.outer);
    let (Some(capacity), Some(rpm), Some(seek), Some(outer_per_s)) = needed else {
        return Err(Error::Failed(missing_values(&args)));
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
    let (text, _) = datasheet.specification().map_err(|error| {
        let flag = format!("--{}", error.field.replace('_', "-"));
        error.named(&flag)
    })?;
    output::print(&text)
}

/// Parses revolutions per minute, with or without the unit.
fn rpm(text: &str) -> Result<u32, String> {
    let number = text.trim_end().strip_suffix("rpm").unwrap_or(text);
    integer::<u32>(300..=60_000)(number.trim())
}

fn bytes(text: &str) -> Result<Bytes, String> {
    parse_size(text).map_err(|expected| format!("expected {expected}"))
}

fn rate(text: &str) -> Result<f64, String> {
    parse_rate_per_s(text).map_err(|expected| format!("expected {expected}"))
}

fn sectors(text: &str) -> Result<Sectors, String> {
    Sectors::from_name(text.trim()).ok_or_else(|| "expected 512n, 512e or 4Kn".to_owned())
}

/// Returns true if no option is given and standard input is a terminal.
fn should_ask(args: &Args) -> bool {
    io::stdin().is_terminal() && read(form(), Vec::new()).is_ok_and(|defaults| *args == defaults)
}

/// Asks for each value on standard error, so that the specification can be redirected.
fn ask() -> Result<Args, Error> {
    let form = form();
    eprintln!("Enter the values of the data sheet. An empty line keeps the default.\n");
    let mut words = Vec::new();
    for field in form.get_arguments() {
        words.extend(answer(field)?);
    }
    read(form, words)
}

fn form() -> Command {
    Args::augment_args(Command::new("diskarm drives new").no_binary_name(true))
}

fn read(form: Command, words: Vec<String>) -> Result<Args, Error> {
    let answers = form.try_get_matches_from(words);
    answers
        .and_then(|answers| Args::from_arg_matches(&answers))
        .map_err(usage_error)
}

/// Asks for a value until it is valid; returns it as an option, or `None` for the default.
fn answer(field: &Arg) -> Result<Option<String>, Error> {
    let name = field.get_long().unwrap_or_default();
    let is_needed = NEEDED.contains(&name);
    let prompt = prompt(field);
    loop {
        eprint!("{prompt}: ");
        io::stderr().flush().ok();
        let mut line = String::new();
        let length = io::stdin().lock().read_line(&mut line);
        let length = length.map_err(Error::io("read", "standard input"))?;
        let line = line.trim();
        match (line.is_empty(), is_needed) {
            (true, false) => return Ok(None),
            (true, true) if length == 0 => {
                return Err(Error::Failed(format!("the input ended before --{name}")));
            }
            (true, true) => continue,
            (false, _) => {}
        }
        let word = format!("--{name}={line}");
        let alone = Command::new("").no_binary_name(true).arg(field.clone());
        match alone.try_get_matches_from([&word]) {
            Ok(_) => return Ok(Some(word)),
            Err(error) => eprintln!("{}", usage_error(error)),
        }
    }
}

/// Returns the description of a value, with its default in brackets.
fn prompt(field: &Arg) -> String {
    let about = field
        .get_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    match field.get_default_values() {
        [default] => format!("{about} [default: {}]", default.display()),
        _ => about,
    }
}

fn usage_error(error: clap::Error) -> Error {
    match usage::report(&form(), error) {
        Err(error) => error,
        Ok(()) => unreachable!("an answer cannot be --help"),
    }
}
