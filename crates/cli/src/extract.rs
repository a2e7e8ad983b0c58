//! `diskarm extract`: a drive measured over SCSI.

mod checkpoint;
mod realism;
mod target;

use std::path::Path;

use diskarm_extract::suite::{self, MeasuredDrive, Options, RunError};
use diskarm_extract::{Comparison, Effort, TransportError};
use diskarm_results::extracted::{Extracted, compared};
use diskarm_simulate::Model;

use crate::error::Error;
use crate::output;
use checkpoint::Keeper;
use target::{Target, Writes};

/// Measure a drive over SCSI, and describe it as a specification
///
/// Sends commands to the drive, times them, and works out where its blocks are, how its arm moves,
/// how long commands take, and how its buffer behaves. Writes a specification that other commands
/// accept. A comment above each value says how it was found, how far off it may be, and how many
/// samples it rests on.
///
/// The findings of each measurement are kept in OUT.toml.partial until OUT.toml is written. If a
/// run is interrupted, or comes to no specification, the same command continues from there and
/// repeats what failed. Remove the file to start over.
///
/// The exit code is 1 if a measurement failed. Measurements that do not depend on it are made all
/// the same.
#[derive(clap::Args)]
#[command(override_usage = USAGE, after_long_help = EXAMPLES)]
pub struct Args {
    /// The drive: sim:NAME, sim:FILE.toml, iscsi://HOST/TARGET/LUN, or the path of a device such as
    /// /dev/sg0
    #[arg(value_name = "URL", required_unless_present = "compare", long_help = target::help())]
    url: Option<String>,

    /// Write the specification to this file, whose name becomes the name of the drive; - is
    /// standard output, and an interrupted run then starts over
    #[arg(short, long, value_name = "OUT.toml")]
    #[arg(value_parser = super::calibrate::toml_or_standard)]
    #[arg(required_unless_present = "compare")]
    output: Option<String>,

    /// Take few samples: a few minutes on most drives
    #[arg(long, conflicts_with = "thorough")]
    quick: bool,

    /// Take many samples, at more places
    #[arg(long)]
    thorough: bool,

    /// Write to the drive too: what is on it is lost at random places
    ///
    /// Without it a real drive is only read, and what takes writes to find is left out: overheads
    /// of writes, the time to settle before them, and most facts of a write cache. With it zeros
    /// are written at random places of the whole disk.
    ///
    /// SERIAL is the drive's serial number (INQUIRY, vital product data page 0x80), so that no
    /// other drive is overwritten by mistake. A drive that is in use on this machine is
    /// refused, and one whose first or last blocks hold data, such as a partition table or a file
    /// system, too.
    #[arg(long, value_name = "SERIAL", conflicts_with = "compare")]
    allow_writes: Option<String>,

    /// Write even if the drive holds data, such as a partition table or a file system
    #[arg(long, requires = "allow_writes")]
    over_content: bool,

    /// Log in to an iSCSI target with the names and secrets (CHAP) of file:PATH or env
    ///
    /// file:PATH: a file with a line "initiator NAME SECRET". With a line "target NAME SECRET" the
    /// target must prove who it is, too. The file must be its owner's alone (mode 600).
    ///
    /// env: the environment variables DISKARM_CHAP_INITIATOR and DISKARM_CHAP_TARGET, each with a
    /// name and a secret.
    #[arg(long, value_name = "WHERE", conflicts_with = "compare")]
    chap: Option<String>,

    /// Write a report to this file: one HTML page with figures of seek times, tables of zones and
    /// overheads, the facts of the buffer, and what is not known
    #[arg(long, value_name = "FILE.html", value_parser = html, conflicts_with = "compare")]
    report: Option<String>,

