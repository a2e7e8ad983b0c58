//! Real-time runs of a load, of a scan alongside a foreground, and of a sequential pass alone.

use diskarm_core::device::{Completion, Device};
use diskarm_core::engine::{Load, Observer, RunError};
use diskarm_core::freeblock::{BlockSet, Delivery};
use diskarm_core::request::{Op, Request};
use diskarm_core::text::InputError;
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};
use diskarm_core::workload::Disk;

use super::device::Live;
use super::inbox::Inbox;
use crate::background::Background;
use crate::external::ExternalScheduler;
use crate::run::{ForegroundReport, Scan, ScanObserver, ScanReport, SchedulerLocation, lock};
use crate::watch::Model;

/// Number of initial reads of the same block, from which the lag is learnt.
const WARM_UP: u32 = 40;

/// Runs `load` on a device in front of a [`Live`], as [`engine::run`](diskarm_core::engine::run)
/// does in virtual time, until the observer ends the run, the source is lost, or [`Inbox::stop`] is
/// called. Does not wait for outstanding requests. Fails if the device refuses a request.
pub fn run(
    device: &mut impl Device,
    inbox: &Inbox,
    load: &mut impl Load,
    observer: &mut impl Observer,
) -> Result<(), RunError> {
    let mut latest = inbox.now();
    while !inbox.is_stopped() && inbox.lost().is_none() && !observer.is_over() {
        let now = inbox.now();
        let (event, arrival) = (device.next_event(), load.next_arrival());
        let is_first = |event: &Instant| arrival.is_none_or(|arrival| *event <= arrival);
        if let Some(event) = event.filter(|event| *event <= now).filter(is_first) {
            latest = latest.max(event);
            if let Some(completion) = &device.advance(latest) {
                observer.completed(completion);
                load.completed(completion);
            }
        } else if let Some(at) = arrival.filter(|at| *at <= now) {
            let request = load.take();
            latest = latest.max(at);
            device
                .submit(latest, request)
                .map_err(|why| RunError::Rejected { request, why })?;
            observer.arrived(latest, &request);
        } else {
            inbox.wait([event, arrival].into_iter().flatten().min());
        }
    }
    Ok(())
}

/// Another load with its writes replaced by reads of the same blocks.
#[derive(Clone, Debug)]
pub struct ReadOnly<L>(pub L);

impl<L: Load> Load for ReadOnly<L> {
    fn next_arrival(&mut self) -> Option<Instant> {
        self.0.next_arrival()
    }

    fn take(&mut self) -> Request {
        let mut request = self.0.take();
        if request.op == Op::Write {
            request.op = Op::Read;
        }
        request
    }

    fn completed(&mut self, completion: &Completion) {
        self.0.completed(completion);
    }
}

impl Scan<'_> {
    /// Runs the scan in real time, with the scheduler outside a device that [`model`](Self::model)
    /// describes, until the scan is complete or stopped, or the device is lost. Writes of the
    /// foreground become reads of the same blocks, and [`spec`](Self::spec) is ignored.
    /// [`Self::alone_on`] runs the foreground without the scan. Fails if the model's geometry is
    /// inconsistent, or the device refuses a request. Panics if the blocks are those of another
    /// device, or the scheduler is in the firmware.
    pub fn run_on(
        &self,
        live: Live,
        wanted: BlockSet,
        sink: impl FnMut(&Delivery) + Send + 'static,
    ) -> Result<ScanReport, InputError> {
        let sector = live.size().sector;
        let (background, progress) = self.background(wanted, sink)?;
        let max = self.requests.limit(self.max_requests);
        let observer = ScanObserver::new(Some(&progress), max);
        let (external, foreground) = self.serve_on(live, Some(background), observer)?;
        let report = ScanReport::new(&external, foreground);
        Ok(lock(&progress).add_to(report, sector))
    }

    /// Serves the first `requests` requests of the foreground without a scan. Fails if the model's
    /// geometry is inconsistent, or the device refuses a request. Panics if the scheduler is in the
    /// firmware.
    pub fn alone_on(&self, live: Live, requests: u64) -> Result<ForegroundReport, InputError> {
        let (_, foreground) = self.serve_on(live, None, ScanObserver::new(None, requests))?;
        Ok(foreground)
    }

    fn serve_on(
        &self,
        live: Live,
        background: Option<Background>,
        mut observer: ScanObserver<'_>,
    ) -> Result<(ExternalScheduler<Live>, ForegroundReport), InputError> {
        let SchedulerLocation::Outside(depth) = self.location else {
            panic!("the firmware of a real device cannot be changed");
        };
        let (size, inbox) = (live.size(), live.inbox());
        let disk = Disk {
            sectors: size.sectors,
            sector: size.sector,
        };
        let mut load = ReadOnly(self.requests.load(disk, self.seed));
        let model = Model::new(self.model)?;
        let mut external = ExternalScheduler::new(live, model, self.policy, depth).learning_lag();
        let mut warm_up = WarmUp {
            left: WARM_UP,
            next: Some(Instant::START),
        };
        let mut warm_up_observer = ScanObserver::new(None, WARM_UP.into());
        run(&mut external, &inbox, &mut warm_up, &mut warm_up_observer)?;
        if let Some(background) = background {
            external = external.with_background(background);
            external = external.on_prediction(self.on_prediction.clone());
        }
        run(&mut external, &inbox, &mut load, &mut observer)?;
        Ok((external, observer.foreground()))
    }
}

