//! The logical unit: takes tasks from initiators and returns their responses.

mod serve;
mod tasks;

use std::collections::VecDeque;

use diskarm_core::device::Completion;
use diskarm_core::request::Ordering;
use diskarm_core::spec::WriteCache;
use diskarm_core::units::{Instant, SectorCount};
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense, status};
use slab::Slab;

use crate::backing::{Backing, MemoryStore, Store};
use crate::command::{self, Entry};
use crate::realism::{Disturbance, Realism};
use crate::state::{Context, Identity, Operation, State, Work};

/// The ordering of a task relative to others (SAM-5, task attributes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attribute {
    /// In any order that the device prefers, but not before older ordered tasks.
    #[default]
    Simple,
    /// After all older tasks and before all newer ones.
    Ordered,
    /// Before all waiting tasks.
    HeadOfQueue,
}

impl Attribute {
    /// Returns the corresponding ordering of a request to the device.
    pub(crate) fn ordering(self) -> Ordering {
        match self {
            Self::Simple => Ordering::default(),
            Self::Ordered => Ordering::Ordered,
            Self::HeadOfQueue => Ordering::HeadOfQueue,
        }
    }
}

/// A command from an initiator.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Chosen by the initiator; unique among its outstanding tasks.
    pub id: u64,
    pub initiator: u64,
    pub attribute: Attribute,
    pub command: &'a [u8],
    /// The data from the initiator; bytes that the command does not need are ignored.
    pub data_out: &'a [u8],
}

/// The outcome of a command (SAM-5, status codes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    Good = status::GOOD,
    /// Details are in the sense data.
    CheckCondition = status::CHECK_CONDITION,
    /// All blocks fit in the buffer (PRE-FETCH).
    ConditionMet = status::CONDITION_MET,
    /// Another initiator has reserved the unit.
    ReservationConflict = status::RESERVATION_CONFLICT,
    /// Too many tasks are outstanding.
    TaskSetFull = status::TASK_SET_FULL,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub id: u64,
    pub initiator: u64,
    /// The time at which the task ended or, with timing noise, was observed to end.
    pub at: Instant,
    pub status: Status,
    /// Sense data; empty unless the status is CHECK CONDITION.
    pub sense: Vec<u8>,
    /// The data from the unit, cut off at the command's allocation length.
    pub data_in: Vec<u8>,
}

/// A logical unit. It executes tasks and returns responses.
///
/// Instants must not decrease from one call to the next. Every task gets one response unless it is
/// aborted.
pub struct Unit<D> {
    device: D,
    state: State,
    /// Tasks that have not ended, by their request ids in the device.
    slots: Slab<Slot>,
    /// Tasks that have not started, in the order in which they will start.
    waiting: VecDeque<usize>,
    /// Device operations of started tasks that the device could not accept yet.
    stalled: VecDeque<(usize, Operation)>,
    /// Tasks that are waiting for an instant.
    timers: Vec<(Instant, usize)>,
    /// Responses in the order of the instants at which they are sent.
    ready: VecDeque<(Instant, Response)>,
    started: usize,
    /// Number of started tasks that take several steps.
    chains: usize,
    ordered: usize,
    /// True if a started task excludes all others.
    is_exclusive: bool,
    in_device: usize,
    /// True if the store is notified of device events.
    store_wants_events: bool,
    /// Completions of one instant; kept to reuse its memory.
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
    entry: Entry,
    data_out: Vec<u8>,
    /// The remaining work, once the task has started.
    work: Option<Box<dyn Work>>,
    /// True if the response was sent or will never be sent.
    is_answered: bool,
    /// True if the task was aborted but still has an operation in the device.
    is_aborted: bool,
}

impl<D: Backing> Unit<D> {
    pub const MAX_TASKS: usize = 256;

    /// Creates a unit over a device whose blocks are all zeros.
    pub fn new(device: D) -> Self {
        let store = MemoryStore::new(device.sector_size());
        Self::with_store(device, Box::new(store))
    }

    /// Creates a unit over a device whose data are in `store`.
    pub fn with_store(mut device: D, store: Box<dyn Store>) -> Self {
        let store_wants_events = store.wants_events();
        if store_wants_events {
            // The first call makes the device record what reaches the media.
            device.persisted(Instant::START);
        }
        Self {
            state: State::new(&device, store),
            device,
            slots: Slab::new(),
            waiting: VecDeque::new(),
            stalled: VecDeque::new(),
            timers: Vec::new(),
            ready: VecDeque::new(),
            started: 0,
            chains: 0,
            ordered: 0,
            is_exclusive: false,
            in_device: 0,
            store_wants_events,
            completed: Vec::new(),
            disturbance: Disturbance::new(Realism::default()),
            now: Instant::START,
        }
    }

    pub fn with_identity(mut self, identity: Identity) -> Self {
        self.state.identity = identity;
        self
    }

