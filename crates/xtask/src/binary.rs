//! The command line, built for release.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the command line in release mode and returns its path.
pub fn build() -> Result<PathBuf, String> {
    let root = crate::root();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--release", "--quiet", "--package", "diskarm"])
        .current_dir(&root)
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if !built.success() {
        return Err(format!("the release build failed: {built}"));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR");
    // Relative to the root, as in the build.
    let target = root.join(target.as_deref().map_or(Path::new("target"), Path::new));
    Ok(target.join("release").join("diskarm"))
}
