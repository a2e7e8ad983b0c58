//! Opens a trace: detects its format and streams its records.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
#[cfg(unix)]
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use diskarm_core::text::with_noun;
use diskarm_core::units::{Instant, Span};

use crate::error::{ErrorKind, QuotedValue, SkippedRows, TraceError};
use crate::format::{
    FormatEntry, FormatInfo, OnError, Options, RowReader, TimeOrigin, TraceMetadata,
    disabled_formats, disabled_message,
};
use crate::formats::FORMATS;
use crate::plausible::{self, Gaps};
use crate::record::Record;
use crate::source::ByteSource;

/// An iterator over the records of a trace, in order of arrival or, without arrivals, in file
/// order. It ends after an error.
pub struct Reader {
    name: String,
    info: &'static FormatInfo,
    rows: Box<dyn RowReader>,
    on_error: OnError,
    metadata: TraceMetadata,
    ordering: Ordering,
    /// True if no row is left or an error has ended reading.
    is_read: bool,
    /// The error that ended reading, until it is returned.
    failure: Option<TraceError>,
    /// The first arrival, if the others are relative to it.
    origin: Option<Instant>,
    has_begun: bool,
    unit_warning: Option<String>,
    gaps: Gaps,
    skipped: SkippedRows,
}

impl Reader {
    /// Returns the format of the trace.
    pub fn format(&self) -> &'static FormatInfo {
        self.info
    }

    /// Returns the name of the trace, as used in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the metadata found so far.
    pub fn metadata(&self) -> &TraceMetadata {
        &self.metadata
    }

    /// Returns the invalid rows skipped so far.
    pub fn skipped(&self) -> &SkippedRows {
        &self.skipped
    }

    /// Returns the instant of the first record on the format's own clock
    /// ([`FormatInfo::time_origin`]), if arrivals are relative to that record.
    pub fn origin(&self) -> Option<Instant> {
        self.origin
    }

    /// Returns remarks for users of the records, one line each: a doubtful unit, jumps in time, a
    /// last line that may be truncated, and rows that were skipped, ignored, widened or reordered.
    /// The list is complete once all records have been read.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.unit_warning.iter().cloned().collect();
        notes.extend(self.gaps.note());
        if let Some(line) = self.metadata.cut {
            notes.push(format!(
                "line {line} does not end in a newline: the trace may be truncated in the middle \
                 of a number"
            ));
        }
        for (what, count) in &self.metadata.ignored {
            let rows = with_noun(*count, "row");
            notes.push(format!("{rows} ignored (not a read or write): {what}"));
        }
        let mut note = |count, noun, what: &str| {
            if count > 0 {
                notes.push(format!("{} {what}", with_noun(count, noun)));
            }
        };
        let (widened, incomplete) = (self.metadata.widened, self.metadata.incomplete);
        note(widened, "request", "widened to whole 512-byte blocks");
        note(incomplete, "request", "without a completion in the trace");
        note(self.ordering.moved, "record", "reordered by arrival");
        notes.extend(self.skipped.lines());
        notes
    }

    #[inline]
    fn fill(&mut self) {
        while !self.is_read && !self.ordering.is_full() {
            match self.rows.next(&mut self.metadata) {
                Ok(Some(record)) if !has_valid_completion(&record) => {
                    self.reject_row(completion_overflow(&self.name, &record));
                }
                Ok(Some(record)) => {
                    if let Err(latest) = self.ordering.put(record) {
                        self.reject_row(late_arrival(&self.name, &record, latest));
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

    /// Replaces `record` with the next one, or returns `None` at the end.
    #[inline]
    pub(crate) fn read(&mut self, record: &mut Record) -> Option<Result<(), TraceError>> {
        self.fill();
        let Some(next) = self.ordering.take() else {
            return self.end().map(Err);
        };
        *record = next;
        self.make_relative(record);
        Some(Ok(()))
    }

    /// Returns the error that ended reading, if any.
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
    fn make_relative(&mut self, record: &mut Record) {
        if !self.has_begun {
            self.begin(record);
        }
        if let Some(arrival) = &mut record.arrival {
            if let Some(origin) = self.origin {
                *arrival = Instant::START + (*arrival - origin);
            }
            self.gaps.add(*arrival, &record.location);
        }
    }

    /// Sets the origin and checks the unit of time, before the first record is returned.
    #[cold]
    fn begin(&mut self, first: &Record) {
        self.has_begun = true;
        if self.info.time_origin != TimeOrigin::Start {
            self.origin = first.arrival;
        }
        let arrival = first.arrival.unwrap_or_default();
        let start = self.origin.map_or(arrival, |_| Instant::START);
        self.gaps.begin(start);
        self.unit_warning = plausible::unit_warning(
            self.info.time_unit,
            self.info.time_origin == TimeOrigin::Unix,
            self.ordering.gaps(),
            self.ordering.responses(),
        );
    }
}

#[inline]
fn has_valid_completion(record: &Record) -> bool {
    let (Some(arrival), Some(response)) = (record.arrival, record.response) else {
        return true;
    };
    let response_ns = response.as_ns().unsigned_abs();
    arrival.as_ns().saturating_add(response_ns) <= i64::MAX.unsigned_abs()
}

#[cold]
fn completion_overflow(name: &str, record: &Record) -> TraceError {
    let found = format!("{} s", record.response.unwrap_or_default().as_s());
    let expected = "a completion before 2^63 ns";
    TraceError::value(name, record.location, "response", &found, expected)
}

#[cold]
fn late_arrival(name: &str, record: &Record, latest: Instant) -> TraceError {
    let found = format!("{} s", record.arrival.unwrap_or_default().as_s());
    let expected = format!(
        "{} s or later, the arrival of a much earlier record: sort the trace first",
        latest.as_s()
    );
    TraceError::value(name, record.location, "arrival", &found, &expected)
}

impl Iterator for Reader {
    type Item = Result<Record, TraceError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.fill();
        let Some(mut record) = self.ordering.take() else {
            return self.end().map(Err);
        };
        self.make_relative(&mut record);
        Some(Ok(record))
    }
}

/// Opens the trace at `path`, in the format named `format` or, if that is `None`, in the format
/// detected from its content. Reading ends at the first invalid row. For errors and options see
/// [`open_with`].
pub fn open(path: impl AsRef<Path>, format: Option<&str>) -> Result<Reader, TraceError> {
    open_with(path, &strict(format))
}

fn strict(format: Option<&str>) -> Options<'_> {
    Options {
        format,
        ..Options::default()
    }
}

/// Opens the trace at `path`. gzip, zstd, xz and bzip2 are recognised by their first bytes. If a
/// trace has several files, such as one per processor, the path of any of them opens all of them.
///
/// # Errors
/// Fails if the file cannot be read, is a directory or a device, or is empty; if the format name is
/// not in [`FORMATS`]; if the content matches no format or several; or if [`crate::Format::open`]
/// fails.
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

/// Like [`open`], but reads from `input`, called `name` in errors. Fails like [`open_with`].
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
    read_with(input, name, &strict(format))
}

/// Like [`open_with`], including its errors, but reads the trace from `input`.
pub fn read_with(
    input: impl Read + Send + 'static,
    name: &str,
    options: &Options<'_>,
) -> Result<Reader, TraceError> {
    let source = ByteSource::new(input, name)?;
    let entry = choose(&source, options)?;
    begin(source, entry, options)
}

/// Returns all files that [`open`] reads for `path`, in order; there may be one per processor.
pub fn files(path: impl AsRef<Path>) -> Vec<PathBuf> {
    let first = first_part(path.as_ref());
    let parts = FORMATS.iter().map(|entry| (entry.parts)(&first));
    let mut parts = parts.filter(|parts| !parts.is_empty());
    parts.next().unwrap_or_else(|| vec![first.clone()])
}

/// Returns the first file to read: `path` or, if it is missing or empty, the first non-empty file
/// of the trace that `path` names or belongs to.
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
    ByteSource::from_file(open_file(path)?, &path.display().to_string())
}

