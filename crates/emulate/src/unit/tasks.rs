//! Starts tasks in order, ends them, and manages them (SAM-5): aborts and resets.

use diskarm_core::units::Instant;
use diskarm_wire::Sense;
use diskarm_wire::sense::{Code, Key};

use super::{Attribute, Response, Slot, Status, Unit};
use crate::backing::Backing;
use crate::command::Concurrency;
use crate::mode;
use crate::realism::Disturbance;
use crate::reservation::IscsiPort;
use crate::state::{Answer, CommandFailure, Start};

impl<D: Backing> Unit<D> {
    pub(super) fn start_tasks(&mut self) {
        while let Some(&slot) = self.waiting.front()
            && self.may_start(slot)
        {
            self.waiting.pop_front();
            self.start(slot);
        }
    }

    /// Returns true if the first waiting task may start. The device orders tasks with a single
    /// request; this method orders all others.
    fn may_start(&self, slot: usize) -> bool {
        let slot = &self.slots[slot];
        if self.is_exclusive {
            // During formatting, every task that is not refused may run.
            return self.state.formatting.is_some();
        }
        let is_ordered = slot.attribute == Attribute::Ordered;
        let is_first = slot.attribute == Attribute::HeadOfQueue;
        let has_room = self.stalled.is_empty() && self.device.has_room();
        match slot.entry.concurrency {
            Concurrency::Alone => self.started == 0,
            Concurrency::Immediate => {
                is_first || self.started == 0 || !is_ordered && self.ordered == 0
            }
            Concurrency::Chain => has_room && (!is_ordered || self.started == 0),
            Concurrency::Transfer => has_room && (!is_ordered || self.chains == 0),
        }
    }

    fn start(&mut self, slot: usize) {
        let Slot {
            nexus,
            command,
            entry,
            attribute,
            ..
        } = self.slots[slot];
        let admitted = self.state.admits(nexus, entry.access, self.now);
        // SAM-5: RESERVATION CONFLICT takes precedence over a unit attention, which stays pending.
        let conflicts = matches!(admitted, Err(CommandFailure::Conflict));
        if !conflicts
            && entry.reports_attention()
            && let Some(code) = self.state.nexuses[nexus].take_attention()
        {
            let sense = Sense::new(Key::UnitAttention, code);
            return self.finish(slot, Err(sense.into()));
        }
        if let Err(failure) = admitted {
            return self.finish(slot, Err(failure));
        }
        let data_out = std::mem::take(&mut self.slots[slot].data_out);
        match (entry.run)(&command, &mut self.context(nexus, data_out)) {
            Ok(Start::Done(data)) => self.finish(slot, Ok(data)),
            Ok(Start::Conflict) => self.finish(slot, Err(CommandFailure::Conflict)),
            Err(sense) => self.finish(slot, Err(sense.into())),
            Ok(Start::Work(work)) => {
                self.add_started(entry.concurrency, attribute);
                self.slots[slot].work = Some(work);
                self.run_next(slot);
            }
            Ok(Start::Background(work, answer)) => {
                self.add_started(entry.concurrency, attribute);
                let status = match answer {
                    Answer::Good => Status::Good,
                    Answer::ConditionMet => Status::ConditionMet,
                };
                self.answer(slot, status, Vec::new(), Vec::new());
                self.slots[slot].work = Some(work);
                self.run_next(slot);
            }
        }
        if !self.state.preempted.is_empty() {
            self.abort_preempted();
        }
    }

    fn add_started(&mut self, concurrency: Concurrency, attribute: Attribute) {
        let is_ordered = attribute == Attribute::Ordered;
        self.started += 1;
        self.chains += usize::from(concurrency == Concurrency::Chain);
        self.ordered += usize::from(is_ordered);
        self.is_exclusive =
            concurrency == Concurrency::Alone || concurrency == Concurrency::Chain && is_ordered;
    }

    pub(super) fn end(&mut self, slot: usize, result: Result<Vec<u8>, CommandFailure>) {
        self.remove_started(slot);
        self.finish(slot, result);
    }

    pub(super) fn end_condition_met(&mut self, slot: usize) {
        self.answer(slot, Status::ConditionMet, Vec::new(), Vec::new());
        self.end(slot, Ok(Vec::new()));
    }

    pub(super) fn remove_started(&mut self, slot: usize) {
        let Slot {
            entry, attribute, ..
        } = self.slots[slot];
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
        self.slots.remove(slot);
    }

