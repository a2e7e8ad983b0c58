//! The table of commands. Each is executed in a file of its own.

mod capacity;
mod compare_and_write;
pub(crate) mod data_out;
mod defects;
mod diagnostic;
mod format;
mod inquiry;
mod log_sense;
mod mode_select;
mod mode_sense;
mod or_write;
mod persistent;
mod places;
mod prefetch;
mod ready;
mod reassign;
mod report;
mod request_sense;
mod reserve;
mod seek;
mod start_stop;
mod synchronize;
mod transfer;
mod verify;
mod write_same;

pub(crate) use inquiry::rotation_rate;

use diskarm_wire::operation::Invalid;
use diskarm_wire::{Command, Sense};

use crate::state::Context;
use crate::work::Start;

/// The ordering of a command relative to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It takes no time.
    AtOnce,
    /// One request to the device.
    Transfer,
    Chain,
    /// No other command runs at the same time.
    Alone,
}

/// The behaviour of a command when another initiator holds a reservation (SPC-4 and SBC-3, tables
/// of commands allowed in the presence of reservations).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// It is executed in any state of the unit.
    Always,
    Own,
    /// A mere report, which persistent reservations always allow.
    Tells,
    /// It reads the medium.
    Reads,
    /// It reads or changes the state of the unit; for reservations it counts as a write.
    Settles,
    /// It writes the medium, or depends on it.
    Writes,
}

/// A command of the unit.
pub(crate) struct Entry {
    /// First byte of the command block.
    pub code: u8,
    /// Service action, if the operation has one.
    pub action: Option<u8>,
    pub kind: Kind,
    pub access: Access,
    /// A pending unit attention ends it; SPC-4 excepts INQUIRY, REPORT LUNS and REQUEST SENSE.
    pub reports_attention: bool,
    pub run: Run,
}

type Run = fn(&Command, &mut Context<'_>) -> Result<Start, Sense>;

const fn row(code: u8, kind: Kind, access: Access, run: Run) -> Entry {
    Entry {
        code,
        action: None,
        kind,
        access,
        reports_attention: !matches!(access, Access::Always),
        run,
    }
}

/// A command that is one action of several.
const fn action(code: u8, action: u8, access: Access, run: Run) -> Entry {
    Entry {
        action: Some(action),
        ..row(code, Kind::AtOnce, access, run)
    }
}

/// All commands, in the order of codes and service actions.
pub(crate) static COMMANDS: &[Entry] = &[
    row(0x00, Kind::AtOnce, Access::Tells, ready::run),
    row(0x03, Kind::AtOnce, Access::Always, request_sense::run),
    row(0x04, Kind::Alone, Access::Writes, format::run),
    row(0x07, Kind::Alone, Access::Writes, reassign::run),
    row(0x08, Kind::Transfer, Access::Reads, transfer::read),
    row(0x0a, Kind::Transfer, Access::Writes, transfer::write),
    row(0x0b, Kind::Alone, Access::Reads, seek::run),
    row(0x12, Kind::AtOnce, Access::Always, inquiry::run),
    row(0x15, Kind::AtOnce, Access::Settles, mode_select::run),
    row(0x16, Kind::AtOnce, Access::Own, reserve::reserve),
    row(0x17, Kind::AtOnce, Access::Own, reserve::release),
    row(0x1a, Kind::AtOnce, Access::Settles, mode_sense::run),
    row(0x1b, Kind::Chain, Access::Own, start_stop::run),
    row(0x1c, Kind::AtOnce, Access::Settles, diagnostic::receive),
    row(0x1d, Kind::AtOnce, Access::Settles, diagnostic::send),
    row(0x25, Kind::AtOnce, Access::Tells, capacity::short),
    row(0x28, Kind::Transfer, Access::Reads, transfer::read),
    row(0x2a, Kind::Transfer, Access::Writes, transfer::write),
    row(0x2b, Kind::Alone, Access::Reads, seek::run),
    row(0x2e, Kind::Chain, Access::Writes, verify::write_and_verify),
    row(0x2f, Kind::Transfer, Access::Reads, verify::verify),
    row(0x34, Kind::Transfer, Access::Reads, prefetch::run),
    row(0x35, Kind::Transfer, Access::Writes, synchronize::run),
    row(0x37, Kind::AtOnce, Access::Tells, defects::run),
    row(0x41, Kind::Transfer, Access::Writes, write_same::run),
    row(0x4d, Kind::AtOnce, Access::Tells, log_sense::run),
    row(0x55, Kind::AtOnce, Access::Settles, mode_select::run),
    row(0x56, Kind::AtOnce, Access::Own, reserve::reserve),
    row(0x57, Kind::AtOnce, Access::Own, reserve::release),
    row(0x5a, Kind::AtOnce, Access::Settles, mode_sense::run),
    row(0x5e, Kind::AtOnce, Access::Tells, persistent::read),
    row(0x5f, Kind::AtOnce, Access::Own, persistent::write),
    row(0x88, Kind::Transfer, Access::Reads, transfer::read),
    row(0x89, Kind::Chain, Access::Writes, compare_and_write::run),
    row(0x8a, Kind::Transfer, Access::Writes, transfer::write),
    row(0x8b, Kind::Chain, Access::Writes, or_write::run),
    row(0x8e, Kind::Chain, Access::Writes, verify::write_and_verify),
    row(0x8f, Kind::Transfer, Access::Reads, verify::verify),
    row(0x90, Kind::Transfer, Access::Reads, prefetch::run),
    row(0x91, Kind::Transfer, Access::Writes, synchronize::run),
    row(0x93, Kind::Transfer, Access::Writes, write_same::run),
    action(0x9e, 0x10, Access::Tells, capacity::long),
    row(0xa0, Kind::AtOnce, Access::Always, report::units),
    action(0xa3, 0x0c, Access::Settles, report::operations),
    action(0xa3, 0x0d, Access::Settles, report::task_management),
    row(0xa8, Kind::Transfer, Access::Reads, transfer::read),
    row(0xaa, Kind::Transfer, Access::Writes, transfer::write),
    row(0xae, Kind::Chain, Access::Writes, verify::write_and_verify),
    row(0xaf, Kind::Transfer, Access::Reads, verify::verify),
    row(0xb7, Kind::AtOnce, Access::Tells, defects::run),
];

impl Entry {
    /// The command of a command block that wire has found valid.
    pub fn of(block: &[u8]) -> Result<&'static Self, Invalid> {
        let code = *block.first().ok_or(Invalid::Operation)?;
        let first = COMMANDS.partition_point(|entry| entry.code < code);
        let mut same = COMMANDS[first..]
            .iter()
            .take_while(|entry| entry.code == code);
        let action = block.get(1).map(|byte| byte & 0x1f);
        let found = same.find(|entry| entry.action.is_none() || entry.action == action);
        found.ok_or(Invalid::Operation)
    }
}

/// The table and a command do not fit together.
#[cold]
fn misplaced(command: &Command) -> ! {
    unreachable!("{command:?} has another row")
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
