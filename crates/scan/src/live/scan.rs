//! A scan beside a foreground, in real time.

use diskarm_core::device::Completion;
use diskarm_core::engine::{Load, Rejected};
use diskarm_core::freeblock::{BlockSet, Delivery};
use diskarm_core::request::{Op, Request};
use diskarm_core::text::InputError;
use diskarm_core::units::{Instant, Lbn, SectorCount};
use diskarm_core::workload::Disk;

use super::{Live, ReadOnly, run};
use crate::background::Background;
use crate::external::ExternalScheduler;
use crate::run::{Foreground, Scan, ScanReport, SchedulerLocation, Watched, lock};
use crate::watch::Model;

/// Reads of the same block in the beginning, which tell how long a command is on its way.
const SAME: u32 = 40;

impl Scan<'_> {
    /// Runs it in real time on a device that [`model`](Self::model) describes, from outside, until
    /// it is complete, the device is lost or it is stopped. Writes of the foreground become reads
    /// of the same blocks, and [`spec`](Self::spec) is not looked at. The foreground without the
    /// scan is left to [`Self::alone_on`].
    ///
    /// # Errors
    /// When the model's geometry is inconsistent.
    ///
    /// # Panics
    /// When the requests or the blocks are not those of the device, or its place is inside.
    pub fn run_on(
        &self,
        live: Live,
        wanted: BlockSet,
        sink: impl FnMut(&Delivery) + Send + 'static,
    ) -> Result<ScanReport, InputError> {
        let sector = live.size().sector;
        let (background, progress) = self.background(wanted, sink)?;
        let max = self.requests.at_most(self.max_requests);
        let watched = Watched::new(Some(&progress), max);
        let (external, foreground) = self.serve_on(live, Some(background), watched)?;
        let scanned = lock(&progress).added_to(ScanReport::outside(&external, foreground), sector);
        Ok(scanned)
    }

    /// The first `requests` of the foreground without a scan.
    ///
    /// # Errors
    /// When the model's geometry is inconsistent.
    ///
    /// # Panics
    /// When the requests are not for the device, or the place of the scan is inside.
    pub fn alone_on(&self, live: Live, requests: u64) -> Result<Foreground, InputError> {
        let (_, foreground) = self.serve_on(live, None, Watched::new(None, requests))?;
        Ok(foreground)
    }

    fn serve_on(
        &self,
        live: Live,
        background: Option<Background>,
        mut watched: Watched<'_>,
    ) -> Result<(ExternalScheduler<Live>, Foreground), InputError> {
        let SchedulerLocation::Outside(depth) = self.place else {
            panic!("the firmware of a real device cannot be changed");
        };
        let (size, answers) = (live.size(), live.answers());
        let disk = Disk {
            sectors: size.sectors,
            sector: size.sector,
        };
        let mut load = ReadOnly(self.requests.coming(disk, self.seed));
        let model = Model::new(self.model)?;
        let mut external = ExternalScheduler::new(live, model, self.policy, depth).learning_lag();
        let refused = |Rejected { request, why }| panic!("{request:?}: {why}");
        let mut same = Watched::new(None, SAME.into());
        run(&mut external, &answers, &mut Same::new(), &mut same).unwrap_or_else(refused);
        if let Some(background) = background {
            external = external.with_background(background);
            external = external.on_prediction(self.on_prediction.clone());
        }
        run(&mut external, &answers, &mut load, &mut watched).unwrap_or_else(refused);
        Ok((external, watched.foreground()))
    }
}

/// Reads of the same blocks, one after the other, most of which the buffer serves.
struct Same {
    left: u32,
    next: Option<Instant>,
}

impl Same {
    fn new() -> Self {
        Self {
            left: SAME,
            next: Some(Instant::START),
        }
    }
}

impl Load for Same {
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
