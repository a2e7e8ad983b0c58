//! `diskarm drives`: the catalogue, single drives, and new ones.

mod list;
mod new;
mod show;

use crate::error::Error;
use crate::listing::Listing;

/// List the catalogue of drives
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    /// Print JSON: an array with one object per drive; names end in their unit
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(clap::Subcommand)]
enum Command {
    #[command(flatten)]
    Listing(Listing),
    Show(show::Args),
    New(new::Args),
}

/// Prints the list, or one drive.
pub fn run(args: Args) -> Result<(), Error> {
    match args.command {
        None => list::run(args.json),
        Some(Command::Listing(Listing::List { json })) => list::run(json),
        Some(Command::Show(args)) => show::run(args),
        Some(Command::New(args)) => new::run(args),
    }
}
