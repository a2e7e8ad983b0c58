//! The contents of the on-board buffer.
//!
//! A segment holds one run of consecutive blocks. Like the circular memory that it models, it drops
//! its oldest blocks when it is full. The drive adds the blocks that it is reading to the segment
//! each time it evaluates the progress of the read.

use crate::request::Request;
use crate::spec::{self, Invalidation};
use crate::units::{Lbn, SectorCount};

/// The segments of a buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    segments: Vec<Segment>,
    capacity: SectorCount,
    /// True if the first segment is reserved for writes.
    has_write_segment: bool,
    invalidation: Invalidation,
    /// Number of uses so far, to find the least recently used segment.
    clock: u64,
}

/// Blocks `[first, end)` in a segment.
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    first: Lbn,
    end: Lbn,
    used: u64,
    /// The range of blocks that the host has transferred, empty if none are recorded.
    transferred: (Lbn, Lbn),
}

impl Segment {
    #[inline]
    fn holds(&self, at: Lbn) -> bool {
        self.first <= at && at < self.end
    }

    #[inline]
    fn fill(&mut self, end: Lbn, capacity: SectorCount) {
        if end > self.end {
            self.end = end;
            self.first = self.first.max(Lbn(end.0.saturating_sub(capacity.0)));
        }
    }

    fn fill_before(&mut self, first: Lbn, capacity: SectorCount) {
        let room = capacity.0.saturating_sub(self.end.0 - self.first.0);
        let missing = self.first.0.saturating_sub(first.0);
        self.first = Lbn(self.first.0 - missing.min(room));
    }

    #[inline]
    fn drop_before(&mut self, first: Lbn) {
        self.first = self.first.max(first.min(self.end));
    }
}

/// Identifies a segment of a [`Buffer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentId(usize);

impl Buffer {
    /// Creates an empty buffer.
    pub fn new(spec: &spec::Buffer) -> Self {
        Self {
            segments: vec![Segment::default(); spec.segments as usize],
            capacity: spec.segment,
            has_write_segment: spec.dedicated_write_segment && spec.segments > 1,
            invalidation: spec.write_invalidates,
            clock: 0,
        }
    }

    /// Sets which blocks a write invalidates.
    pub fn set_invalidation(&mut self, invalidation: Invalidation) {
        self.invalidation = invalidation;
    }

    /// Returns the segment that holds block `at`, and the end of its blocks.
    #[inline]
    pub fn holding(&self, at: Lbn) -> Option<(SegmentId, Lbn)> {
        let i = self.segments.iter().position(|s| s.holds(at))?;
        Some((SegmentId(i), self.segments[i].end))
    }

    /// Returns true if a segment begins at or before block `at`.
    #[inline]
    pub fn begins_by(&self, id: SegmentId, at: Lbn) -> bool {
        self.segments[id.0].first <= at
    }

    /// Returns true if block `at` is in the buffer.
    #[inline]
    pub fn holds(&self, at: Lbn) -> bool {
        self.holding(at).is_some()
    }

    /// Empties the least recently used segment that reads may use; it will be filled from `at`.
    #[inline]
    pub fn claim_for_read(&mut self, at: Lbn) -> SegmentId {
        let from = usize::from(self.has_write_segment);
        self.claim(from..self.segments.len(), at)
    }

    /// Like [`Self::claim_for_read`], for writes.
    #[inline]
    pub fn claim_for_write(&mut self, at: Lbn) -> SegmentId {
        let all = self.segments.len();
        self.claim(0..if self.has_write_segment { 1 } else { all }, at)
    }

    fn claim(&mut self, candidates: std::ops::Range<usize>, at: Lbn) -> SegmentId {
        let mut oldest = candidates.start;
        for i in candidates {
            if self.segments[i].used < self.segments[oldest].used {
                oldest = i;
            }
        }
        self.clock += 1;
        self.segments[oldest] = Segment {
            first: at,
            end: at,
            used: self.clock,
            transferred: (at, at),
        };
        SegmentId(oldest)
    }

    /// Returns the most recently used segment.
    pub fn newest(&self) -> SegmentId {
        let segments = self.segments.iter().enumerate();
        let newest = segments.max_by_key(|(_, segment)| segment.used);
        SegmentId(newest.map_or(0, |(index, _)| index))
    }

    /// Records that the host has transferred a request through a segment.
    pub fn record_transfer(&mut self, id: SegmentId, request: &Request) {
        let range = &mut self.segments[id.0].transferred;
        if request.start <= range.1 && range.0 <= request.end() {
            *range = (range.0.min(request.start), range.1.max(request.end()));
        } else {
            *range = (request.start, request.end());
        }
    }

