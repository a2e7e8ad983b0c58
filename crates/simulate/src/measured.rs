//! The rows of a measured trace: requests, responses and pauses.

use std::ops::Range;

use diskarm_core::engine::Step;
use diskarm_core::units::{Instant, Span};
use diskarm_fit::validate::Measured;
use diskarm_trace::{Reader, Record, TraceError};

use crate::blocks::Blocks;
use crate::doubts;
use crate::error::Error;
use crate::model::Model;
use crate::reading::Reading;

/// A half-open range of rows, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    from: usize,
    /// `None`: up to the last row of the trace.
    end: Option<usize>,
}

impl Rows {
    /// Parses `A..B`; a bound left out is the start or end of the trace.
    ///
    /// # Errors
    /// A description of what is accepted.
    pub fn parse(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected rows A..B with A below B, such as 0..5000";
        let number = |text: &str, absent| match text {
            "" => Ok(absent),
            digits => digits.parse().map(Some).map_err(|_| EXPECTED.to_owned()),
        };
        let (from, end) = text.split_once("..").ok_or(EXPECTED)?;
        let from = number(from, Some(0))?.unwrap_or(0);
        let end: Option<usize> = number(end, None)?;
        if end.is_some_and(|end| end <= from) {
            return Err(EXPECTED.to_owned());
        }
        Ok(Self { from, end })
    }
}

impl std::fmt::Display for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let end = self.end.map(|end| end.to_string());
        write!(f, "{}..{}", self.from, end.unwrap_or_default())
    }
}

/// Rows that were read from a trace.
pub struct Taken {
    /// The rows, with the preceding ones if requested.
    pub rows: Vec<Measured>,
    /// Which of them were requested.
    pub range: Range<usize>,
    /// Doubts about them, one line each.
    pub notes: Vec<String>,
}

/// Reads `rows` of the trace in `file`, all of which the drive can serve.
///
/// # Errors
/// An invalid trace; rows that it does not have; a trace without responses or
/// pauses; a request beyond the end of the drive; a drive whose sectors are no blocks.
pub fn read(file: &str, reading: &Reading, rows: Rows, model: &Model) -> Result<Taken, Error> {
    read_from(rows.from, file, reading, rows, model)
}

/// Reads `rows` of the trace in `file` and all rows before them.
///
/// # Errors
/// The same as [`read`].
pub fn read_with_history(
    file: &str,
    reading: &Reading,
    rows: Rows,
    model: &Model,
) -> Result<Taken, Error> {
    read_from(0, file, reading, rows, model)
}

/// Reads from the row `first`, no later than the first of `rows`, to the last of `rows`.
fn read_from(
    first: usize,
    file: &str,
    reading: &Reading,
    rows: Rows,
    model: &Model,
) -> Result<Taken, Error> {
    let blocks = Blocks::of(model)?;
    let mut trace = reading.open(file)?;
    let mut taken: Vec<Measured> = Vec::new();
    let mut completed = None;
    let mut index = 0;
    let mut widened = 0;
    while rows.end.is_none_or(|end| index < end) {
        let Some(record) = trace.next().transpose()? else {
            break;
        };
        if index >= first {
            if let Some(end) = completed.take() {
                let pause = pause(&record, end, trace.name())?;
                if let Some(row) = taken.last_mut() {
                    row.step.think = pause;
                }
            }
            let row = measured(&record, index as u64, &trace, blocks)?;
            widened += u64::from(blocks.widens(&record));
            // Without measured pauses, the pause follows from the next arrival.
            completed = match (record.think, record.arrival) {
                (None, Some(arrival)) => Some(arrival + row.response),
                _ => None,
            };
            taken.push(row);
        }
        index += 1;
    }
    // The trace ended within the range or before it.
    if rows.end.is_some_and(|end| index < end) || index <= rows.from {
        let expected = format!("a range within 0..{index}, the rows of {file}");
        return Err(Error::argument("rows", rows.to_string(), expected));
    }
    let notes = trace.notes().into_iter();
    let notes = notes.chain((widened > 0).then(|| blocks.widened(widened)));
    let notes = notes.chain(doubts::of(&taken, &model.spec));
    Ok(Taken {
        range: rows.from - first..taken.len(),
        notes: notes
            .map(|note| format!("{}: {note}", trace.name()))
            .collect(),
        rows: taken,
    })
}

fn measured(record: &Record, id: u64, trace: &Reader, blocks: Blocks) -> Result<Measured, Error> {
    let known = record.think.is_some() || record.arrival.is_some();
    let Some(response) = record.response.filter(|_| known) else {
        let format = trace.format();
        let why = match format.carries.contains("no responses") {
            true => "which the format NAME does not carry",
            false => {
                "which the format NAME can carry, but not for this request: in a trace of events \
                 its completion is missing"
            }
        };
        let why = why.replace("NAME", format.name);
        let expected = format!("measured responses, and pauses or arrivals, {why}");
        let error = TraceError::value(trace.name(), record.location, "response", "none", &expected);
        return Err(error.into());
    };
    let request = blocks.request(record, id, trace.name())?;
    let think = record.think.unwrap_or(Span::ZERO);
    Ok(Measured {
        step: Step { request, think },
        response,
    })
}

/// The pause between a completion at `end` and the arrival of the next request, `record`.
fn pause(record: &Record, end: Instant, file: &str) -> Result<Span, Error> {
    let pause = record.arrival.map(|arrival| arrival.after(end));
    pause.filter(|&pause| pause >= Span::ZERO).ok_or_else(|| {
        let expected = "an arrival after the completion of the request before: one at a time";
        let found = record.arrival.map_or(f64::NAN, Instant::as_s);
        TraceError::value(
            file,
            record.location,
            "arrival",
            &format!("{found} s"),
            expected,
        )
        .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_half_open_and_may_lack_an_end() {
        let rows = |from, end| Ok(Rows { from, end });
        assert_eq!(Rows::parse("2..5"), rows(2, Some(5)));
        assert_eq!(Rows::parse("2.."), rows(2, None));
        assert_eq!(Rows::parse("..5"), rows(0, Some(5)));
        for wrong in [
            "", "5", "5..5", "6..5", "a..5", "-1..5", "1..5..9", "..0", "1...5",
        ] {
            assert!(Rows::parse(wrong).is_err(), "{wrong}");
        }
    }
}
