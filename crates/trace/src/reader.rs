//! Opens a trace: finds its format and streams its records.

use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use crate::error::{ErrorKind, Quoted, TraceError};
use crate::format::{Entry, FORMATS, Info, Records};
use crate::record::Record;

/// How many bytes of a file the formats see to recognise it.
const HEAD: usize = 4096;

/// How many bytes are asked of the file at a time.
const CHUNK: usize = 128 * 1024;

/// What some spreadsheets write before UTF-8 (Unicode 16, section 23.8); no part of the text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The records of a trace in the order of its file. Ends after the first error.
pub struct Reader {
    name: String,
    info: &'static Info,
    records: Records,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    BeforeFirst,
    Within,
    Ended,
}

impl Reader {
    /// The format in which the trace is read.
    pub fn format(&self) -> &'static Info {
        self.info
    }

    /// The trace's name, as its errors give it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Iterator for Reader {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.state == State::Ended {
            return None;
        }
        let next = match self.records.next() {
            None if self.state == State::BeforeFirst => Some(Err(TraceError::empty(&self.name))),
            next => next,
        };
        self.state = match next {
            Some(Ok(_)) => State::Within,
            Some(Err(_)) | None => State::Ended,
        };
        next
    }
}

/// Opens the trace at `path`, in the format of the name `forced` or else in the one that its
/// content shows.
///
/// # Errors
///
/// A file that cannot be read, is a directory or empty; a name that is not in [`FORMATS`]; a
/// content that fits no format, or several; what [`crate::Format::open`] finds wrong.
pub fn open(path: impl AsRef<Path>, forced: Option<&str>) -> Result<Reader, TraceError> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| TraceError::io(&name, None, "open", error))?;
    // A directory opens as a file does, and would only fail when it is read.
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        let detail = "found a directory, expected a trace file".to_owned();
        return Err(TraceError::new(ErrorKind::Io, &name, None, detail));
    }
    read(file, &name, forced)
}

/// Reads a trace from `input`, as [`open`] does. `name` stands for the file in errors.
///
/// # Errors
///
/// As [`open`].
///
/// ```
/// let bytes = &b"0.25 0 1200 8 1\n1.5 0 90 16 0\n"[..];
/// let mut trace = diskarm_trace::read(bytes, "two.trace", None)?;
/// assert_eq!(trace.format().name, "disksim");
/// assert_eq!(trace.by_ref().count(), 2);
/// # Ok::<(), diskarm_trace::TraceError>(())
/// ```
pub fn read(
    mut input: impl Read + Send + 'static,
    name: &str,
    forced: Option<&str>,
) -> Result<Reader, TraceError> {
    let mut head = Vec::with_capacity(HEAD);
    let read = input.by_ref().take(HEAD as u64).read_to_end(&mut head);
    read.map_err(|error| TraceError::io(name, None, "read", error))?;
    let forced = forced.map(|forced| find(forced, name)).transpose()?;
    let is_all = head.len() < HEAD;
    if head.starts_with(BYTE_ORDER_MARK) {
        head.drain(..BYTE_ORDER_MARK.len());
    }
    if is_all && head.iter().all(u8::is_ascii_whitespace) {
        return Err(TraceError::empty(name));
    }
    let entry = match forced {
        Some(entry) => entry,
        None => detect(FORMATS, &head, name)?,
    };
    let rest = BufReader::with_capacity(CHUNK, input);
    let records = (entry.open)(Box::new(Cursor::new(head).chain(rest)), name)?;
    Ok(Reader {
        name: name.to_owned(),
        info: &entry.info,
        records,
        state: State::BeforeFirst,
    })
}

fn find(forced: &str, name: &str) -> Result<&'static Entry, TraceError> {
    let entry = FORMATS.iter().find(|entry| entry.info.name == forced);
    entry.ok_or_else(|| {
        let (forced, known) = (Quoted(forced), names(FORMATS.iter()));
        let detail = format!("format: found {forced}, expected one of {known}");
        TraceError::new(ErrorKind::UnknownFormat, name, None, detail)
    })
}

/// The one format whose `sniff` takes `head`. Not the first one: a file that two formats take
/// would be read in the wrong unit of time, and nobody would see it.
fn detect<'a>(table: &'a [Entry], head: &[u8], name: &str) -> Result<&'a Entry, TraceError> {
    let fitting: Vec<&Entry> = table.iter().filter(|entry| (entry.sniff)(head)).collect();
    let detail = match fitting[..] {
        [entry] => return Ok(entry),
        [] => {
            let expected = table
                .iter()
                .map(|entry| format!("{} ({})", entry.info.name, entry.info.first_line));
            let expected: Vec<String> = expected.collect();
            let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let first = String::from_utf8_lossy(first.trim_ascii_end());
            format!(
                "format not recognised: line 1 is {}, expected {} (name the format if it is one)",
                Quoted(&first),
                expected.join(" or ")
            )
        }
        _ => {
            let fitting = names(fitting.into_iter());
            format!("format: found what may be any of {fitting}, expected its name")
        }
    };
    Err(TraceError::new(ErrorKind::Undetected, name, None, detail))
}

fn names<'a>(entries: impl Iterator<Item = &'a Entry>) -> String {
    let names: Vec<&str> = entries.map(|entry| entry.info.name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_that_two_formats_take_is_refused() {
        let table = [FORMATS[1], FORMATS[0], FORMATS[1]];
        let error = detect(&table, b"0.5 0 1 1 1\n", "x").unwrap_err();
        let expected = "x: format: found what may be any of disksim, disksim, expected its name";
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.kind(), ErrorKind::Undetected);
    }

    #[test]
    fn every_name_is_there_once() {
        for (i, entry) in FORMATS.iter().enumerate() {
            let again = FORMATS[..i].iter().any(|e| e.info.name == entry.info.name);
            assert!(!again, "{}", entry.info.name);
        }
    }
}
