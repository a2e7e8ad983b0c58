//! `diskarm serve`: drives for other programs.

mod nbd;

use crate::error::Error;

/// Serve drives to other programs, in the drives' own time
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Nbd(nbd::Args),
}

/// Runs the command.
pub fn run(args: Args) -> Result<(), Error> {
    match args.command {
        Command::Nbd(args) => nbd::run(args),
    }
}
