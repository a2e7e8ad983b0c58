//! A run of blocks on one track, and when it passes under the head.

use super::rotation::{grace, sectors_span, sectors_within};
use super::{Approach, Mechanism, Position};
use crate::geometry::{Extent, Physical};
use crate::request::Op;
use crate::units::{Cylinder, Head, Instant, Lbn, SectorCount, Span};

/// A run of blocks on one track without a gap, and when it passes under the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First block.
    pub first: Lbn,
    /// Number of blocks.
    pub sectors: SectorCount,
    /// Its cylinder.
    pub cylinder: Cylinder,
    /// Its head.
    pub head: Head,
    /// When its first sector begins to pass.
    pub begin: Instant,
    /// The whole piece is done after this many sectors from `begin`: all of them, or fewer if the
    /// head landed within it and transferred the rest first (zero latency).
    through: u64,
    /// The sectors of a physical one, from the first of the piece on.
    physical: Physical,
    /// One sector, in units of the rotation's fraction of a nanosecond.
    sector_time: u64,
}

impl Piece {
    /// When the first `sectors` of the piece are done.
    #[inline]
    pub fn after(&self, sectors: SectorCount) -> Instant {
        let passed = self.physical.up(sectors.0).min(self.through);
        self.begin + sectors_span(self.sector_time, passed)
    }

    /// When its sector `index` begins to pass, or the physical sector that it is in.
    #[inline]
    pub fn begins(&self, index: SectorCount) -> Instant {
        self.after(SectorCount(self.physical.down(index.0)))
    }

    /// When all of it is done.
    #[inline]
    pub fn end(&self) -> Instant {
        self.begin + sectors_span(self.sector_time, self.through)
    }

    /// Number of sectors from its first on that are done by `at`, without a gap.
    #[inline]
    pub fn done(&self, at: Instant) -> SectorCount {
        if at < self.begin {
            return SectorCount(0);
        }
        // Checked first, because the count below is valid only for hours.
        if at >= self.end() {
            return self.sectors;
        }
        let passed = sectors_within(self.sector_time, at - self.begin);
        if passed >= self.through {
            self.sectors
        } else {
            SectorCount(self.physical.down(passed))
        }
    }

    /// Number of sectors that pass within `span`, in whole physical ones.
    #[inline]
    pub fn sectors_in(&self, span: Span) -> SectorCount {
        SectorCount(self.physical.down(sectors_within(self.sector_time, span)))
    }

    /// Number of sectors up to the one that passes last of the first `sectors`, at least one; of
    /// those that a physical sector brings together, up to the first.
    #[inline]
    pub fn last_to_pass(&self, sectors: SectorCount) -> SectorCount {
        SectorCount(self.physical.down(sectors.0.min(self.through) - 1) + 1)
    }

    /// The same piece when it comes round again, a revolution of `period` later.
    pub fn next_time(self, period: Span) -> Self {
        Self {
            begin: self.begin + period,
            ..self
        }
    }

    /// One past its last block.
    #[inline]
    pub fn end_lbn(&self) -> Lbn {
        self.first + self.sectors
    }

    /// The position of the head when the piece is done.
    #[inline]
    pub fn position_after(&self) -> Position {
        Position {
            cylinder: self.cylinder,
            head: self.head,
            since: self.end(),
        }
    }

    /// The part of the piece before its sector `at`.
    pub fn before(self, at: SectorCount) -> Self {
        Self {
            sectors: at,
            through: at.0,
            ..self
        }
    }

    /// The same run with zero latency, if the head is in place `early` before the run's first
    /// sector passes, over the run itself: all of the first `wanted` sectors are done when the
    /// sector at which the head landed comes round again.
    pub fn on_arrival(mut self, early: Span, wanted: SectorCount, period: Span) -> Self {
        let since_first = period - early;
        // A sector that a head in place would still catch counts.
        let late = (since_first - grace(period)).or_zero();
        let landed = self.physical.up(sectors_within(self.sector_time, late) + 1);
        if landed < wanted.0 && since_first > Span::ZERO {
            self.through = landed;
        }
        self
    }

    /// The same run as those that pass in the order of their blocks, the one that passes first in
    /// front; with zero latency these are two. A revolution takes `period`.
    pub fn in_passing_order(self, period: Span) -> [Option<Self>; 2] {
        if self.through >= self.sectors.0 {
            return [Some(self), None];
        }
        // The head landed on this sector; at `through` it comes round again.
        let begin = self.begin + sectors_span(self.sector_time, self.through);
        let rest = self.sectors.0 - self.through;
        let landed = Self {
            first: self.first + SectorCount(self.through),
            sectors: SectorCount(rest),
            begin: begin.shifted(-period),
            through: rest,
            ..self
        };
        [Some(landed), Some(self.before(SectorCount(self.through)))]
    }
}

impl Mechanism {
    /// The blocks of `[at, end)` on one track without a gap, transferred by a head that starts at
    /// `from`, but not before `ready`, and the head's approach.
    #[inline]
    pub fn piece(
        &self,
        from: Position,
        op: Op,
        blocks: (Lbn, Lbn),
        ready: Instant,
    ) -> (Approach, Piece) {
        self.any_piece(false, from, op, blocks, ready)
    }

    /// [`Mechanism::piece`] with a known extent at the first block.
    #[inline]
    pub fn piece_of(
        &self,
        from: Position,
        op: Op,
        blocks: (Lbn, Lbn),
        extent: &Extent,
        ready: Instant,
    ) -> (Approach, Piece) {
        self.any_piece_of(false, from, op, blocks, extent, ready)
    }

    /// [`Mechanism::piece`] for a transfer that continues, from the end of its run on another track:
    /// the head switches or moves on, without the settle before a request.
    #[inline]
    pub fn next_piece(
        &self,
        from: Position,
        op: Op,
        blocks: (Lbn, Lbn),
        ready: Instant,
    ) -> (Approach, Piece) {
        self.any_piece(true, from, op, blocks, ready)
    }

    /// [`Mechanism::next_piece`] with a known extent at the first block.
    #[inline]
    pub fn next_piece_of(
        &self,
        from: Position,
        op: Op,
        blocks: (Lbn, Lbn),
        extent: &Extent,
        ready: Instant,
    ) -> (Approach, Piece) {
        self.any_piece_of(true, from, op, blocks, extent, ready)
    }

    /// [`Mechanism::next_piece`] if the transfer continues, [`Mechanism::piece`] otherwise.
    #[inline(always)]
    pub fn any_piece(
        &self,
        goes_on: bool,
        from: Position,
        op: Op,
        blocks: (Lbn, Lbn),
        ready: Instant,
    ) -> (Approach, Piece) {
        let extent = self.layout.extent(blocks.0);
        self.any_piece_of(goes_on, from, op, blocks, &extent, ready)
    }

    /// [`Mechanism::any_piece`] with a known extent at the first block.
    #[inline(always)]
    fn any_piece_of(
        &self,
        goes_on: bool,
        from: Position,
        op: Op,
        (at, end): (Lbn, Lbn),
        extent: &Extent,
        ready: Instant,
    ) -> (Approach, Piece) {
        let approach = self.approach(goes_on, from, op, extent, ready);
        let sectors = extent.sectors.min(end - at);
        let piece = Piece {
            first: at,
            sectors,
            cylinder: extent.cylinder,
            head: extent.head,
            begin: from.since + approach.total(),
            through: sectors.0,
            physical: self.layout.physical(),
            sector_time: self.rotation.sector_time(extent.sector_angle),
        };
        (approach, piece)
    }
}
