//! TEST UNIT READY (SPC-4).

use diskarm_wire::{Command, Sense};

use crate::state::Context;
use crate::work::Start;

pub(super) fn run(_: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    match context.state.start_required() {
        Some(sense) => Err(sense),
        None => Ok(Start::Done(Vec::new())),
    }
}
