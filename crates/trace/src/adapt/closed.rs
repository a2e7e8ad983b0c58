//! One request at a time, from a trace with arrivals and responses, or with pauses.

use diskarm_core::units::Span;

use super::{Notes, with};
use crate::error::TraceError;
use crate::plural::counted;
use crate::reader::Reader;
use crate::record::Record;

/// Replaces arrivals by pauses: each request gets the time from its completion to the arrival of
/// the next, the think time of a host that waits for every completion. If the next request arrived
/// before the completion, the pause is zero, and the request is counted; the last pause is zero. A
/// request without an arrival keeps the pause that was measured.
pub struct ClosedLoop<I> {
    inner: I,
    held: Option<Record>,
    /// Requests that arrived before the previous one completed; `None` before the first arrival.
    overlapping: Option<u64>,
    is_over: bool,
}

impl<I: Notes> ClosedLoop<I> {
    /// Wraps `inner`.
    pub fn new(inner: I) -> Self {
        Self {
            inner,
            held: None,
            overlapping: None,
            is_over: false,
        }
    }

    /// Sets the pause of `held`, up to `next`.
    fn close(&mut self, held: Record, next: Option<&Record>) -> Result<Record, TraceError> {
        if held.arrival.is_none() && held.think.is_some() {
            return Ok(held);
        }
        let (Some(arrival), Some(response)) = (held.arrival, held.response) else {
            self.is_over = true;
            let expected = "an arrival and a response, to compute the pause";
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
        *self.overlapping.get_or_insert(0) += u64::from(pause < Span::ZERO);
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
        let note = self.overlapping.map(|requests| {
            format!(
                "one request at a time; {} arrived before the previous one completed",
                counted(requests, "request")
            )
        });
        with(self.inner.changes(), note)
    }
}
