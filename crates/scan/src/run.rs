//! A scan of a whole simulated drive beside a foreground, and the same foreground without it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use diskarm_core::device::{Completion, Device};
use diskarm_core::drive::{Drive, InGaps};
use diskarm_core::engine::{self, Observer, Rejected};
use diskarm_core::freeblock::{BackgroundStats, BlockSet, Delivery, Tasks};
use diskarm_core::geometry::Layout;
use diskarm_core::host::Host;
use diskarm_core::mechanics::Mechanism;
use diskarm_core::request::{Priority, Request};
use diskarm_core::sched::PolicyConfig;
use diskarm_core::spec::Spec;
use diskarm_core::stats::BatchMeans;
use diskarm_core::text::InputError;
use diskarm_core::units::{Angle, Bytes, Instant, SectorCount, Span};
use diskarm_core::workload::Disk;

use crate::background::{Background, BackgroundSettings};
use crate::external::ExternalScheduler;
use crate::predicted::OnPrediction;
use crate::requests::Requests;
use crate::watch::{Model, Observations};

/// Parts of the disk whose progress is reported separately.
pub const PARTS: usize = 10;

/// Commands that a drive which schedules them itself takes at one time.
pub(crate) const QUEUE: u32 = 256;

/// A scan to be run.
#[derive(Clone, Debug)]
pub struct Scan<'a> {
    /// The drive.
    pub spec: &'a Spec,
    /// What the scheduler believes of it.
    pub model: &'a Spec,
    /// The foreground.
    pub requests: Requests<'a>,
    /// The order in which it is served.
    pub policy: &'a PolicyConfig,
    /// Where requests are scheduled and gaps are filled.
    pub location: SchedulerLocation,
    /// How background reads are chosen.
    pub settings: BackgroundSettings,
    /// The seed of the foreground and of what the drive does at random.
    pub seed: u64,
    /// The number of foreground requests after which the run ends, whether the scan is complete or
    /// not.
    pub max_requests: u64,
    /// Called with how much is done.
    pub on_progress: OnProgress<'a>,
    /// Called with each command beside a scan of one drive from outside: not by
    /// [`run_array`](Self::run_array), nor with the foreground without the scan.
    pub on_prediction: OnPrediction,
}

/// A function that is called with how much of a run is done, from 0 to 1: its first half is the
/// scan beside the foreground, its second half the same foreground without it.
#[derive(Clone, Copy, Default)]
pub struct OnProgress<'a>(pub Option<&'a (dyn Fn(f64) + Sync)>);

/// The number of requests that are served between two calls.
const CALL_EVERY: u64 = 1 << 10;

impl fmt::Debug for OnProgress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnProgress")
            .field(&self.0.is_some())
            .finish()
    }
}

/// Where requests are scheduled and gaps are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulerLocation {
    /// In front of the drive; the number of requests in it at one time, 1 or 2.
    Outside(usize),
    /// In the drive's own queue: of [`BackgroundSettings`] only the conservatism matters.
    Inside,
}

impl SchedulerLocation {
    /// Conservatism for seeks that scatter by 0.15 ms: twice that, which is added to every seek
    /// outside the drive; more inside, where it is added once in a gap.
    pub fn conservatism(self) -> Span {
        match self {
            Self::Outside(_) => BackgroundSettings::default().conservatism,
            Self::Inside => Span::from_ns(400_000),
        }
    }
}

/// What a scan did.
#[derive(Clone, Debug, Default)]
pub struct ScanReport {
    /// Size of a block.
    pub sector: Bytes,
    /// Blocks of the drive.
    pub sectors: SectorCount,
    /// Blocks left when the run ended.
    pub left: SectorCount,
    /// The foreground beside the scan.
    pub foreground: Foreground,
    /// The same requests without it.
    pub alone: Foreground,
    /// When 0, 1, … 100 % of the blocks had been read, as far as it came; empty if some had been
    /// read before it began.
    pub percents: Vec<Instant>,
    /// The share of each tenth of the disk's blocks that was left when 10, 20, … 90 % of all had
    /// been read, as far as it came.
    pub by_part: Vec<[f64; PARTS]>,
    /// What was done in the background.
    pub stats: BackgroundStats,
    /// What was seen of the drive from outside.
    pub seen: Option<Observations>,
    /// Conservatism at the end.
    pub conservatism: Span,
    /// The most that ever waited in memory for a spare, if any.
    pub waited: Option<SectorCount>,
}

