//! The order in which tasks start, and how they end.

use diskarm_wire::Sense;
use diskarm_wire::sense::Key;

use super::{Slot, Unit};
use crate::backing::Backing;
use crate::command::Kind;
use crate::state::Context;
use crate::task::{Attribute, Response, Status};
use crate::work::{Answer, Ended, Start};

impl<D: Backing> Unit<D> {
    /// Starts all tasks that may start.
    pub(super) fn begin(&mut self) {
        while let Some(&slot) = self.waiting.front()
            && self.may_begin(slot)
        {
            self.waiting.pop_front();
            self.begin_one(slot);
        }
    }

    /// Returns true if a task without a predecessor may start. Tasks of a single request are
    /// ordered by the device, all others here.
    fn may_begin(&self, slot: usize) -> bool {
        let slot = self.slot(slot);
        if self.alone {
            // It is refused then, or does not mind.
            return self.state.formatting.is_some();
        }
        let ordered = slot.attribute == Attribute::Ordered;
        let first = slot.attribute == Attribute::HeadOfQueue;
        let room = self.stalled.is_empty() && self.device.has_room();
        match slot.entry.kind {
            Kind::Alone => self.begun == 0,
            Kind::AtOnce => first || self.begun == 0 || !ordered && self.ordered == 0,
            Kind::Chain => room && (!ordered || self.begun == 0),
            Kind::Transfer => room && (!ordered || self.chains == 0),
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
        let admitted = self.state.admits(nexus, entry.access, self.now);
        // SAM-5: RESERVATION CONFLICT comes before a unit attention, which stays pending.
        let conflicts = matches!(admitted, Err(Ended::Conflict));
        if !conflicts
            && entry.reports_attention
            && let Some(code) = self.state.nexuses[nexus].told()
        {
            let sense = Sense::new(Key::UnitAttention, code);
            return self.end_unbegun(slot, Err(sense.into()));
        }
        if let Err(ended) = admitted {
            return self.end_unbegun(slot, Err(ended));
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
            Ok(Start::Done(data)) => self.end_unbegun(slot, Ok(data)),
            Ok(Start::Conflict) => self.end_unbegun(slot, Err(Ended::Conflict)),
            Err(sense) => self.end_unbegun(slot, Err(sense.into())),
            Ok(Start::Work(work)) => {
                self.count(entry.kind, attribute);
                self.slot_mut(slot).work = Some(work);
                self.go_on(slot);
            }
            Ok(Start::Background(work, answer)) => {
                self.count(entry.kind, attribute);
                let status = match answer {
                    Answer::Good => Status::Good,
                    Answer::ConditionMet => Status::ConditionMet,
                };
                self.answer(slot, status, Vec::new(), Vec::new());
                self.slot_mut(slot).work = Some(work);
                self.go_on(slot);
            }
        }
        if !self.state.condemned.is_empty() {
            self.abort_condemned();
        }
    }

    /// A task has begun.
    fn count(&mut self, kind: Kind, attribute: Attribute) {
        let ordered = attribute == Attribute::Ordered;
        self.begun += 1;
        self.chains += usize::from(kind == Kind::Chain);
        self.ordered += usize::from(ordered);
        self.alone = kind == Kind::Alone || kind == Kind::Chain && ordered;
    }

    /// Ends a task that has begun.
    pub(super) fn end(&mut self, slot: usize, result: Result<Vec<u8>, Ended>) {
        self.leave(slot);
        self.end_unbegun(slot, result);
    }

    /// Ends a task that has begun with CONDITION MET.
    pub(super) fn end_condition_met(&mut self, slot: usize) {
        self.answer(slot, Status::ConditionMet, Vec::new(), Vec::new());
        self.end(slot, Ok(Vec::new()));
    }

    /// Uncounts a started task.
    pub(super) fn leave(&mut self, slot: usize) {
        let Slot {
            entry, attribute, ..
        } = *self.slot(slot);
        self.begun -= 1;
        self.chains -= usize::from(entry.kind == Kind::Chain);
        self.ordered -= usize::from(attribute == Attribute::Ordered);
        self.alone = false;
    }

    fn end_unbegun(&mut self, slot: usize, result: Result<Vec<u8>, Ended>) {
        match result {
            Ok(data) => self.answer(slot, Status::Good, Vec::new(), data),
            Err(Ended::Sense(sense)) => {
                let bytes = self.state.sense_bytes(&sense);
                self.answer(slot, Status::CheckCondition, bytes, Vec::new());
            }
            Err(Ended::Conflict) => {
                self.answer(slot, Status::ReservationConflict, Vec::new(), Vec::new());
            }
        }
        self.slots[slot] = None;
        self.free.push(slot);
    }

    /// Sends the response, unless one was sent or it is no longer wanted.
    fn answer(&mut self, slot: usize, status: Status, sense: Vec<u8>, data_in: Vec<u8>) {
        let task = self.slot_mut(slot);
        if std::mem::replace(&mut task.answered, true) {
            return;
        }
        let (id, initiator, sent) = (task.id, task.initiator, task.sent);
        let response = Response {
            id,
            initiator,
            at: self.disturbance.seen(sent, self.now),
            status,
            sense,
            data_in,
        };
        self.ready.push_back((self.now, response));
    }
}
