//! The activity of the arm. A pass, which is a read with its read-ahead, is computed run by run.

use crate::buffer::{Buffer, SegmentId};
use crate::geometry::Extent;
use crate::mechanics::{Mechanism, Piece, Position};
use crate::request::Op;
use crate::spec::{self, DeliveredBlocks, ReadAhead};
use crate::units::{Cylinder, Head, Instant, Lbn, SectorCount, Span};

#[derive(Clone, Copy, Debug)]
pub(super) enum Arm {
    /// Idle from the instant of this position. A write may be in progress until then.
    Free(Position),
    Reading(Reading),
}

impl Arm {
    /// Interrupts the arm; returns its position after the current sector or required read-ahead.
    #[inline(always)]
    pub fn call(&mut self, mechanism: &Mechanism, at: Instant, rules: &spec::Buffer) -> Position {
        let at = self.released(mechanism, at, rules);
        if let Self::Reading(reading) = self {
            reading.advance(mechanism, at);
        }
        self.position(at, rules)
    }

    /// Returns the result of [`Self::call`] without changing the arm.
    #[inline(always)]
    pub fn if_called(&self, mechanism: &Mechanism, at: Instant, rules: &spec::Buffer) -> Position {
        let released = self.released(mechanism, at, rules);
        match self {
            Self::Reading(reading) if reading.may_advance_by(released) => {
                let mut copy = *self;
                copy.call(mechanism, at, rules)
            }
            _ => self.position(released, rules),
        }
    }

    /// Returns the head's position if interrupted at `at`, to which a pass must have been advanced.
    #[inline(always)]
    fn position(&self, at: Instant, rules: &spec::Buffer) -> Position {
        match self {
            Self::Free(position) => position.with_since(position.since.max(at)),
            Self::Reading(reading) => reading.stopped(at, !rules.read_ahead_stops_mid_sector),
        }
    }

    /// Adds to the buffer the blocks that a pass has read. The pass has been advanced to `now`.
    #[inline(always)]
    pub fn keep(
        &self,
        mechanism: &Mechanism,
        buffer: &mut Buffer,
        now: Instant,
        rules: &spec::Buffer,
    ) {
        if let Self::Reading(reading) = self {
            buffer.fill(reading.segment, reading.read_end(now));
            if rules.delivered == DeliveredBlocks::Dropped {
                buffer.drop_before(reading.segment, reading.requested);
            } else if rules.read_whole_track {
                self.keep_whole_track(mechanism, buffer, now, rules);
            }
        }
    }

    /// A separate function because few drives read whole tracks.
    #[cold]
    #[inline(never)]
    fn keep_whole_track(
        &self,
        mechanism: &Mechanism,
        buffer: &mut Buffer,
        now: Instant,
        rules: &spec::Buffer,
    ) {
        if let Self::Reading(reading) = self
            && let Some(first) = reading.whole_track(mechanism, now, rules)
        {
            buffer.fill_before(reading.segment, first);
        }
    }

    /// Returns the end of the required read-ahead, or `at` if that is later.
    #[inline(always)]
    fn released(&self, mechanism: &Mechanism, at: Instant, rules: &spec::Buffer) -> Instant {
        match self {
            Self::Reading(reading) if rules.read_ahead_min > SectorCount(0) => {
                let owed = (reading.requested + rules.read_ahead_min).min(reading.end);
                at.max(reading.when(mechanism, owed))
            }
            _ => at,
        }
    }
}

/// A pass that reads into a segment, with read-ahead until another request needs the arm.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub segment: SegmentId,
    pub requested: Lbn,
    /// One past the last block that read-ahead may reach, as currently known.
    pub end: Lbn,
    /// The latest run that has been computed. Earlier runs will be complete by the next query.
    piece: Piece,
    /// The time at which the head is in place for `piece`. The pass cannot be stopped earlier.
    in_place: Instant,
    resumed: Instant,
    reach: Reach,
}

/// The tracks that read-ahead may enter, relative to the last requested block.
#[derive(Clone, Copy, Debug)]
struct Reach {
    scheme: ReadAhead,
    cylinder: Cylinder,
    head: Head,
    tracks: u32,
}

impl Reach {
    /// Creates the reach of read-ahead after the run `last`.
    #[inline]
    fn new(scheme: ReadAhead, follows_buffered: bool, last: &Piece) -> Self {
        Self {
            scheme,
            cylinder: last.cylinder,
            head: last.head,
            tracks: u32::from(scheme == ReadAhead::OneTrack && follows_buffered),
        }
    }

