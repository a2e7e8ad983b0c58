//! `diskarm extract`: measures a drive over SCSI.

mod target;

use std::path::Path;
use std::process::exit;
use std::{fs, io};

use diskarm_extract::suite::{
    self, Checkpoint, MEASUREMENTS, MeasuredDrive, Observer, Options, Outcome, Progress, RunError,
};
use diskarm_extract::{Comparison, Effort, TransportError};
use diskarm_results::extracted::{ComparisonReport, ExtractionReport};
use diskarm_results::output_file::{Files, OutputFile};
use diskarm_simulate::Model;
use target::{Target, Writes};

use crate::args;
use crate::error::{Error, INTERRUPTED};
use crate::{output, progress};

/// Measure a drive over SCSI, and write its specification
///
/// Sends commands to the drive, times them, and determines its layout, seek times, command
/// overheads and buffer. Writes a specification that other commands accept. A comment above each
/// value gives its method, its uncertainty and the number of samples.
///
/// The results of each measurement are kept in OUT.toml.partial until OUT.toml is written. If a run
/// is interrupted or yields no specification, the same command continues from there and repeats
/// failed measurements. Remove the file to start over.
///
/// The exit code is 1 if a measurement failed. Measurements that do not depend on it still run.
#[derive(clap::Args)]
#[command(override_usage = USAGE, after_long_help = EXAMPLES)]
pub struct Args {
    /// The drive: sim:NAME, sim:FILE.toml, iscsi://HOST/TARGET/LUN, or the path of a device such as
    /// /dev/sg0
    #[arg(value_name = "URL", long_help = target::help())]
    url: Option<String>,

    /// Write the specification to this file, whose name becomes the name of the drive; with - it
    /// goes to standard output, but an interrupted run cannot then be continued
    #[arg(short, long, value_name = "OUT.toml")]
    #[arg(value_parser = crate::args::toml_or_standard)]
    output: Option<String>,

    /// Take few samples: a few minutes on most drives
    #[arg(long)]
    quick: bool,

    /// Take many samples, at more positions
    #[arg(long)]
    thorough: bool,

    /// Also write to the drive, which destroys data at random positions
    ///
    /// Without this option, a real drive is only read, and measurements that need writes are left
    /// out: write overheads, write settle time, and most properties of a write cache. With it,
    /// zeros are written at random positions on the whole disk.
    ///
    /// SERIAL must be the drive's serial number (INQUIRY, vital product data page 0x80), so that no
    /// other drive is overwritten by mistake. A drive is refused if it is in use on this machine,
    /// or if its first or last blocks hold data, such as a partition table or a file system.
    #[arg(long, value_name = "SERIAL")]
    allow_writes: Option<String>,

    /// Write even if the drive holds data, such as a partition table or a file system
    #[arg(long, alias = "over-content")]
    overwrite_data: bool,

    /// Log in to an iSCSI target with the CHAP names and secrets from file:PATH or env
    ///
    /// file:PATH: a file with a line "initiator NAME SECRET". With a line "target NAME SECRET" the
    /// target must prove its identity too. Only the file's owner may have access to it (mode 600).
    ///
    /// env: the environment variables DISKARM_CHAP_INITIATOR and DISKARM_CHAP_TARGET, each with a
    /// name and a secret.
    #[arg(long, value_name = "WHERE")]
    chap: Option<String>,

    /// Write a report to this file: one HTML page with charts of seek times, tables of zones,
    /// overheads and buffer, and a list of what is unknown
    #[arg(long, value_name = "FILE.html", value_parser = html)]
    report: Option<String>,

