//! `cargo xtask counts`: compares instructions per request with recorded values.
//!
//! For the same program and input, Callgrind gives the same count on all machines of an
//! architecture, so, unlike a time, a count can fail a build.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::arrays;
use super::{
    CASES, Case, GENERATED, Generated, Programs, QUEUES, READ, REPLAYED, Read, Replayed, build,
    generate, replay, simulate,
};

/// The recorded values, next to this crate's manifest.
const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/counts.toml");

/// A count may exceed its record by this much, because compilers differ slightly.
const SLACK_PERCENT: u64 = 5;

/// Two lengths of a run; their difference excludes start-up.
const REQUESTS: [u64; 2] = [10_000, 40_000];

/// Counts all cases; `--record` writes the counts instead of comparing.
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
        "# Instructions per request, measured by `cargo xtask counts --record` (callgrind,\n\
         # x86-64, as shipped). `cargo xtask counts` fails above these plus 5 %.\n",
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
    let counts = all()?;
    let mut within = is_boxing_cheap(&counts);
    for (name, count) in counts {
        let recorded = recorded
            .get(name)
            .and_then(|value| value.get_ref().as_integer())
            .and_then(|value| value.as_str().parse::<u64>().ok())
            .ok_or_else(|| format!("{RECORD}: no count of {name}"))?;
        let max = recorded * (100 + SLACK_PERCENT) / 100;
        let verdict = if count <= max { "ok" } else { "TOO MANY" };
        within &= count <= max;
        println!(
            "counts: {name:<16} {count:>6} instructions per request, recorded {recorded}, \
             at most {max}: {verdict}",
        );
    }
    Ok(within)
}

/// Whether a queue in front of a boxed drive takes at most 10 % more instructions than in front of
/// a plain one.
fn is_boxing_cheap(counts: &[(&str, u64)]) -> bool {
    let [plain, boxed] = QUEUES.map(|(name, _)| {
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

/// The counts of all cases, in the order of the tables.
fn all() -> Result<Vec<(&'static str, u64)>, String> {
    let programs = build()?;
    let cases = CASES
        .iter()
        .chain(arrays::recorded())
        .map(|case| Ok((case.name, of_case(&programs, case)?)));
    let queues = QUEUES
        .iter()
        .map(|(name, kind)| Ok((*name, of_queue(&programs, name, kind)?)));
    let generated = GENERATED
        .iter()
        .map(|workload| Ok((workload.name, of_generated(&programs, workload)?)));
    let read = READ
        .iter()
        .map(|read| Ok((read.name, of_read(&programs, read)?)));
    let replayed = REPLAYED
        .iter()
        .map(|replayed| Ok((replayed.name, of_replay(&programs, replayed)?)));
    let simulated = cases.chain(queues).chain(replayed);
    simulated.chain(generated).chain(read).collect()
}

/// Instructions per request of `case`.
pub(super) fn of_case(programs: &Programs, case: &Case) -> Result<u64, String> {
    count(&programs.diskarm, case.name, |command, requests| {
        simulate(command, case, requests);
    })
}

/// Instructions per request through a queue.
fn of_queue(programs: &Programs, name: &str, kind: &str) -> Result<u64, String> {
    count(&programs.queue, name, |command, requests| {
        command.args([kind, &requests.to_string()]);
    })
}

/// Instructions per generated request.
pub(super) fn of_generated(programs: &Programs, workload: &Generated) -> Result<u64, String> {
    count(&programs.generate, workload.name, |command, requests| {
        generate(command, workload, requests);
    })
}

/// Instructions per request read from a file.
fn of_read(programs: &Programs, read: &Read) -> Result<u64, String> {
    with_traces(programs, read.name, read.format, |trace| {
        count(&programs.readers, read.name, |command, requests| {
            command.args(["read", read.format]).arg(trace(requests));
        })
    })
}

/// Instructions per request replayed from a file.
fn of_replay(programs: &Programs, replayed: &Replayed) -> Result<u64, String> {
    with_traces(programs, replayed.name, replayed.format, |trace| {
        count(&programs.diskarm, replayed.name, |command, requests| {
            replay(command, replayed, &trace(requests));
        })
    })
}

/// What `count` counts with traces in `format`, whose file by number of requests it is given.
fn with_traces(
    programs: &Programs,
    name: &str,
    format: &str,
    count: impl FnOnce(&dyn Fn(u64) -> PathBuf) -> Result<u64, String>,
) -> Result<u64, String> {
    let folder = std::env::temp_dir().join(format!("diskarm-counts-{}", std::process::id()));
    let failed = |error: std::io::Error| format!("{name}: {error}");
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let trace = |requests: u64| folder.join(format!("{format}-{requests}"));
    let written = REQUESTS.iter().try_for_each(|requests| {
        let mut write = Command::new(&programs.readers);
        write.args(["write", format, &requests.to_string()]);
        let status = write.arg(trace(*requests)).status().map_err(failed)?;
        let problem = || format!("{name}: no trace was written: {status}");
        status.success().then_some(()).ok_or_else(problem)
    });
    let counted = written.and_then(|()| count(&trace));
    std::fs::remove_dir_all(&folder).map_err(failed)?;
    counted
}

/// Instructions per request of `program`, whose arguments for a number of requests `add` adds.
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

/// Instructions of a run under callgrind.
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
