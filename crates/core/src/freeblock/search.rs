//! The read that gains most in a gap.

use std::cell::Cell;

use super::best::{EVEN, Search, sector_span};
use super::tasks::{Task, Tasks};
use crate::geometry::Extent;
use crate::mechanics::{Mechanism, Position};
use crate::request::{Op, Priority};
use crate::units::{Cylinder, Head, Instant, Lbn, SectorCount, Span};

/// A track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track {
    /// Its cylinder.
    pub cylinder: Cylinder,
    /// Its head.
    pub head: Head,
}

impl Track {
    /// The track of an extent.
    pub fn of(extent: &Extent) -> Self {
        Self {
            cylinder: extent.cylinder,
            head: extent.head,
        }
    }
}

/// The time from the end of one media transfer to the beginning of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Where the head is, and when it is free to move for a background read.
    pub from: Position,
    /// Where it must be in the end.
    pub to: Track,
    /// What it does there.
    pub op: Op,
    /// When it must be in place: the first sector of the foreground request passes.
    pub until: Instant,
}

impl Gap {
    /// Where the head is when it begins.
    pub fn source(&self) -> Track {
        Track {
            cylinder: self.from.cylinder,
            head: self.from.head,
        }
    }
}

/// What a search may find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchLimits {
    /// Added to the time of the movement to a read, if it is to another cylinder.
    pub arriving: Span,
    /// Added to the time of the movement away from it, if it is to another cylinder.
    pub leaving: Span,
    /// Whether they are also added where only the head is switched.
    pub on_switches: bool,
    /// From the end of a background read's media transfer until the head is free to move for the
    /// next request.
    pub turn: Span,
    /// The time that each sector of a background read takes at least: that of the bus.
    pub sector: Span,
    /// The most blocks of a read.
    pub max: SectorCount,
    /// Whether the tracks at both ends of the gap may be read.
    pub ends: bool,
    /// The most tracks that are looked at for a decision.
    pub tracks: u32,
}

impl SearchLimits {
    /// What is added to a movement from one track to another: `care`, [`arriving`](Self::arriving)
    /// or [`leaving`](Self::leaving), if it is taken of such a movement.
    pub fn care_between(&self, from: Track, to: Track, care: Span) -> Span {
        if self.on_switches && from.head != to.head {
            return care;
        }
        care_over(from.cylinder.distance(to.cylinder), care)
    }
}

/// The same of a movement over a distance, whatever the heads.
pub(super) fn care_over(distance: u32, care: Span) -> Span {
    match distance {
        0 => Span::ZERO,
        _ => care,
    }
}

/// A background read, or a write of dirty data ([`DirtySearch`](super::DirtySearch)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapTransfer {
    /// Its first block.
    pub first: Lbn,
    /// The number of blocks, all on one track. The first and the last are wanted.
    pub sectors: SectorCount,
    /// How many of them are wanted by tasks of the highest priority for which anything was found,
    /// those of each task counted; of a write, all of them.
    pub gain: u64,
    /// By what reads, or writes, are compared. Of a read: its gain in units of 1/1024 of a block
    /// where all of the disk is left evenly; more where a larger share of the blocks is left, if
    /// the read leaves less of its track, and if it leaves fewer stretches of wanted blocks. Of a
    /// write: the time that it saves, in nanoseconds.
    pub worth: u64,
    /// Its track.
    pub track: Track,
    /// When the first block begins to pass.
    pub begin: Instant,
    /// When the last one has passed.
    pub end: Instant,
}

impl SearchLimits {
    /// Tracks that schedulers look at for a decision.
    pub const TRACKS: u32 = 256;
}

impl GapTransfer {
    /// Where the head is after it, free to move for the next request `turn` later.
    pub fn position_after(&self, turn: Span) -> Position {
        Position {
            cylinder: self.track.cylinder,
            head: self.track.head,
            since: self.end + turn,
        }
    }
}

impl Tasks {
    /// The read of consecutive blocks on one track that is worth most in `gap`, on any track but
    /// `except`; `None` if none gains anything. See [`GapTransfer::worth`].
    ///
    /// Looks at the cylinders at both ends first, then at groups of cylinders in the order of what
    /// they may be worth at most, and leaves out what cannot be worth more than what was found. Of
    /// several that are worth the same, the one that it finds first. If it did not have to stop at
    /// `limits.tracks`, nothing is worth more.
    pub fn search(
        &self,
        mechanism: &Mechanism,
        gap: &Gap,
        limits: &SearchLimits,
        except: &[Track],
    ) -> Option<GapTransfer> {
        self.searched(mechanism, gap, limits, except, |search| search.run())
    }

    /// The same on one track alone.
    pub(super) fn search_on(
        &self,
        mechanism: &Mechanism,
        gap: &Gap,
        limits: &SearchLimits,
        track: Track,
    ) -> Option<GapTransfer> {
        self.searched(mechanism, gap, limits, &[], |search| {
            search.look_at(track);
            search.best
        })
    }

    fn searched(
        &self,
        mechanism: &Mechanism,
        gap: &Gap,
        limits: &SearchLimits,
        except: &[Track],
        run: impl Fn(&mut Search<'_>) -> Option<GapTransfer>,
    ) -> Option<GapTransfer> {
        let classes = [Priority::High, Priority::Normal, Priority::Low];
        classes.into_iter().find_map(|class| {
            let in_class = |task: &&Task| task.priority == class && !task.wanted.is_empty();
            let members: Vec<&Task> = self.all.iter().filter(in_class).collect();
            let left = members.iter().map(|task| task.wanted.count().0).sum();
            let mut search = Search {
                tasks: self,
                members,
                left,
                mechanism,
                gap,
                limits,
                except,
                best: None,
                worth: 0,
                looked: 0,
                known: Cell::new((u32::MAX, 0)),
            };
            (!search.members.is_empty()).then(|| run(&mut search))?
        })
    }

    /// The read that ends where a read at `start` begins, on the same track without a gap, by a
    /// head that is in place from `there` on and must reach `start` at `until`: both can be one
    /// command, of at most `max` blocks.
    pub fn before(
        &self,
        mechanism: &Mechanism,
        (there, until): (Instant, Instant),
        start: Lbn,
        max: SectorCount,
    ) -> Option<GapTransfer> {
        let physical = self.layout.physical();
        // What is in the same physical sector comes with it.
        let edge = physical.first(start);
        let extent = self.layout.extent(edge);
        let width = sector_span(mechanism, extent.sector_angle);
        let time = until.since_or_zero(there);
        let passing = time.as_ns() / (width.as_ns() + 1);
        let run = edge - self.layout.track_first(edge);
        let reach = physical.down((passing as u64).min(run.0));
        let from = Lbn((edge.0 - reach).max(start.0.saturating_sub(max.0)));
        let wanted = self.all.iter().filter(|task| !task.wanted.is_empty());
        let first = wanted.filter_map(|task| task.wanted.first_in(from, start));
        let first = first.min()?;
        let sectors = start - first;
        let counts = self
            .all
            .iter()
            .map(|task| task.wanted.count_in(first, start));
        let gain = counts.sum();
        let passing = edge.0.saturating_sub(physical.first(first).0);
        Some(GapTransfer {
            first,
            sectors,
            gain,
            worth: gain * EVEN,
            track: Track::of(&extent),
            begin: until.shifted(-((width + Span::from_ns(1)) * passing)),
            end: until,
        })
    }
}
