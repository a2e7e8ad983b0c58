//! Protection of the data on real drives: commands that are safe, detection of existing data, and
//! the timeouts of commands.

use std::time::Duration;

use diskarm_core::units::{Instant, Lbn};
use diskarm_wire::command::Check;
use diskarm_wire::defect::TRANSLATE;
use diskarm_wire::sense::{Code, Format, Key};
use diskarm_wire::{Command, Sense, status};

use crate::disk::Disk;
use crate::transport::{Error, Reply, Transport};

/// Timeout for most commands: a drive may need half a minute to spin up first.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Additional time for each mebibyte: several times what the slowest drives need.
const TIME_PER_MEBIBYTE: Duration = Duration::from_secs(5);

/// Timeout for spinning up, flushing a write cache, or a self-test.
const LONG_TIMEOUT: Duration = Duration::from_secs(600);

/// Timeout for reading or writing all blocks of a drive.
const WHOLE_DISK_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// Blocks read with one command.
const BATCH: u64 = 128;

/// Bytes to read from the start of the drive: up to the magic number of btrfs.
const FRONT_LENGTH: usize = 0x1_0048;

/// Bytes to read from the end of the drive: its last 128 KiB contain the backup of a GPT, and the
/// superblocks of versions 0.90 and 1.0 of Linux's software RAID.
const END_LENGTH: usize = 0x2_0000;

const GPT: &[u8] = b"EFI PART";
const RAID: &[u8] = &0xa92b_4efc_u32.to_le_bytes();

const GPT_NAME: &str = "a partition table (GPT)";
const RAID_NAME: &str = "part of a Linux software RAID";
const DATA_NAME: &str = "data in its first or last blocks";
const LVM_NAME: &str = "a physical volume of LVM";

const BOOT_NAME: &str = "a partition table or boot sector (0x55AA)";

/// Magic numbers, each with its offset from the start of the drive and its meaning; the most
/// specific ones first. The last one also matches boot sectors of FAT and NTFS.
const SIGNATURES: &[(usize, &[u8], &str)] = &[
    (512, GPT, GPT_NAME),
    (4096, GPT, GPT_NAME),
    (0x438, b"\x53\xef", "an ext2, ext3 or ext4 file system"),
    (0, b"XFSB", "an XFS file system"),
    (0x1_0040, b"_BHRfS_M", "a btrfs file system"),
    // The label is in one of the first four sectors.
    (0x000, b"LABELONE", LVM_NAME),
    (0x200, b"LABELONE", LVM_NAME),
    (0x400, b"LABELONE", LVM_NAME),
    (0x600, b"LABELONE", LVM_NAME),
    // These are the superblocks of versions 1.1 and 1.2.
    (0, RAID, RAID_NAME),
    (4096, RAID, RAID_NAME),
    (0, b"LUKS\xba\xbe", "an encrypted volume (LUKS)"),
    (0xff6, b"SWAPSPACE2", "swap space"),
    (0x1fe, b"\x55\xaa", BOOT_NAME),
];

/// Returns true if a command changes neither the drive's data nor its settings; `list` is the data
/// sent with it. Unknown commands are not considered safe.
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
        // Only the translate address page is safe: self-tests and vendor-specific pages may write.
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

pub fn timeout(block: &[u8], bytes: usize) -> Duration {
    match Command::parse(block) {
        Ok(Command::FormatUnit { .. } | Command::WriteSame { .. }) => WHOLE_DISK_TIMEOUT,
        Ok(Command::Verify { check, .. }) if check != Check::Data => WHOLE_DISK_TIMEOUT,
        Ok(
            Command::StartStopUnit { .. }
            | Command::SynchronizeCache { .. }
            | Command::SendDiagnostic { .. }
            | Command::ReassignBlocks { .. },
        ) => LONG_TIMEOUT,
        _ => DEFAULT_TIMEOUT + TIME_PER_MEBIBYTE * (bytes >> 20) as u32,
    }
}

pub fn command_name(block: &[u8]) -> String {
    match (Command::parse(block), block.first()) {
        (Ok(command), _) => command.operation().name.to_owned(),
        (Err(_), Some(code)) => format!("operation 0x{code:02x}"),
        (Err(_), None) => "an empty command block".to_owned(),
    }
}

