//! Checks and generated documents of the workspace, run as `cargo xtask <command>`.

mod binary;
mod calibrate;
mod digests;
mod docs;
mod estimate;
mod papers;
mod speed;
mod tidy;
mod traces;

use std::path::PathBuf;
use std::process::ExitCode;

/// Something that `cargo xtask` does.
struct Command {
    /// What is typed.
    name: &'static str,
    /// One line for the list of commands.
    summary: &'static str,
    /// Does it with the arguments that follow the name.
    run: fn(&[String]) -> ExitCode,
}

/// One line a command.
const COMMANDS: &[Command] = &[
    Command {
        name: "tidy",
        summary: "hold the style of the tree (--list: name the checks)",
        run: tidy::run,
    },
    Command {
        name: "docs",
        summary: "generate docs/validation.md from ../shared",
        run: docs::run,
    },
    Command {
        name: "papers",
        summary: "run every study in full; generate docs/papers.md (with ../shared/traces)",
        run: papers::run,
    },
    Command {
        name: "calibrate",
        summary: "fit the measured drives of the catalogue to the traces of ../shared",
        run: calibrate::run,
    },
    Command {
        name: "counts",
        summary: "hold instructions a request against their record (--record: renew it)",
        run: speed::counts,
    },
    Command {
        name: "digests",
        summary: "hold computed numbers to their record, to the bit (--record: renew it)",
        run: digests::run,
    },
    Command {
        name: "bench",
        summary: "print the performance table",
        run: speed::bench,
    },
];

/// Exit status of a command line that says nothing we know.
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
