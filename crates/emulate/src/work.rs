//! A command that takes time: the steps of its way through the device.

use diskarm_core::request::Op;
use diskarm_core::units::{Instant, Lbn, SectorCount};
use diskarm_wire::Sense;

use crate::state::Context;

/// What a command does next.
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

/// What a command asks of the device.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked {
    /// To serve a request.
    Transfer(Transfer),
    /// To move its arm; nothing else is in the device then.
    Seek(Lbn),
}

/// A request to the device, as far as the command decides it.
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

/// How a command ends that does not end well.
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

    /// What it brings to the store when the write that it asks for is done; nothing if it asks for
    /// none, or has brought it already.
    fn data(&self) -> Vec<u8> {
        Vec::new()
    }
}

/// How a command begins.
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

    /// The same, answered at once if that was asked for.
    pub fn immediate(work: impl Work + 'static, immediate: bool) -> Self {
        if immediate {
            Self::Background(Box::new(work), Answer::Good)
        } else {
            Self::work(work)
        }
    }

    /// It has ended, with as many of these data as the initiator has room for.
    pub fn data(mut data: Vec<u8>, length: usize) -> Self {
        data.truncate(length);
        Self::Done(data)
    }
}
