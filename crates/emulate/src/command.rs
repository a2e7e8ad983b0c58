//! The table of commands. Each is executed in a file of its own.

mod capacity;
mod defects;
mod diagnostic;
mod inquiry;
mod mode_select;
mod mode_sense;
mod places;
mod ready;
mod request_sense;
mod seek;
mod transfer;

pub(crate) use inquiry::rotation_rate;

use diskarm_wire::operation::Invalid;
use diskarm_wire::{Command, Sense};

use crate::state::Context;
use crate::work::Start;

/// How a command fits between others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It takes no time.
    AtOnce,
    /// One request to the device.
    Transfer,
    /// Several steps.
    Chain,
    /// No other command runs beside it.
    Alone,
}

/// A command of the unit.
pub(crate) struct Entry {
    /// First byte of the command block.
    pub code: u8,
    /// Service action, if the operation has one.
    pub action: Option<u8>,
    pub kind: Kind,
    /// A pending unit attention ends it; SPC-4 excepts INQUIRY, REPORT LUNS and REQUEST SENSE.
    pub reports_attention: bool,
    pub run: Run,
}

type Run = fn(&Command, &mut Context<'_>) -> Result<Start, Sense>;

const fn row(code: u8, kind: Kind, run: Run) -> Entry {
    Entry {
        code,
        action: None,
        kind,
        reports_attention: true,
        run,
    }
}

/// A command that is executed in spite of a pending unit attention.
const fn quiet(code: u8, run: Run) -> Entry {
    Entry {
        reports_attention: false,
        ..row(code, Kind::AtOnce, run)
    }
}

const fn with_action(code: u8, action: u8, run: Run) -> Entry {
    Entry {
        action: Some(action),
        ..row(code, Kind::AtOnce, run)
    }
}

/// All commands, in the order of codes and service actions.
pub(crate) static COMMANDS: &[Entry] = &[
    row(0x00, Kind::AtOnce, ready::run),
    quiet(0x03, request_sense::run),
    row(0x08, Kind::Transfer, transfer::read),
    row(0x0a, Kind::Transfer, transfer::write),
    row(0x0b, Kind::Alone, seek::run),
    quiet(0x12, inquiry::run),
    row(0x15, Kind::AtOnce, mode_select::run),
    row(0x1a, Kind::AtOnce, mode_sense::run),
    row(0x1c, Kind::AtOnce, diagnostic::receive),
    row(0x1d, Kind::AtOnce, diagnostic::send),
    row(0x25, Kind::AtOnce, capacity::short),
    row(0x28, Kind::Transfer, transfer::read),
    row(0x2a, Kind::Transfer, transfer::write),
    row(0x2b, Kind::Alone, seek::run),
    row(0x37, Kind::AtOnce, defects::run),
    row(0x55, Kind::AtOnce, mode_select::run),
    row(0x5a, Kind::AtOnce, mode_sense::run),
    row(0x88, Kind::Transfer, transfer::read),
    row(0x8a, Kind::Transfer, transfer::write),
    with_action(0x9e, 0x10, capacity::long),
    row(0xa8, Kind::Transfer, transfer::read),
    row(0xaa, Kind::Transfer, transfer::write),
    row(0xb7, Kind::AtOnce, defects::run),
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