    /// Sends the response, unless one was already sent or none is wanted.
    fn answer(&mut self, slot: usize, status: Status, sense: Vec<u8>, data_in: Vec<u8>) {
        let task = &mut self.slots[slot];
        if std::mem::replace(&mut task.is_answered, true) {
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

impl<D: Backing> Unit<D> {
    /// Aborts a task, which then gets no response. Returns true if it was outstanding.
    ///
    /// Operations that the device has already started continue, and delay other commands. Whether
    /// an aborted write reaches the media is undefined; in this model it does not. ORWRITE and
    /// COMPARE AND WRITE change their blocks once they have read them, and a later abort does not
    /// undo that.
    pub fn abort(&mut self, now: Instant, initiator: u64, id: u64) -> bool {
        self.catch_up(now);
        self.abort_matching(|slot| slot.initiator == initiator && slot.id == id) > 0
    }

    /// Aborts all tasks of an initiator; returns their number.
    pub fn abort_task_set(&mut self, now: Instant, initiator: u64) -> usize {
        self.catch_up(now);
        self.abort_matching(|slot| slot.initiator == initiator)
    }

    /// Aborts all tasks, and notifies the other initiators that had any.
    pub fn clear_task_set(&mut self, now: Instant, initiator: u64) {
        self.catch_up(now);
        let waiting = self.slots.iter().filter(|(_, slot)| !slot.is_answered);
        let mut others: Vec<usize> = waiting.map(|(_, slot)| slot.nexus).collect();
        others.sort_unstable();
        others.dedup();
        self.abort_matching(|_| true);
        for nexus in others {
            let nexus = &mut self.state.nexuses[nexus];
            if nexus.initiator != initiator {
                nexus.add_attention(Code::COMMANDS_CLEARED);
            }
        }
    }

    /// Handles the loss of an initiator: aborts its tasks, releases its SCSI-2 reservation, and
    /// forgets it unless it is registered for persistent reservations.
    pub fn disconnect(&mut self, now: Instant, initiator: u64) {
        self.abort_task_set(now, initiator);
        let Some(nexus) = self.state.known_nexus(initiator) else {
            return;
        };
        self.state.nexuses[nexus].is_gone = true;
        if self.state.reservations.reserved == Some(nexus) {
            self.state.reservations.reserved = None;
        }
    }

    /// Records that an initiator uses iSCSI. READ FULL STATUS reports its name (up to 223 bytes,
    /// RFC 7143) and its part of the session identifier.
    pub fn set_iscsi_port(&mut self, initiator: u64, name: &str, session: [u8; 6]) {
        let nexus = self.state.nexus(initiator);
        self.state.nexuses[nexus].port = Some(IscsiPort {
            name: name.to_owned(),
            session: session.iter().map(|byte| format!("{byte:02x}")).collect(),
        });
    }

    /// Returns true if the unit has state for an initiator.
    pub fn knows(&self, initiator: u64) -> bool {
        self.state.known_nexus(initiator).is_some()
    }

    /// Resets the unit: aborts all tasks, releases a SCSI-2 reservation, restores the saved mode
    /// parameters, and notifies all initiators. Persistent reservations are kept.
    pub fn reset(&mut self, now: Instant) {
        self.catch_up(now);
        self.abort_matching(|_| true);
        self.state.reset();
        mode::apply(&mut self.context(0, Vec::new()));
        for nexus in &mut self.state.nexuses {
            nexus.add_attention(Code::DEVICE_RESET);
        }
    }

    /// Switches the unit on after a power failure. `device` is in its power-on state; the grown
    /// defects are added to it. All tasks are dropped without responses, and the state of all
    /// initiators is lost. Each of them is notified of the power-on. Saved mode parameters and data
    /// are kept. Interrupted formatting does not continue.
    pub fn power_cycle(&mut self, now: Instant, mut device: D) {
        self.now = now;
        if self.store_wants_events {
            device.persisted(now);
        }
        let geometry = self.device.spec().map(|spec| &spec.geometry);
        if let Some(geometry) = geometry
            && device.spec().is_some_and(|new| new.geometry != *geometry)
        {
            let result = device.set_geometry(now, geometry);
            assert_eq!(result, Ok(()), "the device had this geometry before");
        }
        self.device = device;
        (self.started, self.chains, self.ordered) = (0, 0, 0);
        self.slots.clear();
        self.waiting.clear();
        self.stalled.clear();
        self.timers.clear();
        self.ready.clear();
        self.is_exclusive = false;
        self.in_device = 0;
        self.disturbance = Disturbance::new(self.state.realism);
        self.state.power_on();
        mode::apply(&mut self.context(0, Vec::new()));
    }

    pub(super) fn abort_preempted(&mut self) {
        for nexus in std::mem::take(&mut self.state.preempted) {
            let aborted = self.abort_matching(|slot| slot.nexus == nexus);
            if aborted > 0 {
                self.state.nexuses[nexus].add_attention(Code::COMMANDS_CLEARED);
            }
        }
    }

    pub(super) fn abort_matching(&mut self, matches: impl Fn(&Slot) -> bool) -> usize {
        let is_match = |slot: &Slot| !slot.is_aborted && matches(slot);
        let matching = self.slots.iter().filter(|(_, slot)| is_match(slot));
        let indices: Vec<usize> = matching.map(|(index, _)| index).collect();
        let aborted = indices.len();
        for index in indices {
            let slot = &mut self.slots[index];
            if slot.work.is_none() {
                self.waiting.retain(|waiting| *waiting != index);
                self.slots.remove(index);
                continue;
            }
            slot.is_answered = true;
            // Formatting continues.
            slot.is_aborted = self.state.formatting.is_none();
            let mut stalled = self.stalled.iter();
            if let Some(position) = stalled.position(|(stalled, _)| *stalled == index) {
                self.withdraw_stalled(position);
                self.stalled.remove(position);
                self.end(index, Ok(Vec::new()));
            } else {
                self.device.abort(self.now, index as u64);
            }
        }
        self.start_tasks();
        aborted
    }
}