    /// Compare two drives value by value, instead of measuring one: names from the catalogue, or
    /// .toml files
    ///
    /// Prints the values that differ, the number of blocks at different positions, and the distance
    /// between the seek curves. Times that differ by less than 0.02 ms or 1 % count as equal, as do
    /// rotation periods that differ by less than a millionth, and overheads whose observable sums
    /// are equal. Values that a measured specification lists as not determined are shown separately
    /// and ignored. The exit code is 1 if anything else differs.
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
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

const SEED: u64 = 1;

pub fn run(args: Args) -> Result<(), Error> {
    match (&args.compare[..], &args.url, &args.output) {
        ([first, second], _, _) => compare(first, second, args.json),
        (_, Some(url), Some(output)) => measure(url, output, &args),
        _ => unreachable!("`rules` requires `--compare`, or a URL and an output"),
    }
}

fn compare(first: &str, second: &str, json: bool) -> Result<(), Error> {
    let find = |name| Model::find(name).map_err(|error| error.with_field("--compare"));
    let (one, other) = (find(first)?, find(second)?);
    let mut undetermined = suite::undetermined_keys(&one.text)?;
    undetermined.extend(suite::undetermined_keys(&other.text)?);
    let comparison = Comparison::new(&one.spec, &other.spec)?;
    let compared = ComparisonReport::new(first, second, &comparison, &undetermined);
    output::print_as(json, &compared, || compared.text())?;
    if compared.is_equal {
        Ok(())
    } else {
        Err(Error::differ())
    }
}

fn measure(url: &str, output: &str, args: &Args) -> Result<(), Error> {
    let file = Some(output).filter(|output| *output != "-");
    file.map_or(Ok(()), output::check_writable)?;
    let target = Target::parse(url, args.chap.as_deref())?;
    let mut files = args::with_secrets(target.files(), args.chap.as_deref());
    let mut results = output::Results::default();
    let specification = results.output_file(&mut files, "--output", Some(output))?;
    let path = args.report.as_deref().filter(|path| *path != "-");
    path.map_or(Ok(()), output::check_writable)?;
    let report = results.output_file(&mut files, "--report", args.report.as_deref())?;
    let fresh = fresh_checkpoint(url, &target, args)?;
    let writes = match (&args.allow_writes, args.overwrite_data) {
        (None, _) => Writes::Forbidden,
        (Some(_), false) => Writes::Empty,
        (Some(_), true) => Writes::Any,
    };
    let mut writer = CheckpointWriter::new(file, &mut files)?;
    let mut checkpoint = writer.load_or(fresh)?;
    let identity = checkpoint.identity.clone();
    let mut connect = |seed| {
        let mut drive = target.connect(writes, seed)?;
        target.check(&mut *drive, &identity)?;
        Ok(drive)
    };
    // A drive that must not be written to is refused before anything is measured.
    connect(SEED).map_err(|error: TransportError| Error::Failed(error.to_string()))?;
    let outcome = suite::run(&mut connect, &mut checkpoint, &mut writer);
    outcome.map_err(|error| run_error(url, &error, writer.path()))?;

    let stem = file.and_then(|file| Path::new(file).file_stem());
    let name = match stem {
        Some(stem) => stem.to_string_lossy().into_owned(),
        None => checkpoint.identity.name(),
    };
    let described = MeasuredDrive::new(&checkpoint, &name);
    let mut written: Vec<String> = path.iter().map(|path| (*path).to_owned()).collect();
    if let (Ok(described), Some(target)) = (&described, specification) {
        target.write(&described.text())?;
        written.splice(..0, file.map(str::to_owned));
    }
    let extracted = ExtractionReport {
        checkpoint: &checkpoint,
        described: &described,
        written: &written,
    };
    if let Some(target) = report {
        target.write(&extracted.html())?;
    }
    results.print_as(args.json, &extracted.json(), || extracted.text())?;
    if described.is_ok() {
        writer.remove();
    }
    Err(Error::BadResult(match &extracted.failed()[..] {
        [] => return Ok(()),
        [one] => format!("a measurement failed: {one}"),
        all => format!("{} measurements failed: {}", all.len(), all.join(", ")),
    }))
}

/// Accepts names of HTML files, and `-` for standard output.
fn html(text: &str) -> Result<String, &'static str> {
    let is_html = text.ends_with(".html") || text == "-";
    let expected = "expected a name ending in .html";
    is_html.then(|| text.to_owned()).ok_or(expected)
}

