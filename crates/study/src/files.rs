//! Writes files completely or not at all.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use crate::error::StudyError;

/// Writes `bytes` to a new file next to `path`, then renames it.
///
/// # Errors
/// If either cannot be written; `path` is then unchanged.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), StudyError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
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
