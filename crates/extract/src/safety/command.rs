//! What a command does to a drive, and how long it may take.

use std::time::Duration;

use diskarm_wire::Command;
use diskarm_wire::command::Check;
use diskarm_wire::defect::TRANSLATE;

/// Whether a command leaves data and settings of the drive as they are; `list` is what is sent
/// along. A command that is not known does not count as one.
pub fn leaves_data_alone(block: &[u8], list: &[u8]) -> bool {
    match Command::parse(block) {
        Ok(
            Command::TestUnitReady
            | Command::RequestSense { .. }
            | Command::Inquiry { .. }
            | Command::Read { .. }
            | Command::Verify { .. }
            | Command::Seek { .. }
            | Command::PreFetch { .. }
            | Command::SynchronizeCache { .. }
            | Command::ReadCapacity10 { .. }
            | Command::ReadCapacity16 { .. }
            | Command::ModeSense { .. }
            | Command::PersistentReserveIn { .. }
            | Command::ReadDefectData { .. }
            | Command::ReceiveDiagnosticResults { .. }
            | Command::ReportLuns { .. }
            | Command::ReportSupportedOperationCodes { .. }
            | Command::ReportSupportedTaskManagementFunctions { .. },
        ) => true,
        Ok(Command::LogSense { save, .. }) => !save,
        // The page that asks for the translation of an address. A self-test may write, and so may
        // pages of the manufacturer.
        Ok(Command::SendDiagnostic {
            self_test_code,
            page_format,
            self_test,
            device_offline,
            unit_offline,
            ..
        }) => {
            let is_test = self_test_code != 0 || self_test || device_offline || unit_offline;
            page_format && !is_test && list.first() == Some(&TRANSLATE)
        }
        _ => false,
    }
}

/// What most commands may take: a drive that spins up first takes half a minute.
const ORDINARY: Duration = Duration::from_secs(60);

/// What the slowest drives need to transfer a mebibyte, several times over.
const MEBIBYTE: Duration = Duration::from_secs(5);

/// What spinning up, emptying a write cache or a self-test may take.
const LONG: Duration = Duration::from_secs(600);

/// What a drive may take to read or write all of its blocks.
const WHOLE_DISK: Duration = Duration::from_secs(24 * 3600);

/// When to give up a command that transfers this many bytes.
pub fn timeout(block: &[u8], bytes: usize) -> Duration {
    match Command::parse(block) {
        Ok(Command::FormatUnit { .. } | Command::WriteSame { .. }) => WHOLE_DISK,
        Ok(Command::Verify { check, .. }) if check != Check::Data => WHOLE_DISK,
        Ok(
            Command::StartStopUnit { .. }
            | Command::SynchronizeCache { .. }
            | Command::SendDiagnostic { .. }
            | Command::ReassignBlocks { .. },
        ) => LONG,
        _ => ORDINARY + MEBIBYTE * (bytes >> 20) as u32,
    }
}

/// The name of a command block in the standard.
pub fn name(block: &[u8]) -> String {
    match (Command::parse(block), block.first()) {
        (Ok(command), _) => command.operation().name.to_owned(),
        (Err(_), Some(code)) => format!("operation 0x{code:02x}"),
        (Err(_), None) => "an empty command block".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diskarm_wire::operation::OPERATIONS;

    /// The operations of the table, by what SBC-3 and SPC-4 say of them.
    const CHANGE_SOMETHING: [&str; 22] = [
        "FORMAT UNIT",
        "REASSIGN BLOCKS",
        "WRITE(6)",
        "MODE SELECT(6)",
        "RESERVE(6)",
        "RELEASE(6)",
        "START STOP UNIT",
        "WRITE(10)",
        "WRITE AND VERIFY(10)",
        "WRITE SAME(10)",
        "MODE SELECT(10)",
        "RESERVE(10)",
        "RELEASE(10)",
        "PERSISTENT RESERVE OUT",
        "COMPARE AND WRITE",
        "WRITE(16)",
        "ORWRITE(16)",
        "WRITE AND VERIFY(16)",
        "WRITE SAME(16)",
        "WRITE(12)",
        "WRITE AND VERIFY(12)",
        // Without the bit that says that it has a page.
        "SEND DIAGNOSTIC",
    ];

    #[test]
    fn what_changes_the_drive_is_told_from_what_does_not() {
        for operation in OPERATIONS {
            let mut block = vec![0; operation.usage.len()];
            block[0] = operation.code;
            block[1] = operation.service_action.unwrap_or(0);
            let expected = !CHANGE_SOMETHING.contains(&operation.name);
            assert_eq!(
                leaves_data_alone(&block, &[]),
                expected,
                "{}",
                operation.name
            );
        }
        let translate = [0x1d, 0x10, 0, 0, 14, 0];
        assert!(leaves_data_alone(&translate, &[0x40, 0, 0, 10]));
        assert!(!leaves_data_alone(&translate, &[0x80, 0, 0, 10]));
        assert!(!leaves_data_alone(&translate, &[]));
        let self_test = [0x1d, 0x04, 0, 0, 0, 0];
        assert!(!leaves_data_alone(&self_test, &[0x40]));
        let saved_logs = [0x4d, 0x01, 0x40, 0, 0, 0, 0, 0, 4, 0];
        assert!(!leaves_data_alone(&saved_logs, &[]));
        // UNMAP, which the table lacks, and nothing at all.
        assert!(!leaves_data_alone(&[0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[]));
        assert!(!leaves_data_alone(&[], &[]));
    }

    #[test]
    fn long_commands_may_take_long() {
        let read = [0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0];
        assert_eq!(timeout(&read, 512), Duration::from_secs(60));
        assert_eq!(timeout(&read, 3 << 20), Duration::from_secs(75));
        assert_eq!(timeout(&[0x04, 0, 0, 0, 0, 0], 0), WHOLE_DISK);
        assert_eq!(timeout(&[0x1b, 0, 0, 0, 1, 0], 0), LONG);
        // All of them fit the kernel's milliseconds.
        assert!(u32::try_from(WHOLE_DISK.as_millis()).is_ok());
    }

    #[test]
    fn commands_are_named() {
        assert_eq!(name(&[0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0]), "READ(10)");
        assert_eq!(name(&[0x42, 0, 0, 0, 0, 0]), "operation 0x42");
        assert_eq!(name(&[]), "an empty command block");
    }
}
