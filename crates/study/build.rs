//! Digests the sources on which simulated numbers depend, so that runs of different builds of one
//! version can be distinguished. Lists the studies that come with the program.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest, Sha256};

/// Relative to this crate's folder. If one is missing, as when this crate is built without the
/// others, only the version distinguishes builds.
const SOURCES: [&str; 11] = [
    "../core/src",
    "../scan/src",
    "../trace/src",
    "../simulate/src",
    "../fit/src",
    "../results/src/metrics.rs",
    "../results/src/predicted.rs",
    "../results/src/scanned.rs",
    "../../Cargo.lock",
    "src/job.rs",
    "src/measure",
];

fn main() {
    list_studies();
    let mut hasher = Sha256::new();
    for folder in SOURCES {
        println!("cargo:rerun-if-changed={folder}");
        // A source that has moved would leave runs of other builds undetected.
        assert!(
            !Path::new("../core").is_dir() || Path::new(folder).exists(),
            "SOURCES in build.rs: {folder} does not exist"
        );
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
    let digits: String = digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    println!("cargo:rustc-env=DISKARM_SOURCES={digits}");
}

/// Writes the table of `src/studies.rs`: an entry for each file of `studies`, by name.
fn list_studies() {
    println!("cargo:rerun-if-changed=studies");
    let mut files = Vec::new();
    collect(
        &env::current_dir()
            .expect("the current folder exists")
            .join("studies"),
        &mut files,
    );
    files.retain(|file| {
        file.extension()
            .is_some_and(|extension| extension == "toml")
    });
    assert!(!files.is_empty(), "the folder `studies` is empty");
    files.sort_by_key(|file| file.file_stem().map(ToOwned::to_owned));
    let mut table = String::from("&[\n");
    for file in files {
        let name = file.file_stem().expect("a study has a file name");
        let entry = format!("Entry {{ name: {name:?}, text: include_str!({file:?}) }},");
        writeln!(table, "{entry}").expect("a string can be written");
    }
    let path = Path::new(&env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("studies.rs");
    fs::write(path, table + "]\n").expect("OUT_DIR can be written");
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
