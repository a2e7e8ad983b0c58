//! The read that gains most in a gap.

use super::chart::Run;
use super::tasks::{GROUP, Task, Tasks};
use crate::geometry::Extent;
use crate::mechanics::{Mechanism, Piece, Position};
use crate::request::{Op, Priority};
use crate::units::{Angle, Cylinder, Head, Instant, Lbn, SectorCount, Span};

/// What a block is worth where as much is left as on the whole disk.
const EVEN: u64 = 1 << 10;

/// The largest ratio of shares, in the same unit.
const MOST: u64 = EVEN << 3;

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

/// What a search may find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Added to the time of each movement to another cylinder.
    pub conservatism: Span,
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

/// A background read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Find {
    /// Its first block.
    pub first: Lbn,
    /// The number of blocks, all on one track. The first and the last are wanted.
    pub sectors: SectorCount,
    /// How many of them are wanted by tasks of the highest priority for which anything was found,
    /// those of each task counted.
    pub gain: u64,
    /// Its track.
    pub track: Track,
    /// When the first block begins to pass.
    pub begin: Instant,
    /// When the last one has passed.
    pub end: Instant,
}

impl Tasks {
    /// The read of consecutive blocks on one track that gains most in `gap`, on any track but
    /// `except`; `None` if none gains anything.
    ///
    /// Looks at the cylinders at both ends first, then at groups of cylinders in the order of what
    /// they may gain at most, and leaves out what cannot gain more than what was found. Of several
    /// that gain the same, the one that it finds first. Within `limits.tracks` nothing gains more.
    pub fn search(
        &self,
        mechanism: &Mechanism,
        gap: &Gap,
        limits: &Limits,
        except: &[Track],
    ) -> Option<Find> {
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
            };
            (!search.members.is_empty()).then(|| search.run())?
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
    ) -> Option<Find> {
        let extent = self.layout.extent(start);
        let width = sector_span(mechanism, extent.sector_angle);
        let time = until.since_or_zero(there);
        let passing = time.as_ns() / (width.as_ns() + 1);
        let run = start - self.layout.track_first(start);
        let most = (passing as u64).min(run.0).min(max.0);
        let from = Lbn(start.0 - most);
        let wanted = self.all.iter().filter(|task| !task.wanted.is_empty());
        let first = wanted.filter_map(|task| task.wanted.first_in(from, start));
        let first = first.min()?;
        let sectors = start - first;
        let counts = self
            .all
            .iter()
            .map(|task| task.wanted.count_in(first, start));
        Some(Find {
            first,
            sectors,
            gain: counts.sum(),
            track: Track::of(&extent),
            begin: until.shifted(-((width + Span::from_ns(1)) * sectors.0)),
            end: until,
        })
    }
}

/// The time of one sector, rounded down.
fn sector_span(mechanism: &Mechanism, width: Angle) -> Span {
    match width {
        Angle::ZERO => mechanism.rotation.period(),
        width => mechanism.rotation.turn(width),
    }
}

struct Search<'a> {
    tasks: &'a Tasks,
    /// Those of one priority that want anything.
    members: Vec<&'a Task>,
    /// What they want in all.
    left: u64,
    mechanism: &'a Mechanism,
    gap: &'a Gap,
    limits: &'a Limits,
    except: &'a [Track],
    best: Option<Find>,
    /// What that is worth.
    worth: u64,
    /// Tracks looked at.
    looked: u32,
}

