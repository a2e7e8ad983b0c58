//! Shows a report in the user's browser.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::output;

/// The program that opens a file with whatever the user has chosen for its kind.
const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else if cfg!(windows) {
    "explorer"
} else {
    "xdg-open"
};

/// Opens the page at `path`. If that is not possible, a note says so: the page is there.
pub fn page(path: &Path) {
    let mut opener = Command::new(OPENER);
    opener.arg(path).stdin(Stdio::null());
    let opened = opener.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let why = match opened {
        Ok(status) if status.success() || cfg!(windows) => return,
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    output::warn(&[format!("--open: {OPENER} did not open the report: {why}")]);
}
