//! The tasks of a unit: from their submission to their responses.

mod manage;
mod order;
mod serve;

use std::collections::VecDeque;

use diskarm_core::device::Completion;
use diskarm_core::units::{Instant, SectorCount};
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense};

use crate::backing::Backing;
use crate::command::{Entry, data_out};
use crate::realism::{Disturbance, Realism};
use crate::state::{Identity, State};
use crate::store::{Sparse, Store};
use crate::task::{Attribute, Response, Status, Task};
use crate::work::{Asked, Work};

/// A logical unit: tasks in, responses out.
///
/// Instants never decrease from one call to the next. Every task that was submitted ends in one
/// response, unless it is aborted.
pub struct Unit<D> {
    device: D,
    state: State,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    /// Tasks that have not begun, in the order in which they will.
    waiting: VecDeque<usize>,
    /// Device operations of started tasks for which the device had no room or no time.
    stalled: VecDeque<(usize, Asked)>,
    /// Tasks that wait for an instant.
    timers: Vec<(Instant, usize)>,
    /// Responses in the order of the instants at which they are sent.
    ready: VecDeque<(Instant, Response)>,
    /// Number of started tasks: all, those of several steps, and ordered ones.
    begun: usize,
    chains: usize,
    ordered: usize,
    /// A started task runs alone.
    alone: bool,
    /// Requests that the device has.
    inside: usize,
    /// The store is notified of what the device does.
    is_followed: bool,
    /// Completions of one instant; kept for its memory.
    completed: Vec<Completion>,
    disturbance: Disturbance,
    now: Instant,
}

/// A task that has not ended.
struct Slot {
    id: u64,
    initiator: u64,
    nexus: usize,
    attribute: Attribute,
    sent: Instant,
    command: Command,
    entry: &'static Entry,
    data_out: Vec<u8>,
    /// The remaining work, once it has started.
    work: Option<Box<dyn Work>>,
    /// It had its response, or gets none.
    answered: bool,
    /// It was aborted, and only the device still has something of it.
    aborted: bool,
}

impl<D: Backing> Unit<D> {
    /// Maximum number of outstanding tasks.
    pub const TASKS: usize = 256;

    /// A unit over a device whose blocks hold zeros.
    pub fn new(device: D) -> Self {
        let store = Sparse::new(device.sector_size());
        Self::with_store(device, Box::new(store))
    }

    /// A unit over a device whose data are in `store`.
    pub fn with_store(mut device: D, store: Box<dyn Store>) -> Self {
        let is_followed = store.follows();
        if is_followed {
            // The first call begins the record.
            device.persisted(Instant::START);
        }
        Self {
            state: State::new(&device, store),
            device,
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
            inside: 0,
            is_followed,
            completed: Vec::new(),
            disturbance: Disturbance::new(Realism::default()),
            now: Instant::START,
        }
    }

    /// Sets the identity.
    pub fn identified(mut self, identity: Identity) -> Self {
        self.state.identity = identity;
        self
    }

    /// Makes it more like a real drive.
    pub fn realistic(mut self, realism: Realism) -> Self {
        self.state.realism = realism;
        self.disturbance = Disturbance::new(realism);
        self
    }

    /// Refuses all writes.
    pub fn read_only(mut self, is_read_only: bool) -> Self {
        self.state.is_read_only = is_read_only;
        self
    }

    /// Reports physical blocks of `blocks` logical blocks, a power of two, if the device does not
    /// report their size.
    ///
    /// # Panics
    /// If that is not a power of two.
    pub fn physical_blocks(mut self, blocks: SectorCount) -> Self {
        assert!(
            blocks.0.is_power_of_two(),
            "{blocks:?} is not a power of two"
        );
        self.state.physical = blocks.0;
        self
    }

    /// The device below the unit.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// The device below the unit, for operations that no command offers.
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    pub fn submit(&mut self, now: Instant, task: Task<'_>) {
        self.catch_up(now);
        let nexus = self.state.nexus(task.initiator);
        let parsed = Command::parse(task.command);
        let entry = parsed.and_then(|command| Ok((command, Entry::of(task.command)?)));
        let (command, entry) = match entry {
            Ok(found) => found,
            Err(invalid) => return self.refuse(&task, &Sense::of_command(invalid)),
        };
        if self.is_outstanding(task.initiator, task.id) {
            // SAM-5: all tasks of the initiator are aborted.
            self.abort_those(|slot| slot.initiator == task.initiator);
            let overlapped = Sense::new(Key::AbortedCommand, Code::OVERLAPPED_COMMANDS);
            return self.refuse(&task, &overlapped);
        }
        if self.tasks() >= Self::TASKS {
            return self.respond(&task, Status::TaskSetFull, Vec::new());
        }
        let length = data_out::length(&command, self.state.block);
        let data_out = &task.data_out[..length.min(task.data_out.len())];
        let slot = self.keep(Slot {
            id: task.id,
            initiator: task.initiator,
            nexus,
            attribute: task.attribute,
            sent: now,
            command,
            entry,
            data_out: data_out.to_vec(),
            work: None,
            answered: false,
            aborted: false,
        });
        if task.attribute == Attribute::HeadOfQueue {
            self.waiting.push_front(slot);
        } else {
            self.waiting.push_back(slot);
        }
        self.begin();
    }

    /// The time of the next event without further input.
    pub fn next_event(&self) -> Option<Instant> {
        let ready = self.ready.front().map(|(at, _)| *at);
        [ready, self.next_inside()].into_iter().flatten().min()
    }

    /// Advances to `now`, or to the next response up to and including `now` and returns it. Call it
    /// until it returns `None`. Responses come in the order of their instants.
    pub fn advance(&mut self, now: Instant) -> Option<Response> {
        while self.ready.front().is_none_or(|(at, _)| *at > now) {
            let next = self.next_inside().filter(|next| *next <= now)?;
            self.step(next);
        }
        self.ready.pop_front().map(|(_, response)| response)
    }

    fn refuse(&mut self, task: &Task<'_>, sense: &Sense) {
        let sense = self.state.sense_bytes(sense);
        self.respond(task, Status::CheckCondition, sense);
    }

    /// Ends a task that was not kept.
    fn respond(&mut self, task: &Task<'_>, status: Status, sense: Vec<u8>) {
        let response = Response {
            id: task.id,
            initiator: task.initiator,
            at: self.disturbance.seen(self.now, self.now),
            status,
            sense,
            data_in: Vec::new(),
        };
        self.ready.push_back((self.now, response));
    }

    /// The number of bytes that an initiator must send with this command block; none if it is
    /// invalid. Lists whose length is in their own header may have any, which is [`usize::MAX`].
    pub fn data_out_length(&self, command: &[u8]) -> usize {
        let command = Command::parse(command);
        command.map_or(0, |command| data_out::length(&command, self.state.block))
    }

    /// Number of tasks that have not ended.
    pub fn tasks(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Returns true if a task has no response yet and was not aborted.
    pub fn is_outstanding(&self, initiator: u64, id: u64) -> bool {
        let mut slots = self.slots.iter().flatten();
        slots.any(|slot| slot.id == id && slot.initiator == initiator && !slot.answered)
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
