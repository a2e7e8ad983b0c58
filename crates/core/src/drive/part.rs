//! Writes of part of a physical sector.
//!
//! The media hold physical sectors. A run of a write that begins or ends within one, the rest of
//! which is not in the buffer, passes the head twice: the drive reads what it lacks, and a
//! revolution later it writes the run. No measurement tells how drives do it; assumed is that the
//! head settles as for a write, and that all of the run is written in the second revolution. What
//! the drive has read stays in the buffer with the data of the write.
//!
//! Data that the write cache has taken are joined by a write that appends to them: a run that ends
//! with part of a physical sector and has not been begun is planned again with what follows.

use super::arm::Arm;
use super::core::Core;
use super::reading::Reading;
use super::write::Setup;
use crate::mechanics::{Piece, Position};
use crate::request::{Op, Request};
use crate::units::{Instant, Lbn, SectorCount, Span};

/// The end of dirty data within a physical sector: the run that they are to be written in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    /// Where the head was before the run.
    pub from: Position,
    /// The run continues from one on another track.
    pub goes_on: bool,
    /// The first block of it that a host wrote.
    pub first: Lbn,
    /// What it reads first.
    pub lacks: Lacks,
}

/// Which ends of a write are parts of physical sectors whose rest must be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lacks {
    /// The rest of its first physical sector, which lies before it.
    pub before: bool,
    /// The rest of its last one, which lies behind it.
    pub behind: bool,
}

/// What a write puts on the media: blocks `first` to `end`, perhaps with dirty data that it joins
/// in front.
#[derive(Clone, Copy, Debug)]
pub(super) struct Media {
    /// Where the head starts.
    pub from: Position,
    /// Whether it continues from a run on another track.
    pub goes_on: bool,
    pub first: Lbn,
    /// One past the last block.
    pub end: Lbn,
    /// What must be read first.
    pub lacks: Lacks,
}

impl Tail {
    /// A run from block `at` on of what a write puts on the media.
    #[inline]
    pub fn new(from: Position, goes_on: bool, media: &Media, at: Lbn) -> Self {
        Self {
            from,
            goes_on,
            first: media.first.max(at),
            lacks: media.lacks,
        }
    }
}

impl Media {
    /// How many blocks in front are dirty data that it joins.
    pub fn joined(&self, request: &Request) -> SectorCount {
        request.start - self.first
    }

    /// Whether its run must be read before it is written. Each end is read once.
    #[inline]
    pub fn reads(&mut self, run: &Piece) -> bool {
        if self.lacks == Lacks::default() {
            return false;
        }
        let before = self.lacks.before && run.first <= self.first;
        let behind = self.lacks.behind && run.end_lbn() >= self.end;
        self.lacks.before &= !before;
        self.lacks.behind &= !behind;
        before || behind
    }
}

impl Core {
    /// What a write puts on the media, with the head at `from` when it begins.
    #[inline]
    pub(super) fn media_of(&self, request: &Request, from: Position) -> Media {
        Media {
            from,
            goes_on: false,
            first: request.start,
            end: request.end(),
            lacks: self.lacks(request, Instant::START, None),
        }
    }

    /// Whether no write can be of part of a physical sector.
    #[inline]
    pub(super) fn writes_blocks(&self) -> bool {
        self.mechanism.layout.physical().is_block()
    }

    /// What a write lacks that is begun at `begin`, to which `pass` has continued if there is one.
    #[inline]
    fn lacks(&self, request: &Request, begin: Instant, pass: Option<&Reading>) -> Lacks {
        if self.writes_blocks() {
            return Lacks::default();
        }
        let physical = self.mechanism.layout.physical();
        let (start, end) = (request.start, request.end());
        let lacks = |from: Lbn, to: Lbn| {
            let held = self.held(from, begin, pass);
            from < to && held.is_none_or(|(_, held)| held < to)
        };
        Lacks {
            before: lacks(physical.first(start), start),
            behind: lacks(end, physical.end(end)),
        }
    }

    /// For how long a write begun at `begin` would read before it can write, on its first track.
    #[cold]
    pub(super) fn reads_before(&self, request: &Request, begin: Instant) -> Span {
        if request.op != Op::Write || self.writes_blocks() {
            return Span::ZERO;
        }
        let pass = match self.arm {
            Arm::Free(_) => None,
            Arm::Reading(mut pass) => {
                pass.go_on(&self.mechanism, begin);
                Some(pass)
            }
        };
        let lacks = self.lacks(request, begin, pass.as_ref());
        match lacks.before || lacks.behind {
            true => self.mechanism.rotation.period(),
            false => Span::ZERO,
        }
    }

    /// What an absorbed write puts on the media that joins the end of the dirty data, if that is
    /// within a physical sector and has not been begun.
    #[cold]
    #[inline(never)]
    pub(super) fn joining(&mut self, request: &Request, setup: &Setup) -> Option<Media> {
        let tail = self.dirty.tail.take()?;
        let run = *self.dirty.runs.last()?;
        let fits = self.unwritten(setup) + request.sectors <= self.rules.segment;
        let period = self.mechanism.rotation.period();
        let begins = run.in_passing_order(period)[0].map(|part| part.begin);
        if !setup.joins() || begins <= Some(setup.ready) || !fits {
            return None;
        }
        self.dirty.runs.pop();
        if let Some(landings) = &mut self.landings {
            landings.retract(run, period);
        }
        let physical = self.mechanism.layout.physical();
        let mut lacks = self.lacks(request, Instant::START, None);
        lacks.before = tail.lacks.before;
        if physical.end(request.end()) == run.end_lbn() {
            lacks.behind = tail.lacks.behind && !physical.begins_at(request.end());
        }
        Some(Media {
            from: tail.from,
            goes_on: tail.goes_on,
            first: tail.first,
            end: request.end(),
            lacks,
        })
    }
}
