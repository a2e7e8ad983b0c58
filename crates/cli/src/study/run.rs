//! `diskarm study run`, `check` and `report`, and the options that select studies.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio, exit};
use std::slice;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use diskarm_core::text::with_noun;
use diskarm_results::output_file::Files;
use diskarm_results::prose;
use diskarm_study::{
    CellInput, Count, Folder, JudgedClaim, Judgement, Results, Runner, Store, Study, StudyError,
    StudyOptions, Verdict, studies,
};
use serde_json::json;

use crate::args::integer;
use crate::error::{Error, INTERRUPTED};
use crate::output;
use crate::output::{Look, on_output};
use crate::progress::Progress;

#[derive(clap::Args)]
pub struct Run {
    /// A built-in study, or a file that ends in .toml
    #[arg(value_name = "NAME|FILE")]
    study: String,

    /// Open the report in a browser
    #[arg(long)]
    open: bool,

    #[command(flatten)]
    selection: Selection,
}

#[derive(clap::Args)]
pub struct Check {
    /// Built-in studies, or files that end in .toml
    #[arg(value_name = "NAME|FILE")]
    studies: Vec<String>,

    /// All built-in studies, except those that need --trace (if it is not given) and those whose
    /// trace is missing from the repository
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    selection: Selection,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub struct Report {
    /// A built-in study, or a file that ends in .toml
    #[arg(value_name = "NAME|FILE")]
    study: String,

    #[command(flatten)]
    selection: Selection,
}

pub fn run(args: &Run) -> Result<(), Error> {
    let study = args.selection.study(&args.study)?;
    let runner = Runner::new(&study)?;
    let inputs = slice::from_ref(&args.study);
    let folder = folder(&runner, &study, &args.selection, inputs)?;
    let (results, _store) = simulate(&runner, &study, &folder, &args.selection)?;
    write_results(&study, &results, &folder)?;
    if args.open {
        open_page(&folder.path().join("report.html"));
    }
    Ok(())
}

pub fn report(args: &Report) -> Result<(), Error> {
    let study = args.selection.study(&args.study)?;
    let path = args.selection.folder(&study);
    let missing = |what| {
        let path = path.display();
        Error::Failed(format!("{path} {what}: run `diskarm study run` first"))
    };
    if !path.is_dir() {
        return Err(missing("does not exist"));
    }
    let runner = Runner::new(&study)?;
    let inputs = slice::from_ref(&args.study);
    let folder = folder(&runner, &study, &args.selection, inputs)?;
    let mut store = open_store(&folder)?;
    let results = runner
        .stored_results(&mut store)?
        .ok_or_else(|| missing("has no results for some cells"))?;
    write_results(&study, &results, &folder)
}

pub fn check(args: &Check) -> Result<(), Error> {
    let studies = if args.all {
        args.selection.all()?
    } else {
        let studies = args.studies.iter().map(|name| args.selection.study(name));
        studies.collect::<Result<_, _>>()?
    };
    let (mut text, mut out, mut failures) = (String::new(), Vec::new(), 0);
    for study in &studies {
        let runner = Runner::new(study)?;
        let folder = folder(&runner, study, &args.selection, &args.studies)?;
        let (results, _store) = simulate(&runner, study, &folder, &args.selection)?;
        let claims = study.judge(&results);
        let count = Count::new(&claims);
        failures += count.unexplained();
        if args.json {
            out.push(json!({ "study": study.name, "count": count, "claims": claims }));
            continue;
        }
        text += &format!("{}: {}\n", study.name, count.text());
        claims.iter().for_each(|claim| text += &claim_text(claim));
    }
    output::print_as(args.json, &out, || text)?;
    let without_reason = "failed (or could not be measured) without a [claim.known] reason";
    match failures {
        0 => Ok(()),
        1 => Err(Error::BadResult(format!("a claim {without_reason}"))),
        count => Err(Error::BadResult(format!("{count} claims {without_reason}"))),
    }
}

/// Returns the folder for the results of a study; `names` are the inputs of the command.
fn folder(
    runner: &Runner<'_>,
    study: &Study,
    selection: &Selection,
    names: &[String],
) -> Result<Folder, Error> {
    let reading = |files: Files, name: &String| files.with_input("STUDY", name);
    let inputs = names.iter().fold(runner.inputs(), reading);
    Ok(Folder::new(&selection.folder(study), "--output", inputs)?)
}

/// Opens the store of runs in `folder`; warns about runs that cannot be used.
fn open_store(folder: &Folder) -> Result<Store, Error> {
    let store = Store::open(folder)?;
    let (path, foreign) = (folder.path().display(), store.foreign_count());
    if foreign > 0 {
        let runs = with_noun(foreign, "run");
        output::print_notes(&[format!(
            "{path}: {runs} from another build will be simulated again"
        )]);
    }
    output::print_warnings(store.damage().as_slice());
    Ok(store)
}

/// Simulates missing cells. No other process can write to the folder while the store is open.
fn simulate<'s>(
    runner: &Runner<'s>,
    study: &'s Study,
    folder: &Folder,
    selection: &Selection,
) -> Result<(Results<'s>, Store), Error> {
    let mut store = open_store(folder)?;
    let progress = Progress::new(Some(study.cells.len() as u64));
    report_on_interrupt(study.cells.len(), folder.path());
    let results = runner.run(&mut store, selection.threads(), &mut |done| {
        progress.set(done as u64);
        DONE.store(done, Ordering::Relaxed);
        ControlFlow::Continue(())
    });
    // The callback never stops the run.
    let results = results?.ok_or(StudyError::Stopped)?;
    Ok((results, store))
}

