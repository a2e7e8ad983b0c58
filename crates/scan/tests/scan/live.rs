//! Sources that fail, close, hang and answer out of order, in real time: nothing is lost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use diskarm_core::device::{Device, Status};
use diskarm_core::freeblock::{BlockSet, Delivery};
use diskarm_core::request::{Op, Request};
use diskarm_core::testing::SplitMix64;
use diskarm_core::units::{Bytes, Instant, Lbn, SectorCount, Span};
use diskarm_core::workload::{Disk as Size0, Workload};
use diskarm_scan::live::{Fault, Inbox, Live, Lost, Reader, SequentialPass, Size, Source};
use diskarm_scan::{BackgroundSettings, OnProgress, Requests, Scan, ScanRecord, SchedulerLocation};
use proptest::prelude::*;

use crate::bench::{policy, small};
use crate::predicted::kept as kept_predictions;

const SIZE: Size = Size {
    sectors: SectorCount(6600),
    sector: Bytes(512),
};

/// So long that no read of memory takes it, unless it hangs.
const LIMIT: Span = Span::from_ns(10_000_000_000);

/// How long a late read waits for others. Without an end to it the last reads of a scan would
/// wait for reads that nobody sends.
const LATE: Duration = Duration::from_millis(20);

/// What a source does with its reads, which are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Read,
    Close,
    Hang,
    /// It answers after the next read, or the next but one; after [`LATE`] if none comes.
    Late,
}

/// A disk in memory.
struct Memory {
    data: Vec<u8>,
    bad: BlockSet,
    /// Whether it says which block is bad.
    tells: bool,
    act: Box<dyn Fn(u64) -> Act + Send + Sync>,
    reads: AtomicU64,
    answered: Mutex<u64>,
    came: Condvar,
}

impl Memory {
    fn new(seed: u64, act: impl Fn(u64) -> Act + Send + Sync + 'static) -> Self {
        let mut random = SplitMix64::new(seed);
        let bytes = SIZE.sectors.0 * SIZE.sector.0;
        let words = (0..bytes / 8).flat_map(|_| random.below(u64::MAX).to_le_bytes());
        Self {
            data: words.collect(),
            bad: BlockSet::none(SIZE.sectors),
            tells: true,
            act: Box::new(act),
            reads: AtomicU64::new(0),
            answered: Mutex::new(0),
            came: Condvar::new(),
        }
    }

    fn good() -> Self {
        Self::new(1, |_| Act::Read)
    }

    fn failing(mut self, seed: u64, tells: bool) -> Self {
        let mut random = SplitMix64::new(seed ^ 1 << 32);
        for _ in 0..12 {
            let first = random.below(SIZE.sectors.0);
            let count = (1 + random.below(4)).min(SIZE.sectors.0 - first);
            self.bad.insert(Lbn(first), SectorCount(count));
        }
        self.tells = tells;
        self
    }
}

/// A connection to it.
struct Connection(Arc<Memory>);

/// The same as a source.
struct Shared(Arc<Memory>);

impl Source for Shared {
    fn open(&self) -> Result<Box<dyn Reader>, Lost> {
        Ok(Box::new(Connection(Arc::clone(&self.0))))
    }
}

impl Reader for Connection {
    fn size(&self) -> Size {
        SIZE
    }

    fn read(&mut self, first: Lbn, room: &mut [u8]) -> Result<(), Fault> {
        let memory = &self.0;
        let end = first + SectorCount(room.len() as u64 / 512);
        let act = (memory.act)(memory.reads.fetch_add(1, Ordering::SeqCst));
        let mut answered = memory.answered.lock().expect("nobody panicked");
        let due = *answered + 1;
        match act {
            Act::Close => return Err(Lost("closed".to_owned()).into()),
            Act::Hang => loop {
                answered = memory.came.wait(answered).expect("nobody panicked");
            },
            Act::Late => {
                let waits = |answered: &mut u64| *answered < due;
                let waited = memory.came.wait_timeout_while(answered, LATE, waits);
                answered = waited.expect("nobody panicked").0;
            }
            Act::Read => {}
        }
        *answered += 1;
        memory.came.notify_all();
        if let Some(bad) = memory.bad.first_in(first, end) {
            return Err(Fault::Unreadable(memory.tells.then_some(bad)));
        }
        let from = first.0 as usize * 512;
        room.copy_from_slice(&memory.data[from..from + room.len()]);
        Ok(())
    }
}

fn opened(memory: &Arc<Memory>, depth: usize, limit: Span) -> Live {
    let source = Arc::new(Shared(Arc::clone(memory)));
    Live::open(source, depth, limit, Arc::default()).expect("memory")
}

/// What a scan has brought: an account and an image.
#[derive(Clone)]
struct ScanState {
    account: ScanRecord,
    image: Vec<u8>,
}

