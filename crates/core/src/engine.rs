//! The engine for one device: it merges arrivals with the device's next event.
//!
//! What arrives, and when, is a [`Load`]. A load hears of completions, because in closed
//! systems they bring the next arrivals about.

mod arriving;
mod closed;
mod open;
mod replay;
mod streams;

pub use arriving::Arriving;
pub use closed::Closed;
pub use open::Open;
pub use replay::{Replay, Step};
pub use streams::Streams;

use crate::device::{Completion, Device, Refused};
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
pub struct Rejected {
    /// The request.
    pub request: Request,
    /// Why.
    pub why: Refused,
}

impl std::fmt::Display for Rejected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Request { start, sectors, .. } = self.request;
        write!(
            f,
            "request of {} sectors at block {}: {}",
            sectors.0, start.0, self.why
        )
    }
}

impl std::error::Error for Rejected {}

/// What an observer of a run sees.
pub trait Observer {
    /// A request entered the device.
    fn arrived(&mut self, now: Instant, request: &Request);

    /// A request was completed.
    fn completed(&mut self, completion: &Completion);

    /// Whether it has seen enough. Asked after each completion; the run then ends there.
    #[inline]
    fn is_over(&self) -> bool {
        false
    }
}

/// Runs `load` on `device` until nothing is left to arrive or to complete, or the observer has seen
/// enough; what is then outstanding stays in the device. At one instant completions come before
/// arrivals.
///
/// # Errors
/// When the device refuses a request; what was observed until then stands.
pub fn run(
    device: &mut impl Device,
    load: &mut impl Load,
    observer: &mut impl Observer,
) -> Result<(), Rejected> {
    loop {
        let arrival = load.next_arrival();
        match (device.next_event(), arrival) {
            (Some(event), arrival) if arrival.is_none_or(|at| event <= at) => {
                // Borrowed, because a move would copy all of it.
                if let Some(completion) = &device.advance(event) {
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
                    .map_err(|why| Rejected { request, why })?;
                observer.arrived(at, &request);
            }
            (_, None) => return Ok(()),
        }
    }
}
