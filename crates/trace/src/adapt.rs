//! Adapts traces to drives: selects requests and changes their times, disks and blocks.
//!
//! Each adapter is an iterator of records that wraps another, so adapters can be stacked in any
//! order. Each describes its changes through [`Notes`].

pub use crate::time::{Factor, parse_instant};

use std::collections::BTreeSet;

use diskarm_core::text::with_noun;
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};

use crate::error::TraceError;
use crate::format::TimeOrigin;
use crate::reader::Reader;
use crate::record::Record;

/// An iterator of records that also provides notes about them.
pub trait Notes: Iterator<Item = Result<Record, TraceError>> {
    /// Replaces `record` with the next one; returns `None` at the end. It copies less than `next`.
    fn read(&mut self, record: &mut Record) -> Option<Result<(), TraceError>> {
        Some(self.next()?.map(|next| *record = next))
    }

    /// Returns the name of the trace, as used in errors.
    fn name(&self) -> &str;

    /// Returns the traces that the records come from.
    fn readers(&self) -> Vec<&Reader>;

    /// Returns the changes made so far, one line each.
    fn changes(&self) -> Vec<String>;

    /// Returns remarks for users, one line each: the notes of the readers, then the changes.
    fn notes(&self) -> Vec<String> {
        let readers = self.readers();
        let mut notes: Vec<String> = readers.iter().flat_map(|reader| reader.notes()).collect();
        notes.extend(self.changes());
        notes
    }
}

impl Notes for Reader {
    #[inline]
    fn read(&mut self, record: &mut Record) -> Option<Result<(), TraceError>> {
        self.read(record)
    }

    fn name(&self) -> &str {
        self.name()
    }

    fn readers(&self) -> Vec<&Reader> {
        vec![self]
    }

    fn changes(&self) -> Vec<String> {
        Vec::new()
    }
}

impl<N: Notes + ?Sized> Notes for Box<N> {
    fn read(&mut self, record: &mut Record) -> Option<Result<(), TraceError>> {
        (**self).read(record)
    }

    fn name(&self) -> &str {
        (**self).name()
    }

    fn readers(&self) -> Vec<&Reader> {
        (**self).readers()
    }

    fn changes(&self) -> Vec<String> {
        (**self).changes()
    }
}

/// Implements the methods of [`Notes`] that an adapter of a single trace forwards.
macro_rules! forward_to_inner {
    () => {
        fn name(&self) -> &str {
            self.inner.name()
        }

        fn readers(&self) -> Vec<&Reader> {
            self.inner.readers()
        }
    };
}

/// Appends a note to the notes of the wrapped iterator.
fn with_note(mut notes: Vec<String>, note: Option<String>) -> Vec<String> {
    notes.extend(note);
    notes
}

fn missing_field(trace: &impl Notes, record: &Record, field: &str, expected: &str) -> TraceError {
    TraceError::value(trace.name(), record.location, field, "", expected)
}

/// Keeps only the requests of the given devices.
pub struct DeviceFilter<I> {
    inner: I,
    devices: BTreeSet<u32>,
    removed: u64,
}

impl<I: Notes> DeviceFilter<I> {
    /// Wraps `inner` and keeps the requests of `devices`.
    pub fn new(inner: I, devices: impl IntoIterator<Item = u32>) -> Self {
        Self {
            inner,
            devices: devices.into_iter().collect(),
            removed: 0,
        }
    }
}

impl<I: Notes> Iterator for DeviceFilter<I> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.inner.next()? {
                Ok(record) if !self.devices.contains(&record.device) => self.removed += 1,
                kept => return Some(kept),
            }
        }
    }
}

impl<I: Notes> Notes for DeviceFilter<I> {
    forward_to_inner!();

    fn changes(&self) -> Vec<String> {
        let requests = with_noun(self.removed, "request");
        let note = format!("{requests} of other devices removed");
        with_note(self.inner.changes(), (self.removed > 0).then_some(note))
    }
}

