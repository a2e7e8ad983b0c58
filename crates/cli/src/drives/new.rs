//! `diskarm drives new`: a specification from a data sheet.

use diskarm_core::text::quantity;
use diskarm_core::units::{Bytes, Span};
use diskarm_results::prose;
use diskarm_rewrite::Datasheet;

use crate::error::Error;
use crate::output;
use crate::simulate::args::{time, whole};

/// Print a specification made from the figures of a data sheet
///
/// Redirect it to a .toml file, which --drive takes. What the data sheet does not say is assumed,
/// and marked as assumed in the file.
#[derive(clap::Args)]
#[command(after_long_help = prose::wrapped(MORE, 0))]
pub struct Args {
    /// Capacity, such as 8TB or 640GB; a data sheet's gigabytes are 10^9 bytes
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    capacity: Bytes,

    /// Revolutions per minute
    #[arg(long, value_name = "N", value_parser = rpm)]
    rpm: u32,

    /// Mean time of a seek before a read, such as 8.5ms
    #[arg(long, value_name = "TIME", value_parser = time)]
    seek: Span,

    /// Sustained transfer rate of the outermost tracks, such as 250MB/s
    #[arg(long, value_name = "RATE", value_parser = rate)]
    outer: f64,

    /// The same of the innermost [default: half of that]
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

    /// Name of the drive
    #[arg(long, value_name = "NAME", default_value = "new-drive")]
    name: String,
}

const MORE: &str = "\
Capacities of whole gigabytes from 50GB to 8TB have the sectors that makers have agreed on (IDEMA \
LBA1-03): 4TB has 7,814,037,168. The sectors of a track are such that reading in sequence has the \
rates of the data sheet at both ends of the disk.

Example:

- diskarm drives new --capacity 8TB --rpm 7200 --seek 8.5ms --outer 250MB/s --inner 110MB/s \
--cache 256MB > mine.toml";

/// Prints the specification.
pub fn run(args: Args) -> Result<(), Error> {
    let datasheet = Datasheet {
        name: args.name,
        capacity: args.capacity,
        rpm: args.rpm,
        seek: args.seek,
        write_seek: args.write_seek,
        track_to_track: args.track_to_track,
        full_stroke: args.full_stroke,
        outer_per_s: args.outer,
        inner_per_s: args.inner,
        cache: args.cache,
        platters: args.platters,
        queue: args.queue,
        interface_per_s: args.interface,
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

/// Bytes, in powers of 1000 or of 1024.
fn bytes(text: &str) -> Result<Bytes, &'static str> {
    let bytes = scaled(text).map(|bytes| bytes.round());
    let bytes = bytes.filter(|bytes| (1.0..1e18).contains(bytes));
    let expected = "expected a size from 1 B to a million TB, such as \"8TB\" or \"64MiB\"";
    bytes.map(|bytes| Bytes(bytes as u64)).ok_or(expected)
}

/// Bytes per second.
fn rate(text: &str) -> Result<f64, &'static str> {
    let rate = text.trim_end().strip_suffix("/s").and_then(scaled);
    let rate = rate.filter(|rate| (1e3..1e12).contains(rate));
    rate.ok_or("expected a rate from 1 kB/s to a million MB/s, such as \"250MB/s\"")
}

/// A number of bytes with its unit.
fn scaled(text: &str) -> Option<f64> {
    let text = text.trim();
    let (prefix, base) = match text.strip_suffix("iB") {
        Some(rest) => (rest, 1024.0),
        None => (text.strip_suffix('B')?, 1000.0),
    };
    let place = |letter| ["k", "M", "G", "T"].iter().position(|unit| *unit == letter);
    let at = prefix.len()
        - prefix
            .chars()
            .last()
            .filter(char::is_ascii_alphabetic)?
            .len_utf8();
    let (number, letter) = prefix.split_at(at);
    let letter = if letter == "K" { "k" } else { letter };
    let power = place(letter)? as i32 + 1;
    let number = quantity::count(number.trim()).map(|n| n as f64);
    let number = number.or_else(|| plain(prefix[..at].trim()));
    number.map(|number| number * f64::powi(base, power))
}

/// A decimal number without an exponent.
fn plain(text: &str) -> Option<f64> {
    let is_plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|_| is_plain)
}
