//! Runs test vectors, records the trials, and replays them on models of the drive.

use std::collections::VecDeque;
use std::sync::Arc;

use diskarm_core::drive::Core;
use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::Mechanism;
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::{Mechanics, Overheads, SeekCurve, Spec};
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};

use super::vector::{Area, Delay, TestCommand, TestVector};
use crate::clock::Access;
use crate::pairs::Pairs;
use crate::threshold::span;
use crate::{Disk, Error, Setup};

/// Number of recent test vectors whose cylinders a new vector avoids.
const MAX_RECENT: usize = 80;
/// Minimum standard deviation of completion times from a model's predictions, in nanoseconds.
const MIN_DEVIATION_NS: f64 = 15_000.0;
/// Model time of the initial read of a test vector.
const START: Instant = Instant::from_ns(1_000_000_000);

#[derive(Clone, Debug)]
pub(super) struct Trial {
    /// Block of the initial read.
    pub first: Lbn,
    /// Completion time of the initial read, corrected for noise.
    pub began: f64,
    pub commands: Vec<TimedCommand>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct TimedCommand {
    pub command: TestCommand,
    pub sent: f64,
    pub ended: f64,
}

/// A model of the drive that replays a test vector.
pub(super) struct Replay {
    core: Core,
    /// Offset from model time to the time of the trial.
    shift: f64,
    ended: Instant,
}

impl Replay {
    /// Starts after the initial read of `first`, which ended at `began`.
    pub fn new(core: &Core, first: Lbn, began: f64) -> Self {
        let mut core = core.clone();
        let mut read = Request::new(0, Op::Read, first, SectorCount(1));
        read.force_unit_access = true;
        let ended = core.serve_alone(read, START).at;
        Self {
            shift: began - ended.as_ns() as f64,
            ended,
            core,
        }
    }

    pub fn serve(&mut self, command: &TestCommand, sent: f64) -> f64 {
        let op = match command.access {
            Access::Read => Op::Read,
            Access::Write => Op::Write,
        };
        let sectors = SectorCount(u64::from(command.sectors));
        let request = Request::new(0, op, command.at, sectors);
        let arrived = Instant::from_ns((sent - self.shift).max(0.0) as u64);
        self.ended = self.core.serve_alone(request, arrived.max(self.ended)).at;
        self.ended.as_ns() as f64 + self.shift
    }
}

/// Minimum number of cylinders that lets test vectors avoid recently used ones.
const MIN_CYLINDERS: u32 = 64;

/// The drive under test, the trials so far, and the specification that explains them best.
pub(super) struct Context<'a, 'd> {
    pub pairs: Pairs<'a, 'd>,
    /// Known properties of the drive and the current best hypothesis about its buffer.
    pub best: Spec,
    pub trials: Vec<Trial>,
    pub writes: bool,
    /// True if a write was observed to end before reaching the media.
    pub absorbs_writes: bool,
    /// True if the write cache holds several ranges, which no model supports.
    pub is_deferred: bool,
    /// Service times of one-block buffer hits, in nanoseconds.
    hits: Vec<f64>,
    mechanism: Mechanism,
    split_model: SplitModel,
    recent: VecDeque<u32>,
    /// Runs of blocks, unknown to the model, that earlier vectors may have left in the buffer.
    cached_runs: VecDeque<(u64, u64)>,
}

impl<'a, 'd> Context<'a, 'd> {
    pub fn new(
        disk: &'a mut Disk<'d>,
        setup: &Setup<'a>,
        known: &Spec,
        writes: bool,
    ) -> Result<Self, Error> {
        let cylinders = setup.layout.cylinders();
        if cylinders < MIN_CYLINDERS {
            return Err(Error::Undecided(format!(
                "cache: the disk has {cylinders} cylinders, but at least {MIN_CYLINDERS} are needed"
            )));
        }
        let layout = Layout::new(&known.geometry)
            .map_err(|error| Error::Undecided(format!("cache: {error}")))?;
        let pairs = setup.pairs(disk)?;
        let margin = span((pairs.clock.tolerance() / 24.0).clamp(10_000.0, 30_000.0));
        let split_model = SplitModel::new(known, layout, margin);
        Ok(Self {
            pairs,
            mechanism: split_model.mechanism(),
            split_model,
            best: without_mechanism(known),
            trials: Vec::new(),
            writes,
            absorbs_writes: false,
            is_deferred: false,
            hits: Vec::new(),
            recent: VecDeque::new(),
            cached_runs: VecDeque::new(),
        })
    }

