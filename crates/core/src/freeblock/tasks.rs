//! What is wanted in the background.

use std::sync::Arc;

use super::blocks::BlockSet;
use super::chart::Chart;
use super::figures::Delivery;
use super::search::Track;
use crate::geometry::Layout;
use crate::request::Priority;
use crate::units::{Instant, Lbn, SectorCount};

/// Cylinders whose fullest track is noted together.
pub(super) const GROUP: u32 = 32;

/// Number of a task, in the order in which they were added.
pub type TaskId = usize;

/// Background tasks: each a set of blocks to be read once, in any order.
#[derive(Clone, Debug)]
pub struct Tasks {
    pub(super) layout: Arc<Layout>,
    pub(super) chart: Chart,
    pub(super) all: Vec<Task>,
}

#[derive(Clone, Debug)]
pub(super) struct Task {
    pub priority: Priority,
    /// What is wanted and not on its way.
    pub wanted: BlockSet,
    /// How much is on its way.
    claimed: u64,
    /// How much of `wanted` each track has.
    pub tracks: Vec<u32>,
    /// In how many stretches of consecutive blocks each has it.
    pub stretches: Vec<u32>,
    /// The most that a track of each [`GROUP`] of cylinders has: blocks, and stretches.
    pub groups: Vec<[u32; 2]>,
    /// How much each group has.
    pub in_groups: Vec<u64>,
}

/// Blocks of a task that a read brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimPart {
    /// The task.
    pub task: TaskId,
    /// The first block.
    pub first: Lbn,
    /// How many.
    pub sectors: SectorCount,
}

/// What a read under way will bring, to each task once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "blocks that are claimed and never delivered or restored are not read"]
pub struct Claim {
    parts: Vec<ClaimPart>,
}

impl Claim {
    /// Whether it brings nothing that is wanted.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Wanted blocks, those of each task counted.
    pub fn sectors(&self) -> SectorCount {
        SectorCount(self.parts.iter().map(|part| part.sectors.0).sum())
    }

    /// What it brings, by task and block.
    pub fn parts(&self) -> &[ClaimPart] {
        &self.parts
    }

    /// What to tell of it: all was read at `at`, or none of it can be.
    pub fn deliveries(&self, at: Instant, is_readable: bool) -> impl Iterator<Item = Delivery> {
        self.parts.iter().map(move |part| Delivery {
            task: part.task,
            first: part.first,
            sectors: part.sectors,
            at,
            is_readable,
        })
    }

    /// The part of it before block `end`, and the rest.
    pub fn split(self, end: Lbn) -> (Self, Self) {
        let (mut before, mut rest) = (Self::default(), Self::default());
        for part in self.parts {
            let cut = end.0.clamp(part.first.0, part.first.0 + part.sectors.0) - part.first.0;
            let pieces = [(0, cut), (cut, part.sectors.0)];
            for (side, (from, to)) in [&mut before, &mut rest].into_iter().zip(pieces) {
                if from < to {
                    side.parts.push(ClaimPart {
                        first: Lbn(part.first.0 + from),
                        sectors: SectorCount(to - from),
                        ..part
                    });
                }
            }
        }
        (before, rest)
    }
}

impl Tasks {
    /// No tasks, for a drive of this layout.
    pub fn new(layout: Arc<Layout>) -> Self {
        let chart = Chart::new(&layout);
        Self {
            layout,
            chart,
            all: Vec::new(),
        }
    }

    /// Adds a task. Tasks of a higher priority come first; those of the same priority share what
    /// each read brings.
    ///
    /// # Panics
    /// When the blocks are those of another drive.
    pub fn add(&mut self, wanted: BlockSet, priority: Priority) -> TaskId {
        let is_ours = wanted.sectors() == self.layout.sectors();
        assert!(is_ours, "blocks of another drive");
        let mut task = Task {
            priority,
            wanted,
            claimed: 0,
            tracks: Vec::new(),
            stretches: Vec::new(),
            groups: Vec::new(),
            in_groups: Vec::new(),
        };
        let tracks = 0..self.chart.tracks_count();
        (task.tracks, task.stretches) = tracks
            .map(|track| task.on_track(&self.chart, track))
            .unzip();
        let groups = self.chart.cylinders.div_ceil(GROUP);
        task.groups = (0..groups)
            .map(|group| task.fullest(&self.chart, group))
            .collect();
        task.in_groups = (0..groups)
            .map(|group| {
                let tracks = &task.tracks[self.chart.group(group)];
                tracks.iter().copied().map(u64::from).sum()
            })
            .collect();
        self.all.push(task);
        self.all.len() - 1
    }

