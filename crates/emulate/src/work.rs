//! A command that takes time: the steps of its way through the device.

use diskarm_core::request::Op;
use diskarm_core::units::{Instant, Lbn, SectorCount};
use diskarm_wire::Sense;

use crate::state::Context;

/// The next action of a command.
pub(crate) enum Step {
    /// It ends with these data for the initiator.
    Done(Vec<u8>),
    /// It ends with CONDITION MET.
    ConditionMet,
    /// It waits for the device to do this.
    Ask(Asked),
    /// It waits until then.
    Until(Instant),
}

/// A device operation of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked {
    /// To serve a request.
    Transfer(Transfer),
    /// To move its arm; nothing else is in the device then.
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

impl Step {
    /// The device is to serve a request.
    pub fn request(op: Op, at: Lbn, sectors: u64, force_unit_access: bool) -> Self {
        Self::Ask(Asked::Transfer(Transfer {
            op,
            at,
            sectors: SectorCount(sectors),
            force_unit_access,
        }))
    }
}

/// The reason that a command failed.
pub(crate) enum Ended {
    Sense(Sense),
    Conflict,
}

impl From<Sense> for Ended {
    fn from(sense: Sense) -> Self {
        Self::Sense(sense)
    }
}

/// The rest of a command. It is asked again when what it waits for has happened.
pub(crate) trait Work: Send {
    fn next(&mut self, context: &mut Context<'_>) -> Result<Step, Sense>;

    /// The data to store once the requested write completes; empty without a write, or if they are
    /// already stored.
    fn data(&self) -> Vec<u8> {
        Vec::new()
    }
}

/// The start of a command.
pub(crate) enum Start {
    /// It has ended already.
    Done(Vec<u8>),
    /// It has ended: another initiator has reserved the unit.
    Conflict,
    Work(Box<dyn Work>),
    /// It takes time, but has been answered (IMMED) as this says.
    Background(Box<dyn Work>, Answer),
}

/// An answer that comes before the work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Good,
    ConditionMet,
}

impl Start {
    pub fn work(work: impl Work + 'static) -> Self {
        Self::Work(Box::new(work))
    }

    /// The work, answered at once if that was requested.
    pub fn immediate(work: impl Work + 'static, immediate: bool) -> Self {
        if immediate {
            Self::Background(Box::new(work), Answer::Good)
        } else {
            Self::work(work)
        }
    }

    /// It has ended, with these data for the initiator, as far as it has room.
    pub fn data(mut data: Vec<u8>, length: usize) -> Self {
        data.truncate(length);
        Self::Done(data)
    }
}
