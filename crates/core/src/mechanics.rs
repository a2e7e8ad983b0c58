//! Rotation and arm: the time to bring a head over a sector.
//!
//! A [`Mechanism`] is the constant part of a drive: layout, rotation and seek times. A [`Position`]
//! is the track of the head and the instant since when; a [`Piece`] is a run on one track, with the
//! time of every sector in closed form.

mod rotation;
mod seek;

use std::sync::Arc;

use rotation::{grace, sectors_span, sectors_within};

use crate::geometry::{Extent, Layout, Physical};
use crate::request::Op;
use crate::spec::Spec;
use crate::units::{Angle, Cylinder, Head, Instant, Lbn, SectorCount, Span};

pub use rotation::Rotation;
pub use seek::SeekTimes;
pub(crate) use seek::time_over;

/// Layout, rotation and arm of one drive.
#[derive(Clone, Debug)]
pub struct Mechanism {
    /// The location of blocks.
    pub layout: Arc<Layout>,
    /// The rotation of the platter.
    pub rotation: Rotation,
    /// The movement of the arm.
    pub seek: SeekTimes,
}

/// A head over a track from some instant on, free to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Cylinder under the heads.
    pub cylinder: Cylinder,
    /// Head that is active there.
    pub head: Head,
    /// Instant from which the head is in place.
    pub since: Instant,
}

/// The phases of bringing a head to the start of a run of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Approach {
    /// Arm movement, including an overlapping head switch.
    pub seek: Span,
    /// Head switch without arm movement, and write settle; an effective value may be negative.
    pub settle: Span,
    /// Head in place, waiting for data to write.
    pub hold: Span,
    /// Rotational wait for the first sector.
    pub wait: Span,
}

impl Approach {
    /// Returns the total time.
    #[inline]
    pub fn total(self) -> Span {
        self.seek + self.settle + self.hold + self.wait
    }

    /// Delays the arrival of the arm by `late`, or advances it if that is negative: the seek
    /// changes, or the settle if no seek is needed or it cannot become shorter.
    pub fn late(self, late: Span) -> Self {
        let seek = if self.seek == Span::ZERO {
            Span::ZERO
        } else {
            (self.seek + late).max(Span::ZERO)
        };
        Self {
            seek,
            settle: self.settle + late - (seek - self.seek),
            ..self
        }
    }
}

impl Mechanism {
    /// Builds the mechanism of `spec` over its `layout`, with the platter at `origin` at the start.
    pub fn new(spec: &Spec, layout: Arc<Layout>, origin: Angle) -> Self {
        Self {
            layout,
            rotation: Rotation::new(spec.mechanics.period_ns, origin),
            seek: SeekTimes::new(&spec.mechanics, spec.geometry.cylinders),
        }
    }

    /// Returns a copy that shares its tables, the platter at angle `origin` at [`Instant::START`].
    pub fn at_angle(&self, origin: Angle) -> Self {
        Self {
            rotation: self.rotation.at_angle(origin),
            ..self.clone()
        }
    }

    /// Returns the time of a movement of the head from `from` before an `op` there.
    #[inline]
    pub fn movement(&self, op: Op, from: Position, cylinder: Cylinder, head: Head) -> Span {
        self.seek
            .total(op, (from.cylinder, cylinder), from.head != head)
    }

    /// Returns the total of the approach that [`Mechanism::piece`] gives, and no more, because
    /// schedulers compute it for every pending request.
    #[inline]
    pub fn positioning(&self, from: Position, op: Op, extent: &Extent, ready: Instant) -> Span {
        let moved = self.movement(op, from, extent.cylinder, extent.head);
        let there = (from.since + moved).max(ready);
        there + self.rotation.wait(there, extent.start) - from.since
    }

    /// Returns the approach of a head from `from` to the start of `extent`, where the transfer may
    /// not begin before `ready`: of a request, or of a transfer that `continues` there.
    #[inline(always)]
    fn approach(
        &self,
        continues: bool,
        from: Position,
        op: Op,
        extent: &Extent,
        ready: Instant,
    ) -> Approach {
        let way = (from.cylinder, extent.cylinder);
        let head_changes = from.head != extent.head;
        let (seek, settle) = self.seek.parts(continues, op, way, head_changes);
        let there = from.since + (seek + settle);
        let hold = ready.since_or_zero(there);
        Approach {
            seek,
            settle,
            hold,
            wait: self.rotation.wait(there + hold, extent.start),
        }
    }
}

