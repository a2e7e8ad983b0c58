//! A host queue above a device: it holds requests and submits them in the order of a policy.
//!
//! Above a drive that takes one command at a time, this is the device driver of the classic
//! studies. The policy chooses only when the device accepts the next command, so it knows the state
//! of the device at that instant. [`Host::merging`] submits sequential requests as one command.

use std::collections::{BTreeMap, VecDeque};

use crate::device::{Children, Completion, Device, Status, SubmitError};
use crate::queue::CommandQueue;
use crate::request::{Op, Ordering, Request};
use crate::sched::{Estimate, Pending, Policy};
use crate::units::{Instant, Lbn, SectorCount};

/// A queue of unlimited length above a device.
pub struct Host<D: Device + Estimate> {
    device: D,
    queue: CommandQueue<D>,
    /// Requests that the device has accepted.
    children: Children<Parent>,
    /// The child id of an ordered request. Until it completes, no other request is submitted.
    fence: Option<u64>,
    /// Completions that are due, in order.
    due: VecDeque<Completion>,
    /// Boxed and usually absent, so that a queue that does not merge only needs one check per step.
    merger: Option<Box<Merger>>,
}

/// The origin of a command that the device has accepted.
struct Parent {
    /// The id of the request, or of the first of the merged requests.
    id: u64,
    arrived: Instant,
    /// The merged requests in order of their blocks, if there are several.
    merged: Option<Box<[Pending]>>,
}

impl<D: Device + Estimate> Host<D> {
    /// Creates a queue above `device`, ordered by `policy`.
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

    /// Returns the device below the queue.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Merges sequential requests: the request that the policy chooses and the waiting requests
    /// that continue it are submitted as one command of at most `max` blocks.
    ///
    /// A request in the same direction is appended to the chosen one if it begins where the chosen
    /// one ends, then another that begins where the appended one ends, and so on. If several
    /// requests begin at the same block, the oldest is appended, or none if the oldest would make
    /// the command too large. A request of more than `max` blocks is submitted alone. All requests
    /// of a command complete with it, in the order of their blocks. Each has its own arrival and
    /// queue wait, but otherwise the breakdown and buffer outcome of the command. So the service
    /// time of the command counts for every request, and service times overlap.
    ///
    /// Requests that end where the chosen one begins are not merged, because the policy's choice
    /// depends on the first block of the command. The policy is notified of the appended requests
    /// as requests served out of turn, in the order of their blocks.
    ///
    /// Cost: one tree lookup for each request, and a search in the policy for each merged request.
    /// When it is bad: the chosen request waits for the transfer of all requests, although the
    /// policy estimated only its own transfer. No request waits for others to merge with.
    ///
    /// # Panics
    /// If `max` is not from 1 to [`Request::MAX_SECTORS`], or requests are already waiting.
    pub fn merging(self, max: SectorCount) -> Self {
        let is_in_range = (1..=Request::MAX_SECTORS.0).contains(&max.0);
        assert!(is_in_range, "invalid command size {max:?}");
        assert!(self.queue.is_empty(), "requests are already waiting");
        Self {
            merger: Some(Box::new(Merger {
                max,
                reads: BTreeMap::new(),
                writes: BTreeMap::new(),
            })),
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

    /// Submits the next request if the device accepts it and no ordered request prevents it.
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

    #[cold]
    fn submit_merged(&mut self, now: Instant, pending: Pending) {
        let Some(merger) = &mut self.merger else {
            return;
        };
        let (command, parts) = merger.gather(pending, self.queue.policy(), &self.device);
        self.queue.deduct(parts.len() - 1);
        let child = self.submit_child(now, &command, pending.arrived);
        if parts.len() > 1 {
            self.children[child].merged = Some(parts.into());
        }
    }

    /// Queues a request. A request with an ordering constraint may be submitted immediately.
    #[inline(always)]
    fn enqueue(&mut self, now: Instant, request: Request) {
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
        let result = self.device.submit(now, child);
        assert_eq!(result, Ok(()), "rejected despite `accepts`: {request:?}");
        id
    }

    /// Converts a completion of the device into one of this queue by adding the wait in the queue.
    #[inline]
    fn own_completion(&mut self, completion: &mut Completion) {
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
            split(&parts, completion, &mut self.due);
        }
        completion.breakdown.queue += completion.arrived - arrived;
        completion.arrived = arrived;
    }
}

impl<D: Device + Estimate> Device for Host<D> {
    crate::forward!(device: capacity sector_size check components persisted);

