//! The parts of a request: its commands, as plain data, and their progress.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Deref, Range};

use crate::device::{Breakdown, Completion, Outcome, Status};
use crate::request::{Op, Ordering, Priority, Request};
use crate::sched::Pending;
use crate::units::{Instant, Lbn, SectorCount};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub member: usize,
    pub op: Op,
    /// The first block on the member.
    pub start: u64,
    pub sectors: u64,
    /// True if a member of a pair has taken it; other commands of the step may still be waiting.
    pub is_taken: bool,
}

impl Access {
    pub const fn new(member: usize, op: Op, start: u64, sectors: u64) -> Self {
        Self {
            member,
            op,
            start,
            sectors,
            is_taken: false,
        }
    }
}

/// A few commands; a single one needs no allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Commands {
    One(Access),
    /// No commands, or several.
    Many(Vec<Access>),
}

impl Default for Commands {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl FromIterator<Access> for Commands {
    fn from_iter<I: IntoIterator<Item = Access>>(commands: I) -> Self {
        let mut commands = commands.into_iter();
        match (commands.next(), commands.next()) {
            (None, _) => Self::default(),
            (Some(only), None) => Self::One(only),
            (Some(first), Some(second)) => {
                Self::Many([first, second].into_iter().chain(commands).collect())
            }
        }
    }
}

impl Commands {
    /// Records that a member has taken command number `index` of several.
    pub fn take(&mut self, index: usize) {
        if let Self::Many(commands) = self {
            commands[index].is_taken = true;
        }
    }
}

impl Deref for Commands {
    type Target = [Access];

    fn deref(&self) -> &[Access] {
        match self {
            Self::One(only) => std::slice::from_ref(only),
            Self::Many(commands) => commands,
        }
    }
}

/// The commands for a part of a request. The second step follows if the first succeeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The rows that the part claims; empty for most plans.
    pub rows: Range<u64>,
    /// The blocks of the array that the part serves.
    pub blocks: Range<u64>,
    pub begin: Commands,
    pub follow: Commands,
    /// A command to try if the only command of `begin` fails.
    pub other: Option<Access>,
}

impl Plan {
    /// Returns a plan of one step that claims no rows.
    pub fn new(blocks: Range<u64>, begin: Commands) -> Self {
        Self {
            blocks,
            begin,
            ..Self::default()
        }
    }
}

/// Bits of a command id that hold its index in a step. A step has at most one command per block.
const COMMAND_BITS: u32 = 17;

/// Returns the id of command number `index` of the current step of a part.
pub const fn child_id(part: u64, index: usize) -> u64 {
    part << COMMAND_BITS | index as u64
}

pub const fn part_of(child: u64) -> (u64, usize) {
    let index = child & ((1 << COMMAND_BITS) - 1);
    (child >> COMMAND_BITS, index as usize)
}

/// The fields that all commands of a rebuild share.
pub static REBUILD: Request = Request {
    priority: Priority::Low,
    ..Request::new(u64::MAX, Op::Write, Lbn(0), SectorCount(0))
};

/// An outstanding request of the array, and the state that the placement keeps for it.
pub struct Parent<S> {
    pub request: Request,
    pub arrived: Instant,
    /// Position in the order in which requests began.
    pub number: u64,
    /// Number of parts so far.
    pub total: usize,
    /// Parts that have not ended.
    pub left: usize,
    /// True if a member has taken one of its commands.
    pub has_begun: bool,
    /// True if it has not begun because it waits for other requests or for a step of the rebuild.
    pub is_held: bool,
    /// True if it has completed, although some of its parts have not.
    pub is_reported: bool,
    /// The most severe status of its parts.
    pub status: Status,
    /// The combined buffer outcome of the parts that have ended.
    pub outcome: Option<Outcome>,
    pub state: S,
}

impl<S: Default> Parent<S> {
    pub fn new(Pending { request, arrived }: Pending, number: u64) -> Self {
        Self {
            request,
            arrived,
            number,
            total: 0,
            left: 0,
            has_begun: false,
            is_held: false,
            is_reported: false,
            status: Status::Good,
            outcome: None,
            state: S::default(),
        }
    }
}

impl<S> Parent<S> {
    /// Ends `part`, and returns the completion of the request if no other part is left.
    pub fn end_part(&mut self, part: &Part) -> Option<Completion> {
        self.left -= 1;
        self.status = more_severe(self.status, part.status);
        self.outcome = combine_outcomes(self.outcome, part.outcome, self.request.op);
        (self.left == 0).then_some(Completion {
            request: self.request,
            arrived: self.arrived,
            at: part.since,
            breakdown: part.spent,
            outcome: self.outcome.unwrap_or(Outcome::Miss),
            status: self.status,
        })
    }
}

