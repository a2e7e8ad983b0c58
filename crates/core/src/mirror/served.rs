//! A pair as a device.

use super::Mirror;
use super::parent::{Parent, child_id};
use crate::device::{Completion, ComponentReport, Device, Status, SubmitError};
use crate::request::Request;
use crate::sched::Pending;
use crate::units::{Bytes, Instant, SectorCount};

impl Mirror {
    /// Takes back the request `id`, of which no copy has begun.
    fn take_back(&mut self, now: Instant, id: u64) {
        let Some(&Parent {
            request, arrived, ..
        }) = self.parents.get(id)
        else {
            return;
        };
        for member in 0..self.members.len() {
            if self
                .parents
                .get(id)
                .is_some_and(|p| p.copies[member].queued > 0)
            {
                self.withdraw(member, id, now);
            }
        }
        self.held.retain(|held| *held != id);
        let aborted = Completion::unserved(request, arrived, now, Status::Aborted);
        self.finish(id, Some(aborted));
        self.release(now);
        self.feed(now);
    }
}

impl Device for Mirror {
    /// That of one member.
    fn capacity(&self) -> SectorCount {
        self.members[0].device.capacity()
    }

    fn sector_size(&self) -> Bytes {
        self.members[0].device.sector_size()
    }

    fn check(&self, request: &Request) -> Result<(), SubmitError> {
        self.members[0].device.check(request)
    }

    fn has_room(&self) -> bool {
        true
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        self.check(&request)?;
        let arrived = now;
        let pending = Pending { request, arrived };
        if let Some(pending) = self.gate.admit(pending, self.is_quiet()) {
            self.begin(now, pending);
        }
        if self.failing.is_some() {
            self.wake(now);
        }
        Ok(())
    }

    #[inline]
    fn next_event(&self) -> Option<Instant> {
        match self.due.front() {
            Some(completion) => Some(completion.at),
            None => {
                let event = self.earliest().map(|(at, _)| at);
                if self.failing.is_none() {
                    return event;
                }
                event.into_iter().chain(self.own_event()).min()
            }
        }
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        loop {
            if let Some(completion) = self.due.pop_front() {
                return Some(completion);
            }
            let event = self.earliest();
            if self.failing.is_some() && self.advance_itself(now, event.map(|(at, _)| at)) {
                continue;
            }
            let (at, member) = event.filter(|(at, _)| *at <= now)?;
            if let Some(done) = self.members[member].device.advance(at) {
                self.note(member, done);
                self.release(at);
            }
            self.feed(at);
        }
    }

    fn abort(&mut self, now: Instant, id: u64) -> bool {
        if let Some(Pending { request, arrived }) = self.gate.take(id) {
            let aborted = Completion::unserved(request, arrived, now, Status::Aborted);
            self.due.push_back(aborted);
            self.release(now);
            return true;
        }
        let is_wanted =
            |parent: &Parent| parent.request.id == id && !parent.is_reported && !parent.rebuilds;
        let Some(id) = self.parents.find(is_wanted) else {
            return false;
        };
        let Some(parent) = self.parents.get_mut(id) else {
            return false;
        };
        if !parent.has_begun {
            self.take_back(now, id);
            return true;
        }
        let Some(member) = parent.only_command() else {
            return false;
        };
        parent.is_aborted = self.members[member].device.abort(now, child_id(id, 0));
        parent.is_aborted
    }

    /// The members, the first as 0 and the second as 1; a spare is 2.
    fn components(&self, now: Instant) -> Vec<ComponentReport> {
        self.parts_by_number(now)
    }
}
