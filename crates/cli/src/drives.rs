//! `diskarm drives`: lists the catalogue, shows a drive, and makes new ones.

mod new;

use std::fmt::Write;

use diskarm_core::spec::Spec;
use diskarm_drives::CATALOGUE;
use diskarm_results::{drive, prose};
use diskarm_simulate::Model;
use serde::Serialize;

use crate::args::{self, Changes, Listing};
use crate::error::Error;
use crate::output;

/// List the catalogue of drives
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    /// Print JSON: an array with one object per drive; key names end in the unit
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(clap::Subcommand)]
enum Command {
    #[command(flatten)]
    Listing(Listing),
    Show(ShowArgs),
    New(new::Args),
}

pub fn run(args: Args) -> Result<(), Error> {
    match args.command {
        None => list(args.json),
        Some(Command::Listing(Listing::List { json })) => list(json),
        Some(Command::Show(args)) => show(args),
        Some(Command::New(args)) => new::run(args),
    }
}

#[derive(Serialize)]
struct DriveRow {
    name: &'static str,
    capacity_bytes: u64,
    rotation_rpm: f64,
    surfaces: u32,
    cylinders: u32,
    zones: usize,
    summary: String,
}

fn list(json: bool) -> Result<(), Error> {
    let rows = CATALOGUE.iter();
    let rows = rows.map(|entry| Ok(row(entry.name, Model::read(entry.text, entry.name)?.spec)));
    let rows: Vec<DriveRow> = rows.collect::<Result<_, Error>>()?;
    output::print_as(json, &rows, || table(&rows))
}

fn row(name: &'static str, spec: Spec) -> DriveRow {
    let geometry = &spec.geometry;
    DriveRow {
        name,
        capacity_bytes: geometry.sectors.0 * u64::from(geometry.sector_bytes),
        rotation_rpm: 60e9 / spec.mechanics.period_ns,
        surfaces: geometry.surfaces,
        cylinders: geometry.cylinders,
        zones: geometry.zones.len(),
        summary: spec.summary,
    }
}

/// Formats two lines per drive, because summaries are too long for a column.
fn table(rows: &[DriveRow]) -> String {
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

/// Show a drive and the sources of its values
///
/// Prints zones, seek curve, buffer, overheads, bus and queue.
#[derive(clap::Args)]
pub struct ShowArgs {
    /// Drive: a name from the catalogue, or a .toml file
    #[arg(value_name = "NAME|FILE", long_help = args::drive_help())]
    name: String,
    #[command(flatten)]
    changes: Changes,
    /// Print JSON: one object; key names end in the unit
    #[arg(long)]
    json: bool,
    /// Print the specification itself, as a starting point for your own
    #[arg(long)]
    toml: bool,
}

fn show(args: ShowArgs) -> Result<(), Error> {
    let model = Model::find(&args.name).map_err(|error| error.with_field("NAME"))?;
    let model = args.changes.apply(model)?;
    if args.toml {
        return output::print(&model.text);
    }
    let spec = &model.spec;
    output::print_as(args.json, &drive::object(spec), || drive::page(spec))
}
