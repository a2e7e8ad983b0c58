//! `cargo xtask bench`: the performance table, printed and never asserted.

use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use super::{CASES, Case, counts, simulate};
use crate::binary::build;

/// Requests of a timed run.
const REQUESTS: u64 = 250_000;

/// Timed runs of a case; the table gives the median, for machines are shared.
const RUNS: usize = 5;

/// Requests of the run that shows that memory stays flat.
const MANY_REQUESTS: u64 = 100_000_000;

/// Prints the table.
pub fn run(arguments: &[String]) -> ExitCode {
    if !arguments.is_empty() {
        eprintln!("usage: cargo xtask bench");
        return ExitCode::from(2);
    }
    match table() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn table() -> Result<(), String> {
    let binary = build()?;
    println!("hp-c2247, 8 KB uniformly random, 2:1 reads to writes, {REQUESTS} requests;");
    println!("median of {RUNS} runs on one core, wall clock; instructions by callgrind\n");
    println!(
        "{:<16} {:>10} {:>8} {:>9} {:>8} {:>13} {:>8}",
        "case", "M req/s", "target", "DiskSim", "ratio", "instructions", "target"
    );
    for case in CASES {
        let mut speeds = Vec::with_capacity(RUNS);
        for _ in 0..RUNS {
            speeds.push(requests_per_s(&binary, case)? / 1e6);
        }
        speeds.sort_by(f64::total_cmp);
        let speed = speeds[RUNS / 2];
        let count = counts::count(&binary, case).map_or("-".to_owned(), |n| n.to_string());
        println!(
            "{:<16} {speed:>10.2} {:>8.1} {:>9.3} {:>7.0}x {count:>13} {:>8}",
            case.name,
            case.target_mreq_per_s,
            case.disksim_mreq_per_s,
            speed / case.disksim_mreq_per_s,
            case.target_instructions,
        );
    }
    let peak = peak_kib(&binary)?;
    println!(
        "\n{MANY_REQUESTS} requests, {}: {peak} KiB at most",
        CASES[0].name
    );
    Ok(())
}

/// Speed as the command line itself measures it.
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

/// The largest resident set of a very long run, read while it lasts (Linux).
fn peak_kib(binary: &Path) -> Result<u64, String> {
    let mut command = Command::new(binary);
    simulate(&mut command, &CASES[0], MANY_REQUESTS);
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
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(peak)
}
