//! The order in which tasks start, and how they end.

use diskarm_wire::Sense;
use diskarm_wire::sense::Key;

use super::{Attribute, Response, Slot, Status, Unit};
use crate::backing::Backing;
use crate::command::Concurrency;
use crate::state::{CommandFailure, Context};
use crate::work::{Answer, Start};

impl<D: Backing> Unit<D> {
    /// Starts all tasks that may start.
    pub(super) fn start_tasks(&mut self) {
        while let Some(&slot) = self.waiting.front()
            && self.may_start(slot)
        {
            self.waiting.pop_front();
            self.start(slot);
        }
    }

    /// Returns true if a task without a predecessor may start. Tasks of a single request are
    /// ordered by the device, all others here.
    fn may_start(&self, slot: usize) -> bool {
        let slot = self.slot(slot);
        if self.is_exclusive {
            // During formatting, a task is refused or is one that may always run.
            return self.state.formatting.is_some();
        }
        let ordered = slot.attribute == Attribute::Ordered;
        let first = slot.attribute == Attribute::HeadOfQueue;
        let room = self.stalled.is_empty() && self.device.has_room();
        match slot.entry.concurrency {
            Concurrency::Alone => self.started == 0,
            Concurrency::Immediate => first || self.started == 0 || !ordered && self.ordered == 0,
            Concurrency::Chain => room && (!ordered || self.started == 0),
            Concurrency::Transfer => room && (!ordered || self.chains == 0),
        }
    }

    fn start(&mut self, slot: usize) {
        let Slot {
            nexus,
            command,
            entry,
            attribute,
            ..
        } = *self.slot(slot);
        let admitted = self.state.admits(nexus, entry.access, self.now);
        // SAM-5: RESERVATION CONFLICT comes before a unit attention, which stays pending.
        let conflicts = matches!(admitted, Err(CommandFailure::Conflict));
        if !conflicts
            && entry.reports_attention
            && let Some(code) = self.state.nexuses[nexus].take_attention()
        {
            let sense = Sense::new(Key::UnitAttention, code);
            return self.finish(slot, Err(sense.into()));
        }
        if let Err(ended) = admitted {
            return self.finish(slot, Err(ended));
        }
        let data_out = std::mem::take(&mut self.slot_mut(slot).data_out);
        let mut context = Context {
            state: &mut self.state,
            device: &mut self.device,
            nexus,
            now: self.now,
            data_out,
        };
        let started = (entry.run)(&command, &mut context);
        match started {
            Ok(Start::Done(data)) => self.finish(slot, Ok(data)),
            Ok(Start::Conflict) => self.finish(slot, Err(CommandFailure::Conflict)),
            Err(sense) => self.finish(slot, Err(sense.into())),
            Ok(Start::Work(work)) => {
                self.add_started(entry.concurrency, attribute);
                self.slot_mut(slot).work = Some(work);
                self.run_next(slot);
            }
            Ok(Start::Background(work, answer)) => {
                self.add_started(entry.concurrency, attribute);
                let status = match answer {
                    Answer::Good => Status::Good,
                    Answer::ConditionMet => Status::ConditionMet,
                };
                self.answer(slot, status, Vec::new(), Vec::new());
                self.slot_mut(slot).work = Some(work);
                self.run_next(slot);
            }
        }
        if !self.state.preempted.is_empty() {
            self.abort_preempted();
        }
    }

    /// Counts a started task.
    fn add_started(&mut self, concurrency: Concurrency, attribute: Attribute) {
        let ordered = attribute == Attribute::Ordered;
        self.started += 1;
        self.chains += usize::from(concurrency == Concurrency::Chain);
        self.ordered += usize::from(ordered);
        self.is_exclusive =
            concurrency == Concurrency::Alone || concurrency == Concurrency::Chain && ordered;
    }

    /// Ends a started task.
    pub(super) fn end(&mut self, slot: usize, result: Result<Vec<u8>, CommandFailure>) {
        self.remove_started(slot);
        self.finish(slot, result);
    }

    /// Ends a started task with CONDITION MET.
    pub(super) fn end_condition_met(&mut self, slot: usize) {
        self.answer(slot, Status::ConditionMet, Vec::new(), Vec::new());
        self.end(slot, Ok(Vec::new()));
    }

    /// Uncounts a started task.
    pub(super) fn remove_started(&mut self, slot: usize) {
        let Slot {
            entry, attribute, ..
        } = *self.slot(slot);
        self.started -= 1;
        self.chains -= usize::from(entry.concurrency == Concurrency::Chain);
        self.ordered -= usize::from(attribute == Attribute::Ordered);
        self.is_exclusive = false;
    }

    fn finish(&mut self, slot: usize, result: Result<Vec<u8>, CommandFailure>) {
        match result {
            Ok(data) => self.answer(slot, Status::Good, Vec::new(), data),
            Err(CommandFailure::Sense(sense)) => {
                let bytes = self.state.sense_bytes(&sense);
                self.answer(slot, Status::CheckCondition, bytes, Vec::new());
            }
            Err(CommandFailure::Conflict) => {
                self.answer(slot, Status::ReservationConflict, Vec::new(), Vec::new());
            }
        }
        self.slots[slot] = None;
        self.free.push(slot);
    }

    /// Sends the response, unless one was already sent or none is wanted.
    fn answer(&mut self, slot: usize, status: Status, sense: Vec<u8>, data_in: Vec<u8>) {
        let task = self.slot_mut(slot);
        if std::mem::replace(&mut task.answered, true) {
            return;
        }
        let (id, initiator, sent) = (task.id, task.initiator, task.sent);
        let response = Response {
            id,
            initiator,
            at: self.disturbance.response_time(sent, self.now),
            status,
            sense,
            data_in,
        };
        self.ready.push_back((self.now, response));
    }
}
