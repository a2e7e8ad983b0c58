//! Background tasks: sets of wanted blocks, claims on them by reads in progress, and deliveries.

use std::ops::AddAssign;
use std::sync::Arc;

use super::block_set::BlockSet;
use super::gap::Track;
use super::track_map::{GROUP, TrackMap};
use crate::geometry::Layout;
use crate::request::Priority;
use crate::units::{Instant, Lbn, SectorCount, Span};

/// The index of a task, in the order in which tasks were added.
pub type TaskId = usize;

/// Background tasks. Each is a set of blocks to be read once, in any order.
#[derive(Clone, Debug)]
pub struct Tasks {
    pub(super) layout: Arc<Layout>,
    pub(super) map: TrackMap,
    pub(super) all: Vec<Task>,
}

#[derive(Clone, Debug)]
pub(super) struct Task {
    pub priority: Priority,
    /// The blocks that are wanted and not claimed.
    pub wanted: BlockSet,
    claimed: u64,
    pub tracks: Vec<u32>,
    /// The number of stretches of consecutive wanted blocks on each track.
    pub stretches: Vec<u32>,
    /// The maximum number of blocks, and of stretches, on a track of each [`GROUP`].
    pub groups: Vec<[u32; 2]>,
    pub in_groups: Vec<u64>,
}

/// Consecutive wanted blocks of a task in a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimPart {
    /// Task that wants the blocks.
    pub task: TaskId,
    /// First block of the run.
    pub first: Lbn,
    /// The number of blocks.
    pub sectors: SectorCount,
}

/// The wanted blocks that a read in progress will deliver to tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "claimed blocks that are neither delivered nor restored are never read"]
pub struct Claim {
    parts: Vec<ClaimPart>,
}

impl Claim {
    /// Returns true if nothing is claimed.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the number of wanted blocks; a block counts once for each task.
    pub fn sectors(&self) -> SectorCount {
        SectorCount(self.parts.iter().map(|part| part.sectors.0).sum())
    }

    /// Returns the claimed blocks ordered by task and block.
    pub fn parts(&self) -> &[ClaimPart] {
        &self.parts
    }

    /// Returns the deliveries of a claim whose blocks were all read, or all unreadable, at `at`.
    pub fn deliveries(&self, at: Instant, is_readable: bool) -> impl Iterator<Item = Delivery> {
        self.parts.iter().map(move |part| Delivery {
            task: part.task,
            first: part.first,
            sectors: part.sectors,
            at,
            is_readable,
        })
    }

    /// Splits a claim into the blocks before `end` and the rest.
    pub fn split(self, end: Lbn) -> (Self, Self) {
        let (mut before, mut after) = (Self::default(), Self::default());
        for part in self.parts {
            let cut = end.0.clamp(part.first.0, part.first.0 + part.sectors.0) - part.first.0;
            let ranges = [(0, cut), (cut, part.sectors.0)];
            for (half, (from, to)) in [&mut before, &mut after].into_iter().zip(ranges) {
                if from < to {
                    half.parts.push(ClaimPart {
                        first: Lbn(part.first.0 + from),
                        sectors: SectorCount(to - from),
                        ..part
                    });
                }
            }
        }
        (before, after)
    }
}

impl Tasks {
    /// Creates an empty list of tasks for a drive of this layout.
    pub fn new(layout: Arc<Layout>) -> Self {
        let map = TrackMap::new(&layout);
        Self {
            layout,
            map,
            all: Vec::new(),
        }
    }

    /// Adds a task. Tasks of a higher priority come first; tasks of equal priority share each read.
    ///
    /// # Panics
    /// If the blocks belong to another drive.
    pub fn add(&mut self, wanted: BlockSet, priority: Priority) -> TaskId {
        let is_ours = wanted.sectors() == self.layout.sectors();
        assert!(is_ours, "the blocks belong to another drive");
        let mut task = Task {
            priority,
            wanted,
            claimed: 0,
            tracks: Vec::new(),
            stretches: Vec::new(),
            groups: Vec::new(),
            in_groups: Vec::new(),
        };
        let tracks = 0..self.map.track_count();
        (task.tracks, task.stretches) = tracks.map(|track| task.on_track(&self.map, track)).unzip();
        let groups = self.map.cylinders.div_ceil(GROUP);
        task.groups = (0..groups)
            .map(|group| task.fullest(&self.map, group))
            .collect();
        task.in_groups = (0..groups)
            .map(|group| {
                let tracks = &task.tracks[self.map.group(group)];
                tracks.iter().copied().map(u64::from).sum()
            })
            .collect();
        self.all.push(task);
        self.all.len() - 1
    }

