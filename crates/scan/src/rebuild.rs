//! Rebuilds a mirrored pair in the gaps of the surviving member.
//!
//! # What it does
//! Foreground reads go to the surviving member; in the gaps between them, the rebuild reads all
//! blocks of that member. The data wait in memory until the spare has no foreground requests. Then
//! one of the next runs of blocks after the last write is written: the one that the spare's arm
//! reaches first. Foreground writes go to both members, and complete when both are done. Their
//! blocks need not be read, and older data waiting in memory for these blocks are dropped.
//!
//! # When it is bad
//! While 64 MiB of data wait, nothing is read in gaps, so a slow spare limits the reads.

use std::sync::{Arc, Mutex};

use diskarm_core::device::{Children, Completion, Device, SubmitError};
use diskarm_core::drive::Drive;
use diskarm_core::freeblock::{BlockSet, Delivery};
use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::Mechanism;
use diskarm_core::mirror::starting_angle;
use diskarm_core::request::{Op, Request};
use diskarm_core::sched::{Estimate, Outlook};
use diskarm_core::text::InputError;
use diskarm_core::units::{Angle, Bytes, Instant, Lbn, SectorCount};

use crate::background::Background;
use crate::external::ExternalScheduler;
use crate::run::{Scan, ScanReport, SchedulerLocation, SharedProgress, lock};
use crate::watch::Model;

/// Maximum number of blocks of a write to the spare: 256 KiB in sectors of 512 bytes.
const MAX_WRITE: SectorCount = SectorCount(512);

/// Maximum number of runs of blocks among which the next write to the spare is chosen.
const MAX_RUNS: usize = 64;

/// Amount of waiting data at which reads pause.
const MAX_WAITING: Bytes = Bytes(64 << 20);

/// A mirrored pair with one member under rebuild.
pub(crate) struct Rebuild<D> {
    /// The surviving member, and the spare.
    members: [ExternalScheduler<D>; 2],
    children: Children<Parent>,
    /// Number of commands inside the spare or waiting for it.
    at_spare: usize,
    /// Deliveries from the gaps that have not been processed yet.
    delivered: Arc<Mutex<Vec<Delivery>>>,
    /// Blocks that the foreground has written; data that were read earlier are outdated.
    overwritten: BlockSet,
    /// Blocks that wait in memory for the spare.
    waiting: BlockSet,
    /// Number of waiting blocks at which reads pause.
    room: SectorCount,
    /// The block at which writes to the spare continue.
    next: Lbn,
    /// The largest number of blocks that have waited at once.
    max: SectorCount,
    rebuilt: BlockSet,
    progress: SharedProgress,
}

struct Parent {
    /// The request of the foreground; `None` for data of the rebuild.
    request: Option<Request>,
    left: u32,
}

impl<D: Device> Rebuild<D> {
    /// Creates a pair from the surviving member, to which the background reads are attached, and
    /// the spare. `delivered` receives the blocks that these reads deliver.
    pub fn new(
        members: [ExternalScheduler<D>; 2],
        delivered: Arc<Mutex<Vec<Delivery>>>,
        progress: SharedProgress,
    ) -> Self {
        let sectors = members[0].capacity();
        let room = SectorCount(MAX_WAITING.0 / members[0].sector_size().0);
        Self {
            members,
            children: Children::default(),
            at_spare: 0,
            delivered,
            overwritten: BlockSet::none(sectors),
            waiting: BlockSet::none(sectors),
            room,
            next: Lbn(0),
            max: SectorCount(0),
            rebuilt: BlockSet::none(sectors),
            progress,
        }
    }

    /// Drops waiting data that a foreground write replaces.
    fn overwrite(&mut self, request: &Request) {
        let (first, sectors) = (request.start, request.sectors);
        if let Some(background) = self.members[0].background_mut() {
            background.forget(first, sectors);
        }
        self.waiting.remove(first, sectors);
        self.overwritten.insert(first, sectors);
    }

    fn process_deliveries(&mut self) {
        for delivered in lock(&self.delivered).drain(..) {
            assert!(
                delivered.is_readable,
                "a drive without faults had an unreadable block"
            );
            let (first, sectors) = (delivered.first, delivered.sectors);
            self.waiting.insert(first, sectors);
            for (first, sectors) in self.overwritten.runs_in(first, first + sectors) {
                self.waiting.remove(first, sectors);
            }
        }
        self.max = self.max.max(self.waiting.count());
        let is_full = self.waiting.count() >= self.room;
        if let Some(background) = self.members[0].background_mut() {
            background.pause(is_full);
        }
    }

