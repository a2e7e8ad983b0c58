//! A scan of every disk of an array beside the array's foreground.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};

use diskarm_core::device::{Completion, Device, Refused};
use diskarm_core::drive::{Drive, InGaps};
use diskarm_core::freeblock::{BlockSet, Delivery, Tasks};
use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::Mechanism;
use diskarm_core::request::{Priority, Request};
use diskarm_core::text::InputError;
use diskarm_core::tower::BoxedDevice;
use diskarm_core::units::{Bytes, Instant, SectorCount};

use crate::background::Background;
use crate::external::ExternalScheduler;
use crate::run::{Progress, QUEUE, Scan, ScanReport, SchedulerLocation, lock};
use crate::watch::{Model, Observations};

/// Makes a disk of an array, of this mechanism and with this seed.
pub type Disk<'a> = dyn Fn(Mechanism, u64) -> BoxedDevice + 'a;

/// What was made for an array, so that it can be asked in the end.
enum Made {
    Outside(Arc<Mutex<ExternalScheduler<Drive>>>),
    Inside(Arc<Mutex<Drive>>),
}

/// A device inside an array that others look at, too.
struct Shared<D>(Arc<Mutex<D>>);

/// Makes the disks of an array for [`Scan::run_array`].
struct Maker<'a> {
    scan: &'a Scan<'a>,
    model: Model,
    tasks: Tasks,
    progress: Arc<Mutex<Progress>>,
    made: RefCell<Vec<Made>>,
}

impl Scan<'_> {
    /// Scans every disk of an array in the gaps of what the array asks of it. `build` builds the
    /// array of disks that it has made for it, all of the drive that [`Scan::spec`] describes; it
    /// is called twice, as the same requests are also served without a scan.
    ///
    /// Each disk has a queue of its own, in the order of the policy. The blocks of all disks count
    /// together, and [`ScanReport::by_part`] is of the tenths of all disks.
    ///
    /// # Errors
    /// When the drive's geometry is inconsistent; those of `build`.
    ///
    /// # Panics
    /// When the requests are not for the array.
    pub fn run_array<E: From<InputError>>(
        &self,
        build: impl Fn(&Disk<'_>) -> Result<BoxedDevice, E>,
    ) -> Result<ScanReport, E> {
        let layout = Arc::new(Layout::new(&self.model.geometry)?);
        let sectors = layout.sectors();
        let mut tasks = Tasks::new(layout);
        tasks.add(BlockSet::all(sectors), Priority::Normal);
        let maker = Maker {
            scan: self,
            model: Model::new(self.model)?,
            tasks,
            progress: Arc::new(Mutex::new(Progress::of_disks(sectors))),
            made: RefCell::default(),
        };
        let mut array = build(&|mechanism, seed| maker.scanned(mechanism, seed))?;
        let foreground = self.serve(&mut array, Some(&maker.progress), self.max_requests);
        let mut alone = build(&|mechanism, seed| maker.plain(mechanism, seed))?;
        let ran = ScanReport {
            alone: self.serve(&mut alone, None, foreground.requests),
            foreground,
            ..maker.sum()
        };
        let scanned = lock(&maker.progress).added_to(ran, self.sector());
        Ok(scanned)
    }
}

impl Maker<'_> {
    /// A disk that is scanned.
    fn scanned(&self, mechanism: Mechanism, seed: u64) -> BoxedDevice {
        lock(&self.progress).add_disk();
        let progress = Arc::clone(&self.progress);
        let sink = move |delivered: &Delivery| lock(&progress).take(delivered);
        let tasks = self.tasks.clone();
        let Scan {
            model, settings, ..
        } = *self.scan;
        match self.scan.location {
            SchedulerLocation::Outside(depth) => {
                let background = Background::new(tasks, model, settings, sink);
                let external = self.external(mechanism, seed, depth);
                let external = Arc::new(Mutex::new(external.with_background(background)));
                let made = Made::Outside(Arc::clone(&external));
                self.made.borrow_mut().push(made);
                BoxedDevice::opaque(Shared(external))
            }
            SchedulerLocation::InFirmware => {
                let gaps = InGaps::new(tasks, settings.conservatism, sink);
                let drive = self.inside(mechanism, seed).reading_in_gaps(gaps);
                let drive = Arc::new(Mutex::new(drive));
                self.made
                    .borrow_mut()
                    .push(Made::Inside(Arc::clone(&drive)));
                BoxedDevice::opaque(Shared(drive))
            }
        }
    }

    /// The same without a scan.
    fn plain(&self, mechanism: Mechanism, seed: u64) -> BoxedDevice {
        match self.scan.location {
            SchedulerLocation::Outside(depth) => {
                BoxedDevice::opaque(self.external(mechanism, seed, depth))
            }
            SchedulerLocation::InFirmware => BoxedDevice::opaque(self.inside(mechanism, seed)),
        }
    }

    fn external(&self, mechanism: Mechanism, seed: u64, depth: usize) -> ExternalScheduler<Drive> {
        let drive = Drive::with_mechanism(self.scan.spec, mechanism).seeded(seed);
        ExternalScheduler::new(drive, self.model.clone(), self.scan.policy, depth)
    }

    fn inside(&self, mechanism: Mechanism, seed: u64) -> Drive {
        let mut spec = self.scan.spec.clone();
        spec.queue.policy = self.scan.policy.clone();
        spec.queue.depth = QUEUE;
        Drive::with_mechanism(&spec, mechanism).seeded(seed)
    }

    /// What all disks did, and the largest conservatism.
    fn sum(&self) -> ScanReport {
        let mut sum = ScanReport {
            conservatism: self.scan.settings.conservatism,
            ..ScanReport::default()
        };
        let mut seen: Option<Observations> = None;
        for made in self.made.borrow().iter() {
            let stats = match made {
                Made::Outside(external) => {
                    let external = lock(external);
                    *seen.get_or_insert_default() += *external.observations();
                    let background = external.background();
                    let found = background.map(Background::conservatism);
                    sum.conservatism = sum.conservatism.max(found.unwrap_or_default());
                    background.map(|background| *background.stats())
                }
                Made::Inside(drive) => lock(drive).in_gaps().map(|gaps| *gaps.stats()),
            };
            sum.stats += stats.unwrap_or_default();
        }
        ScanReport { seen, ..sum }
    }
}

impl<D: Device> Device for Shared<D> {
    fn capacity(&self) -> SectorCount {
        lock(&self.0).capacity()
    }

    fn sector_size(&self) -> Bytes {
        lock(&self.0).sector_size()
    }

    fn check(&self, request: &Request) -> Result<(), Refused> {
        lock(&self.0).check(request)
    }

    fn has_room(&self) -> bool {
        lock(&self.0).has_room()
    }

    fn accepts(&self, request: &Request) -> bool {
        lock(&self.0).accepts(request)
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Refused> {
        lock(&self.0).submit(now, request)
    }

    fn next_event(&self) -> Option<Instant> {
        lock(&self.0).next_event()
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        lock(&self.0).advance(now)
    }

    fn abort(&mut self, now: Instant, id: u64) -> bool {
        lock(&self.0).abort(now, id)
    }
}
