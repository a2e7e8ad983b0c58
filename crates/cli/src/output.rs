//! The way to standard output.

use std::io::{self, Write};

use serde::Serialize;

use crate::error::Error;

/// Prints a command's whole result. A reader that went away early (`| head`) has had enough: that
/// is no error.
///
/// # Errors
/// When standard output cannot be written, such as to a full disk.
pub fn print(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(cannot_write(error)),
        _ => Ok(()),
    }
}

/// Prints `value` as JSON, indented, fields in the order of their declaration. Numbers that are
/// not finite come out as `null`.
///
/// # Errors
/// As [`print()`].
pub fn print_json(value: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(value);
    let text = text.map_err(|error| cannot_write(error.into()))?;
    print(&(text + "\n"))
}

/// Writes `text` to the file at `path` as a whole or not at all: beside it first, then renamed.
///
/// # Errors
/// When the file or the one beside it cannot be written; `path` is then as it was.
pub fn replace_file(path: &str, text: &str) -> Result<(), Error> {
    let beside = format!("{path}.{}.part", std::process::id());
    let written = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path));
    written.map_err(|source| {
        // The reason why it failed is worth more than that of a leftover.
        let _ = std::fs::remove_file(&beside);
        Error::Io {
            doing: "write",
            path: path.to_owned(),
            source,
        }
    })
}

fn cannot_write(source: io::Error) -> Error {
    Error::Io {
        doing: "write",
        path: "standard output".to_owned(),
        source,
    }
}
