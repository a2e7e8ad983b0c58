//! A host queue in front of a device: it holds requests back and submits them in the order of a
//! policy.
//!
//! With a drive that takes one command at a time behind it, this is the device driver of the
//! classic studies. The policy decides when the device takes the next command, with the knowledge
//! of that moment. [`Host::merging`] submits sequential requests as one command.

mod merge;

use std::collections::VecDeque;

use merge::Merger;

use crate::device::{Children, Completion, Device, Refused, Status, check};
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
    /// Chosen, and not accepted yet.
    chosen: Option<Pending>,
    /// Completions that are due, in their order.
    due: VecDeque<Completion>,
    /// Separate and mostly absent: a queue that merges nothing pays one look at each step.
    merger: Option<Box<Merger>>,
}

/// What a command inside the device was made of.
struct Parent {
    /// The request, or the first of those that were merged.
    id: u64,
    /// When it entered the queue.
    arrived: Instant,
    /// Whether others were merged with it.
    is_merged: bool,
}

impl<D: Device + Estimate> Host<D> {
    /// Puts `policy` in front of `device`.
    pub fn new(device: D, policy: Box<dyn Policy<D>>) -> Self {
        Self {
            device,
            queue: CommandQueue::new(policy),
            children: Children::default(),
            fence: None,
            chosen: None,
            due: VecDeque::new(),
            merger: None,
        }
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

    #[inline]
    fn feed(&mut self, now: Instant) {
        while (self.chosen.is_some() || !self.queue.is_empty()) && self.device.has_room() {
            if !self.feed_one(now) {
                break;
            }
        }
    }

    /// Submits the next request; whether it could.
    #[inline]
    fn feed_one(&mut self, now: Instant) -> bool {
        if self.fence.is_some() || (self.queue.next_is_ordered() && !self.children.is_empty()) {
            return false;
        }
        let pending = match self.chosen.take() {
            Some(pending) => pending,
            None => match self.queue.next(now, &self.device) {
                Some(pending) => pending,
                None => return false,
            },
        };
        if !self.device.accepts(&pending.request) {
            self.chosen = Some(pending);
            return false;
        }
        let mut request = pending.request;
        let mut is_merged = false;
        if let Some(merger) = &mut self.merger
            && request.is_simple_transfer()
        {
            let (whole, others) = merger.gather(pending, self.queue.policy(), &self.device);
            self.queue.taken(others);
            request = whole;
            is_merged = others > 0;
        }
        self.submit_child(now, request, pending.arrived, is_merged);
        true
    }

    #[inline]
    fn submit_child(&mut self, now: Instant, request: Request, arrived: Instant, is_merged: bool) {
        let child = self.children.insert(Parent {
            id: request.id,
            arrived,
            is_merged,
        });
        if request.ordering == Ordering::Ordered {
            self.fence = Some(child);
        }
        let taken = self.device.submit(
            now,
            Request {
                id: child,
                ..request
            },
        );
        assert_eq!(taken, Ok(()), "a device that accepts refused {request:?}");
    }

    /// Turns a completion of the device into one of this queue: the wait here comes on top.
    #[inline]
    fn lift(&mut self, completion: &mut Completion) {
        let child = completion.request.id;
        let parent = self.children.remove(child);
        completion.request.id = parent.id;
        if self.fence == Some(child) {
            self.fence = None;
        }
        if parent.is_merged
            && let Some(merger) = &mut self.merger
        {
            merger.split(completion, &mut self.due);
        }
        completion.breakdown.queue += completion.arrived - parent.arrived;
        completion.arrived = parent.arrived;
    }
}

impl<D: Device + Estimate> Device for Host<D> {
    fn capacity(&self) -> SectorCount {
        self.device.capacity()
    }

    fn sector_size(&self) -> Bytes {
        self.device.sector_size()
    }

    fn has_room(&self) -> bool {
        true
    }

    #[inline]
    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Refused> {
        check(&request, self.device.capacity())?;
        let is_first = self.queue.is_empty() && self.chosen.is_none();
        let is_plain = is_first && request.is_simple_transfer() && self.fence.is_none();
        if is_plain && self.device.has_room() && self.device.accepts(&request) {
            self.queue.passed(&request, &self.device);
            self.submit_child(now, request, now, false);
            return Ok(());
        }
        let pending = Pending {
            request,
            arrived: now,
        };
        self.queue.add(pending, &self.device);
        if let Some(merger) = &mut self.merger
            && request.is_simple_transfer()
        {
            merger.add(request);
        }
        if !request.is_simple_transfer() {
            self.feed(now);
        }
        Ok(())
    }

    #[inline]
    fn next_event(&self) -> Option<Instant> {
        let due = self.due.front().map(|completion| completion.at);
        due.or_else(|| self.device.next_event())
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
        let chosen = self.chosen.take_if(|chosen| chosen.request.id == id);
        let Some(pending) = chosen.or_else(|| self.queue.take(id, &self.device)) else {
            let child = self
                .children
                .find(|parent| parent.id == id && !parent.is_merged);
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
}
