//! The table of commands. Their implementations are grouped by family.

mod defects;
mod diagnostic;
mod format;
mod inquiry;
mod log_sense;
mod mode_parameters;
mod readiness;
mod report;
mod reserve;
mod transfer;
mod verify;

use diskarm_wire::command::Check;
use diskarm_wire::operation::Invalid;
use diskarm_wire::{Command, Sense};

use crate::reservation::Access;
use crate::state::Context;
use crate::work::Start;

/// The commands that may run at the same time as a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Concurrency {
    /// Takes no time.
    Immediate,
    /// Is one request to the device, which orders it.
    Transfer,
    /// Takes several steps.
    Chain,
    /// Excludes all other commands.
    Alone,
}

/// An entry in the table of commands.
pub(crate) struct Entry {
    /// First byte of the command block.
    pub code: u8,
    /// Service action, if the operation has one.
    pub action: Option<u8>,
    pub concurrency: Concurrency,
    pub access: Access,
    /// True if a pending unit attention ends the command. SPC-4 excepts INQUIRY, REPORT LUNS and
    /// REQUEST SENSE.
    pub reports_attention: bool,
    pub run: Run,
}

type Run = fn(&Command, &mut Context<'_>) -> Result<Start, Sense>;

const fn command(code: u8, concurrency: Concurrency, access: Access, run: Run) -> Entry {
    Entry {
        code,
        action: None,
        concurrency,
        access,
        reports_attention: !matches!(access, Access::Always),
        run,
    }
}

/// A command that is one action of several.
const fn action(code: u8, action: u8, access: Access, run: Run) -> Entry {
    Entry {
        action: Some(action),
        ..command(code, Concurrency::Immediate, access, run)
    }
}

/// All commands, in the order of codes and service actions.
pub(crate) static COMMANDS: &[Entry] = &[
    command(
        0x00,
        Concurrency::Immediate,
        Access::Reports,
        readiness::test_unit_ready,
    ),
    command(
        0x03,
        Concurrency::Immediate,
        Access::Always,
        readiness::request_sense,
    ),
    command(0x04, Concurrency::Alone, Access::Writes, format::run),
    command(0x07, Concurrency::Alone, Access::Writes, defects::reassign),
    command(0x08, Concurrency::Transfer, Access::Reads, transfer::read),
    command(0x0a, Concurrency::Transfer, Access::Writes, transfer::write),
    command(0x0b, Concurrency::Alone, Access::Reads, transfer::seek),
    command(0x12, Concurrency::Immediate, Access::Always, inquiry::run),
    command(
        0x15,
        Concurrency::Immediate,
        Access::Configures,
        mode_parameters::mode_select,
    ),
    command(0x16, Concurrency::Immediate, Access::Own, reserve::reserve),
    command(0x17, Concurrency::Immediate, Access::Own, reserve::release),
    command(
        0x1a,
        Concurrency::Immediate,
        Access::Configures,
        mode_parameters::mode_sense,
    ),
    command(0x1b, Concurrency::Chain, Access::Own, readiness::start_stop),
    command(
        0x1c,
        Concurrency::Immediate,
        Access::Configures,
        diagnostic::receive,
    ),
    command(
        0x1d,
        Concurrency::Immediate,
        Access::Configures,
        diagnostic::send,
    ),
    command(
        0x25,
        Concurrency::Immediate,
        Access::Reports,
        report::capacity10,
    ),
    command(0x28, Concurrency::Transfer, Access::Reads, transfer::read),
    command(0x2a, Concurrency::Transfer, Access::Writes, transfer::write),
    command(0x2b, Concurrency::Alone, Access::Reads, transfer::seek),
    command(
        0x2e,
        Concurrency::Chain,
        Access::Writes,
        verify::write_and_verify,
    ),
    command(0x2f, Concurrency::Transfer, Access::Reads, verify::verify),
    command(
        0x34,
        Concurrency::Transfer,
        Access::Reads,
        transfer::prefetch,
    ),
    command(
        0x35,
        Concurrency::Transfer,
        Access::Writes,
        readiness::synchronize,
    ),
    command(
        0x37,
        Concurrency::Immediate,
        Access::Reports,
        defects::read_defect_data,
    ),
    command(
        0x41,
        Concurrency::Transfer,
        Access::Writes,
        transfer::write_same,
    ),
    command(
        0x4d,
        Concurrency::Immediate,
        Access::Reports,
        log_sense::run,
    ),
    command(
        0x55,
        Concurrency::Immediate,
        Access::Configures,
        mode_parameters::mode_select,
    ),
    command(0x56, Concurrency::Immediate, Access::Own, reserve::reserve),
    command(0x57, Concurrency::Immediate, Access::Own, reserve::release),
    command(
        0x5a,
        Concurrency::Immediate,
        Access::Configures,
        mode_parameters::mode_sense,
    ),
    command(
        0x5e,
        Concurrency::Immediate,
        Access::Reports,
        reserve::persistent_in,
    ),
    command(
        0x5f,
        Concurrency::Immediate,
        Access::Own,
        reserve::persistent_out,
    ),
    command(0x88, Concurrency::Transfer, Access::Reads, transfer::read),
    command(
        0x89,
        Concurrency::Chain,
        Access::Writes,
        verify::compare_and_write,
    ),
    command(0x8a, Concurrency::Transfer, Access::Writes, transfer::write),
    command(0x8b, Concurrency::Chain, Access::Writes, verify::or_write),
    command(
        0x8e,
        Concurrency::Chain,
        Access::Writes,
        verify::write_and_verify,
    ),
    command(0x8f, Concurrency::Transfer, Access::Reads, verify::verify),
    command(
        0x90,
        Concurrency::Transfer,
        Access::Reads,
        transfer::prefetch,
    ),
    command(
        0x91,
        Concurrency::Transfer,
        Access::Writes,
        readiness::synchronize,
    ),
    command(
        0x93,
        Concurrency::Transfer,
        Access::Writes,
        transfer::write_same,
    ),
    action(0x9e, 0x10, Access::Reports, report::capacity16),
    command(0xa0, Concurrency::Immediate, Access::Always, report::units),
    action(0xa3, 0x0c, Access::Configures, report::operations),
    action(0xa3, 0x0d, Access::Configures, report::task_management),
    command(0xa8, Concurrency::Transfer, Access::Reads, transfer::read),
    command(0xaa, Concurrency::Transfer, Access::Writes, transfer::write),
    command(
        0xae,
        Concurrency::Chain,
        Access::Writes,
        verify::write_and_verify,
    ),
    command(0xaf, Concurrency::Transfer, Access::Reads, verify::verify),
    command(
        0xb7,
        Concurrency::Immediate,
        Access::Reports,
        defects::read_defect_data,
    ),
];

impl Entry {
    /// Finds the entry of a command block that wire has accepted as valid.
    pub fn find(block: &[u8]) -> Result<&'static Self, Invalid> {
        let code = *block.first().ok_or(Invalid::Operation)?;
        let first = COMMANDS.partition_point(|entry| entry.code < code);
        let mut same = COMMANDS[first..]
            .iter()
            .take_while(|entry| entry.code == code);
        let action = block.get(1).map(|byte| byte & 0x1f);
        let entry = same.find(|entry| entry.action.is_none() || entry.action == action);
        entry.ok_or(Invalid::Operation)
    }
}

