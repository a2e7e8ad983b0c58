//! The command line, built as it is shipped.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The profile of what is shipped; also the name of its folder in the target folder.
pub const PROFILE: &str = "release-lto";

/// Builds the command line in it and returns its path.
pub fn build() -> Result<PathBuf, String> {
    let root = crate::root();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--profile", PROFILE, "--quiet"])
        .args(["--package", "diskarm"])
        .current_dir(&root)
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if !built.success() {
        return Err(format!("the build failed: {built}"));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR");
    // Relative to the root, as in the build.
    let target = root.join(target.as_deref().map_or(Path::new("target"), Path::new));
    Ok(target.join(PROFILE).join("diskarm"))
}
