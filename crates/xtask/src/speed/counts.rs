//! `cargo xtask counts`: instructions a request, held against recorded values.
//!
//! Callgrind counts the same program and input the same on any machine of one architecture, so
//! that unlike a time a count can fail a build.

use std::path::Path;
use std::process::{Command, ExitCode};

use super::{CASES, Case, simulate};
use crate::binary::build;

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
    let binary = build()?;
    let mut text = String::from(
        "# Instructions a request, measured by `cargo xtask counts --record` (callgrind,\n\
         # x86-64, release build). `cargo xtask counts` fails above these plus 5 %.\n",
    );
    for case in CASES {
        let count = count(&binary, case)?;
        text += &format!("{} = {count}\n", case.name);
        println!("counts: {} {count}", case.name);
    }
    std::fs::write(RECORD, text).map_err(|error| format!("{RECORD}: {error}"))?;
    Ok(true)
}

fn compare() -> Result<bool, String> {
    let text = std::fs::read_to_string(RECORD).map_err(|error| format!("{RECORD}: {error}"))?;
    let recorded: toml::de::DeTable<'_> = toml::de::DeTable::parse(&text)
        .map_err(|error| format!("{RECORD}: {error}"))?
        .into_inner();
    let binary = build()?;
    let mut within = true;
    for case in CASES {
        let recorded = recorded
            .get(case.name)
            .and_then(|value| value.get_ref().as_integer())
            .and_then(|value| value.as_str().parse::<u64>().ok())
            .ok_or_else(|| format!("{RECORD}: no count of {}", case.name))?;
        let count = count(&binary, case)?;
        let most = recorded * (100 + SLACK_PERCENT) / 100;
        let verdict = if count <= most { "ok" } else { "TOO MANY" };
        within &= count <= most;
        println!(
            "counts: {:<16} {count:>6} instructions a request, recorded {recorded}, \
             at most {most}: {verdict}",
            case.name
        );
    }
    Ok(within)
}

/// Instructions a request of `case`.
pub(super) fn count(binary: &Path, case: &Case) -> Result<u64, String> {
    let [few, many] = REQUESTS;
    let difference = collected(binary, case, many)?.saturating_sub(collected(binary, case, few)?);
    Ok(difference / (many - few))
}

/// Instructions of a whole run.
fn collected(binary: &Path, case: &Case, requests: u64) -> Result<u64, String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(binary);
    simulate(&mut command, case, requests);
    let output = command
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    said.lines()
        .find_map(|line| line.split("Collected :").nth(1)?.trim().parse().ok())
        .ok_or_else(|| format!("valgrind counted nothing for {}: {said}", case.name))
}
