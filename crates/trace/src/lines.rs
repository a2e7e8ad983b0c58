//! Lines of a text trace, one at a time, and the fields in them.
//!
//! A [`Row`] knows where it stands, so that each check on a field is one call and its error
//! names file, line, field, value and what was expected.

use std::fmt::Display;
use std::io::{BufRead, Read};
use std::str::FromStr;

use diskarm_core::request::Request;
use diskarm_core::units::{Lbn, SectorCount};

use crate::error::{ErrorKind, Quoted, TraceError};
use crate::format::Input;
use crate::record::Line;
use crate::time::{NotATime, TimeUnit, is_digits};

/// The longest line that is read, in bytes; keeps memory flat on files that are no text.
const MAX_LINE: usize = 65_536;

/// The most sectors that one request may have. More is a broken row.
const MAX_SECTORS: u64 = Request::MOST_SECTORS.0;

/// The lines of a file. Blank lines may stand at its end only.
pub(crate) struct Lines {
    name: String,
    input: Input,
    buffer: Vec<u8>,
    line: u64,
}

impl Lines {
    pub(crate) fn new(input: Input, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            input,
            buffer: Vec::new(),
            line: 0,
        }
    }

    /// The name of the file, for errors.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The next line that is not blank; `None` at the end of the file.
    pub(crate) fn next_row(&mut self) -> Result<Option<Row<'_>>, TraceError> {
        let mut blank = None;
        loop {
            if !self.fill()? {
                return Ok(None);
            }
            if !self.buffer.iter().all(u8::is_ascii_whitespace) {
                break;
            }
            blank.get_or_insert(self.line);
        }
        if let Some(blank) = blank {
            let detail = "found a blank line, expected a row".to_owned();
            return Err(self.error_at(blank, detail));
        }
        let (content, ended) = match self.buffer.strip_suffix(b"\n") {
            Some(content) => (content.strip_suffix(b"\r").unwrap_or(content), true),
            None => (&self.buffer[..], false),
        };
        match str::from_utf8(content) {
            Ok(text) => Ok(Some(Row {
                name: &self.name,
                line: Line(self.line),
                text,
                ended,
            })),
            Err(error) => {
                let at = error.valid_up_to();
                let (byte, column) = (content[at], at + 1);
                let detail = format!("found byte 0x{byte:02x} as byte {column}, expected UTF-8");
                Err(self.error_at(self.line, detail))
            }
        }
    }

    /// Reads one line with its end into the buffer; `false` at the end of the file.
    fn fill(&mut self) -> Result<bool, TraceError> {
        self.buffer.clear();
        self.line += 1;
        let mut limited = (&mut self.input).take(MAX_LINE as u64 + 1);
        let read = limited.read_until(b'\n', &mut self.buffer);
        match read {
            Ok(0) => Ok(false),
            Ok(length) if length > MAX_LINE => {
                let detail = format!("found more, expected at most {MAX_LINE} bytes in a line");
                Err(self.error_at(self.line, detail))
            }
            Ok(_) => Ok(true),
            Err(error) => {
                let line = Some(Line(self.line));
                Err(TraceError::io(&self.name, line, "read", error))
            }
        }
    }

    fn error_at(&self, line: u64, detail: String) -> TraceError {
        TraceError::new(ErrorKind::Text, &self.name, Some(Line(line)), detail)
    }
}

/// One line, without its end, and where it stands.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    name: &'a str,
    pub(crate) line: Line,
    pub(crate) text: &'a str,
    /// Whether a newline ends it; only a file's last line may lack one.
    ended: bool,
}

impl<'a> Row<'a> {
    /// `fields` as an array, as many as there are `names` for; an error unless there are exactly
    /// that many. There are at most `N` names.
    pub(crate) fn fields<const N: usize>(
        &self,
        fields: impl Iterator<Item = &'a str>,
        mut names: impl ExactSizeIterator<Item = &'static str>,
    ) -> Result<[&'a str; N], TraceError> {
        let expected = names.len();
        let mut array = [""; N];
        let mut count = 0;
        for field in fields {
            if count < expected {
                array[count] = field;
            }
            count += 1;
        }
        if count == expected {
            return Ok(array);
        }
        let plural = if count == 1 { "" } else { "s" };
        let mut detail = format!("found {count} field{plural}, expected {expected}");
        // A single field is rather a line that separates its fields in another way.
        if let Some(missing) = names.nth(count).filter(|_| count > 1) {
            detail += &format!(": no {missing}");
        }
        if count < expected && !self.ended {
            detail.push_str(" (the last line is cut short)");
        }
        Err(self.error(ErrorKind::FieldCount, detail))
    }

    /// A whole number of an unsigned type, of which `max` is the greatest.
    pub(crate) fn whole<T: FromStr + Display>(
        &self,
        field: &str,
        text: &str,
        max: T,
    ) -> Result<T, TraceError> {
        match text.parse() {
            Ok(value) if is_digits(text) => Ok(value),
            _ => Err(self.reject(field, text, &format!("a whole number from 0 to {max}"))),
        }
    }

    /// The blocks of a request, from the texts of (field, value) for its first and its number.
    pub(crate) fn blocks(
        &self,
        (start_field, start_text): (&str, &str),
        (sectors_field, sectors_text): (&str, &str),
    ) -> Result<(Lbn, SectorCount), TraceError> {
        let start = self.whole(start_field, start_text, u64::MAX)?;
        let sectors = match sectors_text.parse() {
            Ok(sectors @ 1..=MAX_SECTORS) if is_digits(sectors_text) => sectors,
            _ => {
                let expected = format!("a whole number from 1 to {MAX_SECTORS}");
                return Err(self.reject(sectors_field, sectors_text, &expected));
            }
        };
        if start.checked_add(sectors).is_none() {
            let expected = "the request to end below block 2^64";
            return Err(self.reject(start_field, start_text, expected));
        }
        Ok((Lbn(start), SectorCount(sectors)))
    }

    /// A time in nanoseconds, in `[0, 2^63)`.
    pub(crate) fn time_ns(
        &self,
        field: &str,
        text: &str,
        unit: TimeUnit,
    ) -> Result<i64, TraceError> {
        unit.parse_ns(text).map_err(|reason| {
            let unit = unit.name();
            let expected = match reason {
                NotATime::NotDecimal => format!("{unit} as a decimal number"),
                NotATime::Negative => format!("{unit} from 0 up"),
                NotATime::TooLong => format!("{unit} below 2^63 ns"),
            };
            self.reject(field, text, &expected)
        })
    }

    /// The error that `field` cannot be `found`.
    pub(crate) fn reject(&self, field: &str, found: &str, expected: &str) -> TraceError {
        TraceError::value(self.name, self.line, field, found, expected)
    }

    /// The error that `what` was found of the header's `column`.
    pub(crate) fn reject_column(&self, what: &str, column: &str, expected: &str) -> TraceError {
        let detail = format!(
            "header: found {what} {}, expected {expected}",
            Quoted(column)
        );
        self.error(ErrorKind::Header, detail)
    }

    fn error(&self, kind: ErrorKind, detail: String) -> TraceError {
        TraceError::new(kind, self.name, Some(self.line), detail)
    }
}
