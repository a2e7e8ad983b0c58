//! Summarises traces with the statistics that papers report in tables and figures.
//!
//! worthington94 table 2: length, disks, requests, average size, read and sequential read
//! percentages. liu05 table 4.2: the same, the maximum address and the coefficient of variation of
//! interarrival times; figures 4.1 and 4.2: arrivals over time and over the disk. jacobson91 figure
//! 1: queue lengths.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use diskarm_core::stats::Moments;
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};

use crate::error::TraceError;
use crate::record::Record;

/// The number of cells in the histogram of arrivals over time; at least half of them are used.
const TIME_CELLS: usize = 2048;

/// The number of cells in a device's address histogram; small, as there may be many devices.
const SPACE_CELLS: usize = 128;

const MAX_QUEUE: usize = 1023;

const MAX_DEVICES: usize = 65_536;

/// The maximum number of requests outstanding at all devices.
const MAX_OUTSTANDING: usize = 1 << 20;

/// The summary of a trace. Its memory grows with the number of devices and of outstanding requests,
/// which are limited, but not with the length.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The number of requests.
    pub requests_count: u64,
    /// The number of reads.
    pub reads_count: u64,
    /// Reads that begin where the previous request of their device ended.
    pub sequential_reads_count: u64,
    /// Reads and writes that begin where the previous request of their device ended.
    pub sequential_count: u64,
    /// The sum of the blocks of all requests.
    pub sectors: SectorCount,
    /// The number of requests of each size.
    pub sizes: BTreeMap<SectorCount, u64>,
    /// The first and the last arrival.
    pub arrivals: Option<(Instant, Instant)>,
    /// The times from one arrival to the next.
    pub interarrivals: Moments,
    /// The arrivals over time, in nanoseconds since the first.
    pub over_time: Bins<TIME_CELLS>,
    /// Measured times from arrival to completion.
    pub responses: MeasuredTimes,
    /// Measured service times.
    pub services: MeasuredTimes,
    /// For each queue length, the number of arrivals that found a queue of that length at their
    /// device, if known; the last entry includes all longer queues.
    pub queues: Vec<u64>,
    /// The summary of each device, by its number.
    pub devices: BTreeMap<u32, DeviceSummary>,
    /// Future completions and their devices, in a trace with responses but no queue lengths.
    outstanding: BinaryHeap<Reverse<(Instant, u32)>>,
}

/// The summary of one device.
#[derive(Clone, Debug, Default)]
pub struct DeviceSummary {
    /// The number of requests.
    pub requests_count: u64,
    /// The number of reads.
    pub reads_count: u64,
    /// The block after the last one of any request.
    pub end: Lbn,
    /// The requests over the disk, by first block.
    pub over_space: Bins<SPACE_CELLS>,
    next: Lbn,
    outstanding: u64,
}

/// Measured times: their number and sum.
#[derive(Clone, Copy, Debug, Default)]
pub struct MeasuredTimes {
    /// The number of measured times.
    pub count: u64,
    sum_ns: i128,
}

impl MeasuredTimes {
    fn record(&mut self, span: Option<Span>) {
        if let Some(span) = span {
            self.count += 1;
            self.sum_ns += i128::from(span.as_ns());
        }
    }

    /// Returns their mean, rounded down to the nanosecond; `None` if there are none.
    pub fn mean(&self) -> Option<Span> {
        let mean = self.sum_ns.checked_div(self.count.into())?;
        Some(Span::from_ns(mean as i64))
    }
}

impl Summary {
    /// Adds a record of the trace called `name`; records must come in order of arrival.
    ///
    /// # Errors
    /// If there are too many devices, or more requests outstanding than there can be.
    pub fn record(&mut self, record: &Record, name: &str) -> Result<(), TraceError> {
        let wrong = |field, found: &str, expected: &str| {
            TraceError::value(name, record.location, field, found, expected)
        };
        self.requests_count += 1;
        self.reads_count += u64::from(record.op.is_read());
        self.sectors = self.sectors + record.sectors;
        *self.sizes.entry(record.sectors).or_default() += 1;
        self.responses.record(record.response);
        self.services.record(record.service);
        if let Some(arrival) = record.arrival {
            self.arrive(arrival);
        }
        let device = self.devices.entry(record.device).or_default();
        let is_sequential = device.requests_count > 0 && device.next == record.start;
        device.record(record);
        self.sequential_count += u64::from(is_sequential);
        self.sequential_reads_count += u64::from(is_sequential && record.op.is_read());
        self.queue(record);
        if self.devices.len() > MAX_DEVICES {
            return Err(wrong(
                "device",
                &record.device.to_string(),
                "at most 65536 devices",
            ));
        }
        if self.outstanding.len() > MAX_OUTSTANDING {
            let found = format!("{} s", record.response.unwrap_or_default().as_s());
            let expected = "at most 1048576 requests outstanding: is the unit right?";
            return Err(wrong("response", &found, expected));
        }
        Ok(())
    }

