//! Several independent disks.

use std::collections::VecDeque;

use diskarm_core::array::IndependentDisks;
use diskarm_core::device::{Breakdown, Completion, Device, Outcome, Status, SubmitError, check};
use diskarm_core::engine::{self, Observer, OpenLoop};
use diskarm_core::host::Host;
use diskarm_core::request::{Op, Ordering, Request};
use diskarm_core::sched::PolicyConfig;
use diskarm_core::stack::BoxedDevice;
use diskarm_core::units::{Bytes, Instant, Lbn, SectorCount, Span};
use diskarm_core::wrap::{Limits, Throttle};

/// A disk that serves one request after another, one microsecond per block.
struct SerialDisk {
    inside: VecDeque<(Request, Instant, Instant)>,
    /// Number of requests that it holds at a time.
    room: usize,
}

const SIZE: SectorCount = SectorCount(100);

impl Device for SerialDisk {
    fn capacity(&self) -> SectorCount {
        SIZE
    }

    fn sector_size(&self) -> Bytes {
        Bytes(512)
    }

    fn has_room(&self) -> bool {
        self.inside.len() < self.room
    }

    fn abort(&mut self, now: Instant, id: u64) -> bool {
        // Only the newest command can be aborted.
        let is_newest = self
            .inside
            .back()
            .is_some_and(|(request, ..)| request.id == id);
        let waits = self.inside.len() > 1;
        if is_newest && waits {
            let (request, arrived, _) = self.inside.pop_back().expect("a command");
            self.inside.push_front((request, arrived, now));
        }
        is_newest && waits
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        check(&request, SIZE)?;
        if !self.has_room() {
            return Err(SubmitError::Full);
        }
        let free = self.inside.back().map_or(now, |(_, _, end)| *end);
        let duration = Span::from_us(request.sectors.0 as f64);
        self.inside.push_back((request, now, free + duration));
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        self.inside.front().map(|(_, _, end)| *end)
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        let (_, _, end) = self.inside.front()?;
        if *end > now {
            return None;
        }
        let (request, arrived, at) = self.inside.pop_front()?;
        let breakdown = Breakdown {
            queue: at - arrived,
            ..Breakdown::default()
        };
        Some(Completion {
            request,
            arrived,
            at,
            breakdown,
            outcome: Outcome::Miss,
            status: Status::Good,
        })
    }
}

fn serial_disks(max: u16) -> IndependentDisks<SerialDisk, impl FnMut() -> SerialDisk + Send> {
    serial_disks_with_room(usize::MAX, max)
}

/// Returns disks that each accept `room` requests.
fn serial_disks_with_room(
    room: usize,
    max: u16,
) -> IndependentDisks<SerialDisk, impl FnMut() -> SerialDisk + Send> {
    IndependentDisks::new(max, move || SerialDisk {
        inside: Default::default(),
        room,
    })
}

/// Returns one FCFS queue above three disks that take one request each.
fn common_queue() -> Host<BoxedDevice> {
    let disks = BoxedDevice::opaque(serial_disks_with_room(1, 3));
    let policy = PolicyConfig::default().policy(&disks);
    Host::new(disks, policy)
}

/// Two requests for disk 0, which take 10 us each, and three for disk 1.
const FOR_TWO_DISKS: [(u16, u64, u64); 5] =
    [(0, 0, 10), (0, 0, 10), (1, 0, 5), (1, 0, 1), (1, 0, 2)];

#[derive(Default)]
struct SeenRequests(Vec<(u64, u16, u64, u64)>);

impl Observer for SeenRequests {
    fn arrived(&mut self, _: Instant, _: &Request) {}

    fn completed(&mut self, done: &Completion) {
        let Request {
            id, unit, start, ..
        } = done.request;
        self.0.push((id, unit, start.0, done.at.as_ns() / 1_000));
    }
}

fn request(id: u64, unit: u16, start: u64, sectors: u64) -> Request {
    Request {
        unit,
        ..Request::new(id, Op::Read, Lbn(start), SectorCount(sectors))
    }
}

/// All arrive at time 0: disk 0 is busy for 10 us and another 20 us, disk 2 for 5 us and another 25
/// us. At 30 us both complete one, the lower disk first.
#[test]
fn each_disk_has_its_own_queue() {
    let requests = [(0, 3, 10), (2, 3, 5), (0, 80, 20), (2, 99, 1), (2, 0, 24)];
    let arrivals = (0..)
        .zip(requests)
        .map(|(id, (unit, start, sectors))| (Instant::START, request(id, unit, start, sectors)));
    let mut seen = SeenRequests::default();
    let mut disks = serial_disks(3);
    engine::run(&mut disks, &mut OpenLoop::new(arrivals), &mut seen).unwrap();
    let expected = [
        (1, 2, 3, 5),
        (3, 2, 99, 6),
        (0, 0, 3, 10),
        (2, 0, 80, 30),
        (4, 2, 0, 30),
    ];
    assert_eq!(seen.0, expected);
}

