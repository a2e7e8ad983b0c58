//! Selects an interval of a trace.

use diskarm_core::units::Instant;

use super::{Notes, with};
use crate::error::TraceError;
use crate::plural::counted;
use crate::reader::Reader;
use crate::record::Record;
use crate::time::TimeUnit;

/// Keeps the requests that arrive from one instant up to, but not including, another; arrivals
/// become relative to the first instant. liu05 section 4.2.2 uses such intervals of steady load.
pub struct Window<I> {
    inner: I,
    from: Instant,
    until: Instant,
    before: u64,
    is_over: bool,
}

impl<I: Notes> Window<I> {
    /// Wraps `inner`; keeps requests from `from` up to `until`.
    pub fn new(inner: I, from: Instant, until: Instant) -> Self {
        Self {
            inner,
            from,
            until,
            before: 0,
            is_over: false,
        }
    }
}

impl<I: Notes> Iterator for Window<I> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_over {
            let record = match self.inner.next()? {
                Ok(record) => record,
                Err(error) => return Some(Err(error)),
            };
            let Some(arrival) = record.arrival else {
                self.is_over = true;
                let expected = "arrivals, to select an interval";
                let name = self.inner.name();
                let error = TraceError::value(name, record.location, "arrival", "", expected);
                return Some(Err(error));
            };
            // Arrivals are in ascending order: nothing after the end needs to be read.
            self.is_over = arrival >= self.until;
            if arrival < self.from {
                self.before += 1;
            } else if !self.is_over {
                return Some(Ok(Record {
                    arrival: Some(Instant::START + (arrival - self.from)),
                    ..record
                }));
            }
        }
        None
    }
}

impl<I: Notes> Notes for Window<I> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn readers(&self) -> Vec<&Reader> {
        self.inner.readers()
    }

    fn changes(&self) -> Vec<String> {
        let mut note = format!(
            "{} before {} s removed; times are relative to it",
            counted(self.before, "request"),
            self.from.as_s()
        );
        if self.is_over {
            note += &format!("; and all from {} s on", self.until.as_s());
        }
        with(self.inner.changes(), Some(note))
    }
}

/// Parses a time relative to the start of a trace, exactly: a decimal number in `ns`, `us`, `ms`,
/// `s`, `min` or `h`; `None` for anything else, and from 2^63 ns on.
///
/// ```
/// use diskarm_trace::adapt::parse_instant;
/// assert_eq!(parse_instant("1.5 min"), parse_instant("90s"));
/// assert_eq!(parse_instant("90"), None);
/// ```
pub fn parse_instant(text: &str) -> Option<Instant> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(end);
    let (unit, times) = match unit.trim_start() {
        "ns" => (TimeUnit::Nanoseconds, 1),
        "us" => (TimeUnit::Microseconds, 1),
        "ms" => (TimeUnit::Milliseconds, 1),
        "s" => (TimeUnit::Seconds, 1),
        "min" => (TimeUnit::Seconds, 60),
        "h" => (TimeUnit::Seconds, 3_600),
        _ => return None,
    };
    let ns = unit.parse_ns(number.as_bytes()).ok()?.checked_mul(times)?;
    Some(Instant::from_ns(ns.unsigned_abs()))
}
