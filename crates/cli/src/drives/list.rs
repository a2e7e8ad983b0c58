//! The catalogue as a table.

use std::fmt::Write;

use diskarm_core::spec::Spec;
use diskarm_drives::CATALOGUE;
use diskarm_simulate::Model;
use serde::Serialize;

use crate::error::Error;
use crate::output;
use diskarm_results::prose;

/// A drive in the list.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    capacity_bytes: u64,
    rotation_rpm: f64,
    surfaces: u32,
    cylinders: u32,
    zones: usize,
    summary: String,
}

/// Prints the catalogue, as JSON or text.
pub fn run(json: bool) -> Result<(), Error> {
    let rows: Result<Vec<Row>, Error> = CATALOGUE
        .iter()
        .map(|entry| Ok(row(entry.name, Model::read(entry.text, entry.name)?.spec)))
        .collect();
    let rows = rows?;
    if json {
        return output::print_json(&rows);
    }
    output::print(&table(&rows))
}

fn row(name: &'static str, spec: Spec) -> Row {
    let geometry = &spec.geometry;
    Row {
        name,
        capacity_bytes: geometry.sectors.0 * u64::from(geometry.sector_bytes),
        rotation_rpm: 60e9 / spec.mechanics.period_ns,
        surfaces: geometry.surfaces,
        cylinders: geometry.cylinders,
        zones: geometry.zones.len(),
        summary: spec.summary,
    }
}

/// Two lines per drive: summaries are too long for a column.
fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<37}{:>9}{:>8}{:>9}{:>10}{:>6}\n",
        "name", "GB", "rpm", "surfaces", "cylinders", "zones"
    );
    for row in rows {
        let gb = row.capacity_bytes as f64 / 1e9;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<37}{gb:>9.3}{:>8.1}{:>9}{:>10}{:>6}",
            row.name, row.rotation_rpm, row.surfaces, row.cylinders, row.zones
        );
        text += &prose::wrapped(&row.summary, 4);
    }
    text
}
