//! The best read of a gap, looked for cylinder by cylinder.

use super::chart::Run;
use super::search::{Find, Gap, Limits, Track};
use super::tasks::{GROUP, Task, Tasks};
use crate::mechanics::{Mechanism, Piece, Position};
use crate::request::Op;
use crate::units::{Angle, Cylinder, Instant, Lbn, SectorCount, Span};

/// What a block is worth where as much is left as on the whole disk.
pub(super) const EVEN: u64 = 1 << 10;

/// The largest ratio of shares, in the same unit.
const MOST: u64 = EVEN << 3;

/// The time of one sector, rounded down.
pub(super) fn sector_span(mechanism: &Mechanism, width: Angle) -> Span {
    match width {
        Angle::ZERO => mechanism.rotation.period(),
        width => mechanism.rotation.turn(width),
    }
}

/// What is added to a movement over a distance, where `care` is taken.
fn care_over(distance: u32, care: Span) -> Span {
    match distance {
        0 => Span::ZERO,
        _ => care,
    }
}

/// A search under way.
pub(super) struct Search<'a> {
    pub tasks: &'a Tasks,
    /// Those of one priority that want anything.
    pub members: Vec<&'a Task>,
    /// What they want in all.
    pub left: u64,
    pub mechanism: &'a Mechanism,
    pub gap: &'a Gap,
    pub limits: &'a Limits,
    pub except: &'a [Track],
    pub best: Option<Find>,
    /// What that is worth.
    pub worth: u64,
    /// Tracks looked at.
    pub looked: u32,
}

impl Search<'_> {
    /// Looks at all tracks.
    pub fn run(&mut self) -> Option<Find> {
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
    /// Otherwise the innermost tracks are left over, which few gaps reach. The cube of the ratio of
    /// shares leaves fewer of them than the ratio itself.
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

    /// The most that a wanted block of a group can be worth, as part of a read that leaves nothing
    /// of its track.
    fn most_worth_of(&self, group: u32) -> u64 {
        2 * self.worth_of(group)
    }

    /// The most that a track of a group of cylinders can be worth.
    fn most_of(&self, group: u32) -> u64 {
        let fullest = self.members.iter().map(|task| task.groups[group as usize]);
        let fullest: u64 = fullest.map(u64::from).sum();
        let worth = self.most_worth_of(group);
        if fullest * worth <= self.worth {
            return 0;
        }
        let (first, end) = (group * GROUP, (group + 1) * GROUP);
        let last = end.min(self.tasks.chart.cylinders) - 1;
        let away = |from: Cylinder| {
            let outside = first.saturating_sub(from.0);
            outside.max(from.0.saturating_sub(last))
        };
        let least = |distance: u32, care: Span| {
            self.mechanism.seek.least(distance) + care_over(distance, care)
        };
        let ways = least(away(self.gap.from.cylinder), self.limits.arriving)
            + least(away(self.gap.to.cylinder), self.limits.leaving);
        let left = self.gap.until.after(self.gap.from.since) - ways - self.limits.turn;
        fullest.min(self.passing(left, group)) * worth
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
        let Limits {
            arriving, leaving, ..
        } = *self.limits;
        let way = |way: (Cylinder, Cylinder), op, care| {
            let moved = self.mechanism.seek.total(op, way, false);
            moved + care_over(way.0.distance(way.1), care)
        };
        if cylinder != from.cylinder && cylinder != to.cylinder {
            let ways = way((from.cylinder, cylinder), Op::Read, arriving)
                + way((cylinder, to.cylinder), self.gap.op, leaving);
            let left = self.gap.until.after(from.since) - ways - self.limits.turn;
            let most = self.passing(left, cylinder.0 / GROUP);
            if most * self.most_worth_of(cylinder.0 / GROUP) <= self.worth {
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

    /// How many blocks of a track are wanted, those of each task counted.
    fn wanted_on(&self, track: Track) -> u64 {
        let number = self.tasks.chart.number(track);
        let wanted = self.members.iter().map(|task| task.tracks[number]);
        wanted.map(u64::from).sum()
    }

    /// Looks at one track.
    pub fn look_at(&mut self, track: Track) {
        let worth = self.most_worth_of(track.cylinder.0 / GROUP);
        if self.wanted_on(track) * worth <= self.worth || self.except.contains(&track) {
            return;
        }
        let Gap {
            from,
            to,
            op,
            until,
            ..
        } = *self.gap;
        let source = self.gap.source();
        if !self.limits.ends && (track == source || track == to) {
            return;
        }
        self.looked += 1;
        let Limits {
            arriving, leaving, ..
        } = *self.limits;
        let move_over = |op: Op, from: Track, to: Track, care: Span| {
            let way = (from.cylinder, to.cylinder);
            let moved = self.mechanism.seek.total(op, way, from.head != to.head);
            moved + care_over(way.0.distance(way.1), care)
        };
        let arrives = from.since + move_over(Op::Read, source, track, arriving);
        let leaves = until.shifted(-(move_over(op, track, to, leaving) + self.limits.turn));
        if leaves <= arrives {
            return;
        }
        for run in self.tasks.chart.runs(self.tasks.chart.number(track)) {
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
        let left = self.wanted_on(track);
        let worth = gain * self.worth_of(track.cylinder.0 / GROUP);
        // The rest of a track takes a gap of its own: reads that leave less of one are worth more,
        // up to double.
        let worth = worth + worth * gain / left.max(1);
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
                worth,
                track,
                begin: piece.after(begins - piece.first),
                end: piece.after(last - piece.first + SectorCount(1)),
            });
        }
    }
}
