//! A scheduler in front of a device that can only be watched (lumb01, section 3).
//!
//! # What it does
//! Holds requests back and sends them in the order of a policy, which learns positions from a
//! [`Model`] of the drive. The device has at most one or two requests at a time, one of them in
//! progress, so that its own scheduler has no choice. With two, commands and data overlap with
//! media access if the drive supports that, and the next request is chosen when the previous one
//! starts. With [`Background`] tasks it also reads in the gaps of the foreground.
//!
//! Completions correct the model. While the angle of the platter is not known well enough, C-LOOK
//! by block number replaces policies that need positions: at first, after a long pause, after eight
//! consecutive surprises, when the device answers out of order, or when few recent media
//! completions matched the predicted angle.
//!
//! # Origin
//! lumb01, sections 3 and 4. Background reads are chosen as soon as their gap is known. In the
//! paper, the choice is improved until they are sent; here, both happen at the same moment.
//!
//! # Cost
//! One copy of the model for each request, and a few for each background read.
//!
//! # When it is bad
//! The scheduler cannot detect errors in the model, such as a wrong layout or wrong seek times.
//! Conservatism helps against seeks that are longer than predicted. A device that never answers
//! keeps its requests until [`Device::abort`] removes them.

use std::collections::VecDeque;

use diskarm_core::device::{Children, Completion, Device, Status, SubmitError};
use diskarm_core::freeblock::Claim;
use diskarm_core::predict::Predictor;
use diskarm_core::queue::CommandQueue;
use diskarm_core::request::{Op, Ordering, Request};
use diskarm_core::sched::{Knowledge, Pending, PolicyConfig};
use diskarm_core::units::{Instant, Lbn, SectorCount};

use crate::background::{Background, ForegroundGap, FreeRead, ModelState, UndelayedService};
use crate::watch::{Model, Observations, OnPrediction, Prediction, Watch};

/// A scheduler in front of a device; see the module's documentation.
pub struct ExternalScheduler<D> {
    device: D,
    watch: Watch,
    foreground: ForegroundQueue,
    depth: usize,
    /// Commands to send next, in this order.
    planned: VecDeque<Command>,
    children: Children<Command>,
    /// The id of an outstanding ordered request; nothing else is sent until it completes.
    fence: Option<u64>,
    /// Completions that are due, in order.
    due: VecDeque<Completion>,
    background: Option<Background>,
    /// The start of the idle device's next background read.
    idle: Option<Instant>,
    on_prediction: OnPrediction,
}

enum Command {
    Foreground(ForegroundCommand),
    Free(FreeRead),
}

/// A foreground request, with the lead that its command also reads.
struct ForegroundCommand {
    pending: Pending,
    /// Number of blocks that are read before those of the request.
    lead: SectorCount,
    claim: Claim,
    /// The behaviour without background reads; `None` if there are none in its gap.
    undelayed: Option<UndelayedService>,
}

impl ForegroundCommand {
    fn alone(pending: Pending) -> Self {
        Self {
            pending,
            lead: SectorCount(0),
            claim: Claim::default(),
            undelayed: None,
        }
    }
}

