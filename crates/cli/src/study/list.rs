//! `diskarm study list`.

use diskarm_study::StudyOptions;
use diskarm_study::studies::STUDIES;
use diskarm_study::verdicts::counted;
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
struct Entry {
    name: &'static str,
    title: String,
    source: String,
    cells: usize,
    quick_cells: usize,
    claims: usize,
    takes_traces: bool,
}

/// Lists the studies that come with the program.
pub fn run(args: &Args) -> Result<(), Error> {
    let entries: Vec<Entry> = STUDIES.iter().map(entry).collect::<Result<_, Error>>()?;
    if args.json {
        return output::print_json(&entries);
    }
    let names = entries.iter().map(|entry| entry.name.len());
    let indent = names.max().unwrap_or(0) + 2;
    let mut text = String::new();
    for entry in &entries {
        let Entry { cells, claims, .. } = entry;
        let trace = if entry.takes_traces {
            ", needs --trace"
        } else {
            ""
        };
        text += &prose::labelled(entry.name, &entry.title, indent);
        text += &prose::wrapped(&entry.source, indent);
        let (cells, claims) = (counted(*cells, "cell"), counted(*claims, "claim"));
        text += &prose::wrapped(&format!("{cells}, {claims}{trace}"), indent);
    }
    output::print(&text)
}

fn entry(entry: &diskarm_study::studies::Entry) -> Result<Entry, Error> {
    let takes_traces = entry.takes_traces();
    let read = |quick| {
        let traces = match takes_traces {
            true => vec!["one".to_owned()],
            false => Vec::new(),
        };
        entry.read(StudyOptions { quick, traces })
    };
    let study = read(false)?;
    let short = match entry.has_short_form() {
        true => read(true)?.cells.len(),
        false => study.cells.len(),
    };
    Ok(Entry {
        name: entry.name,
        cells: study.cells.len(),
        quick_cells: short,
        claims: study.claims.len(),
        title: study.title,
        source: study.source,
        takes_traces,
    })
}
