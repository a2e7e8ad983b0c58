//! What the papers' tables say of a trace.
//!
//! worthington94 table 2: length, disks, requests, average size, read and sequential read
//! percentages. liu05 table 4.2: the same with the maximum address and the coefficient of variation
//! of interarrival times; figures 4.1 and 4.2: arrivals over time and over the disk. jacobson91
//! figure 1: queue lengths.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use diskarm_core::stats::Moments;
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};

use crate::bins::Bins;
use crate::record::Record;

/// Cells of the chart of arrivals over time; half of them are in use at least.
const TIME_CELLS: usize = 2048;

/// Cells of a device's chart of addresses; few, for some traces have thousands of devices.
const PLACE_CELLS: usize = 128;

/// The longest queue that is counted by itself.
const LONGEST: usize = 1023;

/// Figures of a trace, in memory that grows with its devices and not with its length.
#[derive(Clone, Debug)]
pub struct Summary {
    /// How many requests.
    pub requests_count: u64,
    /// How many of them read.
    pub reads_count: u64,
    /// Reads that begin where their device's request before ended.
    pub sequential_reads_count: u64,
    /// Requests of any direction that do.
    pub sequential_count: u64,
    /// Blocks of all requests.
    pub sectors: SectorCount,
    /// How many requests have each size.
    pub sizes: BTreeMap<SectorCount, u64>,
    /// First and last arrival.
    pub arrivals: Option<(Instant, Instant)>,
    /// Times between arrivals.
    pub interarrivals: Moments,
    /// Arrivals by their nanosecond.
    pub over_time: Bins,
    /// Measured times from arrival to completion.
    pub responses: Measured,
    /// Measured times of service.
    pub services: Measured,
    /// How many arrivals found how many requests at their device, where the trace tells; the last
    /// stands for all that are longer.
    pub queues: Vec<u64>,
    /// By their number.
    pub devices: BTreeMap<u32, DeviceSummary>,
    /// Completions to come, by device, of a trace that has responses and no queue lengths.
    outstanding: BinaryHeap<Reverse<(Instant, u32)>>,
}

/// Figures of one device.
#[derive(Clone, Debug)]
pub struct DeviceSummary {
    /// How many requests.
    pub requests_count: u64,
    /// How many of them read.
    pub reads_count: u64,
    /// One past the last block of any.
    pub end: Lbn,
    /// Requests by their first block.
    pub over_space: Bins,
    /// Where its last request ended.
    next: Lbn,
    outstanding: u64,
}

/// Measured times: how many and how long.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// How many there are.
    pub count: u64,
    sum_ns: i128,
}

impl Measured {
    fn record(&mut self, span: Option<Span>) {
        if let Some(span) = span {
            self.count += 1;
            self.sum_ns += i128::from(span.as_ns());
        }
    }

    /// Their mean to the nanosecond below; `None` where there are none.
    pub fn mean(&self) -> Option<Span> {
        let mean = self.sum_ns.checked_div(self.count.into())?;
        Some(Span::from_ns(mean as i64))
    }
}

impl Default for Summary {
    fn default() -> Self {
        Self {
            requests_count: 0,
            reads_count: 0,
            sequential_reads_count: 0,
            sequential_count: 0,
            sectors: SectorCount::default(),
            sizes: BTreeMap::new(),
            arrivals: None,
            interarrivals: Moments::default(),
            over_time: Bins::new(TIME_CELLS),
            responses: Measured::default(),
            services: Measured::default(),
            queues: Vec::new(),
            devices: BTreeMap::new(),
            outstanding: BinaryHeap::new(),
        }
    }
}

impl Summary {
    /// Counts a record in; they come in the order of their arrivals.
    pub fn record(&mut self, record: &Record) {
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
    }

    fn arrive(&mut self, arrival: Instant) {
        self.over_time.record(arrival.as_ns());
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
        let length = (length as usize).min(LONGEST);
        if length >= self.queues.len() {
            self.queues.resize(length + 1, 0);
        }
        self.queues[length] += 1;
    }

    /// How many requests of its device are not completed when `record` arrives.
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
        let ns = arrival
            .as_ns()
            .saturating_add(response.as_ns().max(0).unsigned_abs());
        let done = Instant::from_ns(ns.min(Instant::NEVER.as_ns()));
        self.outstanding.push(Reverse((done, record.device)));
        let device = self.devices.entry(record.device).or_default();
        device.outstanding += 1;
        device.outstanding - 1
    }

    /// Average size of a request in bytes; `None` without requests.
    pub fn size_bytes_mean(&self) -> Option<f64> {
        let bytes = self.sectors.0 as f64 * 512.0;
        (self.requests_count > 0).then(|| bytes / self.requests_count as f64)
    }
}

impl Default for DeviceSummary {
    fn default() -> Self {
        Self {
            requests_count: 0,
            reads_count: 0,
            end: Lbn(0),
            over_space: Bins::new(PLACE_CELLS),
            next: Lbn(0),
            outstanding: 0,
        }
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

#[cfg(test)]
mod tests {
    use diskarm_core::request::Op;

    use super::*;
    use crate::record::Location;

    /// Arrival and response in us, device, first block, blocks; a read.
    fn summary(rows: &[(u64, i64, u32, u64, u64)]) -> Summary {
        let mut summary = Summary::default();
        for &(at_us, response_us, device, start, sectors) in rows {
            let location = Location::Line(1);
            summary.record(&Record {
                arrival: Some(Instant::from_ns(at_us * 1_000)),
                response: Some(Span::from_ns(response_us * 1_000)),
                device,
                ..Record::new(location, Op::Read, Lbn(start), SectorCount(sectors))
            });
        }
        summary
    }

    #[test]
    fn a_worked_example() {
        // On device 0: the second arrives while the first is served and continues it; the third
        // arrives as both are completed. On device 1: alone, at a block that would continue.
        let found = summary(&[
            (0, 30, 0, 64, 8),
            (10, 20, 0, 72, 8),
            (20, 5, 1, 80, 8),
            (30, 5, 0, 8, 16),
        ]);
        assert_eq!(found.queues, [3, 1]);
        assert_eq!(
            (found.sequential_count, found.sequential_reads_count),
            (1, 1)
        );
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
    fn a_traced_queue_length_is_believed() {
        let mut found = Summary::default();
        for queue in [0, 2, 2, 5_000] {
            found.record(&Record {
                queue: Some(queue),
                ..Record::new(Location::Line(1), Op::Write, Lbn(0), SectorCount(1))
            });
        }
        assert_eq!(found.queues[..3], [1, 0, 2]);
        assert_eq!((found.queues.len(), found.queues[1023]), (1024, 1));
    }
}
