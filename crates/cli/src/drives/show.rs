//! `diskarm drives show`: zones, seek curve, and the rest of a drive's specification.

use diskarm_results::drive;
use diskarm_simulate::Model;

use crate::drive_arg::{self, Changes};
use crate::error::Error;
use crate::output;

/// Show a drive and the sources of its figures
///
/// Zones, seek curve, buffer, overheads, bus and queue.
#[derive(clap::Args)]
pub struct Args {
    /// Drive: a name from the catalogue, or a .toml file
    #[arg(value_name = "NAME|FILE", long_help = drive_arg::long_help())]
    name: String,
    #[command(flatten)]
    changes: Changes,
    /// Print JSON: one object; names end in their unit
    #[arg(long)]
    json: bool,
    /// Print the specification itself, to start your own from
    #[arg(long, conflicts_with = "json")]
    toml: bool,
}

/// Prints one drive.
pub fn run(args: Args) -> Result<(), Error> {
    let model = Model::find(&args.name).map_err(|error| error.calling("NAME"))?;
    let model = args.changes.of(model)?;
    if args.toml {
        return output::print(&model.text);
    }
    if args.json {
        return output::print_json(&drive::object(&model.spec));
    }
    output::print(&drive::page(&model.spec))
}