impl Search<'_> {
    fn run(&mut self) -> Option<Find> {
        let ends = [self.gap.from.cylinder, self.gap.to.cylinder];
        self.look_at_cylinder(ends[0]);
        if ends[1] != ends[0] {
            self.look_at_cylinder(ends[1]);
        }
        let groups = self.tasks.chart.cylinders.div_ceil(GROUP);
        let mut promising: Vec<(u64, u32)> = (0..groups)
            .map(|group| (self.most_of(group), group))
            .filter(|(most, _)| *most > self.worth)
            .collect();
        promising.sort_unstable_by_key(|&(most, group)| (std::cmp::Reverse(most), group));
        for (most, group) in promising {
            if most <= self.worth || self.looked >= self.limits.tracks {
                break;
            }
            let end = ((group + 1) * GROUP).min(self.tasks.chart.cylinders);
            let cylinders = (group * GROUP..end).map(Cylinder);
            for cylinder in cylinders.filter(|cylinder| !ends.contains(cylinder)) {
                self.look_at_cylinder(cylinder);
            }
        }
        self.best
    }

    /// What a wanted block of a group of cylinders is worth: more where a larger share of the
    /// blocks is left than elsewhere.
    ///
    /// Else the innermost tracks are left over: in a scan of the Atlas 10K in the gaps of random
    /// requests 21 % of their blocks, when 10 % of all are left. With the cube of the ratio of
    /// shares these are 15 %, and the scan takes 2 % less time than with the ratio itself.
    fn worth_of(&self, group: u32) -> u64 {
        let chart = &self.tasks.chart;
        let left: u64 = self
            .members
            .iter()
            .map(|task| task.in_groups[group as usize])
            .sum();
        let here = left * self.tasks.layout.sectors().0;
        let even = (chart.blocks(group) * self.left).max(1);
        let ratio = u128::from(EVEN) * u128::from(here) / u128::from(even);
        let ratio = ratio.min(u128::from(MOST)) as u64;
        (ratio * ratio / EVEN * ratio / EVEN).max(1)
    }

    /// The most that a track of a group of cylinders can be worth.
    fn most_of(&self, group: u32) -> u64 {
        let fullest = self.members.iter().map(|task| task.groups[group as usize]);
        let fullest: u64 = fullest.map(u64::from).sum();
        let worth = self.worth_of(group);
        if fullest * worth <= self.worth {
            return 0;
        }
        let (first, end) = (group * GROUP, (group + 1) * GROUP);
        let last = end.min(self.tasks.chart.cylinders) - 1;
        let away = |from: Cylinder| {
            let outside = first.saturating_sub(from.0);
            outside.max(from.0.saturating_sub(last))
        };
        let least = |distance: u32| self.mechanism.seek.least(distance) + self.care(distance);
        let ways = least(away(self.gap.from.cylinder)) + least(away(self.gap.to.cylinder));
        let left = self.gap.until.after(self.gap.from.since) - ways - self.limits.turn;
        fullest.min(self.passing(left, group)) * worth
    }

    /// What is added to a movement over this distance.
    fn care(&self, distance: u32) -> Span {
        match distance {
            0 => Span::ZERO,
            _ => self.limits.conservatism,
        }
    }

    /// At most how many sectors of a group of cylinders pass within a time.
    fn passing(&self, time: Span, group: u32) -> u64 {
        if time <= Span::ZERO {
            return 0;
        }
        let width = self.tasks.chart.narrowest(group);
        let sector = sector_span(self.mechanism, width).max(self.limits.sector);
        (time.as_ns() / sector.as_ns().max(1)) as u64 + 1
    }

    fn look_at_cylinder(&mut self, cylinder: Cylinder) {
        let Gap { from, to, .. } = *self.gap;
        let way = |way: (Cylinder, Cylinder), op| {
            self.mechanism.seek.total(op, way, false) + self.care(way.0.distance(way.1))
        };
        if cylinder != from.cylinder && cylinder != to.cylinder {
            let ways = way((from.cylinder, cylinder), Op::Read)
                + way((cylinder, to.cylinder), self.gap.op);
            let left = self.gap.until.after(from.since) - ways - self.limits.turn;
            let most = self.passing(left, cylinder.0 / GROUP);
            if most * self.worth_of(cylinder.0 / GROUP) <= self.worth {
                return;
            }
        }
        for track in self.tasks.chart.tracks_of(cylinder) {
            if self.looked >= self.limits.tracks {
                return;
            }
            self.look_at(track);
        }
    }

    fn look_at(&mut self, track: Track) {
        let number = self.tasks.chart.number(track);
        let wanted = self.members.iter().map(|task| task.tracks[number]);
        let wanted: u64 = wanted.map(u64::from).sum();
        let worth = self.worth_of(track.cylinder.0 / GROUP);
        if wanted * worth <= self.worth || self.except.contains(&track) {
            return;
        }
        let Gap {
            from,
            to,
            op,
            until,
            ..
        } = *self.gap;
        let source = Track {
            cylinder: from.cylinder,
            head: from.head,
        };
        if !self.limits.ends && (track == source || track == to) {
            return;
        }
        self.looked += 1;
        let move_over = |op: Op, from: Track, to: Track| {
            let way = (from.cylinder, to.cylinder);
            let moved = self.mechanism.seek.total(op, way, from.head != to.head);
            moved + self.care(way.0.distance(way.1))
        };
        let arrives = from.since + move_over(Op::Read, source, track);
        let leaves = until.shifted(-(move_over(op, track, to) + self.limits.turn));
        if leaves <= arrives {
            return;
        }
        for run in self.tasks.chart.runs(number) {
            self.look_at_run(track, run, (arrives, leaves));
        }
    }

    /// The blocks of a run that pass from `times.0` to `times.1`: those up to its end, and, once
    /// the run comes round again, those from its beginning.
    fn look_at_run(&mut self, track: Track, run: &Run, times: (Instant, Instant)) {
        let at = self.next_sector(run, times.0);
        if at > 0
            && let Some(rest) = self.offer(track, run, at, times)
        {
            self.offer(track, run, 0, (rest, times.1));
        } else if at == 0 {
            self.offer(track, run, 0, times);
        }
    }

    /// The index of the first sector of a run that begins to pass at `at` or later; 0 where that is
    /// none but its first.
    fn next_sector(&self, run: &Run, at: Instant) -> u64 {
        let width = run.sector_angle.as_raw();
        if width == 0 {
            return 0;
        }
        let rotation = &self.mechanism.rotation;
        let under = (rotation.angle(at) - run.start).as_raw() / width;
        let begins = run.start + run.sector_angle * under;
        let next = match rotation.wait(at, begins) {
            Span::ZERO => under,
            _ => under + 1,
        };
        if next < u64::from(run.sectors) {
            next
        } else {
            0
        }
    }

    /// Takes the blocks from sector `index` of a run on that pass in `times`, if they are the best
    /// so far. When the run's end has passed, if it does by then.
    fn offer(
        &mut self,
        track: Track,
        run: &Run,
        index: u64,
        times: (Instant, Instant),
    ) -> Option<Instant> {
        let piece = self.passes(track, run, index, times.0);
        let left = times.1.since_or_zero(piece.begin);
        if times.1 <= piece.begin {
            return None;
        }
        let passing = piece.sectors_in(left).min(piece.sectors);
        let is_slow = self.limits.sector * piece.sectors.0 > piece.end() - piece.begin;
        if is_slow || passing > self.limits.max {
            self.take_some(track, &piece, passing, times.1);
        } else {
            self.take(track, &piece, (SectorCount(0), passing));
        }
        (passing == piece.sectors).then(|| piece.end())
    }

    /// Takes the best of the first `passing` blocks of a piece, where a read cannot have them all:
    /// from each wanted block as many as a read may have, and the bus carries by `end`.
    fn take_some(&mut self, track: Track, piece: &Piece, passing: SectorCount, end: Instant) {
        let bus_ns = (self.limits.sector.as_ns() as u64).max(1);
        let mut at = piece.first;
        let last = piece.first + passing;
        while let Some(first) = self.first_wanted(at, last) {
            let index = first - piece.first;
            let left = end.since_or_zero(piece.after(index));
            let by_bus = left.as_ns() as u64 / bus_ns;
            let most = by_bus.min(self.limits.max.0).min(passing.0 - index.0);
            self.take(track, piece, (index, SectorCount(index.0 + most)));
            at = Lbn(first.0 + 1);
        }
    }

    fn first_wanted(&self, first: Lbn, end: Lbn) -> Option<Lbn> {
        let wanted = |task: &&Task| task.wanted.first_in(first, end);
        self.members.iter().filter_map(wanted).min()
    }

    /// The run from its sector `index` on, which passes under a head in place at `there`.
    fn passes(&self, track: Track, run: &Run, index: u64, there: Instant) -> Piece {
        let from = Position {
            cylinder: track.cylinder,
            head: track.head,
            since: there,
        };
        let extent = run.extent(track, index);
        let blocks = (Lbn(run.first.0 + index), run.end());
        let start = Instant::START;
        let (_, piece) = (self.mechanism).next_piece_of(from, Op::Read, blocks, &extent, start);
        piece
    }

    /// Takes the sectors of a piece from `part.0` to `part.1`, from the first wanted to the last,
    /// if none that was found is worth as much.
    fn take(&mut self, track: Track, piece: &Piece, part: (SectorCount, SectorCount)) {
        let (first, end) = (piece.first + part.0, piece.first + part.1);
        let counts = self
            .members
            .iter()
            .map(|task| task.wanted.count_in(first, end));
        let gain: u64 = counts.sum();
        let worth = gain * self.worth_of(track.cylinder.0 / GROUP);
        if worth <= self.worth {
            return;
        }
        let wanted = |task: &&Task| task.wanted.last_in(first, end);
        let last = self.members.iter().filter_map(wanted).max();
        if let (Some(begins), Some(last)) = (self.first_wanted(first, end), last) {
            self.worth = worth;
            self.best = Some(Find {
                first: begins,
                sectors: SectorCount(last.0 - begins.0 + 1),
                gain,
                track,
                begin: piece.after(begins - piece.first),
                end: piece.after(last - piece.first + SectorCount(1)),
            });
        }
    }
}
