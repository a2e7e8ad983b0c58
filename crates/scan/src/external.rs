//! A scheduler in front of a device that can only be watched (lumb01, section 3).
//!
//! # What it does
//! Holds requests back and sends them in the order of a policy, which learns positions from a
//! [`Model`] of the drive. The device has at most one or two at a time, one of them under way, so
//! that its own scheduler never chooses. With two, the next command and the data of the one before
//! overlap with the media if the drive can do that; the choice is then made when the one before it
//! begins. In front of background reads see [`Background`].
//!
//! Completions correct the model. When the angle of the platter is not known well enough (at first,
//! after a long pause, after eight surprises in a row, when the device answers out of order, or
//! when few recent completions of the media fitted it), policies that need positions are replaced
//! by C-LOOK by block number until it is.
//!
//! # Origin
//! lumb01, sections 3 and 4. Background reads are chosen as soon as their gap is known, and not
//! improved after that: in the paper they are until they are sent, which here is the same moment.
//!
//! # Cost
//! Copies of the model: one for each request, and a few for each background read.
//!
//! # When it is bad
//! What the model does not know the scheduler does not see: a drive whose layout or seek times are
//! off. Conservatism helps against seeks that are longer than believed. A device that never answers
//! keeps its requests until [`Device::abort`] takes them back.

use std::collections::VecDeque;

use diskarm_core::device::{Children, Completion, Device, Part, Refused, Status};
use diskarm_core::freeblock::Claim;
use diskarm_core::request::{Op, Ordering, Request};
use diskarm_core::sched::{Pending, PolicyConfig};
use diskarm_core::units::{Bytes, Instant, Lbn, SectorCount};

use crate::background::Background;
use crate::foreground::Foreground;
use crate::gap::Undelayed;
use crate::predicted::{OnPrediction, Prediction};
use crate::watch::{Model, Observations, Watch};

/// See the module's documentation.
pub struct ExternalScheduler<D> {
    device: D,
    pub(crate) watch: Watch,
    pub(crate) foreground: Foreground,
    pub(crate) depth: usize,
    /// Commands to send next, in this order.
    planned: VecDeque<Planned>,
    /// Commands inside the device.
    children: Children<Parent>,
    /// The child that is an ordered request: until it completes, nothing else is sent.
    fence: Option<u64>,
    /// Completions that are due, in their order.
    due: VecDeque<Completion>,
    pub(crate) background: Option<Background>,
    /// When the idle device reads for the background next.
    idle: Option<Instant>,
    on_prediction: OnPrediction,
}

/// A command to be sent.
pub(crate) enum Planned {
    Foreground(Planning),
    Free(Free),
}

/// A background read that is a command of its own.
pub(crate) struct Free {
    pub first: Lbn,
    pub sectors: SectorCount,
    pub claim: Claim,
}

/// A foreground request with a background read in front of it, if any.
pub(crate) struct Planning {
    pub pending: Pending,
    /// How many blocks in front of its own are read with it.
    pub lead: SectorCount,
    pub claim: Claim,
    /// What it would do without background reads, if any in its gap.
    pub undelayed: Option<Undelayed>,
}

impl Planning {
    pub fn alone(pending: Pending) -> Self {
        Self {
            pending,
            lead: SectorCount(0),
            claim: Claim::default(),
            undelayed: None,
        }
    }
}

/// What a command inside the device was.
enum Parent {
    Foreground(Planning),
    Free(Free),
}

impl<D: Device> ExternalScheduler<D> {
    /// Puts `policy` in front of `device`, of which `model` is known, with at most `depth`
    /// requests in the device.
    ///
    /// # Panics
    /// When `depth` is neither 1 nor 2.
    pub fn new(device: D, model: Model, policy: &PolicyConfig, depth: usize) -> Self {
        assert!((1..=2).contains(&depth), "{depth} requests in the device");
        let watch = Watch::new(model);
        Self {
            device,
            foreground: Foreground::new(policy, &watch.predictor),
            watch,
            depth,
            planned: VecDeque::new(),
            children: Children::default(),
            fence: None,
            due: VecDeque::new(),
            background: None,
            idle: None,
            on_prediction: OnPrediction::default(),
        }
    }

    /// The same with background tasks.
    pub fn with_background(self, background: Background) -> Self {
        let idle = background.idle_from(Instant::START);
        Self {
            background: Some(background),
            idle,
            ..self
        }
    }