    /// Adds properties of real drives.
    pub fn with_realism(mut self, realism: Realism) -> Self {
        self.state.realism = realism;
        self.disturbance = Disturbance::new(realism);
        self
    }

    pub fn read_only(mut self, is_read_only: bool) -> Self {
        self.state.is_read_only = is_read_only;
        self
    }

    /// Sets the number of logical blocks in a physical block, for devices that do not report it.
    /// Panics if the number is not a power of two.
    pub fn physical_blocks(mut self, blocks: SectorCount) -> Self {
        assert!(
            blocks.0.is_power_of_two(),
            "{blocks:?} is not a power of two"
        );
        self.state.physical = blocks.0;
        self
    }

    pub fn device(&self) -> &D {
        &self.device
    }

    /// Returns the device below the unit, for operations that no command performs.
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    pub fn submit(&mut self, now: Instant, task: Task<'_>) {
        self.catch_up(now);
        let nexus = self.state.nexus(task.initiator);
        let command = match Command::parse(task.command) {
            Ok(command) => command,
            Err(invalid) => return self.refuse(&task, &Sense::of_command(invalid)),
        };
        if self.is_outstanding(task.initiator, task.id) {
            // SAM-5: all tasks of the initiator are aborted.
            self.abort_matching(|slot| slot.initiator == task.initiator);
            let overlapped = Sense::new(Key::AbortedCommand, Code::OVERLAPPED_COMMANDS);
            return self.refuse(&task, &overlapped);
        }
        if self.tasks() >= Self::MAX_TASKS {
            return self.respond(&task, Status::TaskSetFull, Vec::new());
        }
        let length = command::data_out_length(&command, self.state.block);
        let data_out = &task.data_out[..length.min(task.data_out.len())];
        let slot = self.slots.insert(Slot {
            id: task.id,
            initiator: task.initiator,
            nexus,
            attribute: task.attribute,
            sent: now,
            command,
            entry: Entry::find(&command),
            data_out: data_out.to_vec(),
            work: None,
            is_answered: false,
            is_aborted: false,
        });
        if task.attribute == Attribute::HeadOfQueue {
            self.waiting.push_front(slot);
        } else {
            self.waiting.push_back(slot);
        }
        self.start_tasks();
    }

    /// Returns the time of the next event, assuming no further input.
    pub fn next_event(&self) -> Option<Instant> {
        let ready = self.ready.front().map(|(at, _)| *at);
        ready.into_iter().chain(self.next_internal_event()).min()
    }

    /// Advances to the next response that is due by `now` and returns it, or else advances to
    /// `now`. Call it until it returns `None`. Responses are returned in order of time.
    pub fn advance(&mut self, now: Instant) -> Option<Response> {
        while self.ready.front().is_none_or(|(at, _)| *at > now) {
            let next = self.next_internal_event().filter(|next| *next <= now)?;
            self.process_events(next);
        }
        self.ready.pop_front().map(|(_, response)| response)
    }

    fn refuse(&mut self, task: &Task<'_>, sense: &Sense) {
        let sense = self.state.sense_bytes(sense);
        self.respond(task, Status::CheckCondition, sense);
    }

    /// Answers a task that has no slot.
    fn respond(&mut self, task: &Task<'_>, status: Status, sense: Vec<u8>) {
        let response = Response {
            id: task.id,
            initiator: task.initiator,
            at: self.disturbance.response_time(self.now, self.now),
            status,
            sense,
            data_in: Vec::new(),
        };
        self.ready.push_back((self.now, response));
    }

    /// Returns the number of bytes that an initiator must send with this command block: 0 if it is
    /// invalid, [`usize::MAX`] for a list whose length is given only in its own header.
    pub fn data_out_length(&self, command: &[u8]) -> usize {
        Command::parse(command).map_or(0, |command| {
            command::data_out_length(&command, self.state.block)
        })
    }

    /// Returns true if the unit announces a write cache: writes may then be lost until the cache is
    /// synchronised (SPC-4 and SBC-3, caching mode page).
    pub fn has_write_cache(&self) -> bool {
        let spec = self.device.spec();
        spec.is_none_or(|spec| spec.buffer.write_cache != WriteCache::Off)
    }

    pub fn tasks(&self) -> usize {
        self.slots.len()
    }

    /// Returns true if a task has no response yet and was not aborted.
    pub fn is_outstanding(&self, initiator: u64, id: u64) -> bool {
        let mut slots = self.slots.iter();
        slots.any(|(_, slot)| slot.id == id && slot.initiator == initiator && !slot.is_answered)
    }

    fn context(&mut self, nexus: usize, data_out: Vec<u8>) -> Context<'_> {
        Context {
            state: &mut self.state,
            device: &mut self.device,
            nexus,
            now: self.now,
            data_out,
        }
    }
}
