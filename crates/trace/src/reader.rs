//! Opens a trace: detects its format and streams its records.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use diskarm_core::units::Instant;

use crate::error::{ErrorKind, Quoted, Skipped, TraceError, quantity};
use crate::format::{
    FormatEntry, FormatInfo, OnError, Options, RowReader, TimeOrigin, TraceMetadata,
    disabled_formats, disabled_message,
};
use crate::formats::FORMATS;
use crate::order::Ordering;
use crate::plausible::{self, Gaps};
use crate::record::Record;
use crate::source::ByteSource;

/// The records of a trace in order of arrival, or in file order if it has no arrivals. Ends after
/// an error.
pub struct Reader {
    name: String,
    info: &'static FormatInfo,
    rows: Box<dyn RowReader>,
    on_error: OnError,
    metadata: TraceMetadata,
    ordering: Ordering,
    /// No row is left, or an error ended reading.
    is_read: bool,
    /// The error that ended reading, until it is returned.
    failure: Option<TraceError>,
    /// The first arrival, if the others are relative to it.
    origin: Option<Instant>,
    has_begun: bool,
    unit_warning: Option<String>,
    gaps: Gaps,
    skipped: Skipped,
}

impl Reader {
    /// The format of the trace.
    pub fn format(&self) -> &'static FormatInfo {
        self.info
    }

    /// The name of the trace, as in its errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The findings so far apart from the records.
    pub fn metadata(&self) -> &TraceMetadata {
        &self.metadata
    }

    /// The invalid rows skipped so far.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// The instant of the first record on the format's own clock ([`FormatInfo::time_origin`]),
    /// where arrivals are relative to that record.
    pub fn origin(&self) -> Option<Instant> {
        self.origin
    }

    /// Remarks for users of the records, one line each: a doubtful unit, jumps of the time, a
    /// last line that may be cut, rows that were skipped, ignored, widened or reordered. Complete
    /// when all records are read.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.unit_warning.iter().cloned().collect();
        notes.extend(self.gaps.note());
        if let Some(line) = self.metadata.cut {
            notes.push(format!(
                "line {line}: found no line end, expected one: the trace may be cut there, in the \
                 middle of a number"
            ));
        }
        for (what, count) in &self.metadata.ignored {
            notes.push(format!(
                "{} ignored: {what}, not a read or write",
                quantity(*count, "row")
            ));
        }
        if self.metadata.widened > 0 {
            let count = self.metadata.widened;
            notes.push(format!(
                "{} widened to whole 512-byte blocks",
                quantity(count, "request")
            ));
        }
        if self.metadata.incomplete > 0 {
            let count = self.metadata.incomplete;
            notes.push(format!(
                "{} without a completion in the trace",
                quantity(count, "request")
            ));
        }
        if self.ordering.moved_count() > 0 {
            let count = self.ordering.moved_count();
            notes.push(format!(
                "{} reordered by arrival",
                quantity(count, "record")
            ));
        }
        notes.extend(self.skipped.lines());
        notes
    }

    /// Reads until the reorder buffer is full.
    #[inline]
    fn fill(&mut self) {
        while !self.is_read && !self.ordering.is_full() {
            match self.rows.next(&mut self.metadata) {
                Ok(Some(record)) if !has_valid_completion(&record) => {
                    self.reject_row(completion_overflow(&self.name, &record));
                }
                Ok(Some(record)) => {
                    if let Err(latest) = self.ordering.put(record) {
                        self.reject_row(late(&self.name, &record, latest));
                    }
                }
                Ok(None) => self.is_read = true,
                Err(error) => self.reject_row(error),
            }
        }
    }

    #[cold]
    fn reject_row(&mut self, error: TraceError) {
        if self.on_error == OnError::Skip && error.kind().is_skippable() {
            self.skipped.count(&error);
        } else {
            self.is_read = true;
            self.failure = Some(error);
        }
    }

    /// Replaces `record` by the next one; `None` at the end.
    #[inline]
    pub(crate) fn read(&mut self, record: &mut Record) -> Option<Result<(), TraceError>> {
        self.fill();
        let Some(next) = self.ordering.take() else {
            return self.end().map(Err);
        };
        *record = next;
        self.relate(record);
        Some(Ok(()))
    }

    /// Returns the error that ends the records, if any.
    #[cold]
    fn end(&mut self) -> Option<TraceError> {
        let is_empty = !self.has_begun && self.failure.is_none();
        self.has_begun = true;
        if !is_empty {
            return self.failure.take();
        }
        Some(match self.skipped.reasons() {
            [] => TraceError::empty(&self.name),
            _ => TraceError::all_skipped(&self.name, self.skipped.lines()),
        })
    }

    /// Makes an arrival relative to the first, if the format requires it.
    #[inline]
    fn relate(&mut self, record: &mut Record) {
        if !self.has_begun {
            self.begin(record);
        }
        if let Some(arrival) = &mut record.arrival {
            if let Some(origin) = self.origin {
                *arrival = Instant::START + (*arrival - origin);
            }
            self.gaps.see(*arrival, &record.location);
        }
    }

    /// Checks the first records.
    #[cold]
    fn begin(&mut self, first: &Record) {
        self.has_begun = true;
        if self.info.time_origin != TimeOrigin::Start {
            self.origin = first.arrival;
        }
        let arrival = first.arrival.unwrap_or_default();
        self.gaps.begin(match self.origin {
            Some(_) => Instant::START,
            None => arrival,
        });
        self.unit_warning = plausible::unit_warning(
            self.info.time_unit,
            self.info.time_origin == TimeOrigin::Unix,
            self.ordering.gaps(),
            self.ordering.responses(),
        );
    }
}

