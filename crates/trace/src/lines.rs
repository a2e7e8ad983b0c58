//! Reads the lines of a text trace one at a time, and the fields in them.
//!
//! A [`Field`] knows its name and location, so that an error can name the file, line, field, value
//! and what was expected.

use diskarm_core::request::{Op, Request};
use diskarm_core::text::with_noun;
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};

use crate::digits::{Split, Words, digits, words};
use crate::error::{ErrorKind, QuotedValue, TraceError};
use crate::format::{NAMES, TraceMetadata};
use crate::record::{BLOCK_BYTES, Location};
use crate::source::{self, ByteSource};
use crate::time::{InvalidTime, TimeUnit};

/// The maximum length of a line in bytes; limits the memory for files that are not text.
const MAX_LINE: usize = 65_536;

/// The maximum number of blocks of a request. A row with more is invalid.
pub(crate) const MAX_SECTORS: u64 = Request::MAX_SECTORS.0;

/// The lines of a file. Blank lines are allowed only at the end.
pub(crate) struct Lines {
    source: ByteSource,
    line: u64,
    /// The line after rejected blank lines; it is returned next.
    pending: Option<Vec<u8>>,
    /// The line that was `pending`, once it has been returned.
    returned: Vec<u8>,
    /// The number of the last line, once it has been read, if it lacks its newline.
    cut: Option<u64>,
}

impl Lines {
    pub(crate) fn new(source: ByteSource) -> Self {
        Self {
            source,
            line: 0,
            pending: None,
            returned: Vec::new(),
            cut: None,
        }
    }

    pub(crate) fn source(&self) -> &ByteSource {
        &self.source
    }

    pub(crate) fn cut(&self) -> Option<u64> {
        self.cut
    }

    pub(crate) fn pending(&self) -> Option<&[u8]> {
        self.pending.as_deref()
    }

    /// Returns the buffered bytes from the next line onward, and the location of that line; `None`
    /// before the first line, which may be a header, and after blank lines.
    #[inline]
    pub(crate) fn peek(&self) -> Option<(&[u8], Location)> {
        let has_begun = self.line > 0 && self.pending.is_none();
        has_begun.then(|| (self.source.buffered(), Location::Line(self.line + 1)))
    }

    /// Consumes the next line, of `length` bytes including its line end.
    #[inline]
    pub(crate) fn skip(&mut self, length: usize) {
        self.line += 1;
        self.source.consume(length);
    }

