//! Checks and generated documents of the workspace, run as `cargo xtask <command>`.

mod speed;
mod tidy;

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
        name: "counts",
        summary: "hold instructions a request against their record (--record: renew it)",
        run: speed::counts,
    },
    Command {
        name: "bench",
        summary: "print the performance table",
        run: speed::bench,
    },
];

/// Exit status of a command line that says nothing we know.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some((name, rest)) = arguments.split_first()
        && let Some(command) = COMMANDS.iter().find(|command| command.name == name)
    {
        return (command.run)(rest);
    }
    eprintln!("usage: cargo xtask <command>");
    for command in COMMANDS {
        eprintln!("  {:<8} {}", command.name, command.summary);
    }
    ExitCode::from(USAGE)
}
