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
mod tests;
