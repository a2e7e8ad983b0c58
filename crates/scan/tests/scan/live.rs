//! Sources that fail, close, hang or answer out of order, in real time: nothing is lost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use diskarm_core::device::{Device, Status};
use diskarm_core::freeblock::{BlockSet, Delivery};
use diskarm_core::request::{Op, Request};
use diskarm_core::testing::SplitMix64;
use diskarm_core::units::{Bytes, Instant, Lbn, SectorCount, Span};
use diskarm_core::workload::{Disk as WorkloadDisk, Workload};
use diskarm_scan::live::{Fault, Inbox, Live, Lost, Reader, SequentialPass, Size, Source};
use diskarm_scan::{BackgroundSettings, OnProgress, Requests, Scan, ScanRecord, SchedulerLocation};
use proptest::prelude::*;

use crate::bench::{policy, small};
use crate::predicted::record_predictions;

const SIZE: Size = Size {
    sectors: SectorCount(6600),
    sector: Bytes(512),
};

/// Longer than any read from memory takes, unless it hangs.
const LIMIT: Span = Span::from_ns(10_000_000_000);

/// The time that a late read waits for others. Without a limit, the last reads of a scan would wait
/// for reads that are never sent.
const LATE: Duration = Duration::from_millis(20);

/// The behaviour of a source for a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behaviour {
    Read,
    Close,
    Hang,
    /// Answers after the next read, or after the one after that; after [`LATE`] if there is none.
    Late,
}

/// A disk in memory.
struct Memory {
    data: Vec<u8>,
    bad: BlockSet,
    /// True if it reports which block is bad.
    reports_bad_block: bool,
    behaviour: Box<dyn Fn(u64) -> Behaviour + Send + Sync>,
    reads: AtomicU64,
    answered: Mutex<u64>,
    answer_sent: Condvar,
}

impl Memory {
    fn new(seed: u64, behaviour: impl Fn(u64) -> Behaviour + Send + Sync + 'static) -> Self {
        let mut random = SplitMix64::new(seed);
        let bytes = SIZE.sectors.0 * SIZE.sector.0;
        let words = (0..bytes / 8).flat_map(|_| random.below(u64::MAX).to_le_bytes());
        Self {
            data: words.collect(),
            bad: BlockSet::none(SIZE.sectors),
            reports_bad_block: true,
            behaviour: Box::new(behaviour),
            reads: AtomicU64::new(0),
            answered: Mutex::new(0),
            answer_sent: Condvar::new(),
        }
    }

    fn good() -> Self {
        Self::new(1, |_| Behaviour::Read)
    }

    fn failing(mut self, seed: u64, reports_bad_block: bool) -> Self {
        let mut random = SplitMix64::new(seed ^ 1 << 32);
        for _ in 0..12 {
            let first = random.below(SIZE.sectors.0);
            let count = (1 + random.below(4)).min(SIZE.sectors.0 - first);
            self.bad.insert(Lbn(first), SectorCount(count));
        }
        self.reports_bad_block = reports_bad_block;
        self
    }
}

/// A connection to a disk in memory.
struct Connection(Arc<Memory>);

/// A disk in memory as a source.
struct MemorySource(Arc<Memory>);

impl Source for MemorySource {
    fn open(&self) -> Result<Box<dyn Reader>, Lost> {
        Ok(Box::new(Connection(Arc::clone(&self.0))))
    }
}

impl Reader for Connection {
    fn size(&self) -> Size {
        SIZE
    }

