//! Speeds up or slows down a trace.

use std::fmt;

use diskarm_core::units::{Instant, Span};

use super::{Notes, with};
use crate::digits::digits;
use crate::error::TraceError;
use crate::reader::Reader;
use crate::record::Record;

/// The factor by which a trace's arrival rate grows: an exact decimal number above 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    /// In units of 10^-9.
    billionths: u64,
}

const BILLION: u64 = 1_000_000_000;

impl Factor {
    /// Parses a number from 0.000000001 to 1000000000 with at most nine decimals; `None` for
    /// anything else.
    ///
    /// ```
    /// use diskarm_trace::adapt::Factor;
    /// assert_eq!(Factor::parse("0.50").map(|half| half.to_string()), Some("0.5".to_owned()));
    /// assert_eq!(Factor::parse("0"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let missing = 9usize.checked_sub(fraction.len())?;
        let parts = digits(fraction.as_bytes())? * 10u64.pow(missing as u32);
        let whole = digits(whole.as_bytes()).filter(|whole| *whole <= BILLION)?;
        let billionths = whole * BILLION + parts;
        (1..=BILLION * BILLION)
            .contains(&billionths)
            .then_some(Self { billionths })
    }

    /// `ns` divided by the factor, rounded to the nearest; `None` from 2^63 on.
    fn divide(self, ns: u64) -> Option<i64> {
        let divisor = u128::from(self.billionths);
        let scaled = u128::from(ns) * u128::from(BILLION);
        i64::try_from((scaled + divisor / 2) / divisor).ok()
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, parts) = (self.billionths / BILLION, self.billionths % BILLION);
        let digits = format!("{whole}.{parts:09}");
        f.write_str(digits.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Divides the times between arrivals, and the pauses between requests, by a factor:
/// worthington94 section 4.3 and, with a factor below 1, liu05 section 4.2.2. Measured responses
/// do not change.
pub struct Paced<I> {
    inner: I,
    factor: Factor,
}

impl<I: Notes> Paced<I> {
    /// Wraps `inner`; multiplies its rate by `factor`.
    pub fn new(inner: I, factor: Factor) -> Self {
        Self { inner, factor }
    }

    fn pace(&self, record: Record) -> Result<Record, TraceError> {
        let late = |field, span: Span| {
            let found = format!("{} s", span.as_s());
            let expected = format!("a time below 2^63 ns when divided by {}", self.factor);
            TraceError::value(self.inner.name(), record.location, field, &found, &expected)
        };
        let divide = |field, span: Span| {
            let ns = self.factor.divide(span.or_zero().as_ns().unsigned_abs());
            ns.map(Span::from_ns).ok_or_else(|| late(field, span))
        };
        let arrival = match record.arrival {
            Some(arrival) => Some(Instant::START + divide("arrival", arrival - Instant::START)?),
            None => None,
        };
        let think = record.think.map(|think| divide("think", think));
        Ok(Record {
            arrival,
            think: think.transpose()?,
            ..record
        })
    }
}

impl<I: Notes> Iterator for Paced<I> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.inner.next()?;
        Some(record.and_then(|record| self.pace(record)))
    }
}

impl<I: Notes> Notes for Paced<I> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn readers(&self) -> Vec<&Reader> {
        self.inner.readers()
    }

    fn changes(&self) -> Vec<String> {
        let note = format!("times between requests divided by {}", self.factor);
        with(self.inner.changes(), Some(note))
    }
}
