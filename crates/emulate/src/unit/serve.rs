//! Device operations of tasks, and their completion.

use diskarm_core::device::{Completion, Status};
use diskarm_core::request::{Op, Request};
use diskarm_core::spec::{Spec, WatermarkOf};
use diskarm_core::units::{Instant, Lbn};
use diskarm_wire::Sense;
use diskarm_wire::mode::Disconnect;
use diskarm_wire::sense::{Code, Key};

use super::Unit;
use crate::backing::Backing;
use crate::state::{Action, Operation, State, Transfer};

impl<D: Backing> Unit<D> {
    pub(super) fn next_internal_event(&self) -> Option<Instant> {
        let device = self.device.next_event();
        if self.timers.is_empty() && self.stalled.is_empty() {
            return device;
        }
        let timer = self.timers.iter().map(|(at, _)| *at).min();
        // Stalled operations wait until the device accepts commands again.
        let free = self.disturbance.free_at;
        let is_delayed = !self.stalled.is_empty() && free > self.now;
        let stalled = is_delayed.then_some(free);
        [timer, device, stalled].into_iter().flatten().min()
    }

    /// Processes all events due at `now`.
    pub(super) fn catch_up(&mut self, now: Instant) {
        assert!(
            now >= self.now,
            "time runs backwards: {now:?} after {:?}",
            self.now
        );
        while let Some(next) = self.next_internal_event().filter(|next| *next <= now) {
            self.process_events(next);
        }
        self.now = now;
    }

    pub(super) fn process_events(&mut self, at: Instant) {
        self.now = self.now.max(at);
        let mut completed = std::mem::take(&mut self.completed);
        completed.extend(std::iter::from_fn(|| self.device.advance(at)));
        self.in_device -= completed.len();
        if self.store_wants_events {
            self.collect_persisted();
        }
        for completion in completed.drain(..) {
            self.disturbance.record_end(completion.at);
            self.notify_completed(&completion);
            self.handle_completion(&completion);
        }
        self.completed = completed;
        while let Some(due) = self.timers.iter().position(|(timer, _)| *timer <= at) {
            let (_, slot) = self.timers.remove(due);
            self.disturbance.record_end(at);
            self.run_next(slot);
        }
        while let Some((slot, operation)) = self.stalled.pop_front() {
            if !self.issue(slot, operation) {
                self.stalled.push_front((slot, operation));
                break;
            }
        }
        self.start_tasks();
    }

    /// Processes all events due at `now`, and reports to the store what has reached the media.
    pub fn follow(&mut self, now: Instant) {
        self.catch_up(now);
        if self.store_wants_events {
            self.collect_persisted();
        }
    }

    fn collect_persisted(&mut self) {
        let persisted = self.device.persisted(self.now);
        if let Some(persisted) = persisted.filter(|all| !all.is_empty()) {
            self.state.store.persisted(&persisted);
        }
    }

    /// Returns the location of a write whose data were stored before the device received it.
    fn early_write(&self, (slot, operation): &(usize, Operation)) -> Option<Lbn> {
        let work = self.slots[*slot].work.as_ref()?;
        match operation {
            Operation::Transfer(transfer) if transfer.op == Op::Write => {
                work.data().is_empty().then_some(transfer.at)
            }
            _ => None,
        }
    }

    pub(super) fn withdraw_stalled(&mut self, index: usize) {
        if self.store_wants_events
            && let Some(at) = self.early_write(&self.stalled[index])
        {
            let ahead = self.stalled.iter().take(index);
            let before = ahead
                .filter(|other| self.early_write(other) == Some(at))
                .count();
            self.state.store.withdrawn(at, before);
        }
    }

    fn notify_completed(&mut self, completion: &Completion) {
        let mut request = completion.request;
        if self.store_wants_events && !request.op.is_read() {
            let is_wanted = !self.slots[request.id as usize].is_aborted;
            let counts = completion.status.is_success() && is_wanted;
            request.force_unit_access |= !self.has_write_cache();
            self.state.store.completed(&request, counts);
        }
    }

