//! Checks the workspace and generates its documents; run as `cargo xtask <command>`.

mod calibrate;
mod digests;
mod docs;
mod program;
mod speed;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

struct Command {
    name: &'static str,
    /// The arguments, as shown in the message about an invalid command line.
    arguments: &'static str,
    summary: &'static str,
    run: fn(&[String]) -> Result<(), Error>,
}

enum Error {
    InvalidArguments,
    Failed(String),
}

impl From<String> for Error {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

const COMMANDS: &[Command] = &[
    Command {
        name: "tidy",
        arguments: "[--list]",
        summary: "check the style of the tree (--list: list the checks)",
        run: tidy::run,
    },
    Command {
        name: "docs",
        arguments: docs::PAGES,
        summary: "generate pages of the book (--help: list them)",
        run: docs::run,
    },
    Command {
        name: "calibrate",
        arguments: "",
        summary: "fit the measured drives of the catalogue to their traces in data/validation",
        run: calibrate::run,
    },
    Command {
        name: "counts",
        arguments: "[--record]",
        summary: "compare instructions per request with the record (--record: update it)",
        run: speed::counts,
    },
    Command {
        name: "digests",
        arguments: "[--record] [--study=NAME] [PROGRAM]",
        summary: "compare computed numbers with the record, to the bit (--record, --study=NAME)",
        run: digests::run,
    },
    Command {
        name: "simulate",
        arguments: "[--seeds N] ...",
        summary: "run whole servers in simulated time until a violation (--help: list the options)",
        run: simulate,
    },
    Command {
        name: "bench",
        arguments: "",
        summary: "print the performance table",
        run: speed::bench,
    },
];

/// Builds and runs the example `simulate` of the servers with `arguments`.
fn simulate(arguments: &[String]) -> Result<(), Error> {
    let run = "run --release --quiet --package diskarm-serve --example simulate --";
    let mut cargo = program::cargo(&root());
    let status = cargo.args(run.split(' ')).args(arguments).status();
    match status.map_err(|error| format!("cargo: {error}"))? {
        status if status.success() => Ok(()),
        status => Err(Error::Failed(status.to_string())),
    }
}

/// Exit status of an invalid command line.
const USAGE: u8 = 2;

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn file_error(path: impl AsRef<std::path::Path>, error: impl std::fmt::Display) -> String {
    format!("{}: {error}", path.as_ref().display())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some((name, rest)) = arguments.split_first()
        && let Some(command) = COMMANDS.iter().find(|command| command.name == name)
    {
        return match (command.run)(rest) {
            Ok(()) => ExitCode::SUCCESS,
            Err(Error::Failed(message)) => {
                eprintln!("{name}: {message}");
                ExitCode::FAILURE
            }
            Err(Error::InvalidArguments) => {
                eprintln!("usage: cargo xtask {name} {}", command.arguments);
                ExitCode::from(USAGE)
            }
        };
    }
    eprintln!("usage: cargo xtask <command>");
    for command in COMMANDS {
        eprintln!("  {:<10} {}", command.name, command.summary);
    }
    ExitCode::from(USAGE)
}