/// Identifies the content of a drive by its first and last blocks; `None` if it looks erased.
pub fn content(drive: &mut dyn Transport) -> Result<Option<&'static str>, Error> {
    // This repeats READ CAPACITY if the drive reports a reset first.
    let mut disk = Disk::new(drive)?;
    let (blocks, size) = (disk.sectors().0, disk.sector_size().0);
    let mut read = |length: usize, at_end: bool| {
        let count = (length as u64).div_ceil(size).min(blocks);
        let first = if at_end { blocks - count } else { 0 };
        let mut data = Vec::with_capacity((count * size) as usize);
        for at in (0..count).step_by(BATCH as usize) {
            let batch = BATCH.min(count - at) as u16;
            data.extend(disk.read_data(Lbn(first + at), batch)?);
        }
        Ok::<_, Error>(data)
    };
    let front = read(FRONT_LENGTH, false)?;
    let end = read(END_LENGTH, true)?;
    Ok(identify(&front, &end))
}

/// Identifies the content of a drive that starts with `front` and ends with `end`; `None` if it
/// looks erased, that is, if each sector repeats one byte. There are more kinds of labels than
/// are recognized here (Sun, SGI, Apple, Amiga, VMS), so anything else counts as data.
fn identify(front: &[u8], end: &[u8]) -> Option<&'static str> {
    let at_front = SIGNATURES
        .iter()
        .find_map(|&(offset, bytes, name)| front.get(offset..)?.starts_with(bytes).then_some(name));
    // Sectors are counted from the end of the drive, where the last sector ends.
    let at_end = end.rchunks_exact(512).find_map(|sector| match sector {
        _ if sector.starts_with(GPT) => Some("the backup of a partition table (GPT)"),
        _ if sector.starts_with(RAID) => Some(RAID_NAME),
        _ => None,
    });
    let mut sectors = front.chunks(512).chain(end.rchunks(512));
    let is_erased = sectors.all(|sector| sector.iter().all(|byte| *byte == sector[0]));
    at_front.or(at_end).or((!is_erased).then_some(DATA_NAME))
}

