//! What an initiator sends and what it gets back.

use diskarm_core::request::Ordering;
use diskarm_core::units::Instant;
use diskarm_wire::status;

/// When a task may be served relative to others (SAM-5, task attributes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attribute {
    /// In whatever order the device prefers, but not before older ordered tasks.
    #[default]
    Simple,
    /// After all older tasks and before all newer ones.
    Ordered,
    /// Before all tasks that wait.
    HeadOfQueue,
}

impl Attribute {
    /// The same of a request to the device.
    pub(crate) fn ordering(self) -> Ordering {
        match self {
            Self::Simple => Ordering::default(),
            Self::Ordered => Ordering::Ordered,
            Self::HeadOfQueue => Ordering::HeadOfQueue,
        }
    }
}

/// A command of an initiator.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Chosen by the initiator; no two of its outstanding tasks share it.
    pub id: u64,
    /// Who sends it.
    pub initiator: u64,
    /// When it may be served.
    pub attribute: Attribute,
    /// The command block.
    pub command: &'a [u8],
    /// What the initiator sends along; bytes that the command does not ask for are ignored.
    pub data_out: &'a [u8],
}

/// How a command ended (SAM-5, status codes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// Well.
    Good = status::GOOD,
    /// Sense data tell more.
    CheckCondition = status::CHECK_CONDITION,
    /// All blocks fit in the buffer (PRE-FETCH).
    ConditionMet = status::CONDITION_MET,
    /// Another initiator has reserved the unit.
    ReservationConflict = status::RESERVATION_CONFLICT,
    /// Too many tasks are outstanding.
    TaskSetFull = status::TASK_SET_FULL,
}

/// The end of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The task's.
    pub id: u64,
    /// The task's.
    pub initiator: u64,
    /// When it ended; with timing noise, when it is seen to end.
    pub at: Instant,
    /// How it ended.
    pub status: Status,
    /// Sense data; empty unless the status is CHECK CONDITION.
    pub sense: Vec<u8>,
    /// What the unit sends, cut off at the command's allocation length.
    pub data_in: Vec<u8>,
}
