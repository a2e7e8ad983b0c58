//! `diskarm study run`, `check` and `report`.

use std::ops::ControlFlow;
use std::path::Path;

use diskarm_study::studies::STUDIES;
use diskarm_study::{Results, Runner, Store, Study, StudyError};
use serde::Serialize;
use serde_json::Value;

use super::Chosen;
use super::claims::{self, Count};
use crate::error::Error;
use crate::output;
use crate::progress::Progress;

#[derive(clap::Args)]
pub struct Run {
    /// A study that comes with the program, or a file that ends in .toml
    #[arg(value_name = "NAME|FILE")]
    study: String,

    #[command(flatten)]
    chosen: Chosen,
}

#[derive(clap::Args)]
pub struct Check {
    /// Studies that come with the program, or files that end in .toml
    #[arg(value_name = "NAME|FILE", required_unless_present = "all")]
    studies: Vec<String>,

    /// All studies that come with the program, but for those that want a trace if none is given
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

/// Simulates what is missing and writes everything.
pub fn run(args: &Run) -> Result<(), Error> {
    let study = args.chosen.study(&args.study)?;
    let folder = args.chosen.folder(&study);
    let (results, _store) = simulated(&study, &folder, &args.chosen)?;
    written(&results, &folder)
}

/// Writes everything from what has been simulated.
pub fn report(args: &Report) -> Result<(), Error> {
    let study = args.chosen.study(&args.study)?;
    let folder = args.chosen.folder(&study);
    let lacks = || {
        let expected = "results of all cells there (`diskarm study run` simulates what is missing)";
        Error::flag("--output", folder.display().to_string(), expected)
    };
    if !folder.is_dir() {
        return Err(lacks());
    }
    let runner = Runner::new(&study)?;
    let mut store = opened(&folder)?;
    let results = runner.stored(&mut store)?.ok_or_else(lacks)?;
    written(&results, &folder)
}

/// Holds the claims against what is simulated.
pub fn check(args: &Check) -> Result<(), Error> {
    let all = || {
        let entries = STUDIES.iter();
        let entries = entries.filter(|e| !e.takes_traces() || !args.chosen.trace.is_empty());
        entries.map(|entry| entry.name.to_owned()).collect()
    };
    let names: Vec<String> = if args.all {
        all()
    } else {
        args.studies.clone()
    };
    let (mut text, mut out, mut news) = (String::new(), Vec::new(), 0);
    for name in &names {
        let study = args.chosen.study(name)?;
        let folder = args.chosen.folder(&study);
        let (results, _store) = simulated(&study, &folder, &args.chosen)?;
        let told = results.claims();
        let count = Count::of(&told);
        news += count.fails;
        if args.json {
            out.push(Checked {
                study: study.name.clone(),
                count,
                claims: serde_json::to_value(&told).expect("plain data"),
            });
            continue;
        }
        text += &format!("{}: {}\n", study.name, count.text());
        told.iter().for_each(|told| text += &claims::text(told));
    }
    match args.json {
        true => output::print_json(&out)?,
        false => output::print(&text)?,
    }
    match news {
        0 => Ok(()),
        count => Err(Error::Claims { count }),
    }
}

/// What came of a study, in JSON.
#[derive(Serialize)]
struct Checked {
    study: String,
    count: Count,
    claims: Value,
}

/// The runs in `folder`; tells of those that do not count.
fn opened(folder: &Path) -> Result<Store, Error> {
    let store = Store::open(folder)?;
    let foreign = store.foreign_count();
    if foreign > 0 {
        let folder = folder.display();
        let note = format!("{folder}: {foreign} runs of another build are made again");
        output::warn(&[note]);
    }
    Ok(store)
}

/// Simulates what is missing. No other run of the program writes there while the store is held.
fn simulated<'s>(
    study: &'s Study,
    folder: &Path,
    chosen: &Chosen,
) -> Result<(Results<'s>, Store), Error> {
    let runner = Runner::new(study)?;
    let mut store = opened(folder)?;
    let progress = Progress::new(Some(study.cells.len() as u64));
    let results = runner.run(&mut store, chosen.threads(), &mut |done| {
        progress.at(done as u64);
        ControlFlow::Continue(())
    });
    // Nothing asked it to stop.
    let results = results?.ok_or(StudyError::Stopped)?;
    Ok((results, store))
}

/// Writes results and report, and tells where they are.
fn written(results: &Results<'_>, folder: &Path) -> Result<(), Error> {
    results.write(folder)?;
    diskarm_study::Report::of(results)?.write(folder)?;
    let study = results.study;
    let told = results.claims();
    let saturated = results
        .outcomes
        .iter()
        .filter(|outcome| outcome.is_saturated)
        .count();
    let mut text = format!("{}: {}\n", study.name, study.title);
    text += &format!(
        "  {} cells, {saturated} of them saturated\n",
        study.cells.len()
    );
    text += &format!("  {}\n", Count::of(&told).text());
    let path = |name: &str| folder.join(name).display().to_string();
    text += &format!("  results  {}\n", path("results.csv"));
    text += &format!("  report   {}\n", path("report.html"));
    output::print(&text)
}
