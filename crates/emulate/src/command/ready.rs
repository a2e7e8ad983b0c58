//! TEST UNIT READY (SPC-4).

use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense};

use crate::state::Context;
use crate::work::Start;

pub(super) fn run(_: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    if context.state.stopped {
        return Err(Sense::new(Key::NotReady, Code::START_REQUIRED));
    }
    Ok(Start::Done(Vec::new()))
}
