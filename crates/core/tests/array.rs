//! Disks side by side.

use std::collections::VecDeque;

use diskarm_core::array::SideBySide;
use diskarm_core::drive::{Breakdown, Completion, Device, Outcome, Refused, check};
use diskarm_core::engine::{self, Observer, Open};
use diskarm_core::request::{Op, Request};
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};

/// Serves a request after another, each block for a microsecond.
struct Belt {
    inside: VecDeque<(Request, Instant, Instant)>,
}

const SIZE: SectorCount = SectorCount(100);

impl Device for Belt {
    fn sectors(&self) -> SectorCount {
        SIZE
    }

    fn accepts(&self) -> bool {
        true
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Refused> {
        check(&request, SIZE)?;
        let free = self.inside.back().map_or(now, |(_, _, end)| *end);
        let takes = Span::from_us(request.sectors.0 as f64);
        self.inside.push_back((request, now, free + takes));
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
        })
    }
}

fn belts(most: u32) -> SideBySide<Belt, impl FnMut() -> Belt> {
    SideBySide::new(SIZE, most, || Belt {
        inside: Default::default(),
    })
}

#[derive(Default)]
struct Seen(Vec<(u64, u64, u64)>);

impl Observer for Seen {
    fn arrived(&mut self, _: Instant, _: &Request) {}

    fn completed(&mut self, done: &Completion) {
        let Request { id, start, .. } = done.request;
        self.0.push((id, start.0, done.at.as_ns() / 1_000));
    }
}

fn request(id: u64, start: u64, sectors: u64) -> Request {
    Request {
        id,
        op: Op::Read,
        start: Lbn(start),
        sectors: SectorCount(sectors),
    }
}

/// All at time 0: disk 0 is busy for 10 and 20 us more, disk 2 for 5 and 25 us more. At 30 us
/// both complete one, the lower disk first.
#[test]
fn each_disk_has_a_queue_of_its_own() {
    let asked = [(3, 10), (203, 5), (80, 20), (299, 1), (200, 24)];
    let arrivals = (0..)
        .zip(asked)
        .map(|(id, (start, sectors))| (Instant::START, request(id, start, sectors)));
    let mut seen = Seen::default();
    let mut disks = belts(3);
    engine::run(&mut disks, &mut Open::new(arrivals), &mut seen).unwrap();
    let expected = [
        (1, 203, 5),
        (3, 299, 6),
        (0, 3, 10),
        (2, 80, 30),
        (4, 200, 30),
    ];
    assert_eq!(seen.0, expected);
    assert_eq!(disks.disks_count(), 3);
}

#[test]
fn a_request_over_the_end_of_a_disk_is_refused() {
    let mut disks = belts(2);
    let beyond = |sectors| Err(Refused::BeyondEnd { sectors });
    let over = disks.submit(Instant::START, request(0, 95, 6));
    assert_eq!(over, beyond(SIZE));
    let behind = disks.submit(Instant::START, request(0, 200, 1));
    assert_eq!(behind, beyond(SectorCount(200)));
    assert_eq!(disks.submit(Instant::START, request(0, 94, 6)), Ok(()));
}