    /// The same in front of a device that is far away: it learns how long commands and answers are
    /// on their way from those that the device's buffer serves.
    #[must_use]
    pub fn learning_lag(mut self) -> Self {
        self.watch.lag.learn_the_way();
        self
    }

    /// The same with a function that is called with each command that has ended from now on.
    #[must_use]
    pub fn on_prediction(self, on_prediction: OnPrediction) -> Self {
        Self {
            on_prediction,
            ..self
        }
    }

    /// What was seen of the device.
    pub fn observations(&self) -> &Observations {
        &self.watch.seen
    }

    /// Whether predictions are relied on at `now`.
    pub fn is_confident(&self, now: Instant) -> bool {
        self.watch.is_confident(now)
    }

    /// The background tasks.
    pub fn background(&self) -> Option<&Background> {
        self.background.as_ref()
    }

    /// How many commands are inside the device.
    pub(crate) fn inside(&self) -> usize {
        self.children.len()
    }

    fn has_room(&self) -> bool {
        self.children.len() < self.depth && self.device.has_room()
    }

    /// Sends what can be sent.
    fn feed(&mut self, now: Instant) {
        while self.has_room() {
            if let Some(next) = self.planned.pop_front() {
                self.send(now, next);
            } else if !self.choose(now) {
                break;
            }
        }
        let is_idle = self.children.is_empty() && self.foreground.is_empty();
        if !is_idle {
            self.idle = None;
        } else if self.idle.is_none() {
            let background = self.background.as_ref();
            self.idle = background.and_then(|background| background.idle_from(now));
        }
    }

    /// Plans the next foreground request, if one may be sent.
    fn choose(&mut self, now: Instant) -> bool {
        if self.fence.is_some() || self.foreground.is_empty() {
            return false;
        }
        if self.foreground.next_is_ordered() && !self.children.is_empty() {
            return false;
        }
        let is_known = self.watch.is_confident(now);
        let drive = &self.watch.predictor;
        // A request that the arm only just reaches is not worth a revolution.
        let sent = now + self.watch.lag.max();
        let (next, is_blind) = self.foreground.next(sent, drive, is_known);
        self.watch.seen.by_block_number += u64::from(is_blind);
        let Some(pending) = next else {
            return false;
        };
        self.plan(now, pending);
        true
    }

    /// Plans a foreground request, with background reads in its gap.
    fn plan(&mut self, now: Instant, pending: Pending) {
        let plan = self.fill_gap(now, pending);
        self.planned.extend(plan);
    }

    fn send(&mut self, now: Instant, planned: Planned) {
        let (mut child, parent) = match planned {
            Planned::Free(free) => {
                let child = Request::new(0, Op::Read, free.first, free.sectors);
                (child, Parent::Free(free))
            }
            Planned::Foreground(planning) => {
                let mut child = planning.pending.request;
                child.start = Lbn(child.start.0 - planning.lead.0);
                child.sectors = child.sectors + planning.lead;
                (child, Parent::Foreground(planning))
            }
        };
        child.id = self.children.insert(parent);
        if child.ordering == Ordering::Ordered {
            self.fence = Some(child.id);
        }
        let taken = self.device.submit(now, child);
        assert_eq!(taken, Ok(()), "a device with room refused {child:?}");
        self.watch.sent(now, child);
    }

    /// Takes a completion of the device; returns that of a foreground request, if it was one and
    /// has ended.
    fn complete(&mut self, mut completion: Completion) -> Option<Completion> {
        let id = completion.request.id;
        let (expected, is_confident) = self.watch.completed(&completion);
        if self.fence == Some(id) {
            self.fence = None;
        }
        let parent = self.children.remove(id);
        if let Some(call) = &self.on_prediction.0 {
            call(&Prediction {
                command: completion.request,
                is_foreground: matches!(parent, Parent::Foreground(_)),
                sent: completion.arrived,
                ended: completion.at,
                expected,
                is_confident,
            });
        }
        let planning = match parent {
            Parent::Free(free) => {
                self.settle(free.claim, &completion);
                return None;
            }
            Parent::Foreground(planning) => planning,
        };
        let Pending { request, arrived } = planning.pending;
        if let Some(background) = &mut self.background {
            let is_judged = expected.is_some() && completion.status.is_success();
            if let Some(undelayed) = planning.undelayed.filter(|_| is_judged) {
                let at = match undelayed.is_of_media {
                    // Nobody sees that. The model has the delays of the reads before.
                    true => self.watch.predictor.completed().transferred(),
                    // What else the answer brings delays it.
                    false => (completion.at).shifted(-self.watch.lag.of_data(&request)),
                };
                background.judge(&undelayed, at, self.watch.pause());
            }
            background.served(arrived, completion.at, &self.watch.seen);
        }
        if planning.lead.0 > 0 {
            let bad = completion.bad_block();
            self.settle(planning.claim, &completion);
            match bad {
                Some(bad) if bad < request.start => {
                    // The drive stopped before it came to the request.
                    let again = Planning::alone(planning.pending);
                    self.planned.push_front(Planned::Foreground(again));
                    return None;
                }
                Some(bad) => {
                    let offset = (bad - request.start).0 as u16;
                    completion.status = Status::MediumError { offset };
                }
                None => {}
            }
        }
        completion.request = request;
        completion.breakdown.queue += completion.arrived - arrived;
        completion.arrived = arrived;
        Some(completion)
    }

