//! Sorts the records of a nearly sorted file by arrival.

use std::collections::VecDeque;

use diskarm_core::units::{Instant, Span};

use crate::record::Record;

/// Size of the reorder buffer: larger than the queue of any device, so that traces in order of
/// completion are sorted correctly, and small enough to stay in a cache.
const WINDOW: usize = 4096;

/// Sorts records that are at most [`WINDOW`] positions out of order; ties keep their order.
pub(crate) struct Ordering {
    waiting: VecDeque<Record>,
    /// The arrival of the last record returned.
    latest: Option<Instant>,
    /// Records that came after a later one in the file.
    moved: u64,
}

impl Ordering {
    pub(crate) fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            latest: None,
            moved: 0,
        }
    }

    /// Returns true if a record must be taken before another can be added.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() == WINDOW
    }

    /// The number of records that came after a later one.
    pub(crate) fn moved_count(&self) -> u64 {
        self.moved
    }

    /// Inserts a record; if a later record was already returned, fails with its arrival.
    #[inline]
    pub(crate) fn put(&mut self, record: Record) -> Result<(), Instant> {
        match self.waiting.back() {
            Some(last) if record.arrival < last.arrival => self.put_before(record),
            Some(_) => {
                self.waiting.push_back(record);
                Ok(())
            }
            None => self.put_before(record),
        }
    }

    #[cold]
    fn put_before(&mut self, record: Record) -> Result<(), Instant> {
        match self.latest {
            Some(latest) if record.arrival < Some(latest) => return Err(latest),
            _ => {}
        }
        let index = self
            .waiting
            .partition_point(|waiting| waiting.arrival <= record.arrival);
        self.moved += u64::from(index < self.waiting.len());
        self.waiting.insert(index, record);
        Ok(())
    }

    #[inline]
    pub(crate) fn take(&mut self) -> Option<Record> {
        let record = self.waiting.pop_front()?;
        self.latest = record.arrival;
        Some(record)
    }

    /// Nonzero gaps between buffered arrivals.
    pub(crate) fn gaps(&self) -> impl Iterator<Item = Span> {
        let arrivals = || self.waiting.iter().filter_map(|record| record.arrival);
        arrivals()
            .zip(arrivals().skip(1))
            .map(|(earlier, later)| later - earlier)
            .filter(|gap| *gap > Span::ZERO)
    }

    /// Responses of buffered records.
    pub(crate) fn responses(&self) -> impl Iterator<Item = Span> {
        self.waiting.iter().filter_map(|record| record.response)
    }
}

#[cfg(test)]
mod tests {
    use diskarm_core::request::Op;
    use diskarm_core::units::{Lbn, SectorCount};

    use super::*;
    use crate::record::Location;

    fn at(ns: u64, line: u64) -> Record {
        Record {
            arrival: Some(Instant::from_ns(ns)),
            ..Record::new(Location::Line(line), Op::Read, Lbn(0), SectorCount(1))
        }
    }

    #[test]
    fn late_records_are_sorted_and_ties_keep_their_order() {
        let mut ordering = Ordering::new();
        for (ns, line) in [(5, 1), (9, 2), (5, 3), (7, 4), (9, 5)] {
            assert_eq!(ordering.put(at(ns, line)), Ok(()));
        }
        let order = std::iter::from_fn(|| ordering.take());
        let locations: Vec<Location> = order.map(|record| record.location).collect();
        assert_eq!(locations, [1, 3, 4, 2, 5].map(Location::Line));
        assert_eq!(ordering.moved_count(), 2);
    }

    #[test]
    fn a_record_that_is_too_late_is_refused() {
        let mut ordering = Ordering::new();
        assert_eq!(ordering.put(at(5, 1)), Ok(()));
        assert!(ordering.take().is_some());
        assert_eq!(ordering.put(at(4, 2)), Err(Instant::from_ns(5)));
        assert_eq!(ordering.put(at(5, 3)), Ok(()));
    }
}