/// A run of blocks on one track without a gap, and when it passes under the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First block of the run.
    pub first: Lbn,
    /// Length of the run in blocks.
    pub sectors: SectorCount,
    /// Cylinder of the track.
    pub cylinder: Cylinder,
    /// Head that accesses the track.
    pub head: Head,
    /// Start of its first sector.
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
    /// Returns when the first `sectors` of the piece are done.
    #[inline]
    pub fn after(&self, sectors: SectorCount) -> Instant {
        let passed = self.physical.up(sectors.0).min(self.through);
        self.begin + sectors_span(self.sector_time, passed)
    }

    /// Returns when its sector `index` begins to pass, or the physical sector that it is in.
    #[inline]
    pub fn begins(&self, index: SectorCount) -> Instant {
        self.after(SectorCount(self.physical.down(index.0)))
    }

    /// Returns when all of it is done.
    #[inline]
    pub fn end(&self) -> Instant {
        self.begin + sectors_span(self.sector_time, self.through)
    }

    /// Returns the number of sectors from its first on that are done by `at`, without a gap.
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

    /// Returns the number of sectors that pass within `span`, in whole physical ones.
    #[inline]
    pub fn sectors_in(&self, span: Span) -> SectorCount {
        SectorCount(self.physical.down(sectors_within(self.sector_time, span)))
    }

    /// Returns the number of sectors up to the one that passes last of the first `sectors`, at
    /// least one; within a physical sector, up to its first.
    #[inline]
    pub fn last_to_pass(&self, sectors: SectorCount) -> SectorCount {
        SectorCount(self.physical.down(sectors.0.min(self.through) - 1) + 1)
    }

    /// Returns the same piece when it comes round again, a revolution of `period` later.
    pub fn next_time(self, period: Span) -> Self {
        Self {
            begin: self.begin + period,
            ..self
        }
    }

    /// Returns one past its last block.
    #[inline]
    pub fn end_lbn(&self) -> Lbn {
        self.first + self.sectors
    }

    /// Returns the position of the head when the piece is done.
    #[inline]
    pub fn position_after(&self) -> Position {
        Position {
            cylinder: self.cylinder,
            head: self.head,
            since: self.end(),
        }
    }

    /// Returns the part of the piece before its sector `at`.
    pub fn before(self, at: SectorCount) -> Self {
        Self {
            sectors: at,
            through: at.0,
            ..self
        }
    }

    /// Returns the same run with zero latency, if the head is in place `early` before the run's
    /// first sector passes, over the run itself: all of the first `wanted` sectors are done when
    /// the sector at which the head landed comes round again.
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

    /// Returns the same run as those that pass in the order of their blocks, the one that passes
    /// first in front; with zero latency these are two. A revolution takes `period`.
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
    /// Returns the blocks of `[at, end)` on one track without a gap, transferred by a head that
    /// starts at `from`, but not before `ready`, and the head's approach. A transfer that
    /// `continues` from its run on another track does without the settle before a request.
    #[inline(always)]
    pub fn piece(
        &self,
        continues: bool,
        from: Position,
        op: Op,
        blocks: (Lbn, Lbn),
        ready: Instant,
    ) -> (Approach, Piece) {
        let extent = self.layout.extent(blocks.0);
        self.piece_of(continues, from, op, blocks, &extent, ready)
    }

    /// Like [`Mechanism::piece`], with a known extent at the first block.
    #[inline(always)]
    pub fn piece_of(
        &self,
        continues: bool,
        from: Position,
        op: Op,
        blocks: (Lbn, Lbn),
        extent: &Extent,
        ready: Instant,
    ) -> (Approach, Piece) {
        let approach = self.approach(continues, from, op, extent, ready);
        let (first, end) = blocks;
        let sectors = extent.sectors.min(end - first);
        let piece = Piece {
            first,
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
