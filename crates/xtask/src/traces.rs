//! The traces of measured drives, and their halves.

use std::fs;
use std::path::Path;

/// Their folder, from the root of the workspace.
pub const MEASUREMENTS: &str = "../shared/validation";

/// The trace of a drive, from the root of the workspace.
pub fn trace(drive: &str) -> String {
    format!("{MEASUREMENTS}/{drive}.csv")
}

/// The name of the variant of a drive that is fitted to the first half of its trace.
pub fn calibrated(drive: &str) -> String {
    format!("{drive}-calibrated")
}

/// The row at which the second half of a drive's trace begins.
pub fn middle(root: &Path, drive: &str) -> Result<usize, String> {
    let trace = trace(drive);
    let text =
        fs::read_to_string(root.join(&trace)).map_err(|error| format!("{trace}: {error}"))?;
    Ok(middle_of(&text))
}

/// Half of the rows after the header, rounded down.
fn middle_of(text: &str) -> usize {
    text.lines().skip(1).count() / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_does_not_count_the_header() {
        assert_eq!(middle_of("op,lbn\nR,1\nR,2\nW,3\nW,4\n"), 2);
        assert_eq!(middle_of("op,lbn\nR,1\nR,2\nW,3\n"), 1);
        assert_eq!(middle_of(""), 0);
    }
}
