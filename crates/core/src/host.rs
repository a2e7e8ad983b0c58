//! A host queue in front of a device: it holds requests back and hands them over in a policy's
//! order.
//!
//! With a depth-one drive behind it, this is the device driver of the classic studies. The
//! policy decides when the device takes the next command, with the knowledge of that moment.

use std::collections::VecDeque;

use crate::drive::{Completion, Device, Refused, check};
use crate::request::Request;
use crate::sched::{Estimate, Pending, Policy};
use crate::units::{Instant, SectorCount};

/// A device behind a queue of unlimited length.
pub struct Host<D: Device + Estimate> {
    device: D,
    policy: Box<dyn Policy<D>>,
    /// When each request inside the device entered the queue.
    arrivals: VecDeque<(u64, Instant)>,
    /// Completions of the device, kept for its memory.
    done: Vec<Completion>,
}

impl<D: Device + Estimate> Host<D> {
    /// Puts `policy` in front of `device`.
    pub fn new(device: D, policy: Box<dyn Policy<D>>) -> Self {
        Self {
            device,
            policy,
            arrivals: VecDeque::new(),
            done: Vec::new(),
        }
    }

    /// Requests waiting here, outside the device.
    pub fn waiting(&self) -> usize {
        self.policy.len()
    }

    #[inline]
    fn feed(&mut self, now: Instant) {
        while self.device.accepts() {
            let Some(Pending { request, arrived }) = self.policy.next(now, &self.device) else {
                return;
            };
            self.hand_over(now, request, arrived);
        }
    }

    #[inline]
    fn hand_over(&mut self, now: Instant, request: Request, arrived: Instant) {
        let taken = self.device.submit(now, request);
        assert_eq!(taken, Ok(()), "a device that accepts refused {request:?}");
        self.arrivals.push_back((request.id, arrived));
    }

    /// The completion as seen from the host queue: the wait here comes on top.
    #[inline]
    fn lift(&mut self, mut completion: Completion) -> Completion {
        let index = self
            .arrivals
            .iter()
            .position(|&(id, _)| id == completion.request.id);
        let Some((_, arrived)) = index.and_then(|i| self.arrivals.remove(i)) else {
            panic!("the device completed what it was not given: {completion:?}");
        };
        completion.breakdown.queue += completion.arrived - arrived;
        completion.arrived = arrived;
        completion
    }
}

impl<D: Device + Estimate> Device for Host<D> {
    fn sectors(&self) -> SectorCount {
        self.device.sectors()
    }

    fn accepts(&self) -> bool {
        true
    }

    #[inline]
    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Refused> {
        check(&request, self.device.sectors())?;
        if self.policy.is_empty() && self.device.accepts() {
            self.policy.passed(&request);
            self.hand_over(now, request, now);
        } else {
            self.policy.add(
                Pending {
                    request,
                    arrived: now,
                },
                &self.device,
            );
        }
        Ok(())
    }

    #[inline]
    fn next_event(&self) -> Option<Instant> {
        self.device.next_event()
    }

    #[inline]
    fn advance(&mut self, now: Instant, done: &mut Vec<Completion>) {
        while let Some(at) = self.device.next_event().filter(|&at| at <= now) {
            let mut completions = std::mem::take(&mut self.done);
            self.device.advance(at, &mut completions);
            for completion in completions.drain(..) {
                done.push(self.lift(completion));
            }
            self.done = completions;
            self.feed(at);
        }
    }
}
