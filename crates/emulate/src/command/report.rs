//! REPORT LUNS, REPORT SUPPORTED OPERATION CODES and REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS
//! (SPC-4).

use diskarm_wire::command::OperationQuery;
use diskarm_wire::operation::{OPERATIONS, Operation};
use diskarm_wire::report::{
    OPERATION_MAX_LENGTH, TaskManagement, emit_operation, emit_operations, emit_units,
    operations_length,
};
use diskarm_wire::{Command, Sense};

use super::{COMMANDS, misplaced};
use crate::state::{Context, invalid_field};
use crate::work::Start;

/// The least room that REPORT LUNS takes.
const MIN: u32 = 16;

pub(super) fn units(command: &Command, _: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::ReportLuns { select, length } = *command else {
        misplaced(command);
    };
    let units: &[u16] = match select {
        0 | 2 => &[0],
        // Well known ones only.
        1 => &[],
        _ => return Err(invalid_field(2, None)),
    };
    if length < MIN {
        return Err(invalid_field(6, None));
    }
    let mut data = vec![0; 8 + 8 * units.len()];
    emit_units(units, &mut data);
    Ok(Start::data(data, length as usize))
}

/// The operations that the unit has.
fn supported() -> impl Iterator<Item = &'static Operation> {
    OPERATIONS.iter().filter(|operation| {
        let key = (operation.code, operation.service_action);
        COMMANDS
            .iter()
            .any(|entry| (entry.code, entry.action) == key)
    })
}

pub(super) fn operations(command: &Command, _: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::ReportSupportedOperationCodes {
        timeouts,
        asked,
        length,
    } = *command
    else {
        misplaced(command);
    };
    let (code, action, form) = match asked {
        OperationQuery::All => {
            let mut data = vec![0; operations_length(supported().count(), timeouts)];
            emit_operations(supported(), timeouts, &mut data);
            return Ok(Start::data(data, length as usize));
        }
        OperationQuery::Code(code) => (code, None, 1),
        OperationQuery::Action(code, action) => (code, Some(action), 2),
        OperationQuery::CodeOrAction(code, action) => (code, Some(action), 3),
    };
    let same = || supported().filter(|operation| operation.code == code);
    let has_actions = same().any(|operation| operation.service_action.is_some());
    let known = same().next().is_some();
    // SPC-4: these forms are for operations without and with service actions.
    if known && (form == 1 && has_actions || form == 2 && !has_actions) {
        return Err(invalid_field(2, Some(2)));
    }
    let found = same().find(|operation| match operation.service_action {
        None => true,
        Some(of) => action == Some(of.into()),
    });
    let mut data = vec![0; OPERATION_MAX_LENGTH];
    let written = emit_operation(found, timeouts, &mut data);
    data.truncate(written);
    Ok(Start::data(data, length as usize))
}

pub(super) fn task_management(command: &Command, _: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::ReportSupportedTaskManagementFunctions { extended, length } = *command else {
        misplaced(command);
    };
    if length < 4 {
        return Err(invalid_field(6, None));
    }
    let functions = TaskManagement {
        abort_task: true,
        abort_task_set: true,
        clear_aca: false,
        clear_task_set: true,
        unit_reset: true,
        query_task: false,
        additional_length: if extended { 12 } else { 0 },
    };
    let mut data = functions.emit().to_vec();
    data.resize(if extended { 16 } else { 4 }, 0);
    Ok(Start::data(data, length as usize))
}
