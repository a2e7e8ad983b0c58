//! REQUEST SENSE (SPC-4). Errors are reported with their commands, so this only reports unit
//! attentions and why the unit is not ready.

use diskarm_wire::sense::{Code, Format, Key, MAX_LENGTH};
use diskarm_wire::{Command, Sense};

use super::misplaced;
use crate::state::Context;
use crate::work::Start;

pub(super) fn run(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::RequestSense { descriptor, length } = *command else {
        misplaced(command);
    };
    let sense = match context.state.nexuses[context.nexus].told() {
        Some(code) => Sense::new(Key::UnitAttention, code),
        None => {
            let formatting = context.state.format_in_progress(context.now);
            let not_ready = formatting.or_else(|| context.state.start_required());
            not_ready.unwrap_or(Sense::new(Key::NoSense, Code::NONE))
        }
    };
    let format = if descriptor {
        Format::Descriptor
    } else {
        Format::Fixed
    };
    let mut data = vec![0; MAX_LENGTH];
    let written = sense.emit(format, &mut data);
    data.truncate(written);
    Ok(Start::data(data, length.into()))
}