    fn read(&mut self, first: Lbn, buffer: &mut [u8]) -> Result<(), Fault> {
        let memory = &self.0;
        let end = first + SectorCount(buffer.len() as u64 / 512);
        let behaviour = (memory.behaviour)(memory.reads.fetch_add(1, Ordering::SeqCst));
        let mut answered = memory.answered.lock().expect("no thread panicked");
        let due = *answered + 1;
        match behaviour {
            Behaviour::Close => return Err(Lost("closed".to_owned()).into()),
            Behaviour::Hang => loop {
                answered = memory
                    .answer_sent
                    .wait(answered)
                    .expect("no thread panicked");
            },
            Behaviour::Late => {
                let waits = |answered: &mut u64| *answered < due;
                let waited = memory.answer_sent.wait_timeout_while(answered, LATE, waits);
                answered = waited.expect("no thread panicked").0;
            }
            Behaviour::Read => {}
        }
        *answered += 1;
        memory.answer_sent.notify_all();
        if let Some(bad) = memory.bad.first_in(first, end) {
            return Err(Fault::Unreadable(memory.reports_bad_block.then_some(bad)));
        }
        let from = first.0 as usize * 512;
        buffer.copy_from_slice(&memory.data[from..from + buffer.len()]);
        Ok(())
    }
}

fn open_live(memory: &Arc<Memory>, depth: usize, limit: Span) -> Live {
    let source = Arc::new(MemorySource(Arc::clone(memory)));
    Live::open(source, depth, limit, Arc::default()).expect("memory can be opened")
}

/// The results of a scan: its record and an image.
#[derive(Clone)]
struct ScanState {
    record: ScanRecord,
    image: Vec<u8>,
}

impl ScanState {
    fn new() -> Self {
        Self {
            record: ScanRecord::new(SIZE, true),
            image: vec![0; (SIZE.sectors.0 * SIZE.sector.0) as usize],
        }
    }

    fn take(&mut self, delivered: &Delivery, inbox: &Inbox) {
        let (first, sectors) = (delivered.first, delivered.sectors);
        if !delivered.is_readable {
            return self.record.add_unreadable(first, sectors);
        }
        let data = inbox.data(first, sectors, SIZE.sector);
        self.record.add_data(first, &data);
        let from = first.0 as usize * 512;
        self.image[from..from + data.len()].copy_from_slice(&data);
    }

    /// Checks that all blocks are there except bad ones.
    fn check(&self, memory: &Memory) {
        assert!(self.record.remaining().is_empty());
        let mut expected = memory.data.clone();
        let runs = memory.bad.runs_in(Lbn(0), Lbn(SIZE.sectors.0));
        let runs: Vec<(Lbn, SectorCount)> = runs.collect();
        for (first, sectors) in &runs {
            expected[first.0 as usize * 512..(first.0 + sectors.0) as usize * 512].fill(0);
        }
        assert!(self.image == expected, "the image differs");
        assert_eq!(self.record.unreadable().collect::<Vec<_>>(), runs);
        let sums = self.record.sums().expect("the scan has checksums").all();
        let chunks = expected.chunks(diskarm_scan::CHUNK as usize);
        assert!(sums.map(|(_, _, sum)| sum).eq(chunks.map(crc32fast::hash)));
    }
}

/// Continues a scan until everything has been delivered, or until `stop` deliveries.
fn continue_pass(
    memory: &Arc<Memory>,
    state: ScanState,
    (depth, max, stop): (usize, u64, u64),
) -> ScanState {
    let live = open_live(memory, depth, LIMIT);
    continue_pass_on(live, state, (depth, max, stop))
}

fn continue_pass_on(
    live: Live,
    state: ScanState,
    (depth, max, stop): (usize, u64, u64),
) -> ScanState {
    let inbox = live.inbox();
    let left = state.record.remaining().clone();
    let mut state = state;
    let mut deliveries = 0;
    let sink = |delivered: &Delivery| {
        state.take(delivered, &inbox);
        deliveries += 1;
        if deliveries == stop {
            inbox.stop();
        }
    };
    let mut pass = SequentialPass::new(live, left, depth, SectorCount(max), sink);
    pass.run(&inbox);
    assert!(!pass.has_given_up());
    drop(pass);
    state
}

#[test]
fn a_pass_finds_all_blocks_and_the_bad_ones() {
    for seed in 0..8 {
        for (depth, reports_bad_block) in [(1, true), (2, false), (2, true), (3, false)] {
            let memory = Arc::new(Memory::good().failing(seed, reports_bad_block));
            let max = [1, 7, 64, 700][seed as usize % 4];
            continue_pass(&memory, ScanState::new(), (depth, max, u64::MAX)).check(&memory);
        }
    }
}

