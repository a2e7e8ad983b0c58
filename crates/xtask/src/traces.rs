//! The traces of measured drives, and their halves.

use std::path::Path;

use serde::Deserialize;

use crate::program;

/// Their folder, from the root of the workspace.
pub const MEASUREMENTS: &str = "data/validation";

/// The trace of a drive, from the root of the workspace.
pub fn trace(drive: &str) -> String {
    format!("{MEASUREMENTS}/{drive}.csv.gz")
}

/// The name of the variant of a drive that is fitted to the first half of its trace.
pub fn calibrated(drive: &str) -> String {
    format!("{drive}-calibrated")
}

/// The row at which the second half of a drive's trace begins: half of the rows, rounded down.
pub fn middle(root: &Path, drive: &str) -> Result<u64, String> {
    /// The output of `diskarm trace info --json`, as far as it is needed.
    #[derive(Deserialize)]
    struct Info {
        requests: u64,
    }
    let info: Info = program::json(root, &["trace", "info", &trace(drive)])?;
    Ok(info.requests / 2)
}