/// Opens a file of a trace without reading it. Fails if it cannot be opened, or is a directory or a
/// device: a device such as `/dev/zero` has no end.
pub fn open_file(path: impl AsRef<Path>) -> Result<File, TraceError> {
    let name = path.as_ref().display().to_string();
    let file = File::open(path).map_err(|error| TraceError::io(&name, None, "open", error))?;
    let kind = file.metadata().map(|metadata| metadata.file_type());
    let found = match kind {
        // Opening a directory succeeds; only reading from it fails.
        Ok(kind) if kind.is_dir() => "a directory",
        #[cfg(unix)]
        Ok(kind) if kind.is_char_device() || kind.is_block_device() => "a device",
        _ => return Ok(file),
    };
    let detail = format!("found {found}, expected a trace file");
    Err(TraceError::new(ErrorKind::Io, &name, None, detail))
}

fn choose(source: &ByteSource, options: &Options<'_>) -> Result<&'static FormatEntry, TraceError> {
    let name = source.name();
    let found = options.format.map(|forced| find(forced, name));
    let forced = found.transpose()?;
    if source.is_blank() {
        return Err(TraceError::empty(name));
    }
    forced.map_or_else(|| detect(FORMATS, source.head(), name), Ok)
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
        ordering: Ordering::default(),
        is_read: false,
        failure: None,
        origin: None,
        has_begun: false,
        unit_warning: None,
        gaps: Gaps::default(),
        skipped: SkippedRows::default(),
    })
}

