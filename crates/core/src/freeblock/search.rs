//! A search for the most valuable background read in a gap, cylinder by cylinder.

use std::cell::Cell;
use std::cmp::Reverse;

use super::gap::{Gap, GapTransfer, SearchLimits, Track, margin_over};
use super::tasks::{Task, Tasks};
use super::track_map::{GROUP, Run};
use crate::mechanics::{Mechanism, Piece};
use crate::request::{Op, Priority};
use crate::units::{Angle, Cylinder, Instant, Lbn, SectorCount, Span};

/// Worth of a block in a group of cylinders with the average share of wanted blocks.
const EVEN: u64 = 1 << 10;

/// The maximum ratio of a group's share of wanted blocks to the average, in units of 1/`EVEN`.
const MAX: u64 = EVEN << 3;

/// Worth, in blocks, of removing a stretch of wanted blocks: each stretch needs its own read and
/// arm movement.
///
/// With a value of 0, the last hundredth of a disk would be left in stretches of 3.6 blocks. A
/// whole scan of the Atlas 10K in lumb01-scan, with reads by the firmware and seed 1, would run at
/// 4.52 MB/s overall, and at 7.50 MB/s while 80 to 20 % of the blocks are wanted. A value of 10
/// gives 4.86 and 7.55 MB/s, 16 gives 4.92 and 7.45, and 25 gives 5.02 and 7.34.
const STRETCH: u64 = 16;

/// Returns the time of one sector, rounded down.
fn sector_span(mechanism: &Mechanism, width: Angle) -> Span {
    match width {
        Angle::ZERO => mechanism.rotation.period(),
        width => mechanism.rotation.turn(width),
    }
}

impl Tasks {
    /// Returns the most valuable read of consecutive blocks on one track in `gap`, on any track
    /// except `except`; `None` if no read gains anything. See [`GapTransfer::worth`].
    ///
    /// Examines the cylinders at both ends of the gap first, and then groups of cylinders in
    /// descending order of their maximum worth. Skips groups that cannot improve on the best read.
    /// Returns the first of several reads of equal worth. Unless the search stops at
    /// `limits.tracks`, no read is worth more.
    pub fn search(
        &self,
        mechanism: &Mechanism,
        gap: &Gap,
        limits: &SearchLimits,
        except: &[Track],
    ) -> Option<GapTransfer> {
        self.search_by_priority(mechanism, gap, limits, except, |search| search.run())
    }

    /// Like [`Self::search`], but only on one track.
    pub(super) fn search_on(
        &self,
        mechanism: &Mechanism,
        gap: &Gap,
        limits: &SearchLimits,
        track: Track,
    ) -> Option<GapTransfer> {
        self.search_by_priority(mechanism, gap, limits, &[], |search| {
            search.examine(track);
            search.best
        })
    }

    /// Searches for a read for the tasks of each priority, highest first, until it finds one.
    fn search_by_priority(
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
            let wanted = members.iter().map(|task| task.wanted.count().0).sum();
            let mut search = Search {
                tasks: self,
                members,
                wanted,
                mechanism,
                gap,
                limits,
                except,
                best: None,
                worth: 0,
                examined: 0,
                last_block_worth: Cell::new((u32::MAX, 0)),
            };
            (!search.members.is_empty()).then(|| run(&mut search))?
        })
    }

    /// Returns a read of at most `max` blocks that ends where a read at `start` begins, on the same
    /// track without a gap, so that both can be one command. The head is in place at `since` and
    /// must reach `start` at `until`.
    pub(super) fn search_lead(
        &self,
        mechanism: &Mechanism,
        since: Instant,
        until: Instant,
        start: Lbn,
        max: SectorCount,
    ) -> Option<GapTransfer> {
        let physical = self.layout.physical();
        // The blocks of the same physical sector before `start` are read anyway.
        let edge = physical.first(start);
        let extent = self.layout.extent(edge);
        let width = sector_span(mechanism, extent.sector_angle);
        let time = until.since_or_zero(since);
        let passing = time.as_ns() / (width.as_ns() + 1);
        let run = edge - self.layout.track_first(edge);
        let reach = physical.down((passing as u64).min(run.0));
        let from = Lbn((edge.0 - reach).max(start.0.saturating_sub(max.0)));
        let first = self.first_wanted(from, start)?;
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
            track: Track::from_extent(&extent),
            begin: until.shifted(-((width + Span::from_ns(1)) * passing)),
            end: until,
        })
    }
}

