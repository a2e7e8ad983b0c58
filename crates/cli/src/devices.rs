//! `diskarm devices`: lists the devices that can be stacked in front of a drive.

use std::fmt::Write;

use diskarm_results::prose::wrapped;
use diskarm_simulate::devices;

use crate::args::Listing;
use crate::error::Error;
use crate::output;

/// List the devices that can be stacked in front of a drive
#[derive(clap::Args)]
#[command(after_help = SYNTAX_HELP, args_conflicts_with_subcommands = true)]
pub struct Args {
    /// Print JSON: an array with one object per device
    #[arg(long)]
    json: bool,
    /// List only this device [default: all]
    #[arg(value_name = "NAME")]
    only: Option<String>,
    #[command(subcommand)]
    command: Option<Listing>,
}

const SYNTAX_HELP: &str = "\
Write a device as its name followed by parameters in parentheses. The parameter drive names the
drive or device below it. simulate, compare, studies and Python accept such a device stack:
--drive 'throttle(rate=100/s, drive=hp-c2247)'.

The list shows what a device must know about the device below it, and what policies in front of it
can learn: either block numbers only, or whatever the device below it provides.";

pub fn run(args: Args) -> Result<(), Error> {
    if Listing::is_json(args.command, args.json) {
        return output::print_json(&diskarm_results::devices());
    }
    let only = args.only.as_deref();
    let is_wanted = |name: &str| only.is_none_or(|only| only.eq_ignore_ascii_case(name));
    if let Some(only) = only.filter(|_| !devices::infos().any(|info| is_wanted(info.name))) {
        let expected = "a device (`diskarm devices` lists them)";
        return Err(Error::option("NAME", only, expected));
    }
    let mut text = String::new();
    for info in devices::infos().filter(|info| is_wanted(info.name)) {
        let _ = writeln!(text, "{}", info.name);
        text += &wrapped(info.summary, 4);
        text += &wrapped(&format!("needs: {}", info.needs.name()), 4);
        text += &wrapped(&format!("provides: {}", info.provided()), 4);
        text += &wrapped(&format!("example: {}", info.example), 4);
        for (syntax, meaning) in info.parameters {
            text += &wrapped(&format!("{syntax}: {meaning}"), 8);
        }
    }
    output::print(&text)
}
