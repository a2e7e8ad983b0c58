//! Text formats with one record per line.

use crate::error::TraceError;
use crate::format::{RowReader, TraceMetadata};
use crate::lines::{Lines, Row};
use crate::quick::Shape;
use crate::record::Record;
use crate::source::ByteSource;

/// Parses each line on its own. `P` returns a line's record, or `None` for a line without one.
pub(crate) struct TextRows<P> {
    lines: Lines,
    /// Of ordinary rows; `None` without a fast path.
    shape: Option<Shape>,
    parse: P,
}

impl<P> TextRows<P>
where
    P: FnMut(&Row<'_>, &mut TraceMetadata) -> Result<Option<Record>, TraceError> + Send + 'static,
{
    /// All lines of `source`. `parse` sees the first, and those that have not the shape.
    pub(crate) fn shaped(source: ByteSource, shape: Shape, parse: P) -> Box<dyn RowReader> {
        Box::new(Self {
            lines: Lines::new(source),
            shape: Some(shape),
            parse,
        })
    }

    /// All lines of `source`.
    pub(crate) fn boxed(source: ByteSource, parse: P) -> Box<dyn RowReader> {
        Self::after(Lines::new(source), parse)
    }

    pub(crate) fn after(lines: Lines, parse: P) -> Box<dyn RowReader> {
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
            && let Some((bytes, location)) = self.lines.ahead()
            && let Some((record, length)) = shape.parse(bytes, location, metadata)
        {
            self.lines.pass(length);
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
