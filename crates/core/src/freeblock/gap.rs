//! A gap before a foreground request, the limits of a search in it, and the transfers in it.

use crate::geometry::Extent;
use crate::mechanics::Position;
use crate::request::Op;
use crate::units::{Cylinder, Head, Instant, Lbn, SectorCount, Span};

/// The position of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track {
    /// Cylinder of the track.
    pub cylinder: Cylinder,
    /// Head that accesses the track.
    pub head: Head,
}

impl Track {
    /// Returns the track of an extent.
    pub fn from_extent(extent: &Extent) -> Self {
        Self {
            cylinder: extent.cylinder,
            head: extent.head,
        }
    }
}

/// The time from the end of one media transfer to the beginning of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The position of the head, with the instant from which it is free for a background read.
    pub from: Position,
    /// The track of the foreground request.
    pub to: Track,
    /// The operation of the foreground request.
    pub op: Op,
    /// The deadline: the instant at which the first sector of the foreground request passes.
    pub until: Instant,
}

impl Gap {
    /// Returns the track on which the gap begins.
    pub fn source(&self) -> Track {
        Track {
            cylinder: self.from.cylinder,
            head: self.from.head,
        }
    }
}

/// The limits of a search in a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchLimits {
    /// Time added to the movement to a read on another cylinder.
    pub arriving: Span,
    /// Time added to the movement from a read to another cylinder.
    pub leaving: Span,
    /// True if `arriving` and `leaving` are also added to a head switch within a cylinder.
    pub on_switches: bool,
    /// Time from the end of a background read's media transfer until the head is free to move.
    pub turn: Span,
    /// Minimum time per sector of a background read: that of its bus transfer.
    pub sector: Span,
    /// Maximum number of blocks of a read.
    pub max: SectorCount,
    /// True if the tracks at both ends of the gap may be read.
    pub ends: bool,
    /// Maximum number of tracks that are examined for a decision.
    pub tracks: u32,
}

impl SearchLimits {
    /// Maximum number of tracks that schedulers examine for a decision.
    pub const TRACKS: u32 = 256;

    /// Returns the time added to a movement from one track to another: `margin`, which is
    /// [`arriving`](Self::arriving) or [`leaving`](Self::leaving), or zero if none is needed.
    pub fn margin_between(&self, from: Track, to: Track, margin: Span) -> Span {
        if self.on_switches && from.head != to.head {
            return margin;
        }
        margin_over(from.cylinder.distance(to.cylinder), margin)
    }
}

/// Returns the time added to a movement over a distance, regardless of heads.
pub(super) fn margin_over(distance: u32, margin: Span) -> Span {
    if distance == 0 { Span::ZERO } else { margin }
}

/// A background read, or a write of dirty data ([`DirtySearch`](super::DirtySearch)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapTransfer {
    /// First block of the transfer.
    pub first: Lbn,
    /// The number of blocks, all on one track. The first and the last are wanted.
    pub sectors: SectorCount,
    /// The number of blocks wanted by tasks of the highest priority for which anything was found; a
    /// block counts once for each task. For a write, the number of blocks.
    pub gain: u64,
    /// The value by which reads or writes are compared. For a read, it is the gain in units of
    /// 1/1024 of a block, increased if a larger share of the blocks nearby is wanted, and if the
    /// read leaves less of its track or fewer stretches of wanted blocks. For a write, it is the
    /// time saved in nanoseconds.
    pub worth: u64,
    /// Track that holds all blocks.
    pub track: Track,
    /// The instant at which the first block begins to pass.
    pub begin: Instant,
    /// The instant at which the last block has passed.
    pub end: Instant,
}

impl GapTransfer {
    /// Returns the position of a head that is free to move `turn` after the transfer.
    pub fn position_after(&self, turn: Span) -> Position {
        Position {
            cylinder: self.track.cylinder,
            head: self.track.head,
            since: self.end + turn,
        }
    }

    /// Returns true if the transfers have a block in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.first < other.first + other.sectors && other.first < self.first + self.sectors
    }
}