    pub fn period(&self) -> f64 {
        self.pairs.clock.period()
    }

    /// Standard deviation of completion times from a model's predictions, in nanoseconds.
    pub fn deviation(&self) -> f64 {
        (self.pairs.clock.tolerance() / 6.0).max(MIN_DEVIATION_NS)
    }

    /// Like [`Self::deviation`], for a command of this size.
    pub fn command_deviation(&self, sectors: u16) -> f64 {
        let blocks = f64::from(sectors - 1);
        let deviation = self.deviation();
        // The bus rate was estimated from about fifty service times of up to 33 sectors.
        let rate = (deviation - MIN_DEVIATION_NS) / 100.0;
        deviation + 5_000.0 * blocks.min(16.0) + rate * blocks
    }

    pub fn model(&self, spec: &Spec) -> Core {
        Core::with_mechanism(spec, self.mechanism.clone())
    }

    pub fn set_split(&mut self, split: TimeSplit) {
        let before = self.split_model.split;
        self.split_model.split = split;
        self.mechanism = self.split_model.mechanism();
        self.best.overheads = split.overheads(&self.best.overheads, before);
    }

    pub fn split(&self) -> TimeSplit {
        self.split_model.split
    }

    pub fn other_splits(&self) -> Vec<TimeSplit> {
        self.split_model.others(&self.best.overheads)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.pairs.below(end)
    }

    /// Chooses tracks that no recent test vector has used, at the end of a cylinder if `last`.
    /// `zone` is 0 for outer tracks, 1 for middle ones, and 2 for inner ones, which are shorter.
    pub fn area(&mut self, zone: usize, last: bool) -> Area {
        let layout = self.pairs.layout;
        let mut found = None;
        for attempt in 1..1000 {
            if attempt % 50 == 0 {
                // On a small disk, allow the least recently used cylinder again.
                self.recent.pop_front();
            }
            let blocks = layout.sectors().0;
            let (from, to) = [(0, 20), (45, 55), (80, 98)][zone];
            let at = blocks * from / 100 + self.below((blocks * (to - from) / 100).max(1));
            let cylinder = layout.extent(Lbn(at)).cylinder.0;
            if self.recent.iter().any(|used| used.abs_diff(cylinder) < 6) {
                continue;
            }
            let Some(area) = Area::on_cylinder(layout, cylinder, last) else {
                continue;
            };
            let is_whole = area.is_whole(layout);
            found = Some((area, cylinder));
            if is_whole {
                break;
            }
        }
        let (area, cylinder) = found.unwrap_or((Area::at_start(layout), 0));
        self.recent.push_back(cylinder);
        let max = MAX_RECENT.min(layout.cylinders() as usize / 16);
        if self.recent.len() > max {
            self.recent.pop_front();
        }
        area
    }

    pub fn has_hits(&self) -> bool {
        !self.hits.is_empty()
    }

    /// Estimates the overhead of hits from the observed hits, unless the overhead is known.
    pub fn learn_hits(&mut self) {
        let o = &mut self.best.overheads;
        if self.hits.is_empty() || o.read_hit_after_read > Span::ZERO {
            return;
        }
        self.hits.sort_by(f64::total_cmp);
        let service = span(self.hits[self.hits.len() / 2]);
        let after = self.best.bus.read_sector + o.read_completion;
        o.read_hit_after_read = (service - after).or_zero();
        o.read_hit_after_write = o.read_hit_after_read;
    }

