//! REPORT LUNS, REPORT SUPPORTED OPERATION CODES and REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS
//! (SPC-4), and READ CAPACITY (SBC-3; with PMI, as in SCSI-2, the last block of a cylinder).

use diskarm_core::units::Lbn;
use diskarm_wire::command::OperationQuery;
use diskarm_wire::operation::OPERATIONS;

use crate::realism::Places;
use crate::state::{Context, Start, invalid_field};
use diskarm_wire::report::{
    Capacity10, Capacity16, TaskManagement, emit_operation, emit_operations, emit_units,
};
use diskarm_wire::{Command, Sense};

/// Minimum allocation length of REPORT LUNS.
const MIN_LENGTH: u32 = 16;

pub(super) fn units(command: &Command, _: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => ReportLuns { select, length });
    let units: &[u16] = match select {
        0 | 2 => &[0],
        // Well-known logical units only.
        1 => &[],
        _ => return Err(invalid_field(2, None)),
    };
    if length < MIN_LENGTH {
        return Err(invalid_field(6, None));
    }
    Ok(Start::data(emit_units(units), length as usize))
}

pub(super) fn operations(command: &Command, _: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => ReportSupportedOperationCodes { timeouts, query, length });
    let (code, action, form) = match query {
        OperationQuery::All => {
            let data = emit_operations(OPERATIONS.iter(), timeouts);
            return Ok(Start::data(data, length as usize));
        }
        OperationQuery::Code(code) => (code, None, 1),
        OperationQuery::Action(code, action) => (code, Some(action), 2),
        OperationQuery::CodeOrAction(code, action) => (code, Some(action), 3),
    };
    let candidates = || OPERATIONS.iter().filter(|operation| operation.code == code);
    let has_actions = candidates().any(|operation| operation.service_action.is_some());
    let is_known = candidates().next().is_some();
    // SPC-4: form 1 is for operations without service actions, form 2 for those with them.
    if is_known && (form == 1 && has_actions || form == 2 && !has_actions) {
        return Err(invalid_field(2, Some(2)));
    }
    let operation = candidates().find(|operation| match operation.service_action {
        None => true,
        Some(expected) => action == Some(expected.into()),
    });
    let data = emit_operation(operation, timeouts);
    Ok(Start::data(data, length as usize))
}

pub(super) fn task_management(command: &Command, _: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => ReportSupportedTaskManagementFunctions { extended, length });
    if length < 4 {
        return Err(invalid_field(6, None));
    }
    let functions = TaskManagement {
        abort_task: true,
        abort_task_set: true,
        clear_task_set: true,
        unit_reset: true,
        additional_length: if extended { 12 } else { 0 },
        ..TaskManagement::default()
    };
    let mut data = functions.emit().to_vec();
    data.resize(if extended { 16 } else { 4 }, 0);
    Ok(Start::data(data, length as usize))
}

/// Returns the last block for READ CAPACITY. Without a layout, this is the last block of the unit,
/// because it is not known where delays occur.
fn last_block(context: &Context<'_>, at: u64, partial: bool) -> Result<u64, Sense> {
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
    let device_layout = context.device.layout();
    let layout = device_layout.filter(|_| context.state.realism.places != Places::Hidden);
    Ok(layout.map_or(last, |layout| layout.cylinder_end(Lbn(at.0)).0 - 1))
}

pub(super) fn capacity10(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => ReadCapacity10 { at, partial });
    let last = last_block(context, at.into(), partial)?;
    let capacity = Capacity10 {
        last: u32::try_from(last).unwrap_or(u32::MAX),
        block_bytes: context.state.block as u32,
    };
    Ok(Start::Done(capacity.emit().to_vec()))
}

pub(super) fn capacity16(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => ReadCapacity16 { at, partial, length });
    let capacity = Capacity16 {
        last: last_block(context, at, partial)?,
        block_bytes: context.state.block as u32,
        physical_block_exponent: context.state.physical.ilog2() as u8,
        ..Capacity16::default()
    };
    Ok(Start::data(capacity.emit().to_vec(), length as usize))
}
