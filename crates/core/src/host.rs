//! A host queue in front of a device: it holds requests back and submits them in the order of a
//! policy.
//!
//! With a drive that takes one command at a time behind it, this is the device driver of the
//! classic studies. The policy decides when the device takes the next command, with the knowledge
//! of that moment. [`Host::merging`] submits sequential requests as one command.

mod merge;

use std::collections::VecDeque;

use merge::Merger;

use crate::device::{Children, Completion, Device, Landed, Part, Refused, Status};
use crate::queue::CommandQueue;
use crate::request::{Ordering, Request};
use crate::sched::{Estimate, Pending, Policy};
use crate::units::{Bytes, Instant, SectorCount};

/// A device behind a queue of unlimited length.
pub struct Host<D: Device + Estimate> {
    device: D,
    /// Requests that wait here, outside the device.
    queue: CommandQueue<D>,
    /// Requests inside the device.
    children: Children<Parent>,
    /// The child that is an ordered request: until it completes, nothing else is submitted.
    fence: Option<u64>,
    /// Completions that are due, in their order.
    due: VecDeque<Completion>,
    /// Separate and mostly absent: a queue that merges nothing pays one look at each step.
    merger: Option<Box<Merger>>,
}

/// What a command inside the device was.
struct Parent {
    /// The request, or the first of those that were merged.
    id: u64,
    /// When it entered the queue.
    arrived: Instant,
    /// The requests that were merged, in the order of their blocks, if it was several.
    merged: Option<Box<[Pending]>>,
}

impl<D: Device + Estimate> Host<D> {
    /// Puts `policy` in front of `device`.
    pub fn new(device: D, policy: Box<dyn Policy<D>>) -> Self {
        Self {
            device,
            queue: CommandQueue::new(policy),
            children: Children::default(),
            fence: None,
            due: VecDeque::new(),
            merger: None,
        }
    }

    /// The device behind the queue.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// The same queue, which submits as one command, of at most `max` blocks, the request that the
    /// policy chooses and those waiting that continue it.
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
    /// When `max` is not from 1 to [`Request::MAX_SECTORS`], or requests already wait.
    pub fn merging(self, max: SectorCount) -> Self {
        let is_sound = (1..=Request::MAX_SECTORS.0).contains(&max.0);
        assert!(is_sound, "commands of at most {max:?}");
        assert!(self.queue.is_empty(), "requests wait unmerged");
        Self {
            merger: Some(Box::new(Merger::new(max))),
            ..self
        }
    }

    #[inline(always)]
    fn feed(&mut self, now: Instant) {
        while !self.queue.is_empty() && self.device.has_room() {
            let is_special = self.fence.is_some() || self.merger.is_some();
            if is_special || self.queue.is_special() {
                if !self.feed_special(now) {
                    break;
                }
            } else if let Some(pending) = self.queue.next(now, &self.device) {
                if !self.device.accepts(&pending.request) {
                    return self.queue.put_back(pending);
                }
                self.submit_child(now, &pending.request, pending.arrived);
            }
        }
    }

    /// Submits the next request, if the device takes it and no ordered request forbids.
    #[cold]
    #[inline(never)]
    fn feed_special(&mut self, now: Instant) -> bool {
        if self.fence.is_some() || (self.queue.next_is_ordered() && !self.children.is_empty()) {
            return false;
        }
        let Some(pending) = self.queue.next(now, &self.device) else {
            return false;
        };
        if !self.device.accepts(&pending.request) {
            self.queue.put_back(pending);
            return false;
        }
        let Pending { request, arrived } = pending;
        self.queue.note_served(&request, &self.device);
        if request.ordering == Ordering::Ordered {
            self.fence = Some(self.submit_child(now, &request, arrived));
        } else if self.merger.is_some() && request.is_simple_transfer() {
            self.submit_merged(now, pending);
        } else {
            self.submit_child(now, &request, arrived);
        }
        true
    }

