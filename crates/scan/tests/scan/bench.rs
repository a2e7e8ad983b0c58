//! Drives, loads, and observers of their completions.

use std::sync::{Arc, Mutex};

use diskarm_core::device::{Completion, Device};
use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, Observer, Streams};
use diskarm_core::freeblock::{BlockSet, Delivery, Tasks};
use diskarm_core::geometry::Layout;
use diskarm_core::request::{Priority, Request};
use diskarm_core::sched::PolicyConfig;
use diskarm_core::spec::{self, PreSeek, SeekCurve, Spec, WriteCache};
use diskarm_core::units::{Angle, Instant, Lbn, SectorCount, Span};
use diskarm_core::workload::{Disk, Workload};
use diskarm_scan::{Background, BackgroundSettings};

/// Returns the specification of a drive in the catalogue.
pub fn drive_of(name: &str) -> Spec {
    let entry = diskarm_drives::find(name).expect("the drive is in the catalogue");
    spec::parse(entry.text, name).expect("valid specification")
}

pub fn small() -> Spec {
    spec::parse(include_str!("small.toml"), "small.toml").expect("valid specification")
}

/// Returns the specification of an Atlas 10K with a bus of 80 MB/s.
pub fn atlas() -> Spec {
    let mut spec = drive_of("quantum-atlas-10k");
    spec.bus.read_sector = Span::from_us(6.4);
    spec.bus.write_sector = Span::from_us(6.4);
    spec
}

pub fn without_write_cache(mut spec: Spec) -> Spec {
    spec.buffer.write_cache = WriteCache::Off;
    spec
}

/// Returns a drive that accepts two commands and begins the second when the media access of the
/// first ends.
pub fn with_two_commands(mut spec: Spec) -> Spec {
    spec.queue.depth = 2;
    spec.queue.preseek = PreSeek::MediaDone;
    spec
}

/// Returns a drive whose seek times scatter by this much.
pub fn with_seek_scatter(mut spec: Spec, by: Span) -> Spec {
    spec.mechanics.seek_scatter = Some(SeekCurve::Table(vec![(1, by)]));
    spec
}

pub fn new(spec: &Spec) -> Drive {
    Drive::new(spec, Angle::ZERO).expect("valid layout")
}

pub fn policy(text: &str) -> PolicyConfig {
    text.parse().expect("valid policy")
}

/// The foreground in lumb01, without think time.
pub const CLOSED: &str =
    "closed(clients=10) uniform size=exponential(mean=8KiB, unit=4KiB) reads=66.7%";

/// Collects completions until there are enough of them, or the scan is complete.
pub struct Observations {
    pub completions: Vec<Completion>,
    pub max: usize,
    pub gathered: Option<SharedGathered>,
}

impl Observer for Observations {
    fn arrived(&mut self, _: Instant, _: &Request) {}

    fn completed(&mut self, completion: &Completion) {
        self.completions.push(*completion);
    }

    fn is_over(&self) -> bool {
        let is_done =
            |gathered: &SharedGathered| gathered.lock().expect("no thread panicked").left() == 0;
        self.completions.len() >= self.max || self.gathered.as_ref().is_some_and(is_done)
    }
}

/// Serves `workload` until `max` requests have completed, or the scan recorded in `gathered` is
/// complete.
pub fn serve(
    device: &mut impl Device,
    workload: &str,
    seed: u64,
    max: usize,
    gathered: Option<&SharedGathered>,
) -> Vec<Completion> {
    let disk = Disk {
        sectors: device.capacity(),
        sector: device.sector_size(),
    };
    let workload = Workload::parse(workload, disk).expect("valid workload");
    let mut load = Streams::new(&workload, disk, seed, u64::MAX);
    let mut observations = Observations {
        completions: Vec::new(),
        max,
        gathered: gathered.cloned(),
    };
    engine::run(device, &mut load, &mut observations).expect("all requests are accepted");
    observations.completions
}

/// The blocks delivered by a scan.
#[derive(Debug)]
pub struct Gathered {
    pub read: BlockSet,
    pub unreadable: BlockSet,
}

impl Gathered {
    pub fn left(&self) -> u64 {
        self.read.sectors().0 - self.read.count().0 - self.unreadable.count().0
    }

    /// # Panics
    /// If a block is delivered twice.
    pub fn take(&mut self, delivered: &Delivery) {
        let (first, end) = (delivered.first, delivered.first + delivered.sectors);
        for set in [&self.read, &self.unreadable] {
            assert_eq!(
                set.count_in(first, end),
                0,
                "delivered twice: {delivered:?}"
            );
        }
        let set = match delivered.is_readable {
            true => &mut self.read,
            false => &mut self.unreadable,
        };
        set.insert(first, delivered.sectors);
    }
}

pub type SharedGathered = Arc<Mutex<Gathered>>;

pub fn empty_gathered(sectors: SectorCount) -> SharedGathered {
    Arc::new(Mutex::new(Gathered {
        read: BlockSet::none(sectors),
        unreadable: BlockSet::none(sectors),
    }))
}

/// Returns a scan of the blocks that are not in `gathered` yet.
pub fn scan(spec: &Spec, settings: BackgroundSettings, gathered: &SharedGathered) -> Background {
    let layout = Arc::new(Layout::new(&spec.geometry).expect("valid layout"));
    let sectors = layout.sectors();
    let mut wanted = BlockSet::all(sectors);
    {
        let gathered = gathered.lock().expect("no thread panicked");
        for set in [&gathered.read, &gathered.unreadable] {
            let runs: Vec<_> = set.runs_in(Lbn(0), Lbn(sectors.0)).collect();
            for (first, sectors) in runs {
                wanted.remove(first, sectors);
            }
        }
    }
    let mut tasks = Tasks::new(layout);
    tasks.add(wanted, Priority::Normal);
    let gathered = Arc::clone(gathered);
    Background::new(tasks, spec, settings, move |delivered| {
        gathered.lock().expect("no thread panicked").take(delivered);
    })
}
