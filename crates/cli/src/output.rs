//! Standard output and output files.

use std::io::{self, Write};

use serde::Serialize;

use crate::error::Error;

/// Prints a command's whole result. It is not an error if the reader stops early (`| head`).
///
/// # Errors
/// If standard output cannot be written, for example to a full disk.
pub fn print(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(cannot_write(error)),
        _ => Ok(()),
    }
}

/// Prints notes that belong to a result on standard error.
pub fn warn(notes: &[String]) {
    for note in notes {
        eprintln!("note: {note}");
    }
}

/// Prints doubts about the input on standard error.
pub fn doubt(notes: &[String]) {
    for note in notes {
        eprintln!("warning: {note}");
    }
}

/// Prints `value` as JSON, indented, fields in the order of their declaration. Numbers that are
/// not finite are printed as `null`.
///
/// # Errors
/// The same as [`print()`].
pub fn print_json(value: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(value);
    let text = text.map_err(|error| cannot_write(error.into()))?;
    print(&(text + "\n"))
}

fn cannot_write(source: io::Error) -> Error {
    Error::Io {
        doing: "write",
        path: "standard output".to_owned(),
        source,
    }
}
