//! The table of commands. Their implementations are grouped by family.

/// Binds the fields of a command. Panics if the table maps another command to this function.
macro_rules! fields {
    ($command:ident => $name:ident { $($fields:tt)+ }) => {
        let diskarm_wire::Command::$name { $($fields)+ } = *$command else {
            unreachable!("the table maps {:?} to the wrong function", $command)
        };
    };
}

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
use diskarm_wire::{Command, Sense};

use crate::reservation::Access;
use crate::state::{Context, Start};

/// The degree to which a command may run concurrently with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Concurrency {
    /// Takes no time.
    Immediate,
    /// One request, which the device may reorder.
    Transfer,
    /// Several requests to the device in sequence.
    Chain,
    /// Excludes all other commands.
    Alone,
}

type Run = fn(&Command, &mut Context<'_>) -> Result<Start, Sense>;

#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub concurrency: Concurrency,
    pub access: Access,
    pub run: Run,
}

impl Entry {
    /// Returns true if a pending unit attention makes the command fail. It makes all commands fail
    /// except INQUIRY, REPORT LUNS and REQUEST SENSE (SPC-4).
    pub fn reports_attention(&self) -> bool {
        self.access != Access::Always
    }

    pub fn find(command: &Command) -> Self {
        use Access::{Always, Configures, Own, Reads, Reports, Writes};
        use Concurrency::{Alone, Chain, Immediate, Transfer};
        let (concurrency, access, run): (_, _, Run) = match command {
            Command::TestUnitReady => (Immediate, Reports, readiness::test_unit_ready),
            Command::RequestSense { .. } => (Immediate, Always, readiness::request_sense),
            Command::Inquiry { .. } => (Immediate, Always, inquiry::run),
            Command::Read { .. } => (Transfer, Reads, transfer::read),
            Command::Write { .. } => (Transfer, Writes, transfer::write),
            Command::WriteAndVerify { .. } => (Chain, Writes, verify::write_and_verify),
            Command::Verify { .. } => (Transfer, Reads, verify::verify),
            Command::Seek { .. } => (Alone, Reads, transfer::seek),
            Command::PreFetch { .. } => (Transfer, Reads, transfer::prefetch),
            Command::SynchronizeCache { .. } => (Transfer, Writes, readiness::synchronize),
            Command::WriteSame { .. } => (Transfer, Writes, transfer::write_same),
            Command::CompareAndWrite { .. } => (Chain, Writes, verify::compare_and_write),
            Command::OrWrite { .. } => (Chain, Writes, verify::or_write),
            Command::ReadCapacity10 { .. } => (Immediate, Reports, report::capacity10),
            Command::ReadCapacity16 { .. } => (Immediate, Reports, report::capacity16),
            Command::ModeSense { .. } => (Immediate, Configures, mode_parameters::mode_sense),
            Command::ModeSelect { .. } => (Immediate, Configures, mode_parameters::mode_select),
            Command::Reserve { .. } => (Immediate, Own, reserve::reserve),
            Command::Release { .. } => (Immediate, Own, reserve::release),
            Command::PersistentReserveIn { .. } => (Immediate, Reports, reserve::persistent_in),
            Command::PersistentReserveOut { .. } => (Immediate, Own, reserve::persistent_out),
            Command::StartStopUnit { .. } => (Chain, Own, readiness::start_stop),
            Command::FormatUnit { .. } => (Alone, Writes, format::run),
            Command::ReassignBlocks { .. } => (Alone, Writes, defects::reassign),
            Command::ReadDefectData { .. } => (Immediate, Reports, defects::read_defect_data),
            Command::SendDiagnostic { .. } => (Immediate, Configures, diagnostic::send),
            Command::ReceiveDiagnosticResults { .. } => {
                (Immediate, Configures, diagnostic::receive)
            }
            Command::ReportLuns { .. } => (Immediate, Always, report::units),
            Command::ReportSupportedOperationCodes { .. } => {
                (Immediate, Configures, report::operations)
            }
            Command::ReportSupportedTaskManagementFunctions { .. } => {
                (Immediate, Configures, report::task_management)
            }
            Command::LogSense { .. } => (Immediate, Reports, log_sense::run),
        };
        Self {
            concurrency,
            access,
            run,
        }
    }
}

/// Returns the maximum number of bytes that an initiator sends with `command` to a unit with blocks
/// of `block` bytes: [`usize::MAX`] for a list whose length is given only in its own header.
pub(crate) fn data_out_length(command: &Command, block: usize) -> usize {
    let byte_length = |count: u32| (count as usize).saturating_mul(block);
    match *command {
        Command::Write { blocks, .. }
        | Command::WriteAndVerify { blocks, .. }
        | Command::OrWrite { blocks, .. } => byte_length(blocks.count),
        Command::Verify { blocks, check, .. } => match check {
            Check::Readable => 0,
            Check::Data => byte_length(blocks.count),
            Check::OneBlock => block,
        },
        Command::WriteSame { no_data, .. } if !no_data => block,
        Command::CompareAndWrite { count, .. } => 2 * byte_length(count.into()),
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
