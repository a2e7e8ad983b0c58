//! Tables 3 to 22 of worthington96 beside what the suite finds in the models of the same drives.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::run::{Found, Run, Verdict};
use super::spec::{Spec, Value};
use crate::docs::table;

const PAPER: &str = include_str!("paper.toml");

/// The catalogue, from the root of the workspace.
const CATALOGUE: &str = "crates/drives/data";

#[derive(Deserialize)]
struct Tables {
    drive: Vec<Drive>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Drive {
    name: String,
    title: String,
    zones_table: Option<u32>,
    #[serde(default)]
    zones: Vec<[f64; 8]>,
    cell: Vec<Cell>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cell {
    table: u32,
    name: String,
    paper: String,
    value: Option<String>,
    #[serde(default)]
    decimals: usize,
    means: Option<String>,
    unseen: Option<String>,
    why: Option<String>,
}

const HEAD: &str = "
## The paper's tables

Tables 3 to 22 of worthington96 beside what the suite finds in the models of the same drives, cell
by cell, where the drive translates addresses. The paper measured the drives; the suite measured
their models, whose parameter sets were published with DiskSim 4.0 and differ from the paper's
tables in places. The suite is right if it finds what the specification says. Verdicts:

- *same*: found is what the paper has, in its decimals, times within 0.02 ms;
- *the model's*: found is what the specification has, and this is not the paper's;
- *not determinable*: the suite says why it cannot tell;
- all others say why, or are **off**.
";

/// Times that differ by less are equal, in milliseconds.
const TIME: f64 = 0.02;

/// The section, for the drives that were measured.
pub fn section(root: &Path, folder: &Path, runs: &[Run]) -> Result<String, String> {
    let tables: Tables = toml::from_str(PAPER).map_err(|error| format!("paper.toml: {error}"))?;
    let mut page = HEAD.to_owned();
    for drive in &tables.drive {
        let is_its = |run: &&Run| run.drive == drive.name && run.way == super::BEST;
        let Some(found) = runs.iter().find(is_its).and_then(|run| run.found.as_ref()) else {
            continue;
        };
        let read = |path: &Path| {
            fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let given = read(&root.join(CATALOGUE).join(format!("{}.toml", drive.name)))?;
        let text = read(&super::found(folder, &drive.name, super::BEST))?;
        let both = Both {
            given: Spec::parse(&given)?,
            found: Spec::parse(&text)?,
            run: found,
        };
        let _ = write!(page, "\n### {}\n\n{}", drive.title, both.cells(drive));
        if let Some(number) = drive.zones_table {
            let _ = write!(page, "\n{}", both.zones(drive, number));
        }
    }
    Ok(page)
}

/// What a drive's model has, and what was found.
struct Both<'a> {
    given: Spec<'a>,
    found: Spec<'a>,
    run: &'a Found,
}

impl Both<'_> {
    fn cells(&self, drive: &Drive) -> String {
        let rows: Vec<Vec<String>> = drive.cell.iter().map(|cell| self.row(cell)).collect();
        table(
            2,
            &["table", "parameter", "paper", "model", "found", "verdict"],
            &rows,
        )
    }

    fn row(&self, cell: &Cell) -> Vec<String> {
        let value = |spec: &Spec<'_>| value_of(spec, cell);
        let [given, found] = [&self.given, &self.found].map(value);
        let shown = |value: &Option<Value>| match value {
            Some(value) => value.shown.clone(),
            None => "none".to_owned(),
        };
        vec![
            cell.table.to_string(),
            cell.name.clone(),
            cell.paper.clone(),
            shown(&given),
            shown(&found),
            self.verdict(cell, given.as_ref(), found.as_ref()),
        ]
    }

    fn verdict(&self, cell: &Cell, given: Option<&Value>, found: Option<&Value>) -> String {
        if let Some(why) = &cell.unseen {
            return format!("not visible: {why}");
        }
        let key = cell.value.as_deref().unwrap_or_default();
        let fact = self.run.facts.iter().find(|fact| fact.key == key_of(key));
        if let Some(fact) = fact.filter(|fact| fact.verdict == Verdict::NotDeterminable) {
            let reason = fact.reason.as_deref().unwrap_or_default();
            return format!("not determinable: {reason}");
        }
        let Some(found) = found else {
            return "**off**: nothing was found".to_owned();
        };
        if is_as_in_paper(cell, found) {
            return "same".to_owned();
        }
        let allowed = if is_time(key) { TIME } else { 0.0 };
        let is_given = given.is_some_and(|given| match (given.number, found.number) {
            (Some(a), Some(b)) => (a - b).abs() <= allowed.max(half_unit(cell.decimals)),
            _ => given.shown == found.shown,
        });
        match (is_given, &cell.why) {
            (true, _) => "the model's".to_owned(),
            (false, Some(why)) => why.clone(),
            (false, None) => "**off**".to_owned(),
        }
    }

    /// Zone by zone: what was found, and in brackets the paper's and the model's values where these
    /// differ from it.
    fn zones(&self, drive: &Drive, number: u32) -> String {
        let [given, found] = [&self.given, &self.found].map(Spec::zones);
        let rows = drive.zones.iter().enumerate().map(|(at, paper)| {
            let mut row = vec![at.to_string()];
            for column in 0..paper.len() {
                let value = |zones: &[[f64; 8]]| zones.get(at).map(|zone| zone[column]);
                row.push(zone_cell(paper[column], value(&given), value(&found)));
            }
            row
        });
        let rows: Vec<Vec<String>> = rows.collect();
        let exact = match self.run.layout.is_exact {
            true => {
                "Every block is found where the model has it. Where zones differ all the same, \
                 they describe the same places with other numbers: what holds no blocks cannot be \
                 seen."
            }
            false => "Not every block is found where the model has it.",
        };
        format!(
            "Table {number}, zone by zone: what was found, and in brackets what the paper (p) and \
             the model (m) have where they have something else. {exact}\n\n{}",
            table(1, &ZONE, &rows)
        )
    }
}

const ZONE: [&str; 9] = [
    "zone",
    "first cylinder",
    "last cylinder",
    "sectors per track",
    "first logical sector",
    "track skew",
    "cylinder skew",
    "reserved tracks",
    "spare tracks",
];

fn zone_cell(paper: f64, given: Option<f64>, found: Option<f64>) -> String {
    // Offsets and skews are found to a fraction of a sector.
    let shown = |value: f64| {
        let text = format!("{value:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let Some(found) = found.map(shown) else {
        return format!("none [p {}]", shown(paper));
    };
    let mut others = Vec::new();
    if shown(paper) != found {
        others.push(format!("p {}", shown(paper)));
    }
    match given.map(shown) {
        Some(given) if given != found => others.push(format!("m {given}")),
        Some(_) => {}
        None => others.push("m none".to_owned()),
    }
    match others.is_empty() {
        true => found,
        false => format!("{found} [{}]", others.join(", ")),
    }
}

fn value_of(spec: &Spec<'_>, cell: &Cell) -> Option<Value> {
    let name = cell.value.as_deref()?;
    let zone = |column: usize| {
        let number = spec.zones().first()?[column];
        Some(Value {
            number: Some(number),
            shown: format!("{number:.0$}", cell.decimals),
        })
    };
    match name {
        "zone.sectors-per-track" => zone(2),
        "zone.track-skew" => zone(4),
        "zone.cylinder-skew" => zone(5),
        name => spec.value(name, cell.decimals),
    }
}

/// The key of a value that has a unit of its own.
fn key_of(value: &str) -> &str {
    match value {
        "segment-kib" => "buffer.segment",
        "read-ahead-kib" => "buffer.read_ahead_max",
        key => key,
    }
}

fn is_time(key: &str) -> bool {
    key.starts_with("overheads.") || key.starts_with("mechanics.")
}

fn half_unit(decimals: usize) -> f64 {
    0.5 / 10f64.powi(decimals as i32)
}

fn is_as_in_paper(cell: &Cell, found: &Value) -> bool {
    if let Some(means) = &cell.means {
        return found.shown == *means;
    }
    let paper: Option<f64> = cell
        .paper
        .split(' ')
        .next()
        .and_then(|text| text.parse().ok());
    let allowed = match is_time(cell.value.as_deref().unwrap_or_default()) {
        true => TIME,
        false => half_unit(cell.decimals),
    };
    match (paper, found.number) {
        (Some(paper), Some(found)) => (paper - found).abs() <= allowed,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_tables_are_read() {
        let tables: Tables = toml::from_str(PAPER).unwrap();
        let mut numbers: Vec<u32> = tables
            .drive
            .iter()
            .flat_map(|drive| {
                drive
                    .cell
                    .iter()
                    .map(|cell| cell.table)
                    .chain(drive.zones_table)
            })
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers, (3..=22).collect::<Vec<u32>>());
        for drive in &tables.drive {
            for cell in &drive.cell {
                let (table, name) = (cell.table, &cell.name);
                assert_ne!(
                    cell.value.is_some(),
                    cell.unseen.is_some(),
                    "{table} {name}"
                );
            }
        }
    }

    fn cell(paper: &str, value: &str, decimals: usize) -> Cell {
        Cell {
            table: 8,
            name: "x".to_owned(),
            paper: paper.to_owned(),
            value: Some(value.to_owned()),
            decimals,
            means: None,
            unseen: None,
            why: None,
        }
    }

    #[test]
    fn times_are_compared_with_the_paper_as_times_and_counts_exactly() {
        let number = |number| Value {
            number: Some(number),
            shown: String::new(),
        };
        let time = cell("0.90 ms", "overheads.read_completion", 2);
        assert!(is_as_in_paper(&time, &number(0.919)));
        assert!(!is_as_in_paper(&time, &number(0.921)));
        let count = cell("17", "geometry.surfaces", 0);
        assert!(is_as_in_paper(&count, &number(17.0)));
        assert!(!is_as_in_paper(&count, &number(18.0)));
        let capacity = cell("1.37 GB", "capacity", 2);
        assert!(is_as_in_paper(&capacity, &number(1.3705)));
        assert!(!is_as_in_paper(&capacity, &number(1.376)));
    }

    #[test]
    fn zones_show_what_differs() {
        assert_eq!(zone_cell(3.0, Some(3.0), Some(3.0)), "3");
        assert_eq!(zone_cell(3.0, Some(2.0), Some(2.0)), "2 [p 3]");
        assert_eq!(zone_cell(3.0, Some(3.0), Some(2.5)), "2.5 [p 3, m 3]");
        assert_eq!(zone_cell(3.0, None, None), "none [p 3]");
    }
}
