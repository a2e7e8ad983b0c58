//! Writes files completely or not at all.

use std::fs::{self, DirEntry, File};
use std::io::Write;
use std::path::Path;

use crate::error::StudyError;

/// The ending of a file that is not yet complete.
const PART: &str = "part";
/// The endings of the files of a study.
const ENDINGS: [&str; 6] = ["csv", "html", "json", "jsonl", "png", "svg"];

/// Removes what a killed process has left of files in `folder`, which no other process uses.
pub(crate) fn remove_parts(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let is_file = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    for path in entries.flatten().filter(is_file).map(|entry| entry.path()) {
        let is_ours = |whole: &Path| {
            let ending = whole.extension().and_then(|ending| ending.to_str());
            ending.is_some_and(|ending| ENDINGS.contains(&ending))
        };
        if path.extension().is_some_and(|ending| ending == PART)
            && is_ours(&path.with_extension(""))
        {
            // What cannot be removed does no harm.
            let _ = fs::remove_file(path);
        }
    }
}

/// Writes `bytes` to a new file next to `path`, then renames it.
///
/// # Errors
/// If either cannot be written; `path` is then unchanged.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), StudyError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".");
    beside.push(PART);
    let beside = Path::new(&beside);
    let write = || {
        let mut file = File::create(beside)?;
        file.write_all(bytes)?;
        // Otherwise a power failure could leave the new name on an empty file.
        file.sync_all()?;
        fs::rename(beside, path)
    };
    let written = write();
    written.map_err(|source| {
        // The first error matters more than a leftover file.
        let _ = fs::remove_file(beside);
        StudyError::cannot_write(path, source)
    })
}
