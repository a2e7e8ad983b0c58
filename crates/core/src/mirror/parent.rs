//! What the pair remembers of a request, and how it ends.

use std::collections::BTreeSet;

use crate::device::{Breakdown, Completion, Status};
use crate::request::Request;
use crate::sched::Pending;
use crate::units::Instant;

/// A copy has at most this many commands, as many as a request may have blocks.
const COMMANDS_BITS: u32 = 17;

/// The id of the command number `index` for a copy of a request. Both members use the same.
pub(super) const fn child_id(parent: u64, index: u32) -> u64 {
    parent << COMMANDS_BITS | index as u64
}

/// The request and the number of a command.
pub(super) const fn parent_of(child: u64) -> (u64, u32) {
    let index = child & ((1 << COMMANDS_BITS) - 1);
    (child >> COMMANDS_BITS, index as u32)
}

/// A request with copies that wait or are in the members.
pub(super) struct Parent {
    pub request: Request,
    pub arrived: Instant,
    /// Counts requests in the order in which the members got them.
    pub number: u64,
    /// Since when it waits: from its arrival, or from the end of a failed attempt.
    pub since: Instant,
    /// Where the time before went.
    spent: Breakdown,
    pub copies: [Copied; 2],
    /// The numbers of the commands that the second member has taken while others of the request
    /// waited.
    pub taken_early: BTreeSet<u32>,
    /// How the first attempt to read failed.
    pub failed: Option<Status>,
    /// A member has taken a part of it.
    pub has_begun: bool,
    pub is_aborted: bool,
    /// It has completed, and the second copy is still to be written.
    pub is_reported: bool,
    /// It has not begun, since it has to wait for another one.
    pub is_held: bool,
    /// It is a step of a rebuild.
    pub rebuilds: bool,
}

/// The copy of a request at one member.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Copied {
    pub queued: u32,
    /// Commands in the device.
    pub inside: u32,
    /// The gravest that its commands have met.
    pub status: Status,
}

impl Copied {
    /// Notes how a command ended; whether it was the last.
    pub fn note(&mut self, status: Status) -> bool {
        self.inside -= 1;
        self.status = graver(self.status, status);
        self.is_over()
    }

    /// Whether nothing of it is left to do.
    pub fn is_over(&self) -> bool {
        self.queued == 0 && self.inside == 0
    }
}

impl Parent {
    pub fn new(Pending { request, arrived }: Pending, number: u64) -> Self {
        Self {
            request,
            arrived,
            number,
            since: arrived,
            spent: Breakdown::default(),
            copies: [Copied::default(); 2],
            taken_early: BTreeSet::new(),
            failed: None,
            has_begun: false,
            is_aborted: false,
            is_reported: false,
            is_held: false,
            rebuilds: false,
        }
    }

    /// A step of a rebuild.
    pub fn rebuilding(request: Request, now: Instant) -> Self {
        let arrived = now;
        Self {
            rebuilds: true,
            ..Self::new(Pending { request, arrived }, u64::MAX)
        }
    }

    /// The completion of the copy at `member`, of which `done` is the last command: the wait here
    /// and failed attempts come on top.
    pub fn lifted(&self, member: usize, mut done: Completion) -> Completion {
        done.breakdown.queue += done.arrived - self.since;
        Completion {
            request: self.request,
            arrived: self.arrived,
            breakdown: self.spent.plus(&done.breakdown),
            status: self.copies[member].status,
            ..done
        }
    }

    /// Prepares to read at the other member after a failed attempt.
    pub fn try_again(&mut self, failed: &Completion) {
        self.failed = Some(failed.status);
        self.since = failed.at;
        self.spent = failed.breakdown;
    }

    /// The member whose device has all that is left of it, a single command that it may give back.
    pub fn only_command(&self) -> Option<usize> {
        let is_first = self.failed.is_none() && self.request.op.is_read();
        let is_whole = |copy: &Copied| copy.queued == 0 && copy.inside == 1;
        let member = self.copies.iter().position(is_whole)?;
        (is_first && self.copies[1 - member].is_over()).then_some(member)
    }
}

/// The graver of how two parts of a request ended.
pub(crate) fn graver(one: Status, other: Status) -> Status {
    let gravity = |status: Status| match status {
        Status::Good => (0, 0),
        Status::Recovered { retries } => (1, retries),
        Status::Aborted => (2, 0),
        Status::NotReady => (3, 0),
        // The blocks before it were transferred, so the first counts.
        Status::MediumError { offset } => (4, u16::MAX - offset),
    };
    if gravity(other) > gravity(one) {
        other
    } else {
        one
    }
}

/// How a read ended that was tried at both members.
pub(crate) fn tried_again(first: Status, second: Status) -> Status {
    match (first, second) {
        (_, Status::Good) => Status::Recovered { retries: 1 },
        (_, Status::Recovered { retries }) => Status::Recovered {
            retries: retries.saturating_add(1),
        },
        (Status::MediumError { offset: one }, Status::MediumError { offset: other }) => {
            // Each member has what is before its bad block.
            let offset = one.max(other);
            Status::MediumError { offset }
        }
        (first, second) => graver(first, second),
    }
}