    /// Compare two drives value by value, instead of measuring one: names from the catalogue, or
    /// .toml files
    ///
    /// Prints the values that differ, how many blocks are at other places, and how far apart the
    /// seek curves are. Times are near that differ by up to 0.02 ms or 1 %, rotation periods by up
    /// to a millionth, and overheads whose observable sums are near. Values that a measured
    /// specification calls not determined are listed apart, and make no difference. The exit code
    /// is 1 if anything else differs.
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    #[arg(conflicts_with_all = ["url", "output", "quick", "thorough"])]
    compare: Vec<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

const USAGE: &str = "diskarm extract [OPTIONS] <URL> --output <OUT.toml>\n       \
                     diskarm extract --compare <A> <B>";

const EXAMPLES: &str = "Examples:
  diskarm extract sim:hp-c2247 -o found.toml --report found.html
  diskarm extract --compare hp-c2247 found.toml
  diskarm simulate --drive ./found.toml --random --policy sptf";

/// Seed of all that is random in the measurements.
const SEED: u64 = 1;

/// Measures or compares.
pub fn run(args: Args) -> Result<(), Error> {
    match (&args.compare[..], &args.url, &args.output) {
        ([first, second], _, _) => compare(first, second, args.json),
        (_, Some(url), Some(output)) => measure(url, output, &args),
        _ => unreachable!("the parser demands either"),
    }
}

fn compare(first: &str, second: &str, json: bool) -> Result<(), Error> {
    let found = |name| Model::find(name).map_err(|error| error.calling("--compare"));
    let (one, other) = (found(first)?, found(second)?);
    let mut open = suite::undetermined_keys(&one.text)?;
    open.extend(suite::undetermined_keys(&other.text)?);
    let comparison = Comparison::new(&one.spec, &other.spec)?;
    let compared = compared(first, second, &comparison, &open);
    match json {
        true => output::print_json(&compared)?,
        false => output::print(&compared.text())?,
    }
    match compared.is_equal() {
        true => Ok(()),
        false => Err(Error::Differ),
    }
}

fn measure(url: &str, output: &str, args: &Args) -> Result<(), Error> {
    let file = Some(output).filter(|output| *output != "-");
    file.map_or(Ok(()), super::calibrate::check_place)?;
    let target = Target::parse(url, args.chap.as_deref())?;
    let mut files = target.files();
    let mut results = output::Results::default();
    let place = results.beside(&mut files, "--output", Some(output))?;
    let path = args.report.as_deref().filter(|path| *path != "-");
    path.map_or(Ok(()), super::calibrate::check_place)?;
    let report = results.beside(&mut files, "--report", args.report.as_deref())?;
    let begun = begun(url, &target, args)?;
    let writes = writes(args);
    let mut keeper = Keeper::new(file, &mut files)?;
    let mut checkpoint = keeper.continued(begun)?;
    let identity = checkpoint.identity.clone();
    let mut connect = |seed| {
        let mut drive = target.connect(writes, seed)?;
        target.check(&mut *drive, &identity)?;
        Ok(drive)
    };
    // A drive that may not be written to is refused before anything is measured.
    connect(SEED).map_err(|broken: TransportError| Error::Drive(broken.to_string()))?;
    let ended = suite::run(&mut connect, &mut checkpoint, &mut keeper);
    ended.map_err(|stopped| failed(url, &stopped, keeper.path()))?;

    let stem = file.and_then(|file| Path::new(file).file_stem());
    let name = match stem {
        Some(stem) => stem.to_string_lossy().into_owned(),
        None => checkpoint.identity.name(),
    };
    let described = MeasuredDrive::new(&checkpoint, &name);
    let mut written: Vec<String> = path.iter().map(|path| (*path).to_owned()).collect();
    if let (Ok(described), Some(place)) = (&described, place) {
        place.write(&described.text())?;
        written.splice(..0, file.map(str::to_owned));
    }
    let extracted = Extracted {
        checkpoint: &checkpoint,
        described: &described,
        written: &written,
    };
    if let Some(target) = report {
        target.write(&extracted.html())?;
    }
    match args.json {
        true => results.print_json(&extracted.json())?,
        false => results.print(&extracted.text())?,
    }
    if described.is_ok() {
        keeper.remove();
    }
    match extracted.failed()[..] {
        [] => Ok(()),
        ref failed => Err(Error::Measurements {
            failed: failed.to_vec(),
        }),
    }
}

/// Accepts the names of HTML files, and standard output.
fn html(text: &str) -> Result<String, &'static str> {
    let is_html = text.ends_with(".html") || text == "-";
    is_html
        .then(|| text.to_owned())
        .ok_or("expected a name ending in .html")
}

/// What may be done to the data of a real drive.
fn writes(args: &Args) -> Writes {
    match (&args.allow_writes, args.over_content) {
        (None, _) => Writes::Forbidden,
        (Some(_), false) => Writes::Empty,
        (Some(_), true) => Writes::Any,
    }
}

/// A run that has measured nothing yet. Says what it will overwrite.
fn begun(url: &str, target: &Target, args: &Args) -> Result<suite::Checkpoint, Error> {
    let mut connect = |seed| target.connect(Writes::Forbidden, seed);
    let identity = suite::identity(&mut connect).map_err(|stopped| failed(url, &stopped, None))?;
    if let Some(serial) = &args.allow_writes {
        if identity.serial.is_empty() {
            let expected = "a drive that tells its serial number (INQUIRY, page 0x80)";
            return Err(Error::flag("--allow-writes", serial, expected));
        }
        if *serial != identity.serial {
            let expected = format!(
                "the serial number of {url}: vital product data page 0x80, which `sg_inq -p sn` \
                 and `lsblk -o NAME,SERIAL` show"
            );
            return Err(Error::flag("--allow-writes", serial, expected));
        }
        if !target.is_simulated() {
            output::doubt(&[format!(
                "writes zeros at random places of all {} blocks of {url} ({}, serial number \
                 {serial}): what is there is lost",
                identity.sectors.0,
                identity.name()
            )]);
        }
    }
    let options = Options {
        effort: match (args.quick, args.thorough) {
            (true, _) => Effort::Quick,
            (_, true) => Effort::Thorough,
            _ => Effort::Normal,
        },
        writes: target.is_simulated() || args.allow_writes.is_some(),
        seed: SEED,
    };
    let begun = suite::Checkpoint::new(url, identity, options);
    Ok(match target {
        Target::Simulated(model, _) => begun.simulating(&model.spec),
        Target::Real(_) | Target::Iscsi(..) => begun,
    })
}

/// The error of a run that ended early.
fn failed(url: &str, stopped: &RunError, kept: Option<&str>) -> Error {
    let kept = kept.filter(|path| Path::new(path).is_file());
    Error::Drive(match kept {
        Some(path) => {
            format!("{url}: {stopped}; {path} has what was found before: run it again to continue")
        }
        None => format!("{url}: {stopped}"),
    })
}