/// Maps each device to its own disk, numbered from 0 in order of first appearance.
pub struct Disks<I> {
    inner: I,
    /// The device of each disk.
    devices: Vec<u32>,
}

impl<I: Notes> Disks<I> {
    /// Wraps `inner`, whose first record must not have been read.
    pub fn new(inner: I) -> Self {
        Self {
            inner,
            devices: Vec::new(),
        }
    }

    /// Returns the wrapped iterator.
    pub fn inner(&self) -> &I {
        &self.inner
    }

    /// Returns the device of each disk in the records read so far.
    pub fn devices(&self) -> &[u32] {
        &self.devices
    }

    fn disk(&mut self, device: u32) -> u32 {
        let known = self.devices.iter().position(|known| *known == device);
        let disk = known.unwrap_or_else(|| {
            self.devices.push(device);
            self.devices.len() - 1
        });
        disk as u32
    }
}

impl<I: Notes> Iterator for Disks<I> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut next = self.inner.next()?;
        if let Ok(record) = &mut next {
            record.device = self.disk(record.device);
        }
        Some(next)
    }
}

impl<I: Notes> Notes for Disks<I> {
    #[inline]
    fn read(&mut self, record: &mut Record) -> Option<Result<(), TraceError>> {
        let read = self.inner.read(record)?;
        if read.is_ok() {
            record.device = self.disk(record.device);
        }
        Some(read)
    }

    forward_to_inner!();

    fn changes(&self) -> Vec<String> {
        let devices: Vec<String> = self.devices.iter().map(u32::to_string).collect();
        let note = format!("devices {} renumbered as disks from 0", devices.join(", "));
        with_note(self.inner.changes(), (!devices.is_empty()).then_some(note))
    }
}

/// The mapping of blocks from a traced disk to a disk of another size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Keep the block numbers; a request beyond the end is an error.
    Refuse,
    /// Scale the first block, given the size of the traced disk. Sequential requests then overlap
    /// on a smaller disk, and leave gaps on a larger one.
    Scale(SectorCount),
    /// Wrap blocks beyond the end around to block 0.
    Fold,
    /// Continue beyond the end at block 0 of the next disk, with this number of disks per device.
    Spread(u32),
}

/// Maps requests to disks of a given size.
pub struct Fitter<I> {
    inner: I,
    fit: Fit,
    size: SectorCount,
    /// The number of requests that were moved because they crossed the end of a disk.
    pulled: u64,
    moved: u64,
}

impl<I: Notes> Fitter<I> {
    /// Wraps `inner`, for disks of `size`, in 512-byte blocks.
    pub fn new(inner: I, size: SectorCount, fit: Fit) -> Self {
        Self {
            inner,
            fit,
            size,
            pulled: 0,
            moved: 0,
        }
    }

    #[inline]
    fn fit(&mut self, record: &mut Record) -> Result<(), TraceError> {
        let size = self.size.0;
        let start = record.start.0;
        if record.sectors > self.size {
            return Err(self.wrong(record, format!("at most the {size} blocks of the disk")));
        }
        let (disk, start) = match self.fit {
            Fit::Refuse if record.end().0 > size => {
                let others = "or `fit` set to scale, fold or spread";
                return Err(self.wrong(record, format!("a request within {size} blocks, {others}")));
            }
            Fit::Refuse => return Ok(()),
            Fit::Scale(traced) if record.end().0 > traced.0 => {
                return Err(self.wrong(record, format!("at most the {} traced blocks", traced.0)));
            }
            Fit::Scale(traced) => {
                let scaled = u128::from(start) * u128::from(size) / u128::from(traced.0);
                (record.device, scaled as u64)
            }
            Fit::Fold => (record.device, start % size),
            Fit::Spread(disks) => {
                let disk = start / size;
                if disk >= disks.into() {
                    let expected = format!("at most {disks} disks of {size} blocks");
                    return Err(self.wrong(record, expected));
                }
                let first = record.device.checked_mul(disks);
                let Some(disk) = first.and_then(|first| first.checked_add(disk as u32)) else {
                    let expected =
                        format!("a device number that leaves room for {disks} disks per device");
                    return Err(self.wrong(record, expected));
                };
                (disk, start % size)
            }
        };
        let last = size - record.sectors.0;
        self.pulled += u64::from(start > last);
        let start = Lbn(start.min(last));
        self.moved += u64::from(start != record.start || disk != record.device);
        (record.device, record.start) = (disk, start);
        Ok(())
    }

