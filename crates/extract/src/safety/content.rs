//! What a drive holds, as far as its first and last blocks tell.

/// How much of the front must be seen: up to the superblock of btrfs.
pub const FRONT: usize = 0x1_0048;

/// How much of the end should be seen: the backup of a GPT, and superblocks of Linux's software
/// RAID of versions 0.90 and 1.0, which are up to 128 KiB before the end.
pub const END: usize = 0x2_0000;

/// A mark at a place from the front.
struct Mark {
    at: usize,
    bytes: &'static [u8],
    what: &'static str,
}

const fn mark(at: usize, bytes: &'static [u8], what: &'static str) -> Mark {
    Mark { at, bytes, what }
}

const GPT: &[u8] = b"EFI PART";
const RAID: &[u8] = &0xa92b_4efc_u32.to_le_bytes();

const GPT_NAME: &str = "a partition table (GPT)";
const RAID_NAME: &str = "a member of a Linux software RAID";
const DATA_NAME: &str = "data in its first or last blocks";
const LVM_NAME: &str = "a physical volume of LVM";

/// From what says most. The last one is also of boot sectors of FAT and NTFS.
const MARKS: &[Mark] = &[
    mark(512, GPT, GPT_NAME),
    mark(4096, GPT, GPT_NAME),
    mark(0x438, &[0x53, 0xef], "an ext2, ext3 or ext4 file system"),
    mark(0, b"XFSB", "an XFS file system"),
    mark(0x1_0040, b"_BHRfS_M", "a btrfs file system"),
    // The label is in one of the first four sectors.
    mark(0x000, b"LABELONE", LVM_NAME),
    mark(0x200, b"LABELONE", LVM_NAME),
    mark(0x400, b"LABELONE", LVM_NAME),
    mark(0x600, b"LABELONE", LVM_NAME),
    // Versions 1.1 and 1.2.
    mark(0, RAID, RAID_NAME),
    mark(4096, RAID, RAID_NAME),
    mark(0, b"LUKS\xba\xbe", "an encrypted volume (LUKS)"),
    mark(0xff6, b"SWAPSPACE2", "swap space"),
    mark(
        0x1fe,
        &[0x55, 0xaa],
        "a partition table or boot sector (0x55AA)",
    ),
];

/// What a drive holds whose first bytes are `front` and whose last ones are `end`; `None` if it
/// looks erased: each sector repeats one byte. Disks have had more kinds of labels than are known
/// here (Sun, SGI, Apple, Amiga, VMS), so anything else counts as data.
pub fn found(front: &[u8], end: &[u8]) -> Option<&'static str> {
    let has = |mark: &&Mark| {
        front
            .get(mark.at..)
            .is_some_and(|rest| rest.starts_with(mark.bytes))
    };
    if let Some(mark) = MARKS.iter().find(has) {
        return Some(mark.what);
    }
    // Counted from the end of the drive, where sectors end too.
    let known = end.rchunks_exact(512).find_map(|sector| {
        if sector.starts_with(GPT) {
            Some("the backup of a partition table (GPT)")
        } else if sector.starts_with(RAID) {
            Some(RAID_NAME)
        } else {
            None
        }
    });
    let mut sectors = front.chunks(512).chain(end.rchunks(512));
    let is_erased = |sector: &[u8]| sector.iter().all(|byte| *byte == sector[0]);
    let looks_erased = sectors.all(is_erased);
    known.or((!looks_erased).then_some(DATA_NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn front(at: usize, bytes: &[u8]) -> Option<&'static str> {
        let mut front = vec![0; FRONT];
        front[at..at + bytes.len()].copy_from_slice(bytes);
        found(&front, &[])
    }

    /// Where the manuals of the file systems put their marks.
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
            let found = front(at, bytes).unwrap_or_else(|| panic!("{what} at {at}"));
            assert!(found.contains(what), "{what} at {at}: {found}");
        }
    }

    #[test]
    fn the_most_telling_mark_is_named() {
        // A GPT has a protective MBR before it.
        let mut front = vec![0; FRONT];
        front[510..512].copy_from_slice(&[0x55, 0xaa]);
        front[512..520].copy_from_slice(b"EFI PART");
        assert_eq!(found(&front, &[]), Some(GPT_NAME));
    }

    #[test]
    fn the_end_tells_too() {
        let with = |at: usize, bytes: &[u8]| {
            let mut end = vec![0; END];
            end[at..at + bytes.len()].copy_from_slice(bytes);
            found(&[0; FRONT], &end)
        };
        let backup = Some("the backup of a partition table (GPT)");
        assert_eq!(with(END - 512, b"EFI PART"), backup);
        assert_eq!(with(END - 4096, b"EFI PART"), backup);
        assert_eq!(with(0, b"\xfc\x4e\x2b\xa9"), Some(RAID_NAME));
        // Not where a sector begins.
        assert_eq!(with(100, b"EFI PART"), Some(DATA_NAME));
    }

    #[test]
    fn an_erased_drive_has_no_content() {
        assert_eq!(found(&[0; FRONT], &[0; END]), None);
        assert_eq!(found(&[0xff; FRONT], &[0xff; END]), None);
        // As measurements leave it, which write zeros.
        assert_eq!(found(&[[0; 512], [0xff; 512]].concat(), &[0xff; END]), None);
        assert_eq!(found(&[], &[]), None);
    }

    #[test]
    fn unknown_labels_are_data() {
        // Those of Sun and of the Amiga, and half a mark at the end of what is given.
        assert_eq!(front(508, &[0xda, 0xbe]), Some(DATA_NAME));
        assert_eq!(front(0, b"RDSK"), Some(DATA_NAME));
        assert_eq!(found(b"XFS", &[]), Some(DATA_NAME));
        assert_eq!(front(1, b"XFSB"), Some(DATA_NAME));
    }
}
