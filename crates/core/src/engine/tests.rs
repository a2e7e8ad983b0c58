use std::sync::{Arc, Mutex};

use super::*;
use crate::device::{Breakdown, Outcome, Status};
use crate::request::Op;
use crate::units::Bytes;

/// Serves each request in 1 ms, and has an internal event at 10 ms.
#[derive(Default)]
struct Busy {
    now: Instant,
    current: Option<(Instant, Request)>,
}

fn ms(ms: i64) -> Instant {
    Instant::START + Span::from_ns(ms * 1_000_000)
}

impl Device for Busy {
    fn capacity(&self) -> SectorCount {
        SectorCount(100)
    }

    fn sector_size(&self) -> Bytes {
        Bytes(512)
    }

    fn has_room(&self) -> bool {
        self.current.is_none()
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        self.current = Some((now, request));
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        match self.current {
            Some((arrived, _)) => Some(arrived + Span::from_ns(1_000_000)),
            None => (self.now < ms(10)).then_some(ms(10)),
        }
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        self.now = now;
        let (arrived, request) = self.current.take()?;
        Some(Completion {
            request,
            arrived,
            at: now,
            breakdown: Breakdown {
                transfer: now - arrived,
                ..Breakdown::default()
            },
            outcome: Outcome::Miss,
            status: Status::Good,
        })
    }

    fn abort(&mut self, _: Instant, _: u64) -> bool {
        false
    }
}

/// The events in order.
#[derive(Default)]
struct EventLog {
    events: Vec<String>,
    /// The event that ends the run.
    last: Option<usize>,
}

impl Observer for EventLog {
    fn arrived(&mut self, now: Instant, _: &Request) {
        self.events.push(format!("arrived {}", now.as_ns()));
    }

    fn completed(&mut self, completion: &Completion) {
        self.events
            .push(format!("completed {}", completion.at.as_ns()));
    }

    fn all_completed(&mut self, device: &dyn Device) {
        let next = device.next_event().map(Instant::as_ns);
        self.events.push(format!("all completed, next {next:?}"));
    }

    fn is_over(&self) -> bool {
        self.last.is_some_and(|last| self.events.len() >= last)
    }
}

/// Runs requests at 0 and 3 ms; returns the events and the final time of the device.
fn watch(last: Option<usize>) -> (Vec<String>, Instant) {
    let request = |id| Request::new(id, Op::Read, Lbn(0), SectorCount(1));
    let mut load = OpenLoop::new((0..2).map(|id| (ms(3 * id), request(id as u64))));
    let log = EventLog {
        last,
        ..EventLog::default()
    };
    let mut observer = Arc::new(Mutex::new(log));
    let mut device = Busy::default();
    run(&mut device, &mut load, &mut observer).expect("the device accepts all requests");
    let events = observer.lock().expect("not poisoned").events.clone();
    (events, device.now)
}

/// The last instants before the limit are part of a run. A pause of any length leads to an
/// arrival that is too late, and none is computed from a later one.
#[test]
fn a_run_ends_with_an_error_at_its_limit() {
    let request = Request::new(0, Op::Read, Lbn(0), SectorCount(1));
    let before = |ns| Instant::from_ns(Instant::LIMIT.as_ns() - ns);
    let arriving = |instants: &[Instant]| {
        let mut load = OpenLoop::new(instants.iter().map(|at| (*at, request)));
        let mut observer = Arc::new(Mutex::new(EventLog::default()));
        run(&mut Busy::default(), &mut load, &mut observer)
    };
    assert_eq!(arriving(&[before(1_000_001)]), Ok(()));
    assert_eq!(arriving(&[before(1_000_000)]), Err(RunError::LateEvent));
    let late = Err(RunError::LateArrival);
    assert_eq!(arriving(&[ms(0), Instant::LIMIT]), late);
    assert_eq!(arriving(&[ms(0), Instant::NEVER]), late);
    for think_ns in [1 << 62, i64::MAX] {
        let think = Span::from_ns(think_ns);
        let steps = [think; 3].map(|think| ReplayStep { request, think });
        let mut load = Replay::new(steps.into_iter(), Instant::START);
        let mut observer = Arc::new(Mutex::new(EventLog::default()));
        assert_eq!(run(&mut Busy::default(), &mut load, &mut observer), late);
    }
}

/// The run must not end in the pause between the two requests.
#[test]
fn observers_are_notified_once_when_all_requests_have_completed() {
    let expected = [
        "arrived 0",
        "completed 1000000",
        "arrived 3000000",
        "completed 4000000",
        "all completed, next Some(10000000)",
    ];
    assert_eq!(watch(None), (expected.map(str::to_owned).into(), ms(10)));
    // After an observer has ended the run, it receives no more events.
    let (all, end) = watch(Some(4));
    assert_eq!((&all[..], end), (&expected.map(str::to_owned)[..4], ms(4)));
}