impl ScanState {
    fn new() -> Self {
        Self {
            account: ScanRecord::new(SIZE, true),
            image: vec![0; (SIZE.sectors.0 * SIZE.sector.0) as usize],
        }
    }

    fn take(&mut self, delivered: &Delivery, answers: &Inbox) {
        let (first, sectors) = (delivered.first, delivered.sectors);
        if !delivered.is_readable {
            return self.account.add_unreadable(first, sectors);
        }
        let data = answers.data(first, sectors, SIZE.sector);
        self.account.add_data(first, &data);
        let from = first.0 as usize * 512;
        self.image[from..from + data.len()].copy_from_slice(&data);
    }

    /// All is there, except for the blocks that are bad.
    fn check(&self, memory: &Memory) {
        assert!(self.account.remaining().is_empty());
        let mut expected = memory.data.clone();
        let runs = memory.bad.runs_in(Lbn(0), Lbn(SIZE.sectors.0));
        let runs: Vec<(Lbn, SectorCount)> = runs.collect();
        for (first, sectors) in &runs {
            expected[first.0 as usize * 512..(first.0 + sectors.0) as usize * 512].fill(0);
        }
        assert!(self.image == expected, "another image");
        assert_eq!(self.account.unreadable().collect::<Vec<_>>(), runs);
        let sums = self.account.sums().expect("asked for").all();
        let whole = expected.chunks(diskarm_scan::CHUNK as usize);
        assert!(sums.map(|(_, _, sum)| sum).eq(whole.map(crc32fast::hash)));
    }
}

/// Continues a scan until all has been delivered, or this many deliveries.
fn passed(
    memory: &Arc<Memory>,
    kept: ScanState,
    (depth, max, stop): (usize, u64, u64),
) -> ScanState {
    let live = opened(memory, depth, LIMIT);
    passed_on(live, kept, (depth, max, stop))
}

fn passed_on(live: Live, kept: ScanState, (depth, max, stop): (usize, u64, u64)) -> ScanState {
    let answers = live.inbox();
    let left = kept.account.remaining().clone();
    let mut kept = kept;
    let mut deliveries = 0;
    let sink = |delivered: &Delivery| {
        kept.take(delivered, &answers);
        deliveries += 1;
        if deliveries == stop {
            answers.stop();
        }
    };
    let mut pass = SequentialPass::new(live, left, depth, SectorCount(max), sink);
    pass.run(&answers);
    assert!(!pass.has_given_up());
    drop(pass);
    kept
}

#[test]
fn a_pass_finds_all_blocks_and_those_that_are_bad() {
    for seed in 0..8 {
        for (depth, tells) in [(1, true), (2, false), (2, true), (3, false)] {
            let memory = Arc::new(Memory::good().failing(seed, tells));
            let max = [1, 7, 64, 700][seed as usize % 4];
            passed(&memory, ScanState::new(), (depth, max, u64::MAX)).check(&memory);
        }
    }
}

#[test]
fn a_connection_that_closes_loses_nothing() {
    for seed in 0..8 {
        let act = move |read| {
            let mut random = SplitMix64::new(seed ^ read << 16);
            // Three in a row are more than a read takes.
            let closes = random.below(3) == 0 && read % 3 > 0;
            if closes { Act::Close } else { Act::Read }
        };
        let memory = Arc::new(Memory::new(seed, act).failing(seed, seed % 2 == 0));
        passed(&memory, ScanState::new(), (1, 32, u64::MAX)).check(&memory);
    }
}

#[test]
fn what_hangs_or_comes_late_loses_nothing() {
    let act = |read| match read % 8 {
        _ if read == 9 => Act::Hang,
        3 | 6 => Act::Late,
        _ => Act::Read,
    };
    let memory = Arc::new(Memory::new(3, act).failing(5, false));
    let live = opened(&memory, 3, Span::from_ns(1_000_000_000));
    passed_on(live, ScanState::new(), (3, 50, u64::MAX)).check(&memory);
}

/// A source each of whose reads waits until it is let go; its first block is bad.
#[derive(Clone)]
struct Gated {
    begun: Sender<()>,
    go: Arc<Mutex<Receiver<()>>>,
}

impl Source for Gated {
    fn open(&self) -> Result<Box<dyn Reader>, Lost> {
        Ok(Box::new(self.clone()))
    }
}

impl Reader for Gated {
    fn size(&self) -> Size {
        SIZE
    }

    fn read(&mut self, first: Lbn, _: &mut [u8]) -> Result<(), Fault> {
        self.begun.send(()).expect("the test waits");
        let go = self.go.lock().expect("nobody panicked");
        go.recv().expect("the test lets it go");
        match first {
            Lbn(0) => Err(Fault::Unreadable(None)),
            _ => Ok(()),
        }
    }
}