/// How a foreground fared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Foreground {
    /// Requests that completed.
    pub requests: u64,
    /// Blocks that they transferred.
    pub sectors: u64,
    /// When the last one completed.
    pub end: Instant,
    /// The mean response time.
    pub response: Span,
    /// For its confidence interval.
    pub batches: BatchMeans,
}

impl ScanReport {
    /// By how much the mean response time of the foreground is longer than without the scan, as a
    /// share.
    pub fn slowdown(&self) -> f64 {
        self.foreground.response.as_s() / self.alone.response.as_s() - 1.0
    }

    /// Half the width of the 95 % confidence interval of [`slowdown`](Self::slowdown), a ratio of
    /// means, from batches of as many completions, which are of nearly the same requests (the
    /// ratio estimator of Cochran, "Sampling Techniques", 1977, chapter 6). `None` for fewer than
    /// 512 requests, or if those without the scan are not as many.
    pub fn slowdown_half_width(&self) -> Option<f64> {
        let (beside, alone) = (&self.foreground, &self.alone);
        let ratio = 1.0 + self.slowdown();
        let half = beside.batches.half_width_95_less(ratio, &alone.batches)?;
        Some(half.as_s() / alone.response.as_s())
    }

    /// Bytes read for the scan per second while from `from` to `to` percent of the blocks had been
    /// read; `None` if it did not come that far.
    pub fn bytes_per_s(&self, from: usize, to: usize) -> Option<f64> {
        let (begin, end) = (self.percents.get(from)?, self.percents.get(to)?);
        let bytes = (self.sectors.0 * self.sector.0) as f64 * (to - from) as f64 / 100.0;
        Some(bytes / (*end - *begin).as_s())
    }

