//! Checks and generated documents of the workspace, run as `cargo xtask <command>`.

mod calibrate;
mod digests;
mod docs;
mod fuzz;
mod mutants;
mod program;
mod speed;
mod tidy;
mod traces;

use std::path::PathBuf;
use std::process::ExitCode;

/// A subcommand of `cargo xtask`.
struct Command {
    name: &'static str,
    summary: &'static str,
    /// Runs it with the arguments after the name.
    run: fn(&[String]) -> ExitCode,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "tidy",
        summary: "check the style of the tree (--list: list the checks)",
        run: tidy::run,
    },
    Command {
        name: "docs",
        summary: "generate pages of the book (--help: list them)",
        run: docs::run,
    },
    Command {
        name: "calibrate",
        summary: "fit the measured drives of the catalogue to their traces in data/validation",
        run: calibrate::run,
    },
    Command {
        name: "counts",
        summary: "compare instructions per request with their record (--record: renew it)",
        run: speed::counts,
    },
    Command {
        name: "digests",
        summary: "compare computed numbers with their record, to the bit (--record, --study=NAME)",
        run: digests::run,
    },
    Command {
        name: "fuzz",
        summary: "feed random input to every parser (an argument: seconds for each)",
        run: fuzz::run,
    },
    Command {
        name: "mutants",
        summary: "change lines of core and see whether a test fails (an argument: the seed)",
        run: mutants::run,
    },
    Command {
        name: "bench",
        summary: "print the performance table",
        run: speed::bench,
    },
];

/// Exit status of an invalid command line.
const USAGE: u8 = 2;

/// The root of the workspace.
fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some((name, rest)) = arguments.split_first()
        && let Some(command) = COMMANDS.iter().find(|command| command.name == name)
    {
        return (command.run)(rest);
    }
    eprintln!("usage: cargo xtask <command>");
    for command in COMMANDS {
        eprintln!("  {:<10} {}", command.name, command.summary);
    }
    ExitCode::from(USAGE)
}
