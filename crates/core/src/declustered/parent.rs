//! What the array remembers of a request and of its commands, and how they end.

use crate::device::{Breakdown, Completion, Outcome, Status};
use crate::mirror::{graver, tried_again};
use crate::raid::both;
use crate::request::{Op, Ordering, Request};
use crate::sched::Pending;
use crate::units::{Instant, Lbn, SectorCount};

/// A request inside the array.
pub(super) struct Parent {
    pub request: Request,
    pub arrived: Instant,
    /// Counts requests in their order of arrival.
    pub number: u64,
    /// All of its pieces.
    pub pieces: usize,
    /// Those that have not ended.
    pub left: usize,
    /// A member has taken a command of it.
    pub has_begun: bool,
    /// The gravest that its pieces have met.
    status: Status,
    /// What the buffers did for the pieces that have ended.
    outcome: Option<Outcome>,
}

impl Parent {
    pub fn new(Pending { request, arrived }: Pending, number: u64) -> Self {
        Self {
            request,
            arrived,
            number,
            pieces: 0,
            left: 0,
            has_begun: false,
            status: Status::Good,
            outcome: None,
        }
    }

    /// Notes that a piece has ended; how the request has, if it was the last.
    pub fn note(&mut self, piece: &Piece) -> Option<Completion> {
        self.left -= 1;
        self.status = graver(self.status, piece.status);
        self.outcome = both(self.outcome, piece.outcome, self.request.op);
        (self.left == 0).then_some(Completion {
            request: self.request,
            arrived: self.arrived,
            at: piece.since,
            breakdown: piece.spent,
            outcome: self.outcome.unwrap_or(Outcome::Miss),
            status: self.status,
        })
    }
}

/// Where a copy is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Copied {
    pub member: usize,
    pub place: u64,
}

/// A part of a request within a unit, at one of its copies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub parent: u64,
    pub op: Op,
    pub at: Copied,
    /// The copy that a read tries next.
    pub other: Option<Copied>,
    /// The request's blocks before it.
    pub before: u64,
    pub sectors: SectorCount,
    /// How the first attempt to read failed.
    pub failed: Option<Status>,
    /// A member has promised to give it back.
    pub is_aborted: bool,
    /// Since when it waits: from its arrival, or from the end of a failed attempt.
    pub since: Instant,
    /// Where the time before went.
    pub spent: Breakdown,
    pub status: Status,
    pub outcome: Option<Outcome>,
}

impl Piece {
    /// Of a whole request.
    pub fn new(parent: u64, pending: &Pending, at: Copied) -> Self {
        Self {
            parent,
            op: pending.request.op,
            at,
            other: None,
            before: 0,
            sectors: pending.request.sectors,
            failed: None,
            is_aborted: false,
            since: pending.arrived,
            spent: Breakdown::default(),
            status: Status::Good,
            outcome: None,
        }
    }

    /// Its command for `request`.
    pub fn command(&self, id: u64, request: &Request) -> Request {
        // An ordered request is alone: the order is kept in the array.
        let ordering = match request.ordering {
            Ordering::Ordered => Ordering::default(),
            ordering => ordering,
        };
        Request {
            id,
            start: Lbn(self.at.place),
            sectors: self.sectors,
            op: self.op,
            ordering,
            ..*request
        }
    }

    /// Whether it is of a rebuild, and of no request.
    pub fn rebuilds(&self) -> bool {
        self.parent == u64::MAX
    }

    /// Ends it without a member: what it waited is queueing.
    pub fn end_unserved(&mut self, status: Status, now: Instant) {
        self.spent.queue += now - self.since;
        (self.since, self.status) = (now, status);
    }

    /// Notes that its command has ended; whether it has. If not, it tries the other copy.
    pub fn ends(&mut self, done: &Completion) -> bool {
        let mut breakdown = done.breakdown;
        breakdown.queue += done.arrived - self.since;
        self.spent = self.spent.plus(&breakdown);
        self.since = done.at;
        let status = match done.status {
            Status::MediumError { offset } => Status::MediumError {
                offset: offset + self.before as u16,
            },
            status => status,
        };
        if !status.is_success()
            && status != Status::Aborted
            && let Some(other) = self.other.take()
        {
            self.failed = Some(status);
            self.at = other;
            return false;
        }
        self.status = match self.failed {
            Some(first) => tried_again(first, status),
            None => status,
        };
        self.outcome = Some(done.outcome);
        true
    }
}
