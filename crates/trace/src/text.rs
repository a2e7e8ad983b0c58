//! Text formats of one record a line.

use crate::error::TraceError;
use crate::format::{Rows, Told};
use crate::lines::{Lines, Row};
use crate::record::Record;
use crate::source::Source;

/// Parses each line by itself. `P` gives a line's record, or `None` for a line without one.
pub(crate) struct TextRows<P> {
    lines: Lines,
    parse: P,
}

impl<P> TextRows<P>
where
    P: FnMut(&Row<'_>, &mut Told) -> Result<Option<Record>, TraceError> + Send + 'static,
{
    /// All lines of `source`.
    pub(crate) fn boxed(source: Source, parse: P) -> Box<dyn Rows> {
        Self::after(Lines::new(source), parse)
    }

    /// The lines that are left.
    pub(crate) fn after(lines: Lines, parse: P) -> Box<dyn Rows> {
        Box::new(Self { lines, parse })
    }
}

impl<P> Rows for TextRows<P>
where
    P: FnMut(&Row<'_>, &mut Told) -> Result<Option<Record>, TraceError> + Send,
{
    fn next(&mut self, told: &mut Told) -> Result<Option<Record>, TraceError> {
        while let Some(row) = self.lines.next_row()? {
            if let Some(record) = (self.parse)(&row, told)? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }
}
