//! `cargo xtask counts`: compares instructions per request with recorded values.
//!
//! For the same program and input, Callgrind gives the same count on all machines of an
//! architecture. A build can therefore check counts, but not times.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rayon::prelude::*;

use super::{
    ARRAYS, CASES, Case, GENERATED, PAIR, QUEUES, READ, RECORDED, REPLAYED, SINGLE, example,
    replay, simulate,
};
use crate::{Error, file_error, program};

/// The recorded values, next to this crate's manifest.
const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/counts.toml");

/// A count may exceed its record by this much, because compilers differ slightly.
const SLACK_PERCENT: u64 = 5;

/// The requests of a short and a long run; the difference of their counts excludes start-up.
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
         # x86-64, as shipped). `cargo xtask counts` fails if a count is over 5 % higher.\n",
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

/// Returns true if a queue in front of a boxed drive takes at most 10 % more instructions than one
/// in front of a plain drive.
fn is_boxing_cheap(counts: &[(String, u64)]) -> bool {
    let [plain, boxed] = QUEUES.map(|kind| {
        let name = format!("queue-{kind}");
        let count = counts.iter().find(|(counted, _)| *counted == name);
        count.map_or(0, |(_, count)| *count)
    });
    let is_cheap = boxed * 100 <= plain * 110;
    let verdict = if is_cheap { "ok" } else { "TOO MANY" };
    println!(
        "counts: {boxed} with a boxed drive, {plain} with a plain one, limit 10 % more: {verdict}"
    );
    is_cheap
}

/// Counts the instructions per request of a case.
type Job<'a> = Box<dyn Fn() -> Result<u64, String> + Send + 'a>;

/// Returns the counts of all cases, in the order of the tables. Other work does not change a count,
/// so all processors are used.
fn all() -> Result<Vec<(String, u64)>, String> {
    program::build()?;
    let mut jobs: Vec<(String, Job)> = Vec::new();
    let is_recorded = |case: &&Case| RECORDED.split(' ').any(|name| name == case.name);
    let arrays = ARRAYS.iter().filter(is_recorded);
    for case in CASES.iter().chain([&SINGLE, &PAIR]).chain(arrays) {
        jobs.push((case.name.to_owned(), Box::new(|| of_case(case))));
    }
    for kind in QUEUES {
        let job = move || {
            count(&example("queue")?, |command, requests| {
                command.args([kind, &requests.to_string()]);
            })
        };
        jobs.push((format!("queue-{kind}"), Box::new(job)));
    }
    for (format, drive) in REPLAYED {
        let job = move || {
            with_traces(format, |trace| {
                count(&program::build()?, |command, requests| {
                    replay(command, format, drive, &trace(requests));
                })
            })
        };
        jobs.push((format!("replay-{format}"), Box::new(job)));
    }
    for &(name, workload) in GENERATED {
        jobs.push((name.to_owned(), Box::new(|| of_generated(workload))));
    }
    for format in READ.split(' ') {
        let job = move || {
            with_traces(format, |trace| {
                count(&example("readers")?, |command, requests| {
                    command.args(["read", format]).arg(trace(requests));
                })
            })
        };
        jobs.push((format!("read-{format}"), Box::new(job)));
    }
    let counts = jobs.into_par_iter().map(|(name, job)| match job() {
        Ok(count) => Ok((name, count)),
        Err(error) => Err(format!("{name}: {error}")),
    });
    counts.collect()
}

/// Returns the instructions per request of `case`.
pub(super) fn of_case(case: &Case) -> Result<u64, String> {
    count(&program::build()?, |command, requests| {
        simulate(command, case, requests);
    })
}

/// Returns the instructions per generated request.
pub(super) fn of_generated(workload: &str) -> Result<u64, String> {
    count(&example("generate")?, |command, requests| {
        command.args([&requests.to_string(), workload]);
    })
}

/// Writes traces in `format` for `count`, whose argument returns the path by number of requests.
fn with_traces(
    format: &str,
    count: impl FnOnce(&dyn Fn(u64) -> PathBuf) -> Result<u64, String>,
) -> Result<u64, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let trace = |requests: u64| folder.path().join(requests.to_string());
    for requests in REQUESTS {
        let mut write = Command::new(example("readers")?);
        write.args(["write", format, &requests.to_string()]);
        let written = write.arg(trace(requests)).status();
        let written = written.map_err(|error| format!("readers: {error}"))?;
        if !written.success() {
            return Err(format!("no trace was written: {written}"));
        }
    }
    count(&trace)
}

/// Returns the instructions per request of `program`; `add` adds the arguments of a run.
fn count(program: &Path, add: impl Fn(&mut Command, u64)) -> Result<u64, String> {
    let collected = |requests| {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        command.arg(program);
        add(&mut command, requests);
        collected(command)
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
