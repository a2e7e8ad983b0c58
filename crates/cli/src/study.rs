//! `diskarm study`: runs experiments described in files.

mod diff;
mod run;

use diskarm_core::text::with_noun;
use diskarm_results::output_file::Files;
use diskarm_results::prose;
use diskarm_study::StudyOptions;
use diskarm_study::studies::{self, STUDIES};
use serde::Serialize;

use crate::error::Error;
use crate::output;

/// Run experiments described in files
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List the studies that come with the program
    List(ListArgs),
    /// Simulate missing cells; write results and report
    Run(run::Run),
    /// Simulate missing cells; check the claims
    Check(run::Check),
    /// Write charts and report from stored runs
    Report(run::Report),
    /// Write a small study to start from
    New(New),
    /// Compare two folders of results cell by cell
    ///
    /// Prints, for each metric, the number of cells in which it differs, the number in which it
    /// differs by more than both 95 % confidence intervals, and the largest change. Also prints the
    /// claims whose verdicts differ. The exit code is 1 if anything differs.
    Diff(diff::Diff),
}

pub fn run(args: Args) -> Result<(), Error> {
    match args.command {
        Command::List(args) => list(&args),
        Command::Run(args) => run::run(&args),
        Command::Check(args) => run::check(&args),
        Command::Report(args) => run::report(&args),
        Command::New(args) => write_new(&args),
        Command::Diff(args) => diff::run(&args),
    }
}

#[derive(clap::Args)]
struct New {
    /// The new file to write: a name that ends in .toml, or - for standard output
    #[arg(value_name = "FILE.toml", value_parser = crate::args::toml_or_standard)]
    file: String,
}

/// A study that runs in seconds, with a comment on each part.
const SMALL: &str = include_str!("study/new.toml");

fn write_new(args: &New) -> Result<(), Error> {
    let file = &args.file;
    if file == "-" {
        return output::print(SMALL);
    }
    if std::fs::symlink_metadata(file).is_ok() {
        return Err(Error::Failed(format!(
            "{file} already exists; give another FILE.toml"
        )));
    }
    let new = Files::default().output("FILE.toml", file)?;
    new.write(SMALL.replace("FILE.toml", file).as_bytes())?;
    output::print(&format!("wrote {file}; run it: diskarm study run {file}\n"))
}

#[derive(clap::Args)]
struct ListArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct StudyRow {
    name: &'static str,
    title: String,
    source: String,
    cells: usize,
    quick_cells: Option<usize>,
    claims: usize,
    takes_traces: bool,
}

impl StudyRow {
    fn new(entry: &studies::Entry) -> Result<Self, Error> {
        let takes_traces = entry.takes_traces();
        let traces: Vec<String> = takes_traces.then(|| "one".to_owned()).into_iter().collect();
        let read = |quick| {
            let traces = traces.clone();
            entry.read(StudyOptions { quick, traces })
        };
        let study = read(false)?;
        let short = entry.has_short_form().then(|| read(true)).transpose()?;
        Ok(Self {
            name: entry.name,
            cells: study.cells.len(),
            quick_cells: short.map(|short| short.cells.len()),
            claims: study.claims.len(),
            title: study.title,
            source: study.source,
            takes_traces,
        })
    }
}

fn list(args: &ListArgs) -> Result<(), Error> {
    let rows: Vec<StudyRow> = STUDIES
        .iter()
        .map(StudyRow::new)
        .collect::<Result<_, _>>()?;
    if args.json {
        return output::print_json(&rows);
    }
    let indent = rows.iter().map(|row| row.name.len()).max().unwrap_or(0) + 2;
    let mut text = String::new();
    for row in &rows {
        let (cells, claims) = (with_noun(row.cells, "cell"), with_noun(row.claims, "claim"));
        let quick = match row.quick_cells {
            Some(quick) => format!("{quick} with --quick"),
            None => "no --quick".to_owned(),
        };
        let trace = if row.takes_traces {
            ", needs --trace"
        } else {
            ""
        };
        text += &prose::labelled(row.name, &row.title, indent);
        text += &prose::wrapped(&row.source, indent);
        text += &prose::wrapped(&format!("{cells} ({quick}), {claims}{trace}"), indent);
    }
    output::print(&text)
}
