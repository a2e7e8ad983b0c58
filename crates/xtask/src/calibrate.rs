//! `cargo xtask calibrate`: the catalogue's variants of the measured drives that are fitted to the
//! first half of their traces.
//!
//! The command line does the fitting, so each variant is what its user would get. The second half
//! stays unseen, for `cargo xtask docs` to judge.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use crate::binary;
use crate::docs::DRIVES;
use crate::traces::{self, MEASUREMENTS};

/// Where the catalogue lies, from the root of the workspace.
const CATALOGUE: &str = "crates/drives/data";

/// Fits that run side by side. Each takes one core.
const AT_ONCE: usize = 2;

/// Writes all variants; leaves them alone where the traces are absent.
pub fn run(arguments: &[String]) -> ExitCode {
    if !arguments.is_empty() {
        eprintln!("usage: cargo xtask calibrate");
        return ExitCode::from(crate::USAGE);
    }
    let root = crate::root();
    if !root.join(MEASUREMENTS).is_dir() {
        println!("calibrate: skipped, {MEASUREMENTS} is absent: the variants stay as they are");
        return ExitCode::SUCCESS;
    }
    match all(&root) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("calibrate: {error}");
            ExitCode::FAILURE
        }
    }
}

fn all(root: &Path) -> Result<(), String> {
    // Built once and before all fits: each that ends changes what the binary is built from.
    let binary = binary::build()?;
    let left = Mutex::new(DRIVES.iter().map(|drive| drive.name));
    // The lock ends with the call; a loop over it would hold it through a fit.
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
        // All of them, so that one that fails does not hide another.
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
    let told = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{name}: {}", told.trim_end()));
    }
    println!("calibrate: {file}, {:.0} s", began.elapsed().as_secs_f64());
    eprint!("{told}");
    Ok(())
}
