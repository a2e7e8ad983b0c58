//! The number of bytes that an initiator sends with a command.

use diskarm_wire::Command;
use diskarm_wire::command::Check;

/// The most that `command` asks for, on a unit with blocks of `block` bytes. Lists whose length is
/// in their own header may have any.
pub(crate) fn length(command: &Command, block: usize) -> usize {
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
