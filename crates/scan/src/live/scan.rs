//! A scan beside a foreground, in real time.

use diskarm_core::device::Completion;
use diskarm_core::engine::{Load, Observer, Rejected, Streams};
use diskarm_core::freeblock::{BlockSet, Delivered};
use diskarm_core::request::{Op, Request};
use diskarm_core::text::InputError;
use diskarm_core::units::{Instant, Lbn, SectorCount};
use diskarm_core::workload::Disk;

use super::{Live, ReadOnly, run};
use crate::background::Background;
use crate::external::External;
use crate::run::{Foreground, Place, Progress, Scan, Scanned, Watched, lock};
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
    /// When the workload or the blocks are not those of the device, or its place is inside.
    pub fn run_on(
        &self,
        live: Live,
        wanted: BlockSet,
        sink: impl FnMut(&Delivered) + Send + 'static,
    ) -> Result<Scanned, InputError> {
        let size = live.size();
        let progress = Progress::shared(&wanted);
        let tasks = self.tasks(wanted)?;
        let sink = Progress::told(&progress, sink);
        let background = Background::new(tasks, self.model, self.settings, sink);
        let watched = Watched::new(Some(&progress), self.max_requests);
        let (external, foreground) = self.serve_on(live, Some(background), watched)?;
        let background = external.background();
        let figures = background.map(|background| *background.figures());
        let conservatism = background.map(Background::conservatism);
        let ran = Scanned {
            foreground,
            figures: figures.unwrap_or_default(),
            seen: Some(*external.seen()),
            conservatism: conservatism.unwrap_or_default(),
            ..Scanned::default()
        };
        let scanned = lock(&progress).noted(ran, size.sector);
        Ok(scanned)
    }

    /// The first `requests` of the foreground without a scan.
    ///
    /// # Errors
    /// When the model's geometry is inconsistent.
    ///
    /// # Panics
    /// When the workload is not one for the device, or the place of the scan is inside.
    pub fn alone_on(&self, live: Live, requests: u64) -> Result<Foreground, InputError> {
        let (_, foreground) = self.serve_on(live, None, Watched::new(None, requests))?;
        Ok(foreground)
    }

    fn serve_on(
        &self,
        live: Live,
        background: Option<Background>,
        mut watched: Watched,
    ) -> Result<(External<Live>, Foreground), InputError> {
        let Place::Outside(depth) = self.place else {
            panic!("the firmware of a real device cannot be changed");
        };
        let (size, answers) = (live.size(), live.answers());
        let disk = Disk {
            sectors: size.sectors,
            sector: size.sector,
        };
        let mut load = ReadOnly(Streams::new(self.workload, disk, self.seed, u64::MAX));
        let model = Model::following(self.model)?;
        let mut external = External::new(live, model, self.policy, depth).far_away();
        let ran = run(&mut external, &answers, &mut Same::new(), &mut Counted(0));
        if let Err(Rejected { request, why }) = ran {
            panic!("{request:?}: {why}");
        }
        if let Some(background) = background {
            external = external.with_background(background);
        }
        let ran = run(&mut external, &answers, &mut load, &mut watched);
        if let Err(Rejected { request, why }) = ran {
            panic!("{request:?}: {why}");
        }
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

/// Ends when all of these have been read.
struct Counted(u32);

impl Observer for Counted {
    fn arrived(&mut self, _: Instant, _: &Request) {}

    fn completed(&mut self, _: &Completion) {
        self.0 += 1;
    }

    fn is_over(&self) -> bool {
        self.0 == SAME
    }
}