/// Returns the checkpoint of a new run. Warns if data will be overwritten.
fn fresh_checkpoint(url: &str, target: &Target, args: &Args) -> Result<suite::Checkpoint, Error> {
    let mut connect = |seed| target.connect(Writes::Forbidden, seed);
    let identity = suite::identity(&mut connect).map_err(|error| run_error(url, &error, None))?;
    if let Some(serial) = &args.allow_writes {
        if identity.serial.is_empty() {
            return Err(Error::Failed(format!(
                "`--allow-writes` needs a drive that reports its serial number (INQUIRY, page \
                 0x80): {url} does not"
            )));
        }
        if *serial != identity.serial {
            let expected = format!(
                "the serial number of {url}: vital product data page 0x80, which `sg_inq -p sn` \
                 and `lsblk -o NAME,SERIAL` show"
            );
            return Err(Error::option("--allow-writes", serial, expected));
        }
        if !target.is_simulated() {
            output::print_warnings(&[format!(
                "zeros will be written at random positions among all {} blocks of {url} ({}, \
                 serial number {serial}), and the data there will be lost",
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
    let checkpoint = suite::Checkpoint::new(url, identity, options);
    Ok(match target {
        Target::Simulated(model, _) => checkpoint.simulating(&model.spec),
        Target::Real(_) | Target::Iscsi(..) => checkpoint,
    })
}

fn run_error(url: &str, error: &RunError, checkpoint: Option<&str>) -> Error {
    let mut message = format!("{url}: {error}");
    if let Some(path) = checkpoint.filter(|path| Path::new(path).is_file()) {
        message +=
            &format!("; results so far are in {path}: run the same command again to continue");
    }
    Error::Failed(message)
}

/// Writes the checkpoint and shows the progress of a run.
pub struct CheckpointWriter {
    /// The path and the file; `None` if the output is not a file and no checkpoint is kept.
    file: Option<(String, OutputFile)>,
    bar: progress::StepProgress,
}

impl CheckpointWriter {
    pub fn new(output: Option<&str>, files: &mut Files) -> Result<Self, Error> {
        let file = output.map(|output| {
            let path = format!("{output}.partial");
            let file = files.output("--output", &path)?;
            Ok::<_, Error>((path, file))
        });
        let file = file.transpose()?;
        if let Some((path, _)) = &file {
            report_on_interrupt(path.clone());
        }
        Ok(Self {
            file,
            bar: progress::StepProgress::new(MEASUREMENTS.len() as u64),
        })
    }

    pub fn path(&self) -> Option<&str> {
        self.file.as_ref().map(|(path, _)| path.as_str())
    }

    /// Reads the checkpoint without its failed measurements, or returns `fresh` if there is none.
    pub fn load_or(&self, fresh: Checkpoint) -> Result<Checkpoint, Error> {
        let Some(path) = self.path() else {
            return Ok(fresh);
        };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(fresh),
            Err(source) => return Err(Error::io("read", path)(source)),
        };
        let kept = Checkpoint::parse(&text).and_then(|kept| kept.check(&fresh).map(|()| kept));
        let mut kept = kept.map_err(|why| {
            Error::Failed(format!("{path}: {why}; remove the file to start over"))
        })?;
        kept.records
            .retain(|record| record.outcome == Outcome::Done);
        Ok(kept)
    }

    pub fn remove(self) {
        // A leftover checkpoint does no harm, because it records that the run has finished.
        let _ = self.path().map(fs::remove_file);
    }
}

/// Makes Ctrl-C print how to continue the run from the checkpoint at `path`, if it exists. Ending
/// the program immediately is safe, because checkpoints are replaced atomically.
fn report_on_interrupt(path: String) {
    // Without a handler, Ctrl-C still ends the program.
    let _ = ctrlc::set_handler(move || {
        if fs::exists(&path).unwrap_or(false) {
            eprintln!(
                "\nstopped: results so far are in {path}; run the same command again to continue"
            );
        }
        exit(INTERRUPTED.into());
    });
}

impl Observer for CheckpointWriter {
    fn progressed(&mut self, progress: &Progress) {
        let cost = progress.cost;
        self.bar.set(progress.done as u64, || {
            format!(
                "{}  {} commands, {:.0} s on the drive, {:.0} s left",
                progress.measurement.name,
                cost.commands,
                cost.time.as_s(),
                progress.left.as_s()
            )
        });
    }

    fn save(&mut self, checkpoint: &Checkpoint) -> Result<(), String> {
        let Some((_, file)) = &self.file else {
            return Ok(());
        };
        let written = file.clone().write(checkpoint.text().as_bytes());
        written.map_err(|error| error.to_string())
    }
}
