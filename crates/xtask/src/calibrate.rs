//! `cargo xtask calibrate`: fits the measured drives of the catalogue to the first halves of their
//! traces.
//!
//! The command line does the fitting, so each variant is what a user would get. The second halves
//! are not used; `cargo xtask docs` validates the variants on them.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use crate::docs::DRIVES;
use crate::program;
use crate::traces;

/// The catalogue, from the root of the workspace.
const CATALOGUE: &str = "crates/drives/data";

/// The number of concurrent fits. Each takes one core.
const AT_ONCE: usize = 2;

pub fn run(arguments: &[String]) -> ExitCode {
    if !arguments.is_empty() {
        eprintln!("usage: cargo xtask calibrate");
        return ExitCode::from(crate::USAGE);
    }
    let root = crate::root();
    match all(&root) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("calibrate: {error}");
            ExitCode::FAILURE
        }
    }
}

fn all(root: &Path) -> Result<(), String> {
    // Built once before all fits, as each fit changes a source of the binary.
    let binary = program::build()?;
    let left = Mutex::new(DRIVES.iter().map(|drive| drive.name.as_str()));
    // Releases the lock after each call; a loop over the guard would hold it during a fit.
    let next = || left.lock().ok().and_then(|mut left| left.next());
    let work = || -> Result<(), String> {
        while let Some(drive) = next() {
            fit(root, &binary, drive)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        let done = workers.into_iter().map(|worker| match worker.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        // Waits for all, so that a failure does not hide another.
        done.collect::<Vec<_>>().into_iter().collect()
    })
}

fn fit(root: &Path, binary: &Path, drive: &str) -> Result<(), String> {
    let trace = traces::trace(drive);
    let rows = format!("..{}", traces::middle(root, drive)?);
    let name = traces::calibrated(drive);
    let file = format!("{CATALOGUE}/{name}.toml");
    let began = Instant::now();
    let output = Command::new(binary)
        .args(["calibrate", "--drive", drive, &trace])
        .args(["--rows", &rows, "--output", &file])
        .current_dir(root)
        .output()
        .map_err(|error| format!("{}: {error}", binary.display()))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{name}: {}", messages.trim_end()));
    }
    println!("calibrate: {file}, {:.0} s", began.elapsed().as_secs_f64());
    eprint!("{messages}");
    Ok(())
}
