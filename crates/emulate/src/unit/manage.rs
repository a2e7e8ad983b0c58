//! Task management (SAM-5): aborting tasks, and resetting the unit.

use diskarm_core::units::Instant;
use diskarm_wire::sense::Code;

use super::{Slot, Unit};
use crate::backing::Backing;
use crate::mode;
use crate::realism::Disturbance;
use crate::reservation::IscsiPort;
use crate::state::Context;

impl<D: Backing> Unit<D> {
    /// Aborts a task: it gets no response. Returns true if it was outstanding.
    ///
    /// Operations that the device has started continue and delay other commands. Whether an aborted
    /// write reaches the media is undefined; in this model it does not. ORWRITE and COMPARE AND
    /// WRITE change their blocks when they have read them, and a later abort does not undo that.
    pub fn abort(&mut self, now: Instant, initiator: u64, id: u64) -> bool {
        self.catch_up(now);
        self.abort_matching(|slot| slot.initiator == initiator && slot.id == id) > 0
    }

    /// Aborts all tasks of an initiator; returns how many there were.
    pub fn abort_task_set(&mut self, now: Instant, initiator: u64) -> usize {
        self.catch_up(now);
        self.abort_matching(|slot| slot.initiator == initiator)
    }

    /// Aborts all tasks, and notifies the other initiators that had any.
    pub fn clear_task_set(&mut self, now: Instant, initiator: u64) {
        self.catch_up(now);
        let all = self.slots.iter().flatten().filter(|slot| !slot.answered);
        let mut others: Vec<usize> = all.map(|slot| slot.nexus).collect();
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

    /// Records that an initiator uses iSCSI: its name (up to 223 bytes, RFC 7143) and its part of
    /// the session name, which READ FULL STATUS reports.
    pub fn comes_over_iscsi(&mut self, initiator: u64, name: &str, session: [u8; 6]) {
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
    /// parameters, and notifies all initiators. Persistent reservations stay.
    pub fn reset(&mut self, now: Instant) {
        self.catch_up(now);
        self.abort_matching(|_| true);
        self.state.reset();
        self.apply_modes();
        for nexus in &mut self.state.nexuses {
            nexus.add_attention(Code::DEVICE_RESET);
        }
    }

    /// Applies the mode parameters to the device.
    fn apply_modes(&mut self) {
        let mut context = Context {
            state: &mut self.state,
            device: &mut self.device,
            nexus: 0,
            now: self.now,
            data_out: Vec::new(),
        };
        mode::apply(&mut context);
    }

    /// Switches the unit on after a power failure, with `device` in the state after power-on,
    /// except for grown defects. All tasks are dropped without responses, and all state of
    /// initiators is lost: each is notified of the power-on. Saved mode parameters and data stay.
    /// Interrupted formatting has ended.
    pub fn power_cycle(&mut self, now: Instant, mut device: D) {
        self.now = now;
        if self.store_follows {
            device.persisted(now);
        }
        let geometry = self.device.spec().map(|spec| &spec.geometry);
        if let Some(geometry) = geometry
            && device.spec().is_some_and(|new| new.geometry != *geometry)
        {
            let taken = device.set_geometry(now, geometry);
            assert_eq!(taken, Ok(()), "the device had this geometry before");
        }
        self.device = device;
        for tasks in [&mut self.started, &mut self.chains, &mut self.ordered] {
            *tasks = 0;
        }
        self.slots.clear();
        self.free.clear();
        self.waiting.clear();
        self.stalled.clear();
        self.timers.clear();
        self.ready.clear();
        self.is_exclusive = false;
        self.in_device = 0;
        self.disturbance = Disturbance::new(self.state.realism);
        self.state.power_on();
        self.apply_modes();
    }

    /// Aborts the tasks of preempted initiators.
    pub(super) fn abort_preempted(&mut self) {
        for nexus in std::mem::take(&mut self.state.preempted) {
            let aborted = self.abort_matching(|slot| slot.nexus == nexus);
            if aborted > 0 {
                self.state.nexuses[nexus].add_attention(Code::COMMANDS_CLEARED);
            }
        }
    }

    pub(super) fn abort_matching(&mut self, matches: impl Fn(&Slot) -> bool) -> usize {
        let mut aborted = 0;
        for index in 0..self.slots.len() {
            let task = &mut self.slots[index];
            let Some(slot) = task.as_mut().filter(|slot| !slot.aborted && matches(slot)) else {
                continue;
            };
            aborted += 1;
            if slot.work.is_none() {
                self.waiting.retain(|waiting| *waiting != index);
                *task = None;
                self.free.push(index);
                continue;
            }
            slot.answered = true;
            // Formatting continues.
            slot.aborted = self.state.formatting.is_none();
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