fn write_results(study: &Study, results: &Results<'_>, folder: &Folder) -> Result<(), Error> {
    if let Some(title) = study.replaced_title(folder.path()) {
        let path = folder.path().display();
        let note = format!("{path}: replacing results of the study {title:?}; its runs are kept");
        output::print_notes(&[note]);
    }
    // The report is created first, because that may fail.
    let report = diskarm_study::Report::new(study, results)?;
    study.write(results, folder)?;
    report.write(folder)?;
    let claims = study.judge(results);
    let outcomes = results.outcomes.iter();
    let saturated = outcomes.filter(|one| one.is_saturated).count();
    let mut text = format!("{}: {}\n", study.name, study.title);
    let cells = with_noun(study.cells.len(), "cell");
    text += &format!("  {cells}, {saturated} of them saturated");
    if let Some(wide) = results.wide_text() {
        text += &format!("; {wide}");
    }
    if study.has_single_runs() {
        text += "; single runs, no interval";
    }
    text += &format!("\n  {}\n", Count::new(&claims).text());
    for claim in &claims {
        if claim.is_unexplained() {
            text += &claim_text(claim);
        }
    }
    let path = |name: &str| folder.path().join(name).display().to_string();
    text += &format!("  results  {}\n", path("results.csv"));
    text += &format!("  report   {}\n", path("report.html"));
    output::print(&text)
}

const INDENT: usize = 16;

fn claim_text(judged_claim: &JudgedClaim<'_>) -> String {
    let JudgedClaim { claim, judged } = judged_claim;
    let Judgement { verdict, ours, .. } = judged;
    let says = prose::labelled(&format!("  {verdict}"), &claim.says, INDENT);
    let look = match verdict {
        Verdict::Holds => Look::Good,
        _ if judged_claim.is_unexplained() => Look::Bad,
        _ => Look::Doubtful,
    };
    let word = verdict.to_string();
    let mut text = says.replacen(&word, &on_output(&word, look), 1);
    let ours_are = if judged_claim.is_of_ratios() {
        "ours, as a ratio,"
    } else {
        "ours"
    };
    let (theirs, source, remarks) = (&claim.theirs, &claim.source, claim.remarks());
    let numbers = format!("theirs {theirs}; {ours_are} {ours} ({source}{remarks})");
    text += &prose::wrapped(&numbers, INDENT);
    if let Some(reason) = judged_claim.reason() {
        text += &prose::wrapped(&format!("why: {reason}"), INDENT);
    }
    text
}

// A process has only one Ctrl-C handler, which prints this progress.
static DONE: AtomicUsize = AtomicUsize::new(0);
static CELLS: AtomicUsize = AtomicUsize::new(0);
static HAS_RESULTS: AtomicBool = AtomicBool::new(false);

/// Makes Ctrl-C print the number of finished cells, and whether `folder` has results of an earlier
/// run. Ctrl-C does not wait for running cells; the store stays valid.
fn report_on_interrupt(cells: usize, folder: &Path) {
    static ONCE: Once = Once::new();
    HAS_RESULTS.store(folder.join("results.json").is_file(), Ordering::Relaxed);
    DONE.store(0, Ordering::Relaxed);
    CELLS.store(cells, Ordering::Relaxed);
    ONCE.call_once(|| {
        // Without a handler, Ctrl-C still ends the program.
        let _ = ctrlc::set_handler(|| {
            let (done, cells) = (DONE.load(Ordering::Relaxed), CELLS.load(Ordering::Relaxed));
            let cells = with_noun(cells, "cell");
            eprintln!(
                "\nstopped: {done} of {cells} are saved; run the same command again to continue"
            );
            if HAS_RESULTS.load(Ordering::Relaxed) {
                eprintln!("the results and the report are from an earlier run");
            }
            exit(INTERRUPTED.into());
        });
    });
}

const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else if cfg!(windows) {
    "explorer"
} else {
    "xdg-open"
};

