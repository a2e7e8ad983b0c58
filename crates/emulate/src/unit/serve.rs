//! Device operations of tasks, and their completion.

use diskarm_core::device::{Completion, Status as Served};
use diskarm_core::request::{Op, Request};
use diskarm_core::units::{Instant, Lbn};
use diskarm_wire::Sense;
use diskarm_wire::sense::{Code, Key};

use super::Unit;
use crate::backing::Backing;
use crate::ratio;
use crate::state::Context;
use crate::work::{Asked, Step, Transfer};

impl<D: Backing> Unit<D> {
    pub(super) fn next_inside(&self) -> Option<Instant> {
        let device = self.device.next_event();
        if self.timers.is_empty() && self.stalled.is_empty() {
            return device;
        }
        let timer = self.timers.iter().map(|(at, _)| *at).min();
        // What the device has room but no time for.
        let free = self.disturbance.free;
        let waits = !self.stalled.is_empty() && free > self.now;
        let stalled = waits.then_some(free);
        [timer, device, stalled].into_iter().flatten().min()
    }

    /// Processes all events due at `now`.
    pub(super) fn catch_up(&mut self, now: Instant) {
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

    /// Processes the events due at `at`.
    pub(super) fn step(&mut self, at: Instant) {
        self.now = self.now.max(at);
        let mut completed = std::mem::take(&mut self.completed);
        completed.extend(std::iter::from_fn(|| self.device.advance(at)));
        self.inside -= completed.len();
        if self.is_followed {
            self.collect_persisted();
        }
        for completion in completed.drain(..) {
            self.disturbance.ended(completion.at);
            self.tell_completed(&completion);
            self.served(&completion);
        }
        self.completed = completed;
        while let Some(due) = self.timers.iter().position(|(timer, _)| *timer <= at) {
            let (_, slot) = self.timers.remove(due);
            self.disturbance.ended(at);
            self.go_on(slot);
        }
        while let Some((slot, asked)) = self.stalled.pop_front() {
            if !self.ask(slot, asked) {
                self.stalled.push_front((slot, asked));
                break;
            }
        }
        self.begin();
    }

    /// Processes all events due at `now`, and reports to the store what has reached the media.
    pub fn follow(&mut self, now: Instant) {
        self.catch_up(now);
        if self.is_followed {
            self.collect_persisted();
        }
    }

    fn collect_persisted(&mut self) {
        if let Some(persisted) = self
            .device
            .persisted(self.now)
            .filter(|all| !all.is_empty())
        {
            self.state.store.persisted(&persisted);
        }
    }

    /// The location of a write whose data are in the store before the device has received it.
    fn early(&self, (slot, asked): &(usize, Asked)) -> Option<Lbn> {
        let work = self.slot(*slot).work.as_ref()?;
        match asked {
            Asked::Transfer(transfer) if transfer.op == Op::Write => {
                work.data().is_empty().then_some(transfer.at)
            }
            _ => None,
        }
    }

    /// Withdraws the operation that waits at `place` for the device.
    pub(super) fn tell_left_over(&mut self, place: usize) {
        if self.is_followed
            && let Some(at) = self.early(&self.stalled[place])
        {
            let ahead = self.stalled.iter().take(place);
            let before = ahead.filter(|other| self.early(other) == Some(at)).count();
            self.state.store.left_over(at, before);
        }
    }

    fn tell_completed(&mut self, completion: &Completion) {
        let request = &completion.request;
        if self.is_followed && !request.op.is_read() {
            let is_wanted = !self.slot(request.id as usize).aborted;
            let counts = completion.status.is_success() && is_wanted;
            self.state.store.completed(request, counts);
        }
    }

    /// Takes the completion of a request.
    fn served(&mut self, completion: &Completion) {
        let slot = completion.request.id as usize;
        self.state.counts.note(completion);
        let sense = match completion.status {
            Served::Good | Served::Recovered { .. } => return self.go_on(slot),
            Served::MediumError { .. } => {
                let code = if completion.request.op.is_read() {
                    Code::UNRECOVERED_READ_ERROR
                } else {
                    Code::WRITE_ERROR
                };
                Sense {
                    information: completion.bad_block().map(|block| block.0),
                    ..Sense::new(Key::MediumError, code)
                }
            }
            Served::NotReady => Sense::new(Key::NotReady, Code::BECOMING_READY),
            Served::Aborted => Sense::new(Key::AbortedCommand, Code::NONE),
        };
        self.end(slot, Err(sense.into()));
    }

    /// Runs the next step of a task.
    pub(super) fn go_on(&mut self, slot: usize) {
        let task = self.slot_mut(slot);
        if task.aborted {
            return self.end(slot, Ok(Vec::new()));
        }
        let nexus = task.nexus;
        let Some(mut work) = task.work.take() else {
            return;
        };
        let mut context = Context {
            state: &mut self.state,
            device: &mut self.device,
            nexus,
            now: self.now,
            data_out: Vec::new(),
        };
        let step = work.next(&mut context);
        self.slot_mut(slot).work = Some(work);
        match step {
            Ok(Step::Done(data)) => self.end(slot, Ok(data)),
            Err(sense) => self.end(slot, Err(sense.into())),
            Ok(Step::Ask(asked)) => {
                self.disturbance.asks(self.now, self.inside == 0);
                if !self.stalled.is_empty() || !self.ask(slot, asked) {
                    self.stalled.push_back((slot, asked));
                }
            }
            Ok(Step::ConditionMet) => self.end_condition_met(slot),
            Ok(Step::Until(at)) => self.timers.push((at, slot)),
        }
    }

    /// Returns true if the device accepts an operation of a task.
    fn ask(&mut self, slot: usize, asked: Asked) -> bool {
        if !self.disturbance.has_time(self.now, self.inside == 0) {
            return false;
        }
        match asked {
            Asked::Seek(at) => {
                let end = self.device.seek(self.now, at);
                self.timers.push((end, slot));
                true
            }
            Asked::Transfer(transfer) => self.request(slot, transfer),
        }
    }

    fn request(&mut self, slot: usize, transfer: Transfer) -> bool {
        if !self.device.has_room() {
            return false;
        }
        let Transfer {
            op,
            at,
            sectors,
            force_unit_access,
        } = transfer;
        if self.state.realism.adaptive_ratios && op.is_read() {
            ratio::adapt(&self.state, &mut self.device, self.now, at);
        }
        let request = Request {
            force_unit_access,
            ordering: self.slot(slot).attribute.ordering(),
            ..Request::new(slot as u64, op, at, sectors)
        };
        let taken = self.device.submit(self.now, request).is_ok();
        self.inside += usize::from(taken);
        if taken && self.is_followed && !op.is_read() {
            let work = self.slot(slot).work.as_ref();
            let data = work.map_or_else(Vec::new, |work| work.data());
            self.state.store.submitted(&request, data);
        }
        taken
    }
}
