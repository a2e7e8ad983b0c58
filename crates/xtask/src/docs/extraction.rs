//! `cargo xtask docs extraction`: measures every drive in the catalogue in several ways, using only
//! SCSI commands, and writes the accuracy to [`PAGE`].
//!
//! The example `closed_loop` of `extract` runs the measurements on all processors and compares the
//! results with the specifications; `diskarm` replays the measured traces on the extracted drives.
//! Each run's duration is printed, but is not on the page, which is the same on every machine.

mod page;
mod paper;
mod run;

use std::fs;
use std::path::Path;
use std::process::Stdio;

use super::{MAX_COLUMNS, fill};
use crate::{file_error, program};
use run::Run;

/// The page, relative to the root of the workspace.
const PAGE: &str = "docs/extraction.md";

/// Writes the page or, if drives are named, prints it for those drives only.
pub fn write(root: &Path, drives: &[String]) -> Result<(), String> {
    let text = page(root, drives)?;
    if drives.is_empty() {
        fs::write(root.join(PAGE), text).map_err(|error| file_error(PAGE, error))?;
        println!("docs: wrote {PAGE}");
    } else {
        print!("{text}");
    }
    Ok(())
}

fn page(root: &Path, names: &[String]) -> Result<String, String> {
    // The example writes the specifications to this folder.
    let folder = program::target_folder(root).join("extraction");
    fs::create_dir_all(&folder).map_err(|error| file_error(&folder, error))?;
    let runs = measure(root, &folder, names)?;
    let replays = page::replays(root, &folder, &runs)?;
    let papers = paper::section(root, &folder, &runs)?;
    let drives = page::drives_section(&runs)?;
    Ok(wrap(&format!("{drives}{replays}{papers}")))
}

/// Wraps prose and list items; table rows are unchanged.
fn wrap(page: &str) -> String {
    let mut text = String::new();
    for line in page.lines() {
        match line.strip_prefix("- ") {
            _ if line.starts_with('|') => text.push_str(line),
            Some(item) => {
                let item = fill(item, MAX_COLUMNS - 2);
                text.push_str(&format!("- {}", item.replace('\n', "\n  ")));
            }
            None if line.chars().count() > MAX_COLUMNS => {
                text.push_str(&fill(line, MAX_COLUMNS));
            }
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

fn measure(root: &Path, folder: &Path, names: &[String]) -> Result<Vec<Run>, String> {
    let output = program::cargo(root)
        .args(["run", "--release", "--quiet"])
        .args([
            "--package",
            "diskarm-extract",
            "--example",
            "closed_loop",
            "--",
        ])
        .arg(folder)
        .args(names)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("closed_loop: {}", output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("closed_loop: {error}"))
}