/// A part of a request or of a rebuild, whose commands are in one step or two.
pub struct Part {
    /// The request; `None` for a step of the rebuild.
    pub parent: Option<u64>,
    pub rows: Range<u64>,
    /// The blocks of the array that the part serves.
    pub blocks: Range<u64>,
    /// Number of rows that the part waits for.
    pub blocked: u64,
    pub commands: Commands,
    follow: Commands,
    /// Commands of this step that have not ended.
    left: usize,
    /// Commands of this step that no member has taken.
    pub waiting: usize,
    /// The time since which this step has been waiting.
    pub since: Instant,
    /// The time spent in earlier steps and attempts.
    pub spent: Breakdown,
    pub status: Status,
    pub outcome: Option<Outcome>,
    /// A command to try instead if the current one fails.
    pub other: Option<Access>,
    /// The status of a first attempt that failed.
    pub failed: Option<Status>,
    /// True if a member has agreed to abort its command.
    pub is_aborted: bool,
    /// The member that failed a read of this step; the step continues without it.
    pub lost: Option<usize>,
    /// The member that the part avoids because an earlier read from it failed.
    pub avoided_member: Option<usize>,
}

impl Part {
    pub fn new(parent: Option<u64>, arrived: Instant, plan: Plan) -> Self {
        Self {
            parent,
            rows: plan.rows,
            blocks: plan.blocks,
            blocked: 0,
            left: plan.begin.len(),
            waiting: plan.begin.len(),
            commands: plan.begin,
            follow: plan.follow,
            since: arrived,
            spent: Breakdown::default(),
            status: Status::Good,
            outcome: None,
            other: plan.other,
            failed: None,
            is_aborted: false,
            lost: None,
            avoided_member: None,
        }
    }

    /// Returns a part with `plan` that replaces this one after a failed read from `member`.
    pub fn without_member(&self, plan: Plan, member: usize) -> Self {
        Self {
            spent: self.spent,
            status: Status::Recovered { retries: 1 },
            avoided_member: Some(member),
            ..Self::new(self.parent, self.since, plan)
        }
    }

    pub const fn first(&self) -> Lbn {
        Lbn(self.blocks.start)
    }

    /// Returns the member that serves the first command.
    pub fn member(&self) -> usize {
        self.commands[0].member
    }

    /// Returns the number of commands that members have taken and not completed.
    pub const fn in_service(&self) -> usize {
        self.left - self.waiting
    }

    pub fn sub_request(&self, request: &Request) -> Request {
        Request {
            start: self.first(),
            sectors: SectorCount(self.blocks.end - self.blocks.start),
            ..*request
        }
    }

    /// Replaces the part's commands, none of which has begun.
    pub fn set_commands(&mut self, commands: Commands, follow: Commands) {
        self.left = commands.len();
        self.waiting = commands.len();
        (self.commands, self.follow) = (commands, follow);
    }

    /// Builds command number `index` of this step for `request`.
    #[inline(always)]
    pub fn command(&self, id: u64, index: usize, request: &Request) -> Request {
        member_command(request, child_id(id, index), &self.commands[index])
    }

    /// Drops the unwanted commands of the step, none of which has begun.
    pub fn retain(&mut self, is_wanted: impl Fn(&Access) -> bool) {
        if !self.commands.iter().all(&is_wanted) {
            let wanted = self.commands.iter().copied().filter(is_wanted);
            self.commands = wanted.collect();
        }
        self.left = self.commands.len();
        self.waiting = self.left;
    }

    /// Records that a read from `member` failed. Returns true if the step can continue without it,
    /// which is possible for one member only.
    pub fn lose(&mut self, member: usize) -> bool {
        *self.lost.get_or_insert(member) == member
    }

    /// Returns true if the part has a single command, in one step, and waits for no rows.
    pub fn is_single(&self) -> bool {
        self.commands.len() == 1 && self.follow.is_empty() && self.blocked == 0
    }

    /// Translates the status of a command that failed at `block` of the array, so that its offset
    /// is relative to `request`, or to the blocks of a rebuild step. A block outside the request
    /// counts as the first of the part.
    pub fn translate_status(
        &self,
        status: Status,
        block: Option<Lbn>,
        request: Option<&Request>,
    ) -> Status {
        if !matches!(status, Status::MediumError { .. }) {
            return status;
        }
        let blocks = request.map_or(self.blocks.clone(), blocks_of);
        let block = block
            .filter(|block| blocks.contains(&block.0))
            .unwrap_or(self.first());
        let offset = (block.0 - blocks.start) as u16;
        Status::MediumError { offset }
    }

    /// Records that a command has ended, with the translated `status`. Returns true if it was the
    /// last in the step.
    #[inline(always)]
    pub fn end_command(&mut self, done: &Completion, status: Status) -> bool {
        self.left -= 1;
        self.status = more_severe(self.status, status);
        self.outcome = combine_outcomes(self.outcome, Some(done.outcome), done.request.op);
        if self.left > 0 {
            return false;
        }
        let mut breakdown = done.breakdown;
        breakdown.queue += done.arrived - self.since;
        self.spent = self.spent.plus(&breakdown);
        self.since = done.at;
        true
    }

    /// Ends a part that no member serves. The time that it has waited counts as queueing.
    pub fn end_unserved(&mut self, status: Status, now: Instant) {
        self.spent.queue += now - self.since;
        (self.since, self.status) = (now, status);
    }