    /// How many blocks of a task have not been delivered.
    pub fn remaining(&self, task: TaskId) -> SectorCount {
        let task = &self.all[task];
        SectorCount(task.wanted.count().0 + task.claimed)
    }

    /// The blocks of a task that have not been delivered, except for those that are on their way.
    pub fn wanted(&self, task: TaskId) -> &BlockSet {
        &self.all[task].wanted
    }

    /// The number of blocks of the drive.
    pub fn sectors(&self) -> SectorCount {
        self.layout.sectors()
    }

    /// The first of `first..end` that any task wants.
    pub fn first_wanted(&self, first: Lbn, end: Lbn) -> Option<Lbn> {
        let tasks = self.all.iter();
        tasks
            .filter_map(|task| task.wanted.first_in(first, end))
            .min()
    }

    /// The last of `first..end` that any task wants.
    pub fn last_wanted(&self, first: Lbn, end: Lbn) -> Option<Lbn> {
        let tasks = self.all.iter();
        tasks
            .filter_map(|task| task.wanted.last_in(first, end))
            .max()
    }

    /// Whether nothing is wanted that is not on its way.
    pub fn is_done(&self) -> bool {
        self.all.iter().all(|task| task.wanted.is_empty())
    }

    /// Takes note that a read of these blocks is sent: what it brings is not searched any more.
    pub fn claim(&mut self, first: Lbn, sectors: SectorCount) -> Claim {
        let end = first + sectors;
        let mut claim = Claim::default();
        for (number, task) in self.all.iter().enumerate() {
            let runs = task.wanted.runs_in(first, end);
            claim.parts.extend(runs.map(|(first, sectors)| ClaimPart {
                task: number,
                first,
                sectors,
            }));
        }
        for part in &claim.parts {
            self.all[part.task].wanted.remove(part.first, part.sectors);
            self.all[part.task].claimed += part.sectors.0;
            self.recount(part);
        }
        claim
    }

    /// Takes note that a read has brought what it claimed.
    pub fn deliver(&mut self, claim: &Claim) {
        for part in &claim.parts {
            self.all[part.task].claimed -= part.sectors.0;
        }
    }

    /// Takes note that a read has failed to bring what it claimed: it is wanted again.
    pub fn restore(&mut self, claim: &Claim) {
        for part in &claim.parts {
            let task = &mut self.all[part.task];
            task.claimed -= part.sectors.0;
            task.wanted.insert(part.first, part.sectors);
            self.recount(part);
        }
    }

    /// Counts anew what the tracks of some blocks have.
    fn recount(&mut self, part: &ClaimPart) {
        let task = &mut self.all[part.task];
        let (mut at, end) = (part.first, part.first + part.sectors);
        while at < end {
            let extent = self.layout.extent(at);
            let number = self.chart.number(Track::of(&extent));
            let before = [task.tracks[number], task.stretches[number]];
            let (blocks, stretches) = task.on_track(&self.chart, number);
            (task.tracks[number], task.stretches[number]) = (blocks, stretches);
            let group = extent.cylinder.0 / GROUP;
            let in_group = &mut task.in_groups[group as usize];
            *in_group = *in_group + u64::from(blocks) - u64::from(before[0]);
            let [max, pieces] = &mut task.groups[group as usize];
            let falls = |max: u32, before: u32, now: u32| before == max && now < max;
            if falls(*max, before[0], blocks) || falls(*pieces, before[1], stretches) {
                task.groups[group as usize] = task.fullest(&self.chart, group);
            } else {
                (*max, *pieces) = ((*max).max(blocks), (*pieces).max(stretches));
            }
            at = at + extent.sectors;
        }
    }
}