/// Each read of a search for a bad block has the whole limit, so that slow ones do not end it.
#[test]
fn a_slow_bad_block_is_found() {
    let (begun, begins) = channel();
    let (lets_go, go) = channel();
    let go = Arc::new(Mutex::new(go));
    let source = Arc::new(Gated { begun, go });
    let mut live = Live::open(source, 1, LIMIT, Arc::default()).expect("memory");
    let read = Request::new(1, Op::Read, Lbn(0), SectorCount(512));
    assert_eq!(live.submit(Instant::START, read), Ok(()));
    // The limit of the first read has passed when any other is under way.
    let late = Instant::START + LIMIT;
    begins.recv().expect("a read");
    lets_go.send(()).expect("it waits");
    // 512 blocks are halved to one in nine reads more.
    for read in 1..10 {
        begins.recv().expect("a read");
        assert_eq!(live.advance(late), None, "read {read}");
        lets_go.send(()).expect("it waits");
    }
    live.inbox().wait(Some(late));
    let found = live.advance(late).expect("a completion");
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
            unreachable!("it is not opened")
        }
    }
    let opened = Live::open(Arc::new(Large), 1, LIMIT, Arc::default());
    let why = opened.err().expect("a reason").to_string();
    assert!(why.contains("expected at most 274877906944"), "{why}");
}

#[test]
fn a_source_that_is_gone_ends_the_scan_with_its_reason() {
    let act = |read| if read < 20 { Act::Read } else { Act::Close };
    let memory = Arc::new(Memory::new(3, act));
    let live = opened(&memory, 2, LIMIT);
    let answers = live.inbox();
    let kept = passed_on(live, ScanState::new(), (2, 50, u64::MAX));
    assert_eq!(answers.lost(), Some(Lost("closed".to_owned())));
    let left = kept.account.remaining().count().0;
    assert!((6600 - 20 * 50..6600).contains(&left), "{left}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// A scan that is stopped after random numbers of reads, and forgets what came since it was
    /// kept last, as a killed process does, reads every block once as far as its accounts tell.
    #[test]
    fn interrupted_scans_read_every_block_once(
        seed in 0_u64..1000,
        stops in prop::collection::vec((1_u64..60, any::<bool>()), 0..8),
        depth in 1_usize..4,
        max in 1_u64..200,
    ) {
        let memory = Arc::new(Memory::good().failing(seed, seed % 2 == 0));
        let mut kept = ScanState::new();
        for (stop, is_killed) in stops {
            let bytes = kept.account.emit("memory");
            let after = passed(&memory, kept, (depth, max, stop));
            let bytes = if is_killed { bytes } else { after.account.emit("memory") };
            let account = ScanRecord::parse(&bytes, "memory", true).expect("its own bytes");
            kept = ScanState { account, image: after.image };
        }
        passed(&memory, kept, (depth, max, u64::MAX)).check(&memory);
    }
}

/// In the gaps of a foreground and in idle time, from a source that does all of it.
#[test]
fn a_scan_beside_a_foreground_loses_nothing() {
    let spec = small();
    let disk = Size0 {
        sectors: SIZE.sectors,
        sector: SIZE.sector,
    };
    let text = "poisson(rate=300/s) uniform size=4KiB reads=50%";
    let (on_prediction, predictions) = kept_predictions();
    let scan = Scan {
        spec: &spec,
        model: &spec,
        requests: Requests::Generated(&Workload::parse(text, disk).expect("a workload")),
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
    let act = |read| match read % 9 {
        _ if read == 40 => Act::Hang,
        _ if read % 100 == 7 => Act::Close,
        3 => Act::Late,
        _ => Act::Read,
    };
    let memory = Arc::new(Memory::new(3, act).failing(2, true));
    let live = opened(&memory, 2, Span::from_ns(200_000_000));
    let answers = live.inbox();
    let kept = Arc::new(Mutex::new(ScanState::new()));
    let (shared, data) = (Arc::clone(&kept), Arc::clone(&answers));
    let all = BlockSet::all(SIZE.sectors);
    let ran = scan.run_on(live, all, move |delivered| {
        let mut kept = shared.lock().expect("nobody panicked");
        kept.take(delivered, &data);
    });
    let ran = ran.expect("a sound model");
    assert!(ran.is_complete(), "{ran:?}");
    assert_eq!(answers.lost(), None);
    kept.lock().expect("nobody panicked").check(&memory);
    let predictions = predictions.lock().expect("nobody panicked");
    let foreground = predictions.iter().filter(|one| one.is_foreground).count() as u64;
    // A request is sent again if what is read in front of it cannot be.
    assert!(foreground >= ran.foreground.requests, "{foreground}");
    let lost = predictions.iter().filter(|one| one.expected.is_none());
    let lost: Vec<_> = lost.collect();
    assert!(!lost.is_empty() && lost.iter().all(|one| !one.is_confident));
}