    fn handle_completion(&mut self, completion: &Completion) {
        let slot = completion.request.id as usize;
        self.state.counts.record(completion);
        let sense = match completion.status {
            Status::Good | Status::Recovered { .. } => return self.run_next(slot),
            Status::MediumError { .. } => {
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
            Status::NotReady => Sense::new(Key::NotReady, Code::BECOMING_READY),
            Status::Aborted => Sense::new(Key::AbortedCommand, Code::NONE),
        };
        self.end(slot, Err(sense.into()));
    }

    pub(super) fn run_next(&mut self, slot: usize) {
        let task = &mut self.slots[slot];
        if task.is_aborted {
            return self.end(slot, Ok(Vec::new()));
        }
        let nexus = task.nexus;
        let Some(mut work) = task.work.take() else {
            return;
        };
        let action = work.next(&mut self.context(nexus, Vec::new()));
        self.slots[slot].work = Some(work);
        match action {
            Ok(Action::Done(data)) => self.end(slot, Ok(data)),
            Err(sense) => self.end(slot, Err(sense.into())),
            Ok(Action::Wait(operation)) => {
                self.disturbance.delay(self.now, self.in_device == 0);
                if !self.stalled.is_empty() || !self.issue(slot, operation) {
                    self.stalled.push_back((slot, operation));
                }
            }
            Ok(Action::ConditionMet) => self.end_condition_met(slot),
            Ok(Action::Until(at)) => self.timers.push((at, slot)),
        }
    }

    /// Starts an operation of a task; returns false if the device does not accept it yet.
    fn issue(&mut self, slot: usize, operation: Operation) -> bool {
        if !self.disturbance.accepts(self.now, self.in_device == 0) {
            return false;
        }
        match operation {
            Operation::Seek(at) => {
                let end = self.device.seek(self.now, at);
                self.timers.push((end, slot));
                true
            }
            Operation::Transfer(transfer) => self.request(slot, transfer),
        }
    }

    fn request(&mut self, slot: usize, transfer: Transfer) -> bool {
        if !self.device.has_room() {
            return false;
        }
        let Transfer {
            op, at, sectors, ..
        } = transfer;
        if self.state.realism.adaptive_ratios && op.is_read() {
            adapt_watermark(&self.state, &mut self.device, self.now, at);
        }
        let request = Request {
            force_unit_access: transfer.force_unit_access,
            ordering: self.slots[slot].attribute.ordering(),
            ..Request::new(slot as u64, op, at, sectors)
        };
        let accepted = self.device.submit(self.now, request).is_ok();
        self.in_device += usize::from(accepted);
        if accepted && self.store_wants_events && !op.is_read() {
            let work = self.slots[slot].work.as_ref();
            let data = work.map_or_else(Vec::new, |work| work.data());
            self.state.store.submitted(&request, data);
        }
        accepted
    }
}

/// With adaptive buffer ratios, sets the watermark so that the drive sends the data of the read at
/// `at` as soon as the transfer can finish without a pause. If the device has several requests, the
/// watermark applies to those that start next.
fn adapt_watermark(state: &State, device: &mut dyn Backing, now: Instant, at: Lbn) {
    let ratios = state.modes.page(Disconnect::CODE, Disconnect::parse);
    if ratios.is_some_and(|page| page.buffer_full_ratio != 0) {
        return;
    }
    let (Some(spec), Some(layout)) = (device.spec(), device.layout()) else {
        return;
    };
    let Some(sectors) = layout.track_sectors(layout.pba(at).cylinder) else {
        return;
    };
    let fraction = watermark(spec, sectors);
    let rules = &spec.buffer;
    if rules.read_watermark == fraction && rules.watermark_of == WatermarkOf::Request {
        return;
    }
    let mut spec = spec.clone();
    spec.buffer.read_watermark = fraction;
    spec.buffer.watermark_of = WatermarkOf::Request;
    device.set_buffer(now, &spec);
}

/// Returns the fraction of a read to buffer first so that the bus never waits for the media.
fn watermark(spec: &Spec, track_sectors: u64) -> f64 {
    let media_ns = spec.mechanics.period_ns / track_sectors as f64;
    let bus_ns = spec.bus.read_sector.as_ns() as f64;
    (1.0 - bus_ns / media_ns).clamp(0.0, 1.0)
}
