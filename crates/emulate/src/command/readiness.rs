//! Commands about the readiness of the unit: TEST UNIT READY and REQUEST SENSE (SPC-4), START STOP
//! UNIT and SYNCHRONIZE CACHE (SBC-3).

use diskarm_core::request::Op;
use diskarm_core::units::Lbn;
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense};

use super::misplaced;
use super::transfer::address_byte;
use crate::reservation::Access;
use crate::state::{Action, Context, Start, Work, encode, invalid_field};

pub(super) fn test_unit_ready(_: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    match context.state.start_required() {
        Some(sense) => Err(sense),
        None => Ok(Start::Done(Vec::new())),
    }
}

/// Errors are reported with their commands, so this reports only unit attentions and readiness.
pub(super) fn request_sense(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::RequestSense { descriptor, length } = *command else {
        misplaced(command);
    };
    let sense = match context.state.nexuses[context.nexus].take_attention() {
        Some(code) => Sense::new(Key::UnitAttention, code),
        None => {
            let formatting = context.state.format_in_progress(context.now);
            let not_ready = formatting.or_else(|| context.state.start_required());
            not_ready.unwrap_or(Sense::new(Key::NoSense, Code::NONE))
        }
    };
    Ok(Start::data(encode(&sense, descriptor), length.into()))
}

/// No parameter set has a spin-up time, so the medium reaches its speed immediately.
pub(super) fn start_stop(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
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
    // SBC-3: despite another initiator's reservation, the unit may be started but not stopped.
    let access = if start {
        Access::Reports
    } else {
        Access::Configures
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

/// Flushes the write cache, and then may stop the medium.
struct Flush {
    stops: bool,
    served: bool,
}

/// Flushes the whole write cache, regardless of the blocks in the command.
pub(super) fn synchronize(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::SynchronizeCache {
        size,
        blocks,
        immediate,
    } = *command
    else {
        misplaced(command);
    };
    context.in_range(blocks.at, blocks.count.into(), address_byte(size))?;
    let flush = Flush {
        stops: false,
        served: false,
    };
    Ok(Start::immediate(flush, immediate))
}

impl Work for Flush {
    fn next(&mut self, context: &mut Context<'_>) -> Result<Action, Sense> {
        if !self.served {
            self.served = true;
            return Ok(Action::request(Op::Flush, Lbn(0), 0, false));
        }
        context.state.stopped |= self.stops;
        Ok(Action::Done(Vec::new()))
    }
}
