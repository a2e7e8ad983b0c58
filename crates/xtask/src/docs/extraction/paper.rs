//! Compares tables 3 to 22 of worthington96 with what the suite finds in models of its drives.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::run::{BEST, Findings, Run, Verdict, specification};
use crate::docs::{entries, table};
use crate::file_error;

const PAPER: &str = include_str!("paper.toml");

/// The catalogue, relative to the root of the workspace.
const CATALOGUE: &str = "crates/drives/data";

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

This section compares tables 3 to 22 of worthington96, cell by cell, with what the suite finds in
models of the same drives, when the models translate addresses. The paper measured the drives; the
suite measured models whose parameter sets were published with DiskSim 4.0 and differ from the
paper's tables in places. The suite is right if it finds what the specification says. Verdicts:

- *same*: the suite found the paper's value, when rounded as in the paper (times within 0.02 ms);
- *the model's*: the suite found the specification's value, which differs from the paper's;
- *not determinable*: the suite gives the reason;
- any other difference is explained, or marked **off**.
";

/// Times that differ by less than this count as equal.
const TOLERANCE_MS: f64 = 0.02;

/// Returns the section, for the drives that were measured.
pub fn section(root: &Path, folder: &Path, runs: &[Run]) -> Result<String, String> {
    let drives: Vec<Drive> = entries("paper.toml", "drive", PAPER)?;
    let mut page = HEAD.to_owned();
    for drive in &drives {
        let mut runs_of_drive = runs.iter().filter(|run| run.drive == drive.name);
        let best = runs_of_drive.find(|run| run.way == BEST);
        let Some(run) = best.and_then(|run| run.found.as_ref()) else {
            continue;
        };
        let read = |path: &Path| {
            let text = fs::read_to_string(path).map_err(|error| file_error(path, error))?;
            toml::from_str(&text)
                .map(Spec)
                .map_err(|error| file_error(path, error))
        };
        let comparison = Comparison {
            given: read(&root.join(CATALOGUE).join(format!("{}.toml", drive.name)))?,
            found: read(&specification(folder, &drive.name, BEST))?,
            run,
        };
        let _ = write!(page, "\n### {}\n\n{}", drive.title, comparison.cells(drive));
        if let Some(number) = drive.zones_table {
            let _ = write!(page, "\n{}", comparison.zones(drive, number));
        }
    }
    Ok(page)
}

struct Comparison<'a> {
    given: Spec,
    found: Spec,
    run: &'a Findings,
}

impl Comparison<'_> {
    fn cells(&self, drive: &Drive) -> String {
        let rows: Vec<Vec<String>> = drive.cell.iter().map(|cell| self.row(cell)).collect();
        let head = "table | parameter | paper | model | found | verdict";
        table(2, head, &rows)
    }

    fn row(&self, cell: &Cell) -> Vec<String> {
        let [given, found] = [&self.given, &self.found].map(|spec| value_of(spec, cell));
        let shown = |value: &Option<Value>| {
            let shown = value.as_ref().map(|value| value.shown.clone());
            shown.unwrap_or_else(|| "none".to_owned())
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
        if matches_paper(cell, found) {
            return "same".to_owned();
        }
        let allowed = if is_time(key) { TOLERANCE_MS } else { 0.0 };
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

    /// Returns each zone as found. Values of the paper or model that differ are in brackets.
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
        let exact = if self.run.layout.is_exact {
            "Every block is found where the model has it. Where zones still differ, they describe \
             the same locations with different numbers: space without blocks cannot be observed."
        } else {
            "Not every block is found where the model has it."
        };
        format!(
            "Table {number}, zone by zone: the values found, with those of the paper (p) and the \
             model (m) in brackets where they differ. {exact}\n\n{}",
            table(1, ZONE, &rows)
        )
    }
}

const ZONE: &str = "zone | first cylinder | last cylinder | sectors per track | \
    first logical sector | track skew | cylinder skew | reserved tracks | spare tracks";

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
    let model = given.map_or_else(|| "none".to_owned(), shown);
    for (whose, value) in [("p", shown(paper)), ("m", model)] {
        if value != found {
            others.push(format!("{whose} {value}"));
        }
    }
    if others.is_empty() {
        return found;
    }
    format!("{found} [{}]", others.join(", "))
}

fn value_of(spec: &Spec, cell: &Cell) -> Option<Value> {
    let name = cell.value.as_deref()?;
    let zone = |column: usize| {
        let number = spec.zones().first()?[column];
        Some(Value::number(number, cell.decimals))
    };
    match name {
        "zone.sectors-per-track" => zone(2),
        "zone.track-skew" => zone(4),
        "zone.cylinder-skew" => zone(5),
        name => spec.value(name, cell.decimals),
    }
}

/// Returns the key from which the value of a cell is computed.
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

