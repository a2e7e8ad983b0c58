//! What ordered requests hold back.

use std::collections::VecDeque;

use crate::request::Ordering;
use crate::sched::Pending;

/// Lets an ordered request in when nothing else is inside, and nothing else while it is; only
/// requests for the head of the queue pass it.
#[derive(Default)]
pub(crate) struct Gate {
    /// An ordered request, and all that arrived after it.
    held: VecDeque<Pending>,
    /// The ordered request inside.
    alone: Option<u64>,
}

impl Gate {
    /// The request that arrives, if it may go in; otherwise it is held.
    pub fn admit(&mut self, pending: Pending, is_idle: bool) -> Option<Pending> {
        let ordering = pending.request.ordering;
        let waits = self.alone.is_some()
            || !self.held.is_empty()
            || (ordering == Ordering::Ordered && !is_idle);
        if waits && ordering != Ordering::HeadOfQueue {
            self.held.push_back(pending);
            return None;
        }
        Some(pending)
    }

    /// The next that nothing holds back any more.
    pub fn release(&mut self, is_idle: bool) -> Option<Pending> {
        let next = self.held.front().filter(|_| self.alone.is_none())?;
        if next.request.ordering == Ordering::Ordered && !is_idle {
            return None;
        }
        self.held.pop_front()
    }

    /// Notes that an ordered request is inside, under this id.
    pub fn enter(&mut self, id: u64) {
        self.alone = Some(id);
    }

    /// Notes that the request of this id is inside no more.
    pub fn leave(&mut self, id: u64) {
        if self.alone == Some(id) {
            self.alone = None;
        }
    }

    /// Takes out a request that is held, by the id that the host gave it.
    pub fn take(&mut self, id: u64) -> Option<Pending> {
        let place = self.held.iter().position(|held| held.request.id == id)?;
        self.held.remove(place)
    }
}
