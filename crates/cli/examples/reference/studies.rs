//! What a study can measure and check, and the studies that come with the program.

use diskarm_study::studies::{Entry, STUDIES};
use diskarm_study::{Study, StudyOptions, claim, measure};

use crate::{code, head, parameters, table};

const MEASURES: &str = "\
What `measure` in the `[cell]` of a [study](../studies.md) can say, and the metrics that figures,
tables and claims then speak of. Each metric is the mean over the replications of a cell, with
Student's 95 % interval; of those that end in `_max` the largest counts. `failed` and `recovered`
exist where the drive is a tower of devices.";

const CHECKS: &str = "\
What `check` in a `[[claim]]` of a [study](../studies.md) can say. `where`, `of`, `to` and the items
of `ascending` are selections; axes that they do not name are matched, value by value.";

const STUDIES_ABOUT: &str = "\
What `diskarm study run NAME` simulates; `--quick` takes the short form. The files are in
`crates/study/studies`, and each says in `about` where its setting departs from the paper's. Two
studies are not of a paper: they test a policy of this project, [aspctf-seq](../aspctf-seq.md).";

/// The measures and their metrics.
pub fn measures() -> String {
    let measures = measure::infos().map(|info| {
        let columns = (info.columns)().into_iter();
        let rows = columns.map(|column| vec![code(&column.name), column.title]);
        let table = table(&["metric", "what it is"], rows);
        format!("## {}\n\nMeasures {}.\n\n{table}", info.name, info.summary)
    });
    head("Measures", MEASURES) + &measures.collect::<Vec<String>>().join("\n")
}

/// The checks and their keys.
pub fn checks() -> String {
    let rows = claim::CHECKS.iter().map(|info| {
        vec![
            code(info.name),
            info.holds.to_owned(),
            parameters(info.keys),
        ]
    });
    head("Checks of claims", CHECKS) + &table(&["check", "holds when", "keys"], rows)
}

/// The studies that come with the program.
pub fn list() -> String {
    let rows = STUDIES.iter().map(|entry| {
        let whole = read(entry, false);
        let count = whole.cells.len();
        let cells = match (entry.takes_traces(), entry.has_short_form()) {
            (true, _) => format!("{count} a trace"),
            (false, true) => format!("{count}; quick {}", read(entry, true).cells.len()),
            (false, false) => count.to_string(),
        };
        vec![
            code(entry.name),
            whole.title.clone(),
            whole.source.clone(),
            cells,
            whole.claims.len().to_string(),
        ]
    });
    let columns = ["study", "what it shows", "source", "cells", "claims"];
    head("Studies", STUDIES_ABOUT) + &table(&columns, rows)
}

fn read(entry: &Entry, quick: bool) -> Study {
    let traces = if entry.takes_traces() {
        vec!["one".to_owned()]
    } else {
        Vec::new()
    };
    let study = entry.read(StudyOptions { quick, traces });
    study.expect("a study that comes with the program")
}