impl<D: Device> ExternalScheduler<D> {
    /// Puts `policy` in front of `device`, which is described by `model`, with at most `depth`
    /// requests in the device. Panics if `depth` is neither 1 nor 2.
    pub fn new(device: D, model: Model, policy: &PolicyConfig, depth: usize) -> Self {
        assert!((1..=2).contains(&depth), "a depth of {depth} is not 1 or 2");
        let watch = Watch::new(model);
        Self {
            device,
            foreground: ForegroundQueue::new(policy, &watch.predictor),
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

    pub fn with_background(self, background: Background) -> Self {
        let idle = background.idle_from(Instant::START);
        Self {
            background: Some(background),
            idle,
            ..self
        }
    }

    /// Makes the scheduler learn the travel times of commands and answers, for a device behind a
    /// network or an operating system. It learns from commands that the device's buffer serves.
    #[must_use]
    pub fn learning_lag(mut self) -> Self {
        self.watch.lag.learn_round_trip();
        self
    }

    /// Sets a function that is called with each command when it has ended.
    #[must_use]
    pub fn on_prediction(self, on_prediction: OnPrediction) -> Self {
        Self {
            on_prediction,
            ..self
        }
    }

    pub fn observations(&self) -> &Observations {
        &self.watch.observations
    }

    /// Returns true if predictions are considered reliable at `now`.
    pub fn is_confident(&self, now: Instant) -> bool {
        self.watch.is_confident(now)
    }

    pub fn background(&self) -> Option<&Background> {
        self.background.as_ref()
    }

    pub(crate) fn background_mut(&mut self) -> Option<&mut Background> {
        self.background.as_mut()
    }

    pub(crate) fn predictor(&self) -> &Predictor {
        &self.watch.predictor
    }

    fn has_room(&self) -> bool {
        self.children.len() < self.depth && self.device.has_room()
    }

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

    /// Plans the next foreground request; returns false if none may be sent.
    fn choose(&mut self, now: Instant) -> bool {
        if self.fence.is_some() || self.foreground.is_empty() {
            return false;
        }
        if self.foreground.queue.next_is_ordered() && !self.children.is_empty() {
            return false;
        }
        let is_known = self.watch.is_confident(now);
        let drive = &self.watch.predictor;
        // Do not risk a revolution on a request that the arm can barely reach.
        let sent = now + self.watch.lag.max();
        let (next, is_blind) = self.foreground.next(sent, drive, is_known);
        self.watch.observations.by_block_number += u64::from(is_blind);
        let Some(pending) = next else {
            return false;
        };
        self.plan(now, pending);
        true
    }

    /// Plans a foreground request, with background reads in its gap.
    fn plan(&mut self, now: Instant, pending: Pending) {
        let with_reads = self.plan_gap(now, pending);
        let command = with_reads.unwrap_or_else(|| ForegroundCommand::alone(pending));
        self.planned.push_back(Command::Foreground(command));
    }

    /// Plans background reads in the gap of a foreground request, and returns its command; `None`
    /// if nothing can be read there.
    fn plan_gap(&mut self, now: Instant, pending: Pending) -> Option<ForegroundCommand> {
        let watch = &self.watch;
        let background = self.background.as_mut()?;
        let is_known = watch.is_confident(now) && watch.is_complete(self.children.len());
        let request = pending.request;
        if !is_known || !request.is_simple_transfer() || !background.wants_any() {
            return None;
        }
        let drive = ModelState {
            core: watch.predictor.core(),
            open: watch.predictor.open(),
            answer: watch.next_completion(),
            depth: self.depth,
            lag: watch.lag,
        };
        let gap = ForegroundGap::new(drive, now, request, !self.foreground.is_empty())?;
        let (plan, turnaround) = gap.plan(background.tasks(), background.limits(request.op));
        background.record_turnaround(request.op, turnaround);
        if plan.is_empty() {
            return None;
        }
        let (reads, claim) = background.start(&plan);
        self.planned.extend(reads.into_iter().map(Command::Free));
        Some(ForegroundCommand {
            pending,
            lead: plan.lead.map_or(SectorCount(0), |lead| lead.sectors),
            claim,
            undelayed: Some(gap.undelayed()),
        })
    }

    fn send(&mut self, now: Instant, command: Command) {
        let mut child = match &command {
            Command::Free(read) => Request::new(0, Op::Read, read.first, read.sectors),
            Command::Foreground(ForegroundCommand { pending, lead, .. }) => Request {
                start: Lbn(pending.request.start.0 - lead.0),
                sectors: pending.request.sectors + *lead,
                ..pending.request
            },
        };
        child.id = self.children.insert(command);
        if child.ordering == Ordering::Ordered {
            self.fence = Some(child.id);
        }
        let result = self.device.submit(now, child);
        assert_eq!(result, Ok(()), "a device with room refused {child:?}");
        self.watch.record_sent(now, child);
    }

    /// Handles a completion of the device. Returns a foreground request's completion, if any.
    fn complete(&mut self, mut completion: Completion) -> Option<Completion> {
        let id = completion.request.id;
        let (expected, is_confident) = self.watch.record_completion(&completion);
        if self.fence == Some(id) {
            self.fence = None;
        }
        let command = self.children.remove(id);
        if let Some(call) = &self.on_prediction.0 {
            call(&Prediction {
                command: completion.request,
                is_foreground: matches!(command, Command::Foreground(_)),
                sent: completion.arrived,
                ended: completion.at,
                expected,
                is_confident,
            });
        }
        let foreground = match command {
            Command::Free(read) => {
                self.settle(read.claim, &completion);
                return None;
            }
            Command::Foreground(foreground) => foreground,
        };
        let Pending { request, arrived } = foreground.pending;
        if let Some(background) = &mut self.background {
            let is_comparable = expected.is_some() && completion.status.is_success();
            if let Some(undelayed) = foreground.undelayed.filter(|_| is_comparable) {
                let at = if undelayed.is_media_time {
                    // It cannot be observed, but the model includes delays by previous reads.
                    self.watch.predictor.completed().transferred()
                } else {
                    // The data of the lead delay the answer.
                    (completion.at).shifted(-self.watch.lag.of_data(&request))
                };
                background.record_delay(&undelayed, at, self.watch.pause());
            }
            background.record_service(arrived, completion.at, &self.watch.observations);
        }
        if foreground.lead.0 > 0 {
            let bad = completion.bad_block();
            self.settle(foreground.claim, &completion);
            match bad {
                Some(bad) if bad < request.start => {
                    // The drive stopped before the request.
                    let retry = ForegroundCommand::alone(foreground.pending);
                    self.planned.push_front(Command::Foreground(retry));
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

    fn settle(&mut self, claim: Claim, completion: &Completion) {
        let Some(background) = &mut self.background else {
            return;
        };
        background.settle(claim, completion);
        let is_other_failure = !completion.status.is_success() && completion.bad_block().is_none();
        if is_other_failure {
            self.idle = background.idle_after_failure(completion.at);
        }
    }

    /// Starts a background read at `now`, if the device has been idle for long enough.
    fn use_idle_time(&mut self, now: Instant) {
        if self.idle.is_none_or(|at| at > now) || !self.has_room() {
            return;
        }
        self.idle = None;
        let background = self.background.as_mut();
        if let Some(read) = background.and_then(Background::next_in_order) {
            self.send(now, Command::Free(read));
        }
    }
}

impl<D: Device> Device for ExternalScheduler<D> {
    diskarm_core::forward!(device: capacity sector_size check components);

    fn has_room(&self) -> bool {
        true
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        self.device.check(&request)?;
        let arrived = now;
        let pending = Pending { request, arrived };
        let is_first = self.foreground.is_empty() && self.planned.is_empty();
        let can_go = self.fence.is_none() && self.has_room() && request.is_simple_transfer();
        if is_first && can_go {
            self.foreground
                .queue
                .note_bypass(&request, &self.watch.predictor);
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
        let events = [self.device.next_event(), self.idle];
        events.into_iter().flatten().min()
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
        let lead_of = |command: &Command| match command {
            Command::Foreground(command) if command.pending.request.id == id => Some(command.lead),
            _ => None,
        };
        let serves = |command: &Command| lead_of(command).is_some();
        let index = self.planned.iter().position(serves);
        let mut removed = self.foreground.take(id, &self.watch.predictor);
        if let Some(index) = index
            && let Some(Command::Foreground(foreground)) = self.planned.remove(index)
        {
            if let Some(background) = &mut self.background {
                background.restore(&foreground.claim);
            }
            removed = Some(foreground.pending);
        }
        let Some(Pending { request, arrived }) = removed else {
            let serves_alone = |command: &Command| lead_of(command) == Some(SectorCount(0));
            let child = self.children.find(serves_alone);
            return child.is_some_and(|child| self.device.abort(now, child));
        };
        let aborted = Completion::unserved(request, arrived, now, Status::Aborted);
        self.due.push_back(aborted);
        self.feed(now);
        true
    }
}

/// The foreground's queue, ordered by a policy, or by C-LOOK while positions are unknown.
struct ForegroundQueue {
    policy: PolicyConfig,
    /// A policy that uses block numbers, used while positions are unknown.
    fallback: PolicyConfig,
    queue: CommandQueue<Predictor>,
    /// The requests in the queue, in order of arrival.
    waiting: Vec<Pending>,
    /// True if the queue uses the fallback policy.
    is_blind: bool,
}

impl ForegroundQueue {
    fn new(policy: &PolicyConfig, drive: &Predictor) -> Self {
        let Ok(fallback) = PolicyConfig::parse("clook", "policy") else {
            unreachable!("the table of policies has C-LOOK");
        };
        Self {
            queue: CommandQueue::new(policy.policy(drive)),
            policy: policy.clone(),
            fallback,
            waiting: Vec::new(),
            is_blind: false,
        }
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn add(&mut self, pending: Pending, drive: &Predictor) {
        self.waiting.push(pending);
        add(&mut self.queue, pending, drive);
    }

    /// Removes and returns the request to serve next, and true if it was chosen by block number
    /// because the policy needs positions that are unknown.
    fn next(&mut self, now: Instant, drive: &Predictor, is_known: bool) -> (Option<Pending>, bool) {
        let is_blind = !is_known && self.policy.knowledge() > Knowledge::Cylinders;
        if is_blind != self.is_blind {
            self.is_blind = is_blind;
            let policies = [&self.policy, &self.fallback];
            let policy = policies[usize::from(is_blind)];
            self.queue = CommandQueue::new(policy.policy(drive));
            for pending in &self.waiting {
                add(&mut self.queue, *pending, drive);
            }
        }
        let next = self.queue.next(now, drive);
        if let Some(pending) = &next {
            self.forget(pending.request.id);
            self.queue.note_served(&pending.request, drive);
        }
        (next, is_blind && next.is_some())
    }

    fn take(&mut self, id: u64, drive: &Predictor) -> Option<Pending> {
        let pending = self.queue.take(id, drive)?;
        self.forget(id);
        Some(pending)
    }

    fn forget(&mut self, id: u64) {
        self.waiting.retain(|waiting| waiting.request.id != id);
    }
}

fn add(queue: &mut CommandQueue<Predictor>, pending: Pending, drive: &Predictor) {
    if pending.request.is_simple_transfer() && !queue.is_special() {
        queue.add(pending, drive);
    } else {
        queue.add_special(pending, drive);
    }
}
