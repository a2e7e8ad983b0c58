//! Test vectors: sequences of commands that fill the buffer and then probe its content.

use diskarm_core::geometry::Layout;
use diskarm_core::units::{Lbn, Span};

use crate::clock::Access;
use crate::track::Track;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Delay {
    For(Span),
    /// At least this long, and such that a hit would end half a revolution before or after a miss.
    Opposite(Span),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TestCommand {
    pub delay: Delay,
    pub access: Access,
    pub at: Lbn,
    pub sectors: u16,
    /// True if any other block that is not in the buffer may be used instead.
    pub is_movable: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct TestVector {
    /// Block of the initial read from the media, which puts the drive into a known state.
    pub first: Lbn,
    pub commands: Vec<TestCommand>,
    delay: Delay,
}

impl TestVector {
    pub fn new(first: Lbn) -> Self {
        Self {
            first,
            commands: Vec::new(),
            delay: Delay::For(Span::ZERO),
        }
    }

    fn push(mut self, access: Access, at: Lbn, sectors: u64) -> Self {
        self.commands.push(TestCommand {
            delay: self.delay,
            access,
            at,
            sectors: sectors as u16,
            is_movable: false,
        });
        self.delay = Delay::For(Span::ZERO);
        self
    }

    pub fn read(self, at: Lbn, sectors: u64) -> Self {
        self.push(Access::Read, at, sectors)
    }

    pub fn write(self, at: Lbn, sectors: u64) -> Self {
        self.push(Access::Write, at, sectors)
    }

    /// Appends a read or write of one block: `at`, or another block if `at` may be in the buffer.
    pub fn movable(self, access: Access, at: Lbn) -> Self {
        let mut vector = self.push(access, at, 1);
        if let Some(last) = vector.commands.last_mut() {
            last.is_movable = true;
        }
        vector
    }

    pub fn pause(mut self, pause: Span) -> Self {
        self.delay = Delay::For(pause);
        self
    }

    /// Appends a one-block read at least `min` later, timed so that hits and misses differ most.
    pub fn probe(mut self, at: Lbn, min: Span) -> Self {
        self.delay = Delay::Opposite(min);
        self.read(at, 1)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    /// A block some cylinders away, for the initial read.
    pub first: Lbn,
    /// The first blocks of consecutive tracks.
    pub tracks: [Lbn; 4],
}

impl Area {
    /// Returns the first tracks of `cylinder` or, if `last`, its last two tracks and the next two.
    pub fn on_cylinder(layout: &Layout, cylinder: u32, last: bool) -> Option<Self> {
        let first = Track::first_in_cylinder(layout, cylinder.checked_sub(4)?)?;
        let start = Track::first_in_cylinder(layout, cylinder)?;
        let mut tracks = [start.first(); 4];
        for k in 1..4 {
            tracks[k] = track_end(layout, tracks[k - 1])?;
        }
        while last && layout.extent(tracks[2]).cylinder.0 == cylinder {
            let next = track_end(layout, tracks[3])?;
            tracks.rotate_left(1);
            tracks[3] = next;
        }
        // Leave room for read-ahead.
        let room = layout.sectors().0.saturating_sub(tracks[3].0);
        let far = 16_384.min(layout.sectors().0 / 16);
        (room > far).then_some(Self {
            first: first.first(),
            tracks,
        })
    }

    /// Returns the first tracks of the disk, as a fallback.
    pub fn at_start(layout: &Layout) -> Self {
        let mut tracks = [Lbn(0); 4];
        for k in 1..4 {
            tracks[k] = track_end(layout, tracks[k - 1]).unwrap_or(tracks[k - 1]);
        }
        Self {
            first: Lbn(layout.sectors().0 / 2),
            tracks,
        }
    }

    /// Returns true if no blocks are missing from the tracks.
    pub fn is_whole(&self, layout: &Layout) -> bool {
        let is_whole = |pair: &[Lbn]| layout.extent(pair[0]).sectors.0 == pair[1].0 - pair[0].0;
        self.tracks.windows(2).all(is_whole)
    }

    pub fn length(&self) -> u64 {
        self.tracks[1].0 - self.tracks[0].0
    }
}

/// Returns the first block after the track of `at`.
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