/// Returns true if the completion, if known, is a valid instant.
#[inline]
fn has_valid_completion(record: &Record) -> bool {
    let (Some(arrival), Some(response)) = (record.arrival, record.response) else {
        return true;
    };
    let completed = arrival
        .as_ns()
        .saturating_add(response.as_ns().unsigned_abs());
    completed <= i64::MAX.unsigned_abs()
}

#[cold]
fn completion_overflow(name: &str, record: &Record) -> TraceError {
    let found = format!("{} s", record.response.unwrap_or_default().as_s());
    let expected = "a completion before 2^63 ns";
    TraceError::value(name, record.location, "response", &found, expected)
}

#[cold]
fn late(name: &str, record: &Record, latest: Instant) -> TraceError {
    let found = record.arrival.unwrap_or_default().as_s();
    let expected = format!(
        "no time before {} s, the arrival of a much earlier record: sort the trace first",
        latest.as_s()
    );
    TraceError::value(
        name,
        record.location,
        "arrival",
        &format!("{found} s"),
        &expected,
    )
}

impl Iterator for Reader {
    type Item = Result<Record, TraceError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.fill();
        let Some(mut record) = self.ordering.take() else {
            return self.end().map(Err);
        };
        self.relate(&mut record);
        Some(Ok(record))
    }
}

/// Opens the trace at `path`, in the format named `format` or, without a name, the one detected
/// from its content. The first invalid row ends it. See [`open_with`] for other options.
///
/// # Errors
///
/// See [`open_with`].
pub fn open(path: impl AsRef<Path>, format: Option<&str>) -> Result<Reader, TraceError> {
    let options = Options {
        format,
        ..Options::default()
    };
    open_with(path, &options)
}

/// Opens the trace at `path`. gzip, zstd, xz and bzip2 are recognised by their first bytes. If a
/// trace is several files, such as one per processor, any of them opens all.
///
/// # Errors
///
/// A file that cannot be read, is a directory or empty; a format name that is not in [`FORMATS`];
/// content that matches no format, or several; an error from [`crate::Format::open`].
pub fn open_with(path: impl AsRef<Path>, options: &Options<'_>) -> Result<Reader, TraceError> {
    let path = first_part(path.as_ref());
    let mut source = source(&path)?;
    let entry = choose(&source, options)?;
    for part in (entry.parts)(&path) {
        if part != path {
            source.siblings.push(self::source(&part)?);
        }
    }
    begin(source, entry, options)
}

/// Like [`open`], but reads the trace from `input`. Errors call it `name`.
///
/// # Errors
///
/// See [`open_with`].
///
/// ```
/// let bytes = &b"0.25 0 1200 8 1\n1.5 0 90 16 0\n"[..];
/// let mut trace = diskarm_trace::read(bytes, "two.trace", None)?;
/// assert_eq!(trace.format().name, "disksim");
/// assert_eq!(trace.by_ref().count(), 2);
/// # Ok::<(), diskarm_trace::TraceError>(())
/// ```
pub fn read(
    input: impl Read + Send + 'static,
    name: &str,
    format: Option<&str>,
) -> Result<Reader, TraceError> {
    let options = Options {
        format,
        ..Options::default()
    };
    read_with(input, name, &options)
}

/// Like [`open_with`], but reads the trace from `input`.
///
/// # Errors
///
/// See [`open_with`].
pub fn read_with(
    input: impl Read + Send + 'static,
    name: &str,
    options: &Options<'_>,
) -> Result<Reader, TraceError> {
    let source = ByteSource::new(input, name)?;
    let entry = choose(&source, options)?;
    begin(source, entry, options)
}

/// All files that [`open`] reads for `path`, in order: several if the trace has several, such as
/// one per processor.
pub fn files(path: impl AsRef<Path>) -> Vec<PathBuf> {
    let first = first_part(path.as_ref());
    let parts = FORMATS.iter().map(|entry| (entry.parts)(&first));
    let mut parts = parts.filter(|parts| !parts.is_empty());
    parts.next().unwrap_or_else(|| vec![first.clone()])
}

