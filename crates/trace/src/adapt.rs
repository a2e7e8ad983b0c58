//! Adapters of traces to drives: they select requests, and change times, disks and blocks.
//!
//! Each adapter is an iterator of records that wraps another one, so they can be stacked in any
//! order. It describes its changes in [`Notes`].

mod merged;

pub use merged::Merged;

use std::collections::BTreeSet;
use std::fmt;

use diskarm_core::units::{Instant, Lbn, SectorCount, Span};

use crate::digits::digits;
use crate::error::{TraceError, quantity};
use crate::reader::Reader;
use crate::record::Record;
use crate::time::TimeUnit;

/// An iterator of records that describes them in notes.
pub trait Notes: Iterator<Item = Result<Record, TraceError>> {
    /// Replaces `record` by the next one; `None` at the end. Like [`Iterator::next`], but without a
    /// copy in each adapter.
    fn read(&mut self, record: &mut Record) -> Option<Result<(), TraceError>> {
        Some(self.next()?.map(|next| *record = next))
    }

    /// The name of the trace, as in its errors.
    fn name(&self) -> &str;

    /// The traces that the records come from.
    fn readers(&self) -> Vec<&Reader>;

    /// The changes that were made, one line each; complete when all records are read.
    fn changes(&self) -> Vec<String>;

    /// Remarks for users of the records, one line each: the notes of the readers, then the changes.
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
fn with(mut notes: Vec<String>, note: Option<String>) -> Vec<String> {
    notes.extend(note);
    notes
}

/// Keeps only the requests of the given devices.
pub struct DeviceFilter<I> {
    inner: I,
    devices: BTreeSet<u32>,
    removed: u64,
}

impl<I: Notes> DeviceFilter<I> {
    /// Wraps `inner`; keeps the requests of `devices`.
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
        let requests = quantity(self.removed, "request");
        let note = format!("{requests} of other devices removed");
        with(self.inner.changes(), (self.removed > 0).then_some(note))
    }
}

/// Maps each device to its own disk, numbered from 0 in order of first appearance.
pub struct Disks<I> {
    inner: I,
    /// The device of each disk.
    devices: Vec<u32>,
}

impl<I: Notes> Disks<I> {
    /// Wraps `inner`.
    pub fn new(inner: I) -> Self {
        Self {
            inner,
            devices: Vec::new(),
        }
    }

    /// The wrapped iterator.
    pub fn inner(&self) -> &I {
        &self.inner
    }

    /// The device of each disk, in the records read so far.
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
        let record = self.inner.next()?;
        Some(record.map(|record| Record {
            device: self.disk(record.device),
            ..record
        }))
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
        with(self.inner.changes(), (!devices.is_empty()).then_some(note))
    }
}

/// The mapping of blocks from a traced disk to a disk of another size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Keep them; a request beyond the end is an error.
    Refuse,
    /// Scale first blocks, from the given size of the traced disk. Sequential requests then overlap
    /// on a smaller disk, and leave gaps on a larger one.
    Scale(SectorCount),
    /// Wrap blocks beyond the end around to block 0.
    Fold,
    /// Continue blocks beyond the end at block 0 of the next disk, with this number of disks.
    Spread(u32),
}

/// Maps requests to disks of a given size.
pub struct Fitted<I> {
    inner: I,
    fit: Fit,
    size: SectorCount,
    /// The number of requests that would cross the end of a disk and were moved before it.
    pulled: u64,
    moved: u64,
}

impl<I: Notes> Fitted<I> {
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
            let expected = format!("at most the {size} blocks of the disk");
            return Err(self.wrong(record, &expected));
        }
        let (disk, start) = match self.fit {
            Fit::Refuse if record.end().0 > size => {
                let expected =
                    format!("at most {size} blocks, or another `fit`: scale, fold or spread");
                return Err(self.wrong(record, &expected));
            }
            Fit::Refuse => return Ok(()),
            Fit::Scale(traced) if record.end().0 > traced.0 => {
                let expected = format!("at most the {} traced blocks", traced.0);
                return Err(self.wrong(record, &expected));
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
                    return Err(self.wrong(record, &expected));
                }
                let first = record.device.checked_mul(disks);
                let disk = first.and_then(|first| first.checked_add(disk as u32));
                let Some(disk) = disk else {
                    let expected =
                        format!("a device number that leaves room for {disks} disks per device");
                    return Err(self.wrong(record, &expected));
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
    fn wrong(&self, record: &Record, expected: &str) -> TraceError {
        let sectors = quantity(record.sectors.0, "sector");
        let found = format!("{sectors} from {}", record.start.0);
        TraceError::value(self.inner.name(), record.location, "lbn", &found, expected)
    }
}

impl<I: Notes> Iterator for Fitted<I> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.inner.next()?;
        Some(next.and_then(|mut record| self.fit(&mut record).map(|()| record)))
    }
}

impl<I: Notes> Notes for Fitted<I> {
    fn read(&mut self, record: &mut Record) -> Option<Result<(), TraceError>> {
        let read = self.inner.read(record)?;
        Some(read.and_then(|()| self.fit(record)))
    }

    forward_to_inner!();

    fn changes(&self) -> Vec<String> {
        let (size, moved) = (self.size.0, quantity(self.moved, "request"));
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
        with(self.inner.changes(), Some(note))
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
            // Arrivals are in ascending order, so nothing after the end needs to be read.
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
    forward_to_inner!();

    fn changes(&self) -> Vec<String> {
        let mut note = format!(
            "{} before {} s removed; times are relative to it",
            quantity(self.before, "request"),
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

/// A factor for the arrival rate of a trace: an exact decimal number above 0.
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
    forward_to_inner!();

    fn changes(&self) -> Vec<String> {
        let note = format!("times between requests divided by {}", self.factor);
        with(self.inner.changes(), Some(note))
    }
}

/// Replaces arrivals by pauses, for one request at a time: the pause is the time from a completion
/// to the next arrival, the think time of a host that waits for every completion. If the next
/// request arrived before the completion, the pause is zero and the request is counted. The last
/// pause is zero. A request without an arrival keeps its measured pause.
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
    forward_to_inner!();

    fn changes(&self) -> Vec<String> {
        let note = self.overlapping.map(|requests| {
            format!(
                "one request at a time; {} arrived before the previous one completed",
                quantity(requests, "request")
            )
        });
        with(self.inner.changes(), note)
    }
}
