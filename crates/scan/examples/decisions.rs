//! The cost of the external scheduler's decisions: processor time per foreground request with 20
//! requests waiting, and memory of a background task for a whole disk.
//!
//! ```sh
//! cargo run --release -p diskarm-scan --example decisions
//! ```
//!
//! Times are processor times of the thread, as counted by Linux, so they hardly depend on other
//! programs. The times of the simulated drive and the engine, measured without a scheduler, are
//! subtracted, except from the largest times between completions, which also depend on caches and
//! interrupts. The times that one request in 100, 1,000 and 10,000 exceeds are also printed.

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

/// The foreground in lumb01, with twice as many waiting requests.
const FOREGROUND: &str =
    "closed(clients=20) uniform size=exponential(mean=8KiB, unit=4KiB) reads=66.7%";

/// Number of foreground requests without a scan.
const ALONE: u64 = 2_000_000;

/// Number of parts of the scan that are measured separately.
const PARTS: u64 = 10;

fn main() {
    let entry = diskarm_drives::find("quantum-atlas-10k").expect("the drive is in the catalogue");
    let mut spec = spec::parse(entry.text, entry.name).expect("valid specification");
    // The bus in the catalogue is too slow for the data of a scan.
    spec.bus.read_sector = Span::from_us(6.4);
    spec.bus.write_sector = Span::from_us(6.4);

    let before = resident();
    let layout = Arc::new(Layout::new(&spec.geometry).expect("valid layout"));
    let with_layout = resident();
    let all = layout.sectors();
    let mut tasks = Tasks::new(Arc::clone(&layout));
    tasks.add(BlockSet::all(all), Priority::Normal);
    let with_task = resident();
    let mb = |bytes: u64| bytes as f64 / 1e6;
    println!("memory, {} blocks", all.0);
    println!("  a bit per block             {:7.2} MB", mb(all.0 / 8));
    println!(
        "  the whole task, resident  {:7.2} MB",
        mb(with_task - with_layout)
    );
    println!(
        "  the layout, resident      {:7.2} MB",
        mb(with_layout - before)
    );

    for text in ["sptf", "sptf-sw(n=40%)"] {
        let policy: PolicyConfig = text.parse().expect("valid policy");
        println!("\n{text}, us per foreground request");
        measure(&spec, &policy, tasks.clone(), all.0);
    }
}

fn measure(spec: &Spec, policy: &PolicyConfig, tasks: Tasks, all: u64) {
    let drive = || Drive::new(spec, Angle::ZERO).expect("valid layout");
    let fcfs: PolicyConfig = "fcfs".parse().expect("valid policy");
    let bare = drive();
    let order = fcfs.policy(&bare);
    let bare = cost(&mut Host::new(bare, order), &mut RunObserver::alone());
    let model = Model::new(spec).expect("valid layout");
    let mut external = ExternalScheduler::new(drive(), model.clone(), policy, 1);
    let choice = cost(&mut external, &mut RunObserver::alone()) - bare;
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
    let mut scan = RunObserver {
        max: u64::MAX,
        read: Some((read, all)),
        ..RunObserver::alone()
    };
    let total = cost(&mut external, &mut scan) - bare;
    for (part, pair) in (1..).zip(scan.marks.windows(2)) {
        let (requests, ns) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        let cost = ns as f64 / 1e3 / requests as f64 - bare;
        println!(
            "  with reads, up to {:3} %   {cost:7.2}",
            100 * part / PARTS
        );
    }
    println!("  mean of {:7} requests  {total:7.2}", scan.requests);
    let times = &mut scan.request_times;
    times.sort_unstable();
    let us = |ns: u64| ns as f64 / 1e3;
    let beyond = |one_in: usize| us(times[times.len() - 1 - times.len() / one_in]);
    let largest = us(times[times.len() - 1]);
    println!("  exceeded by 1 in 100      {:7.2}", beyond(100));
    println!("  exceeded by 1 in 1,000    {:7.2}", beyond(1_000));
    println!("  exceeded by 1 in 10,000   {:7.2}", beyond(10_000));
    println!("  the largest               {largest:7.2}");
}

/// Returns the processor time per request, in microseconds.
fn cost(device: &mut impl Device, until: &mut RunObserver) -> f64 {
    let disk = Disk {
        sectors: device.capacity(),
        sector: device.sector_size(),
    };
    let workload = Workload::parse(FOREGROUND, disk).expect("valid workload");
    let mut load = Streams::new(&workload, disk, 1, u64::MAX);
    let began = processor_time();
    engine::run(device, &mut load, until).expect("the drive accepts the requests");
    (processor_time() - began) as f64 / 1e3 / until.requests as f64
}

/// Observes a run until `max` requests have completed, or the scan is complete.
struct RunObserver {
    requests: u64,
    max: u64,
    read: Option<(Arc<AtomicU64>, u64)>,
    /// The number of requests and the processor time when each part had been read.
    marks: Vec<(u64, u64)>,
    /// The completion of the last request, and the time of each request of a scan, in ns.
    last: u64,
    request_times: Vec<u64>,
}

impl RunObserver {
    fn alone() -> Self {
        Self {
            requests: 0,
            max: ALONE,
            read: None,
            marks: Vec::new(),
            last: 0,
            request_times: Vec::new(),
        }
    }
}

impl Observer for RunObserver {
    fn arrived(&mut self, _: Instant, _: &Request) {}

    fn completed(&mut self, _: &Completion) {
        self.requests += 1;
        let Some((read, all)) = &self.read else {
            return;
        };
        let now = processor_time();
        if self.requests > 1 {
            self.request_times.push(now - self.last);
        }
        if read.load(Ordering::Relaxed) * PARTS >= self.marks.len() as u64 * all {
            self.marks.push((self.requests, now));
        }
        self.last = processor_time();
    }

    fn is_over(&self) -> bool {
        self.requests >= self.max || self.marks.len() as u64 > PARTS
    }
}

/// Returns the processor time of this thread, in nanoseconds.
fn processor_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the resident memory of this process, in bytes.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    4096 * pages.expect("a number of pages")
}
