//! Runs the command line for its results.

use std::path::Path;
use std::process::Command;

use serde::de::DeserializeOwned;

/// Runs `diskarm` with `arguments` at the root of the workspace, built for release, and reads
/// the JSON that it prints.
pub fn run<T: DeserializeOwned>(root: &Path, arguments: &[&str]) -> Result<T, String> {
    let shown = arguments.join(" ");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["run", "--release", "--quiet", "--bin", "diskarm", "--"])
        .args(arguments)
        .arg("--json")
        .current_dir(root)
        .output()
        .map_err(|error| format!("diskarm {shown}: {error}"))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(format!("diskarm {shown}: {}", message.trim_end()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("diskarm {shown}: {error}"))
}
