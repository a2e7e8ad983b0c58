//! A host queue in front of a device: it holds requests back and hands them over in a policy's
//! order.
//!
//! With a depth-one drive behind it, this is the device driver of the classic studies. The
//! policy decides when the device takes the next command, with the knowledge of that moment.
//! [`Host::merging`] hands over sequential requests as one command.

mod merge;

use merge::Merger;

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
    /// Apart and mostly absent: the queue that merges nothing pays a look at each step.
    merger: Option<Box<Merger>>,
}

impl<D: Device + Estimate> Host<D> {
    /// Puts `policy` in front of `device`.
    pub fn new(device: D, policy: Box<dyn Policy<D>>) -> Self {
        Self {
            device,
            policy,
            waiting: 0,
            arrivals: Vec::new(),
            merger: None,
        }
    }

    /// The same queue, which hands over as one command, of `most` blocks or fewer, the request
    /// that the policy chooses and those waiting that continue it.
    ///
    /// What it does: behind the chosen request it looks for one of the same direction that begins
    /// at the block after its last, then for one behind that, and so on. Of several that begin
    /// there the one that came first continues it, or, where that would make the command too
    /// large, none. A request that is larger by itself goes by itself. Each request completes when
    /// the command does, in the order of their blocks, with its own arrival and queue wait; the
    /// other parts of its breakdown, and what the buffer did, are the command's. So requests are
    /// counted as they came; the service time of each is that of the command, and services of
    /// one command overlap.
    ///
    /// Requests in front of the chosen one stay: the policy chose by the place of its first block,
    /// and a command that begins elsewhere is not what it chose. The policy hears of the others
    /// as of requests served out of turn, one by one in the order of their blocks.
    ///
    /// Cost: a look into a tree for each request, and for each that is merged a search of the
    /// policy for its name. When it is bad: the request chosen waits for the transfer of all, and
    /// what the policy knew of its time was its own; nothing is held back for others to come.
    ///
    /// # Panics
    /// When `most` is not from 1 to [`Request::MOST_SECTORS`], or requests already wait.
    pub fn merging(self, most: SectorCount) -> Self {
        let is_sound = (1..=Request::MOST_SECTORS.0).contains(&most.0);
        assert!(is_sound, "commands of at most {most:?}");
        assert_eq!(self.waiting, 0, "requests wait unmerged");
        Self {
            merger: Some(Box::new(Merger::new(most))),
            ..self
        }
    }

    #[inline]
    fn feed(&mut self, now: Instant) {
        while self.waiting > 0 && self.device.accepts() {
            let Some(pending) = self.policy.next(now, &self.device) else {
                panic!("the policy lost {} requests", self.waiting);
            };
            self.waiting -= 1;
            let Pending {
                mut request,
                arrived,
            } = pending;
            if let Some(merger) = &mut self.merger {
                let (whole, others) = merger.gather(pending, &mut *self.policy, &self.device);
                self.waiting -= others;
                request = whole;
            }
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
        if let Some(merger) = &mut self.merger {
            merger.split(completion);
        }
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
            if let Some(merger) = &mut self.merger {
                merger.add(request);
            }
        }
        Ok(())
    }

    #[inline]
    fn next_event(&self) -> Option<Instant> {
        let told = self.merger.as_ref().and_then(|merger| merger.next_event());
        told.or_else(|| self.device.next_event())
    }

    #[inline]
    fn advance(&mut self, now: Instant) -> Option<Completion> {
        if let Some(part) = self.merger.as_mut().and_then(|merger| merger.advance()) {
            return Some(part);
        }
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
