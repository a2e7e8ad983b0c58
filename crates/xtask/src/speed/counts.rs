//! `cargo xtask counts`: compares instructions per request with recorded values.
//!
//! For the same program and input, Callgrind gives the same count on all machines of an
//! architecture, so, unlike a time, a count can fail a build.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{
    ARRAYS, CASES, Case, GENERATED, PAIR, Programs, QUEUES, READ, RECORDED, REPLAYED, SINGLE,
    replay, simulate,
};
use crate::{Error, file_error};

/// The recorded values, next to this crate's manifest.
const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/counts.toml");

/// A count may exceed its record by this much, because compilers differ slightly.
const SLACK_PERCENT: u64 = 5;

/// Two lengths of a run; their difference excludes start-up.
const REQUESTS: [u64; 2] = [10_000, 40_000];

/// Counts all cases; `--record` writes the counts instead of comparing.
pub fn run(arguments: &[String]) -> Result<(), Error> {
    let compare_or_write = match arguments {
        [] => compare,
        [flag] if flag == "--record" => write,
        _ => return Err(Error::InvalidArguments),
    };
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("counts: skipped, valgrind is not installed");
        return Ok(());
    }
    Ok(compare_or_write()?)
}

fn write() -> Result<(), String> {
    let mut text = String::from(
        "# Instructions per request, measured by `cargo xtask counts --record` (callgrind,\n\
         # x86-64, as shipped). `cargo xtask counts` fails above these plus 5 %.\n",
    );
    for (name, count) in all()? {
        text += &format!("{name} = {count}\n");
        println!("counts: {name} {count}");
    }
    fs::write(RECORD, text).map_err(|error| file_error(RECORD, error))
}

fn compare() -> Result<(), String> {
    let text = fs::read_to_string(RECORD).map_err(|error| file_error(RECORD, error))?;
    let recorded: BTreeMap<String, u64> =
        toml::from_str(&text).map_err(|error| file_error(RECORD, error))?;
    let counts = all()?;
    let mut is_within = is_boxing_cheap(&counts);
    for (name, count) in counts {
        let recorded = recorded
            .get(&name)
            .ok_or_else(|| format!("{RECORD}: no count of {name}"))?;
        let max = recorded * (100 + SLACK_PERCENT) / 100;
        let verdict = if count <= max { "ok" } else { "TOO MANY" };
        is_within &= count <= max;
        println!(
            "counts: {name:<16} {count:>6} instructions per request, recorded {recorded}, \
             at most {max}: {verdict}",
        );
    }
    if is_within {
        Ok(())
    } else {
        Err("a case takes too many instructions".to_owned())
    }
}

/// Returns true if a queue in front of a boxed drive takes at most 10 % more instructions than in
/// front of a plain one.
fn is_boxing_cheap(counts: &[(String, u64)]) -> bool {
    let [plain, boxed] = QUEUES.map(|kind| {
        let name = format!("queue-{kind}");
        let count = counts.iter().find(|(counted, _)| *counted == name);
        count.map_or(0, |(_, count)| *count)
    });
    let is_cheap = boxed * 100 <= plain * 110;
    let verdict = if is_cheap { "ok" } else { "TOO MANY" };
    println!(
        "counts: a boxed drive takes {boxed}, a plain one {plain}, at most 10 % more: {verdict}"
    );
    is_cheap
}

/// Returns the counts of all cases, in the order of the tables.
fn all() -> Result<Vec<(String, u64)>, String> {
    let programs = Programs::build()?;
    let readers = programs.example("readers");
    let mut counts = Vec::new();
    let arrays = ARRAYS
        .iter()
        .filter(|case| RECORDED.split(' ').any(|name| name == case.name));
    for case in CASES.iter().chain([&SINGLE, &PAIR]).chain(arrays) {
        counts.push((case.name.to_owned(), of_case(&programs, case)?));
    }
    for kind in QUEUES {
        let name = format!("queue-{kind}");
        let count = count(&programs.example("queue"), &name, |command, requests| {
            command.args([kind, &requests.to_string()]);
        })?;
        counts.push((name, count));
    }
    for (format, drive) in REPLAYED {
        let name = format!("replay-{format}");
        let count = with_traces(&readers, &name, format, |trace| {
            count(&programs.diskarm(), &name, |command, requests| {
                replay(command, format, drive, &trace(requests));
            })
        })?;
        counts.push((name, count));
    }
    for &(name, workload) in GENERATED {
        counts.push((name.to_owned(), of_generated(&programs, name, workload)?));
    }
    for format in READ.split(' ') {
        let name = format!("read-{format}");
        let count = with_traces(&readers, &name, format, |trace| {
            count(&readers, &name, |command, requests| {
                command.args(["read", format]).arg(trace(requests));
            })
        })?;
        counts.push((name, count));
    }
    Ok(counts)
}

/// Returns the instructions per request of `case`.
pub(super) fn of_case(programs: &Programs, case: &Case) -> Result<u64, String> {
    count(&programs.diskarm(), case.name, |command, requests| {
        simulate(command, case, requests);
    })
}

/// Returns the instructions per generated request.
pub(super) fn of_generated(programs: &Programs, name: &str, workload: &str) -> Result<u64, String> {
    count(&programs.example("generate"), name, |command, requests| {
        command.args([&requests.to_string(), workload]);
    })
}

/// Returns the count by `count` over traces in `format`, whose files its argument returns by size.
fn with_traces(
    readers: &Path,
    name: &str,
    format: &str,
    count: impl FnOnce(&dyn Fn(u64) -> PathBuf) -> Result<u64, String>,
) -> Result<u64, String> {
    let folder = std::env::temp_dir().join(format!("diskarm-counts-{}", std::process::id()));
    let failed = |error: std::io::Error| format!("{name}: {error}");
    fs::create_dir_all(&folder).map_err(failed)?;
    let trace = |requests: u64| folder.join(format!("{format}-{requests}"));
    let written = REQUESTS.iter().try_for_each(|requests| {
        let mut write = Command::new(readers);
        write.args(["write", format, &requests.to_string()]);
        let status = write.arg(trace(*requests)).status().map_err(failed)?;
        if !status.success() {
            return Err(format!("{name}: no trace was written: {status}"));
        }
        Ok(())
    });
    let counted = written.and_then(|()| count(&trace));
    fs::remove_dir_all(&folder).map_err(failed)?;
    counted
}

/// Returns the instructions per request of `program`; `add` adds arguments for a request count.
fn count(program: &Path, name: &str, add: impl Fn(&mut Command, u64)) -> Result<u64, String> {
    let collected = |requests| {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        command.arg(program);
        add(&mut command, requests);
        collected(command).map_err(|error| format!("{name}: {error}"))
    };
    let [few, many] = REQUESTS;
    Ok(collected(many)?.saturating_sub(collected(few)?) / (many - few))
}

/// Returns the instructions of a run under callgrind.
fn collected(mut command: Command) -> Result<u64, String> {
    let output = command
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let message = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{}: {message}", output.status));
    }
    message
        .lines()
        .find_map(|line| line.split("Collected :").nth(1)?.trim().parse().ok())
        .ok_or_else(|| format!("valgrind counted nothing: {message}"))
}
