//! What decisions of the external scheduler cost: processor time for each foreground request with
//! 20 of them waiting, and the memory of a background task for a whole disk.
//!
//! ```sh
//! cargo run --release -p diskarm-scan --example decisions
//! ```
//!
//! Times are those of the thread on a processor, as Linux counts them, so they hardly depend on
//! what else the machine does. The simulated drive and the engine are measured without a scheduler
//! and taken off, except for the largest times, from one completion to the next, which are a matter
//! of caches and interrupts, too: with the largest are those that one request in 100, 1,000 and
//! 10,000 takes longer than.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use diskarm_core::device::{Completion, Device};
use diskarm_core::drive::Drive;
use diskarm_core::engine::{self, Observer, Streams};
use diskarm_core::freeblock::{BlockSet, Tasks};
use diskarm_core::geometry::Layout;
use diskarm_core::host::Host;
use diskarm_core::request::{Priority, Request};
use diskarm_core::sched::PolicyConfig;
use diskarm_core::spec::{self, Spec};
use diskarm_core::units::{Angle, Instant, Span};
use diskarm_core::workload::{Disk, Workload};
use diskarm_scan::{Background, BackgroundSettings, ExternalScheduler, Model};
use rustix::time::{ClockId, clock_gettime};

/// That of lumb01, with twice as many requests waiting.
const FOREGROUND: &str =
    "closed(clients=20) uniform size=exponential(mean=8KiB, unit=4KiB) reads=66.7%";

/// Foreground requests without a scan.
const ALONE: u64 = 2_000_000;

/// Parts of the scan that are measured apart.
const PARTS: u64 = 10;

fn main() {
    let entry = diskarm_drives::find("quantum-atlas-10k").expect("a drive of the catalogue");
    let mut spec = spec::parse(entry.text, entry.name).expect("a sound specification");
    // With the bus of the catalogue the data of a scan do not fit through.
    spec.bus.read_sector = Span::from_us(6.4);
    spec.bus.write_sector = Span::from_us(6.4);

    let before = resident();
    let layout = Arc::new(Layout::new(&spec.geometry).expect("a sound layout"));
    let with_layout = resident();
    let all = layout.sectors();
    let mut tasks = Tasks::new(Arc::clone(&layout));
    tasks.add(BlockSet::all(all), Priority::Normal);
    let with_task = resident();
    let mb = |bytes: u64| bytes as f64 / 1e6;
    println!("memory, {} blocks", all.0);
    println!("  a bit a block             {:7.2} MB", mb(all.0 / 8));
    println!(
        "  the whole task, resident  {:7.2} MB",
        mb(with_task - with_layout)
    );
    println!(
        "  the layout, resident      {:7.2} MB",
        mb(with_layout - before)
    );

    for text in ["sptf", "sptf-sw(n=40%)"] {
        let policy: PolicyConfig = text.parse().expect("a policy");
        println!("\n{text}, us for each foreground request");
        measure(&spec, &policy, tasks.clone(), all.0);
    }
}

fn measure(spec: &Spec, policy: &PolicyConfig, tasks: Tasks, all: u64) {
    let drive = || Drive::new(spec, Angle::ZERO).expect("a sound layout");
    let fcfs: PolicyConfig = "fcfs".parse().expect("a policy");
    let bare = drive();
    let order = fcfs.policy(&bare);
    let bare = cost(&mut Host::new(bare, order), &mut Until::alone());
    let model = Model::new(spec).expect("a sound layout");
    let mut external = ExternalScheduler::new(drive(), model.clone(), policy, 1);
    let choice = cost(&mut external, &mut Until::alone()) - bare;
    println!("  drive and engine          {bare:7.2}");
    println!("  choice of the request     {choice:7.2}");
    let read = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&read);
    let background = Background::new(
        tasks,
        spec,
        BackgroundSettings::default(),
        move |delivered| {
            counter.fetch_add(delivered.sectors.0, Ordering::Relaxed);
        },
    );
    let external = ExternalScheduler::new(drive(), model, policy, 1);
    let mut external = external.with_background(background);
    let mut scan = Until {
        max: u64::MAX,
        read: Some((read, all)),
        ..Until::alone()
    };
    let whole = cost(&mut external, &mut scan) - bare;
    for (part, pair) in (1..).zip(scan.marks.windows(2)) {
        let (requests, ns) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        let cost = ns as f64 / 1e3 / requests as f64 - bare;
        println!(
            "  and of reads, to {:3} %    {cost:7.2}",
            100 * part / PARTS
        );
    }
    println!("  over {:7} requests     {whole:7.2}", scan.requests);
    let each = &mut scan.each;
    each.sort_unstable();
    let us = |ns: u64| ns as f64 / 1e3;
    let beyond = |one_in: usize| us(each[each.len() - 1 - each.len() / one_in]);
    let largest = us(each[each.len() - 1]);
    println!("  one request in 100        {:7.2}", beyond(100));
    println!("  one in 1,000              {:7.2}", beyond(1_000));
    println!("  one in 10,000             {:7.2}", beyond(10_000));
    println!("  the largest               {largest:7.2}");
}

/// Microseconds on a processor for each request.
fn cost(device: &mut impl Device, until: &mut Until) -> f64 {
    let disk = Disk {
        sectors: device.capacity(),
        sector: device.sector_size(),
    };
    let workload = Workload::parse(FOREGROUND, disk).expect("a workload");
    let mut load = Streams::new(&workload, disk, 1, u64::MAX);
    let began = on_processor();
    engine::run(device, &mut load, until).expect("requests of the drive");
    (on_processor() - began) as f64 / 1e3 / until.requests as f64
}

/// Sees a run until this many requests have completed, or this many blocks have been read.
struct Until {
    requests: u64,
    max: u64,
    read: Option<(Arc<AtomicU64>, u64)>,
    /// Requests and time on a processor when each part had been read.
    marks: Vec<(u64, u64)>,
    /// When the last request had completed, and the time of each of a scan, in nanoseconds.
    last: u64,
    each: Vec<u64>,
}

impl Until {
    fn alone() -> Self {
        Self {
            requests: 0,
            max: ALONE,
            read: None,
            marks: Vec::new(),
            last: 0,
            each: Vec::new(),
        }
    }
}

impl Observer for Until {
    fn arrived(&mut self, _: Instant, _: &Request) {}

    fn completed(&mut self, _: &Completion) {
        self.requests += 1;
        let Some((read, all)) = &self.read else {
            return;
        };
        let now = on_processor();
        if self.requests > 1 {
            self.each.push(now - self.last);
        }
        if read.load(Ordering::Relaxed) * PARTS >= self.marks.len() as u64 * all {
            self.marks.push((self.requests, now));
        }
        self.last = on_processor();
    }

    fn is_over(&self) -> bool {
        self.requests >= self.max || self.marks.len() as u64 > PARTS
    }
}

/// The time of this thread on a processor, in nanoseconds.
fn on_processor() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The memory of this process, in bytes.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    4096 * pages.expect("a number of pages")
}