    #[cold]
    fn wrong(&self, record: &Record, expected: String) -> TraceError {
        let sectors = with_noun(record.sectors.0, "sector");
        let found = format!("{sectors} from {}", record.start.0);
        TraceError::value(self.inner.name(), record.location, "lbn", &found, &expected)
    }
}

impl<I: Notes> Iterator for Fitter<I> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.inner.next()?;
        Some(next.and_then(|mut record| self.fit(&mut record).map(|()| record)))
    }
}

impl<I: Notes> Notes for Fitter<I> {
    fn read(&mut self, record: &mut Record) -> Option<Result<(), TraceError>> {
        let read = self.inner.read(record)?;
        Some(read.and_then(|()| self.fit(record)))
    }

    forward_to_inner!();

    fn changes(&self) -> Vec<String> {
        let (size, moved) = (self.size.0, with_noun(self.moved, "request"));
        let how = match self.fit {
            Fit::Refuse => return self.inner.changes(),
            Fit::Scale(traced) => format!("scaled from {} blocks to {size}", traced.0),
            Fit::Fold => format!("folded into {size} blocks"),
            Fit::Spread(disks) => format!("spread over {disks} disks of {size} blocks per device"),
        };
        let mut note = format!("{how}; {moved} moved");
        if self.pulled > 0 {
            note += &format!(", {} of them away from the end of a disk", self.pulled);
        }
        with_note(self.inner.changes(), Some(note))
    }
}

/// Keeps the requests that arrive from one instant up to, but not including, another, and makes
/// arrivals relative to the first instant. liu05 section 4.2.2 uses such intervals of steady load.
pub struct Window<I> {
    inner: I,
    from: Instant,
    until: Instant,
    before: u64,
    is_over: bool,
}

impl<I: Notes> Window<I> {
    /// Wraps `inner` and keeps the requests from `from` up to `until`.
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
            let mut record = match self.inner.next()? {
                Ok(record) => record,
                error => return Some(error),
            };
            let Some(arrival) = record.arrival else {
                self.is_over = true;
                let expected = "an arrival (needed to select an interval)";
                return Some(Err(missing_field(
                    &self.inner,
                    &record,
                    "arrival",
                    expected,
                )));
            };
            // Arrivals are in ascending order, so nothing after the end needs to be read.
            self.is_over = arrival >= self.until;
            if arrival < self.from {
                self.before += 1;
            } else if !self.is_over {
                record.arrival = Some(Instant::START + (arrival - self.from));
                return Some(Ok(record));
            }
        }
        None
    }
}

impl<I: Notes> Notes for Window<I> {
    forward_to_inner!();

    fn changes(&self) -> Vec<String> {
        let (requests, from_s) = (with_noun(self.before, "request"), self.from.as_s());
        let mut note = format!("{requests} before {from_s} s removed; times now start there");
        if self.is_over {
            note += &format!("; requests from {} s onward removed", self.until.as_s());
        }
        with_note(self.inner.changes(), Some(note))
    }
}

/// Divides the times between arrivals and the pauses between requests by a factor, but not the
/// responses. See worthington94 section 4.3 and, for factors below 1, liu05 section 4.2.2.
pub struct Pacer<I> {
    inner: I,
    factor: Factor,
}

impl<I: Notes> Pacer<I> {
    /// Wraps `inner` and multiplies its rate by `factor`.
    pub fn new(inner: I, factor: Factor) -> Self {
        Self { inner, factor }
    }