    /// Returns true if read-ahead may continue into `extent`; if so, records that it does.
    #[inline]
    fn enters(&mut self, extent: &Extent) -> bool {
        if self.scheme == ReadAhead::UntilFull {
            return true;
        }
        let same_cylinder = extent.cylinder == self.cylinder;
        if same_cylinder && extent.head == self.head {
            return true;
        }
        match self.scheme {
            ReadAhead::None | ReadAhead::TrackEnd => false,
            ReadAhead::CylinderEnd => same_cylinder,
            ReadAhead::UntilFull => true,
            ReadAhead::OneTrack if self.tracks > 0 => {
                self.tracks -= 1;
                self.cylinder = extent.cylinder;
                self.head = extent.head;
                true
            }
            ReadAhead::OneTrack => false,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Goal {
    pub requested: Lbn,
    pub end: Lbn,
}

impl Reading {
    /// Creates the pass of a request whose last run is `piece`. The head is in place for this run
    /// at `in_place`.
    #[inline]
    pub fn new(
        segment: SegmentId,
        Goal { requested, end }: Goal,
        piece: Piece,
        in_place: Instant,
        scheme: ReadAhead,
        follows_buffered: bool,
    ) -> Self {
        Self {
            segment,
            requested,
            end,
            piece,
            in_place,
            resumed: Instant::START,
            reach: Reach::new(scheme, follows_buffered, &piece),
        }
    }

    pub fn delay(&mut self, by: Span) {
        for at in [&mut self.piece.begin, &mut self.in_place, &mut self.resumed] {
            *at = at.shifted(by);
        }
    }

    /// Advances by one run. Returns false at the end of the pass.
    #[inline]
    fn step(&mut self, mechanism: &Mechanism) -> bool {
        let next = self.piece.end_lbn();
        if next >= self.end {
            return false;
        }
        let extent = mechanism.layout.extent(next);
        if !self.reach.enters(&extent) {
            self.end = next;
            return false;
        }
        let after = self.piece.position_after();
        let from = after.with_since(after.since.max(self.resumed));
        let (blocks, start) = ((next, self.end), Instant::START);
        let (approach, piece) = mechanism.piece_of(true, from, Op::Read, blocks, &extent, start);
        self.in_place = piece.begin - approach.wait;
        self.piece = piece;
        true
    }

    /// Advances to the run in progress at `at`, or to the last run. Never moves back in time.
    #[inline]
    pub fn advance(&mut self, mechanism: &Mechanism, at: Instant) {
        while self.piece.end() <= at && self.step(mechanism) {}
    }

    /// Returns true if [`Self::advance`] to `at` may change anything.
    #[inline]
    pub fn may_advance_by(&self, at: Instant) -> bool {
        self.piece.end() <= at
    }

    /// Returns the block after the last one read by `at`. Requires [`Self::advance`] to `at`.
    #[inline]
    pub fn read_end(&self, at: Instant) -> Lbn {
        self.piece.first + self.piece.done(at)
    }

    #[inline]
    pub fn is_over(&self, at: Instant) -> bool {
        self.piece.end_lbn() >= self.end && self.piece.end() <= at
    }

    /// If the pass has ended, has read its whole last track, and the rules keep that track, returns
    /// the first block of the track. Requires [`Self::advance`] to `at`.
    pub fn whole_track(
        &self,
        mechanism: &Mechanism,
        at: Instant,
        rules: &spec::Buffer,
    ) -> Option<Lbn> {
        let layout = &mechanism.layout;
        let keeps = rules.read_whole_track
            && rules.read_ahead != ReadAhead::None
            && rules.delivered == DeliveredBlocks::Kept;
        let over =
            keeps && self.is_over(at) && at >= self.piece.begin + mechanism.rotation.period();
        let end = self.piece.end_lbn();
        let track = |block: Lbn| {
            let extent = layout.extent(block);
            (extent.cylinder, extent.head)
        };
        let last = Lbn(end.0 - 1);
        if !over || end.0 < layout.sectors().0 && track(end) == track(last) {
            return None;
        }
        // Slipped sectors divide a track into several runs.
        let mut first = layout.track_first(last);
        while first.0 > 0 && track(Lbn(first.0 - 1)) == track(last) {
            first = layout.track_first(Lbn(first.0 - 1));
        }
        Some(first)
    }

    /// Returns true if the pass is reading block `next` at `at`. Requires [`Self::advance`].
    pub fn is_at(&self, mechanism: &Mechanism, next: Lbn, at: Instant) -> bool {
        let is_under_way = !self.is_over(at) && at >= self.piece.begin;
        is_under_way && mechanism.layout.physical().first(next) == self.read_end(at)
    }

    /// Returns the position of the head if the pass is stopped at `at`, or at the end of the
    /// current sector if `whole_sectors`. Requires [`Self::advance`] to `at`.
    #[inline]
    pub fn stopped(&self, at: Instant, whole_sectors: bool) -> Position {
        let Piece { cylinder, head, .. } = self.piece;
        let since = if self.piece.end() <= at {
            at
        } else if whole_sectors && at > self.piece.begin {
            let done = self.piece.done(at);
            match self.piece.after(done) {
                end if at <= end => at,
                _ => self.piece.after(done + SectorCount(1)),
            }
        } else {
            at.max(self.in_place)
        };
        Position {
            cylinder,
            head,
            since,
        }
    }

    /// Returns the time at which all blocks before `before` have been read, or [`Instant::START`]
    /// if they precede the current run.
    #[inline]
    pub fn when(&self, mechanism: &Mechanism, before: Lbn) -> Instant {
        if before <= self.piece.first {
            return Instant::START;
        }
        let within = |piece: &Piece| piece.after(before.min(piece.end_lbn()) - piece.first);
        if self.piece.end_lbn() >= before {
            return within(&self.piece);
        }
        let mut ahead = *self;
        while ahead.piece.end_lbn() < before && ahead.step(mechanism) {}
        within(&ahead.piece)
    }

    /// At `now`, extends the pass to a new goal. Appends to `pieces` the runs with blocks at or
    /// after `from`. A pass that has ended waits for the sector after its end and resumes there.
    pub fn extend(
        &mut self,
        mechanism: &Mechanism,
        now: Instant,
        from: Lbn,
        Goal { requested, end }: Goal,
        follows_buffered: bool,
        pieces: &mut Vec<Piece>,
    ) {
        self.advance(mechanism, now);
        if self.is_over(now) {
            self.resumed = now;
        }
        let scheme = self.reach.scheme;
        self.reach.scheme = ReadAhead::UntilFull;
        self.requested = self.requested.max(requested);
        self.end = self.end.max(end);
        if self.piece.end_lbn() > from {
            pieces.push(self.piece);
        }
        while self.piece.end_lbn() < requested && self.step(mechanism) {
            pieces.push(self.piece);
        }
        self.reach = Reach::new(scheme, follows_buffered, &self.piece);
    }
}
