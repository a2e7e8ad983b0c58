//! Tasks of initiators and their responses.

use diskarm_core::request::Ordering;
use diskarm_core::units::Instant;
use diskarm_wire::status;

/// The ordering of a task relative to others (SAM-5, task attributes).
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
    /// The attribute as one of a request to the device.
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
    pub initiator: u64,
    pub attribute: Attribute,
    pub command: &'a [u8],
    /// The data from the initiator; bytes that the command does not need are ignored.
    pub data_out: &'a [u8],
}

/// The outcome of a command (SAM-5, status codes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// Well.
    Good = status::GOOD,
    /// Details are in the sense data.
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
    pub id: u64,
    pub initiator: u64,
    /// The end of the task; with timing noise, the observed end.
    pub at: Instant,
    pub status: Status,
    /// Sense data; empty unless the status is CHECK CONDITION.
    pub sense: Vec<u8>,
    /// The data from the unit, cut off at the command's allocation length.
    pub data_in: Vec<u8>,
}
