//! Several traces as one.

use diskarm_core::units::{Instant, Span};

use super::{Notes, with};
use crate::error::TraceError;
use crate::format::TimeOrigin;
use crate::reader::Reader;
use crate::record::Record;

/// Merges traces in order of arrival; ties keep the order of the traces. Device `d` of trace `i`
/// of `n` becomes device `d * n + i`.
///
/// If the times of all traces are relative to the Unix epoch, each keeps its offset from the
/// earliest; otherwise all start at the same time. [`Notes::changes`] describes the alignment.
pub struct Merged<I> {
    /// The names of all traces, in order.
    name: String,
    traces: Vec<Lane<I>>,
    has_begun: bool,
    is_over: bool,
    /// True if the offsets of the traces are known.
    is_aligned: bool,
}

/// One of the merged traces.
struct Lane<I> {
    inner: I,
    head: Option<Record>,
    /// The offset of its times.
    offset: Span,
}

impl<I: Notes> Merged<I> {
    /// Merges `traces`.
    pub fn new(traces: impl IntoIterator<Item = I>) -> Self {
        let lane = |inner| Lane {
            inner,
            head: None,
            offset: Span::ZERO,
        };
        let traces: Vec<Lane<I>> = traces.into_iter().map(lane).collect();
        let names: Vec<&str> = traces.iter().map(|lane| lane.inner.name()).collect();
        Self {
            name: names.join(" and "),
            traces,
            has_begun: false,
            is_over: false,
            is_aligned: false,
        }
    }

    /// Reads the first record of each.
    fn begin(&mut self) -> Result<(), TraceError> {
        for lane in &mut self.traces {
            lane.head = lane.inner.next().transpose()?;
        }
        let origins: Option<Vec<Instant>> = self.traces.iter().map(Lane::origin).collect();
        let origins = origins.unwrap_or_default();
        if let Some(first) = origins.iter().min() {
            for (lane, origin) in self.traces.iter_mut().zip(&origins) {
                lane.offset = *origin - *first;
            }
            self.is_aligned = true;
        }
        for number in 0..self.traces.len() {
            self.prepare(number)?;
        }
        Ok(())
    }

    /// Sets the device and the time of the next record of a trace.
    fn prepare(&mut self, number: usize) -> Result<(), TraceError> {
        let of = self.traces.len() as u64;
        let lane = &mut self.traces[number];
        let Some(record) = &mut lane.head else {
            return Ok(());
        };
        let wrong = |field, found: &str, expected: &str| {
            TraceError::value(lane.inner.name(), record.location, field, found, expected)
        };
        let device = u64::from(record.device) * of + number as u64;
        let Ok(device) = u32::try_from(device) else {
            let expected = format!("a device number that leaves room for {of} traces");
            return Err(wrong("device", &record.device.to_string(), &expected));
        };
        let Some(arrival) = record.arrival else {
            let expected = "arrivals, to merge traces";
            return Err(wrong("arrival", "", expected));
        };
        let ns = (arrival - Instant::START)
            .as_ns()
            .checked_add(lane.offset.as_ns());
        let Some(ns) = ns else {
            let expected = "a time below 2^63 ns when traces are merged";
            return Err(wrong("arrival", &format!("{} s", arrival.as_s()), expected));
        };
        record.device = device;
        record.arrival = Some(Instant::START + Span::from_ns(ns));
        Ok(())
    }

    /// The next record of all traces.
    fn take(&mut self) -> Result<Option<Record>, TraceError> {
        if !self.has_begun {
            self.has_begun = true;
            self.begin()?;
        }
        let heads = self.traces.iter().enumerate();
        let earliest = heads
            .filter_map(|(number, lane)| Some((lane.head?.arrival, number)))
            .min();
        let Some((_, number)) = earliest else {
            return Ok(None);
        };
        let lane = &mut self.traces[number];
        let next = lane.inner.next().transpose()?;
        let taken = std::mem::replace(&mut lane.head, next);
        self.prepare(number)?;
        Ok(taken)
    }
}

impl<I: Notes> Lane<I> {
    /// Its start, if its times are relative to the Unix epoch.
    fn origin(&self) -> Option<Instant> {
        match self.inner.readers()[..] {
            [reader] if reader.format().time_origin == TimeOrigin::Unix => reader.origin(),
            _ => None,
        }
    }
}

impl<I: Notes> Iterator for Merged<I> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let taken = self.take().transpose();
        self.is_over = !matches!(taken, Some(Ok(_)));
        taken
    }
}

impl<I: Notes> Notes for Merged<I> {
    fn name(&self) -> &str {
        &self.name
    }

    fn readers(&self) -> Vec<&Reader> {
        let lanes = self.traces.iter();
        lanes.flat_map(|lane| lane.inner.readers()).collect()
    }

    fn changes(&self) -> Vec<String> {
        let how = if self.is_aligned {
            "aligned by their common clock"
        } else {
            "with a common start, as they have no common clock"
        };
        let note = format!("{} traces merged, {how}", self.traces.len());
        let lanes = self.traces.iter();
        let below = lanes.flat_map(|lane| {
            let name = lane.inner.name();
            let changes = lane.inner.changes().into_iter();
            changes.map(move |change| format!("{name}: {change}"))
        });
        with(below.collect(), Some(note))
    }
}
