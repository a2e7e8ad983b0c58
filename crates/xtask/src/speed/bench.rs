//! `cargo xtask bench`: prints the performance table, without checking it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{
    ARRAYS, CASES, Case, GENERATED, GENERATED_TARGET_MREQ_PER_S, HUNDRED_TARGET_MREQ_PER_S, PAIR,
    PAIR_TARGET, SINGLE, WITHOUT_DECISION, counts, example, simulate,
};
use crate::{Error, program};

/// The number of requests of a timed run.
const REQUESTS: u64 = 250_000;

/// The number of timed runs of a case. The table has the median, because machines are shared.
const RUNS: usize = 5;

/// The number of requests of the run that shows that memory use is constant.
const MANY_REQUESTS: u64 = 100_000_000;

/// The numbers of requests of the two runs that show the same for arrays.
const ARRAY_REQUESTS: [u64; 2] = [1_000_000, 10_000_000];

/// The fewest instructions per request of the complete model, from Callgrind's counts for the
/// indispensable lines of `fcfs-open`: 110 to draw a request, 80 to locate it, 70 to position and
/// transfer it, 85 to report it, 35 in the engine, and 70 on times and angles.
const FLOOR: f64 = 450.0;

/// The study that is run on one and on two processors.
const STUDY: &str = "worthington94-fig3";

pub fn run(arguments: &[String]) -> Result<(), Error> {
    if !arguments.is_empty() {
        return Err(Error::InvalidArguments);
    }
    let binary = &program::build()?;
    println!("hp-c2247, 8 KB uniformly random, 2:1 reads to writes, {REQUESTS} requests;");
    println!("median of {RUNS} runs on one core, wall clock; instructions by callgrind\n");
    println!(
        "{:<18} {:>8} {:>7} {:>8} {:>6} {:>13} {:>7} {:>7}",
        "case", "M req/s", "target", "DiskSim", "ratio", "instructions", "target", "floors"
    );
    let mut counted = Vec::new();
    for case in CASES {
        let speed = median(|| requests_per_s(binary, case))? / 1e6;
        let count = counts::of_case(case).ok();
        counted.extend(count.map(|count| (case, count)));
        println!(
            "{:<18} {speed:>8.2} {:>7} {:>8} {:>6} {:>13} {:>7} {:>7}",
            case.name,
            or_dash(case.target_mreq_per_s.map(|target| format!("{target:.1}"))),
            or_dash(case.disksim_mreq_per_s.map(|theirs| format!("{theirs:.4}"))),
            or_dash(
                case.disksim_mreq_per_s
                    .map(|theirs| format!("{:.0}x", speed / theirs))
            ),
            or_dash(count),
            or_dash(case.target_instructions),
            or_dash(count.map(|count| format!("{:.1}", count as f64 / FLOOR))),
        );
    }
    growth(&counted);
    arrays(binary)?;
    misses(binary)?;
    study(binary)?;
    generated()?;
    read()?;
    let peak = peak_kib(binary, &CASES[0], MANY_REQUESTS)?;
    println!(
        "\n{MANY_REQUESTS} requests, {}: at most {peak} KiB",
        CASES[0].name
    );
    Ok(())
}

fn or_dash(cell: Option<impl ToString>) -> String {
    cell.map_or("-".to_owned(), |cell| cell.to_string())
}

/// Prints the instructions per SPTF decision at several queue lengths: the additional cost of a
/// request compared with a case without decisions.
fn growth(counted: &[(&Case, u64)]) {
    let plain = counted
        .iter()
        .find(|(case, _)| case.name == WITHOUT_DECISION);
    let Some((_, without)) = plain else {
        return;
    };
    println!("\nThe cost of an SPTF decision, compared with {WITHOUT_DECISION}:");
    for (case, count) in counted.iter().filter(|(case, _)| case.policy == "sptf") {
        let (outstanding, decision) = (case.load[1], count - without);
        println!("{outstanding:>6} outstanding {decision:>8} instructions");
    }
}

/// Prints the speed of pairs and arrays, and the cost of their requests by number of disks.
fn arrays(binary: &Path) -> Result<(), String> {
    let ratio = median(|| Ok(requests_per_s(binary, &PAIR)? / requests_per_s(binary, &SINGLE)?))?;
    println!(
        "\n{}: {ratio:.2} times the requests per second of {}, target {PAIR_TARGET}",
        PAIR.name, SINGLE.name
    );
    println!("\nArrays, first come first served, 4 requests outstanding per disk:");
    println!(
        "{:<18} {:>8} {:>7} {:>13} {:>9}",
        "case", "M req/s", "target", "instructions", "peak, KiB"
    );
    let has_hundred = |case: &Case| case.name.ends_with("-100");
    for case in ARRAYS {
        let speed = median(|| requests_per_s(binary, case))? / 1e6;
        let target = has_hundred(case).then(|| format!("{HUNDRED_TARGET_MREQ_PER_S:.1}"));
        println!(
            "{:<18} {speed:>8.2} {:>7} {:>13} {:>9}",
            case.name,
            or_dash(target),
            or_dash(counts::of_case(case).ok()),
            peak_kib(binary, case, REQUESTS)?,
        );
    }
    if let Some(case) = ARRAYS.iter().find(|case| has_hundred(case)) {
        let [few, many] = ARRAY_REQUESTS;
        let [peak_few, peak_many] = [peak_kib(binary, case, few)?, peak_kib(binary, case, many)?];
        println!(
            "\n{}: at most {peak_few} KiB in {few} requests, {peak_many} KiB in {many}",
            case.name
        );
    }
    Ok(())
}