    /// Runs a vector and records the trial, if the vector can avoid blocks left in the buffer.
    pub fn try_undisturbed(&mut self, vector: &TestVector) -> Result<(), Error> {
        if let Some(vector) = self.avoid_cached(vector)
            && let Some(trial) = self.run(&vector)?
        {
            self.trials.push(trial);
        }
        Ok(())
    }

    /// Runs a test vector. Returns `None` if the initial read was not served from the media.
    pub fn run(&mut self, vector: &TestVector) -> Result<Option<Trial>, Error> {
        let first = self.pairs.send(Access::Read, vector.first, 1)?;
        let extent = self.pairs.layout.extent(vector.first);
        let ended = first.ended.as_ns() as f64;
        let lateness = self.pairs.clock.lateness(ended, &extent);
        if lateness.abs() > self.pairs.clock.tolerance() {
            return Ok(None);
        }
        let mut trial = Trial {
            first: vector.first,
            began: ended - lateness,
            commands: Vec::new(),
        };
        self.note_cached(vector.first, 1);
        for command in &vector.commands {
            self.note_cached(command.at, command.sectors);
            self.wait(command);
            let TestCommand { at, sectors, .. } = *command;
            let times = self.pairs.send_buffered(command.access, at, sectors)?;
            trial.commands.push(TimedCommand {
                command: *command,
                sent: times.sent.as_ns() as f64,
                ended: times.ended.as_ns() as f64,
            });
        }
        Ok(Some(trial))
    }

    fn wait(&mut self, command: &TestCommand) {
        match command.delay {
            Delay::For(pause) => self.pairs.sleep(pause),
            Delay::Opposite(min) => {
                self.pairs.sleep(min);
                let half = self.period() / 2.0;
                let extent = self.pairs.layout.extent(command.at);
                let turns = (extent.start + extent.sector_angle).as_revolutions();
                let o = &self.best.overheads;
                let bus = self.best.bus.read_sector;
                let service = o.read_hit_after_read + bus + o.read_completion;
                let hit = self.pairs.soonest(service.as_ns() as f64);
                let pass = self.pairs.clock.pass(turns, hit);
                let early = pass - hit;
                let turn = if early > half { -half } else { half };
                self.pairs.sleep(span(early + turn));
            }
        }
    }

    /// Runs a test vector and returns true if its last command, a one-block read with
    /// [`Delay::Opposite`], was a hit. A read from the media would end when its sector has passed.
    pub fn is_hit(&mut self, make: &mut dyn FnMut(&mut Self) -> TestVector) -> Result<bool, Error> {
        for _ in 0..8 {
            let vector = make(self);
            let Some(trial) = self.run(&vector)? else {
                continue;
            };
            let last = trial.commands[trial.commands.len() - 1];
            let extent = self.pairs.layout.extent(last.command.at);
            let lateness = self.pairs.clock.lateness(last.ended, &extent);
            self.trials.push(trial);
            let is_hit = lateness.abs() > self.period() / 4.0;
            if is_hit {
                self.hits.push(last.ended - last.sent);
            }
            return Ok(is_hit);
        }
        let reason = "cache: reads of random blocks are not served from the media";
        Err(Error::Undecided(reason.to_owned()))
    }

    /// Returns the result on which two of up to three test vectors agree.
    pub fn majority(
        &mut self,
        mut make: impl FnMut(&mut Self) -> TestVector,
    ) -> Result<bool, Error> {
        let first = self.is_hit(&mut make)?;
        if self.is_hit(&mut make)? == first {
            return Ok(first);
        }
        self.is_hit(&mut make)
    }

    /// Returns the largest number below `end` whose test vector ends with a hit, or 0.
    pub fn largest_passing(
        &mut self,
        end: u64,
        start: u64,
        mut make: impl FnMut(&mut Self, u64) -> TestVector,
    ) -> Result<u64, Error> {
        let (mut hit, mut miss, mut next) = (0, end, start.clamp(1, end - 1));
        while hit + 1 < miss {
            if self.majority(|context| make(context, next))? {
                hit = next;
            } else {
                miss = next;
            }
            next = if miss == end && 2 * hit < end {
                (2 * hit).max(hit + 1)
            } else {
                hit.midpoint(miss)
            };
        }
        Ok(hit)
    }