    /// Writes waiting data if the spare is idle.
    fn write(&mut self, now: Instant) {
        if self.at_spare == 0
            && let Some((first, sectors)) = self.nearest(now)
        {
            self.waiting.remove(first, sectors);
            let (request, left) = (None, 1);
            let id = self.children.insert(Parent { request, left });
            self.send(1, now, Request::new(id, Op::Write, first, sectors));
        }
    }

    /// Returns the run that the spare reaches first, among the next waiting runs after the last
    /// write. The search wraps around at the end of the disk.
    fn nearest(&self, now: Instant) -> Option<(Lbn, SectorCount)> {
        let end = Lbn(self.waiting.sectors().0);
        let after = self.waiting.runs_in(self.next, end);
        let before = self.waiting.runs_in(Lbn(0), self.next);
        let drive = self.members[1].predictor();
        let outlook = drive.outlook(now);
        let runs = after.chain(before).take(MAX_RUNS).map(|(first, sectors)| {
            let write = Request::new(0, Op::Write, first, sectors.min(MAX_WRITE));
            let positioning = outlook.positioning(&write, &drive.locate(&write));
            (positioning, first, write.sectors)
        });
        runs.min().map(|(_, first, sectors)| (first, sectors))
    }

    fn send(&mut self, member: usize, now: Instant, request: Request) {
        self.at_spare += member;
        let result = self.members[member].submit(now, request);
        assert_eq!(result, Ok(()), "a member refused {request:?}");
    }

    /// Handles a completion of a member. Returns a foreground request's completion, if any.
    fn complete(&mut self, member: usize, completion: Completion) -> Option<Completion> {
        let id = completion.request.id;
        self.at_spare -= member;
        assert!(
            completion.status.is_success(),
            "a drive without faults failed"
        );
        if member == 1 && completion.request.op == Op::Write {
            self.count_rebuilt(&completion);
        }
        let parent = &mut self.children[id];
        parent.left -= 1;
        if parent.left > 0 {
            return None;
        }
        let request = self.children.remove(id).request?;
        Some(Completion {
            request,
            ..completion
        })
    }

    /// Counts the blocks that have been written to the spare for the first time.
    fn count_rebuilt(&mut self, completion: &Completion) {
        let Request { start, sectors, .. } = completion.request;
        self.next = start + sectors;
        let before = self.rebuilt.count();
        self.rebuilt.insert(start, sectors);
        let sectors = SectorCount(self.rebuilt.count().0 - before.0);
        if sectors.0 > 0 {
            lock(&self.progress).record(&Delivery {
                task: 0,
                first: start,
                sectors,
                at: completion.at,
                is_readable: true,
            });
        }
    }

    fn earliest(&self) -> Option<(Instant, usize)> {
        let events = [0, 1].map(|member| Some((self.members[member].next_event()?, member)));
        events.into_iter().flatten().min()
    }
}

impl<D: Device> Device for Rebuild<D> {
    diskarm_core::forward!(self, self.members[0]; capacity sector_size);