    fn pace(&self, record: Record) -> Result<Record, TraceError> {
        let overflow = |field, span: Span| {
            let found = format!("{} s", span.as_s());
            let expected = format!("a time below 2^63 ns when divided by {}", self.factor);
            TraceError::value(self.inner.name(), record.location, field, &found, &expected)
        };
        let divide = |field, span: Span| {
            let ns = self.factor.divide(span.or_zero().as_ns().unsigned_abs());
            ns.map(Span::from_ns).ok_or_else(|| overflow(field, span))
        };
        let arrival = record
            .arrival
            .map(|arrival| divide("arrival", arrival - Instant::START));
        let think = record.think.map(|think| divide("think", think));
        Ok(Record {
            arrival: arrival.transpose()?.map(|arrival| Instant::START + arrival),
            think: think.transpose()?,
            ..record
        })
    }
}

impl<I: Notes> Iterator for Pacer<I> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.inner.next()?;
        Some(record.and_then(|record| self.pace(record)))
    }
}

impl<I: Notes> Notes for Pacer<I> {
    forward_to_inner!();

    fn changes(&self) -> Vec<String> {
        let note = format!("times between requests divided by {}", self.factor);
        with_note(self.inner.changes(), Some(note))
    }
}

/// Replaces arrivals with pauses, for a host that issues one request at a time. A pause is the time
/// from a completion to the next arrival. If the next request arrived before the completion, the
/// pause is zero and the request is counted. The last pause is zero. A request without an arrival
/// keeps its measured pause.
pub struct ClosedLoop<I> {
    inner: I,
    held: Option<Record>,
    /// The number of requests that arrived before the previous one completed; `None` at first.
    overlapping: Option<u64>,
    is_over: bool,
}

impl<I: Notes> ClosedLoop<I> {
    /// Wraps `inner`, whose first record must not have been read.
    pub fn new(inner: I) -> Self {
        Self {
            inner,
            held: None,
            overlapping: None,
            is_over: false,
        }
    }

