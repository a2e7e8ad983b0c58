//! Builds `diskarm` as it is shipped, and runs it; locates the traces of measured drives.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The profile of shipped programs, which is also the name of their folder in the target folder.
const PROFILE: &str = "release-lto";

pub fn target_folder(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    root.join(target.as_deref().map_or(Path::new("target"), Path::new))
}

pub fn cargo(root: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root);
    cargo
}

/// Selects the command-line program and the measured examples. A single build compiles their common
/// dependencies only once.
const PROGRAMS: &str = "--package=diskarm --bin=diskarm --package=diskarm-simulate \
    --example=generate --example=queue --example=readers";

/// Builds all programs and returns the path of `diskarm`; the examples are in the folder `examples`
/// next to it. Later calls return the same path without building again, even if a generator has
/// changed a source file in the meantime.
pub fn build() -> Result<PathBuf, String> {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let build = || {
        let root = crate::root();
        let built = cargo(&root)
            .args(["build", "--quiet", "--profile", PROFILE])
            .args(PROGRAMS.split_whitespace())
            .status()
            .map_err(|error| format!("cargo: {error}"))?;
        if !built.success() {
            return Err(format!("the build failed: {built}"));
        }
        Ok(target_folder(&root).join(PROFILE).join("diskarm"))
    };
    PROGRAM.get_or_init(build).clone()
}

/// Runs `diskarm` with `arguments` in `root` and returns its standard output. Exit code 1 is not an
/// error here: it means failing claims or checks, which the pages show.
pub fn output(root: &Path, arguments: &[&str]) -> Result<Vec<u8>, String> {
    let shown = arguments.join(" ");
    let output = Command::new(build()?)
        .args(arguments)
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("diskarm {shown}: {error}"))?;
    match output.status.code() {
        Some(0 | 1) => Ok(output.stdout),
        _ => Err(format!("diskarm {shown}: {}", output.status)),
    }
}

/// Runs `diskarm` with `arguments` and `--json`, and parses its output.
pub fn json<T: DeserializeOwned>(root: &Path, arguments: &[&str]) -> Result<T, String> {
    let output = output(root, &[arguments, &["--json"]].concat())?;
    serde_json::from_slice(&output)
        .map_err(|error| format!("diskarm {}: {error}", arguments.join(" ")))
}

/// The folder of the traces, relative to the root of the workspace.
pub const MEASUREMENTS: &str = "data/validation";

/// Returns the path of a drive's trace, relative to the root of the workspace.
pub fn trace(drive: &str) -> String {
    format!("{MEASUREMENTS}/{drive}.csv.gz")
}

/// Returns the name of the variant of a drive that is fitted to the first half of its trace.
pub fn calibrated_name(drive: &str) -> String {
    format!("{drive}-calibrated")
}

/// Returns the first row of the second half of a drive's trace: half the rows, rounded down.
pub fn middle(root: &Path, drive: &str) -> Result<u64, String> {
    /// The part of the output of `diskarm trace info --json` that is used here.
    #[derive(Deserialize)]
    struct Info {
        requests: u64,
    }
    let info: Info = json(root, &["trace", "info", &trace(drive)])?;
    Ok(info.requests / 2)
}