    /// Moves on to the next step if this one succeeded and another follows.
    pub fn advance(&mut self) -> bool {
        if self.follow.is_empty() || !self.status.is_success() {
            return false;
        }
        let follow = std::mem::take(&mut self.follow);
        self.set_commands(follow, Commands::default());
        self.outcome = None;
        true
    }

    /// Starts the step again with `commands`, because its results were lost with a member.
    pub fn restart(&mut self, commands: Commands) {
        (self.status, self.outcome, self.other) = (Status::Good, None, None);
        self.set_commands(commands, Commands::default());
    }

    /// Prepares a second attempt with `commands` after a failed first attempt.
    pub fn retry(&mut self, commands: Commands) {
        self.failed = Some(self.status);
        self.restart(commands);
    }

    /// Combines the status of the part with that of a failed first attempt, if there was one.
    pub fn combine_attempts(&mut self) {
        if let Some(first) = self.failed {
            self.status = after_retry(first, self.status);
        }
    }
}

#[inline(always)]
pub fn member_command(request: &Request, id: u64, access: &Access) -> Request {
    // An ordered request is the only outstanding one, so its commands need no order.
    let ordering = match request.ordering {
        Ordering::Ordered => Ordering::default(),
        ordering => ordering,
    };
    Request {
        id,
        start: Lbn(access.start),
        sectors: SectorCount(access.sectors),
        op: access.op,
        // The blocks that a write must read may come from a buffer.
        force_unit_access: request.force_unit_access && access.op == request.op,
        ordering,
        ..*request
    }
}

/// The parts that wait for each row in use, in order of arrival. A part claims all its rows at the
/// same time, so no two parts wait for each other.
#[derive(Default)]
pub struct Rows {
    waiting: BTreeMap<u64, VecDeque<u64>>,
}

impl Rows {
    /// Claims `rows` for a part and returns how many of them are in use.
    pub fn claim(&mut self, part: u64, rows: Range<u64>) -> u64 {
        let mut used = 0;
        for row in rows {
            match self.waiting.get_mut(&row) {
                Some(waiting) => {
                    waiting.push_back(part);
                    used += 1;
                }
                None => {
                    self.waiting.insert(row, VecDeque::new());
                }
            }
        }
        used
    }

    /// Releases `rows`, which a part has claimed, even if the part still waits for some of them.
    /// Returns the next owner of each row that the part owned and that another part waits for.
    pub fn release(&mut self, part: u64, rows: Range<u64>) -> Vec<u64> {
        let mut owners = Vec::new();
        for row in rows {
            let Some(waiting) = self.waiting.get_mut(&row) else {
                panic!("row {row} is not in use");
            };
            if let Some(position) = waiting.iter().position(|waits| *waits == part) {
                waiting.remove(position);
            } else if let Some(next) = waiting.pop_front() {
                owners.push(next);
            } else {
                self.waiting.remove(&row);
            }
        }
        owners
    }
}

pub fn blocks_of(request: &Request) -> Range<u64> {
    request.start.0..request.end().0
}

pub const fn overlaps(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

pub fn more_severe(one: Status, other: Status) -> Status {
    if other == Status::Good {
        return one;
    }
    let severity = |status: Status| match status {
        Status::Good => (0, 0),
        Status::Recovered { retries } => (1, retries),
        Status::Aborted => (2, 0),
        Status::NotReady => (3, 0),
        // The blocks before the bad one were transferred, so the first bad block counts.
        Status::MediumError { offset } => (4, u16::MAX - offset),
    };
    if severity(other) > severity(one) {
        other
    } else {
        one
    }
}

/// Returns the status of a read that was tried on two members.
fn after_retry(first: Status, second: Status) -> Status {
    match (first, second) {
        (_, Status::Good) => Status::Recovered { retries: 1 },
        (_, Status::Recovered { retries }) => Status::Recovered {
            retries: retries.saturating_add(1),
        },
        (Status::MediumError { offset: one }, Status::MediumError { offset: other }) => {
            // Each member could read the blocks before its bad block.
            let offset = one.max(other);
            Status::MediumError { offset }
        }
        (first, second) => more_severe(first, second),
    }
}

/// Combines the buffer outcomes of two parts of a request.
fn combine_outcomes(one: Option<Outcome>, other: Option<Outcome>, op: Op) -> Option<Outcome> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => Some(match op {
            Op::Read => Outcome::PartialHit,
            Op::Write | Op::Flush => Outcome::Miss,
        }),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_used_in_order_of_arrival() {
        let mut rows = Rows::default();
        assert_eq!(rows.claim(1, 0..3), 0);
        assert_eq!(rows.claim(2, 2..4), 1);
        assert_eq!(rows.claim(3, 3..4), 1);
        assert_eq!(rows.claim(4, 2..3), 1);
        assert_eq!(rows.claim(5, 9..10), 0);
        // A waiting part gives up row 3, which the next part gets.
        assert_eq!(rows.release(2, 2..4), [3]);
        assert_eq!(rows.release(1, 0..3), [4]);
        for (part, claimed) in [(3, 3..4), (4, 2..3), (5, 9..10)] {
            assert_eq!(rows.release(part, claimed), [0; 0]);
        }
        assert!(rows.waiting.is_empty());
    }
}
