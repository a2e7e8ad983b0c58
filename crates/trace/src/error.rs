//! The error type of the crate: kind, location and source.

use std::error::Error;
use std::{fmt, io};

use diskarm_core::text::{InputError, with_noun};

use crate::record::Location;

/// An error in reading or writing a trace.
///
/// `Display` is one line, including any underlying I/O error:
/// `x.csv:17: response_us: found "abc", expected microseconds as a decimal number`.
#[derive(Debug)]
pub struct TraceError(Box<Inner>);

/// The contents are boxed, so that the result returned for every record stays small.
#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    name: String,
    location: Option<Location>,
    /// The problem, with the invalid field if it concerns only one.
    error: InputError,
    source: Option<io::Error>,
}

/// The kinds of [`TraceError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorKind {
    /// The file is a directory or a device, ends within compressed data, or cannot be opened, read
    /// or written.
    Io,
    /// The file has no requests.
    Empty,
    /// The requested format does not exist.
    UnknownFormat,
    /// The content matches no known format, or more than one.
    Undetected,
    /// Bytes that are not UTF-8, or a blank line between rows.
    Text,
    /// A header with a missing, unknown, duplicated or mistyped column, or an unknown version.
    Header,
    /// A row has too few or too many fields.
    FieldCount,
    /// A field has an invalid value.
    Value,
    /// The file ends within a binary record.
    Truncated,
    /// The start of the next record is unknown, or a block of records cannot be decoded.
    Framing,
    /// A record lacks something that the output format needs.
    Unwritable,
}

impl ErrorKind {
    /// Returns true if the rows after the invalid one can still be read.
    pub fn is_skippable(self) -> bool {
        matches!(
            self,
            Self::Text | Self::FieldCount | Self::Value | Self::Truncated
        )
    }
}

impl TraceError {
    pub(crate) fn new(
        kind: ErrorKind,
        name: &str,
        location: Option<Location>,
        detail: String,
    ) -> Self {
        Self::with(kind, name, location, InputError::message(detail))
    }

    fn with(kind: ErrorKind, name: &str, location: Option<Location>, error: InputError) -> Self {
        Self(Box::new(Inner {
            kind,
            name: name.to_owned(),
            location,
            error,
            source: None,
        }))
    }

    pub(crate) fn io(
        name: &str,
        location: Option<Location>,
        doing: &str,
        source: io::Error,
    ) -> Self {
        let mut error = Self::new(ErrorKind::Io, name, location, format!("cannot {doing}"));
        error.0.source = Some(source);
        error
    }

    pub(crate) fn empty(name: &str) -> Self {
        let detail = "found no rows, expected at least one".to_owned();
        Self::new(ErrorKind::Empty, name, None, detail)
    }

    /// Returns the error for a trace whose rows were all skipped, for the reasons in `skipped`.
    pub(crate) fn all_skipped(name: &str, skipped: impl Iterator<Item = String>) -> Self {
        let reasons = skipped.collect::<Vec<_>>().join("; ");
        let detail = format!("found no valid row, expected at least one ({reasons})");
        Self::new(ErrorKind::Empty, name, None, detail)
    }

    /// Returns the error for a field with an invalid value. Callers can also use it, for example
    /// for a request beyond the end of its disk. A long `found` is truncated.
    ///
    /// ```
    /// use diskarm_trace::{Location, TraceError};
    /// let error = TraceError::value("x.csv", Location::Line(3), "lbn", "70", "a block below 64");
    /// assert_eq!(error.to_string(), "x.csv:3: lbn: found \"70\", expected a block below 64");
    /// ```
    pub fn value(name: &str, location: Location, field: &str, found: &str, expected: &str) -> Self {
        let error = InputError::shown(field, QuotedValue(found), expected);
        Self::with(ErrorKind::Value, name, Some(location), error)
    }

    /// Returns the kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the name under which the trace was opened.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the location in the file, if known.
    pub fn location(&self) -> Option<Location> {
        self.0.location
    }

    /// Returns the invalid field, if the error concerns only one.
    pub fn field(&self) -> Option<&str> {
        Some(self.0.error.field.as_str()).filter(|field| !field.is_empty())
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.0;
        f.write_str(&inner.name)?;
        match inner.location {
            Some(location @ Location::Line(_)) => write!(f, ":{location}")?,
            Some(location @ (Location::Byte(_) | Location::Row(_))) => write!(f, ": {location}")?,
            None => {}
        }
        write!(f, ": {}", inner.error.problem())?;
        let source = inner.source.as_ref();
        source.map_or(Ok(()), |source| write!(f, ": {source}"))
    }
}

impl Error for TraceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}

/// An invalid field of a binary record.
pub(crate) struct InvalidField {
    field: &'static str,
    found: u64,
    expected: String,
}

impl InvalidField {
    /// The result is boxed, because it is rarely needed.
    #[cold]
    pub(crate) fn new(field: &'static str, found: u64, expected: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            field,
            found,
            expected: expected.into(),
        })
    }

    #[cold]
    pub(crate) fn at(&self, name: &str, location: Location) -> TraceError {
        let found = self.found.to_string();
        TraceError::value(name, location, self.field, &found, &self.expected)
    }
}

/// Displays a value from a file in quotes, with control characters escaped, truncated if long.
pub(crate) struct QuotedValue<'a>(pub &'a str);

impl fmt::Display for QuotedValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_CHARACTERS: usize = 40;
        match self.0.char_indices().nth(MAX_CHARACTERS) {
            Some((end, _)) => write!(f, "{:?}...", &self.0[..end]),
            None => write!(f, "{:?}", self.0),
        }
    }
}

/// Invalid rows that were skipped, by reason.
#[derive(Clone, Debug, Default)]
pub struct SkippedRows {
    reasons: Vec<SkipReason>,
}

/// Rows that were skipped for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkipReason {
    /// The kind of error.
    pub kind: ErrorKind,
    /// The invalid field, if the error concerns only one.
    pub field: Option<String>,
    /// The number of rows.
    pub count: u64,
    /// The message of the first error.
    pub first: String,
}

impl SkippedRows {
    /// Returns the reasons in order of first appearance.
    pub fn reasons(&self) -> &[SkipReason] {
        &self.reasons
    }

    pub(crate) fn count(&mut self, error: &TraceError) {
        let (kind, field) = (error.kind(), error.field());
        let is_same =
            |reason: &&mut SkipReason| reason.kind == kind && reason.field.as_deref() == field;
        match self.reasons.iter_mut().find(is_same) {
            Some(reason) => reason.count += 1,
            None => self.reasons.push(SkipReason {
                kind,
                field: field.map(str::to_owned),
                count: 1,
                first: error.to_string(),
            }),
        }
    }

    /// Describes each reason in one line.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.reasons.iter().map(|reason| {
            let what = match (&reason.field, reason.kind) {
                (Some(field), _) => format!("invalid {field}"),
                (None, ErrorKind::FieldCount) => "wrong number of fields".to_owned(),
                (None, ErrorKind::Truncated) => "truncated record".to_owned(),
                (None, _) => "invalid text".to_owned(),
            };
            let (rows, first) = (with_noun(reason.count, "invalid row"), &reason.first);
            format!("{rows} skipped: {what}; the first: {first}")
        })
    }
}
