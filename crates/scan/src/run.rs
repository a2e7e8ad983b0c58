//! A scan of a simulated drive under a foreground workload, and the same workload without a scan.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use diskarm_core::device::{Completion, Device};
use diskarm_core::drive::{Drive, GapReader};
use diskarm_core::engine::{self, Load, Observer, OpenLoop, Streams};
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
use diskarm_core::workload::{Disk, Workload};

use crate::background::{Background, BackgroundSettings};
use crate::external::ExternalScheduler;
use crate::watch::{Model, Observations, OnPrediction};

/// Number of parts of the disk whose progress is reported separately.
pub const PARTS: usize = 10;

/// Depth of the queue of a drive that schedules commands itself.
const QUEUE_DEPTH: u32 = 256;

#[derive(Clone, Debug)]
pub struct Scan<'a> {
    pub spec: &'a Spec,
    /// The scheduler's model of the drive.
    pub model: &'a Spec,
    pub requests: Requests<'a>,
    pub policy: &'a PolicyConfig,
    pub location: SchedulerLocation,
    pub settings: BackgroundSettings,
    /// The seed of the foreground and of the drive's random behaviour.
    pub seed: u64,
    /// The number of foreground requests after which even an incomplete scan ends.
    pub max_requests: u64,
    pub on_progress: OnProgress<'a>,
    /// Called with each command while a single drive is scanned from outside, but not while its
    /// foreground is served without the scan.
    pub on_prediction: OnPrediction,
}

/// A function that is called with the progress of a run, from 0 to 1. The first half is the
/// foreground with the scan, the second half is the same foreground without it.
#[derive(Clone, Copy, Default)]
pub struct OnProgress<'a>(pub Option<&'a (dyn Fn(f64) + Sync)>);

const REPORT_EVERY: u64 = 1 << 10;

impl fmt::Debug for OnProgress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OnProgress({})", self.0.is_some())
    }
}

/// The location of the scheduler, which also reads in gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulerLocation {
    /// In front of the drive, with at most this many requests inside the drive: 1 or 2.
    Outside(usize),
    /// In the drive's firmware: only the conservatism of [`BackgroundSettings`] applies.
    InFirmware,
}

