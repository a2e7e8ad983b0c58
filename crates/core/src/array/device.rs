//! An array as a device.

use super::{Array, Parent, Placement, child_id};
use crate::device::{Completion, ComponentReport, Device, Status, SubmitError};
use crate::request::Request;
use crate::sched::Pending;
use crate::units::{Bytes, Instant, SectorCount};

impl<P: Placement> Device for Array<P> {
    fn capacity(&self) -> SectorCount {
        P::capacity(self)
    }

    fn sector_size(&self) -> Bytes {
        self.members[0].device.sector_size()
    }

    fn check(&self, request: &Request) -> Result<(), SubmitError> {
        P::check(self, request)
    }

    fn has_room(&self) -> bool {
        true
    }

    #[inline]
    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        self.check(&request)?;
        let arrived = now;
        let pending = Pending { request, arrived };
        if let Some(pending) = self.gate.admit(pending, self.parents.is_empty()) {
            self.begin(now, pending);
        }
        if self.may_fail {
            self.failures.wake(now);
        }
        Ok(())
    }

    #[inline]
    fn next_event(&self) -> Option<Instant> {
        if let Some(completion) = self.due.front() {
            return Some(completion.at);
        }
        let event = self.events.earliest().map(|(at, _)| at);
        if !self.may_fail {
            return event;
        }
        event.into_iter().chain(self.failures.next_event()).min()
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        loop {
            if let Some(completion) = self.due.pop_front() {
                return Some(completion);
            }
            let event = self.events.earliest();
            if self.may_fail && self.advance_itself(now, event.map(|(at, _)| at)) {
                continue;
            }
            let (at, member) = event.filter(|(at, _)| *at <= now)?;
            if let Some(done) = self.members[member].device.advance(at) {
                self.members[member].end(&done);
                P::complete(self, member, &done);
                self.release(at);
            }
            P::feed(self, member, at);
        }
    }

    fn abort(&mut self, now: Instant, id: u64) -> bool {
        if let Some(Pending { request, arrived }) = self.gate.take(id) {
            let aborted = Completion::unserved(request, arrived, now, Status::Aborted);
            self.due.push_back(aborted);
            self.release(now);
            return true;
        }
        let is_wanted = |parent: &Parent<P::State>| parent.request.id == id && !parent.is_reported;
        let Some(id) = self.parents.find(is_wanted) else {
            return false;
        };
        if self.parents.get(id).is_some_and(|parent| !parent.has_begun) {
            self.take_back(now, id);
            return true;
        }
        let Some(id) = P::abortable(self, id) else {
            return false;
        };
        let Some(part) = self.parts.get(id) else {
            return false;
        };
        let member = P::device_of(self, part.member());
        let is_aborted = self.members[member].device.abort(now, child_id(id, 0));
        self.note_event(member);
        if let Some(part) = self.parts.get_mut(id) {
            part.is_aborted = is_aborted;
        }
        is_aborted
    }

    /// Reports on the members, counted from 0; a spare is the last.
    fn components(&self, now: Instant) -> Vec<ComponentReport> {
        let until = |number| self.failures.failed_at(number).unwrap_or(now);
        let mut parts = self.slots.parts(&self.members, until);
        parts.extend(self.failures.part());
        parts
    }
}
