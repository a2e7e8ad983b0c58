//! A read and what the drive reads on by itself behind it: one pass over the media, known in
//! closed form and evaluated when somebody asks how far it has come.

use crate::buffer::SegmentId;
use crate::geometry::Extent;
use crate::mechanics::{Mechanism, Pass, Piece, Position};
use crate::spec::ReadAhead;
use crate::units::{Cylinder, Head, Instant, Lbn, SectorCount};

/// A pass that reads into a segment, and on when nobody asks for anything else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Where the blocks go.
    pub segment: SegmentId,
    /// What was located so far; `pass.end` is as far as the drive would read on.
    pass: Pass,
    /// The newest piece. Earlier ones are done before anybody asks again.
    piece: Piece,
    /// When the head was in place for that piece; before that it cannot be stopped.
    in_place: Instant,
    /// One past the last block that a host asked for.
    pub requested: Lbn,
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
    fn from(scheme: ReadAhead, last: &Piece, follows: bool) -> Self {
        let tracks = u32::from(scheme == ReadAhead::OneTrack && follows);
        Self {
            scheme,
            cylinder: last.cylinder,
            head: last.head,
            tracks,
        }
    }

    /// Whether read-ahead may go on into `extent`; if so it has gone there.
    fn enters(&mut self, extent: &Extent) -> bool {
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
    /// A pass whose pieces, the last of which is `piece`, cover a request up to `requested`.
    pub fn new(
        segment: SegmentId,
        pass: Pass,
        (piece, in_place): (Piece, Instant),
        requested: Lbn,
        (scheme, follows): (ReadAhead, bool),
    ) -> Self {
        let reach = Reach::from(scheme, &piece, follows);
        Self {
            segment,
            pass,
            piece,
            in_place,
            requested,
            reach,
        }
    }

    /// Goes on by a piece if there is one.
    fn step(&mut self, mechanism: &Mechanism) -> bool {
        if self.pass.next >= self.pass.end {
            return false;
        }
        let extent = mechanism.layout.extent(self.pass.next);
        if !self.reach.enters(&extent) {
            self.pass.end = self.pass.next;
            return false;
        }
        let (approach, piece) = self.pass.step_to(mechanism, &extent, Instant::START);
        self.in_place = piece.begin - approach.wait;
        self.piece = piece;
        true
    }

    /// Locates pieces until one reaches beyond `at`, or none is left.
    #[inline]
    fn follow(&mut self, mechanism: &Mechanism, at: Instant) {
        while self.piece.end() <= at && self.step(mechanism) {}
    }

    /// One past the last block that was read by `at`. Does not go back in time.
    #[inline]
    pub fn reached(&mut self, mechanism: &Mechanism, at: Instant) -> Lbn {
        self.follow(mechanism, at);
        self.piece.first + self.piece.done(at)
    }

    /// Whether the pass has nothing left to read at `at`, after [`Self::reached`].
    #[inline]
    pub fn is_over(&self, at: Instant) -> bool {
        self.pass.next >= self.pass.end && self.piece.end() <= at
    }

    /// Whether the pass is reading block `next` at `at`, after [`Self::reached`].
    pub fn is_at(&self, next: Lbn, at: Instant) -> bool {
        !self.is_over(at)
            && at >= self.piece.begin
            && self.piece.first + self.piece.done(at) == next
    }

    /// One past the last block that it will read if nothing stops it, as far as is known.
    pub fn end(&self) -> Lbn {
        self.pass.end
    }

    /// Where the head is if the pass is stopped at `at`, at a sector's end if `whole_sectors`.
    #[inline]
    pub fn stopped(&self, mechanism: &Mechanism, at: Instant, whole_sectors: bool) -> Position {
        let mut to = *self;
        to.follow(mechanism, at);
        let Piece { cylinder, head, .. } = to.piece;
        let end = to.piece.end();
        let free = if end <= at {
            at
        } else if whole_sectors && at > to.piece.begin {
            let done = to.piece.done(at);
            if at <= to.piece.after(done) {
                at
            } else {
                to.piece.after(SectorCount(done.0 + 1))
            }
        } else {
            at.max(to.in_place)
        };
        Position {
            cylinder,
            head,
            since: free,
        }
    }

    /// When block `before` and all before it were read, or for one that had passed before the
    /// newest piece, when that began.
    pub fn when(&self, mechanism: &Mechanism, before: Lbn) -> Instant {
        let mut to = *self;
        while to.piece.end_lbn() < before && to.step(mechanism) {}
        let last = before.clamp(to.piece.first, to.piece.end_lbn());
        to.piece.after(last - to.piece.first)
    }

    /// Lets the pass serve blocks up to `requested` too and read on to `end`, from `now` on;
    /// `pieces` gets those that bring blocks from `from` on. A pass that was over takes up
    /// again where it ended, waiting for that sector to come round.
    pub fn extend(
        &mut self,
        mechanism: &Mechanism,
        (now, from): (Instant, Lbn),
        (requested, end): (Lbn, Lbn),
        follows: bool,
        pieces: &mut Vec<Piece>,
    ) {
        self.follow(mechanism, now);
        if self.is_over(now) {
            self.pass.from.since = now;
        }
        let scheme = self.reach.scheme;
        self.reach.scheme = ReadAhead::UntilFull;
        self.requested = self.requested.max(requested);
        self.pass.end = self.pass.end.max(end);
        if self.piece.end_lbn() > from {
            pieces.push(self.piece);
        }
        while self.piece.end_lbn() < requested && self.step(mechanism) {
            pieces.push(self.piece);
        }
        self.reach = Reach::from(scheme, &self.piece, follows);
    }
}
