//! A host queue in front of a device: it holds requests back and hands them over in a policy's
//! order.
//!
//! With a depth-one drive behind it, this is the device driver of the classic studies. The
//! policy decides when the device takes the next command, with the knowledge of that moment.

use crate::drive::{Completion, Device, Refused, check};
use crate::request::Request;
use crate::sched::{Estimate, Pending, Policy};
use crate::units::{Instant, SectorCount};

/// A device behind a queue of unlimited length.
pub struct Host<D: Device + Estimate> {
    device: D,
    policy: Box<dyn Policy<D>>,
    /// Requests that wait here, outside the device.
    waiting: usize,
    /// When each request inside the device entered the queue.
    arrivals: Vec<(u64, Instant)>,
}

impl<D: Device + Estimate> Host<D> {
    /// Puts `policy` in front of `device`.
    pub fn new(device: D, policy: Box<dyn Policy<D>>) -> Self {
        Self {
            device,
            policy,
            waiting: 0,
            arrivals: Vec::new(),
        }
    }

    #[inline]
    fn feed(&mut self, now: Instant) {
        while self.waiting > 0 && self.device.accepts() {
            let Some(Pending { request, arrived }) = self.policy.next(now, &self.device) else {
                panic!("the policy lost {} requests", self.waiting);
            };
            self.waiting -= 1;
            self.hand_over(now, request, arrived);
        }
    }

    #[inline]
    fn hand_over(&mut self, now: Instant, request: Request, arrived: Instant) {
        let taken = self.device.submit(now, request);
        assert_eq!(taken, Ok(()), "a device that accepts refused {request:?}");
        self.arrivals.push((request.id, arrived));
    }

    /// Makes a completion of the device one of this queue: the wait here comes on top.
    #[inline]
    fn lift(&mut self, completion: &mut Completion) {
        let id = completion.request.id;
        let Some(index) = self.arrivals.iter().position(|&(inside, _)| inside == id) else {
            panic!("the device completed what it was not given: {completion:?}");
        };
        let (_, arrived) = self.arrivals.swap_remove(index);
        completion.breakdown.queue += completion.arrived - arrived;
        completion.arrived = arrived;
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
        if self.waiting == 0 && self.device.accepts() {
            self.policy.passed(&request, &self.device);
            self.hand_over(now, request, now);
        } else {
            let pending = Pending {
                request,
                arrived: now,
            };
            self.policy.add(pending, &self.device);
            self.waiting += 1;
        }
        Ok(())
    }

    #[inline]
    fn next_event(&self) -> Option<Instant> {
        self.device.next_event()
    }

    #[inline]
    fn advance(&mut self, now: Instant) -> Option<Completion> {
        while let Some(at) = self.device.next_event().filter(|&at| at <= now) {
            let mut done = self.device.advance(at);
            if let Some(completion) = &mut done {
                self.lift(completion);
            }
            self.feed(at);
            if done.is_some() {
                return done;
            }
        }
        None
    }
}