struct Search<'a> {
    tasks: &'a Tasks,
    /// The tasks of one priority that still want blocks.
    members: Vec<&'a Task>,
    wanted: u64,
    mechanism: &'a Mechanism,
    gap: &'a Gap,
    limits: &'a SearchLimits,
    except: &'a [Track],
    best: Option<GapTransfer>,
    worth: u64,
    examined: u32,
    /// The last result of [`Self::block_worth`], with its group of cylinders.
    last_block_worth: Cell<(u32, u64)>,
}

impl Search<'_> {
    fn run(&mut self) -> Option<GapTransfer> {
        let ends = [self.gap.from.cylinder, self.gap.to.cylinder];
        self.examine_cylinder(ends[0]);
        if ends[1] != ends[0] {
            self.examine_cylinder(ends[1]);
        }
        let mut groups = self.promising_groups();
        groups.sort_unstable_by_key(|&(max, group)| (Reverse(max), group));
        for (max, group) in groups {
            if max <= self.worth || self.examined >= self.limits.tracks {
                break;
            }
            let end = ((group + 1) * GROUP).min(self.tasks.map.cylinders);
            let cylinders = (group * GROUP..end).map(Cylinder);
            for cylinder in cylinders.filter(|cylinder| !ends.contains(cylinder)) {
                self.examine_cylinder(cylinder);
            }
        }
        self.best
    }

    /// Returns the groups of cylinders that may beat the best read, with their maximum worth.
    fn promising_groups(&self) -> Vec<(u64, u32)> {
        let ends = [self.gap.from.cylinder, self.gap.to.cylinder].map(|end| end.0 / GROUP);
        let [first, last] = [ends[0].min(ends[1]), ends[0].max(ends[1])];
        let groups = self.tasks.map.cylinders.div_ceil(GROUP);
        let timed = |group: u32| (group, self.time_in(group));
        let reached = |(_, time): &(u32, Span)| *time > Span::ZERO;
        // Groups beyond the ends get farther away: once one is out of reach, all later ones are.
        let inner = (first..=last).map(timed).filter(reached);
        let outer = (0..first).rev().map(timed).take_while(reached);
        let beyond = (last + 1..groups).map(timed).take_while(reached);
        let bounds = inner.chain(outer).chain(beyond).map(|(group, time)| {
            let passing = self.passing(time, group);
            (self.max_worth_passing(group, passing), group)
        });
        bounds.filter(|(max, _)| *max > self.worth).collect()
    }

    /// Returns the maximum time that the head can stay in a group of cylinders.
    fn time_in(&self, group: u32) -> Span {
        let (first, end) = (group * GROUP, (group + 1) * GROUP);
        let last = end.min(self.tasks.map.cylinders) - 1;
        let away = |from: Cylinder| {
            let outside = first.saturating_sub(from.0);
            outside.max(from.0.saturating_sub(last))
        };
        let min = |distance: u32, margin: Span| {
            self.mechanism.seek.min(distance) + margin_over(distance, margin)
        };
        let seeks = min(away(self.gap.from.cylinder), self.limits.arriving)
            + min(away(self.gap.to.cylinder), self.limits.leaving);
        self.gap.until.after(self.gap.from.since) - seeks - self.limits.turn
    }

    /// Returns the worth of a wanted block in a group of cylinders, which grows with the share of
    /// the group's blocks that are wanted.
    ///
    /// With a constant worth, the innermost tracks, which few gaps reach, would be left over. The
    /// worth is the cube of the ratio of this share to the average. With the ratio itself, more of
    /// these tracks would be left.
    fn block_worth(&self, group: u32) -> u64 {
        let (known, worth) = self.last_block_worth.get();
        if known == group {
            return worth;
        }
        let worth = self.compute_block_worth(group);
        self.last_block_worth.set((group, worth));
        worth
    }

    fn compute_block_worth(&self, group: u32) -> u64 {
        let map = &self.tasks.map;
        let left: u64 = self
            .members
            .iter()
            .map(|task| task.in_groups[group as usize])
            .sum();
        let here = left * self.tasks.layout.sectors().0;
        let even = (map.blocks(group) * self.wanted).max(1);
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

    /// Returns the maximum worth of a read in a group of cylinders that gains at most `blocks` and
    /// removes at most `stretches`.
    fn max_worth(&self, group: u32, blocks: u64, stretches: u64) -> u64 {
        // A read that leaves nothing of its track is worth twice its blocks.
        (2 * blocks + STRETCH * stretches) * self.block_worth(group)
    }

    /// Like [`Self::max_worth`], for a read of at most `sectors`.
    fn max_worth_passing(&self, group: u32, sectors: u64) -> u64 {
        let fullest = self.members.iter().map(|task| task.groups[group as usize]);
        let (blocks, stretches) = fullest.fold((0, 0), |sum, [blocks, stretches]| {
            (sum.0 + u64::from(blocks), sum.1 + u64::from(stretches))
        });
        // There is at least one block between two stretches of a task.
        let tasks = self.members.len() as u64;
        let (min, passing) = (sectors.div_ceil(2) * tasks, sectors * tasks);
        self.max_worth(group, blocks.min(passing), stretches.min(min))
    }

    /// Returns the maximum number of sectors of a group of cylinders that pass within a time.
    fn passing(&self, time: Span, group: u32) -> u64 {
        if time <= Span::ZERO {
            return 0;
        }
        let width = self.tasks.map.narrowest(group);
        let sector = sector_span(self.mechanism, width).max(self.limits.sector);
        (time.as_ns() / sector.as_ns().max(1)) as u64 + 1
    }

    fn examine_cylinder(&mut self, cylinder: Cylinder) {
        let Gap { from, to, .. } = *self.gap;
        if cylinder != from.cylinder && cylinder != to.cylinder {
            let seek = &self.mechanism.seek;
            let seeks = seek.total(Op::Read, (from.cylinder, cylinder), false)
                + seek.total(self.gap.op, (cylinder, to.cylinder), false);
            let margin = self.limits.arriving + self.limits.leaving;
            let left = self.gap.until.after(from.since) - seeks - margin - self.limits.turn;
            let group = cylinder.0 / GROUP;
            if self.max_worth_passing(group, self.passing(left, group)) <= self.worth {
                return;
            }
        }
        for track in self.tasks.map.tracks_of(cylinder) {
            if self.examined >= self.limits.tracks {
                return;
            }
            self.examine(track);
        }
    }

    /// Returns the numbers of wanted blocks and of their stretches on a track, summed over tasks.
    fn wanted_on(&self, track: Track) -> (u64, u64) {
        let number = self.tasks.map.number(track);
        let wanted = self.members.iter();
        wanted.fold((0, 0), |(blocks, stretches), task| {
            (
                blocks + u64::from(task.tracks[number]),
                stretches + u64::from(task.stretches[number]),
            )
        })
    }

    fn examine(&mut self, track: Track) {
        let (blocks, stretches) = self.wanted_on(track);
        let max = self.max_worth(track.cylinder.0 / GROUP, blocks, stretches);
        if max <= self.worth || self.except.contains(&track) {
            return;
        }
        let Gap {
            from,
            to,
            op,
            until,
        } = *self.gap;
        let source = self.gap.source();
        if !self.limits.ends && (track == source || track == to) {
            return;
        }
        self.examined += 1;
        let SearchLimits {
            arriving, leaving, ..
        } = *self.limits;
        let move_over = |op: Op, from: Track, to: Track, margin: Span| {
            let path = (from.cylinder, to.cylinder);
            let moved = self.mechanism.seek.total(op, path, from.head != to.head);
            moved + self.limits.margin_between(from, to, margin)
        };
        let arrives = from.since + move_over(Op::Read, source, track, arriving);
        let leaves = until.shifted(-(move_over(op, track, to, leaving) + self.limits.turn));
        if leaves <= arrives {
            return;
        }
        for run in self.tasks.map.runs(self.tasks.map.number(track)) {
            self.examine_run(track, run, (arrives, leaves));
        }
    }

    /// Considers the blocks of a run that pass from `times.0` to `times.1`: those up to its end
    /// and, a revolution later, those from its beginning.
    fn examine_run(&mut self, track: Track, run: &Run, times: (Instant, Instant)) {
        let at = run.next_sector(self.mechanism, times.0);
        if at > 0
            && let Some(passed) = self.weigh_from(track, run, at, times)
        {
            self.weigh_from(track, run, 0, (passed, times.1));
        } else if at == 0 {
            self.weigh_from(track, run, 0, times);
        }
    }

    /// Considers the blocks of a run, from its sector `index` on, that pass from `times.0` to
    /// `times.1`. Returns the instant at which the end of the run has passed, if that is in time.
    fn weigh_from(
        &mut self,
        track: Track,
        run: &Run,
        index: u64,
        times: (Instant, Instant),
    ) -> Option<Instant> {
        let piece = run.pass(self.mechanism, track, times.0, index, Op::Read);
        let left = times.1.since_or_zero(piece.begin);
        if times.1 <= piece.begin {
            return None;
        }
        let passing = piece.sectors_in(left).min(piece.sectors);
        let is_slow = self.limits.sector * piece.sectors.0 > piece.end() - piece.begin;
        if is_slow || passing > self.limits.max {
            self.weigh_parts(track, run, &piece, (passing, times.1));
        } else {
            self.weigh(track, run, &piece, (SectorCount(0), passing));
        }
        (passing == piece.sectors).then(|| piece.end())
    }

    /// Considers parts of the first `passing` blocks of a piece, which are too many for one read.
    /// Each part begins at a wanted block and is as long as the limit on reads allows and the bus
    /// can carry by `end`.
    fn weigh_parts(
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
            self.weigh(track, run, piece, (index, SectorCount(index.0 + max)));
            at = Lbn(first.0 + 1);
        }
    }

    fn first_wanted(&self, first: Lbn, end: Lbn) -> Option<Lbn> {
        let wanted = |task: &&Task| task.wanted.first_in(first, end);
        self.members.iter().filter_map(wanted).min()
    }

    /// Considers the sectors of a piece from `part.0` to `part.1`, trimmed to the first and last
    /// wanted ones, and keeps them if they are worth more than the best read so far.
    fn weigh(&mut self, track: Track, run: &Run, piece: &Piece, part: (SectorCount, SectorCount)) {
        let (first, end) = (piece.first + part.0, piece.first + part.1);
        let counts = self
            .members
            .iter()
            .map(|task| task.wanted.count_in(first, end));
        let gain: u64 = counts.sum();
        let (left, stretches) = self.wanted_on(track);
        let value = self.block_worth(track.cylinder.0 / GROUP);
        // The rest of a track needs another gap, so reads that leave less are worth up to twice as
        // much.
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
        let worth = if fewer >= 0 {
            blocks + stretches
        } else {
            blocks.saturating_sub(stretches).max(gain)
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

    /// Returns the decrease in stretches of wanted blocks of a run if these blocks are removed.
    fn fewer_stretches(&self, run: &Run, (first, end): (Lbn, Lbn)) -> i64 {
        let of_task = |task: &&Task| {
            let continues = |at: Lbn| {
                let is_within = at > run.first && at < run.end();
                is_within && task.wanted.contains(at) && task.wanted.contains(Lbn(at.0 - 1))
            };
            let remaining = [first, end].into_iter().filter(|at| continues(*at)).count();
            task.wanted.runs_in(first, end).count() as i64 - remaining as i64
        };
        self.members.iter().map(of_task).sum()
    }
}
