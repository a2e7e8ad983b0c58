//! Commands that take time: a sequence of device operations.

use diskarm_core::request::Op;
use diskarm_core::units::{Instant, Lbn, SectorCount};
use diskarm_wire::Sense;

use crate::state::Context;

/// The next action of a command.
pub(crate) enum Action {
    /// Complete the command with these data for the initiator.
    Done(Vec<u8>),
    /// Complete the command with CONDITION MET.
    ConditionMet,
    /// Wait for the device to perform this operation.
    Wait(Operation),
    /// Wait until this instant.
    Until(Instant),
}

/// A device operation of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    /// Serve a request.
    Transfer(Transfer),
    /// Move the arm, while no request is outstanding.
    Seek(Lbn),
}

/// A request to the device, with the fields that the command determines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub op: Op,
    pub at: Lbn,
    pub sectors: SectorCount,
    pub force_unit_access: bool,
}

impl Action {
    /// Waits for the device to serve a request.
    pub fn request(op: Op, at: Lbn, sectors: u64, force_unit_access: bool) -> Self {
        Self::Wait(Operation::Transfer(Transfer {
            op,
            at,
            sectors: SectorCount(sectors),
            force_unit_access,
        }))
    }
}

/// The remaining work of a command.
pub(crate) trait Work: Send {
    /// Returns the next action. It is called again when the previous action has completed.
    fn next(&mut self, context: &mut Context<'_>) -> Result<Action, Sense>;

    /// Returns the data to store once the requested write completes; empty without a write, or if
    /// they are already stored.
    fn data(&self) -> Vec<u8> {
        Vec::new()
    }
}

/// The result of starting a command.
pub(crate) enum Start {
    /// The command has completed with these data.
    Done(Vec<u8>),
    /// The command failed: another initiator has reserved the unit.
    Conflict,
    Work(Box<dyn Work>),
    /// The command takes time, but is answered in advance (IMMED).
    Background(Box<dyn Work>, Answer),
}

/// An answer in advance of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Good,
    ConditionMet,
}

impl Start {
    pub fn work(work: impl Work + 'static) -> Self {
        Self::Work(Box::new(work))
    }

    /// Starts work, and answers in advance if `immediate`.
    pub fn immediate(work: impl Work + 'static, immediate: bool) -> Self {
        if immediate {
            Self::Background(Box::new(work), Answer::Good)
        } else {
            Self::work(work)
        }
    }

    /// Completes with the first `length` bytes of `data`.
    pub fn data(mut data: Vec<u8>, length: usize) -> Self {
        data.truncate(length);
        Self::Done(data)
    }
}