    /// What an external scheduler did and saw.
    pub(crate) fn outside<D: Device>(
        external: &ExternalScheduler<D>,
        foreground: Foreground,
    ) -> Self {
        let background = external.background();
        let stats = background.map(|background| *background.stats());
        let conservatism = background.map(Background::conservatism);
        Self {
            foreground,
            stats: stats.unwrap_or_default(),
            seen: Some(*external.observations()),
            conservatism: conservatism.unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Whether every block was read or found to be unreadable.
    pub fn is_complete(&self) -> bool {
        self.left.0 == 0
    }
}

impl Scan<'_> {
    /// Runs it in virtual time.
    ///
    /// # Errors
    /// When the drive's geometry is inconsistent.
    ///
    /// # Panics
    /// When the requests are not for the drive.
    pub fn run(&self) -> Result<ScanReport, InputError> {
        let sectors = Layout::new(&self.spec.geometry)?.sectors();
        self.run_for(BlockSet::all(sectors), |_| {})
    }

    /// The same for some blocks only. Calls `sink` for all that is read or cannot be: each of the
    /// `wanted` blocks once.
    ///
    /// # Errors
    /// When the drive's geometry is inconsistent.
    ///
    /// # Panics
    /// When the requests are not for the drive, or the blocks are those of another.
    pub fn run_for(
        &self,
        wanted: BlockSet,
        sink: impl FnMut(&Delivery) + Send + 'static,
    ) -> Result<ScanReport, InputError> {
        let layout = Arc::new(Layout::new(&self.spec.geometry)?);
        if self.place != SchedulerLocation::InFirmware {
            let drive = || Ok(self.drive(self.spec, &layout));
            return self.run_in_front_of(drive, wanted, sink);
        }
        let (tasks, progress) = self.tasks(wanted)?;
        let sink = Progress::sink(&progress, sink);
        let gaps = InGaps::new(tasks, self.settings.conservatism, sink);
        let ran = self.inside(&layout, gaps, &progress);
        let scanned = lock(&progress).added_to(ran, self.sector());
        Ok(scanned)
    }

    /// The same in front of another device than the drive alone, such as one with faults: one for
    /// the scan, and one for the foreground without it.
    ///
    /// # Errors
    /// When the model's geometry is inconsistent; those of `device`.
    ///
    /// # Panics
    /// When the requests are not for the device, the blocks are those of another, or the place
    /// of the scan is inside.
    pub fn run_in_front_of<D: Device, E: From<InputError>>(
        &self,
        device: impl Fn() -> Result<D, E>,
        wanted: BlockSet,
        sink: impl FnMut(&Delivery) + Send + 'static,
    ) -> Result<ScanReport, E> {
        let SchedulerLocation::Outside(depth) = self.place else {
            panic!("not from outside");
        };
        let (background, progress) = self.background(wanted, sink)?;
        let model = Model::new(self.model)?;
        let external = ExternalScheduler::new(device()?, model.clone(), self.policy, depth);
        let external = external.with_background(background);
        let mut external = external.on_prediction(self.on_prediction.clone());
        let foreground = self.serve(&mut external, Some(&progress), self.max_requests);
        let mut alone = ExternalScheduler::new(device()?, model, self.policy, depth);
        let ran = ScanReport {
            alone: self.serve(&mut alone, None, foreground.requests),
            ..ScanReport::outside(&external, foreground)
        };
        let scanned = lock(&progress).added_to(ran, self.sector());
        Ok(scanned)
    }

    pub(crate) fn sector(&self) -> Bytes {
        Bytes(u64::from(self.spec.geometry.sector_bytes))
    }

    /// The tasks of a scan of these blocks, and how far it has come.
    pub(crate) fn tasks(
        &self,
        wanted: BlockSet,
    ) -> Result<(Tasks, Arc<Mutex<Progress>>), InputError> {
        let progress = Progress::shared(&wanted);
        let mut tasks = Tasks::new(Arc::new(Layout::new(&self.model.geometry)?));
        tasks.add(wanted, Priority::Normal);
        Ok((tasks, progress))
    }

    /// The same in front of a device.
    pub(crate) fn background(
        &self,
        wanted: BlockSet,
        sink: impl FnMut(&Delivery) + Send + 'static,
    ) -> Result<(Background, Arc<Mutex<Progress>>), InputError> {
        let (tasks, progress) = self.tasks(wanted)?;
        let sink = Progress::sink(&progress, sink);
        let background = Background::new(tasks, self.model, self.settings, sink);
        Ok((background, progress))
    }

    /// The drive of the scan.
    fn drive(&self, spec: &Spec, layout: &Arc<Layout>) -> Drive {
        let mechanism = Mechanism::new(spec, Arc::clone(layout), Angle::ZERO);
        Drive::with_mechanism(spec, mechanism).seeded(self.seed)
    }

    fn inside(
        &self,
        layout: &Arc<Layout>,
        gaps: InGaps,
        progress: &Arc<Mutex<Progress>>,
    ) -> ScanReport {
        let mut spec = self.spec.clone();
        spec.queue.policy = self.policy.clone();
        spec.queue.depth = QUEUE;
        let Ok(fcfs) = PolicyConfig::parse("fcfs", "policy") else {
            unreachable!("the table of policies has it");
        };
        let drive = self.drive(&spec, layout).reading_in_gaps(gaps);
        let policy = fcfs.policy(&drive);
        let mut host = Host::new(drive, policy);
        let foreground = self.serve(&mut host, Some(progress), self.max_requests);
        let stats = host.device().in_gaps().map(InGaps::stats);
        let drive = self.drive(&spec, layout);
        let policy = fcfs.policy(&drive);
        let alone = self.serve(&mut Host::new(drive, policy), None, foreground.requests);
        ScanReport {
            foreground,
            alone,
            stats: stats.copied().unwrap_or_default(),
            conservatism: self.settings.conservatism,
            ..ScanReport::default()
        }
    }

    /// Serves the foreground until the scan is complete, if any, or `most` requests or all
    /// that there are have completed.
    pub(crate) fn serve(
        &self,
        device: &mut impl Device,
        progress: Option<&Arc<Mutex<Progress>>>,
        max: u64,
    ) -> Foreground {
        let disk = Disk {
            sectors: device.capacity(),
            sector: device.sector_size(),
        };
        let mut load = self.requests.coming(disk, self.seed);
        let mut watched = Watched::new(progress, self.requests.at_most(max));
        watched.on_progress = self.on_progress;
        if let Err(Rejected { request, why }) = engine::run(device, &mut load, &mut watched) {
            panic!("{request:?}: {why}");
        }
        watched.foreground()
    }
}

/// How far a scan has come.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Blocks of a disk.
    disk: u64,
    /// Blocks of all disks.
    sectors: u64,
    read: u64,
    of_parts: [u64; PARTS],
    percents: Vec<Instant>,
    by_part: Vec<[f64; PARTS]>,
}

impl Progress {
    /// That of a scan of these blocks.
    pub fn shared(wanted: &BlockSet) -> Arc<Mutex<Self>> {
        let (sectors, left) = (wanted.sectors().0, wanted.count().0);
        let percents = match left == sectors {
            true => vec![Instant::START],
            false => Vec::new(),
        };
        Arc::new(Mutex::new(Self {
            disk: sectors,
            sectors,
            read: sectors - left,
            of_parts: [0; PARTS],
            percents,
            by_part: Vec::new(),
        }))
    }

