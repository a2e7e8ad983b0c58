//! What the array remembers of a request and of its parts, and how they end.

use std::ops::Range;

use super::plan::{Access, Plan};
use crate::device::{Breakdown, Completion, Outcome, Status};
use crate::mirror::graver;
use crate::request::{Op, Ordering, Request};
use crate::sched::Pending;
use crate::units::{Instant, Lbn, SectorCount};

/// A step has at most this many commands, more than a request may have blocks.
const COMMANDS_BITS: u32 = 17;

/// The id of the command number `index` of the present step of a part.
pub(super) const fn child_id(part: u64, index: usize) -> u64 {
    part << COMMANDS_BITS | index as u64
}

/// The part and the number of a command.
pub(super) const fn part_of(child: u64) -> (u64, usize) {
    let index = child & ((1 << COMMANDS_BITS) - 1);
    (child >> COMMANDS_BITS, index as usize)
}

/// A request inside the array.
pub(super) struct Parent {
    pub request: Request,
    pub arrived: Instant,
    /// Counts requests in their order of arrival.
    pub number: u64,
    /// Parts that have not ended.
    pub parts: usize,
    /// A member has taken a command of it.
    pub has_begun: bool,
    /// The gravest that its parts have met.
    status: Status,
    /// What the buffers did for the parts that have ended.
    outcome: Option<Outcome>,
}

impl Parent {
    pub fn new(Pending { request, arrived }: Pending, number: u64) -> Self {
        Self {
            request,
            arrived,
            number,
            parts: 0,
            has_begun: false,
            status: Status::Good,
            outcome: None,
        }
    }

    /// Whether it has one part, which has not ended.
    pub fn is_single(&self) -> bool {
        self.parts == 1 && self.outcome.is_none()
    }

    /// Notes that a part has ended.
    pub fn note(&mut self, part: &Part) {
        self.parts -= 1;
        self.status = graver(self.status, part.status);
        self.outcome = both(self.outcome, part.outcome, self.request.op);
    }

    /// Replaces one of its parts by `others`.
    pub fn replace(&mut self, others: usize) {
        self.parts = self.parts + others - 1;
        self.has_begun = true;
    }

    /// The completion of the request with its last part, which took `spent` and ended at `at`.
    pub fn completion(&self, at: Instant, spent: Breakdown) -> Completion {
        Completion {
            request: self.request,
            arrived: self.arrived,
            at,
            breakdown: spent,
            outcome: self.outcome.unwrap_or(Outcome::Miss),
            status: self.status,
        }
    }
}

/// A part of a request: its commands, in one step or two.
pub(super) struct Part {
    /// The request; `None` if it rebuilds a row.
    pub parent: Option<u64>,
    pub rows: Range<u64>,
    /// The blocks of the request that it serves.
    blocks: Range<u64>,
    /// Rows that it waits for.
    pub blocked: u64,
    /// The commands of this step.
    pub commands: Vec<Access>,
    /// Those of the next.
    follow: Vec<Access>,
    /// Commands of this step that have not ended.
    left: usize,
    /// Since when this step waits.
    pub since: Instant,
    /// Where the time before went.
    pub spent: Breakdown,
    pub status: Status,
    outcome: Option<Outcome>,
    /// A member of which a read of this step has failed: the step has to do without it.
    pub lost: Option<usize>,
    /// A member that it does without, because a read of it has failed before.
    pub without: Option<usize>,
}

impl Part {
    pub fn new(parent: Option<u64>, arrived: Instant, plan: Plan) -> Self {
        Self {
            parent,
            rows: plan.rows,
            blocks: plan.blocks,
            blocked: 0,
            left: plan.begin.len(),
            commands: plan.begin,
            follow: plan.follow,
            since: arrived,
            spent: Breakdown::default(),
            status: Status::Good,
            outcome: None,
            lost: None,
            without: None,
        }
    }

