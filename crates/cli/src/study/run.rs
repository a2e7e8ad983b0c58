//! `diskarm study run`, `check` and `report`.

use std::ops::ControlFlow;
use std::slice;

use diskarm_results::output_file::Files;
use diskarm_study::verdicts::{Shown, counted};
use diskarm_study::{Count, Folder, Results, Runner, Store, Study, StudyError};
use serde::Serialize;
use serde_json::Value;

use super::{Chosen, claims, interrupted, open};
use crate::error::Error;
use crate::output;
use crate::progress::Progress;

#[derive(clap::Args)]
pub struct Run {
    /// A study that comes with the program, or a file that ends in .toml
    #[arg(value_name = "NAME|FILE")]
    study: String,

    /// Open the report in a browser
    #[arg(long)]
    open: bool,

    #[command(flatten)]
    chosen: Chosen,
}

#[derive(clap::Args)]
pub struct Check {
    /// Studies that come with the program, or files that end in .toml
    #[arg(value_name = "NAME|FILE", required_unless_present = "all")]
    studies: Vec<String>,

    /// All studies that come with the program, except those that need a trace if none is given, and
    /// those of traces of the repository where these are not
    #[arg(long, conflicts_with = "studies")]
    all: bool,

    #[command(flatten)]
    chosen: Chosen,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub struct Report {
    /// A study that comes with the program, or a file that ends in .toml
    #[arg(value_name = "NAME|FILE")]
    study: String,

    #[command(flatten)]
    chosen: Chosen,
}

/// Simulates what is missing; writes results and report.
pub fn run(args: &Run) -> Result<(), Error> {
    let study = args.chosen.study(&args.study)?;
    let runner = Runner::new(&study)?;
    let folder = folder(&runner, &study, &args.chosen, slice::from_ref(&args.study))?;
    let (results, _store) = simulated(&runner, &study, &folder, &args.chosen)?;
    written(&study, &results, &folder)?;
    if args.open {
        open::page(&folder.path().join("report.html"));
    }
    Ok(())
}

/// Writes results and report from stored runs.
pub fn report(args: &Report) -> Result<(), Error> {
    let study = args.chosen.study(&args.study)?;
    let path = args.chosen.folder(&study);
    let lacks = || {
        let expected = "results of all cells there (`diskarm study run` simulates what is missing)";
        Error::flag("--output", path.display().to_string(), expected)
    };
    if !path.is_dir() {
        return Err(lacks());
    }
    let runner = Runner::new(&study)?;
    let folder = folder(&runner, &study, &args.chosen, slice::from_ref(&args.study))?;
    let mut store = opened(&folder)?;
    let results = runner.stored(&mut store)?.ok_or_else(lacks)?;
    written(&study, &results, &folder)
}

/// Simulates what is missing and checks the claims.
pub fn check(args: &Check) -> Result<(), Error> {
    let studies = match args.all {
        true => args.chosen.all()?,
        false => {
            let studies = args.studies.iter().map(|name| args.chosen.study(name));
            studies.collect::<Result<_, _>>()?
        }
    };
    let (mut text, mut out, mut fails) = (String::new(), Vec::new(), 0);
    for study in &studies {
        let runner = Runner::new(study)?;
        let folder = folder(&runner, study, &args.chosen, &args.studies)?;
        let (results, _store) = simulated(&runner, study, &folder, &args.chosen)?;
        let claims = study.judge(&results);
        let count = Count::of(&claims);
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
        claims.iter().for_each(|claim| text += &claims::text(claim));
    }
    match args.json {
        true => output::print_json(&out)?,
        false => output::print(&text)?,
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

/// The folder for the results of a study, when the command reads the studies called `names`.
fn folder(
    runner: &Runner<'_>,
    study: &Study,
    chosen: &Chosen,
    names: &[String],
) -> Result<Folder, Error> {
    let reading = |files: Files, name: &String| files.reading("STUDY", name);
    let inputs = names.iter().fold(runner.inputs(), reading);
    Ok(Folder::new(&chosen.folder(study), "--output", inputs)?)
}

/// Opens the runs in `folder`; warns about those that do not count.
fn opened(folder: &Folder) -> Result<Store, Error> {
    let store = Store::open(folder)?;
    let (place, foreign) = (folder.path().display(), store.foreign_count());
    if foreign > 0 {
        let runs = counted(foreign, "run");
        output::warn(&[format!("{place}: {runs} of another build, made again")]);
    }
    output::doubt(store.damage().as_slice());
    Ok(store)
}

/// Simulates what is missing. No other process writes to the folder while the store is open.
fn simulated<'s>(
    runner: &Runner<'s>,
    study: &'s Study,
    folder: &Folder,
    chosen: &Chosen,
) -> Result<(Results<'s>, Store), Error> {
    let mut store = opened(folder)?;
    let progress = Progress::new(Some(study.cells.len() as u64));
    interrupted::watch(study.cells.len(), folder.path());
    let results = runner.run(&mut store, chosen.threads(), &mut |done| {
        progress.at(done as u64);
        interrupted::at(done);
        ControlFlow::Continue(())
    });
    // Nothing stops it.
    let results = results?.ok_or(StudyError::Stopped)?;
    Ok((results, store))
}

/// Writes results and report, and prints a summary with their paths.
fn written(study: &Study, results: &Results<'_>, folder: &Folder) -> Result<(), Error> {
    if let Some(title) = study.replaces(folder.path()) {
        let place = folder.path().display();
        let note = format!("{place}: had results of another study, {title:?}; its runs stay");
        output::warn(&[note]);
    }
    // Made first, because it may fail.
    let report = diskarm_study::Report::of(study, results)?;
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
    text += &format!("\n  {}\n", Count::of(&claims).text());
    for claim in &claims {
        if Shown::of(claim).is_unexplained() {
            text += &claims::text(claim);
        }
    }
    let path = |name: &str| folder.path().join(name).display().to_string();
    text += &format!("  results  {}\n", path("results.csv"));
    text += &format!("  report   {}\n", path("report.html"));
    output::print(&text)
}