    /// Hands over what a background read has brought.
    fn settle(&mut self, claim: Claim, completion: &Completion) {
        let Some(background) = &mut self.background else {
            return;
        };
        background.settle(claim, completion);
        let is_lost = !completion.status.is_success() && completion.bad_block().is_none();
        if is_lost {
            self.idle = background.idle_after_failure(completion.at);
        }
    }

    /// Reads for the background at `now`, if the device has been idle for long enough.
    fn use_idle_time(&mut self, now: Instant) {
        if self.idle.is_none_or(|at| at > now) || !self.has_room() {
            return;
        }
        self.idle = None;
        let background = self.background.as_mut();
        if let Some(free) = background.and_then(Background::next_in_order) {
            self.send(now, Planned::Free(free));
        }
    }
}

impl<D: Device> Device for ExternalScheduler<D> {
    fn capacity(&self) -> SectorCount {
        self.device.capacity()
    }

    fn sector_size(&self) -> Bytes {
        self.device.sector_size()
    }

    fn check(&self, request: &Request) -> Result<(), Refused> {
        self.device.check(request)
    }

    fn has_room(&self) -> bool {
        true
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Refused> {
        self.device.check(&request)?;
        let pending = Pending {
            request,
            arrived: now,
        };
        let is_first = self.foreground.is_empty() && self.planned.is_empty();
        let can_go = self.fence.is_none() && self.has_room() && request.is_simple_transfer();
        if is_first && can_go {
            self.foreground.passed(&request, &self.watch.predictor);
            self.plan(now, pending);
        } else {
            self.foreground.add(pending, &self.watch.predictor);
        }
        self.feed(now);
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        if let Some(due) = self.due.front() {
            return Some(due.at);
        }
        [self.device.next_event(), self.idle]
            .into_iter()
            .flatten()
            .min()
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        if let Some(due) = self.due.pop_front() {
            return Some(due);
        }
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            let done = self.device.advance(at);
            let done = done.and_then(|completion| self.complete(completion));
            self.feed(at);
            self.use_idle_time(at);
            if done.is_some() {
                return done;
            }
        }
        None
    }

    fn abort(&mut self, now: Instant, id: u64) -> bool {
        let is_it = |planned: &Planned| match planned {
            Planned::Foreground(planning) => planning.pending.request.id == id,
            Planned::Free(_) => false,
        };
        let place = self.planned.iter().position(is_it);
        let mut taken = self.foreground.take(id, &self.watch.predictor);
        if let Some(place) = place
            && let Some(Planned::Foreground(planning)) = self.planned.remove(place)
        {
            if let Some(background) = &mut self.background {
                background.restore(&planning.claim);
            }
            taken = Some(planning.pending);
        }
        let Some(Pending { request, arrived }) = taken else {
            let is_it = |parent: &Parent| match parent {
                Parent::Foreground(planning) => {
                    planning.pending.request.id == id && planning.lead.0 == 0
                }
                Parent::Free(_) => false,
            };
            let child = self.children.find(is_it);
            return child.is_some_and(|child| self.device.abort(now, child));
        };
        let aborted = Completion::unserved(request, arrived, now, Status::Aborted);
        self.due.push_back(aborted);
        self.feed(now);
        true
    }

    fn parts(&self, now: Instant) -> Vec<Part> {
        self.device.parts(now)
    }
}