    fn has_room(&self) -> bool {
        true
    }

    #[inline(always)]
    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
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
        self.enqueue(now, request);
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
                self.own_completion(completion);
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
}

pub(super) struct Merger {
    max: SectorCount,
    /// Waiting reads by first block and then in order of arrival.
    reads: BTreeMap<Lbn, VecDeque<Request>>,
    /// Waiting writes by first block and then in order of arrival.
    writes: BTreeMap<Lbn, VecDeque<Request>>,
}

impl Merger {
    #[cold]
    pub fn add(&mut self, request: Request) {
        let requests = self.by_start(request.op).entry(request.start);
        requests.or_default().push_back(request);
    }

    /// Merges the policy's choice with the requests that continue it, and removes them from the
    /// policy. Returns the command, and its requests in order of their blocks.
    #[cold]
    pub fn gather<E: Estimate>(
        &mut self,
        chosen: Pending,
        policy: &mut dyn Policy<E>,
        drive: &E,
    ) -> (Request, Vec<Pending>) {
        self.forget(&chosen.request);
        let mut command = chosen.request;
        let mut parts = vec![chosen];
        while let Some(next) = self.next_in_sequence(&command) {
            let Some(taken) = policy.take(next.id) else {
                // The request arrived after an ordered one that is still waiting.
                break;
            };
            policy.note_bypass(&taken.request, drive);
            self.forget(&taken.request);
            command.sectors = SectorCount(command.sectors.0 + taken.request.sectors.0);
            parts.push(taken);
        }
        (command, parts)
    }

    /// Returns the waiting request that continues `command`, if the two can be merged.
    fn next_in_sequence(&mut self, command: &Request) -> Option<Request> {
        let max = self.max.0;
        let by_start = self.by_start(command.op);
        let first = by_start.get(&command.end())?.front().copied();
        let is_mergeable = |next: &Request| {
            (next.force_unit_access, next.priority, next.unit)
                == (command.force_unit_access, command.priority, command.unit)
        };
        first.filter(|next| is_mergeable(next) && command.sectors.0 + next.sectors.0 <= max)
    }

    fn by_start(&mut self, op: Op) -> &mut BTreeMap<Lbn, VecDeque<Request>> {
        match op {
            Op::Read => &mut self.reads,
            Op::Write | Op::Flush => &mut self.writes,
        }
    }

    pub fn forget(&mut self, request: &Request) {
        let by_start = self.by_start(request.op);
        if let Some(same) = by_start.get_mut(&request.start) {
            same.retain(|waiting| waiting.id != request.id);
            if same.is_empty() {
                by_start.remove(&request.start);
            }
        }
    }
}

/// Converts the completion of a command merged from `parts` into the completion of the first part,
/// and appends the completions of the others to `due`.
#[cold]
pub(super) fn split(
    parts: &[Pending],
    completion: &mut Completion,
    due: &mut VecDeque<Completion>,
) {
    let command = *completion;
    completion.request = parts[0].request;
    completion.status = status_of(&parts[0].request, &command);
    for &Pending { request, arrived } in &parts[1..] {
        let mut other = Completion {
            request,
            arrived,
            status: status_of(&request, &command),
            ..*completion
        };
        other.breakdown.queue += completion.arrived - arrived;
        due.push_back(other);
    }
}

/// Returns the status of one of the requests of a merged command. The drive stops at a bad block:
/// blocks before it were transferred, and those after it were not tried.
fn status_of(request: &Request, command: &Completion) -> Status {
    let Some(bad) = command.bad_block() else {
        return command.status;
    };
    if request.end() <= bad {
        Status::Good
    } else if request.start > bad {
        Status::Aborted
    } else {
        Status::MediumError {
            offset: (bad - request.start).0 as u16,
        }
    }
}
