//! `diskarm trace`: a summary of a trace, its first records, and conversion to another format.

mod convert;
mod head;
mod info;
pub mod input;

use crate::error::Error;

/// Inspect and convert block traces
///
/// The format and the compression (gzip, zstd, xz, bzip2) are detected from the content. If a trace
/// consists of several files, one per processor (blktrace), any of them opens all.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Info(info::Args),
    Head(head::Args),
    Convert(convert::Args),
}

pub fn run(args: Args) -> Result<(), Error> {
    match args.command {
        Command::Info(args) => info::run(args),
        Command::Head(args) => head::run(args),
        Command::Convert(args) => convert::run(args),
    }
}
