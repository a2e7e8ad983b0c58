//! The tasks of a unit and their order.

use std::collections::VecDeque;

use diskarm_core::device::{Completion, Status as Ended};
use diskarm_core::request::Request;
use diskarm_core::units::Instant;
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense};

use crate::backing::Backing;
use crate::command::{Entry, Kind};
use crate::mode::Modes;
use crate::state::{Context, Identity, State};
use crate::store::{Sparse, Store};
use crate::task::{Attribute, Response, Status, Task};
use crate::work::{Start, Step, Transfer, Work};

/// A logical unit: tasks in, responses out.
///
/// Instants never decrease from one call to the next. Every task that was submitted ends in one
/// response.
pub struct Unit<D> {
    device: D,
    state: State,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    /// Tasks that have not begun, in the order in which they will.
    waiting: VecDeque<usize>,
    /// Requests of tasks that have begun for which the device had no room.
    stalled: VecDeque<(usize, Transfer)>,
    /// Tasks that wait for an instant.
    timers: Vec<(Instant, usize)>,
    /// Responses in the order of their instants.
    ready: VecDeque<Response>,
    /// Tasks that have begun: all, those of several steps, and ordered ones.
    begun: usize,
    chains: usize,
    ordered: usize,
    /// A task beside which no other may begin has begun.
    alone: bool,
    /// Completions of one instant; kept for its memory.
    completed: Vec<Completion>,
    now: Instant,
}

/// A task that has not ended.
struct Slot {
    id: u64,
    initiator: u64,
    nexus: usize,
    attribute: Attribute,
    command: Command,
    entry: &'static Entry,
    data_out: Vec<u8>,
    work: Option<Box<dyn Work>>,
}

impl<D: Backing> Unit<D> {
    /// How many tasks may be outstanding.
    pub const TASKS: usize = 256;

    /// A unit over a device whose blocks hold zeros.
    pub fn new(device: D) -> Self {
        let store = Sparse::new(device.sector_size());
        Self::with_store(device, Box::new(store))
    }

    /// A unit over a device whose data are in `store`.
    pub fn with_store(device: D, store: Box<dyn Store>) -> Self {
        let state = State {
            identity: Identity::of(device.spec()),
            block: device.sector_size().0 as usize,
            blocks: device.capacity().0,
            store,
            modes: Modes::default(),
            nexuses: Vec::new(),
            given: device.spec().cloned(),
            read_cache_disabled: false,
        };
        Self {
            device,
            state,
            slots: Vec::new(),
            free: Vec::new(),
            waiting: VecDeque::new(),
            stalled: VecDeque::new(),
            timers: Vec::new(),
            ready: VecDeque::new(),
            begun: 0,
            chains: 0,
            ordered: 0,
            alone: false,
            completed: Vec::new(),
            now: Instant::START,
        }
    }

    /// Gives it another identity.
    pub fn identified(mut self, identity: Identity) -> Self {
        self.state.identity = identity;
        self
    }

    /// The device behind it.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Submits a task.
    pub fn submit(&mut self, now: Instant, task: Task<'_>) {
        self.catch_up(now);
        let nexus = self.state.nexus(task.initiator);
        let parsed = Command::parse(task.command);
        let entry = parsed.and_then(|command| Ok((command, Entry::of(task.command)?)));
        let (command, entry) = match entry {
            Ok(found) => found,
            Err(invalid) => {
                let sense = self.state.sense_bytes(&Sense::of_command(invalid));
                return self.respond(&task, Status::CheckCondition, sense);
            }
        };
        if self.is_outstanding(task.initiator, task.id) {
            let overlapped = Sense::new(Key::AbortedCommand, Code::OVERLAPPED_COMMANDS);
            let sense = self.state.sense_bytes(&overlapped);
            return self.respond(&task, Status::CheckCondition, sense);
        }
        if self.slots.len() - self.free.len() >= Self::TASKS {
            return self.respond(&task, Status::TaskSetFull, Vec::new());
        }
        let slot = self.keep(Slot {
            id: task.id,
            initiator: task.initiator,
            nexus,
            attribute: task.attribute,
            command,
            entry,
            data_out: task.data_out.to_vec(),
            work: None,
        });
        if task.attribute == Attribute::HeadOfQueue {
            self.waiting.push_front(slot);
        } else {
            self.waiting.push_back(slot);
        }
        self.begin();
    }

