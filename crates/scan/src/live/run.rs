//! Runs devices by the clock of a source.

use diskarm_core::device::{Completion, Device};
use diskarm_core::engine::{Load, Observer, Rejected};
use diskarm_core::request::{Op, Request};
use diskarm_core::units::Instant;

use super::answers::Inbox;

/// Runs `load` on a device in front of a [`Live`](super::Live), as
/// [`engine::run`](diskarm_core::engine::run) does in virtual time, until the observer has seen
/// enough, the source is lost, or [`Inbox::stop`] is called. What is under way then is not waited
/// for.
///
/// # Errors
/// A request that the device does not take.
pub fn run(
    device: &mut impl Device,
    answers: &Inbox,
    load: &mut impl Load,
    observer: &mut impl Observer,
) -> Result<(), Rejected> {
    let mut latest = answers.now();
    while !answers.is_stopped() && answers.lost().is_none() && !observer.is_over() {
        let now = answers.now();
        let (event, arrival) = (device.next_event(), load.next_arrival());
        let is_first = |event: &Instant| arrival.is_none_or(|arrival| *event <= arrival);
        if let Some(event) = event.filter(|event| *event <= now).filter(is_first) {
            latest = latest.max(event);
            if let Some(completion) = &device.advance(latest) {
                observer.completed(completion);
                load.completed(completion);
            }
        } else if let Some(at) = arrival.filter(|at| *at <= now) {
            let request = load.take();
            latest = latest.max(at);
            device
                .submit(latest, request)
                .map_err(|why| Rejected { request, why })?;
            observer.arrived(latest, &request);
        } else {
            answers.wait([event, arrival].into_iter().flatten().min());
        }
    }
    Ok(())
}

/// A load whose writes are reads of the same blocks.
#[derive(Clone, Debug)]
pub struct ReadOnly<L>(pub L);

impl<L: Load> Load for ReadOnly<L> {
    fn next_arrival(&mut self) -> Option<Instant> {
        self.0.next_arrival()
    }

    fn take(&mut self) -> Request {
        let request = self.0.take();
        let op = match request.op {
            Op::Write => Op::Read,
            op => op,
        };
        Request { op, ..request }
    }

    fn completed(&mut self, completion: &Completion) {
        self.0.completed(completion);
    }
}