    fn arrive(&mut self, arrival: Instant) {
        let first = self.arrivals.map_or(arrival, |(first, _)| first);
        self.over_time.record(arrival.as_ns() - first.as_ns());
        match &mut self.arrivals {
            None => self.arrivals = Some((arrival, arrival)),
            Some((_, last)) => {
                self.interarrivals.record(arrival - *last);
                *last = arrival;
            }
        }
    }

    fn queue(&mut self, record: &Record) {
        let length = match (record.queue, record.arrival, record.response) {
            (Some(length), _, _) => u64::from(length),
            (None, Some(arrival), Some(response)) => self.outstanding_at(arrival, response, record),
            _ => return,
        };
        let length = (length as usize).min(MAX_QUEUE);
        if length >= self.queues.len() {
            self.queues.resize(length + 1, 0);
        }
        self.queues[length] += 1;
    }

    /// Counts the requests that are outstanding at the device of `record` when it arrives.
    fn outstanding_at(&mut self, arrival: Instant, response: Span, record: &Record) -> u64 {
        while let Some(&Reverse((done, device))) = self.outstanding.peek() {
            if done > arrival {
                break;
            }
            self.outstanding.pop();
            if let Some(device) = self.devices.get_mut(&device) {
                device.outstanding -= 1;
            }
        }
        let response_ns = response.as_ns().max(0).unsigned_abs();
        let done_ns = arrival.as_ns().saturating_add(response_ns);
        let done = Instant::from_ns(done_ns.min(Instant::NEVER.as_ns()));
        self.outstanding.push(Reverse((done, record.device)));
        let device = self.devices.entry(record.device).or_default();
        device.outstanding += 1;
        device.outstanding - 1
    }

    /// Returns the average size of a request in bytes; `None` without requests.
    pub fn size_bytes_mean(&self) -> Option<f64> {
        let bytes = self.sectors.0 as f64 * 512.0;
        (self.requests_count > 0).then(|| bytes / self.requests_count as f64)
    }
}

impl DeviceSummary {
    fn record(&mut self, record: &Record) {
        self.requests_count += 1;
        self.reads_count += u64::from(record.op.is_read());
        self.end = self.end.max(record.end());
        self.over_space.record(record.start.0);
        self.next = record.end();
    }
}

/// A histogram over an unknown range, made in one pass and in constant memory. All cells have the
/// same width, a power of two, which doubles when a value is beyond the last cell.
///
/// It has at most `CELLS` cells, an even number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bins<const CELLS: usize> {
    counts: Vec<u64>,
    width_log2: u32,
}

impl<const CELLS: usize> Bins<CELLS> {
    /// Counts a value in its cell.
    #[inline]
    pub fn record(&mut self, value: u64) {
        while (value >> self.width_log2) as usize >= CELLS {
            self.widen();
        }
        let cell = (value >> self.width_log2) as usize;
        if cell >= self.counts.len() {
            self.counts.resize(cell + 1, 0);
        }
        self.counts[cell] += 1;
    }

    #[cold]
    fn widen(&mut self) {
        let pairs = self.counts.chunks(2).map(|pair| pair.iter().sum());
        self.counts = pairs.collect();
        self.width_log2 += 1;
    }