/// Returns the reply to a command that was blocked at `now` (SBC-3, write protection).
pub fn write_protected(now: Instant) -> Reply {
    let sense = Sense::new(Key::DataProtect, Code::WRITE_PROTECTED);
    Reply {
        status: status::CHECK_CONDITION,
        sense: sense.emit(Format::Fixed),
        transferred: 0,
        sent: now,
        ended: now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diskarm_wire::operation::OPERATIONS;

    /// Operations in the table that are not safe according to SBC-3 and SPC-4. SEND DIAGNOSTIC is
    /// tested without the bit that announces a page.
    const UNSAFE_OPERATIONS: &str = "FORMAT UNIT, REASSIGN BLOCKS, WRITE(6), MODE SELECT(6), \
        RESERVE(6), RELEASE(6), START STOP UNIT, SEND DIAGNOSTIC, WRITE(10), \
        WRITE AND VERIFY(10), WRITE SAME(10), MODE SELECT(10), RESERVE(10), RELEASE(10), \
        PERSISTENT RESERVE OUT, COMPARE AND WRITE, WRITE(16), ORWRITE(16), WRITE AND VERIFY(16), \
        WRITE SAME(16), WRITE(12), WRITE AND VERIFY(12)";

    #[test]
    fn only_commands_that_change_nothing_are_safe() {
        for operation in OPERATIONS {
            let mut block = vec![0; operation.usage.len()];
            block[0] = operation.code;
            block[1] = operation.service_action.unwrap_or(0);
            let name = operation.name;
            let expected = !UNSAFE_OPERATIONS.split(", ").any(|other| other == name);
            assert_eq!(leaves_data_alone(&block, &[]), expected, "{name}");
        }
        let translate = [0x1d, 0x10, 0, 0, 14, 0];
        assert!(leaves_data_alone(&translate, &[0x40, 0, 0, 10]));
        assert!(!leaves_data_alone(&translate, &[0x80, 0, 0, 10]));
        assert!(!leaves_data_alone(&translate, &[]));
        let self_test = [0x1d, 0x04, 0, 0, 0, 0];
        assert!(!leaves_data_alone(&self_test, &[0x40]));
        let saved_logs = [0x4d, 0x01, 0x40, 0, 0, 0, 0, 0, 4, 0];
        assert!(!leaves_data_alone(&saved_logs, &[]));
        // UNMAP is not in the table of operations; the other command is empty.
        assert!(!leaves_data_alone(&[0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[]));
        assert!(!leaves_data_alone(&[], &[]));
    }

    #[test]
    fn slow_commands_have_long_timeouts() {
        let read = [0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0];
        assert_eq!(timeout(&read, 512), Duration::from_secs(60));
        assert_eq!(timeout(&read, 3 << 20), Duration::from_secs(75));
        assert_eq!(timeout(&[0x04, 0, 0, 0, 0, 0], 0), WHOLE_DISK_TIMEOUT);
        assert_eq!(timeout(&[0x1b, 0, 0, 0, 1, 0], 0), LONG_TIMEOUT);
        // The longest timeout fits the 32-bit milliseconds of SG_IO.
        assert!(u32::try_from(WHOLE_DISK_TIMEOUT.as_millis()).is_ok());
    }

    #[test]
    fn commands_are_named() {
        assert_eq!(command_name(&[0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0]), "READ(10)");
        assert_eq!(command_name(&[0x42, 0, 0, 0, 0, 0]), "operation 0x42");
        assert_eq!(command_name(&[]), "an empty command block");
    }

    fn identify_front(at: usize, bytes: &[u8]) -> Option<&'static str> {
        let mut front = vec![0; FRONT_LENGTH];
        front[at..at + bytes.len()].copy_from_slice(bytes);
        identify(&front, &[])
    }

    /// The offsets are from the documentation of the file systems.
    #[test]
    fn contents_are_recognized() {
        for (at, bytes, what) in [
            (510, &b"\x55\xaa"[..], "boot sector"),
            (512, b"EFI PART", "GPT"),
            (4096, b"EFI PART", "GPT"),
            (1024 + 56, b"\x53\xef", "ext4"),
            (0, b"XFSB", "XFS"),
            (65536 + 64, b"_BHRfS_M", "btrfs"),
            (512, b"LABELONE", "LVM"),
            (1536, b"LABELONE", "LVM"),
            (0, b"\xfc\x4e\x2b\xa9", "RAID"),
            (4096, b"\xfc\x4e\x2b\xa9", "RAID"),
            (0, b"LUKS\xba\xbe", "LUKS"),
            (4096 - 10, b"SWAPSPACE2", "swap"),
        ] {
            let found = identify_front(at, bytes).unwrap_or_else(|| panic!("{what} at {at}"));
            assert!(found.contains(what), "{what} at {at}: {found}");
        }
    }

    #[test]
    fn the_most_specific_signature_wins() {
        // A GPT has a protective MBR before it.
        let mut front = vec![0; FRONT_LENGTH];
        front[510..512].copy_from_slice(&[0x55, 0xaa]);
        front[512..520].copy_from_slice(b"EFI PART");
        assert_eq!(identify(&front, &[]), Some(GPT_NAME));
    }

    #[test]
    fn the_end_of_the_drive_is_checked() {
        let identify_end = |at: usize, bytes: &[u8]| {
            let mut end = vec![0; END_LENGTH];
            end[at..at + bytes.len()].copy_from_slice(bytes);
            identify(&[0; FRONT_LENGTH], &end)
        };
        let backup = Some("the backup of a partition table (GPT)");
        assert_eq!(identify_end(END_LENGTH - 512, b"EFI PART"), backup);
        assert_eq!(identify_end(END_LENGTH - 4096, b"EFI PART"), backup);
        assert_eq!(identify_end(0, b"\xfc\x4e\x2b\xa9"), Some(RAID_NAME));
        // Signatures count only at the start of a sector.
        assert_eq!(identify_end(100, b"EFI PART"), Some(DATA_NAME));
    }

    #[test]
    fn an_erased_drive_has_no_content() {
        assert_eq!(identify(&[0; FRONT_LENGTH], &[0; END_LENGTH]), None);
        assert_eq!(identify(&[0xff; FRONT_LENGTH], &[0xff; END_LENGTH]), None);
        // Measurements have written zeros to a part of this drive.
        let written = [[0; 512], [0xff; 512]].concat();
        assert_eq!(identify(&written, &[0xff; END_LENGTH]), None);
        assert_eq!(identify(&[], &[]), None);
    }

    #[test]
    fn unknown_labels_are_data() {
        // These are labels of Sun and Amiga, and a signature that the end of the data cuts off.
        assert_eq!(identify_front(508, &[0xda, 0xbe]), Some(DATA_NAME));
        assert_eq!(identify_front(0, b"RDSK"), Some(DATA_NAME));
        assert_eq!(identify(b"XFS", &[]), Some(DATA_NAME));
        assert_eq!(identify_front(1, b"XFSB"), Some(DATA_NAME));
    }
}