    /// Submits a request and those that continue it.
    #[cold]
    fn submit_merged(&mut self, now: Instant, pending: Pending) {
        let Some(merger) = &mut self.merger else {
            return;
        };
        let (whole, parts) = merger.gather(pending, self.queue.policy(), &self.device);
        self.queue.deduct(parts.len() - 1);
        let child = self.submit_child(now, &whole, pending.arrived);
        if parts.len() > 1
            && let Some(parent) = self.children.get_mut(child)
        {
            parent.merged = Some(parts.into());
        }
    }

    /// Lets a request wait here, or go to the device by way of the queue.
    #[inline(always)]
    fn submit_later(&mut self, now: Instant, request: Request) {
        let pending = Pending {
            request,
            arrived: now,
        };
        if !request.is_simple_transfer() {
            self.queue.add_special(pending, &self.device);
            return self.feed(now);
        }
        self.queue.add(pending, &self.device);
        if let Some(merger) = &mut self.merger {
            merger.add(request);
        }
    }

    /// Submits a request under the id of a child, which it gives.
    #[inline(always)]
    fn submit_child(&mut self, now: Instant, request: &Request, arrived: Instant) -> u64 {
        let parent = Parent {
            id: request.id,
            arrived,
            merged: None,
        };
        let id = self.children.insert(parent);
        let mut child = *request;
        child.id = id;
        let taken = self.device.submit(now, child);
        assert_eq!(taken, Ok(()), "a device that accepts refused {request:?}");
        id
    }

    /// Turns a completion of the device into one of this queue: the wait here comes on top.
    #[inline]
    fn lift(&mut self, completion: &mut Completion) {
        let child = completion.request.id;
        let Parent {
            id,
            arrived,
            merged,
        } = self.children.remove(child);
        completion.request.id = id;
        if self.fence == Some(child) {
            self.fence = None;
        }
        if let Some(parts) = merged {
            merge::split(&parts, completion, &mut self.due);
        }
        completion.breakdown.queue += completion.arrived - arrived;
        completion.arrived = arrived;
    }
}

impl<D: Device + Estimate> Device for Host<D> {
    fn capacity(&self) -> SectorCount {
        self.device.capacity()
    }

    fn sector_size(&self) -> Bytes {
        self.device.sector_size()
    }

    #[inline]
    fn check(&self, request: &Request) -> Result<(), Refused> {
        self.device.check(request)
    }

    fn has_room(&self) -> bool {
        true
    }

    #[inline(always)]
    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Refused> {
        self.device.check(&request)?;
        if self.queue.is_empty()
            && request.is_simple_transfer()
            && self.fence.is_none()
            && self.device.has_room()
            && self.device.accepts(&request)
        {
            self.queue.note_bypass(&request, &self.device);
            self.submit_child(now, &request, now);
            return Ok(());
        }
        self.submit_later(now, request);
        Ok(())
    }

    #[inline]
    fn next_event(&self) -> Option<Instant> {
        if self.due.is_empty() {
            return self.device.next_event();
        }
        self.due.front().map(|completion| completion.at)
    }

    #[inline]
    fn advance(&mut self, now: Instant) -> Option<Completion> {
        if !self.due.is_empty() {
            return self.due.pop_front();
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

    fn abort(&mut self, now: Instant, id: u64) -> bool {
        let Some(pending) = self.queue.take(id, &self.device) else {
            let is_alone = |parent: &Parent| parent.id == id && parent.merged.is_none();
            let child = self.children.find(is_alone);
            return child.is_some_and(|child| self.device.abort(now, child));
        };
        let Pending { request, arrived } = pending;
        if let Some(merger) = &mut self.merger {
            merger.forget(&request);
        }
        let aborted = Completion::unserved(request, arrived, now, Status::Aborted);
        self.due.push_back(aborted);
        // An ordered request may have held others back.
        self.feed(now);
        true
    }

    fn parts(&self, now: Instant) -> Vec<Part> {
        self.device.parts(now)
    }

    fn landed(&mut self, now: Instant) -> Option<Vec<Landed>> {
        self.device.landed(now)
    }
}