    /// That of a scan of no disks yet, each of `sectors` blocks.
    pub fn of_disks(sectors: SectorCount) -> Self {
        Self {
            disk: sectors.0,
            sectors: 0,
            read: 0,
            of_parts: [0; PARTS],
            percents: vec![Instant::START],
            by_part: Vec::new(),
        }
    }

    /// Also scans another disk, of which all is wanted.
    pub fn add_disk(&mut self) {
        self.sectors += self.disk;
    }

    /// `sink`, with `progress` kept up to date.
    fn sink<S: FnMut(&Delivery) + Send + 'static>(
        progress: &Arc<Mutex<Self>>,
        mut sink: S,
    ) -> impl FnMut(&Delivery) + Send + use<S> + 'static {
        let progress = Arc::clone(progress);
        move |delivered: &Delivery| {
            lock(&progress).take(delivered);
            sink(delivered);
        }
    }

    /// What ran, with the progress that it made.
    pub fn added_to(&self, ran: ScanReport, sector: Bytes) -> ScanReport {
        ScanReport {
            sector,
            sectors: SectorCount(self.sectors),
            left: self.left(),
            percents: self.percents.clone(),
            by_part: self.by_part.clone(),
            ..ran
        }
    }

    pub fn left(&self) -> SectorCount {
        SectorCount(self.sectors - self.read)
    }

    /// How much of the blocks has been read, from 0 to 1.
    fn share(&self) -> f64 {
        self.read as f64 / self.sectors as f64
    }

    /// The first block of a part of each disk.
    fn part_start(&self, part: usize) -> u64 {
        part as u64 * self.disk / PARTS as u64
    }

    pub fn take(&mut self, delivered: &Delivery) {
        let end = delivered.first.0 + delivered.sectors.0;
        for part in 0..PARTS {
            let (from, to) = (self.part_start(part), self.part_start(part + 1));
            let read = end.min(to).saturating_sub(delivered.first.0.max(from));
            self.of_parts[part] += read;
        }
        self.read += delivered.sectors.0;
        let begun = !self.percents.is_empty();
        while begun && self.read * 100 >= self.percents.len() as u64 * self.sectors {
            self.percents.push(delivered.at);
            if (self.percents.len() - 1).is_multiple_of(10) && self.read < self.sectors {
                let disks = self.sectors / self.disk;
                self.by_part.push(std::array::from_fn(|part| {
                    let whole = (self.part_start(part + 1) - self.part_start(part)) * disks;
                    // A part without blocks has none left.
                    (whole - self.of_parts[part]) as f64 / whole.max(1) as f64
                }));
            }
        }
    }
}

pub(crate) fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) struct Watched<'a> {
    progress: Option<Arc<Mutex<Progress>>>,
    max: u64,
    on_progress: OnProgress<'a>,
    foreground: Foreground,
    responses: Span,
}

impl Watched<'_> {
    /// Sees a foreground until the scan is complete, if any, or `most` requests have
    /// completed.
    pub fn new(progress: Option<&Arc<Mutex<Progress>>>, max: u64) -> Self {
        Self {
            progress: progress.cloned(),
            max,
            on_progress: OnProgress::default(),
            foreground: Foreground::default(),
            responses: Span::ZERO,
        }
    }

    pub fn foreground(self) -> Foreground {
        let mut foreground = self.foreground;
        let count = foreground.requests.max(1) as i64;
        foreground.response = Span::from_ns(self.responses.as_ns() / count);
        foreground
    }
}

impl Watched<'_> {
    /// How far the run has come.
    fn done(&self) -> f64 {
        let served = self.foreground.requests as f64 / self.max as f64;
        match &self.progress {
            Some(progress) => lock(progress).share().max(served) / 2.0,
            None => (1.0 + served) / 2.0,
        }
    }
}

impl Observer for Watched<'_> {
    fn arrived(&mut self, _: Instant, _: &Request) {}

    fn completed(&mut self, completion: &Completion) {
        self.foreground.requests += 1;
        self.foreground.sectors += completion.request.sectors.0;
        self.foreground.end = completion.at;
        self.responses += completion.response();
        self.foreground.batches.record(completion.response());
        if let Some(call) = self.on_progress.0
            && self.foreground.requests.is_multiple_of(CALL_EVERY)
        {
            call(self.done());
        }
    }

    fn is_over(&self) -> bool {
        let is_complete = |progress: &Arc<Mutex<Progress>>| lock(progress).left().0 == 0;
        self.foreground.requests >= self.max || self.progress.as_ref().is_some_and(is_complete)
    }
}
