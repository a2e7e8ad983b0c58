//! `cargo xtask counts`: instructions a request, held against recorded values.
//!
//! Callgrind counts the same program and input the same on any machine of one architecture, so
//! that unlike a time a count can fail a build.

use std::path::Path;
use std::process::{Command, ExitCode};

use super::{CASES, Case, DRAWN, Drawn, Programs, READ, Read, build, draw, simulate};

/// The recorded values, beside this crate's manifest.
const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/counts.toml");

/// A count may exceed its record by this much, because compilers differ a little.
const SLACK_PERCENT: u64 = 5;

/// Two lengths of a run; their difference leaves start-up out.
const REQUESTS: [u64; 2] = [10_000, 40_000];

/// Counts all cases; `--record` writes the counts down instead of comparing.
pub fn run(arguments: &[String]) -> ExitCode {
    let record = match arguments {
        [] => false,
        [flag] if flag == "--record" => true,
        _ => {
            eprintln!("usage: cargo xtask counts [--record]");
            return ExitCode::from(2);
        }
    };
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("counts: skipped, valgrind is not installed");
        return ExitCode::SUCCESS;
    }
    match if record { write() } else { compare() } {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("counts: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write() -> Result<bool, String> {
    let mut text = String::from(
        "# Instructions a request, measured by `cargo xtask counts --record` (callgrind,\n\
         # x86-64, release build). `cargo xtask counts` fails above these plus 5 %.\n",
    );
    for (name, count) in all()? {
        text += &format!("{name} = {count}\n");
        println!("counts: {name} {count}");
    }
    std::fs::write(RECORD, text).map_err(|error| format!("{RECORD}: {error}"))?;
    Ok(true)
}

fn compare() -> Result<bool, String> {
    let text = std::fs::read_to_string(RECORD).map_err(|error| format!("{RECORD}: {error}"))?;
    let recorded: toml::de::DeTable<'_> = toml::de::DeTable::parse(&text)
        .map_err(|error| format!("{RECORD}: {error}"))?
        .into_inner();
    let mut within = true;
    for (name, count) in all()? {
        let recorded = recorded
            .get(name)
            .and_then(|value| value.get_ref().as_integer())
            .and_then(|value| value.as_str().parse::<u64>().ok())
            .ok_or_else(|| format!("{RECORD}: no count of {name}"))?;
        let most = recorded * (100 + SLACK_PERCENT) / 100;
        let verdict = if count <= most { "ok" } else { "TOO MANY" };
        within &= count <= most;
        println!(
            "counts: {name:<16} {count:>6} instructions a request, recorded {recorded}, \
             at most {most}: {verdict}",
        );
    }
    Ok(within)
}

/// The counts of all that is measured, in the order of the tables.
fn all() -> Result<Vec<(&'static str, u64)>, String> {
    let programs = build()?;
    let cases = CASES
        .iter()
        .map(|case| Ok((case.name, of_case(&programs, case)?)));
    let drawn = DRAWN
        .iter()
        .map(|drawn| Ok((drawn.name, of_drawn(&programs, drawn)?)));
    let read = READ
        .iter()
        .map(|read| Ok((read.name, of_read(&programs, read)?)));
    cases.chain(drawn).chain(read).collect()
}

/// Instructions a request of `case`.
pub(super) fn of_case(programs: &Programs, case: &Case) -> Result<u64, String> {
    count(&programs.diskarm, case.name, |command, requests| {
        simulate(command, case, requests);
    })
}

/// Instructions a request that is drawn.
pub(super) fn of_drawn(programs: &Programs, drawn: &Drawn) -> Result<u64, String> {
    count(&programs.generate, drawn.name, |command, requests| {
        draw(command, drawn, requests);
    })
}

/// Instructions a request that is read from a file.
fn of_read(programs: &Programs, read: &Read) -> Result<u64, String> {
    let folder = std::env::temp_dir().join(format!("diskarm-counts-{}", std::process::id()));
    let failed = |error: std::io::Error| format!("{}: {error}", read.name);
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let trace = |requests: u64| folder.join(format!("{}-{requests}", read.format));
    let written = REQUESTS.iter().try_for_each(|requests| {
        let mut write = Command::new(&programs.readers);
        write.args(["write", read.format, &requests.to_string()]);
        let status = write.arg(trace(*requests)).status().map_err(failed)?;
        let problem = || format!("{}: no trace was written: {status}", read.name);
        status.success().then_some(()).ok_or_else(problem)
    });
    let counted = written.and_then(|()| {
        count(&programs.readers, read.name, |command, requests| {
            command.args(["read", read.format]).arg(trace(requests));
        })
    });
    std::fs::remove_dir_all(&folder).map_err(failed)?;
    counted
}

/// Instructions a request of what `say` tells `program` to do with so many.
fn count(program: &Path, name: &str, say: impl Fn(&mut Command, u64)) -> Result<u64, String> {
    let collected = |requests| {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        command.arg(program);
        say(&mut command, requests);
        collected(command).map_err(|error| format!("{name}: {error}"))
    };
    let [few, many] = REQUESTS;
    Ok(collected(many)?.saturating_sub(collected(few)?) / (many - few))
}

/// Instructions of a whole run under callgrind.
fn collected(mut command: Command) -> Result<u64, String> {
    let output = command
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    said.lines()
        .find_map(|line| line.split("Collected :").nth(1)?.trim().parse().ok())
        .ok_or_else(|| format!("valgrind counted nothing: {said}"))
}
