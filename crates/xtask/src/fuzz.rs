//! `cargo xtask fuzz [SECONDS]`: feeds random input to every parser of outside text.
//!
//! Builds the targets of `fuzz/` with libFuzzer and coverage, which the stable compiler can do, and
//! runs each for some seconds from a copy of its seeds. libFuzzer needs a C++ compiler.

use std::ffi::OsString;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::thread;

/// How long each target runs if the command line does not say.
const SECONDS: u64 = 20;

/// Compiler flags for coverage that libFuzzer reads; they hold for the target's platform alone, so
/// build scripts are left as they are.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Ccodegen-units=1 -Cdebug-assertions=on";

pub fn run(arguments: &[String]) -> ExitCode {
    let seconds = match arguments {
        [] => Some(SECONDS),
        [seconds] => seconds.parse().ok().filter(|seconds| *seconds > 0),
        _ => None,
    };
    let Some(seconds) = seconds else {
        eprintln!("usage: cargo xtask fuzz [SECONDS]");
        return ExitCode::from(crate::USAGE);
    };
    match fuzz(seconds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Builds and runs the targets, one on each processor; starts no other once one has failed.
fn fuzz(seconds: u64) -> Result<(), String> {
    let programs = build()?;
    let work = std::env::temp_dir().join(format!("diskarm-fuzz-{}", std::process::id()));
    let left = Mutex::new(targets()?);
    let run_some = || -> Result<(), String> {
        while let Some(name) = next(&left) {
            run_target(&programs.join(&name), &name, &work, seconds)
                .inspect_err(|_| stop(&left))?;
        }
        Ok(())
    };
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..processors).map(|_| scope.spawn(run_some)).collect();
        let mut results = workers.into_iter().map(|worker| worker.join());
        results.try_for_each(|result| result.expect("no worker panics"))
    })?;
    fs::remove_dir_all(&work).map_err(|error| at(&work, &error))
}

/// Takes the first of the targets that are left.
fn next(left: &Mutex<Vec<String>>) -> Option<String> {
    let mut left = left.lock().expect("no worker panics");
    (!left.is_empty()).then(|| left.remove(0))
}

fn stop(left: &Mutex<Vec<String>>) {
    left.lock().expect("no worker panics").clear();
}

/// The names of the targets, in order.
fn targets() -> Result<Vec<String>, String> {
    let folder = crate::root().join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for path in files(&folder)? {
        let name = path.file_stem().unwrap_or_default();
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// The paths in a folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| at(folder, &error))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    paths
        .collect::<Result<_, _>>()
        .map_err(|error| at(folder, &error))
}

fn at(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

/// Builds all targets and returns the folder of their programs.
fn build() -> Result<PathBuf, String> {
    let root = crate::root();
    let platform = platform()?;
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let target = root.join(target);
    let built = Command::new(cargo())
        .args(["build", "--release", "--locked", "--target", &platform])
        .args(["--manifest-path", "fuzz/Cargo.toml", "--target-dir"])
        .arg(&target)
        .env("RUSTFLAGS", FLAGS)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .current_dir(&root)
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    match built.success() {
        true => Ok(target.join(platform).join("release")),
        false => Err("the fuzz targets do not build; libFuzzer needs a C++ compiler".to_owned()),
    }
}

fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// The platform of the compiler, such as `x86_64-unknown-linux-gnu`.
fn platform() -> Result<String, String> {
    let output = Command::new("rustc").arg("-vV").output();
    let output = output.map_err(|error| format!("rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| "rustc -vV names no host".to_owned())
}

/// Runs one target from a copy of its seeds. What it crashes on stays in `work`.
fn run_target(program: &Path, name: &str, work: &Path, seconds: u64) -> Result<(), String> {
    let corpus = work.join(name).join("corpus");
    fs::create_dir_all(&corpus).map_err(|error| at(&corpus, &error))?;
    let seeds = crate::root().join("fuzz/seeds").join(name);
    for seed in files(&seeds)? {
        let copy = corpus.join(seed.file_name().unwrap_or_default());
        fs::copy(&seed, copy).map_err(|error| at(&seed, &error))?;
    }
    let found = work.join(name).join("");
    let output = Command::new(program)
        .arg(&corpus)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}", found.display()))
        .args(["-timeout=20", "-print_final_stats=1"])
        .output()
        .map_err(|error| at(program, &error))?;
    let log = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        println!("{name}: {} inputs, no crash", executed(&log));
        return Ok(());
    }
    let inputs: Vec<String> = files(&found)?
        .iter()
        .filter(|path| path.is_file())
        .map(|path| path.display().to_string())
        .collect();
    Err(format!(
        "{log}\n{name}: {}\nfailing input: {}\nrun it again: {} <input>\n\
         fix the cause, and add a test with this input",
        output.status,
        inputs.join(", "),
        program.display()
    ))
}

/// The number of inputs in the statistics that libFuzzer prints last.
fn executed(log: &str) -> &str {
    let count = |line: &str| {
        line.strip_prefix("stat::number_of_executed_units:")
            .is_some()
    };
    let line = log.lines().find(|line| count(line));
    line.and_then(|line| line.split_whitespace().last())
        .unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_a_program_with_seeds() {
        let root = crate::root();
        let manifest = fs::read_to_string(root.join("fuzz/Cargo.toml")).unwrap();
        for name in targets().unwrap() {
            let path = format!("path = \"fuzz_targets/{name}.rs\"");
            assert!(manifest.contains(&path), "{name}");
            let seeds = files(&root.join("fuzz/seeds").join(&name)).unwrap();
            assert!(!seeds.is_empty(), "{name}");
        }
    }

    #[test]
    fn the_number_of_inputs_is_read_from_the_statistics() {
        let log = "Done\nstat::number_of_executed_units: 1234\nstat::peak_rss_mb: 40\n";
        assert_eq!(executed(log), "1234");
        assert_eq!(executed(""), "unknown");
    }
}