    /// Returns an upper bound on the time to read ahead `blocks` on tracks like that of `at`.
    pub fn read_ahead_time(&self, at: Lbn, blocks: u64) -> Span {
        let turns = blocks as f64 * self.pairs.layout.extent(at).sector_angle.as_revolutions();
        // Allows half a revolution per track switch, and time to reach the first block.
        span(self.period() * (1.5 * turns + 1.5))
    }

    /// Returns a random block in the middle half of the disk.
    pub fn random_block(&mut self) -> Lbn {
        let blocks = self.pairs.layout.sectors().0;
        Lbn(blocks / 4 + self.below(blocks / 2))
    }

    fn may_be_cached(&self, at: Lbn, sectors: u16) -> bool {
        let overlaps =
            |(first, end): &(u64, u64)| *first < at.0 + u64::from(sectors) && at.0 < *end;
        self.cached_runs.iter().any(overlaps)
    }

    fn note_cached(&mut self, at: Lbn, sectors: u16) {
        let buffer = &self.best.buffer;
        let track = self.pairs.layout.extent(at).sectors.0;
        let ahead = buffer.read_ahead_max.max(buffer.segment).0;
        let end = at.0 + u64::from(sectors) + ahead;
        let run = (at.0.saturating_sub(track), end);
        self.cached_runs.push_back(run);
        let max = (2 * buffer.segments as usize + 16).max(64);
        while self.cached_runs.len() > max {
            self.cached_runs.pop_front();
        }
    }

    /// Replaces blocks of a test vector that may be in the buffer. Returns `None` if this fails.
    fn avoid_cached(&mut self, vector: &TestVector) -> Option<TestVector> {
        let mut vector = vector.clone();
        let fixed = vector.commands.iter().filter(|command| !command.is_movable);
        let fixed: Vec<TestCommand> = fixed.copied().collect();
        let is_cached = |command: &TestCommand| self.may_be_cached(command.at, command.sectors);
        if fixed.iter().any(is_cached) {
            return None;
        }
        let before = self.cached_runs.len();
        for command in fixed {
            self.note_cached(command.at, 1);
        }
        let commands = vector.commands.iter_mut();
        for command in commands.filter(|command| command.is_movable) {
            for _ in 0..50 {
                if !self.may_be_cached(command.at, 1) {
                    break;
                }
                command.at = self.random_block();
            }
            self.note_cached(command.at, 1);
        }
        self.cached_runs.truncate(before);
        Some(vector)
    }
}

/// Removes values that a model's mechanism also holds, so that copies of a specification are cheap.
fn without_mechanism(known: &Spec) -> Spec {
    let mut spec = known.clone();
    if spec.overheads.extra_write_disconnect.is_some() {
        // The measured writes after writes were not contiguous.
        spec.overheads.write_hit_after_write = spec.overheads.write_hit_after_read;
    }
    spec.mechanics = Mechanics::default();
    for zone in &mut spec.geometry.zones {
        (zone.slips, zone.defects) = (Vec::new(), Vec::new());
    }
    spec
}

/// A way to split measured times between commands and the mechanism.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct TimeSplit {
    /// True if transfers continue on the next track while the head is still settling.
    pub continues_unsettled: bool,
    /// Settling time on the current track, counted as part of seeks instead of commands.
    pub settle: Span,
}

impl TimeSplit {
    pub fn overheads(self, overheads: &Overheads, previous: Self) -> Overheads {
        let mut overheads = overheads.clone();
        let reduction = self.settle - previous.settle;
        for miss in [
            &mut overheads.read_miss_after_read,
            &mut overheads.read_miss_after_write,
            &mut overheads.write_miss_after_read,
            &mut overheads.write_miss_after_write,
        ] {
            *miss -= reduction;
        }
        if let Some(extra) = &mut overheads.extra_write_disconnect {
            extra.command -= reduction;
        }
        overheads
    }
}