fn open_page(path: &Path) {
    let mut opener = Command::new(OPENER);
    opener.arg(path).stdin(Stdio::null());
    let opened = opener.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let why = match opened {
        Ok(status) if status.success() || cfg!(windows) => return,
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    output::print_notes(&[format!("--open: {OPENER} did not open the report: {why}")]);
}

/// How to run studies (short form, traces, parallel cells), and the folder for their results.
#[derive(clap::Args)]
pub struct Selection {
    /// Run the short form of the study
    #[arg(long)]
    quick: bool,

    /// A trace to run on, for studies that need one; may be repeated to compare traces
    #[arg(long, value_name = "FILE")]
    trace: Vec<String>,

    /// Folder for results; each study gets a subfolder, NAME or NAME-quick
    ///
    /// The results must not replace a file that the study reads.
    #[arg(short, long, value_name = "DIR", default_value = "results")]
    output: PathBuf,

    /// Cells to simulate in parallel [default: number of processors]
    #[arg(long, value_name = "N", value_parser = integer::<usize>(1..=MAX_JOBS))]
    jobs: Option<usize>,
}

const MAX_JOBS: u64 = 65_535;

impl Selection {
    fn options(&self) -> StudyOptions {
        StudyOptions {
            quick: self.quick,
            traces: self.trace.clone(),
        }
    }

    /// Returns the built-in study `name` or, if `name` ends in `.toml`, the study in that file.
    pub fn study(&self, name: &str) -> Result<Study, Error> {
        if name.ends_with(".toml") {
            let text = diskarm_simulate::read_text(name)?;
            let stem = PathBuf::from(name);
            let stem = stem.file_stem().unwrap_or_default().to_string_lossy();
            let study = Study::read(&stem, &text, name, self.options())?;
            return match self.trace.first() {
                Some(trace) if !study.takes_traces => Err(unexpected_trace(trace, name)),
                _ => Ok(study),
            };
        }
        let entry = studies::find(name).ok_or_else(|| unknown_study(name))?;
        // These files are part of the program, so only the flags can be wrong.
        match (entry.takes_traces(), self.trace.first()) {
            (true, None) => Err(Error::Failed(format!(
                "{name} runs on a trace: give --trace FILE"
            ))),
            (false, Some(trace)) => Err(unexpected_trace(trace, name)),
            _ if self.quick && !entry.has_short_form() => Err(Error::Failed(format!(
                "{name} has no short form: run it without --quick"
            ))),
            _ => Ok(entry.read(self.options())?),
        }
    }

    /// Returns every built-in study, in its short form if that is selected and exists. Leaves out
    /// those that need a --trace when none is given, and those whose trace is missing from the
    /// repository.
    pub fn all(&self) -> Result<Vec<Study>, Error> {
        let has_traces = !self.trace.is_empty();
        let entries = studies::STUDIES.iter();
        let entries = entries.filter(|entry| has_traces || !entry.takes_traces());
        let studies = entries.map(|entry| {
            let takes_traces = entry.takes_traces();
            let traces = if takes_traces { &self.trace[..] } else { &[] };
            Ok(entry.read(StudyOptions {
                quick: self.quick && entry.has_short_form(),
                traces: traces.to_vec(),
            })?)
        });
        let mut studies = studies.collect::<Result<Vec<Study>, Error>>()?;
        studies.retain(|study| match missing_trace(study) {
            Some(trace) if !study.takes_traces => {
                let note = format!("{} is left out: {trace} is missing", study.name);
                output::print_warnings(&[note]);
                false
            }
            _ => true,
        });
        Ok(studies)
    }

    pub fn folder(&self, study: &Study) -> PathBuf {
        let kind = if study.options.quick { "-quick" } else { "" };
        self.output.join(format!("{}{kind}", study.name))
    }

    pub fn threads(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, NonZero::get);
        self.jobs.unwrap_or_else(all)
    }
}

fn missing_trace(study: &Study) -> Option<&str> {
    let mut cells = study.cells.iter();
    cells.find_map(|cell| match &cell.inputs.source {
        CellInput::Traced { trace, .. } if !Path::new(trace).is_file() => Some(trace.as_str()),
        _ => None,
    })
}

fn unexpected_trace(trace: &str, study: &str) -> Error {
    Error::Failed(format!("`--trace {trace}`: {study} takes no trace"))
}

fn unknown_study(name: &str) -> Error {
    let hint = match studies::nearest(name) {
        Some(nearest) => format!("perhaps {nearest}"),
        None => "`diskarm study list` lists them".to_owned(),
    };
    let expected = format!("a study that comes with the program ({hint}) or a .toml file");
    Error::option("STUDY", name, expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests do not run in the root of the repository, so the trace is not found.
    #[test]
    fn a_study_whose_trace_is_missing_is_detected() {
        let read = |name: &str| {
            let entry = studies::find(name).unwrap();
            entry.read(StudyOptions::default()).unwrap()
        };
        let errors = read("lumb01-errors");
        let trace = "data/validation/hp-c2247.csv.gz";
        assert_eq!(missing_trace(&errors), Some(trace));
        let mut found = errors;
        for cell in &mut found.cells {
            let changes = Default::default();
            let trace = format!("../../{trace}");
            cell.inputs.source = CellInput::Traced { trace, changes };
        }
        assert_eq!(missing_trace(&found), None);
        assert_eq!(missing_trace(&read("lumb01-size")), None);
    }
}
