//! Text formats with one record per line, and a fast path for their ordinary rows.
//!
//! A [`Shape`] describes the columns of a format. The fast path reads an ordinary row in one pass
//! over its bytes. It rejects any unusual row, which the parser of the format then reads with all
//! its rules and errors. The fast path need not accept every valid row, but for each row that it
//! does accept, the parser must give the same result.

use diskarm_core::request::Op;
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};

use crate::digits::Scanner;
use crate::error::TraceError;
use crate::format::{RowReader, TraceMetadata};
use crate::lines::{Lines, MAX_SECTORS, Row};
use crate::record::{BLOCK_BYTES, Location, Record};
use crate::source::ByteSource;
use crate::time::TimeUnit;

/// Parses each line separately. `P` returns a line's record, or `None` for a line without one.
pub(crate) struct TextRows<P> {
    lines: Lines,
    /// The shape of ordinary rows; `None` without a fast path.
    shape: Option<Shape>,
    parse: P,
}

impl<P> TextRows<P>
where
    P: FnMut(&Row<'_>, &mut TraceMetadata) -> Result<Option<Record>, TraceError> + Send + 'static,
{
    /// Reads all lines of `source`; `parse` reads the first line and any line without this shape.
    pub(crate) fn with_shape(source: ByteSource, shape: Shape, parse: P) -> Box<dyn RowReader> {
        Box::new(Self {
            lines: Lines::new(source),
            shape: Some(shape),
            parse,
        })
    }

    /// Reads the rest of `lines`, without a fast path.
    pub(crate) fn from_lines(lines: Lines, parse: P) -> Box<dyn RowReader> {
        Box::new(Self {
            lines,
            shape: None,
            parse,
        })
    }
}

impl<P> RowReader for TextRows<P>
where
    P: FnMut(&Row<'_>, &mut TraceMetadata) -> Result<Option<Record>, TraceError> + Send,
{
    fn next(&mut self, metadata: &mut TraceMetadata) -> Result<Option<Record>, TraceError> {
        if let Some(shape) = &self.shape
            && let Some((bytes, location)) = self.lines.peek()
            && let Some((record, length)) = shape.parse(bytes, location, metadata)
        {
            self.lines.skip(length);
            return Ok(Some(record));
        }
        while let Some(row) = self.lines.next_row()? {
            if let Some(record) = (self.parse)(&row, metadata)? {
                return Ok(Some(record));
            }
        }
        metadata.cut = self.lines.cut();
        Ok(None)
    }
}

/// The columns of a format and the byte that separates them.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) separator: u8,
    pub(crate) columns: &'static [Column],
}

/// The meaning of a column. Numbers are decimal and whole; times may have decimals.
#[derive(Clone, Copy)]
pub(crate) enum Column {
    Device,
    /// Two fields that together name a device.
    DeviceName,
    Block,
    /// The number of blocks.
    Blocks,
    /// The offset in bytes.
    Offset,
    /// The length in bytes.
    Length,
    /// The direction, with the words for reads and writes.
    Op(Word, Word),
    Arrival(TimeUnit),
    /// The arrival as a whole number, relative to the given number.
    ArrivalSince(TimeUnit, u64),
    Response(TimeUnit),
    /// The response, which may be empty.
    OptionalResponse(TimeUnit),
}

/// A word of at most eight letters or digits.
#[derive(Clone, Copy)]
pub(crate) struct Word {
    /// Its bytes, the first in the lowest byte, and a mask of the bits to compare.
    bits: u64,
    mask: u64,
    length: usize,
}

impl Word {
    pub(crate) const fn new(text: &str) -> Self {
        Self::with_mask(text, 0xff)
    }

    /// A word of letters, in upper or lower case.
    pub(crate) const fn ignoring_case(text: &str) -> Self {
        Self::with_mask(text, !0x20)
    }

    const fn with_mask(text: &str, byte_mask: u8) -> Self {
        let text = text.as_bytes();
        let (mut bits, mut mask, mut at) = (0, 0, text.len());
        while at > 0 {
            at -= 1;
            bits = bits << 8 | (text[at] & byte_mask) as u64;
            mask = mask << 8 | byte_mask as u64;
        }
        Self {
            bits,
            mask,
            length: text.len(),
        }
    }
}

/// Requests that begin at this block or beyond are unusual. The end of any other request does not
/// overflow, even in bytes.
const START_LIMIT: u64 = 1 << 54;

impl Shape {
    /// Returns the record of the row at the beginning of `bytes`, and the length of that row with
    /// its line end; `None` if the row is unusual or if the bytes may end within it.
    #[inline]
    pub(crate) fn parse(
        &self,
        bytes: &[u8],
        location: Location,
        metadata: &TraceMetadata,
    ) -> Option<(Record, usize)> {
        let mut scanner = Scanner::new(bytes);
        let mut record = Record::new(location, Op::Read, Lbn(0), SectorCount(0));
        let (first, others) = self.columns.split_first()?;
        self.column(first, &mut scanner, &mut record, metadata)?;
        for column in others {
            scanner.skip(self.separator)?;
            self.column(column, &mut scanner, &mut record, metadata)?;
        }
        scanner.skip_line_end()?;
        Some((record, bytes.len() - scanner.rest().len()))
    }

    #[inline(always)]
    fn column(
        &self,
        column: &Column,
        scanner: &mut Scanner<'_>,
        record: &mut Record,
        metadata: &TraceMetadata,
    ) -> Option<()> {
        match *column {
            Column::Op(read, write) => record.op = op(scanner, read, write)?,
            Column::DeviceName => record.device = self.device(scanner, metadata)?,
            Column::OptionalResponse(_) if scanner.rest().first() == Some(&self.separator) => {}
            _ => {
                let (value, _) = scanner.whole_number()?;
                match *column {
                    Column::Op(..) | Column::DeviceName => {}
                    Column::Device => record.device = u32::try_from(value).ok()?,
                    Column::Block => record.start = start(value)?,
                    Column::Blocks => record.sectors = sectors(value)?,
                    Column::Offset => record.start = start(blocks(value)?)?,
                    Column::Length => record.sectors = sectors(blocks(value)?)?,
                    Column::ArrivalSince(unit, first) => {
                        let ns = unit.ns_of(value.checked_sub(first)?, 0, 0)?;
                        record.arrival = Some(Instant::from_ns(ns.unsigned_abs()));
                    }
                    Column::Arrival(unit) => {
                        let ns = time_ns(scanner, unit, value)?;
                        record.arrival = Some(Instant::from_ns(ns.unsigned_abs()));
                    }
                    Column::Response(unit) | Column::OptionalResponse(unit) => {
                        record.response = Some(Span::from_ns(time_ns(scanner, unit, value)?));
                    }
                }
            }
        }
        Some(())
    }

    /// Returns the number of a device with a known name of two fields. A name followed by a
    /// separator cannot start another name, as each name has exactly one separator.
    #[inline]
    fn device(&self, scanner: &mut Scanner<'_>, metadata: &TraceMetadata) -> Option<u32> {
        let names = metadata.device_names.iter();
        let known = names.map(|name| scanner.after(name.as_bytes(), self.separator));
        let (number, after) = (0..).zip(known).find(|(_, after)| after.is_some())?;
        *scanner = after?;
        Some(number)
    }
}

#[inline]
fn op(scanner: &mut Scanner<'_>, read: Word, write: Word) -> Option<Op> {
    let bytes = scanner.word()?;
    let (op, length) = if bytes & read.mask == read.bits {
        (Op::Read, read.length)
    } else if bytes & write.mask == write.bits {
        (Op::Write, write.length)
    } else {
        return None;
    };
    scanner.advance(length);
    Some(op)
}

#[inline]
fn start(block: u64) -> Option<Lbn> {
    (block < START_LIMIT).then_some(Lbn(block))
}

#[inline]
fn sectors(count: u64) -> Option<SectorCount> {
    let is_valid = (1..=MAX_SECTORS).contains(&count);
    is_valid.then_some(SectorCount(count))
}

#[inline]
fn blocks(bytes: u64) -> Option<u64> {
    let is_whole = bytes.is_multiple_of(BLOCK_BYTES);
    is_whole.then_some(bytes / BLOCK_BYTES)
}

/// Reads the decimals that follow `whole`, if any, and returns the time.
#[inline]
fn time_ns(scanner: &mut Scanner<'_>, unit: TimeUnit, whole: u64) -> Option<i64> {
    let (fraction, decimals) = match scanner.skip(b'.') {
        Some(()) => scanner.whole_number()?,
        None => (0, 0),
    };
    unit.ns_of(whole, fraction, decimals)
}
