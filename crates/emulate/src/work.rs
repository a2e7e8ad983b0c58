//! A command that takes time: the steps of its way through the device.

use diskarm_core::request::Op;
use diskarm_core::units::{Instant, Lbn, SectorCount};
use diskarm_wire::Sense;

use crate::state::Context;

/// What a command does next.
pub(crate) enum Step {
    /// It ends with these data for the initiator.
    Done(Vec<u8>),
    /// It waits for the device to serve this.
    Request(Transfer),
    /// It waits until then.
    Until(Instant),
}

/// A request to the device, as far as the command decides it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub op: Op,
    pub at: Lbn,
    pub sectors: SectorCount,
    pub force_unit_access: bool,
}

/// The rest of a command. It is asked again when what it waits for has happened.
pub(crate) trait Work: Send {
    /// The next step.
    fn next(&mut self, context: &mut Context<'_>) -> Result<Step, Sense>;
}

/// How a command begins.
pub(crate) enum Start {
    /// It has ended already.
    Done(Vec<u8>),
    /// It takes time.
    Work(Box<dyn Work>),
}

impl Start {
    pub fn work(work: impl Work + 'static) -> Self {
        Self::Work(Box::new(work))
    }

    /// It has ended, with as many of these data as the initiator has room for.
    pub fn data(mut data: Vec<u8>, length: usize) -> Self {
        data.truncate(length);
        Self::Done(data)
    }
}