    /// Returns true if block `at` of a segment was read ahead: the host has not transferred it yet.
    pub fn is_read_ahead(&self, id: SegmentId, at: Lbn) -> bool {
        let (first, end) = self.segments[id.0].transferred;
        at < first || end <= at
    }

    /// Marks a segment as used.
    #[inline]
    pub fn touch(&mut self, id: SegmentId) {
        self.clock += 1;
        self.segments[id.0].used = self.clock;
    }

    /// Extends a segment up to `end`, dropping its oldest blocks if it is full.
    #[inline]
    pub fn fill(&mut self, id: SegmentId, end: Lbn) {
        self.segments[id.0].fill(end, self.capacity);
    }

    /// Returns what [`Buffer::holding`] would return after a [`Buffer::fill`] of a segment and, if
    /// `before` is given, a [`Buffer::drop_before`].
    #[inline]
    pub fn holding_once_filled(
        &self,
        at: Lbn,
        id: SegmentId,
        end: Lbn,
        before: Option<Lbn>,
    ) -> Option<(SegmentId, Lbn)> {
        let mut filled = self.segments[id.0];
        filled.fill(end, self.capacity);
        if let Some(before) = before {
            filled.drop_before(before);
        }
        let segments = self.segments.iter().enumerate();
        let mut segments = segments.map(|(i, s)| (i, if i == id.0 { &filled } else { s }));
        let (index, segment) = segments.find(|(_, s)| s.holds(at))?;
        Some((SegmentId(index), segment.end))
    }

    /// Returns the first block that a segment would have if filled up to `end` and back to `first`.
    pub fn first_once_filled(&self, id: SegmentId, end: Lbn, first: Lbn) -> Lbn {
        let mut segment = self.segments[id.0];
        segment.fill(end, self.capacity);
        segment.fill_before(first, self.capacity);
        segment.first
    }

    /// Extends a segment backward to `first`, or as far as there is room.
    pub fn fill_before(&mut self, id: SegmentId, first: Lbn) {
        self.segments[id.0].fill_before(first, self.capacity);
    }

    /// Drops a segment's blocks before `first`.
    #[inline]
    pub fn drop_before(&mut self, id: SegmentId, first: Lbn) {
        self.segments[id.0].drop_before(first);
    }

    /// Empties every segment that holds blocks of `request`.
    pub fn forget(&mut self, request: &Request) {
        for s in &mut self.segments {
            if s.first < request.end() && request.start < s.end {
                s.end = s.first;
            }
        }
    }

    /// Drops blocks that a write makes stale.
    pub fn invalidate(&mut self, write: &Request) {
        for s in &mut self.segments {
            let overlaps = s.first < write.end() && write.start < s.end;
            match self.invalidation {
                Invalidation::All => s.end = s.first,
                Invalidation::Segment if overlaps => s.end = s.first,
                Invalidation::Overlap if overlaps => keep_longer_part(s, write),
                Invalidation::Segment | Invalidation::Overlap => {}
            }
        }
    }
}

/// Keeps the longer of the parts before and after the written blocks, because a segment is one run.
fn keep_longer_part(segment: &mut Segment, write: &Request) {
    let before = write.start.0.saturating_sub(segment.first.0);
    let after = segment.end.0.saturating_sub(write.end().0);
    if before >= after {
        segment.end = segment.first + SectorCount(before);
    } else {
        segment.first = write.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Op;

    fn buffer() -> Buffer {
        Buffer::new(&spec::Buffer {
            segments: 3,
            segment: SectorCount(16),
            write_invalidates: Invalidation::Overlap,
            ..spec::Buffer::default()
        })
    }

    #[test]
    fn a_tie_keeps_the_part_before_the_write() {
        for (start, kept) in [(14, 10..14), (13, 15..20), (15, 10..15)] {
            let mut buffer = buffer();
            let id = buffer.claim_for_read(Lbn(10));
            buffer.fill(id, Lbn(20));
            let write = Request::new(0, Op::Write, Lbn(start), SectorCount(2));
            buffer.invalidate(&write);
            let held: Vec<u64> = (0..30).filter(|at| buffer.holds(Lbn(*at))).collect();
            assert_eq!(held, kept.collect::<Vec<u64>>(), "{start}");
        }
    }

    #[test]
    fn unused_segments_are_claimed_in_order() {
        let mut buffer = buffer();
        let claimed: Vec<usize> = (0..4).map(|_| buffer.claim_for_read(Lbn(0)).0).collect();
        assert_eq!(claimed, [0, 1, 2, 0]);
    }
}
