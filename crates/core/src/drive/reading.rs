//! A read and what the drive reads on by itself behind it: one pass over the media, known in
//! closed form and evaluated when somebody asks how far it has come.

use crate::buffer::SegmentId;
use crate::geometry::Extent;
use crate::mechanics::{Mechanism, Piece, Position};
use crate::request::Op;
use crate::spec::ReadAhead;
use crate::units::{Cylinder, Head, Instant, Lbn, SectorCount, Span};

/// A pass that reads into a segment, and on when nobody asks for anything else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Where the blocks go.
    pub segment: SegmentId,
    /// One past the last block that a host asked for.
    pub requested: Lbn,
    /// One past the last block that the drive would read on to, as far as is known.
    pub end: Lbn,
    /// The newest run of blocks that was located. Earlier ones are done before anybody asks
    /// again.
    piece: Piece,
    /// When the head was in place for that run; before that it cannot be stopped.
    in_place: Instant,
    /// When the pass took up again after it had come to its end.
    resumed: Instant,
    /// Which tracks read-ahead may enter.
    reach: Reach,
}

/// Which tracks read-ahead may enter, seen from the last requested block.
#[derive(Clone, Copy, Debug)]
struct Reach {
    scheme: ReadAhead,
    cylinder: Cylinder,
    head: Head,
    /// Tracks that it may still enter.
    tracks: u32,
}

impl Reach {
    #[inline]
    fn from(scheme: ReadAhead, last: &Piece, follows: bool) -> Self {
        let tracks = u32::from(scheme == ReadAhead::OneTrack && follows);
        Self {
            scheme,
            cylinder: last.cylinder,
            head: last.head,
            tracks,
        }
    }

    /// Whether read-ahead may continue into `extent`; if so it has gone there.
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

impl Reading {
    /// A pass towards `end` whose runs, the last of which is `piece`, cover a request up to
    /// `requested`. `follows`: the track before the last one is in the buffer.
    #[inline]
    pub fn new(
        segment: SegmentId,
        (requested, end): (Lbn, Lbn),
        (piece, in_place): (Piece, Instant),
        (scheme, follows): (ReadAhead, bool),
    ) -> Self {
        let reach = Reach::from(scheme, &piece, follows);
        Self {
            segment,
            requested,
            end,
            piece,
            in_place,
            resumed: Instant::START,
            reach,
        }
    }

    /// All of it happens `by` later.
    pub fn delay(&mut self, by: Span) {
        for at in [&mut self.piece.begin, &mut self.in_place, &mut self.resumed] {
            *at = at.shifted(by);
        }
    }

    /// Continues by a run if there is one.
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
        let from = Position {
            since: after.since.max(self.resumed),
            ..after
        };
        let until = (next, self.end);
        let (approach, piece) =
            mechanism.next_piece_of(from, Op::Read, until, &extent, Instant::START);
        self.in_place = piece.begin - approach.wait;
        self.piece = piece;
        true
    }

    /// Continues to the run under way at `at`, or to the last one. Does not go back in time.
    #[inline]
    pub fn go_on(&mut self, mechanism: &Mechanism, at: Instant) {
        while self.piece.end() <= at && self.step(mechanism) {}
    }

    /// Whether [`Self::go_on`] to `at` may change anything.
    #[inline]
    pub fn has_gone_on_by(&self, at: Instant) -> bool {
        self.piece.end() <= at
    }

    /// One past the last block that was read by `at`, after [`Self::go_on`].
    #[inline]
    pub fn reached(&self, at: Instant) -> Lbn {
        self.piece.first + self.piece.done(at)
    }

    /// Whether the pass has nothing left to read at `at`, after [`Self::go_on`].
    #[inline]
    pub fn is_over(&self, at: Instant) -> bool {
        self.piece.end_lbn() >= self.end && self.piece.end() <= at
    }

    /// The first block of the last track, if the pass has ended at the end of it and all of the
    /// track has passed by `at`, after [`Self::go_on`].
    pub fn whole_track(&self, mechanism: &Mechanism, at: Instant) -> Option<Lbn> {
        let layout = &mechanism.layout;
        let over = self.is_over(at) && at >= self.piece.begin + mechanism.rotation.period();
        let end = self.piece.end_lbn();
        let track = |block: Lbn| {
            let extent = layout.extent(block);
            (extent.cylinder, extent.head)
        };
        let last = Lbn(end.0 - 1);
        if !over || end.0 < layout.sectors().0 && track(end) == track(last) {
            return None;
        }
        // Runs end at slipped sectors too.
        let mut first = layout.track_first(last);
        while first.0 > 0 && track(Lbn(first.0 - 1)) == track(last) {
            first = layout.track_first(Lbn(first.0 - 1));
        }
        Some(first)
    }

    /// Whether the pass is reading block `next` at `at`, after [`Self::go_on`].
    pub fn is_at(&self, mechanism: &Mechanism, next: Lbn, at: Instant) -> bool {
        let reached = self.reached(at);
        !self.is_over(at)
            && at >= self.piece.begin
            && mechanism.layout.physical().first(next) == reached
    }

    /// Where the head is if the pass is stopped at `at`, after [`Self::go_on`]; at a sector's
    /// end if `whole_sectors`.
    #[inline]
    pub fn stopped(&self, at: Instant, whole_sectors: bool) -> Position {
        let Piece { cylinder, head, .. } = self.piece;
        let since = if self.piece.end() <= at {
            at
        } else if whole_sectors && at > self.piece.begin {
            let done = self.piece.done(at);
            if at <= self.piece.after(done) {
                at
            } else {
                self.piece.after(done + SectorCount(1))
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

    /// When all blocks before `before` are read; [`Instant::START`] when an earlier run than the
    /// newest brought them, which is over.
    #[inline]
    pub fn when(&self, mechanism: &Mechanism, before: Lbn) -> Instant {
        if before <= self.piece.first {
            return Instant::START;
        }
        let within = |piece: &Piece| piece.after(before.min(piece.end_lbn()) - piece.first);
        if self.piece.end_lbn() >= before {
            return within(&self.piece);
        }
        let mut to = *self;
        while to.piece.end_lbn() < before && to.step(mechanism) {}
        within(&to.piece)
    }

    /// Lets the pass serve blocks up to `requested` too and read on to `end`, from `now` on;
    /// `pieces` gets the runs that bring blocks from `from` on. A pass that was over takes up
    /// again where it ended, waiting for that sector to come round.
    pub fn extend(
        &mut self,
        mechanism: &Mechanism,
        (now, from): (Instant, Lbn),
        (requested, end): (Lbn, Lbn),
        follows: bool,
        pieces: &mut Vec<Piece>,
    ) {
        self.go_on(mechanism, now);
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
        self.reach = Reach::from(scheme, &self.piece, follows);
    }
}
