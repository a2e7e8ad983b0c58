//! Commands about the readiness of the unit: TEST UNIT READY and REQUEST SENSE (SPC-4), START STOP
//! UNIT and SYNCHRONIZE CACHE (SBC-3).

use diskarm_core::request::Op;
use diskarm_core::units::Lbn;
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense};

use super::transfer::address_byte;
use crate::reservation::Access;
use crate::state::{Action, Context, Start, Steps, Work, encode, invalid_field};

pub(super) fn test_unit_ready(_: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    match context.state.start_required() {
        Some(sense) => Err(sense),
        None => Ok(Start::Done(Vec::new())),
    }
}

/// Reports only unit attentions and readiness, since errors are reported with their commands.
pub(super) fn request_sense(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => RequestSense { descriptor, length });
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

/// Starts or stops the medium without delay, since no parameter set has a spin-up time.
pub(super) fn start_stop(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => StartStopUnit {
        immediate, power_condition, power_condition_modifier, no_flush, load_eject, start
    });
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
    if start || no_flush || context.state.is_stopped {
        context.state.is_stopped = !start;
        return Ok(Start::Done(Vec::new()));
    }
    Ok(Start::immediate(flush(true), immediate))
}

/// Flushes the write cache, and then stops the medium if `stops`.
fn flush(stops: bool) -> impl Work + 'static {
    let first = Action::request(Op::Flush, Lbn(0), 0, false);
    Steps::new(first, Vec::new(), move |context, _| {
        context.state.is_stopped |= stops;
        Ok(Action::Done(Vec::new()))
    })
}

/// Flushes the whole write cache, regardless of the blocks in the command.
pub(super) fn synchronize(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => SynchronizeCache { size, blocks, immediate });
    context.in_range(blocks.at, blocks.count.into(), address_byte(size))?;
    Ok(Start::immediate(flush(false), immediate))
}