fn matches_paper(cell: &Cell, found: &Value) -> bool {
    if let Some(means) = &cell.means {
        return found.shown == *means;
    }
    let number = cell.paper.split(' ').next();
    let paper: Option<f64> = number.and_then(|text| text.parse().ok());
    let allowed = if is_time(cell.value.as_deref().unwrap_or_default()) {
        TOLERANCE_MS
    } else {
        half_unit(cell.decimals)
    };
    let numbers = paper.zip(found.number);
    numbers.is_some_and(|(paper, found)| (paper - found).abs() <= allowed)
}

struct Spec(toml::Table);

/// A value as the page shows it, and as a number if it is one.
struct Value {
    number: Option<f64>,
    shown: String,
}

impl Value {
    fn number(number: f64, decimals: usize) -> Self {
        Self {
            number: Some(number),
            shown: format!("{number:.decimals$}"),
        }
    }

    fn word(word: &str) -> Self {
        Self {
            number: None,
            shown: word.to_owned(),
        }
    }

    fn flag(flag: bool) -> Self {
        Self::word(if flag { "yes" } else { "no" })
    }
}

impl Spec {
    /// Returns the value that `paper.toml` calls `name`, formatted with `decimals` decimal places.
    ///
    /// A name is a key or a value derived from keys: `capacity`, in gigabytes; `rpm`; `slipping`, a
    /// unit or none; `sparing`; `segment-kib`; `read-ahead-kib`; `reserved-cylinders`.
    fn value(&self, name: &str, decimals: usize) -> Option<Value> {
        let sector_bytes = self.float("geometry.sector_bytes").unwrap_or(512.0);
        let bytes = |key: &str, unit: f64| {
            let sectors = self.float(key)?;
            Some(Value::number(sectors * sector_bytes / unit, decimals))
        };
        match name {
            "capacity" => bytes("geometry.sectors", 1e9),
            "rpm" => Some(Value::number(self.rpm()?, decimals)),
            "slipping" if !self.has_slips() => Some(Value::word("none")),
            "slipping" | "sparing" => Some(Value::word(self.sparing_unit()?)),
            "segment-kib" => bytes("buffer.segment", 1024.0),
            "read-ahead-kib" => {
                bytes("buffer.read_ahead_max", 1024.0).or_else(|| bytes("buffer.segment", 1024.0))
            }
            "reserved-cylinders" => Some(Value::number(self.reserved_cylinders()?, 0)),
            key => self.key(key, decimals),
        }
    }

    fn key(&self, key: &str, decimals: usize) -> Option<Value> {
        let Some(value) = self.get(key) else {
            return match key {
                key if is_time(key) => Some(Value::number(0.0, decimals)),
                "buffer.delivered" => Some(Value::word("kept")),
                "buffer.write_invalidates" => Some(Value::word("segment")),
                key => key.starts_with("buffer.").then(|| Value::flag(false)),
            };
        };
        if let Some(flag) = value.as_bool() {
            return Some(Value::flag(flag));
        }
        let number = number(value).map(|number| Value::number(number, decimals));
        number.or_else(|| value.as_str().map(Value::word))
    }

    fn zone_tables(&self) -> impl Iterator<Item = &toml::Table> {
        let zones = self.get("geometry.zones").and_then(toml::Value::as_array);
        zones
            .into_iter()
            .flatten()
            .filter_map(toml::Value::as_table)
    }

    /// Returns the zones: first and last cylinder, sectors per track, offset, track skew, cylinder
    /// skew, reserved tracks and spare tracks, as in the paper's tables. Reserved sectors are
    /// counted in tracks; spares are tracks only if sparing is by track.
    fn zones(&self) -> Vec<[f64; 8]> {
        let is_by_track = self.sparing_unit() == Some("tracks");
        let row = |zone: &toml::Table| {
            let number_at = |key: &str| zone.get(key).and_then(number);
            let or_zero = |key: &str| number_at(key).unwrap_or(0.0);
            let ends = zone.get("cylinders")?.as_array()?;
            let per_track = number_at("sectors_per_track")?;
            Some([
                number(ends.first()?)?,
                number(ends.get(1)?)? - 1.0,
                per_track,
                or_zero("first_offset_sectors"),
                or_zero("track_skew_sectors"),
                or_zero("cylinder_skew_sectors"),
                or_zero("reserved_sectors") / per_track,
                if is_by_track { or_zero("spares") } else { 0.0 },
            ])
        };
        self.zone_tables().filter_map(row).collect()
    }

    fn rpm(&self) -> Option<f64> {
        let (number, unit) = self.text("mechanics.rotation")?.split_once(' ')?;
        let number: f64 = number.parse().ok()?;
        match unit {
            "rpm" => Some(number),
            "ns" => Some(60e9 / number),
            _ => None,
        }
    }

