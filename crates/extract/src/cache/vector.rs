//! Test vectors: commands that load the buffer in some way and inspect what it then holds.

use diskarm_core::geometry::Layout;
use diskarm_core::units::{Lbn, Span};

use crate::pairs::Access;

/// How long to wait before a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Wait {
    For(Span),
    /// At least this long, and on until a read from the buffer would end half a revolution from
    /// where one from the media would.
    Opposite(Span),
}

/// A command of a vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    pub wait: Wait,
    pub access: Access,
    pub at: Lbn,
    pub sectors: u16,
    /// With force unit access.
    pub media: bool,
    /// It may be anywhere, where nothing is in the buffer.
    pub anywhere: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Vector {
    /// A read from the media that brings the drive into a known state.
    pub first: Lbn,
    pub steps: Vec<Step>,
    rest: Wait,
}

impl Vector {
    pub fn new(first: Lbn) -> Self {
        Self {
            first,
            steps: Vec::new(),
            rest: Wait::For(Span::ZERO),
        }
    }

    fn step(mut self, access: Access, at: Lbn, sectors: u64) -> Self {
        self.steps.push(Step {
            wait: self.rest,
            access,
            at,
            sectors: sectors as u16,
            media: false,
            anywhere: false,
        });
        self.rest = Wait::For(Span::ZERO);
        self
    }

    pub fn read(self, at: Lbn, sectors: u64) -> Self {
        self.step(Access::Read, at, sectors)
    }

    pub fn write(self, at: Lbn, sectors: u64) -> Self {
        self.step(Access::Write, at, sectors)
    }

    /// Reads or writes one block at `at` or, if that may be in the buffer, anywhere else.
    pub fn anywhere(self, access: Access, at: Lbn) -> Self {
        let mut vector = self.step(access, at, 1);
        let last = vector.steps.len() - 1;
        vector.steps[last].anywhere = true;
        vector
    }

    /// Waits before the next step.
    pub fn rest(mut self, rest: Span) -> Self {
        self.rest = Wait::For(rest);
        self
    }

    /// Reads one block when hits and misses are most easily told apart, `least` later or more.
    pub fn probe(mut self, at: Lbn, min: Span) -> Self {
        self.rest = Wait::Opposite(min);
        self.read(at, 1)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    /// A block some cylinders away, for the read that comes first.
    pub first: Lbn,
    /// The first blocks of tracks that follow one another.
    pub tracks: [Lbn; 4],
}

impl Area {
    /// Tracks on `cylinder`: its first ones, or its last two and what follows.
    pub fn on(layout: &Layout, cylinder: u32, last: bool) -> Option<Self> {
        let (first, start) = (
            crate::idle::beginning(layout, cylinder.checked_sub(4)?)?,
            crate::idle::beginning(layout, cylinder)?,
        );
        let mut tracks = [start.first(); 4];
        for k in 1..4 {
            tracks[k] = track_end(layout, tracks[k - 1])?;
        }
        while last && layout.extent(tracks[2]).cylinder.0 == cylinder {
            let next = track_end(layout, tracks[3])?;
            tracks.rotate_left(1);
            tracks[3] = next;
        }
        // Room for whatever is read ahead.
        let room = layout.sectors().0.saturating_sub(tracks[3].0);
        let far = 16_384.min(layout.sectors().0 / 16);
        (room > far).then_some(Self {
            first: first.first(),
            tracks,
        })
    }

    /// The beginning of the disk, if nothing better is found.
    pub fn somewhere(layout: &Layout) -> Self {
        let mut tracks = [Lbn(0); 4];
        for k in 1..4 {
            tracks[k] = track_end(layout, tracks[k - 1]).unwrap_or(tracks[k - 1]);
        }
        Self {
            first: Lbn(layout.sectors().0 / 2),
            tracks,
        }
    }

    /// Whether its blocks follow each other without a gap.
    pub fn is_whole(&self, layout: &Layout) -> bool {
        let is_whole = |pair: &[Lbn]| layout.extent(pair[0]).sectors.0 == pair[1].0 - pair[0].0;
        self.tracks.windows(2).all(is_whole)
    }

    /// Blocks of its first track.
    pub fn length(&self) -> u64 {
        self.tracks[1].0 - self.tracks[0].0
    }
}

/// The first block after the track of `at`.
fn track_end(layout: &Layout, at: Lbn) -> Option<Lbn> {
    let here = layout.extent(at);
    let mut next = at + here.sectors;
    while next.0 < layout.sectors().0 {
        let extent = layout.extent(next);
        if (extent.cylinder, extent.head) != (here.cylinder, here.head) {
            return Some(next);
        }
        next = next + extent.sectors;
    }
    None
}