#[test]
fn requests_beyond_the_end_or_for_a_missing_disk_are_rejected() {
    let mut disks = serial_disks(2);
    let beyond = disks.submit(Instant::START, request(0, 0, 95, 6));
    assert_eq!(beyond, Err(SubmitError::BeyondEnd { sectors: SIZE }));
    let no_disk = disks.submit(Instant::START, request(0, 2, 0, 1));
    assert_eq!(no_disk, Err(SubmitError::NoSuchUnit { units: 2 }));
    assert_eq!(disks.submit(Instant::START, request(0, 1, 94, 6)), Ok(()));
}

/// The second request of disk 1 waits; the first is in service, and disk 0 has none with that id.
#[test]
fn an_abort_reaches_the_disk_of_its_request() {
    let mut disks = serial_disks(2);
    for (id, unit) in [(0, 0), (1, 1), (2, 1)] {
        let submitted = disks.submit(Instant::START, request(id, unit, 0, 10));
        assert_eq!(submitted, Ok(()));
    }
    let at = Instant::from_ns(1_000);
    assert!(disks.abort(at, 2));
    assert!(!disks.abort(at, 7));
    let done = disks.advance(at).expect("the aborted request");
    assert_eq!((done.request.id, done.at), (2, at));
}

/// The third disk always has room. At 10 us requests 1 and 2 go to their disks; request 3 remains
/// the next, before request 4, until disk 1 is free. Request 5 goes to the head of the queue.
#[test]
fn a_request_for_a_busy_disk_stays_first_in_a_common_queue() {
    let at_start = (0..)
        .zip(FOR_TWO_DISKS)
        .map(|(id, (unit, start, sectors))| request(id, unit, start, sectors));
    let head = Request {
        ordering: Ordering::HeadOfQueue,
        ..request(5, 1, 0, 3)
    };
    let arrivals = at_start
        .map(|request| (Instant::START, request))
        .chain([(Instant::from_ns(12_000), head)]);
    let mut seen = SeenRequests::default();
    engine::run(&mut common_queue(), &mut OpenLoop::new(arrivals), &mut seen).unwrap();
    let completed: Vec<_> = seen.0.iter().map(|&(id, _, _, at)| (id, at)).collect();
    assert_eq!(
        completed,
        [(0, 10), (2, 15), (5, 18), (3, 19), (1, 20), (4, 21)]
    );
}

/// As above, but request 3 is aborted at 11 us.
#[test]
fn a_request_for_a_busy_disk_can_be_aborted() {
    let mut queue = common_queue();
    for (id, (unit, start, sectors)) in (0..).zip(FOR_TWO_DISKS) {
        let submitted = queue.submit(Instant::START, request(id, unit, start, sectors));
        assert_eq!(submitted, Ok(()));
    }
    let mut completed = Vec::new();
    for now in 0..=30 {
        let now = Instant::from_ns(now * 1_000);
        while let Some(done) = queue.advance(now) {
            completed.push((done.request.id, done.at.as_ns() / 1_000, done.status));
        }
        if now.as_ns() == 11_000 {
            assert!(queue.abort(now, 3));
        }
    }
    let good = Status::Good;
    let expected = [
        (0, 10, good),
        (3, 11, Status::Aborted),
        (2, 15, good),
        (4, 17, good),
        (1, 20, good),
    ];
    assert_eq!(completed, expected);
}

/// The second request is held for a second; the third can never be served.
#[test]
fn a_throttle_rejects_requests_that_its_disks_would_reject_later() {
    let limits = Limits {
        requests_per_s: Some(1.0),
        ..Limits::default()
    };
    let mut disks = Throttle::new(serial_disks(2), limits);
    assert_eq!(disks.submit(Instant::START, request(0, 0, 0, 1)), Ok(()));
    assert_eq!(disks.submit(Instant::START, request(1, 1, 0, 1)), Ok(()));
    let no_disk = disks.submit(Instant::START, request(2, 2, 0, 1));
    assert_eq!(no_disk, Err(SubmitError::NoSuchUnit { units: 2 }));
}
