//! `cargo xtask calibrate`: fits the measured drives to the first halves of their traces.
//!
//! `diskarm calibrate` does the fitting, so each variant is what a user would get. The second
//! halves are not used; `cargo xtask docs` validates the variants on them.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use crate::docs::DRIVES;
use crate::{Error, file_error, program};

/// The catalogue, relative to the root of the workspace.
const CATALOGUE: &str = "crates/drives/data";

/// The number of concurrent fits. Each takes one core.
const CONCURRENT_FITS: usize = 2;

pub fn run(arguments: &[String]) -> Result<(), Error> {
    if !arguments.is_empty() {
        return Err(Error::InvalidArguments);
    }
    let root = crate::root();
    // Built once before all fits, because each fit changes one of the binary's source files.
    let binary = program::build()?;
    let drives = Mutex::new(DRIVES.iter().map(|drive| drive.name.as_str()));
    // Releases the lock after each call; a loop over the guard would hold it during a fit.
    let next = || drives.lock().ok().and_then(|mut drives| drives.next());
    let work = || -> Result<(), String> {
        while let Some(drive) = next() {
            fit(&root, &binary, drive)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..CONCURRENT_FITS).map(|_| scope.spawn(work)).collect();
        // After a failure the scope still waits for the other fits.
        for worker in workers {
            worker.join().expect("no worker panics")?;
        }
        Ok(())
    })
}

fn fit(root: &Path, binary: &Path, drive: &str) -> Result<(), String> {
    let rows = format!("..{}", program::middle(root, drive)?);
    let name = program::calibrated_name(drive);
    let file = format!("{CATALOGUE}/{name}.toml");
    let began = Instant::now();
    let output = Command::new(binary)
        .args(["calibrate", "--drive", drive, &program::trace(drive)])
        .args(["--rows", &rows, "--output", &file])
        .current_dir(root)
        .output()
        .map_err(|error| file_error(binary, error))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{name}: {}", messages.trim_end()));
    }
    println!("calibrate: {file}, {:.0} s", began.elapsed().as_secs_f64());
    eprint!("{messages}");
    Ok(())
}