impl Task {
    /// How much of `wanted` the track of a number has, and in how many stretches.
    fn on_track(&self, chart: &Chart, number: usize) -> (u32, u32) {
        let runs = chart.runs(number).iter();
        let stretches = runs.flat_map(|run| self.wanted.runs_in(run.first, run.end()));
        stretches.fold((0, 0), |(blocks, count), (_, sectors)| {
            (blocks + sectors.0 as u32, count + 1)
        })
    }

    /// The most that a track of a group has.
    fn fullest(&self, chart: &Chart, group: u32) -> [u32; 2] {
        let tracks = chart.group(group);
        let max = |of: &[u32]| of.iter().copied().max().unwrap_or(0);
        [
            max(&self.tracks[tracks.clone()]),
            max(&self.stretches[tracks]),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Generator, Purpose, below, generator};
    use crate::spec::{Geometry, Zone};

    /// 90 cylinders of 2 tracks of 20 blocks, the last 10 of them of 13.
    fn layout() -> Arc<Layout> {
        let zone = |first_cylinder, end_cylinder, sectors_per_track| Zone {
            first_cylinder,
            end_cylinder,
            sectors_per_track,
            first_offset_sectors: 0.0,
            reserved_sectors: SectorCount(0),
            track_skew_sectors: 3.0,
            cylinder_skew_sectors: 5.0,
            spares: 0,
            slips: Vec::new(),
            defects: Vec::new(),
        };
        let geometry = Geometry {
            surfaces: 2,
            cylinders: 90,
            sectors: SectorCount(80 * 40 + 10 * 26),
            sector_bytes: 512,
            zones: vec![zone(0, 80, 20), zone(80, 90, 13)],
            ..Geometry::default()
        };
        Arc::new(Layout::new(&geometry).expect("a sound layout"))
    }

    fn some(dice: &mut Generator, sectors: SectorCount) -> BlockSet {
        let mut set = BlockSet::none(sectors);
        for _ in 0..40 {
            let first = below(dice, sectors.0);
            let max = (sectors.0 - first).min(200);
            set.insert(Lbn(first), SectorCount(1 + below(dice, max)));
        }
        set
    }

    /// Counts are those of a task made anew, and each block is delivered once.
    #[test]
    fn counts_follow_claims() {
        let mut dice = generator(3, 0, Purpose::Requests);
        let layout = layout();
        let sectors = layout.sectors();
        let mut tasks = Tasks::new(Arc::clone(&layout));
        let wanted = [some(&mut dice, sectors), some(&mut dice, sectors)];
        for set in &wanted {
            tasks.add(set.clone(), Priority::Normal);
        }
        let mut got = [BlockSet::none(sectors), BlockSet::none(sectors)];
        let mut claims: Vec<Claim> = Vec::new();
        for step in 0..3_000 {
            let first = below(&mut dice, sectors.0);
            let max = (sectors.0 - first).min(60);
            let claim = tasks.claim(Lbn(first), SectorCount(1 + below(&mut dice, max)));
            claims.push(claim);
            if claims.len() > 4 {
                let claim = claims.swap_remove(below(&mut dice, 5) as usize);
                let (read, rest) = claim.split(Lbn(below(&mut dice, sectors.0)));
                tasks.deliver(&read);
                tasks.restore(&rest);
                for part in read.parts() {
                    let end = part.first + part.sectors;
                    assert_eq!(got[part.task].count_in(part.first, end), 0, "twice");
                    got[part.task].insert(part.first, part.sectors);
                }
            }
            if step % 50 > 0 {
                continue;
            }
            for (number, task) in tasks.all.iter().enumerate() {
                let mut fresh = Tasks::new(Arc::clone(&layout));
                fresh.add(task.wanted.clone(), Priority::Normal);
                assert_eq!(task.tracks, fresh.all[0].tracks);
                assert_eq!(task.stretches, fresh.all[0].stretches);
                assert_eq!(task.groups, fresh.all[0].groups);
                assert_eq!(task.in_groups, fresh.all[0].in_groups);
                let left = wanted[number].count().0 - got[number].count().0;
                assert_eq!(tasks.remaining(number), SectorCount(left));
            }
        }
    }
}