/// Returns the first file to read: `path` or, if it is missing or empty, the first non-empty file
/// of the trace that it names or belongs to.
fn first_part(path: &Path) -> PathBuf {
    let has_content = |path: &Path| path.metadata().is_ok_and(|file| file.len() > 0);
    // The length of a pipe or a folder is meaningless.
    let is_other = path.exists() && !path.is_file();
    if is_other || has_content(path) {
        return path.to_owned();
    }
    let mut parts = FORMATS.iter().flat_map(|entry| (entry.parts)(path));
    let part = parts.find(|part| has_content(part));
    part.unwrap_or_else(|| path.to_owned())
}

fn source(path: &Path) -> Result<ByteSource, TraceError> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| TraceError::io(&name, None, "open", error))?;
    // A directory can be opened like a file, and would fail only when it is read.
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        let detail = "found a directory, expected a trace file".to_owned();
        return Err(TraceError::new(ErrorKind::Io, &name, None, detail));
    }
    ByteSource::from_file(file, &name)
}

fn choose(source: &ByteSource, options: &Options<'_>) -> Result<&'static FormatEntry, TraceError> {
    let forced = options
        .format
        .map(|forced| find(forced, source.name()))
        .transpose()?;
    if source.is_blank() {
        return Err(TraceError::empty(source.name()));
    }
    match forced {
        Some(entry) => Ok(entry),
        None => detect(FORMATS, source.head(), source.name()),
    }
}

fn begin(
    source: ByteSource,
    entry: &'static FormatEntry,
    options: &Options<'_>,
) -> Result<Reader, TraceError> {
    let name = source.name().to_owned();
    Ok(Reader {
        name,
        info: &entry.info,
        rows: (entry.open)(source, options)?,
        on_error: options.on_error,
        metadata: TraceMetadata::default(),
        ordering: Ordering::new(),
        is_read: false,
        failure: None,
        origin: None,
        has_begun: false,
        unit_warning: None,
        gaps: Gaps::default(),
        skipped: Skipped::default(),
    })
}

/// The format called `format`, for the file `name`.
fn find(forced: &str, name: &str) -> Result<&'static FormatEntry, TraceError> {
    let entry = FORMATS.iter().find(|entry| entry.info.name == forced);
    entry.ok_or_else(|| {
        let detail = match disabled_formats()
            .iter()
            .find(|format| format.name == forced)
        {
            Some(format) => disabled_message(format),
            None => {
                let (forced, known) = (Quoted(forced), names(FORMATS.iter()));
                format!("format: found {forced}, expected one of {known}")
            }
        };
        TraceError::new(ErrorKind::UnknownFormat, name, None, detail)
    })
}

/// Returns the only format whose `sniff` accepts `head`. A file that two formats accept is refused,
/// since a wrong unit of time could go unnoticed.
fn detect<'a>(
    table: &'a [FormatEntry],
    head: &[u8],
    name: &str,
) -> Result<&'a FormatEntry, TraceError> {
    let matching: Vec<&FormatEntry> = table.iter().filter(|entry| (entry.sniff)(head)).collect();
    let detail = match matching[..] {
        [entry] => return Ok(entry),
        [] if let Some(format) = disabled_formats().iter().find(|f| (f.sniff)(head)) => {
            disabled_message(format)
        }
        [] => {
            let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let first = String::from_utf8_lossy(first.trim_ascii_end());
            format!(
                "format not recognised: line 1 is {}, expected one of {} (name the format, or \
                 write your rows as one of these: docs/reference/traces.md has their columns)",
                Quoted(&first),
                names(table.iter())
            )
        }
        _ => {
            let matching = names(matching.into_iter());
            format!("format: the content matches {matching}, expected the name of one")
        }
    };
    Err(TraceError::new(ErrorKind::Undetected, name, None, detail))
}

fn names<'a>(entries: impl Iterator<Item = &'a FormatEntry>) -> String {
    let names: Vec<&str> = entries.map(|entry| entry.info.name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_that_matches_two_formats_is_refused() {
        let disksim = *FORMATS
            .iter()
            .find(|e| e.info.name == "disksim")
            .expect("in the table");
        let table = [disksim, FORMATS[0], disksim];
        let error = detect(&table, b"0.5 0 1 1 1\n", "x").unwrap_err();
        let expected = "x: format: the content matches disksim, disksim, expected the name of one";
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.kind(), ErrorKind::Undetected);
    }

    #[test]
    fn format_names_are_unique() {
        for (i, entry) in FORMATS.iter().enumerate() {
            let again = FORMATS[..i].iter().any(|e| e.info.name == entry.info.name);
            assert!(!again, "{}", entry.info.name);
        }
    }
}
