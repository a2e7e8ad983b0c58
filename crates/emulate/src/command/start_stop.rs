//! START STOP UNIT (SBC-3). No parameter set has a spin-up time, so the medium reaches its speed at
//! once.

use diskarm_wire::{Command, Sense};

use super::misplaced;
use super::synchronize::Flush;
use crate::command::Access;
use crate::state::{Context, invalid_field};
use crate::work::Start;

pub(super) fn run(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::StartStopUnit {
        immediate,
        power_condition,
        power_condition_modifier,
        no_flush,
        load_eject,
        start,
    } = *command
    else {
        misplaced(command);
    };
    if power_condition_modifier != 0 {
        return Err(invalid_field(3, Some(3)));
    }
    if power_condition != 0 {
        return Err(invalid_field(4, Some(7)));
    }
    if load_eject {
        return Err(invalid_field(4, Some(1)));
    }
    // SBC-3: another initiator's reservation lets it be started, not stopped.
    let access = if start {
        Access::Tells
    } else {
        Access::Settles
    };
    if !context.state.reservations.admit(context.nexus, access) {
        return Ok(Start::Conflict);
    }
    if start || no_flush || context.state.stopped {
        context.state.stopped = !start;
        return Ok(Start::Done(Vec::new()));
    }
    let flush = Flush {
        stops: true,
        served: false,
    };
    Ok(Start::immediate(flush, immediate))
}