#[test]
fn a_connection_that_closes_loses_nothing() {
    for seed in 0..8 {
        let behaviour = move |read| {
            let mut random = SplitMix64::new(seed ^ read << 16);
            // A read does not survive three in a row.
            let closes = random.below(3) == 0 && read % 3 > 0;
            if closes {
                Behaviour::Close
            } else {
                Behaviour::Read
            }
        };
        let memory = Arc::new(Memory::new(seed, behaviour).failing(seed, seed % 2 == 0));
        continue_pass(&memory, ScanState::new(), (1, 32, u64::MAX)).check(&memory);
    }
}

#[test]
fn reads_that_hang_or_are_late_lose_nothing() {
    let behaviour = |read| match read % 8 {
        _ if read == 9 => Behaviour::Hang,
        3 | 6 => Behaviour::Late,
        _ => Behaviour::Read,
    };
    let memory = Arc::new(Memory::new(3, behaviour).failing(5, false));
    let live = open_live(&memory, 3, Span::from_ns(1_000_000_000));
    continue_pass_on(live, ScanState::new(), (3, 50, u64::MAX)).check(&memory);
}

/// A source whose reads each wait until they are released; its first block is bad.
#[derive(Clone)]
struct GatedSource {
    started: Sender<()>,
    released: Arc<Mutex<Receiver<()>>>,
}

impl Source for GatedSource {
    fn open(&self) -> Result<Box<dyn Reader>, Lost> {
        Ok(Box::new(self.clone()))
    }
}

impl Reader for GatedSource {
    fn size(&self) -> Size {
        SIZE
    }

    fn read(&mut self, first: Lbn, _: &mut [u8]) -> Result<(), Fault> {
        self.started.send(()).expect("the test waits");
        let released = self.released.lock().expect("no thread panicked");
        released.recv().expect("the test releases the read");
        match first {
            Lbn(0) => Err(Fault::Unreadable(None)),
            _ => Ok(()),
        }
    }
}

/// Each read in the search for a bad block has the full limit, so that slow reads do not end the
/// search.
#[test]
fn a_slow_bad_block_is_found() {
    let (started, starts) = channel();
    let (release, released) = channel();
    let released = Arc::new(Mutex::new(released));
    let source = Arc::new(GatedSource { started, released });
    let mut live = Live::open(source, 1, LIMIT, Arc::default()).expect("memory can be opened");
    let read = Request::new(1, Op::Read, Lbn(0), SectorCount(512));
    assert_eq!(live.submit(Instant::START, read), Ok(()));
    // The limit of the first read has passed by the time that any other is in progress.
    let late = Instant::START + LIMIT;
    starts.recv().expect("a read starts");
    release.send(()).expect("the read waits");
    // Nine more reads bisect 512 blocks down to one.
    for read in 1..10 {
        starts.recv().expect("a read starts");
        assert_eq!(live.advance(late), None, "read {read}");
        release.send(()).expect("the read waits");
    }
    live.inbox().wait(Some(late));
    let found = live.advance(late).expect("the read completes");
    assert_eq!(found.status, Status::MediumError { offset: 0 });
}

#[test]
fn a_source_that_is_too_large_is_refused() {
    struct Large;
    impl Source for Large {
        fn open(&self) -> Result<Box<dyn Reader>, Lost> {
            Ok(Box::new(Self))
        }
    }
    impl Reader for Large {
        fn size(&self) -> Size {
            Size {
                sectors: SectorCount((1 << 38) + 1),
                ..SIZE
            }
        }

        fn read(&mut self, _: Lbn, _: &mut [u8]) -> Result<(), Fault> {
            unreachable!("the source is refused")
        }
    }
    let opened = Live::open(Arc::new(Large), 1, LIMIT, Arc::default());
    let why = opened.err().expect("it is refused").to_string();
    assert!(why.contains("expected at most 274877906944"), "{why}");
}