/// A model of the mechanism for each split of times.
///
/// Measurements of single requests reveal only sums of times ([`crate::timing`]). How the sums are
/// split matters in two cases: a transfer that continues on another track waits for the head but
/// not for settling, and no miss overhead precedes the seek of a write that the cache absorbs.
pub(super) struct SplitModel {
    /// The known specification with slightly faster movements. Skews match the times of movements,
    /// so a model even slightly slower than the drive would lose a revolution at each track end.
    known: Spec,
    layout: Arc<Layout>,
    /// Maximum time to continue a transfer on another track.
    max_switch: Option<Span>,
    split: TimeSplit,
}

impl SplitModel {
    fn new(known: &Spec, layout: Layout, margin: Span) -> Self {
        let mut known = known.clone();
        known.mechanics.head_switch = (known.mechanics.head_switch - margin).or_zero();
        lengthen_seeks(&mut known, -margin);
        let skew = min_skew(&layout, known.mechanics.period_ns);
        Self {
            max_switch: skew.map(|skew| skew - margin),
            known,
            layout: Arc::new(layout),
            split: TimeSplit::default(),
        }
    }

    fn mechanism(&self) -> Mechanism {
        let mut spec = self.known.clone();
        let settle = self.split.settle;
        lengthen_seeks(&mut spec, settle);
        let mechanics = &mut spec.mechanics;
        mechanics.track_settle += settle;
        mechanics.cylinder_settle += settle;
        if let Some(max) = self.max_switch.filter(|_| self.split.continues_unsettled) {
            let before_write = mechanics.write_settle.max(Span::ZERO);
            let excess = (mechanics.head_switch - (max - before_write).or_zero()).or_zero();
            mechanics.head_switch -= excess;
            mechanics.cylinder_settle += excess;
        }
        Mechanism::new(&spec, self.layout.clone(), Angle::ZERO)
    }

    fn others(&self, o: &Overheads) -> Vec<TimeSplit> {
        let now = self.split;
        let near = [-50.0, -20.0, -10.0, 10.0, 20.0, 50.0].map(|us| now.settle + Span::from_us(us));
        let far = (0..16).map(|tenth| Span::from_us(100.0 * f64::from(tenth)));
        let reads = o.read_miss_after_read.min(o.read_miss_after_write);
        let writes = o.write_miss_after_read.min(o.write_miss_after_write);
        let max = now.settle + reads.min(writes);
        let all = near.into_iter().chain(far);
        let settles =
            all.filter(|settle| (Span::ZERO..=max).contains(settle) && *settle != now.settle);
        let other = TimeSplit {
            continues_unsettled: !now.continues_unsettled,
            ..now
        };
        let splits = settles.map(|settle| TimeSplit { settle, ..now });
        splits.chain([other]).collect()
    }
}

fn lengthen_seeks(spec: &mut Spec, by: Span) {
    let mechanics = &mut spec.mechanics;
    for curve in std::iter::once(&mut mechanics.seek).chain(&mut mechanics.write_seek) {
        if let SeekCurve::Table(points) = curve {
            for (_, time) in points {
                *time = (*time + by).or_zero();
            }
        }
    }
}

/// Returns the shortest time from the end of a track to the start of the next one on the cylinder.
fn min_skew(layout: &Layout, period_ns: f64) -> Option<Span> {
    const PLACES: u64 = 32;
    let blocks = layout.sectors().0;
    let skew = |place: u64| {
        let cylinder = layout.extent(Lbn(blocks * place / PLACES)).cylinder.0;
        let area = Area::on_cylinder(layout, cylinder, false)?;
        let [track, next] = [0, 1].map(|k| layout.extent(area.tracks[k]));
        if track.cylinder != next.cylinder || !area.is_whole(layout) {
            return None;
        }
        let turns = next.start.as_revolutions()
            - track.start.as_revolutions()
            - track.sector_angle.as_revolutions() * track.sectors.0 as f64;
        Some(span(turns.rem_euclid(1.0) * period_ns))
    };
    (0..PLACES).filter_map(skew).min()
}