    /// Returns the number of blocks of a task that have not been delivered.
    pub fn remaining(&self, task: TaskId) -> SectorCount {
        let task = &self.all[task];
        SectorCount(task.wanted.count().0 + task.claimed)
    }

    /// Returns the blocks of a task that have neither been delivered nor claimed.
    pub fn wanted(&self, task: TaskId) -> &BlockSet {
        &self.all[task].wanted
    }

    /// Returns the number of blocks of the drive.
    pub fn sectors(&self) -> SectorCount {
        self.layout.sectors()
    }

    /// Returns the first block of `first..end` that any task wants.
    pub fn first_wanted(&self, first: Lbn, end: Lbn) -> Option<Lbn> {
        let wanted = |task: &Task| task.wanted.first_in(first, end);
        self.all.iter().filter_map(wanted).min()
    }

    /// Returns the last block of `first..end` that any task wants.
    pub fn last_wanted(&self, first: Lbn, end: Lbn) -> Option<Lbn> {
        let wanted = |task: &Task| task.wanted.last_in(first, end);
        self.all.iter().filter_map(wanted).max()
    }

    /// Returns true if every wanted block is claimed or delivered.
    pub fn is_done(&self) -> bool {
        self.all.iter().all(|task| task.wanted.is_empty())
    }

    /// Claims the wanted blocks of a read that is being sent, so that searches no longer find them.
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

    /// Records that a read has delivered its claim.
    pub fn deliver(&mut self, claim: &Claim) {
        for part in &claim.parts {
            self.all[part.task].claimed -= part.sectors.0;
        }
    }

    /// Records that a read has failed: the blocks of its claim are wanted again.
    pub fn restore(&mut self, claim: &Claim) {
        for part in &claim.parts {
            let task = &mut self.all[part.task];
            task.claimed -= part.sectors.0;
            task.wanted.insert(part.first, part.sectors);
            self.recount(part);
        }
    }

    /// Updates the counts of the tracks that contain blocks of `part`.
    fn recount(&mut self, part: &ClaimPart) {
        let task = &mut self.all[part.task];
        let (mut at, end) = (part.first, part.first + part.sectors);
        while at < end {
            let extent = self.layout.extent(at);
            let number = self.map.number(Track::from_extent(&extent));
            let before = [task.tracks[number], task.stretches[number]];
            let (blocks, stretches) = task.on_track(&self.map, number);
            (task.tracks[number], task.stretches[number]) = (blocks, stretches);
            let group = extent.cylinder.0 / GROUP;
            let in_group = &mut task.in_groups[group as usize];
            *in_group = *in_group + u64::from(blocks) - u64::from(before[0]);
            let [max, pieces] = &mut task.groups[group as usize];
            let falls = |max: u32, before: u32, now: u32| before == max && now < max;
            if falls(*max, before[0], blocks) || falls(*pieces, before[1], stretches) {
                task.groups[group as usize] = task.fullest(&self.map, group);
            } else {
                (*max, *pieces) = ((*max).max(blocks), (*pieces).max(stretches));
            }
            at = at + extent.sectors;
        }
    }
}

impl Task {
    /// Returns the number of wanted blocks on a track, and how many stretches they form.
    fn on_track(&self, map: &TrackMap, number: usize) -> (u32, u32) {
        let runs = map.runs(number).iter();
        let stretches = runs.flat_map(|run| self.wanted.runs_in(run.first, run.end()));
        stretches.fold((0, 0), |(blocks, count), (_, sectors)| {
            (blocks + sectors.0 as u32, count + 1)
        })
    }

    /// Returns the maximum number of blocks, and of stretches, on a track of a group.
    fn fullest(&self, map: &TrackMap, group: u32) -> [u32; 2] {
        let tracks = map.group(group);
        let max = |of: &[u32]| of.iter().copied().max().unwrap_or(0);
        [
            max(&self.tracks[tracks.clone()]),
            max(&self.stretches[tracks]),
        ]
    }
}

