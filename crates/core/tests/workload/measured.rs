//! The traces of measured drives.

use std::fs::File;
use std::io::Read;

/// Returns the rows of a drive's trace, below their header, as `data/README.md` describes them.
pub fn trace(drive: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let path = format!("{root}/data/validation/{drive}.csv.gz");
    let file = File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut text = String::new();
    let read = flate2::read::GzDecoder::new(file).read_to_string(&mut text);
    read.unwrap_or_else(|error| panic!("{path}: {error}"));
    text
}