#[test]
fn a_lost_source_ends_the_scan_with_its_reason() {
    let behaviour = |read| {
        if read < 20 {
            Behaviour::Read
        } else {
            Behaviour::Close
        }
    };
    let memory = Arc::new(Memory::new(3, behaviour));
    let live = open_live(&memory, 2, LIMIT);
    let inbox = live.inbox();
    let state = continue_pass_on(live, ScanState::new(), (2, 50, u64::MAX));
    assert_eq!(inbox.lost(), Some(Lost("closed".to_owned())));
    let left = state.record.remaining().count().0;
    assert!((6600 - 20 * 50..6600).contains(&left), "{left}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// A scan that is stopped after random numbers of reads, and may lose what came after its last
    /// record, like a killed process, reads every block once according to its records.
    #[test]
    fn interrupted_scans_read_every_block_once(
        seed in 0_u64..1000,
        stops in prop::collection::vec((1_u64..60, any::<bool>()), 0..8),
        depth in 1_usize..4,
        max in 1_u64..200,
    ) {
        let memory = Arc::new(Memory::good().failing(seed, seed % 2 == 0));
        let mut state = ScanState::new();
        for (stop, is_killed) in stops {
            let bytes = state.record.emit("memory");
            let after = continue_pass(&memory, state, (depth, max, stop));
            let bytes = if is_killed { bytes } else { after.record.emit("memory") };
            let record = ScanRecord::parse(&bytes, "memory", true).expect("the record is valid");
            state = ScanState { record, image: after.image };
        }
        continue_pass(&memory, state, (depth, max, u64::MAX)).check(&memory);
    }
}

/// Reads in gaps of the foreground and in idle time, from a source with all kinds of failures.
#[test]
fn a_scan_during_a_foreground_loses_nothing() {
    let spec = small();
    let disk = WorkloadDisk {
        sectors: SIZE.sectors,
        sector: SIZE.sector,
    };
    let text = "poisson(rate=300/s) uniform size=4KiB reads=50%";
    let (on_prediction, predictions) = record_predictions();
    let scan = Scan {
        spec: &spec,
        model: &spec,
        requests: Requests::Generated(&Workload::parse(text, disk).expect("valid workload")),
        policy: &policy("sptf"),
        location: SchedulerLocation::Outside(2),
        settings: BackgroundSettings {
            idle: Some(Span::ZERO),
            ..BackgroundSettings::default()
        },
        seed: 1,
        max_requests: 100_000,
        on_progress: OnProgress::default(),
        on_prediction,
    };
    let behaviour = |read| match read % 9 {
        _ if read == 40 => Behaviour::Hang,
        _ if read % 100 == 7 => Behaviour::Close,
        3 => Behaviour::Late,
        _ => Behaviour::Read,
    };
    let memory = Arc::new(Memory::new(3, behaviour).failing(2, true));
    let live = open_live(&memory, 2, Span::from_ns(200_000_000));
    let inbox = live.inbox();
    let state = Arc::new(Mutex::new(ScanState::new()));
    let (shared, data) = (Arc::clone(&state), Arc::clone(&inbox));
    let all = BlockSet::all(SIZE.sectors);
    let report = scan.run_on(live, all, move |delivered| {
        let mut state = shared.lock().expect("no thread panicked");
        state.take(delivered, &data);
    });
    let report = report.expect("valid model");
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(inbox.lost(), None);
    state.lock().expect("no thread panicked").check(&memory);
    let predictions = predictions.lock().expect("no thread panicked");
    let foreground = predictions.iter().filter(|one| one.is_foreground).count() as u64;
    // A request is sent again if the blocks in front of it are unreadable.
    assert!(foreground >= report.foreground.requests, "{foreground}");
    let lost = predictions.iter().filter(|one| one.expected.is_none());
    let lost: Vec<_> = lost.collect();
    assert!(!lost.is_empty() && lost.iter().all(|one| !one.is_confident));
}
