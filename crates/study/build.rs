//! Digests the sources on which simulated numbers depend, so that runs of different builds of one
//! version can be distinguished.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// From this crate's folder. Where one is absent, as where this crate is built without its
/// neighbours, only the version distinguishes programs.
const SOURCES: [&str; 11] = [
    "../core/src",
    "../scan/src",
    "../trace/src",
    "../simulate/src",
    "../validate/src",
    "../results/src/metrics.rs",
    "../results/src/predicted.rs",
    "../results/src/scanned.rs",
    "../../Cargo.lock",
    "src/job.rs",
    "src/measure",
];

fn main() {
    let mut hasher = Sha256::new();
    for folder in SOURCES {
        println!("cargo:rerun-if-changed={folder}");
        let mut files = Vec::new();
        if Path::new(folder).is_file() {
            files.push(PathBuf::from(folder))
        } else {
            collect(Path::new(folder), &mut files)
        }
        files.sort();
        for file in files {
            hasher.update(file.to_string_lossy().as_bytes());
            hasher.update(fs::read(&file).unwrap_or_default());
        }
    }
    let digest = hasher.finalize();
    let digits: String = digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    println!("cargo:rustc-env=DISKARM_SOURCES={digits}");
}

/// Collects every file below `folder`, if it exists.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files)
        } else {
            files.push(path)
        }
    }
}