    /// Sets the pause between `held` and `next`.
    fn close(&mut self, held: Record, next: Option<&Record>) -> Result<Record, TraceError> {
        if held.arrival.is_none() && held.think.is_some() {
            return Ok(held);
        }
        let (Some(arrival), Some(response)) = (held.arrival, held.response) else {
            self.is_over = true;
            let expected = "an arrival and a response (needed for the pause)";
            return Err(missing_field(&self.inner, &held, "response", expected));
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
            let next = match self.inner.next().transpose() {
                Ok(next) => next,
                Err(error) => return Some(Err(error)),
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
    forward_to_inner!();

    fn changes(&self) -> Vec<String> {
        let note = self.overlapping.map(|overlapping| {
            let requests = with_noun(overlapping, "request");
            format!("one request at a time; {requests} arrived before the previous one completed")
        });
        with_note(self.inner.changes(), note)
    }
}

/// Merges traces in order of arrival; ties keep the order of the traces. Device `d` of trace `i`
/// of `n` becomes device `d * n + i`.
///
/// If the times of all traces are relative to the Unix epoch, each trace keeps its offset from the
/// earliest one; otherwise all start at the same time. [`Notes::changes`] describes the alignment.
pub struct Merger<I> {
    /// The names of all traces, in order.
    name: String,
    lanes: Vec<Lane<I>>,
    has_begun: bool,
    is_over: bool,
    /// True if the offsets of the traces are known.
    is_aligned: bool,
}

struct Lane<I> {
    inner: I,
    head: Option<Record>,
    offset: Span,
}

impl<I: Notes> Merger<I> {
    /// Merges `traces`, whose first records must not have been read.
    pub fn new(traces: impl IntoIterator<Item = I>) -> Self {
        let lane = |inner| Lane {
            inner,
            head: None,
            offset: Span::ZERO,
        };
        let lanes: Vec<Lane<I>> = traces.into_iter().map(lane).collect();
        let names: Vec<&str> = lanes.iter().map(|lane| lane.inner.name()).collect();
        Self {
            name: names.join(" and "),
            lanes,
            has_begun: false,
            is_over: false,
            is_aligned: false,
        }
    }

    /// Reads the first record of each trace.
    fn begin(&mut self) -> Result<(), TraceError> {
        for lane in &mut self.lanes {
            lane.head = lane.inner.next().transpose()?;
        }
        let origins: Option<Vec<Instant>> = self.lanes.iter().map(Lane::origin).collect();
        if let Some(origins) = origins
            && let Some(first) = origins.iter().min()
        {
            for (lane, origin) in self.lanes.iter_mut().zip(&origins) {
                lane.offset = *origin - *first;
            }
            self.is_aligned = true;
        }
        for number in 0..self.lanes.len() {
            self.prepare(number)?;
        }
        Ok(())
    }

    /// Sets the device and the time of the next record of a trace.
    fn prepare(&mut self, number: usize) -> Result<(), TraceError> {
        let count = self.lanes.len() as u64;
        let lane = &mut self.lanes[number];
        let Some(record) = &mut lane.head else {
            return Ok(());
        };
        let wrong = |field, found: &str, expected: &str| {
            TraceError::value(lane.inner.name(), record.location, field, found, expected)
        };
        let device = u64::from(record.device) * count + number as u64;
        let Ok(device) = u32::try_from(device) else {
            let expected = format!("a device number that leaves room for {count} traces");
            return Err(wrong("device", &record.device.to_string(), &expected));
        };
        let Some(arrival) = record.arrival else {
            return Err(wrong("arrival", "", "an arrival (needed to merge traces)"));
        };
        let since_start = arrival - Instant::START;
        let Some(ns) = since_start.as_ns().checked_add(lane.offset.as_ns()) else {
            let expected = "a time below 2^63 ns when traces are merged";
            return Err(wrong("arrival", &format!("{} s", arrival.as_s()), expected));
        };
        record.device = device;
        record.arrival = Some(Instant::START + Span::from_ns(ns));
        Ok(())
    }

    /// Returns the next record from any of the traces.
    fn take(&mut self) -> Result<Option<Record>, TraceError> {
        if !self.has_begun {
            self.has_begun = true;
            self.begin()?;
        }
        let lanes = self.lanes.iter().enumerate();
        let heads = lanes.filter_map(|(number, lane)| Some((lane.head?.arrival, number)));
        let Some((_, number)) = heads.min() else {
            return Ok(None);
        };
        let lane = &mut self.lanes[number];
        let next = lane.inner.next().transpose()?;
        let taken = std::mem::replace(&mut lane.head, next);
        self.prepare(number)?;
        Ok(taken)
    }
}

impl<I: Notes> Lane<I> {
    /// Returns the start of the trace, if its times are relative to the Unix epoch.
    fn origin(&self) -> Option<Instant> {
        match self.inner.readers()[..] {
            [reader] if reader.format().time_origin == TimeOrigin::Unix => reader.origin(),
            _ => None,
        }
    }
}

impl<I: Notes> Iterator for Merger<I> {
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

impl<I: Notes> Notes for Merger<I> {
    fn name(&self) -> &str {
        &self.name
    }

    fn readers(&self) -> Vec<&Reader> {
        let lanes = self.lanes.iter();
        lanes.flat_map(|lane| lane.inner.readers()).collect()
    }

    fn changes(&self) -> Vec<String> {
        let how = if self.is_aligned {
            "aligned by their common clock"
        } else {
            "with a common start because they have no common clock"
        };
        let note = format!("{} traces merged, {how}", self.lanes.len());
        let changes = self.lanes.iter().flat_map(|lane| {
            let name = lane.inner.name();
            let changes = lane.inner.changes().into_iter();
            changes.map(move |change| format!("{name}: {change}"))
        });
        with_note(changes.collect(), Some(note))
    }
}
