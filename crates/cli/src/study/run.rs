//! `diskarm study run`, `check` and `report`.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio, exit};
use std::slice;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use diskarm_results::output_file::Files;
use diskarm_results::prose;
use diskarm_study::{
    Count, Folder, JudgedClaim, Judgement, Results, Runner, Store, Study, StudyError, Verdict,
    counted,
};
use serde::Serialize;
use serde_json::Value;

use super::selection::Selection;
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

    /// All built-in studies, except those that need a trace if none is given, and those of traces
    /// of the repository if these are missing
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

/// Simulates missing cells; writes results and report.
pub fn run(args: &Run) -> Result<(), Error> {
    let study = args.selection.study(&args.study)?;
    let runner = Runner::new(&study)?;
    let folder = folder(
        &runner,
        &study,
        &args.selection,
        slice::from_ref(&args.study),
    )?;
    let (results, _store) = simulate(&runner, &study, &folder, &args.selection)?;
    write_results(&study, &results, &folder)?;
    if args.open {
        open_page(&folder.path().join("report.html"));
    }
    Ok(())
}

/// Writes results and report from stored runs.
pub fn report(args: &Report) -> Result<(), Error> {
    let study = args.selection.study(&args.study)?;
    let path = args.selection.folder(&study);
    let lacks = || {
        Error::Usage(format!(
            "{} lacks results of some cells: `diskarm study run` simulates them",
            path.display()
        ))
    };
    if !path.is_dir() {
        return Err(lacks());
    }
    let runner = Runner::new(&study)?;
    let folder = folder(
        &runner,
        &study,
        &args.selection,
        slice::from_ref(&args.study),
    )?;
    let mut store = open_store(&folder)?;
    let results = runner.stored(&mut store)?.ok_or_else(lacks)?;
    write_results(&study, &results, &folder)
}

/// Simulates missing cells and checks the claims.
pub fn check(args: &Check) -> Result<(), Error> {
    let studies = if args.all {
        args.selection.all()?
    } else {
        let studies = args.studies.iter().map(|name| args.selection.study(name));
        studies.collect::<Result<_, _>>()?
    };
    let (mut text, mut out, mut fails) = (String::new(), Vec::new(), 0);
    for study in &studies {
        let runner = Runner::new(study)?;
        let folder = folder(&runner, study, &args.selection, &args.studies)?;
        let (results, _store) = simulate(&runner, study, &folder, &args.selection)?;
        let claims = study.judge(&results);
        let count = Count::new(&claims);
        fails += count.unexplained();
        if args.json {
            out.push(Checked {
                study: study.name.clone(),
                count,
                claims: serde_json::to_value(&claims).expect("plain data"),
            });
            continue;
        }
        text += &format!("{}: {}\n", study.name, count.text());
        claims.iter().for_each(|claim| text += &claim_text(claim));
    }
    if args.json {
        output::print_json(&out)?;
    } else {
        output::print(&text)?;
    }
    match fails {
        0 => Ok(()),
        count => Err(Error::Claims { count }),
    }
}

/// The verdicts on the claims of a study, as JSON.
#[derive(Serialize)]
struct Checked {
    study: String,
    count: Count,
    claims: Value,
}

/// Returns the folder for the results of a study; `names` are the inputs of the command.
fn folder(
    runner: &Runner<'_>,
    study: &Study,
    selection: &Selection,
    names: &[String],
) -> Result<Folder, Error> {
    let reading = |files: Files, name: &String| files.reading("STUDY", name);
    let inputs = names.iter().fold(runner.inputs(), reading);
    Ok(Folder::new(&selection.folder(study), "--output", inputs)?)
}

/// Opens the runs in `folder`; warns about those that cannot be used.
fn open_store(folder: &Folder) -> Result<Store, Error> {
    let store = Store::open(folder)?;
    let (place, foreign) = (folder.path().display(), store.foreign_count());
    if foreign > 0 {
        let runs = counted(foreign, "run");
        output::print_notes(&[format!("{place}: {runs} of another build, simulated again")]);
    }
    output::print_warnings(store.damage().as_slice());
    Ok(store)
}

/// Simulates missing cells. No other process writes to the folder while the store is open.
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
        record_progress(done);
        ControlFlow::Continue(())
    });
    // The callback never stops it.
    let results = results?.ok_or(StudyError::Stopped)?;
    Ok((results, store))
}

/// Writes results and report, and prints a summary with their paths.
fn write_results(study: &Study, results: &Results<'_>, folder: &Folder) -> Result<(), Error> {
    if let Some(title) = study.replaces(folder.path()) {
        let place = folder.path().display();
        let note = format!("{place}: had results of another study, {title:?}, whose runs are kept");
        output::print_notes(&[note]);
    }
    // Made first, because it may fail.
    let report = diskarm_study::Report::new(study, results)?;
    study.write(results, folder)?;
    report.write(folder)?;
    let claims = study.judge(results);
    let saturated = results
        .outcomes
        .iter()
        .filter(|outcome| outcome.is_saturated)
        .count();
    let mut text = format!("{}: {}\n", study.name, study.title);
    let cells = counted(study.cells.len(), "cell");
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

/// The width of the column of verdicts.
const INDENT: usize = 16;

/// Formats a claim and its verdict.
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
    let numbers = format!(
        "theirs {}; {ours_are} {ours} ({}{})",
        claim.theirs,
        claim.source,
        claim.remarks()
    );
    text += &prose::wrapped(&numbers, INDENT);
    if let Some(reason) = judged_claim.reason() {
        text += &prose::wrapped(&format!("why: {reason}"), INDENT);
    }
    text
}

// A process has one handler; these hold the progress that it prints.
static DONE: AtomicUsize = AtomicUsize::new(0);
static CELLS: AtomicUsize = AtomicUsize::new(0);
static HAS_RESULTS: AtomicBool = AtomicBool::new(false);

/// Makes Ctrl-C print the number of finished cells, and whether `folder` has results of an earlier
/// run. It ends the program without waiting for running cells: the store stays valid.
fn report_on_interrupt(cells: usize, folder: &Path) {
    static ONCE: Once = Once::new();
    HAS_RESULTS.store(folder.join("results.json").is_file(), Ordering::Relaxed);
    DONE.store(0, Ordering::Relaxed);
    CELLS.store(cells, Ordering::Relaxed);
    ONCE.call_once(|| {
        // Without a handler Ctrl-C still ends the program.
        let _ = ctrlc::set_handler(|| {
            let (done, cells) = (DONE.load(Ordering::Relaxed), CELLS.load(Ordering::Relaxed));
            let cells = counted(cells, "cell");
            eprintln!(
                "\nstopped: {done} of {cells} are kept; run the same command again to continue"
            );
            if HAS_RESULTS.load(Ordering::Relaxed) {
                eprintln!("results and report are from an earlier run");
            }
            exit(INTERRUPTED);
        });
    });
}

/// Records the number of finished cells.
fn record_progress(done: usize) {
    DONE.store(done, Ordering::Relaxed);
}

/// The program that opens a file with whatever the user has selection for its kind.
const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else if cfg!(windows) {
    "explorer"
} else {
    "xdg-open"
};

/// Opens the page at `path`, or prints a note if that fails.
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