    /// Returns the next line that is not blank; `None` at the end of the file. After an error in a
    /// line, the next call continues with the next line.
    #[inline]
    pub(crate) fn next_row(&mut self) -> Result<Option<Row<'_>>, TraceError> {
        if self.pending.is_some() {
            return self.next_pending();
        }
        match self.read_line()? {
            None => Ok(None),
            Some(length) if is_blank(self.source.last_consumed(length)) => self.after_blanks(),
            Some(length) => {
                row(&self.source, self.line, self.source.last_consumed(length)).map(Some)
            }
        }
    }

    #[cold]
    fn next_pending(&mut self) -> Result<Option<Row<'_>>, TraceError> {
        self.returned = self.pending.take().unwrap_or_default();
        row(&self.source, self.line, &self.returned).map(Some)
    }

    #[inline]
    fn read_line(&mut self) -> Result<Option<usize>, TraceError> {
        self.line += 1;
        match self.source.line(MAX_LINE) {
            Ok(None) => Ok(self.at_end()),
            Ok(Some(source::Line::Text(length))) => Ok(Some(length)),
            Ok(Some(source::Line::TooLong)) => Err(self.too_long()),
            Err(error) => {
                let location = Some(Location::Line(self.line));
                Err(TraceError::io(self.source.name(), location, "read", error))
            }
        }
    }

    /// Records a missing newline at the end of the file. Always returns `None`.
    #[cold]
    fn at_end(&mut self) -> Option<usize> {
        self.cut = self.cut.or(self.source.is_cut().then_some(self.line - 1));
        None
    }

    #[cold]
    fn too_long(&self) -> TraceError {
        let detail = format!("the line is longer than the maximum of {MAX_LINE} bytes");
        self.error_at(self.line, ErrorKind::Framing, detail)
    }

    /// Handles a blank line, which only blank lines may follow.
    #[cold]
    fn after_blanks(&mut self) -> Result<Option<Row<'_>>, TraceError> {
        let blank = self.line;
        while let Some(length) = self.read_line()? {
            let line = self.source.last_consumed(length);
            if !is_blank(line) {
                self.pending = Some(line.to_vec());
                let detail = "found a blank line, expected a row".to_owned();
                return Err(self.error_at(blank, ErrorKind::Text, detail));
            }
        }
        Ok(None)
    }

    fn error_at(&self, line: u64, kind: ErrorKind, detail: String) -> TraceError {
        TraceError::new(kind, self.source.name(), Some(Location::Line(line)), detail)
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

/// Returns the row of the line `text`, which must be UTF-8.
#[inline]
fn row<'a>(source: &'a ByteSource, line: u64, text: &'a [u8]) -> Result<Row<'a>, TraceError> {
    let (text, has_newline) = match text {
        [content @ .., b'\r', b'\n'] | [content @ .., b'\n'] => (content, true),
        content => (content, false),
    };
    let row = Row {
        name: source.name(),
        line,
        text,
        has_newline,
    };
    if text.is_ascii() {
        return Ok(row);
    }
    match str::from_utf8(text) {
        Ok(_) => Ok(row),
        Err(error) => {
            let at = error.valid_up_to();
            let (byte, column) = (text[at], at + 1);
            let detail = format!("found byte 0x{byte:02x} as byte {column}, expected UTF-8");
            Err(row.error(ErrorKind::Text, detail))
        }
    }
}

/// One line, without its newline, and its location.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    name: &'a str,
    line: u64,
    pub(crate) text: &'a [u8],
    /// True if the line ends with a newline; only the last line may lack one.
    has_newline: bool,
}

impl<'a> Row<'a> {
    pub(crate) fn location(&self) -> Location {
        Location::Line(self.line)
    }

