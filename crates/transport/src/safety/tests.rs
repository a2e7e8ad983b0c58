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
