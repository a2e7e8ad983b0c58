//! The command line of Diskarm: parses arguments, calls the model and prints.
//!
//! Each command has a file with an `Args` and a `run(args) -> Result<(), Error>`, a line in
//! [`Command`] and a line in [`run`]. The table in `rules` has the rules about combinations of
//! options. [`main_with`] runs the program.

mod args;
mod calibrate;
mod compare;
mod completions;
mod declustering;
mod devices;
mod drives;
mod error;
mod extract;
mod man;
mod output;
mod plot;
mod policies;
mod progress;
mod queueing;
mod rules;
mod scan;
mod serve;
mod simulate;
mod study;
mod trace;
mod usage;
mod validate;

use std::ffi::OsString;
use std::io::{self, Write};

use clap::{CommandFactory, FromArgMatches, Parser};
use error::Error;
use output::{Look, When};

/// Simulates mechanical disk drives and the scheduling of their requests
#[derive(Parser)]
#[command(
    name = "diskarm", version = diskarm_study::VERSION_AND_BUILD, max_term_width = 100,
    help_template = usage::TEMPLATE, after_help = usage::table::<Command>(),
)]
struct Cli {
    /// Write in colour: auto (on a terminal, unless NO_COLOR is set), always or never
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = When::Auto)]
    #[arg(global = true, display_order = 1000)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    color: When,

    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Calibrate(calibrate::Args),
    Compare(compare::Args),
    Completions(completions::Args),
    Declustering(declustering::Args),
    Devices(devices::Args),
    Drives(drives::Args),
    Extract(extract::Args),
    Man(man::Args),
    Policies(policies::Args),
    Queueing(queueing::Args),
    Scan(scan::Args),
    Serve(serve::Args),
    Simulate(simulate::Args),
    Study(study::Args),
    Trace(trace::Args),
    Validate(validate::Args),
}

fn run(command: Command) -> Result<(), Error> {
    match command {
        Command::Calibrate(args) => calibrate::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Completions(args) => {
            completions::run(&args, rules::describe_for_completions(Cli::command()))
        }
        Command::Declustering(args) => declustering::run(&args),
        Command::Devices(args) => devices::run(args),
        Command::Drives(args) => drives::run(args),
        Command::Extract(args) => extract::run(args),
        Command::Man(args) => man::run(&args, rules::describe(Cli::command())),
        Command::Policies(args) => policies::run(args),
        Command::Queueing(args) => queueing::run(args),
        Command::Scan(args) => scan::run(&args),
        Command::Serve(args) => serve::run(args),
        Command::Simulate(args) => simulate::run(args),
        Command::Study(args) => study::run(args),
        Command::Trace(args) => trace::run(args),
        Command::Validate(args) => validate::run(args),
    }
}

fn parse_and_run(arguments: impl IntoIterator<Item = OsString>) -> Result<(), Error> {
    let mut program = rules::describe(Cli::command());
    let matches = match program.try_get_matches_from_mut(arguments) {
        Ok(matches) => matches,
        Err(error) => return usage::report(&program, error),
    };
    rules::check(&program, &matches).map_err(Error::Failed)?;
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return usage::report(&program, error),
    };
    output::choose(cli.color);
    run(cli.command)
}

/// Runs the program with `arguments`, the first of which is its name; returns the exit code.
pub fn main_with(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    match parse_and_run(arguments) {
        Ok(()) => 0,
        Err(error) => {
            // If the message cannot be written, the exit code still shows the failure.
            let label = output::on_errors("error:", Look::Bad);
            let _ = writeln!(io::stderr(), "{label} {error}");
            error.code()
        }
    }
}
