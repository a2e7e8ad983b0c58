//! `diskarm study list`.

use diskarm_study::StudyOptions;
use diskarm_study::counted;
use diskarm_study::studies::STUDIES;
use serde::Serialize;

use crate::error::Error;
use crate::output;
use diskarm_results::prose;

#[derive(clap::Args)]
pub struct Args {
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
    /// The cells of the short form.
    quick_cells: Option<usize>,
    claims: usize,
    takes_traces: bool,
}

pub fn run(args: &Args) -> Result<(), Error> {
    let entries: Vec<StudyRow> = STUDIES.iter().map(entry).collect::<Result<_, Error>>()?;
    if args.json {
        return output::print_json(&entries);
    }
    let names = entries.iter().map(|entry| entry.name.len());
    let indent = names.max().unwrap_or(0) + 2;
    let mut text = String::new();
    for entry in &entries {
        let StudyRow { cells, claims, .. } = entry;
        let trace = if entry.takes_traces {
            ", needs --trace"
        } else {
            ""
        };
        text += &prose::labelled(entry.name, &entry.title, indent);
        text += &prose::wrapped(&entry.source, indent);
        let quick = match entry.quick_cells {
            Some(quick) => format!("{quick} with --quick"),
            None => "no --quick".to_owned(),
        };
        let (cells, claims) = (counted(*cells, "cell"), counted(*claims, "claim"));
        let facts = format!("{cells} ({quick}), {claims}{trace}");
        text += &prose::wrapped(&facts, indent);
    }
    output::print(&text)
}

fn entry(entry: &diskarm_study::studies::Entry) -> Result<StudyRow, Error> {
    let takes_traces = entry.takes_traces();
    let read = |quick| {
        let traces = if takes_traces {
            vec!["one".to_owned()]
        } else {
            Vec::new()
        };
        entry.read(StudyOptions { quick, traces })
    };
    let study = read(false)?;
    let short = entry.has_short_form().then(|| read(true)).transpose()?;
    Ok(StudyRow {
        name: entry.name,
        cells: study.cells.len(),
        quick_cells: short.map(|short| short.cells.len()),
        claims: study.claims.len(),
        title: study.title,
        source: study.source,
        takes_traces,
    })
}
