//! A scan of every disk of an array while the array serves its foreground requests.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};

use diskarm_core::device::Device;
use diskarm_core::drive::{Drive, GapReader};
use diskarm_core::freeblock::{BlockSet, Delivery, Tasks};
use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::Mechanism;
use diskarm_core::request::Priority;
use diskarm_core::stack::BoxedDevice;
use diskarm_core::text::InputError;

use crate::background::Background;
use crate::external::ExternalScheduler;
use crate::run::{Progress, Scan, ScanReport, SchedulerLocation, SharedProgress, lock};
use crate::watch::Model;

/// A function that creates a disk of an array from its mechanism and its seed.
pub type DiskFactory<'a> = dyn Fn(Mechanism, u64) -> BoxedDevice + 'a;

/// A disk of an array, kept for its statistics.
enum MemberDisk {
    Outside(Arc<Mutex<ExternalScheduler<Drive>>>),
    InFirmware(Arc<Mutex<Drive>>),
}

/// A device in an array, shared so that its statistics can be read from outside.
struct Shared<D>(Arc<Mutex<D>>);

struct DiskBuilder<'a> {
    scan: &'a Scan<'a>,
    model: Model,
    tasks: Tasks,
    progress: SharedProgress,
    disks: RefCell<Vec<MemberDisk>>,
}

impl Scan<'_> {
    /// Scans every disk of an array in the gaps that its requests leave. `build` builds the array,
    /// and creates each disk with the function that it is given; all disks are drives of
    /// [`Scan::spec`]. `build` is called twice, because the same requests are also served without a
    /// scan.
    ///
    /// Each disk has its own queue, ordered by the policy. The blocks of all disks are counted
    /// together; each part of [`ScanReport::by_part`] is a tenth of every disk. Fails like
    /// [`Self::run`], or if `build` fails.
    pub fn run_array<E: From<InputError>>(
        &self,
        build: impl Fn(&DiskFactory<'_>) -> Result<BoxedDevice, E>,
    ) -> Result<ScanReport, E> {
        let layout = Arc::new(Layout::new(&self.model.geometry)?);
        let sectors = layout.sectors();
        let mut tasks = Tasks::new(layout);
        tasks.add(BlockSet::all(sectors), Priority::Normal);
        let builder = DiskBuilder {
            scan: self,
            model: Model::new(self.model)?,
            tasks,
            progress: Progress::for_disks(sectors),
            disks: RefCell::default(),
        };
        let mut array = build(&|mechanism, seed| builder.scanned_disk(mechanism, seed))?;
        let foreground = self.serve(&mut array, Some(&builder.progress), self.max_requests)?;
        let mut alone = build(&|mechanism, seed| builder.plain_disk(mechanism, seed))?;
        let report = ScanReport {
            alone: self.serve(&mut alone, None, foreground.requests)?,
            foreground,
            ..builder.sum()
        };
        Ok(self.with_progress(report, &builder.progress))
    }
}

impl DiskBuilder<'_> {
    fn scanned_disk(&self, mechanism: Mechanism, seed: u64) -> BoxedDevice {
        lock(&self.progress).add_disk();
        let progress = Arc::clone(&self.progress);
        let sink = move |delivered: &Delivery| lock(&progress).record(delivered);
        let tasks = self.tasks.clone();
        let (model, settings) = (self.scan.model, self.scan.settings);
        match self.scan.location {
            SchedulerLocation::Outside(depth) => {
                let background = Background::new(tasks, model, settings, sink);
                let external = self.external(mechanism, seed, depth);
                self.share(external.with_background(background), MemberDisk::Outside)
            }
            SchedulerLocation::InFirmware => {
                let gaps = GapReader::new(tasks, settings.conservatism, sink);
                let drive = self.in_firmware(mechanism, seed).with_gap_reader(gaps);
                self.share(drive, MemberDisk::InFirmware)
            }
        }
    }

    /// Keeps a disk for its statistics, and also returns it for the array.
    fn share<D: Device + Send + 'static>(
        &self,
        disk: D,
        member: fn(Arc<Mutex<D>>) -> MemberDisk,
    ) -> BoxedDevice {
        let disk = Arc::new(Mutex::new(disk));
        self.disks.borrow_mut().push(member(Arc::clone(&disk)));
        BoxedDevice::opaque(Shared(disk))
    }

    fn plain_disk(&self, mechanism: Mechanism, seed: u64) -> BoxedDevice {
        match self.scan.location {
            SchedulerLocation::Outside(depth) => {
                BoxedDevice::opaque(self.external(mechanism, seed, depth))
            }
            SchedulerLocation::InFirmware => BoxedDevice::opaque(self.in_firmware(mechanism, seed)),
        }
    }

    fn external(&self, mechanism: Mechanism, seed: u64, depth: usize) -> ExternalScheduler<Drive> {
        let drive = Drive::with_mechanism(self.scan.spec, mechanism).with_seed(seed);
        ExternalScheduler::new(drive, self.model.clone(), self.scan.policy, depth)
    }

    fn in_firmware(&self, mechanism: Mechanism, seed: u64) -> Drive {
        Drive::with_mechanism(&self.scan.spec_with_policy(), mechanism).with_seed(seed)
    }

    /// Returns the sum of the statistics of all disks, and the largest conservatism.
    fn sum(&self) -> ScanReport {
        let mut sum = ScanReport {
            conservatism: self.scan.settings.conservatism,
            ..ScanReport::default()
        };
        for disk in self.disks.borrow().iter() {
            let stats = match disk {
                MemberDisk::Outside(external) => {
                    let external = lock(external);
                    *sum.observations.get_or_insert_default() += *external.observations();
                    external.background().map(|background| {
                        sum.conservatism = sum.conservatism.max(background.conservatism());
                        *background.stats()
                    })
                }
                MemberDisk::InFirmware(drive) => lock(drive).gap_reader().map(|gaps| *gaps.stats()),
            };
            sum.stats += stats.unwrap_or_default();
        }
        sum
    }
}

impl<D: Device> Device for Shared<D> {
    diskarm_core::forward!(
        self, lock(&self.0); capacity sector_size check has_room accepts submit
        next_event advance abort
    );
}
