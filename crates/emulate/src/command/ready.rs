//! TEST UNIT READY (SPC-4).

use diskarm_wire::{Command, Sense};

use crate::state::Context;
use crate::work::Start;

pub(super) fn run(_: &Command, _: &mut Context<'_>) -> Result<Start, Sense> {
    Ok(Start::Done(Vec::new()))
}