    fn sparing_unit(&self) -> Option<&'static str> {
        Some(match self.text("geometry.sparing")? {
            "none" => "none",
            scheme if scheme.starts_with("tracks") => "tracks",
            _ => "sectors",
        })
    }

    fn has_slips(&self) -> bool {
        self.zone_tables().any(|zone| zone.contains_key("slips"))
    }

    /// Returns the number of unmapped or reserved cylinders before the first block.
    fn reserved_cylinders(&self) -> Option<f64> {
        let first = *self.zones().first()?;
        let surfaces = self.float("geometry.surfaces")?;
        let spares = self.zone_tables().next()?.get("spares").and_then(number);
        let spare = match self.text("geometry.sparing") {
            Some("sectors-per-track") => spares.unwrap_or(0.0),
            _ => 0.0,
        };
        let tracks = first[6] * first[2] / (first[2] - spare);
        Some(first[0] + (tracks / surfaces).floor())
    }

    /// Returns the value of a key, such as `geometry.zones`.
    fn get(&self, path: &str) -> Option<&toml::Value> {
        let (table, key) = path.split_once('.')?;
        self.0.get(table)?.get(key)
    }

    fn float(&self, path: &str) -> Option<f64> {
        number(self.get(path)?)
    }

    fn text(&self, path: &str) -> Option<&str> {
        self.get(path)?.as_str()
    }
}

/// Converts a number, or a string of a number and a unit.
fn number(value: &toml::Value) -> Option<f64> {
    match value {
        toml::Value::Integer(number) => Some(*number as f64),
        toml::Value::Float(number) => Some(*number),
        toml::Value::String(text) => text.split(' ').next()?.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_the_paper_are_complete() {
        let drives: Vec<Drive> = entries("paper.toml", "drive", PAPER).unwrap();
        let numbers = |drive: &Drive| -> Vec<u32> {
            let cells = drive.cell.iter().map(|cell| cell.table);
            cells.chain(drive.zones_table).collect()
        };
        let mut numbers: Vec<u32> = drives.iter().flat_map(numbers).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers, (3..=22).collect::<Vec<u32>>());
        for cell in drives.iter().flat_map(|drive| &drive.cell) {
            let (is_visible, is_unseen) = (cell.value.is_some(), cell.unseen.is_some());
            assert_ne!(is_visible, is_unseen, "{} {}", cell.table, cell.name);
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
    fn times_have_a_tolerance_and_counts_must_be_equal() {
        let number = |number| Value {
            number: Some(number),
            shown: String::new(),
        };
        for (paper, value, decimals, found, is_same) in [
            ("0.90 ms", "overheads.read_completion", 2, 0.919, true),
            ("0.90 ms", "overheads.read_completion", 2, 0.921, false),
            ("17", "geometry.surfaces", 0, 17.0, true),
            ("17", "geometry.surfaces", 0, 18.0, false),
            ("1.37 GB", "capacity", 2, 1.3705, true),
            ("1.37 GB", "capacity", 2, 1.376, false),
        ] {
            let cell = cell(paper, value, decimals);
            assert_eq!(
                matches_paper(&cell, &number(found)),
                is_same,
                "{paper} {found}"
            );
        }
    }

    #[test]
    fn zones_show_what_differs() {
        assert_eq!(zone_cell(3.0, Some(3.0), Some(3.0)), "3");
        assert_eq!(zone_cell(3.0, Some(2.0), Some(2.0)), "2 [p 3]");
        assert_eq!(zone_cell(3.0, Some(3.0), Some(2.5)), "2.5 [p 3, m 3]");
        assert_eq!(zone_cell(3.0, None, None), "none [p 3]");
    }

    const TEXT: &str = "\
[geometry]
sectors = 2_050_860
sector_bytes = 512
surfaces = 14
sparing = \"sectors-per-track\"

[[geometry.zones]]
cylinders = [0, 2599]
sectors_per_track = 58
reserved_sectors = 23142 # of 29 cylinders
track_skew_sectors = 7.5
spares = 1

[mechanics]
rotation = \"11194029.85 ns\"

[buffer]
segment = \"57 sectors\"
caching = true
delivered = \"dropped\"

[overheads]
read_completion = \"0.113 ms\"
";

    #[test]
    fn values_have_the_form_of_the_paper() {
        let spec = Spec(toml::from_str(TEXT).unwrap());
        let shown = |name, decimals| spec.value(name, decimals).map(|value| value.shown);
        for (name, decimals, expected) in [
            ("capacity", 2, "1.05"),
            ("rpm", 0, "5360"),
            ("slipping", 0, "none"),
            ("sparing", 0, "sectors"),
            ("segment-kib", 1, "28.5"),
            ("read-ahead-kib", 1, "28.5"),
            ("reserved-cylinders", 0, "29"),
            ("overheads.read_completion", 2, "0.11"),
            ("overheads.write_completion", 2, "0.00"),
            ("buffer.caching", 0, "yes"),
            ("buffer.read_on_arrival", 0, "no"),
            ("buffer.delivered", 0, "dropped"),
            ("buffer.write_invalidates", 0, "segment"),
            ("geometry.surfaces", 0, "14"),
        ] {
            assert_eq!(shown(name, decimals).as_deref(), Some(expected), "{name}");
        }
        assert_eq!(shown("geometry.cylinders", 0), None);
        let zones = spec.zones();
        assert_eq!(zones[0], [0.0, 2598.0, 58.0, 0.0, 7.5, 0.0, 399.0, 0.0]);
    }
}