/// Blocks of a task that were read or found to be unreadable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Task that wanted the blocks.
    pub task: TaskId,
    /// First block of the run.
    pub first: Lbn,
    /// The number of blocks.
    pub sectors: SectorCount,
    /// The instant of the read.
    pub at: Instant,
    /// False if the blocks could not be read.
    pub is_readable: bool,
}

/// Statistics of background reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackgroundStats {
    /// Wanted blocks that were read; a block counts once for each task.
    pub sectors: u64,
    /// Commands that read only background blocks.
    pub reads: u64,
    /// Foreground commands that also read background blocks.
    pub merged: u64,
    /// Gaps in foreground activity that background reads used.
    pub gaps: u64,
    /// Foreground requests that background reads delayed by more than a rounding error, according
    /// to the model of an external scheduler.
    pub delayed: u64,
    /// The sum of these delays.
    pub delay: Span,
    /// Number of unreadable blocks.
    pub unreadable: u64,
}

impl AddAssign for BackgroundStats {
    fn add_assign(&mut self, other: Self) {
        self.sectors += other.sectors;
        self.reads += other.reads;
        self.merged += other.merged;
        self.gaps += other.gaps;
        self.delayed += other.delayed;
        self.delay += other.delay;
        self.unreadable += other.unreadable;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Generator, Purpose, below, generator};
    use crate::spec::{Geometry, Zone};

    /// 90 cylinders of 2 tracks: 20 blocks per track, or 13 in the last 10 cylinders.
    fn layout() -> Arc<Layout> {
        let zone = |first_cylinder, end_cylinder, sectors_per_track| Zone {
            first_cylinder,
            end_cylinder,
            sectors_per_track,
            track_skew_sectors: 3.0,
            cylinder_skew_sectors: 5.0,
            ..Zone::default()
        };
        let geometry = Geometry {
            surfaces: 2,
            cylinders: 90,
            sectors: SectorCount(80 * 40 + 10 * 26),
            sector_bytes: 512,
            zones: vec![zone(0, 80, 20), zone(80, 90, 13)],
            ..Geometry::default()
        };
        Arc::new(Layout::new(&geometry).expect("a valid layout"))
    }

    fn random_set(random: &mut Generator, sectors: SectorCount) -> BlockSet {
        let mut set = BlockSet::none(sectors);
        for _ in 0..40 {
            let first = below(random, sectors.0);
            let max = (sectors.0 - first).min(200);
            set.insert(Lbn(first), SectorCount(1 + below(random, max)));
        }
        set
    }

    /// Checks that counts equal those of a new task, and that each block is delivered once.
    #[test]
    fn counts_follow_claims() {
        let mut random = generator(3, 0, Purpose::Requests);
        let layout = layout();
        let sectors = layout.sectors();
        let mut tasks = Tasks::new(Arc::clone(&layout));
        let wanted = [
            random_set(&mut random, sectors),
            random_set(&mut random, sectors),
        ];
        for set in &wanted {
            tasks.add(set.clone(), Priority::Normal);
        }
        let mut delivered = [BlockSet::none(sectors), BlockSet::none(sectors)];
        let mut claims: Vec<Claim> = Vec::new();
        for step in 0..3_000 {
            let first = below(&mut random, sectors.0);
            let max = (sectors.0 - first).min(60);
            let claim = tasks.claim(Lbn(first), SectorCount(1 + below(&mut random, max)));
            claims.push(claim);
            if claims.len() > 4 {
                let claim = claims.swap_remove(below(&mut random, 5) as usize);
                let (read, rest) = claim.split(Lbn(below(&mut random, sectors.0)));
                tasks.deliver(&read);
                tasks.restore(&rest);
                for part in read.parts() {
                    let end = part.first + part.sectors;
                    assert_eq!(delivered[part.task].count_in(part.first, end), 0, "twice");
                    delivered[part.task].insert(part.first, part.sectors);
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
                let left = wanted[number].count().0 - delivered[number].count().0;
                assert_eq!(tasks.remaining(number), SectorCount(left));
            }
        }
    }
}
