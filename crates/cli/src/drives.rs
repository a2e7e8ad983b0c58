//! `diskarm drives`: the catalogue.

use std::fmt::Write;

use diskarm_core::spec::Spec;
use diskarm_drives::CATALOGUE;
use serde::Serialize;

use crate::drive_arg;
use crate::error::Error;
use crate::output;

/// List the catalogue of drives.
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON: an array with an object a drive.
    #[arg(long)]
    json: bool,
}

/// A row of the list.
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

/// Prints the catalogue.
pub fn run(args: Args) -> Result<(), Error> {
    let rows: Result<Vec<Row>, Error> = CATALOGUE
        .iter()
        .map(|entry| Ok(row(entry.name, drive_arg::read(entry.text, entry.name)?.0)))
        .collect();
    let rows = rows?;
    if args.json {
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

fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let _ = writeln!(text, "{} {}", row.name, row.summary);
    }
    text
}
