//! REASSIGN BLOCKS (SBC-3): blocks get other places, and keep their data.

use diskarm_core::units::Lbn;
use diskarm_wire::command::AddressFormat;
use diskarm_wire::defect::{Address, LongReassignHeader, ReassignHeader, addresses};
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense};

use super::misplaced;
use crate::sparing;
use crate::state::{Context, list_length, too_few_data};
use crate::work::Start;

pub(super) fn run(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::ReassignBlocks {
        long_addresses,
        long_list,
    } = *command
    else {
        misplaced(command);
    };
    context.writable()?;
    let blocks = listed(context, long_addresses, long_list)?;
    for block in &blocks {
        if *block >= context.state.blocks {
            return Err(Sense::new(Key::IllegalRequest, Code::OUT_OF_RANGE));
        }
    }
    for block in blocks {
        let none = Sense {
            information: Some(block),
            ..Sense::new(Key::HardwareError, Code::NO_SPARE)
        };
        let (layout, spec) = context.known().map_err(|_| none)?;
        let geometry = sparing::reassigned(&spec.geometry, layout, Lbn(block)).ok_or(none)?;
        context
            .device
            .set_geometry(context.now, &geometry)
            .map_err(|_| none)?;
        context.state.generation = context.state.generation.wrapping_add(1);
    }
    Ok(Start::Done(Vec::new()))
}

/// The blocks of the list.
fn listed(context: &Context<'_>, long: bool, long_list: bool) -> Result<Vec<u64>, Sense> {
    let data = &context.data_out;
    let length = if long_list {
        LongReassignHeader::parse(data).map(|header| header.length as usize)
    } else {
        ReassignHeader::parse(data).map(|header| header.length.into())
    };
    let length = length.map_err(|_| too_few_data())?;
    let end = ReassignHeader::LENGTH.saturating_add(length);
    let list = data
        .get(ReassignHeader::LENGTH..end)
        .ok_or(too_few_data())?;
    let format = if long {
        AddressFormat::LongBlock
    } else {
        AddressFormat::ShortBlock
    };
    if !list.len().is_multiple_of(if long { 8 } else { 4 }) {
        return Err(list_length());
    }
    let blocks = addresses(format, list).filter_map(|address| match address {
        Address::ShortBlock(block) => Some(block.into()),
        Address::LongBlock(block) => Some(block),
        _ => None,
    });
    Ok(blocks.collect())
}
