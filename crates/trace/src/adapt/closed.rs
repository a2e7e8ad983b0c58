//! One request at a time, from a trace that says when each arrived and was completed.

use diskarm_core::units::Span;

use super::{Notes, and};
use crate::error::TraceError;
use crate::plural::counted;
use crate::reader::Reader;
use crate::record::Record;

/// The requests without their arrivals, each with the pause from its completion to the arrival of
/// the next in their place: what a host that waits for every completion thinks between them. Where
/// the next arrived earlier the pause is none, counted; behind the last there is none.
pub struct ClosedLoop<I> {
    inner: I,
    held: Option<Record>,
    /// Requests that arrived before the one before them was completed.
    overlapping: u64,
    is_over: bool,
}

impl<I: Notes> ClosedLoop<I> {
    /// Those of `inner`.
    pub fn new(inner: I) -> Self {
        Self {
            inner,
            held: None,
            overlapping: 0,
            is_over: false,
        }
    }

    /// `held` with the pause until `next`.
    fn close(&mut self, held: Record, next: Option<&Record>) -> Result<Record, TraceError> {
        let (Some(arrival), Some(response)) = (held.arrival, held.response) else {
            self.is_over = true;
            let expected = "arrival and response, without which there is no pause";
            let name = self.inner.name();
            return Err(TraceError::value(
                name,
                held.location,
                "response",
                "",
                expected,
            ));
        };
        let gap = match next.and_then(|next| next.arrival) {
            Some(next) => next.after(arrival),
            None => response,
        };
        let pause = Span::from_ns(gap.as_ns().saturating_sub(response.as_ns()));
        self.overlapping += u64::from(pause < Span::ZERO);
        Ok(Record {
            arrival: None,
            think: Some(pause.or_zero()),
            ..held
        })
    }
}

impl<I: Notes> Iterator for ClosedLoop<I> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_over {
            let next = match self.inner.next() {
                Some(Ok(next)) => Some(next),
                Some(Err(error)) => return Some(Err(error)),
                None => None,
            };
            self.is_over = next.is_none();
            let held = std::mem::replace(&mut self.held, next);
            if let Some(held) = held {
                return Some(self.close(held, next.as_ref()));
            }
        }
        None
    }
}

impl<I: Notes> Notes for ClosedLoop<I> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn readers(&self) -> Vec<&Reader> {
        self.inner.readers()
    }

    fn changes(&self) -> Vec<String> {
        let note = format!(
            "one request at a time; {} arrived before the one before was completed",
            counted(self.overlapping, "request")
        );
        and(self.inner.changes(), Some(note))
    }
}
