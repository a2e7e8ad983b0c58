//! `diskarm serve`: serves drives to other programs.

mod ctl;
#[cfg(feature = "dashboard")]
mod dashboard;
mod iscsi;
mod nbd;
mod server;

use crate::error::Error;

/// Serve drives to other programs, with the drives' response times
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Ctl(ctl::Args),
    Iscsi(iscsi::Args),
    Nbd(nbd::Args),
}

pub fn run(args: Args) -> Result<(), Error> {
    match args.command {
        Command::Ctl(args) => ctl::run(args),
        Command::Iscsi(args) => iscsi::run(args),
        Command::Nbd(args) => nbd::run(args),
    }
}