/// A load of reads of the same block, one after another, most of which the buffer serves.
struct WarmUp {
    left: u32,
    next: Option<Instant>,
}

impl Load for WarmUp {
    fn next_arrival(&mut self) -> Option<Instant> {
        self.next
    }

    fn take(&mut self) -> Request {
        self.left -= 1;
        self.next = None;
        Request::new(u64::from(self.left), Op::Read, Lbn(0), SectorCount(1))
    }

    fn completed(&mut self, completion: &Completion) {
        self.next = (self.left > 0).then_some(completion.at);
    }
}

/// Number of consecutive failures other than unreadable blocks after which a pass gives up.
const MAX_FAILURES: u32 = 8;

/// Pause after the second and each further consecutive failure.
const PAUSE: Span = Span::from_ns(1_000_000_000);

/// A pass over the blocks of a device.
pub struct SequentialPass<D, S> {
    device: D,
    wanted: BlockSet,
    sink: S,
    depth: usize,
    max: SectorCount,
    next: Lbn,
    last_id: u64,
    active: usize,
    /// The end of the current pause.
    resume_at: Instant,
    /// Number of failed reads since the last successful one.
    failures: u32,
}

impl<D: Device, S: FnMut(&Delivery)> SequentialPass<D, S> {
    /// Creates a pass over the `wanted` blocks with at most `depth` reads at the same time, each of
    /// at most `max` blocks. Delivers each block to `sink` exactly once, as task 0.
    pub fn new(device: D, wanted: BlockSet, depth: usize, max: SectorCount, sink: S) -> Self {
        Self {
            device,
            wanted,
            sink,
            depth,
            max: max.min(Request::MAX_SECTORS),
            next: Lbn(0),
            last_id: 0,
            active: 0,
            resume_at: Instant::START,
            failures: 0,
        }
    }

    /// Reads in real time, by the clock of `inbox`, until everything is delivered, the pass has
    /// given up, the source is lost, or the inbox is stopped. Does not wait for reads still in
    /// progress.
    pub fn run(&mut self, inbox: &Inbox) {
        while !self.is_over() && !inbox.is_stopped() && inbox.lost().is_none() {
            let (now, event) = (inbox.now(), self.next_event());
            let Some(due) = event.filter(|event| *event <= now) else {
                inbox.wait(event);
                continue;
            };
            while let Some(completion) = self.device.advance(due) {
                self.complete(&completion);
            }
            self.feed(due);
        }
    }

    fn next_event(&self) -> Option<Instant> {
        let can_send = self.active < self.depth && !self.wanted.is_empty();
        let send = can_send.then_some(self.resume_at);
        [self.device.next_event(), send].into_iter().flatten().min()
    }

    fn is_over(&self) -> bool {
        self.has_given_up() || self.active == 0 && self.wanted.is_empty()
    }

    /// Returns true if the pass has ended because of too many consecutive failures.
    pub fn has_given_up(&self) -> bool {
        self.failures >= MAX_FAILURES
    }

    fn feed(&mut self, now: Instant) {
        while now >= self.resume_at && self.active < self.depth && self.device.has_room() {
            let Some((first, sectors)) = self.next_run() else {
                return;
            };
            self.wanted.remove(first, sectors);
            self.next = first + sectors;
            self.last_id += 1;
            self.active += 1;
            let read = Request::new(self.last_id, Op::Read, first, sectors);
            let result = self.device.submit(now, read);
            assert_eq!(result, Ok(()), "a device with room refused {read:?}");
        }
    }

    fn next_run(&self) -> Option<(Lbn, SectorCount)> {
        let all = Lbn(self.wanted.sectors().0);
        let next = self.wanted.first_in(self.next, all);
        let first = next.or_else(|| self.wanted.first_in(Lbn(0), self.next))?;
        let end = Lbn((first.0 + self.max.0).min(all.0));
        self.wanted.runs_in(first, end).next()
    }

    fn complete(&mut self, completion: &Completion) {
        self.active -= 1;
        let (first, end) = (completion.request.start, completion.request.end());
        let (readable_end, retry_from) = match completion.bad_block() {
            Some(bad) => (bad, Lbn(bad.0 + 1)),
            None if completion.status.is_success() => (end, end),
            None => (first, first),
        };
        self.deliver(first, readable_end, completion.at, true);
        if completion.bad_block().is_some() {
            self.deliver(readable_end, retry_from, completion.at, false);
        }
        self.wanted.insert(retry_from, end - retry_from);
        if retry_from > first {
            self.failures = 0;
            self.next = self.next.min(retry_from);
        } else {
            self.failures += 1;
            if self.failures > 1 {
                self.resume_at = completion.at + PAUSE;
            }
        }
    }

    fn deliver(&mut self, first: Lbn, end: Lbn, at: Instant, is_readable: bool) {
        if first < end {
            (self.sink)(&Delivery {
                task: 0,
                first,
                sectors: end - first,
                at,
                is_readable,
            });
        }
    }
}
