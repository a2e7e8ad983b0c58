//! The engine for one device: it merges arrivals with the device's next event.
//!
//! What arrives, and when, is a [`Load`]. A load hears of completions, because in closed
//! systems they bring the next arrivals about.

mod arriving;
mod closed;
mod open;
mod replay;
mod streams;

pub use arriving::ArrivalStream;
pub use closed::ClosedLoop;
pub use open::OpenLoop;
pub use replay::{Replay, ReplayStep};
pub use streams::Streams;

use crate::device::{Completion, Device, SubmitError};
use crate::request::Request;
use crate::units::Instant;

/// Where requests come from.
pub trait Load {
    /// When the next request arrives, as far as is known; later completions may bring others,
    /// but none before they happen.
    fn next_arrival(&mut self) -> Option<Instant>;

    /// Takes the request of [`Load::next_arrival`], which must have been `Some`.
    fn take(&mut self) -> Request;

    /// Hears of a completion.
    fn completed(&mut self, completion: &Completion);
}

/// A request that the device did not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RejectedRequest {
    /// The request.
    pub request: Request,
    /// Why.
    pub why: SubmitError,
}

impl std::fmt::Display for RejectedRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Request { start, sectors, .. } = self.request;
        write!(
            f,
            "request of {} sectors at block {}: {}",
            sectors.0, start.0, self.why
        )
    }
}

impl std::error::Error for RejectedRequest {}

/// What an observer of a run sees.
pub trait Observer {
    /// A request entered the device.
    fn arrived(&mut self, now: Instant, request: &Request);

    /// A request was completed.
    fn completed(&mut self, completion: &Completion);

    /// The last request was completed and no more will arrive. `device` is as it is then; what it
    /// does on its own, such as a rebuild, may continue.
    fn all_completed(&mut self, _device: &dyn Device) {}

    /// Whether it has seen enough. Asked after each completion; the run then ends there.
    #[inline]
    fn is_over(&self) -> bool {
        false
    }
}

/// Runs `load` on `device` until nothing is left to arrive or to complete and the device does
/// nothing more on its own, or the observer has seen enough; what is then outstanding stays in the
/// device. At one instant completions come before arrivals.
///
/// # Errors
/// When the device refuses a request; what was observed until then stands.
///
/// # Panics
/// When the device completes a request that it was not given here.
pub fn run(
    device: &mut impl Device,
    load: &mut impl Load,
    observer: &mut impl Observer,
) -> Result<(), RejectedRequest> {
    let mut outstanding = 0_u64;
    loop {
        let arrival = load.next_arrival();
        match (device.next_event(), arrival) {
            (_, None) if outstanding == 0 => break,
            (Some(event), arrival) if arrival.is_none_or(|at| event <= at) => {
                // Borrowed, because a move would copy all of it.
                if let Some(completion) = &device.advance(event) {
                    assert!(outstanding > 0, "completed twice: {completion:?}");
                    outstanding -= 1;
                    observer.completed(completion);
                    if observer.is_over() {
                        return Ok(());
                    }
                    load.completed(completion);
                }
            }
            (_, Some(at)) => {
                let request = load.take();
                device
                    .submit(at, request)
                    .map_err(|why| RejectedRequest { request, why })?;
                outstanding += 1;
                observer.arrived(at, &request);
            }
            (_, None) => return Ok(()),
        }
    }
    observer.all_completed(device);
    while let Some(event) = device.next_event() {
        let done = device.advance(event);
        assert!(done.is_none(), "completed twice: {done:?}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::device::{Breakdown, Outcome, Status};
    use crate::request::Op;
    use crate::units::{Bytes, Lbn, SectorCount, Span};

    /// Serves each request in 1 ms, and then has something of its own to do until 10 ms.
    #[derive(Default)]
    struct Busy {
        now: Instant,
        inside: Option<(Instant, Request)>,
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
            self.inside.is_none()
        }

        fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
            self.inside = Some((now, request));
            Ok(())
        }

        fn next_event(&self) -> Option<Instant> {
            match self.inside {
                Some((arrived, _)) => Some(arrived + Span::from_ns(1_000_000)),
                None => (self.now < ms(10)).then_some(ms(10)),
            }
        }

        fn advance(&mut self, now: Instant) -> Option<Completion> {
            self.now = now;
            let (arrived, request) = self.inside.take()?;
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

    /// What it has heard, in order.
    #[derive(Default)]
    struct Heard {
        all: Vec<String>,
        /// The run ends with this completion, if any.
        last: Option<usize>,
    }

    impl Observer for Heard {
        fn arrived(&mut self, now: Instant, _: &Request) {
            self.all.push(format!("arrived {}", now.as_ns()));
        }

        fn completed(&mut self, completion: &Completion) {
            self.all
                .push(format!("completed {}", completion.at.as_ns()));
        }

        fn all_completed(&mut self, device: &dyn Device) {
            let next = device.next_event().map(Instant::as_ns);
            self.all.push(format!("all completed, next {next:?}"));
        }

        fn is_over(&self) -> bool {
            self.last.is_some_and(|last| self.all.len() >= last)
        }
    }

    /// What is heard of requests at 0 and 3 ms, and when the device has ended.
    fn heard(last: Option<usize>) -> (Vec<String>, Instant) {
        let request = |id| Request::new(id, Op::Read, Lbn(0), SectorCount(1));
        let mut load = OpenLoop::new((0..2).map(|id| (ms(3 * id), request(id as u64))));
        let heard = Heard {
            last,
            ..Heard::default()
        };
        let mut observer = Arc::new(Mutex::new(heard));
        let mut device = Busy::default();
        run(&mut device, &mut load, &mut observer).expect("accepted requests");
        let heard = observer.lock().expect("nobody panicked").all.clone();
        (heard, device.now)
    }

    /// The pause between the two requests is not the end.
    #[test]
    fn the_end_of_the_last_request_is_heard_once_and_before_what_the_device_goes_on_with() {
        let expected = [
            "arrived 0",
            "completed 1000000",
            "arrived 3000000",
            "completed 4000000",
            "all completed, next Some(10000000)",
        ];
        assert_eq!(heard(None), (expected.map(str::to_owned).into(), ms(10)));
        // An observer that has seen enough hears nothing more.
        let (all, end) = heard(Some(4));
        assert_eq!((&all[..], end), (&expected.map(str::to_owned)[..4], ms(4)));
    }
}
