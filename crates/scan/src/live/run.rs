//! Runs a load, or a scan during a foreground, in real time.

use diskarm_core::device::{Completion, Device};
use diskarm_core::engine::{Load, Observer, RejectedRequest};
use diskarm_core::freeblock::{BlockSet, Delivery};
use diskarm_core::request::{Op, Request};
use diskarm_core::text::InputError;
use diskarm_core::units::{Instant, Lbn, SectorCount};
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
/// called. It does not wait for requests that are under way then.
///
/// # Errors
/// If the device refuses a request.
pub fn run(
    device: &mut impl Device,
    inbox: &Inbox,
    load: &mut impl Load,
    observer: &mut impl Observer,
) -> Result<(), RejectedRequest> {
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
                .map_err(|why| RejectedRequest { request, why })?;
            observer.arrived(latest, &request);
        } else {
            inbox.wait([event, arrival].into_iter().flatten().min());
        }
    }
    Ok(())
}

/// A load that reads the blocks that another load writes.
#[derive(Clone, Debug)]
pub struct ReadOnly<L>(pub L);

impl<L: Load> Load for ReadOnly<L> {
    fn next_arrival(&mut self) -> Option<Instant> {
        self.0.next_arrival()
    }

    fn take(&mut self) -> Request {
        let request = self.0.take();
        let op = match request.op {
            Op::Write => Op::Read,
            op => op,
        };
        Request { op, ..request }
    }

    fn completed(&mut self, completion: &Completion) {
        self.0.completed(completion);
    }
}

impl Scan<'_> {
    /// Runs the scan in real time, with the scheduler outside a device that [`model`](Self::model)
    /// describes, until it is complete, the device is lost or it is stopped. Writes of the
    /// foreground become reads of the same blocks, and [`spec`](Self::spec) is ignored. For the
    /// foreground without the scan see [`Self::alone_on`].
    ///
    /// # Errors
    /// If the model's geometry is inconsistent.
    ///
    /// # Panics
    /// If the requests or the blocks are those of another device, or the scheduler is in the
    /// firmware.
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
        let with_progress = lock(&progress).add_to(report, sector);
        Ok(with_progress)
    }

    /// Serves the first `requests` requests of the foreground without a scan.
    ///
    /// # Errors
    /// If the model's geometry is inconsistent.
    ///
    /// # Panics
    /// If the requests are not for the device, or the scheduler is in the firmware.
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
        let refused = |RejectedRequest { request, why }| panic!("{request:?}: {why}");
        let mut warm_up = ScanObserver::new(None, WARM_UP.into());
        run(&mut external, &inbox, &mut WarmUp::new(), &mut warm_up).unwrap_or_else(refused);
        if let Some(background) = background {
            external = external.with_background(background);
            external = external.on_prediction(self.on_prediction.clone());
        }
        run(&mut external, &inbox, &mut load, &mut observer).unwrap_or_else(refused);
        Ok((external, observer.foreground()))
    }
}

/// A load of sequential reads of the same block, most of which the buffer serves.
struct WarmUp {
    left: u32,
    next: Option<Instant>,
}

impl WarmUp {
    fn new() -> Self {
        Self {
            left: WARM_UP,
            next: Some(Instant::START),
        }
    }
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
