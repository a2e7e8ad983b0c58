//! The crate's one error: what kind, where, and what lay beneath.

use std::error::Error;
use std::fmt;
use std::io;

use crate::record::Line;

/// Why a trace could not be read.
///
/// `Display` is one whole line, an underlying I/O error included:
/// `x.csv:17: response_us: found "abc", expected microseconds as a decimal number`.
#[derive(Debug)]
pub struct TraceError {
    kind: ErrorKind,
    name: String,
    line: Option<Line>,
    detail: String,
    source: Option<io::Error>,
}

/// The kinds of [`TraceError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The file could not be opened or read, or is a directory.
    Io,
    /// No requests in it.
    Empty,
    /// Nobody knows a format of the name asked for.
    UnknownFormat,
    /// The content fits no known format, or more than one.
    Undetected,
    /// Bytes that are no UTF-8, a line of absurd length, or a blank line between rows.
    Text,
    /// A column is missing, unknown, or there twice.
    Header,
    /// A row has too few or too many fields.
    FieldCount,
    /// A field's value is not one that it can have.
    Value,
}

impl TraceError {
    pub(crate) fn new(kind: ErrorKind, name: &str, line: Option<Line>, detail: String) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            line,
            detail,
            source: None,
        }
    }

    pub(crate) fn io(name: &str, line: Option<Line>, doing: &str, source: io::Error) -> Self {
        Self {
            source: Some(source),
            ..Self::new(ErrorKind::Io, name, line, format!("cannot {doing}"))
        }
    }

    pub(crate) fn empty(name: &str) -> Self {
        let detail = "found no rows, expected at least one".to_owned();
        Self::new(ErrorKind::Empty, name, None, detail)
    }

    /// A value that its field cannot have; for complaints that only the caller can make, too,
    /// such as a request beyond the end of its disk. Of a long `found` only the head is shown.
    ///
    /// ```
    /// use diskarm_trace::{Line, TraceError};
    /// let error = TraceError::value("x.csv", Line(3), "lbn", "70", "a block below 64");
    /// assert_eq!(error.to_string(), "x.csv:3: lbn: found \"70\", expected a block below 64");
    /// ```
    pub fn value(name: &str, line: Line, field: &str, found: &str, expected: &str) -> Self {
        let detail = format!("{field}: found {}, expected {expected}", Quoted(found));
        Self::new(ErrorKind::Value, name, Some(line), detail)
    }

    /// What kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Where in the file, if at one line.
    pub fn line(&self) -> Option<Line> {
        self.line
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.detail)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl Error for TraceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

/// A value from a file in quotes, with control characters escaped, cut to fit in a line.
pub(crate) struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 40;
        match self.0.char_indices().nth(SHOWN) {
            Some((end, _)) => write!(f, "{:?}...", &self.0[..end]),
            None => write!(f, "{:?}", self.0),
        }
    }
}