impl SchedulerLocation {
    /// Returns the conservatism for seek times that vary by 0.15 ms. Outside the drive, it is twice
    /// that and is added to every seek. In the firmware, it is larger and is added once per gap.
    pub fn conservatism(self) -> Span {
        match self {
            Self::Outside(_) => BackgroundSettings::default().conservatism,
            Self::InFirmware => Span::from_ns(400_000),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct ScanReport {
    pub sector: Bytes,
    pub sectors: SectorCount,
    /// Number of blocks left when the run ended.
    pub left: SectorCount,
    /// The foreground during the scan.
    pub foreground: ForegroundReport,
    /// The same requests without the scan.
    pub alone: ForegroundReport,
    /// The instants at which 0, 1, … 100 % of the blocks had been read, up to the end of the run;
    /// empty if some blocks had been read before.
    pub percents: Vec<Instant>,
    /// The fraction of each tenth of the disk that was unread when 10, 20, … 90 % of all blocks had
    /// been read, up to the end of the run.
    pub by_part: Vec<[f64; PARTS]>,
    pub stats: BackgroundStats,
    /// Observations of the drive by a scheduler outside it.
    pub observations: Option<Observations>,
    /// The conservatism at the end.
    pub conservatism: Span,
    /// Maximum number of blocks that waited in memory for a spare.
    pub waited: Option<SectorCount>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForegroundReport {
    pub requests: u64,
    pub sectors: u64,
    /// The time at which the last request completed.
    pub end: Instant,
    pub response: Span,
    /// Batches of responses, for the confidence interval of the mean.
    pub batches: BatchMeans,
}

impl ScanReport {
    /// Returns the relative increase in the foreground's mean response time due to the scan.
    pub fn slowdown(&self) -> f64 {
        self.foreground.response.as_s() / self.alone.response.as_s() - 1.0
    }

    /// Returns half the width of the 95 % confidence interval of [`slowdown`](Self::slowdown), a
    /// ratio of means. The batches of both runs cover nearly the same requests, since they have
    /// equal numbers of completions (the ratio estimator of Cochran, "Sampling Techniques", 1977,
    /// chapter 6). `None` for fewer than 512 requests, or if their number differs from that without
    /// the scan.
    pub fn slowdown_half_width(&self) -> Option<f64> {
        let (during, alone) = (&self.foreground, &self.alone);
        let ratio = 1.0 + self.slowdown();
        let half = during.batches.half_width_95_less(ratio, &alone.batches)?;
        Some(half.as_s() / alone.response.as_s())
    }

    /// Returns the bytes per second that the scan read between the times when `from` and `to`
    /// percent of the blocks had been read; `None` if the run ended earlier.
    pub fn bytes_per_s(&self, from: usize, to: usize) -> Option<f64> {
        let (begin, end) = (self.percents.get(from)?, self.percents.get(to)?);
        let bytes = (self.sectors.0 * self.sector.0) as f64 * (to - from) as f64 / 100.0;
        Some(bytes / (*end - *begin).as_s())
    }

    pub(crate) fn new<D: Device>(
        external: &ExternalScheduler<D>,
        foreground: ForegroundReport,
    ) -> Self {
        let background = external.background();
        let background = background.map(|reads| (*reads.stats(), reads.conservatism()));
        let (stats, conservatism) = background.unwrap_or_default();
        Self {
            foreground,
            stats,
            observations: Some(*external.observations()),
            conservatism,
            ..Self::default()
        }
    }

    /// Returns true if every block was read or found to be unreadable.
    pub fn is_complete(&self) -> bool {
        self.left.0 == 0
    }
}

impl Scan<'_> {
    /// Runs the scan in virtual time. Fails if the drive's geometry is inconsistent, the drive
    /// refuses a request, or the run is too long.
    pub fn run(&self) -> Result<ScanReport, InputError> {
        let sectors = Layout::new(&self.spec.geometry)?.sectors();
        self.run_for(BlockSet::all(sectors), |_| {})
    }

    /// Like [`Self::run`], but scans only the `wanted` blocks, and delivers each of them to `sink`
    /// exactly once. Fails like [`Self::run`]. Panics if the blocks are those of another drive.
    pub fn run_for(
        &self,
        wanted: BlockSet,
        sink: impl FnMut(&Delivery) + Send + 'static,
    ) -> Result<ScanReport, InputError> {
        let layout = Arc::new(Layout::new(&self.spec.geometry)?);
        if self.location != SchedulerLocation::InFirmware {
            let drive = || Ok(self.drive(self.spec, &layout));
            return self.run_in_front_of(drive, wanted, sink);
        }
        let (tasks, progress) = self.tasks(wanted)?;
        let sink = Progress::sink(&progress, sink);
        let gaps = GapReader::new(tasks, self.settings.conservatism, sink);
        let report = self.run_in_firmware(&layout, gaps, &progress)?;
        Ok(self.with_progress(report, &progress))
    }

    /// Like [`Self::run_for`], but in front of a device other than the plain drive, such as one
    /// with faults. `device` creates it, once for the scan and once for the foreground without it.
    /// Fails like [`Self::run`], or if `device` fails. Panics if the blocks are those of another
    /// device, or the scheduler is in the firmware.
    pub fn run_in_front_of<D: Device, E: From<InputError>>(
        &self,
        device: impl Fn() -> Result<D, E>,
        wanted: BlockSet,
        sink: impl FnMut(&Delivery) + Send + 'static,
    ) -> Result<ScanReport, E> {
        let SchedulerLocation::Outside(depth) = self.location else {
            panic!("the scheduler must be outside the drive");
        };
        let (background, progress) = self.background(wanted, sink)?;
        let model = Model::new(self.model)?;
        let external = ExternalScheduler::new(device()?, model.clone(), self.policy, depth);
        let external = external.with_background(background);
        let mut external = external.on_prediction(self.on_prediction.clone());
        let foreground = self.serve(&mut external, Some(&progress), self.max_requests)?;
        let mut alone = ExternalScheduler::new(device()?, model, self.policy, depth);
        let report = ScanReport {
            alone: self.serve(&mut alone, None, foreground.requests)?,
            ..ScanReport::new(&external, foreground)
        };
        Ok(self.with_progress(report, &progress))
    }

    pub(crate) fn with_progress(
        &self,
        report: ScanReport,
        progress: &SharedProgress,
    ) -> ScanReport {
        let sector = Bytes(u64::from(self.spec.geometry.sector_bytes));
        lock(progress).add_to(report, sector)
    }

    pub(crate) fn tasks(&self, wanted: BlockSet) -> Result<(Tasks, SharedProgress), InputError> {
        let progress = Progress::shared(&wanted);
        let mut tasks = Tasks::new(Arc::new(Layout::new(&self.model.geometry)?));
        tasks.add(wanted, Priority::Normal);
        Ok((tasks, progress))
    }

    pub(crate) fn background(
        &self,
        wanted: BlockSet,
        sink: impl FnMut(&Delivery) + Send + 'static,
    ) -> Result<(Background, SharedProgress), InputError> {
        let (tasks, progress) = self.tasks(wanted)?;
        let sink = Progress::sink(&progress, sink);
        let background = Background::new(tasks, self.model, self.settings, sink);
        Ok((background, progress))
    }

    fn drive(&self, spec: &Spec, layout: &Arc<Layout>) -> Drive {
        let mechanism = Mechanism::new(spec, Arc::clone(layout), Angle::ZERO);
        Drive::with_mechanism(spec, mechanism).with_seed(self.seed)
    }

    /// Returns the specification of a drive whose firmware orders commands by the policy.
    pub(crate) fn spec_with_policy(&self) -> Spec {
        let mut spec = self.spec.clone();
        spec.queue.policy = self.policy.clone();
        spec.queue.depth = QUEUE_DEPTH;
        spec
    }

    fn run_in_firmware(
        &self,
        layout: &Arc<Layout>,
        gaps: GapReader,
        progress: &SharedProgress,
    ) -> Result<ScanReport, InputError> {
        let spec = self.spec_with_policy();
        let Ok(fcfs) = PolicyConfig::parse("fcfs", "policy") else {
            unreachable!("the table of policies has FCFS");
        };
        let host = |drive: Drive| {
            let policy = fcfs.policy(&drive);
            Host::new(drive, policy)
        };
        let mut scanned = host(self.drive(&spec, layout).with_gap_reader(gaps));
        let foreground = self.serve(&mut scanned, Some(progress), self.max_requests)?;
        let stats = scanned.device().gap_reader().map(GapReader::stats);
        let mut plain = host(self.drive(&spec, layout));
        let alone = self.serve(&mut plain, None, foreground.requests)?;
        Ok(ScanReport {
            foreground,
            alone,
            stats: stats.copied().unwrap_or_default(),
            conservatism: self.settings.conservatism,
            ..ScanReport::default()
        })
    }

    /// Serves the foreground until the scan, `max` requests or all requests have completed. Fails
    /// if the device refuses a request, or the run is too long.
    pub(crate) fn serve(
        &self,
        device: &mut impl Device,
        progress: Option<&SharedProgress>,
        max: u64,
    ) -> Result<ForegroundReport, InputError> {
        let disk = Disk {
            sectors: device.capacity(),
            sector: device.sector_size(),
        };
        let mut load = self.requests.load(disk, self.seed);
        let mut observer = ScanObserver::new(progress, self.requests.limit(max));
        observer.on_progress = self.on_progress;
        engine::run(device, &mut load, &mut observer)?;
        Ok(observer.foreground())
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Requests<'a> {
    /// An endless stream of generated requests.
    Generated(&'a Workload),
    /// Requests that arrive at given times, in ascending order, regardless of completions. The run
    /// ends with the last request, even if the scan is not complete.
    Recorded(&'a [(Instant, Request)]),
}

impl<'a> Requests<'a> {
    pub(crate) fn load(self, disk: Disk, seed: u64) -> Box<dyn Load + 'a> {
        match self {
            Self::Generated(workload) => Box::new(Streams::new(workload, disk, seed, u64::MAX)),
            Self::Recorded(requests) => Box::new(OpenLoop::new(requests.iter().copied())),
        }
    }

    /// Returns `max`, or the number of recorded requests if that is less.
    pub(crate) fn limit(self, max: u64) -> u64 {
        match self {
            Self::Generated(_) => max,
            Self::Recorded(requests) => max.min(requests.len() as u64),
        }
    }
}

pub(crate) type SharedProgress = Arc<Mutex<Progress>>;

#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Number of blocks of a disk.
    disk: u64,
    /// Number of blocks of all disks.
    sectors: u64,
    read: u64,
    read_by_part: [u64; PARTS],
    percents: Vec<Instant>,
    by_part: Vec<[f64; PARTS]>,
}

impl Progress {
    pub fn shared(wanted: &BlockSet) -> SharedProgress {
        let (sectors, left) = (wanted.sectors().0, wanted.count().0);
        let is_complete_scan = left == sectors;
        Arc::new(Mutex::new(Self {
            disk: sectors,
            sectors,
            read: sectors - left,
            percents: Vec::from_iter(is_complete_scan.then_some(Instant::START)),
            ..Self::default()
        }))
    }

    /// Creates the progress of a scan of disks of `sectors` blocks each, before any disk is added.
    pub fn for_disks(sectors: SectorCount) -> SharedProgress {
        Arc::new(Mutex::new(Self {
            disk: sectors.0,
            percents: vec![Instant::START],
            ..Self::default()
        }))
    }

    /// Adds a disk whose blocks are all wanted.
    pub fn add_disk(&mut self) {
        self.sectors += self.disk;
    }

    /// Wraps a sink so that it also updates `progress`.
    fn sink<S: FnMut(&Delivery) + Send + 'static>(
        progress: &SharedProgress,
        mut sink: S,
    ) -> impl FnMut(&Delivery) + Send + use<S> + 'static {
        let progress = Arc::clone(progress);
        move |delivered: &Delivery| {
            lock(&progress).record(delivered);
            sink(delivered);
        }
    }

    pub fn add_to(&self, report: ScanReport, sector: Bytes) -> ScanReport {
        ScanReport {
            sector,
            sectors: SectorCount(self.sectors),
            left: self.left(),
            percents: self.percents.clone(),
            by_part: self.by_part.clone(),
            ..report
        }
    }

    pub fn left(&self) -> SectorCount {
        SectorCount(self.sectors - self.read)
    }

    fn fraction_read(&self) -> f64 {
        self.read as f64 / self.sectors as f64
    }

    /// Returns the first block of a part of each disk.
    fn part_start(&self, part: usize) -> u64 {
        part as u64 * self.disk / PARTS as u64
    }

    pub fn record(&mut self, delivered: &Delivery) {
        let end = delivered.first.0 + delivered.sectors.0;
        for part in 0..PARTS {
            let (from, to) = (self.part_start(part), self.part_start(part + 1));
            let read = end.min(to).saturating_sub(delivered.first.0.max(from));
            self.read_by_part[part] += read;
        }
        self.read += delivered.sectors.0;
        let is_complete_scan = !self.percents.is_empty();
        while is_complete_scan && self.read * 100 >= self.percents.len() as u64 * self.sectors {
            self.percents.push(delivered.at);
            if (self.percents.len() - 1).is_multiple_of(10) && self.read < self.sectors {
                let disks = self.sectors / self.disk;
                self.by_part.push(std::array::from_fn(|part| {
                    let part_blocks = (self.part_start(part + 1) - self.part_start(part)) * disks;
                    // A part may be empty.
                    (part_blocks - self.read_by_part[part]) as f64 / part_blocks.max(1) as f64
                }));
            }
        }
    }
}

pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An observer of a foreground workload that ends the run.
pub(crate) struct ScanObserver<'a> {
    progress: Option<SharedProgress>,
    max: u64,
    on_progress: OnProgress<'a>,
    foreground: ForegroundReport,
    responses: Span,
}

impl ScanObserver<'_> {
    /// Creates an observer that ends the run when the scan or `max` requests have completed.
    pub fn new(progress: Option<&SharedProgress>, max: u64) -> Self {
        Self {
            progress: progress.cloned(),
            max,
            on_progress: OnProgress::default(),
            foreground: ForegroundReport::default(),
            responses: Span::ZERO,
        }
    }

    pub fn foreground(self) -> ForegroundReport {
        let mut foreground = self.foreground;
        let count = foreground.requests.max(1) as i64;
        foreground.response = Span::from_ns(self.responses.as_ns() / count);
        foreground
    }

    fn done(&self) -> f64 {
        let served = self.foreground.requests as f64 / self.max as f64;
        match &self.progress {
            Some(progress) => lock(progress).fraction_read().max(served) / 2.0,
            None => (1.0 + served) / 2.0,
        }
    }
}

impl Observer for ScanObserver<'_> {
    fn arrived(&mut self, _: Instant, _: &Request) {}

    fn completed(&mut self, completion: &Completion) {
        self.foreground.requests += 1;
        self.foreground.sectors += completion.request.sectors.0;
        self.foreground.end = completion.at;
        self.responses += completion.response();
        self.foreground.batches.record(completion.response());
        if let Some(call) = self.on_progress.0
            && self.foreground.requests.is_multiple_of(REPORT_EVERY)
        {
            call(self.done());
        }
    }

    fn is_over(&self) -> bool {
        let is_complete = |progress: &SharedProgress| lock(progress).left().0 == 0;
        self.foreground.requests >= self.max || self.progress.as_ref().is_some_and(is_complete)
    }
}