    /// Returns the `fields`, one for each of at most `N` `names`. Fails if there are more or fewer.
    #[inline(always)]
    pub(crate) fn fields<const N: usize>(
        &'a self,
        mut fields: impl Iterator<Item = &'a [u8]>,
        names: &[&'static str],
    ) -> Result<[Field<'a>; N], TraceError> {
        let (array, count) = self.leading(&mut fields, names);
        let has_more = fields.next().is_some();
        if count < names.len() || has_more {
            let more = usize::from(has_more) + fields.count();
            return Err(self.wrong_count(count + more, names));
        }
        Ok(array)
    }

    /// Returns the first of `fields`, one for each of `names`. Fails if there are fewer.
    #[inline(always)]
    pub(crate) fn first_fields<const N: usize>(
        &'a self,
        mut fields: impl Iterator<Item = &'a [u8]>,
        names: &[&'static str; N],
    ) -> Result<[Field<'a>; N], TraceError> {
        match self.leading(&mut fields, names) {
            (array, count) if count == N => Ok(array),
            (_, count) => Err(self.wrong_count(count, names)),
        }
    }

    #[inline(always)]
    fn leading<const N: usize>(
        &'a self,
        fields: &mut impl Iterator<Item = &'a [u8]>,
        names: &[&'static str],
    ) -> ([Field<'a>; N], usize) {
        let mut texts = [&b""[..]; N];
        let mut count = 0;
        for (slot, _) in texts.iter_mut().zip(names) {
            let Some(text) = fields.next() else { break };
            *slot = text;
            count += 1;
        }
        // Fields are created last, so that they need not be moved.
        let name = |index: usize| names.get(index).copied().unwrap_or_default();
        let array = std::array::from_fn(|index| self.field(name(index), texts[index]));
        (array, count)
    }

    #[inline(always)]
    pub(crate) fn split(&self, separator: u8) -> Split<'a> {
        Split::new(self.text, separator)
    }

    #[inline(always)]
    pub(crate) fn words(&self) -> Words<'a> {
        words(self.text)
    }

    #[inline(always)]
    pub(crate) fn field(&'a self, name: &'static str, text: &'a [u8]) -> Field<'a> {
        Field {
            row: self,
            name,
            text,
        }
    }

    #[cold]
    fn wrong_count(&self, count: usize, names: &[&'static str]) -> TraceError {
        let expected = names.len();
        let found = with_noun(count, "field");
        let mut detail = format!("found {found}, expected {expected}");
        // A line with a single field probably uses a different separator.
        if let Some(missing) = names.get(count).filter(|_| count > 1) {
            detail += &format!(": no {missing}");
        }
        if count < expected && !self.has_newline {
            detail.push_str(" (the last line is truncated)");
        }
        self.error(ErrorKind::FieldCount, detail)
    }

    #[cold]
    pub(crate) fn reject_column(&self, what: &str, column: &str, expected: &str) -> TraceError {
        let column = QuotedValue(column);
        let detail = format!("header: found {what} {column}, expected {expected}");
        self.error(ErrorKind::Header, detail)
    }

    #[cold]
    pub(crate) fn error(&self, kind: ErrorKind, detail: String) -> TraceError {
        TraceError::new(kind, self.name, Some(self.location()), detail)
    }
}

/// Returns the blocks that `count` bytes from `first` overlap, if there are 1 to [`MAX_SECTORS`].
#[inline]
pub(crate) fn overlapped_blocks(
    first: u64,
    count: u64,
    metadata: &mut TraceMetadata,
) -> Option<(Lbn, SectorCount)> {
    let end = first.checked_add(count)?;
    if !first.is_multiple_of(BLOCK_BYTES) || !end.is_multiple_of(BLOCK_BYTES) {
        metadata.widened += 1;
    }
    let start = first / BLOCK_BYTES;
    let sectors = end.div_ceil(BLOCK_BYTES) - start;
    (1..=MAX_SECTORS)
        .contains(&sectors)
        .then_some((Lbn(start), SectorCount(sectors)))
}

#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    row: &'a Row<'a>,
    name: &'static str,
    pub(crate) text: &'a [u8],
}

impl Field<'_> {
    #[inline]
    pub(crate) fn whole_number(&self, max: u64) -> Result<u64, TraceError> {
        match digits(self.text) {
            Some(value) if value <= max => Ok(value),
            _ => Err(self.reject(&format!("a whole number from 0 to {max}"))),
        }
    }

    #[inline]
    pub(crate) fn device(&self) -> Result<u32, TraceError> {
        Ok(self.whole_number(u32::MAX.into())? as u32)
    }

    /// Returns the number of the device called `name`, all or part of which is in this field.
    #[inline]
    pub(crate) fn named_device(
        &self,
        name: &[u8],
        metadata: &mut TraceMetadata,
    ) -> Result<u32, TraceError> {
        metadata.device(name).ok_or_else(|| self.reject(NAMES))
    }

    #[inline]
    pub(crate) fn op(&self, read: &str, write: &str) -> Result<Op, TraceError> {
        if self.text == read.as_bytes() {
            Ok(Op::Read)
        } else if self.text == write.as_bytes() {
            Ok(Op::Write)
        } else {
            Err(self.reject(&format!("{read} or {write}")))
        }
    }

    /// Parses the blocks of a request: this field is the first block, and `count` is their number.
    #[inline]
    pub(crate) fn blocks(&self, count: &Field<'_>) -> Result<(Lbn, SectorCount), TraceError> {
        let start = self.whole_number(u64::MAX)?;
        let sectors = match digits(count.text) {
            Some(sectors @ 1..=MAX_SECTORS) => sectors,
            _ => return Err(count.reject(&format!("a whole number from 1 to {MAX_SECTORS}"))),
        };
        self.check_end(start, sectors)
    }

    /// Parses the blocks of a request: this field is the first block; `length` is in bytes.
    #[inline]
    pub(crate) fn blocks_and_bytes(
        &self,
        length: &Field<'_>,
        metadata: &mut TraceMetadata,
    ) -> Result<(Lbn, SectorCount), TraceError> {
        let start = self.whole_number(u64::MAX)?;
        let bytes = length.length()?;
        if !bytes.is_multiple_of(BLOCK_BYTES) {
            metadata.widened += 1;
        }
        self.check_end(start, bytes.div_ceil(BLOCK_BYTES))
    }

    /// Parses the blocks that a request of `length` bytes overlaps; this field is its byte offset.
    #[inline]
    pub(crate) fn bytes(
        &self,
        length: &Field<'_>,
        metadata: &mut TraceMetadata,
    ) -> Result<(Lbn, SectorCount), TraceError> {
        let first = self.whole_number(u64::MAX)?;
        let bytes = length.length()?;
        let expected =
            || format!("a request of at most {MAX_SECTORS} blocks that ends below byte 2^64");
        overlapped_blocks(first, bytes, metadata).ok_or_else(|| self.reject(&expected()))
    }

    #[inline]
    fn length(&self) -> Result<u64, TraceError> {
        const MAX: u64 = MAX_SECTORS * BLOCK_BYTES;
        match digits(self.text) {
            Some(bytes @ 1..=MAX) => Ok(bytes),
            _ => Err(self.reject(&format!("a whole number of bytes from 1 to {MAX}"))),
        }
    }

    #[inline]
    fn check_end(&self, start: u64, sectors: u64) -> Result<(Lbn, SectorCount), TraceError> {
        if start.checked_add(sectors).is_none() {
            return Err(self.reject("a request that ends below block 2^64"));
        }
        Ok((Lbn(start), SectorCount(sectors)))
    }

    /// Parses a time from 0 to 2^63 - 1 ns.
    #[inline]
    pub(crate) fn time_ns(&self, unit: TimeUnit) -> Result<i64, TraceError> {
        unit.parse_ns(self.text)
            .map_err(|reason| self.invalid_time(unit, reason))
    }

    #[inline]
    pub(crate) fn instant(&self, unit: TimeUnit) -> Result<Instant, TraceError> {
        Ok(Instant::from_ns(self.time_ns(unit)?.unsigned_abs()))
    }

    #[inline]
    pub(crate) fn span(&self, unit: TimeUnit) -> Result<Span, TraceError> {
        self.time_ns(unit).map(Span::from_ns)
    }

    #[cold]
    fn invalid_time(&self, unit: TimeUnit, reason: InvalidTime) -> TraceError {
        let unit = unit.name();
        self.reject(&match reason {
            InvalidTime::NotDecimal => format!("{unit} as a decimal number"),
            InvalidTime::Negative => format!("0 or more {unit}"),
            InvalidTime::TooLong => format!("{unit} below 2^63 ns"),
        })
    }

    #[cold]
    pub(crate) fn reject(&self, expected: &str) -> TraceError {
        let found = String::from_utf8_lossy(self.text);
        let location = self.row.location();
        TraceError::value(self.row.name, location, self.name, &found, expected)
    }
}

/// Splits the head of a file into lines without newlines; the last may be incomplete.
pub(crate) fn head_lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii)
}

/// Returns the first `N` fields of a file's first line; `None` if it has fewer.
pub(crate) fn first_fields<const N: usize>(head: &[u8], separator: u8) -> Option<[&[u8]; N]> {
    let line = head_lines(head).next()?;
    let mut fields = line.split(|byte| *byte == separator);
    let mut array = [&b""[..]; N];
    for field in &mut array {
        *field = fields.next()?;
    }
    Some(array)
}

pub(crate) fn is_whole(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

pub(crate) fn is_decimal(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_digit)
        && text
            .iter()
            .all(|byte| byte.is_ascii_digit() || *byte == b'.')
}
