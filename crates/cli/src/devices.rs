//! `diskarm devices`: the table of devices that can stand in front of a drive.

use std::fmt::Write;

use diskarm_results::listed;
use diskarm_results::prose::wrapped;
use diskarm_simulate::devices;

use crate::error::Error;
use crate::listing::Listing;
use crate::output;

/// List the devices that can stand in front of a drive
#[derive(clap::Args)]
#[command(after_help = WRITTEN, args_conflicts_with_subcommands = true)]
pub struct Args {
    /// Print JSON: an array of one object per device.
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    command: Option<Listing>,
}

const WRITTEN: &str = "\
Write a device as its name followed by parameters in parentheses. The parameter drive names what
stands behind it: a drive, or another device. Such a stack of devices is called a tower. simulate,
compare, studies and Python accept one: --drive 'throttle(rate=100/s, drive=hp-c2247)'.

The list shows what a device must know about the one behind it, and what policies in front of it can
learn: either block numbers only, or whatever the device behind it provides.";

/// Prints the table.
pub fn run(args: Args) -> Result<(), Error> {
    if Listing::is_json(args.command, args.json) {
        return output::print_json(&listed::devices());
    }
    let mut text = String::new();
    for info in devices::infos() {
        let _ = writeln!(text, "{}", info.name);
        text += &wrapped(info.summary, 4);
        text += &wrapped(&format!("needs: {}", info.needs.name()), 4);
        text += &wrapped(&format!("provides: {}", info.provided()), 4);
        text += &wrapped(&format!("example: {}", info.example), 4);
        for (written, meaning) in info.parameters {
            text += &wrapped(&format!("{written}: {meaning}"), 8);
        }
    }
    output::print(&text)
}