    /// When something happens without further input, if anything does.
    pub fn next_event(&self) -> Option<Instant> {
        let ready = self.ready.front().map(|response| response.at);
        [ready, self.next_inside()].into_iter().flatten().min()
    }

    /// Advances to `now`, or to the next response up to and including `now` and returns it. Call it
    /// until it returns `None`. Responses come in the order of their instants.
    pub fn advance(&mut self, now: Instant) -> Option<Response> {
        while self.ready.front().is_none_or(|first| first.at > now) {
            let next = self.next_inside().filter(|next| *next <= now)?;
            self.step(next);
        }
        self.ready.pop_front()
    }

    fn next_inside(&self) -> Option<Instant> {
        let timer = self.timers.iter().map(|(at, _)| *at).min();
        let device = self.device.next_event();
        match (timer, device) {
            (Some(timer), Some(device)) => Some(timer.min(device)),
            (timer, device) => timer.or(device),
        }
    }

    /// Lets all happen that happens by `now`.
    fn catch_up(&mut self, now: Instant) {
        assert!(
            now >= self.now,
            "time runs backwards: {now:?} after {:?}",
            self.now
        );
        while let Some(next) = self.next_inside().filter(|next| *next <= now) {
            self.step(next);
        }
        self.now = now;
    }

    /// Lets happen what happens at the next instant inside, `at`.
    fn step(&mut self, at: Instant) {
        self.now = self.now.max(at);
        let mut completed = std::mem::take(&mut self.completed);
        completed.extend(std::iter::from_fn(|| self.device.advance(at)));
        for completion in completed.drain(..) {
            self.served(&completion);
        }
        self.completed = completed;
        while let Some(due) = self.timers.iter().position(|(timer, _)| *timer <= at) {
            let (_, slot) = self.timers.remove(due);
            self.go_on(slot);
        }
        while self.device.has_room() {
            let Some((slot, transfer)) = self.stalled.pop_front() else {
                break;
            };
            self.request(slot, transfer);
        }
        self.begin();
    }

    /// Takes the completion of a request.
    fn served(&mut self, completion: &Completion) {
        let slot = completion.request.id as usize;
        match completion.status {
            Ended::Good | Ended::Recovered { .. } => self.go_on(slot),
            Ended::MediumError { .. } => {
                let code = if completion.request.op.is_read() {
                    Code::UNRECOVERED_READ_ERROR
                } else {
                    Code::WRITE_ERROR
                };
                let sense = Sense {
                    information: completion.bad_block().map(|block| block.0),
                    ..Sense::new(Key::MediumError, code)
                };
                self.end(slot, Err(sense));
            }
            Ended::NotReady => {
                let sense = Sense::new(Key::NotReady, Code::BECOMING_READY);
                self.end(slot, Err(sense));
            }
            Ended::Aborted => {
                let sense = Sense::new(Key::AbortedCommand, Code::NONE);
                self.end(slot, Err(sense));
            }
        }
    }

    /// Begins tasks as far as their order allows.
    fn begin(&mut self) {
        while let Some(&slot) = self.waiting.front()
            && self.may_begin(slot)
        {
            self.waiting.pop_front();
            self.begin_one(slot);
        }
    }

    /// Whether a task may begin before which no other waits. Tasks of one request are ordered by
    /// the device; for all others this is.
    fn may_begin(&self, slot: usize) -> bool {
        let slot = self.slot(slot);
        if self.alone {
            return false;
        }
        let ordered = slot.attribute == Attribute::Ordered;
        match slot.entry.kind {
            Kind::Alone => self.begun == 0,
            Kind::AtOnce if slot.attribute == Attribute::HeadOfQueue => true,
            Kind::AtOnce if ordered => self.begun == 0,
            Kind::AtOnce => self.ordered == 0,
            Kind::Chain if ordered => self.begun == 0,
            Kind::Transfer if ordered && self.chains > 0 => false,
            Kind::Transfer | Kind::Chain => self.stalled.is_empty() && self.device.has_room(),
        }
    }

