//! READ CAPACITY (SBC-3; PMI as in SCSI-2: the last block of a cylinder).

use diskarm_core::units::Lbn;
use diskarm_wire::capacity::{Capacity10, Capacity16};
use diskarm_wire::{Command, Sense};

use super::misplaced;
use crate::realism::Places;
use crate::state::{Context, invalid_field};
use crate::work::Start;

/// The last block for READ CAPACITY. Without a layout it is the last block of the unit: no delay
/// before it is known.
fn last(context: &Context<'_>, at: u64, partial: bool) -> Result<u64, Sense> {
    let last = context.state.blocks - 1;
    if !partial {
        // SBC-3: without PMI the address is zero.
        return if at == 0 {
            Ok(last)
        } else {
            Err(invalid_field(2, None))
        };
    }
    let at = context.in_range(at, 1, 2)?;
    let layout = context.device.layout();
    let layout = layout.filter(|_| context.state.realism.places != Places::Untold);
    Ok(layout.map_or(last, |layout| layout.cylinder_end(Lbn(at.0)).0 - 1))
}

pub(super) fn short(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::ReadCapacity10 { at, partial } = *command else {
        misplaced(command);
    };
    let last = last(context, at.into(), partial)?;
    let capacity = Capacity10 {
        last: u32::try_from(last).unwrap_or(u32::MAX),
        block_bytes: context.state.block as u32,
    };
    Ok(Start::Done(capacity.emit().to_vec()))
}

pub(super) fn long(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::ReadCapacity16 {
        at,
        partial,
        length,
    } = *command
    else {
        misplaced(command);
    };
    let capacity = Capacity16 {
        last: last(context, at, partial)?,
        block_bytes: context.state.block as u32,
        protection_type: 0,
        protected: false,
        physical_block_exponent: context.state.physical.ilog2() as u8,
        thin: false,
        unmapped_are_zero: false,
    };
    Ok(Start::data(capacity.emit().to_vec(), length as usize))
}
