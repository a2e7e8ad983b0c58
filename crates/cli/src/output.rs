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

fn cannot_write(source: io::Error) -> Error {
    Error::Io {
        doing: "write",
        path: "standard output".to_owned(),
        source,
    }
}