/// Prints cache and branch misses, if the machine counts them.
fn misses(binary: &Path) -> Result<(), String> {
    const EVENTS: [&str; 2] = ["cache-misses", "branch-misses"];
    println!("\nMisses per request ({}):", EVENTS.join(", "));
    for case in CASES {
        let mut command = Command::new("perf");
        command.args(["stat", "-x,", "-e", &EVENTS.join(","), "--"]);
        simulate(command.arg(binary), case, REQUESTS);
        let Ok(output) = command.output() else {
            println!("not counted: perf is not installed");
            return Ok(());
        };
        let text = String::from_utf8_lossy(&output.stderr);
        let counted = EVENTS.map(|event| {
            let line = text.lines().find(|line| line.contains(event))?;
            line.split(',').next()?.parse::<f64>().ok()
        });
        let [Some(cache), Some(branch)] = counted else {
            println!("not counted: this machine does not support it");
            return Ok(());
        };
        let each = |misses: f64| misses / REQUESTS as f64;
        println!(
            "{:<18} {:>8.2} {:>8.2}",
            case.name,
            each(cache),
            each(branch)
        );
    }
    Ok(())
}

/// Prints the speed-up of a study from a second processor.
fn study(binary: &Path) -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("diskarm-bench-{}", std::process::id()));
    let seconds = |jobs: &str| -> Result<f64, String> {
        let mut command = Command::new(binary);
        command.args(["study", "run", STUDY, "--quick", "--jobs", jobs, "-o"]);
        command
            .arg(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let begun = Instant::now();
        let status = command.stderr(Stdio::null()).status();
        let took = begun.elapsed().as_secs_f64();
        std::fs::remove_dir_all(&folder).map_err(|error| format!("{STUDY}: {error}"))?;
        match status {
            Ok(status) if status.success() => Ok(took),
            other => Err(format!("{STUDY}: {other:?}")),
        }
    };
    let ratio = median(|| Ok(seconds("1")? / seconds("2")?))?;
    println!("\n{STUDY}, short form: {ratio:.2} times as fast on two processors, target 1.95");
    Ok(())
}

/// Prints the part of the table about requests that are generated but not served.
fn generated() -> Result<(), String> {
    println!("\n{GENERATED_REQUESTS} requests generated, not served:");
    for &(name, workload) in GENERATED {
        let speed = median(|| generated_per_s(name, workload))? / 1e6;
        let count = or_dash(counts::of_generated(workload).ok());
        println!(
            "{name:<16} {speed:>10.2} {GENERATED_TARGET_MREQ_PER_S:>8.1} {:>18} {count:>13}",
            "",
        );
    }
    Ok(())
}

/// Prints the speed of all trace readers, measured by their example.
fn read() -> Result<(), String> {
    let output = Command::new(example("readers")?).output();
    let output = output.map_err(|error| format!("readers: {error}"))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(format!("readers: {}", message.trim()));
    }
    println!("\nTraces read from memory; targets 300 MB/s for text, 1000 MB/s for binary:");
    print!("{}", String::from_utf8_lossy(&output.stdout));
    Ok(())
}

fn median(run: impl Fn() -> Result<f64, String>) -> Result<f64, String> {
    let mut speeds = (0..RUNS).map(|_| run()).collect::<Result<Vec<f64>, _>>()?;
    speeds.sort_by(f64::total_cmp);
    Ok(speeds[RUNS / 2])
}

/// The number of requests of a timed run that only generates them, in half a second.
const GENERATED_REQUESTS: u64 = 10_000_000;

/// Returns the speed of generation, as measured by the example.
fn generated_per_s(name: &str, workload: &str) -> Result<f64, String> {
    let output = Command::new(example("generate")?)
        .args([&GENERATED_REQUESTS.to_string(), workload])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let speed = text.trim().parse();
    speed.map_err(|_| format!("{name}: no speed in {text:?}"))
}

/// Returns the speed of a case, as measured by `diskarm`.
fn requests_per_s(binary: &Path, case: &Case) -> Result<f64, String> {
    let mut command = Command::new(binary);
    simulate(&mut command, case, REQUESTS);
    let output = command.output().map_err(|error| error.to_string())?;
    let figures: serde_json::Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{}: {error}", case.name))?;
    figures["requests_per_wall_s"]
        .as_f64()
        .ok_or_else(|| format!("{}: no requests_per_wall_s", case.name))
}

/// Returns the peak memory of a run, polled while it runs (Linux).
fn peak_kib(binary: &Path, case: &Case, requests: u64) -> Result<u64, String> {
    let mut command = Command::new(binary);
    simulate(&mut command, case, requests);
    command.stdout(Stdio::null());
    let mut child: Child = command.spawn().map_err(|error| error.to_string())?;
    let mut peak = 0;
    while child
        .try_wait()
        .map_err(|error| error.to_string())?
        .is_none()
    {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
        let high_water = status.ok().and_then(|status| {
            let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
            line.split_whitespace().nth(1)?.parse().ok()
        });
        peak = peak.max(high_water.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(peak)
}