    fn has_room(&self) -> bool {
        true
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        for member in &self.members {
            member.check(&request)?;
        }
        let is_read = request.op.is_read();
        if request.op == Op::Write {
            self.overwrite(&request);
        }
        let id = self.children.insert(Parent {
            request: Some(request),
            left: if is_read { 1 } else { 2 },
        });
        let child = Request { id, ..request };
        self.send(0, now, child);
        if !is_read {
            self.send(1, now, child);
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        self.earliest().map(|(at, _)| at)
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        while let Some((at, member)) = self.earliest().filter(|(at, _)| *at <= now) {
            let done = self.members[member].advance(at);
            let done = done.and_then(|completion| self.complete(member, completion));
            self.process_deliveries();
            self.write(at);
            if done.is_some() {
                return done;
            }
        }
        None
    }

    fn abort(&mut self, _: Instant, _: u64) -> bool {
        false
    }
}

impl Scan<'_> {
    /// Rebuilds a mirrored pair that has lost a member: blocks that are read in the gaps of the
    /// surviving drive are written to an identical spare. Blocks count as read once they are on the
    /// spare. The foreground without the scan is served by the surviving drive alone. Fails like
    /// [`Self::run`]. Panics if the scheduler is in the firmware.
    pub fn rebuild(&self) -> Result<ScanReport, InputError> {
        let SchedulerLocation::Outside(depth) = self.location else {
            panic!("the scheduler must be outside the drive");
        };
        let delivered: Arc<Mutex<Vec<Delivery>>> = Arc::default();
        let sink = Arc::clone(&delivered);
        let (tasks, progress) = self.tasks(BlockSet::all(self.spec.geometry.sectors))?;
        let background = Background::new(tasks, self.model, self.settings, move |delivered| {
            lock(&sink).push(*delivered);
        });
        let model = Model::new(self.model)?;
        let layout = Arc::new(Layout::new(&self.spec.geometry)?);
        let mechanism = Mechanism::new(self.spec, layout, Angle::ZERO);
        let member = |number: u64| {
            let seed = self.seed ^ number;
            let mechanism = mechanism.at_angle(starting_angle(seed));
            let drive = Drive::with_mechanism(self.spec, mechanism).with_seed(seed);
            ExternalScheduler::new(drive, model.clone(), self.policy, depth)
        };
        let survivor = member(0).with_background(background);
        let mut pair = Rebuild::new([survivor, member(1)], delivered, Arc::clone(&progress));
        let foreground = self.serve(&mut pair, Some(&progress), self.max_requests)?;
        let report = ScanReport {
            alone: self.serve(&mut member(0), None, foreground.requests)?,
            waited: Some(pair.max),
            ..ScanReport::new(&pair.members[0], foreground)
        };
        Ok(self.with_progress(report, &progress))
    }
}

#[cfg(test)]
mod tests {
    use diskarm_core::freeblock::Tasks;
    use diskarm_core::request::Priority;
    use diskarm_core::sched::PolicyConfig;
    use diskarm_core::spec::{self, Spec};
    use diskarm_core::testing::SplitMix64;

    use super::*;
    use crate::background::BackgroundSettings;
    use crate::run::Progress;

    struct LoggingDrive {
        drive: Drive,
        writes: Log,
    }

    impl Device for LoggingDrive {
        diskarm_core::forward!(drive: capacity sector_size has_room next_event advance abort);

        fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
            if request.op == Op::Write {
                lock(&self.writes).push(request);
            }
            self.drive.submit(now, request)
        }
    }

    fn small() -> Spec {
        let text = include_str!("../tests/scan/small.toml");
        spec::parse(text, "small.toml").expect("valid specification")
    }

    type Log = Arc<Mutex<Vec<Request>>>;

    /// Returns a pair of small drives under rebuild, the writes to its members, and the progress.
    fn pair(spec: &Spec) -> (Rebuild<LoggingDrive>, [Log; 2], Arc<Mutex<Progress>>) {
        let layout = Arc::new(Layout::new(&spec.geometry).expect("valid layout"));
        let wanted = BlockSet::all(layout.sectors());
        let progress = Progress::shared(&wanted);
        let mut tasks = Tasks::new(layout);
        tasks.add(wanted, Priority::Normal);
        let delivered: Arc<Mutex<Vec<Delivery>>> = Arc::default();
        let sink = Arc::clone(&delivered);
        let settings = BackgroundSettings::default();
        let background = Background::new(tasks, spec, settings, move |delivered| {
            lock(&sink).push(*delivered);
        });
        let policy: PolicyConfig = "sptf".parse().expect("valid policy");
        let logs: [Log; 2] = Default::default();
        let [survivor, spare] = [0, 1].map(|member| {
            let drive = Drive::new(spec, Angle::ZERO).expect("valid layout");
            let writes = Arc::clone(&logs[member]);
            let model = Model::with_origin(spec, Angle::ZERO).expect("valid layout");
            ExternalScheduler::new(LoggingDrive { drive, writes }, model, &policy, 1)
        });
        let members = [survivor.with_background(background), spare];
        let pair = Rebuild::new(members, delivered, Arc::clone(&progress));
        (pair, logs, progress)
    }

    /// Serves a foreground until the spare has all blocks.
    fn rebuild(pair: &mut Rebuild<LoggingDrive>, progress: &Mutex<Progress>) {
        let sectors = pair.capacity().0;
        let mut random = SplitMix64::new(4);
        let (mut now, mut outstanding, mut written) = (Instant::START, 0, 0);
        while lock(progress).left().0 > 0 || outstanding > 0 {
            if outstanding < 4 && lock(progress).left().0 > 0 {
                // Many writes are close to each other, so that they hit blocks being rebuilt.
                let first = [random.below(sectors), random.below(200)][random.below(2) as usize];
                let size = SectorCount(1 + random.below(30.min(sectors - first)));
                let op = [Op::Read, Op::Write][random.below(2) as usize];
                let mut request = Request::new(written, op, Lbn(first), size);
                request.force_unit_access = op == Op::Write;
                pair.submit(now, request).expect("valid request");
                (outstanding, written) = (outstanding + 1, written + 1);
            } else {
                now = pair.next_event().expect("requests are outstanding");
                while let Some(done) = pair.advance(now) {
                    assert!(done.status.is_success());
                    outstanding -= 1;
                }
            }
        }
    }

    /// Nothing is read while the memory is full: only the reads of a gap that was already planned
    /// exceed the limit. Without the limit, far more data wait.
    #[test]
    fn waiting_data_are_bounded() {
        let max = |room: Option<u64>| {
            let (mut pair, _, progress) = pair(&small());
            pair.room = room.map_or(pair.room, SectorCount);
            rebuild(&mut pair, &progress);
            pair.max.0
        };
        // Two reads and the foreground's own command, each on a track of at most 40 blocks.
        let (room, gap) = (30, 3 * 40);
        let bounded = max(Some(room));
        assert!((room..room + gap).contains(&bounded), "{bounded}");
        assert!(max(None) > room + gap, "{}", max(None));
    }

    /// Of the next 64 runs after the last write, wrapping around to the first block, the one that
    /// the arm reaches first is written. Of a long run, only the first 512 blocks are written.
    #[test]
    fn the_nearest_of_the_next_64_runs_is_written() {
        let (mut pair, ..) = pair(&small());
        let now = Instant::START;
        assert_eq!(pair.nearest(now), None);
        let runs: Vec<Lbn> = (0..200).map(|run| Lbn(30 * run)).collect();
        for first in &runs {
            pair.waiting.insert(*first, SectorCount(4));
        }
        let nearest = |pair: &Rebuild<LoggingDrive>, runs: &[Lbn]| {
            let drive = pair.members[1].predictor();
            let reached = |first: &&Lbn| {
                let write = Request::new(0, Op::Write, **first, SectorCount(4));
                let location = drive.locate(&write);
                drive.outlook(now).positioning(&write, &location)
            };
            runs.iter().min_by_key(reached).copied()
        };
        let nearest_of_all = nearest(&pair, &runs);
        for (next, considered) in [
            (150, [&runs[150..], &runs[..14]].concat()),
            (40, runs[40..104].to_vec()),
        ] {
            pair.next = runs[next];
            let expected = nearest(&pair, &considered);
            assert_eq!(pair.nearest(now).map(|(first, _)| first), expected);
            assert_eq!(expected == nearest_of_all, next == 150);
        }
        (pair.next, pair.waiting) = (Lbn(0), BlockSet::none(pair.capacity()));
        pair.waiting.insert(Lbn(700), SectorCount(1_000));
        assert_eq!(pair.nearest(now), Some((Lbn(700), MAX_WRITE)));
    }

    /// In the end the spare has every block. Data that the foreground has written are never
    /// replaced by older data, and the rebuild writes no block twice.
    #[test]
    fn the_spare_gets_the_latest_data() {
        let spec = small();
        let (mut pair, logs, progress) = pair(&spec);
        rebuild(&mut pair, &progress);
        let [left, spare] = logs.map(|log| lock(&log).clone());
        // All writes except those of the rebuild force unit access.
        let (foreground, rebuilt): (Vec<Request>, Vec<Request>) =
            spare.iter().partition(|write| write.force_unit_access);
        assert_eq!(foreground.len(), left.len());
        let (rebuild_count, count) = (rebuilt.len(), foreground.len());
        assert!(rebuild_count > 50 && count > 200, "{rebuild_count} {count}");
        let mut times = vec![(0, 0); pair.capacity().0 as usize];
        for write in &spare {
            for block in write.start.0..write.start.0 + write.sectors.0 {
                let (rebuilt, own) = &mut times[block as usize];
                if write.force_unit_access {
                    *own += 1;
                } else {
                    assert_eq!((*rebuilt, *own), (0, 0), "old data: {write:?}");
                    *rebuilt += 1;
                }
            }
        }
        assert!(times.iter().all(|(rebuilt, own)| rebuilt + own > 0));
    }
}