    /// A part that serves again, as in `plan`, what this one could not read of `member`.
    pub fn again(&self, plan: Plan, member: usize) -> Self {
        Self {
            spent: self.spent,
            status: Status::Recovered { retries: 1 },
            without: Some(member),
            ..Self::new(self.parent, self.since, plan)
        }
    }

    /// The first block that it serves.
    pub const fn first(&self) -> Lbn {
        Lbn(self.blocks.start)
    }

    /// What it serves of `request`.
    pub fn served(&self, request: &Request) -> Request {
        Request {
            start: self.first(),
            sectors: SectorCount(self.blocks.end - self.blocks.start),
            ..*request
        }
    }

    /// Forgets its commands, none of which has begun, to be given others.
    pub fn clear(&mut self) {
        self.commands.clear();
        self.follow.clear();
        self.left = 0;
    }

    /// Adds the commands of `plan`.
    pub fn add(&mut self, plan: Plan) {
        self.commands.extend(plan.begin);
        self.follow.extend(plan.follow);
        self.left = self.commands.len();
    }

    /// The command number `index` of this step for `request`.
    pub fn command(&self, id: u64, index: usize, request: &Request) -> (usize, Request) {
        let Access {
            member,
            op,
            place,
            sectors,
        } = self.commands[index];
        // An ordered request is alone: the order is kept in the array.
        let ordering = match request.ordering {
            Ordering::Ordered => Ordering::default(),
            ordering => ordering,
        };
        let command = Request {
            id: child_id(id, index),
            start: Lbn(place),
            sectors: SectorCount(sectors),
            op,
            // What a write has to read may come from a buffer.
            force_unit_access: request.force_unit_access && op == request.op,
            ordering,
            ..*request
        };
        (member, command)
    }

    /// Leaves out the commands of the step that are not `wanted`, before any of them begins.
    pub fn leave_out(&mut self, is_wanted: impl Fn(&Access) -> bool) {
        self.commands.retain(is_wanted);
        self.left = self.commands.len();
    }

    /// Notes that a read of `member` failed, which the step may do without; whether it may, as it
    /// is the only one.
    pub fn lose(&mut self, member: usize) -> bool {
        *self.lost.get_or_insert(member) == member
    }

    /// Whether nothing but one command is left of it.
    pub fn is_single(&self) -> bool {
        self.commands.len() == 1 && self.follow.is_empty() && self.blocked == 0
    }

    /// The status of the request for that of a command that failed at `block` of the array, or at
    /// a block that is none of the request's.
    pub fn translated(&self, status: Status, block: Option<Lbn>, request: &Request) -> Status {
        if !matches!(status, Status::MediumError { .. }) {
            return status;
        }
        let is_own = |block: &Lbn| (request.start..request.end()).contains(block);
        let block = block.filter(is_own).unwrap_or(self.first());
        let offset = (block.0 - request.start.0) as u16;
        Status::MediumError { offset }
    }

    /// Notes that a command has ended, with a status of the request; whether the step has.
    pub fn note(&mut self, done: &Completion, status: Status) -> bool {
        self.left -= 1;
        self.status = graver(self.status, status);
        self.outcome = both(self.outcome, Some(done.outcome), done.request.op);
        if self.left > 0 {
            return false;
        }
        let mut breakdown = done.breakdown;
        breakdown.queue += done.arrived - self.since;
        self.spent = self.spent.plus(&breakdown);
        self.since = done.at;
        true
    }

    /// Continues to the next step, if any and this one succeeded.
    pub fn goes_on(&mut self) -> bool {
        if self.follow.is_empty() || !self.status.is_success() {
            return false;
        }
        self.commands = std::mem::take(&mut self.follow);
        self.left = self.commands.len();
        self.outcome = None;
        true
    }
}

/// What the buffers did for a request of which they did this for two parts.
pub(crate) fn both(one: Option<Outcome>, other: Option<Outcome>, op: Op) -> Option<Outcome> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => Some(match op {
            Op::Read => Outcome::PartialHit,
            Op::Write | Op::Flush => Outcome::Miss,
        }),
        (one, other) => one.or(other),
    }
}