/// Panics because a table entry runs the function of another command.
#[cold]
fn misplaced(command: &Command) -> ! {
    unreachable!("{command:?} has another entry in the table")
}

/// Returns the maximum number of bytes that an initiator sends with `command`, on a unit with
/// blocks of `block` bytes. Lists whose length is in their own header may have any.
pub(crate) fn data_out_length(command: &Command, block: usize) -> usize {
    let whole = |count: u32| (count as usize).saturating_mul(block);
    match *command {
        Command::Write { blocks, .. }
        | Command::WriteAndVerify { blocks, .. }
        | Command::OrWrite { blocks, .. } => whole(blocks.count),
        Command::Verify { blocks, check, .. } => match check {
            Check::Readable => 0,
            Check::Data => whole(blocks.count),
            Check::OneBlock => block,
        },
        Command::WriteSame { no_data, .. } if !no_data => block,
        Command::CompareAndWrite { count, .. } => 2 * whole(count.into()),
        Command::ModeSelect { length, .. } | Command::SendDiagnostic { length, .. } => {
            length.into()
        }
        Command::PersistentReserveOut { length, .. } => length as usize,
        Command::FormatUnit {
            defects: Some(_), ..
        }
        | Command::ReassignBlocks { .. } => usize::MAX,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_in_order_and_known_to_wire() {
        let key = |entry: &Entry| (entry.code, entry.action);
        assert!(COMMANDS.is_sorted_by(|a, b| key(a) < key(b)));
        for entry in COMMANDS {
            let known = diskarm_wire::operation::OPERATIONS;
            let mut known = known.iter().map(|o| (o.code, o.service_action));
            assert!(
                known.any(|operation| operation == key(entry)),
                "{:02x}",
                entry.code
            );
        }
    }
}
