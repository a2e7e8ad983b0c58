//! The best read of a gap, looked for cylinder by cylinder.

use std::cell::Cell;

use super::chart::Run;
use super::search::{Gap, GapTransfer, SearchLimits, Track, care_over};
use super::tasks::{GROUP, Task, Tasks};
use crate::mechanics::{Mechanism, Piece};
use crate::request::Op;
use crate::units::{Angle, Cylinder, Instant, Lbn, SectorCount, Span};

/// What a block is worth where as much is left as on the whole disk.
pub(super) const EVEN: u64 = 1 << 10;

/// The largest ratio of shares, in the same unit.
const MAX: u64 = EVEN << 3;

/// What it is worth if a read leaves one stretch of wanted blocks less, in blocks: each stretch
/// takes a read of its own, for which the arm has to come to it.
///
/// Without it the last hundredth of a disk is left in pieces of 3.6 blocks. On the Atlas 10K of
/// lumb01-scan, inside the firmware and with seed 1, a whole scan reads 4.52 MB/s without it, and
/// 7.50 MB/s while 80 to 20 % is wanted. With 10 blocks it is 4.86 and 7.55, with 16 4.92 and 7.45,
/// with 25 5.02 and 7.34.
const STRETCH: u64 = 16;

/// The time of one sector, rounded down.
pub(super) fn sector_span(mechanism: &Mechanism, width: Angle) -> Span {
    match width {
        Angle::ZERO => mechanism.rotation.period(),
        width => mechanism.rotation.turn(width),
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
    pub limits: &'a SearchLimits,
    pub except: &'a [Track],
    pub best: Option<GapTransfer>,
    /// What that is worth.
    pub worth: u64,
    pub looked: u32,
    /// A group of cylinders, and what a wanted block of it is worth: the last that was asked for.
    pub known: Cell<(u32, u64)>,
}

impl Search<'_> {
    /// Looks at all tracks.
    pub fn run(&mut self) -> Option<GapTransfer> {
        let ends = [self.gap.from.cylinder, self.gap.to.cylinder];
        self.look_at_cylinder(ends[0]);
        if ends[1] != ends[0] {
            self.look_at_cylinder(ends[1]);
        }
        let mut promising = self.promising();
        promising.sort_unstable_by_key(|&(max, group)| (std::cmp::Reverse(max), group));
        for (max, group) in promising {
            if max <= self.worth || self.looked >= self.limits.tracks {
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

    /// The groups of cylinders that may be worth more than what was found, and what at most.
    fn promising(&self) -> Vec<(u64, u32)> {
        let ends = [self.gap.from.cylinder, self.gap.to.cylinder].map(|end| end.0 / GROUP);
        let [first, last] = [ends[0].min(ends[1]), ends[0].max(ends[1])];
        let groups = self.tasks.chart.cylinders.div_ceil(GROUP);
        let timed = |group: u32| (group, self.time_in(group));
        let reached = |(_, time): &(u32, Span)| *time > Span::ZERO;
        // Beyond both ends every group is further from both, so what is out of reach ends them.
        let inner = (first..=last).map(timed).filter(reached);
        let outer = (0..first).rev().map(timed).take_while(reached);
        let beyond = (last + 1..groups).map(timed).take_while(reached);
        let max = inner.chain(outer).chain(beyond).map(|(group, time)| {
            let passing = self.passing(time, group);
            (self.most_worth_passing(group, passing), group)
        });
        max.filter(|(max, _)| *max > self.worth).collect()
    }

    /// The most time over a track of a group of cylinders.
    fn time_in(&self, group: u32) -> Span {
        let (first, end) = (group * GROUP, (group + 1) * GROUP);
        let last = end.min(self.tasks.chart.cylinders) - 1;
        let away = |from: Cylinder| {
            let outside = first.saturating_sub(from.0);
            outside.max(from.0.saturating_sub(last))
        };
        let min = |distance: u32, care: Span| {
            self.mechanism.seek.min(distance) + care_over(distance, care)
        };
        let ways = min(away(self.gap.from.cylinder), self.limits.arriving)
            + min(away(self.gap.to.cylinder), self.limits.leaving);
        self.gap.until.after(self.gap.from.since) - ways - self.limits.turn
    }

    /// What a wanted block of a group of cylinders is worth: more where a larger share of the
    /// blocks is left than elsewhere.
    ///
    /// Otherwise the innermost tracks are left over, which few gaps reach. The cube of the ratio of
    /// shares leaves fewer of them than the ratio itself.
    fn worth_of(&self, group: u32) -> u64 {
        let (known, worth) = self.known.get();
        if known == group {
            return worth;
        }
        let worth = self.computed_worth_of(group);
        self.known.set((group, worth));
        worth
    }

    fn computed_worth_of(&self, group: u32) -> u64 {
        let chart = &self.tasks.chart;
        let left: u64 = self
            .members
            .iter()
            .map(|task| task.in_groups[group as usize])
            .sum();
        let here = left * self.tasks.layout.sectors().0;
        let even = (chart.blocks(group) * self.left).max(1);
        let ratio = match EVEN.checked_mul(here) {
            Some(product) => product / even,
            None => {
                let ratio = u128::from(EVEN) * u128::from(here) / u128::from(even);
                ratio.min(u128::from(MAX)) as u64
            }
        };
        let ratio = ratio.min(MAX);
        (ratio * ratio / EVEN * ratio / EVEN).max(1)
    }

    /// The most that a read in a group of cylinders can be worth that gains at most this many
    /// blocks and leaves at most this many stretches less.
    fn most_worth_of(&self, group: u32, blocks: u64, stretches: u64) -> u64 {
        // Twice, if it leaves nothing of its track.
        (2 * blocks + STRETCH * stretches) * self.worth_of(group)
    }

    /// The same of one that takes at most this many sectors.
    fn most_worth_passing(&self, group: u32, sectors: u64) -> u64 {
        let fullest = self.members.iter().map(|task| task.groups[group as usize]);
        let (blocks, stretches) = fullest.fold((0, 0), |sum, [blocks, stretches]| {
            (sum.0 + u64::from(blocks), sum.1 + u64::from(stretches))
        });
        // Stretches of one task have a block between them.
        let tasks = self.members.len() as u64;
        let (min, passing) = (sectors.div_ceil(2) * tasks, sectors * tasks);
        self.most_worth_of(group, blocks.min(passing), stretches.min(min))
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
        if cylinder != from.cylinder && cylinder != to.cylinder {
            let seek = &self.mechanism.seek;
            let ways = seek.total(Op::Read, (from.cylinder, cylinder), false)
                + seek.total(self.gap.op, (cylinder, to.cylinder), false);
            let care = self.limits.arriving + self.limits.leaving;
            let left = self.gap.until.after(from.since) - ways - care - self.limits.turn;
            let group = cylinder.0 / GROUP;
            if self.most_worth_passing(group, self.passing(left, group)) <= self.worth {
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

    /// How many blocks of a track are wanted, and in how many stretches, those of each task
    /// counted.
    fn wanted_on(&self, track: Track) -> (u64, u64) {
        let number = self.tasks.chart.number(track);
        let wanted = self.members.iter();
        wanted.fold((0, 0), |(blocks, stretches), task| {
            (
                blocks + u64::from(task.tracks[number]),
                stretches + u64::from(task.stretches[number]),
            )
        })
    }

    /// Looks at one track.
    pub fn look_at(&mut self, track: Track) {
        let (blocks, stretches) = self.wanted_on(track);
        let max = self.most_worth_of(track.cylinder.0 / GROUP, blocks, stretches);
        if max <= self.worth || self.except.contains(&track) {
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
        let SearchLimits {
            arriving, leaving, ..
        } = *self.limits;
        let move_over = |op: Op, from: Track, to: Track, care: Span| {
            let way = (from.cylinder, to.cylinder);
            let moved = self.mechanism.seek.total(op, way, from.head != to.head);
            moved + self.limits.care_between(from, to, care)
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
        let at = run.next_sector(self.mechanism, times.0);
        if at > 0
            && let Some(rest) = self.offer(track, run, at, times)
        {
            self.offer(track, run, 0, (rest, times.1));
        } else if at == 0 {
            self.offer(track, run, 0, times);
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
        let piece = run.passes(self.mechanism, (track, times.0), index, Op::Read);
        let left = times.1.since_or_zero(piece.begin);
        if times.1 <= piece.begin {
            return None;
        }
        let passing = piece.sectors_in(left).min(piece.sectors);
        let is_slow = self.limits.sector * piece.sectors.0 > piece.end() - piece.begin;
        if is_slow || passing > self.limits.max {
            self.take_some(track, run, &piece, (passing, times.1));
        } else {
            self.take(track, run, &piece, (SectorCount(0), passing));
        }
        (passing == piece.sectors).then(|| piece.end())
    }

    /// Takes the best of the first `passing` blocks of a piece, where a read cannot have them all:
    /// from each wanted block as many as a read may have, and the bus carries by `end`.
    fn take_some(
        &mut self,
        track: Track,
        run: &Run,
        piece: &Piece,
        (passing, end): (SectorCount, Instant),
    ) {
        let bus_ns = (self.limits.sector.as_ns() as u64).max(1);
        let mut at = piece.first;
        let last = piece.first + passing;
        while let Some(first) = self.first_wanted(at, last) {
            let index = first - piece.first;
            let left = end.since_or_zero(piece.begins(index));
            let by_bus = left.as_ns() as u64 / bus_ns;
            let max = by_bus.min(self.limits.max.0).min(passing.0 - index.0);
            self.take(track, run, piece, (index, SectorCount(index.0 + max)));
            at = Lbn(first.0 + 1);
        }
    }

    fn first_wanted(&self, first: Lbn, end: Lbn) -> Option<Lbn> {
        let wanted = |task: &&Task| task.wanted.first_in(first, end);
        self.members.iter().filter_map(wanted).min()
    }

    /// Takes the sectors of a piece from `part.0` to `part.1`, from the first wanted to the last,
    /// if none that was found is worth as much.
    fn take(&mut self, track: Track, run: &Run, piece: &Piece, part: (SectorCount, SectorCount)) {
        let (first, end) = (piece.first + part.0, piece.first + part.1);
        let counts = self
            .members
            .iter()
            .map(|task| task.wanted.count_in(first, end));
        let gain: u64 = counts.sum();
        let (left, stretches) = self.wanted_on(track);
        let value = self.worth_of(track.cylinder.0 / GROUP);
        // The rest of a track takes a gap of its own: reads that leave less of one are worth more,
        // up to double.
        let blocks = value * gain + value * gain * gain / left.max(1);
        if blocks + STRETCH * value * stretches <= self.worth {
            return;
        }
        let wanted = |task: &&Task| task.wanted.last_in(first, end);
        let last = self.members.iter().filter_map(wanted).max();
        let (Some(begins), Some(last)) = (self.first_wanted(first, end), last) else {
            return;
        };
        let fewer = self.fewer_stretches(run, (begins, Lbn(last.0 + 1)));
        let stretches = STRETCH * value * fewer.unsigned_abs();
        let worth = match fewer >= 0 {
            true => blocks + stretches,
            false => blocks.saturating_sub(stretches).max(gain),
        };
        if worth > self.worth {
            self.worth = worth;
            self.best = Some(GapTransfer {
                first: begins,
                sectors: SectorCount(last.0 - begins.0 + 1),
                gain,
                worth,
                track,
                begin: piece.begins(begins - piece.first),
                end: piece.after(last - piece.first + SectorCount(1)),
            });
        }
    }

    /// How many stretches of wanted blocks less a run has without some blocks of it.
    fn fewer_stretches(&self, run: &Run, (first, end): (Lbn, Lbn)) -> i64 {
        let of_task = |task: &&Task| {
            let goes_on = |at: Lbn| {
                let is_within = at > run.first && at < run.end();
                is_within && task.wanted.contains(at) && task.wanted.contains(Lbn(at.0 - 1))
            };
            let stays = [first, end].into_iter().filter(|at| goes_on(*at)).count();
            task.wanted.runs_in(first, end).count() as i64 - stays as i64
        };
        self.members.iter().map(of_task).sum()
    }
}
