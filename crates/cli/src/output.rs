//! Standard output and output files.

use std::fs::File;
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

/// Writes `text` to the file at `path` completely or not at all: to a temporary file next to it,
/// which is then renamed.
///
/// # Errors
/// If either file cannot be written; `path` is then unchanged.
pub fn replace_file(path: &str, text: &str) -> Result<(), Error> {
    replace_file_with(path, |mut file| {
        let written = file.write_all(text.as_bytes());
        written.map_err(|source| cannot_write_to(path, source))
    })
}

/// Whether the file at `path`, if any, may be replaced: not a link, a device or
/// a pipe, which would disappear from the system (`/dev/stdout` is a link).
pub fn is_replaceable(path: &str) -> bool {
    std::fs::symlink_metadata(path).map_or(true, |found| found.is_file())
}

/// Calls `write` to write the file at `path` completely or not at all, through a
/// temporary file. A link, a device or a pipe is written directly.
///
/// # Errors
/// The errors of `write` and of [`replace_file`].
pub fn replace_file_with<T>(
    path: &str,
    write: impl FnOnce(File) -> Result<T, Error>,
) -> Result<T, Error> {
    if !is_replaceable(path) {
        let opened = File::options().write(true).truncate(true).open(path);
        return write(opened.map_err(|source| cannot_write_to(path, source))?);
    }
    let beside = format!("{path}.{}.part", std::process::id());
    let created = File::create(&beside).map_err(|source| cannot_write_to(path, source));
    let written = created.and_then(write);
    let renamed = written.and_then(|written| {
        let renamed = std::fs::rename(&beside, path);
        renamed
            .map(|()| written)
            .map_err(|source| cannot_write_to(path, source))
    });
    renamed.inspect_err(|_| {
        // The first error matters more than a leftover file.
        let _ = std::fs::remove_file(&beside);
    })
}

fn cannot_write_to(path: &str, source: io::Error) -> Error {
    Error::Io {
        doing: "write",
        path: path.to_owned(),
        source,
    }
}

fn cannot_write(source: io::Error) -> Error {
    cannot_write_to("standard output", source)
}