    /// Returns the counts from 0 up to the last cell that is not empty, in at most `max_count`
    /// columns, and the width of a column.
    pub fn columns(&self, max_count: usize) -> (Vec<u64>, u64) {
        let cells = self.counts.len().div_ceil(max_count).max(1);
        let sums = self.counts.chunks(cells).map(|cells| cells.iter().sum());
        (sums.collect(), (cells as u64) << self.width_log2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Location;
    use diskarm_core::request::Op;

    /// Summarises reads, each given as arrival and response in us, device, first block, blocks.
    fn summary(rows: &[(u64, i64, u32, u64, u64)]) -> Summary {
        let mut summary = Summary::default();
        for &(at_us, response_us, device, start, sectors) in rows {
            let location = Location::Line(1);
            let record = Record {
                arrival: Some(Instant::from_ns(at_us * 1_000)),
                response: Some(Span::from_ns(response_us * 1_000)),
                device,
                ..Record::new(location, Op::Read, Lbn(start), SectorCount(sectors))
            };
            summary.record(&record, "x").unwrap();
        }
        summary
    }

    /// Returns the number of records that are summarised, up to `max`, and the error after them.
    fn refused(max: u32, record: impl Fn(u32, Record) -> Record) -> (u32, String) {
        let mut summary = Summary::default();
        let plain = Record::new(Location::Line(7), Op::Read, Lbn(0), SectorCount(8));
        let mut numbers = 0..max;
        let error = numbers.find_map(|n| summary.record(&record(n, plain), "x").err());
        let count = numbers.start - 1;
        (count, error.expect("a limit").to_string())
    }

    #[test]
    fn devices_and_outstanding_requests_are_limited() {
        let expected = "x:7: device: found \"65536\", expected at most 65536 devices";
        let found = refused(1 << 17, |device, plain| Record { device, ..plain });
        assert_eq!(found, (65_536, expected.to_owned()));
        let found = refused(1 << 21, |_, plain| Record {
            arrival: Some(Instant::START),
            response: Some(Span::from_s(1.0)),
            ..plain
        });
        let expected = "x:7: response: found \"1 s\", expected at most 1048576 requests \
                        outstanding: is the unit right?";
        assert_eq!(found, (1 << 20, expected.to_owned()));
    }

    #[test]
    fn times_are_relative_to_the_first_arrival() {
        let day_us = 86_400_000_000;
        let found = summary(&[(day_us, 1, 0, 0, 8), (day_us + 3_000, 1, 0, 8, 8)]);
        let (requests, interval_ns) = found.over_time.columns(64);
        assert_eq!((requests[0], requests.last()), (1, Some(&1)));
        assert_eq!(requests.len() as u64, 3_000_000 / interval_ns + 1);
    }

    #[test]
    fn a_small_trace_is_summarised() {
        // On device 0, the second request continues the first and arrives while the first is
        // served; the third arrives as both complete. Device 1 has one request, which begins where
        // the second ends.
        let found = summary(&[
            (0, 30, 0, 64, 8),
            (10, 20, 0, 72, 8),
            (20, 5, 1, 80, 8),
            (30, 5, 0, 8, 16),
        ]);
        assert_eq!(found.queues, [3, 1]);
        assert_eq!(found.sequential_count, 1);
        assert_eq!(found.sequential_reads_count, 1);
        assert_eq!(found.sectors, SectorCount(40));
        assert_eq!(found.size_bytes_mean(), Some(5_120.0));
        assert_eq!(found.interarrivals.mean(), Some(Span::from_us(10.0)));
        assert_eq!(found.interarrivals.cv2(), Some(0.0));
        assert_eq!(found.responses.mean(), Some(Span::from_us(15.0)));
        assert_eq!(found.devices[&0].end, Lbn(80));
        let sizes: Vec<_> = found.sizes.into_iter().collect();
        assert_eq!(sizes, [(SectorCount(8), 3), (SectorCount(16), 1)]);
    }

    #[test]
    fn traced_queue_lengths_are_used() {
        let mut found = Summary::default();
        for queue in [0, 2, 2, 5_000] {
            let record = Record {
                queue: Some(queue),
                ..Record::new(Location::Line(1), Op::Write, Lbn(0), SectorCount(1))
            };
            found.record(&record, "x").unwrap();
        }
        assert_eq!(found.queues[..3], [1, 0, 2]);
        assert_eq!((found.queues.len(), found.queues[1023]), (1024, 1));
    }

    #[test]
    fn widening_cells_keeps_all_counts() {
        let mut bins = Bins::<4>::default();
        for value in [0, 1, 2, 3, 3] {
            bins.record(value);
        }
        assert_eq!(bins.columns(4), (vec![1, 1, 1, 2], 1));
        // 9 needs cells of 4: 0..4, 4..8, 8..12.
        bins.record(9);
        assert_eq!(bins.columns(4), (vec![5, 0, 1], 4));
        assert_eq!(bins.columns(2), (vec![5, 1], 8));
        bins.record(u64::MAX);
        let (counts, width) = bins.columns(4);
        assert_eq!((counts, width), (vec![6, 0, 0, 1], 1 << 62));
    }
}