    fn begin_one(&mut self, slot: usize) {
        let Slot {
            nexus,
            command,
            entry,
            attribute,
            ..
        } = *self.slot(slot);
        if entry.reports_attention
            && let Some(code) = self.state.nexuses[nexus].told()
        {
            return self.end_unbegun(slot, Err(Sense::new(Key::UnitAttention, code)));
        }
        let data_out = std::mem::take(&mut self.slot_mut(slot).data_out);
        let mut context = Context {
            state: &mut self.state,
            device: &mut self.device,
            nexus,
            now: self.now,
            data_out,
        };
        match (entry.run)(&command, &mut context) {
            Ok(Start::Done(data)) => self.end_unbegun(slot, Ok(data)),
            Err(sense) => self.end_unbegun(slot, Err(sense)),
            Ok(Start::Work(work)) => {
                self.begun += 1;
                self.chains += usize::from(entry.kind == Kind::Chain);
                self.ordered += usize::from(attribute == Attribute::Ordered);
                self.alone = entry.kind == Kind::Alone
                    || entry.kind == Kind::Chain && attribute == Attribute::Ordered;
                self.slot_mut(slot).work = Some(work);
                self.go_on(slot);
            }
        }
    }

    /// Lets a task take its next step.
    fn go_on(&mut self, slot: usize) {
        let Some(mut work) = self.slot_mut(slot).work.take() else {
            return;
        };
        let mut context = Context {
            state: &mut self.state,
            device: &mut self.device,
            nexus: self.slots[slot].as_ref().map_or(0, |slot| slot.nexus),
            now: self.now,
            data_out: Vec::new(),
        };
        let step = work.next(&mut context);
        self.slot_mut(slot).work = Some(work);
        match step {
            Ok(Step::Done(data)) => self.end(slot, Ok(data)),
            Err(sense) => self.end(slot, Err(sense)),
            Ok(Step::Until(at)) => self.timers.push((at, slot)),
            Ok(Step::Request(transfer)) => self.request(slot, transfer),
        }
    }

    fn request(&mut self, slot: usize, transfer: Transfer) {
        let Transfer {
            op,
            at,
            sectors,
            force_unit_access,
        } = transfer;
        let request = Request {
            force_unit_access,
            ordering: self.slot(slot).attribute.ordering(),
            ..Request::new(slot as u64, op, at, sectors)
        };
        if self.device.has_room() && self.device.submit(self.now, request).is_ok() {
            return;
        }
        self.stalled.push_back((slot, transfer));
    }

    /// Ends a task that has begun.
    fn end(&mut self, slot: usize, result: Result<Vec<u8>, Sense>) {
        let Slot {
            entry, attribute, ..
        } = *self.slot(slot);
        self.begun -= 1;
        self.chains -= usize::from(entry.kind == Kind::Chain);
        self.ordered -= usize::from(attribute == Attribute::Ordered);
        self.alone = false;
        self.end_unbegun(slot, result);
    }

    fn end_unbegun(&mut self, slot: usize, result: Result<Vec<u8>, Sense>) {
        let Some(ended) = self.slots[slot].take() else {
            return;
        };
        self.free.push(slot);
        let (status, sense, data_in) = match result {
            Ok(data) => (Status::Good, Vec::new(), data),
            Err(sense) => {
                let bytes = self.state.sense_bytes(&sense);
                (Status::CheckCondition, bytes, Vec::new())
            }
        };
        self.ready.push_back(Response {
            id: ended.id,
            initiator: ended.initiator,
            at: self.now,
            status,
            sense,
            data_in,
        });
    }

    fn respond(&mut self, task: &Task<'_>, status: Status, sense: Vec<u8>) {
        self.ready.push_back(Response {
            id: task.id,
            initiator: task.initiator,
            at: self.now,
            status,
            sense,
            data_in: Vec::new(),
        });
    }

    fn is_outstanding(&self, initiator: u64, id: u64) -> bool {
        let mut slots = self.slots.iter().flatten();
        slots.any(|slot| slot.id == id && slot.initiator == initiator)
    }

    fn keep(&mut self, slot: Slot) -> usize {
        if let Some(index) = self.free.pop() {
            self.slots[index] = Some(slot);
            return index;
        }
        self.slots.push(Some(slot));
        self.slots.len() - 1
    }

    fn slot(&self, slot: usize) -> &Slot {
        self.slots[slot]
            .as_ref()
            .expect("a task that has not ended")
    }

    fn slot_mut(&mut self, slot: usize) -> &mut Slot {
        self.slots[slot]
            .as_mut()
            .expect("a task that has not ended")
    }
}