fn find(forced: &str, name: &str) -> Result<&'static FormatEntry, TraceError> {
    let entry = FORMATS.iter().find(|entry| entry.info.name == forced);
    entry.ok_or_else(|| {
        let mut disabled = disabled_formats().iter();
        let detail = match disabled.find(|format| format.name == forced) {
            Some(format) => disabled_message(format),
            None => {
                let (forced, known) = (QuotedValue(forced), names(FORMATS.iter()));
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
                 convert the file to one of these: docs/reference/traces.md lists their columns)",
                QuotedValue(&first),
                names(table.iter())
            )
        }
        _ => {
            let matching = names(matching.into_iter());
            format!("format: the content matches several formats ({matching}): name the right one")
        }
    };
    Err(TraceError::new(ErrorKind::Undetected, name, None, detail))
}

fn names<'a>(entries: impl Iterator<Item = &'a FormatEntry>) -> String {
    let names: Vec<&str> = entries.map(|entry| entry.info.name).collect();
    names.join(", ")
}

/// Size of the reorder buffer: larger than the queue of any device, so that traces in order of
/// completion are sorted correctly, and small enough to stay in a cache.
const WINDOW: usize = 4096;

/// Sorts records that are at most [`WINDOW`] positions out of order; ties keep their order.
#[derive(Default)]
struct Ordering {
    waiting: VecDeque<Record>,
    latest: Option<Instant>,
    /// The number of records that followed a later one in the file.
    moved: u64,
}

impl Ordering {
    /// Returns true if a record must be taken before another can be added.
    #[inline]
    fn is_full(&self) -> bool {
        self.waiting.len() == WINDOW
    }

    /// Inserts a record. If a later one was already returned, fails with the arrival of the latest.
    #[inline]
    fn put(&mut self, record: Record) -> Result<(), Instant> {
        match self.waiting.back() {
            Some(last) if record.arrival >= last.arrival => {
                self.waiting.push_back(record);
                Ok(())
            }
            _ => self.put_before(record),
        }
    }

    #[cold]
    fn put_before(&mut self, record: Record) -> Result<(), Instant> {
        if let Some(latest) = self.latest
            && record.arrival < Some(latest)
        {
            return Err(latest);
        }
        let is_earlier = |waiting: &Record| waiting.arrival <= record.arrival;
        let index = self.waiting.partition_point(is_earlier);
        self.moved += u64::from(index < self.waiting.len());
        self.waiting.insert(index, record);
        Ok(())
    }

    #[inline]
    fn take(&mut self) -> Option<Record> {
        let record = self.waiting.pop_front()?;
        self.latest = record.arrival;
        Some(record)
    }

    fn gaps(&self) -> impl Iterator<Item = Span> {
        let arrivals = || self.waiting.iter().filter_map(|record| record.arrival);
        let gaps = arrivals().zip(arrivals().skip(1));
        let gaps = gaps.map(|(earlier, later)| later - earlier);
        gaps.filter(|gap| *gap > Span::ZERO)
    }

    fn responses(&self) -> impl Iterator<Item = Span> {
        self.waiting.iter().filter_map(|record| record.response)
    }
}

#[cfg(test)]
mod tests {
    use diskarm_core::request::Op;
    use diskarm_core::units::{Lbn, SectorCount};

    use super::*;
    use crate::record::Location;

    #[test]
    fn content_that_matches_two_formats_is_refused() {
        let mut formats = FORMATS.iter();
        let disksim = formats.find(|entry| entry.info.name == "disksim");
        let disksim = *disksim.expect("disksim is in the table");
        let table = [disksim, FORMATS[0], disksim];
        let error = detect(&table, b"0.5 0 1 1 1\n", "x").unwrap_err();
        let expected = "x: format: the content matches several formats (disksim, disksim): name \
                        the right one";
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.kind(), ErrorKind::Undetected);
    }

    #[test]
    fn format_names_are_unique() {
        for (i, entry) in FORMATS.iter().enumerate() {
            let is_duplicate = FORMATS[..i].iter().any(|e| e.info.name == entry.info.name);
            assert!(!is_duplicate, "{}", entry.info.name);
        }
    }

    fn record(ns: u64, line: u64) -> Record {
        Record {
            arrival: Some(Instant::from_ns(ns)),
            ..Record::new(Location::Line(line), Op::Read, Lbn(0), SectorCount(1))
        }
    }

    #[test]
    fn late_records_are_sorted_and_ties_keep_their_order() {
        let mut ordering = Ordering::default();
        for (ns, line) in [(5, 1), (9, 2), (5, 3), (7, 4), (9, 5)] {
            assert_eq!(ordering.put(record(ns, line)), Ok(()));
        }
        let order = std::iter::from_fn(|| ordering.take());
        let locations: Vec<Location> = order.map(|record| record.location).collect();
        assert_eq!(locations, [1, 3, 4, 2, 5].map(Location::Line));
        assert_eq!(ordering.moved, 2);
    }

    #[test]
    fn a_record_that_is_too_late_is_refused() {
        let mut ordering = Ordering::default();
        assert_eq!(ordering.put(record(5, 1)), Ok(()));
        assert!(ordering.take().is_some());
        assert_eq!(ordering.put(record(4, 2)), Err(Instant::from_ns(5)));
        assert_eq!(ordering.put(record(5, 3)), Ok(()));
    }
}
