//! Block devices of Linux: the disk at a path, and whether it is in use by file systems, swap
//! space, or devices built on it or on its partitions (LVM, software RAID, encryption).

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{major, minor};

use super::Error;

/// The file system in which Linux lists its devices.
pub const SYSFS: &str = "/sys";

// Reasons why a path is refused.
const NO_DEVICE: &str = "not a device";
const NO_SCSI: &str = "a device that accepts no SCSI commands";
const PARTITION: &str = "a partition";

/// Returns the name of the block device of a disk, such as `sda`, given its path or that of a SCSI
/// generic device. Returns `None` if no disk driver is attached to the generic device.
pub fn name(path: &Path) -> Result<Option<String>, Error> {
    let metadata = fs::metadata(path).map_err(Error::file(path))?;
    let device = metadata.rdev();
    let number = format!("{}:{}", major(device), minor(device));
    let file_type = metadata.file_type();
    let found = if file_type.is_char_device() {
        generic_block_name(Path::new(SYSFS), &number)
    } else if file_type.is_block_device() {
        block_name(Path::new(SYSFS), &number).map(Some)
    } else {
        Err(NO_DEVICE)
    };
    found.map_err(|kind| Error::NotADisk {
        path: path.to_owned(),
        kind,
    })
}

/// Returns the block device of the SCSI generic device with this number.
fn generic_block_name(sysfs: &Path, number: &str) -> Result<Option<String>, &'static str> {
    let name = resolved_name(&sysfs.join("dev/char").join(number)).ok_or(NO_SCSI)?;
    let generic = sysfs.join("class/scsi_generic").join(name);
    if !generic.exists() {
        return Err(NO_SCSI);
    }
    let Ok(mut blocks) = generic.join("device/block").read_dir() else {
        return Ok(None);
    };
    let block = blocks.next().and_then(Result::ok);
    Ok(block.map(|entry| entry.file_name().to_string_lossy().into_owned()))
}

/// Returns the name of the block device with this number. Not every block device supports SCSI
/// commands.
fn block_name(sysfs: &Path, number: &str) -> Result<String, &'static str> {
    let path = sysfs.join("dev/block").join(number);
    if path.join("partition").exists() {
        return Err(PARTITION);
    }
    resolved_name(&path).ok_or(NO_DEVICE)
}

/// Returns the file name of a link's target.
fn resolved_name(link: &Path) -> Option<String> {
    let path = link.canonicalize().ok()?;
    Some(path.file_name()?.to_string_lossy().into_owned())
}

/// A block device that contains blocks of a disk: the disk, a partition, or a device built on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Kernel name, such as `sda1` or `dm-0`.
    pub name: String,
    /// Major and minor number, such as `8:1`.
    pub number: String,
    /// The underlying device; `None` for the disk and its partitions.
    pub underlying: Option<String>,
}

/// Returns all block devices that contain blocks of the disk `name`, starting with the disk.
pub fn blocks(sysfs: &Path, name: &str) -> io::Result<Vec<Block>> {
    let class = sysfs.join("class/block");
    let mut found: Vec<Block> = Vec::new();
    let mut to_visit = vec![(name.to_owned(), None)];
    while let Some((name, underlying)) = to_visit.pop() {
        if found.iter().any(|block| block.name == name) {
            continue;
        }
        let folder = class.join(&name);
        let number = fs::read_to_string(folder.join("dev"))?.trim().to_owned();
        let is_partition = |entry: &String| folder.join(entry).join("partition").exists();
        let partitions = names(&folder)?.into_iter().filter(is_partition);
        to_visit.extend(partitions.map(|partition| (partition, underlying.clone())));
        let holders = folder.join("holders");
        if holders.exists() {
            let holders = names(&holders)?.into_iter();
            to_visit.extend(holders.map(|holder| (holder, Some(name.clone()))));
        }
        found.push(Block {
            name,
            number,
            underlying,
        });
    }
    Ok(found)
}

fn names(folder: &Path) -> io::Result<BTreeSet<String>> {
    let entries = fs::read_dir(folder)?;
    entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect()
}

/// Describes how one of the devices is used; `None` if none is in use. `mountinfo` and `swaps` are
/// the contents of `/proc/self/mountinfo` and `/proc/swaps`.
pub fn usage(blocks: &[Block], mountinfo: &str, swaps: &str) -> Option<String> {
    // A line of `mountinfo` contains an id, the parent's id, the device number, the root within it,
    // the mount point, and other fields; after a dash, the type of the file system and its source
    // (proc(5)). Some file systems (btrfs) have their own device numbers, so check the source, too.
    let find_mount = |line: &str| {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(2);
        let (number, point) = (fields.next()?, fields.nth(1)?);
        let source = file_system.split(' ').nth(1).unwrap_or_default();
        let is_on = |block: &&Block| block.number == number || names_file(source, block);
        let block = blocks.iter().find(is_on)?;
        Some(format!("{} is mounted at {}", block.name, unescape(point)))
    };
    // The first field of a line of `swaps` is the path of a file.
    let find_swap = |line: &str| {
        let file = line.split_whitespace().next()?;
        let block = blocks.iter().find(|block| names_file(file, block))?;
        Some(format!("{} is swap space", block.name))
    };
    let find_part = |block: &Block| {
        let part = block.underlying.as_ref()?;
        Some(format!("{part} is a part of {}", block.name))
    };
    (mountinfo.lines().find_map(find_mount))
        .or_else(|| swaps.lines().find_map(find_swap))
        .or_else(|| blocks.iter().find_map(find_part))
}

/// Returns true if `path` is the usual path of the device. Kernel names have `!` instead of `/`.
fn names_file(path: &str, block: &Block) -> bool {
    let name = path.strip_prefix("/dev/");
    name.is_some_and(|name| name.replace('/', "!") == block.name)
}

/// Replaces the octal escapes of white space and backslashes.
fn unescape(text: &str) -> String {
    text.replace("\\040", " ")
        .replace("\\011", "\t")
        .replace("\\012", "\n")
        .replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    /// A temporary folder with the structure of `/sys`.
    struct Tree {
        root: PathBuf,
    }

    impl Tree {
        fn new(name: &str) -> Self {
            let unique = format!("diskarm-sg-{name}-{}", std::process::id());
            let root = std::env::temp_dir().join(unique);
            fs::create_dir(&root).unwrap();
            Self { root }
        }

        fn folder(&self, path: &str) {
            fs::create_dir_all(self.root.join(path)).unwrap();
        }

        fn device(&self, path: &str, number: &str) {
            self.folder(path);
            fs::write(self.root.join(path).join("dev"), format!("{number}\n")).unwrap();
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.root).unwrap();
        }
    }

    /// Parses names and numbers, each with the underlying device if there is one.
    fn devices(text: &str) -> Vec<Block> {
        let device = |text: &str| {
            let mut words = text.split_whitespace().map(str::to_owned);
            Block {
                name: words.next().unwrap(),
                number: words.next().unwrap(),
                underlying: words.next(),
            }
        };
        text.split(", ").map(device).collect()
    }

    #[test]
    fn partitions_and_devices_built_on_them_are_found() {
        let tree = Tree::new("blocks");
        tree.device("class/block/sda", "8:0");
        tree.folder("class/block/sda/holders");
        tree.folder("class/block/sda/queue");
        for (partition, number) in [("sda1", "8:1"), ("sda2", "8:2")] {
            tree.folder(&format!("class/block/sda/{partition}/partition"));
            tree.device(&format!("class/block/{partition}"), number);
        }
        // Two volumes on a partition, and a third volume on the first one.
        tree.folder("class/block/sda2/holders/dm-0");
        tree.folder("class/block/sda2/holders/dm-1");
        tree.device("class/block/dm-0", "254:0");
        tree.device("class/block/dm-1", "254:1");
        tree.folder("class/block/dm-0/holders/dm-2");
        tree.device("class/block/dm-2", "254:2");
        tree.device("class/block/sdb", "8:16");
        let mut found = blocks(&tree.root, "sda").unwrap();
        assert_eq!(found[..1], devices("sda 8:0"));
        found.sort_by(|a, b| a.number.cmp(&b.number));
        let stacked = "dm-0 254:0 sda2, dm-1 254:1 sda2, dm-2 254:2 dm-0";
        let expected = format!("{stacked}, sda 8:0, sda1 8:1, sda2 8:2");
        assert_eq!(found, devices(&expected));
        assert!(blocks(&tree.root, "sdc").is_err());
    }

    const MOUNTINFO: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/mapper/system-root rw
23 22 0:21 / /proc rw,nosuid - proc proc rw
31 22 0:45 /home /home rw,relatime shared:9 - btrfs /dev/sdb3 rw,subvol=/home
32 22 8:49 / /media/old\\040disk ro,nosuid - vfat /dev/sdd1 rw
";

    const SWAPS: &str = "\
Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority
/dev/sdb2                               partition\t8388604\t\t0\t\t-2
/dev/dm-7                               partition\t8388604\t\t0\t\t-3
/swapfile                               file\t\t1024\t\t0\t\t-4
";

    /// A file system with its own device number (btrfs) is found by its source. A mount point takes
    /// precedence over a device built on the disk. Similar names and numbers do not match.
    #[test]
    fn mounted_devices_swap_space_and_stacked_devices_are_named() {
        let cases = "
            sda 8:0, sda1 8:1 => nothing
            sdd 8:48, sdd1 8:49 => sdd1 is mounted at /media/old disk
            sdb3 8:19 => sdb3 is mounted at /home
            sda 8:0, dm-0 254:0 sda => dm-0 is mounted at /
            sdb 8:16, sdb2 8:18 => sdb2 is swap space
            sdc 8:32, md0 9:0 sdc => sdc is a part of md0
            sdb 8:16 => nothing
            sdd1 8:4 => sdd1 is mounted at /media/old disk
            sdd11 8:4 => nothing
            x 254:00 => nothing
        ";
        for case in cases.trim().lines() {
            let (disk, expected) = case.split_once(" => ").unwrap();
            let found = usage(&devices(disk), MOUNTINFO, SWAPS);
            assert_eq!(found.as_deref().unwrap_or("nothing"), expected, "{disk}");
        }
        let line = "9 1 0:9 / /srv rw - btrfs /dev/cciss/c0d0p1 rw";
        let expected = "cciss!c0d0p1 is mounted at /srv";
        let found = usage(&devices("cciss!c0d0p1 104:1"), line, "");
        assert_eq!(found.as_deref(), Some(expected));
    }

    #[test]
    fn malformed_lines_are_skipped() {
        let disk = devices("sda 8:0");
        assert_eq!(usage(&disk, "\n1 2\n1 2 8:0 / /x rw\n - \n", "\n\n"), None);
    }

    /// Needs a machine with a mounted block device.
    #[test]
    fn the_disk_of_a_mounted_file_system_is_in_use() {
        let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let numbers = mountinfo.lines().filter_map(|line| line.split(' ').nth(2));
        let class = Path::new("/sys/dev/block");
        let mut disks = numbers.filter(|number| class.join(number).exists());
        let Some(number) = disks.next() else {
            println!("skipped: no block device is mounted here");
            return;
        };
        let path = class.join(number).canonicalize().unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let blocks = blocks(Path::new("/sys"), name).unwrap();
        let usage = usage(&blocks, &mountinfo, "").unwrap();
        assert!(usage.contains(" is mounted at /"), "{usage}");
    }

    #[test]
    fn generic_and_block_devices_resolve_to_the_block_device() {
        let tree = Tree::new("device");
        tree.folder("class/scsi_generic/sg3/device/block/sdb");
        tree.folder("class/scsi_generic/sg4/device");
        tree.folder("class/tty/tty0");
        tree.folder("block/sdb/sdb1/partition");
        tree.folder("dev/char");
        tree.folder("dev/block");
        for (link, target) in [
            ("dev/char/21:3", "class/scsi_generic/sg3"),
            ("dev/char/21:4", "class/scsi_generic/sg4"),
            ("dev/char/4:0", "class/tty/tty0"),
            ("dev/block/8:16", "block/sdb"),
            ("dev/block/8:17", "block/sdb/sdb1"),
        ] {
            symlink(tree.root.join(target), tree.root.join(link)).unwrap();
        }
        let sdb = || "sdb".to_owned();
        assert_eq!(generic_block_name(&tree.root, "21:3"), Ok(Some(sdb())));
        assert_eq!(generic_block_name(&tree.root, "21:4"), Ok(None));
        assert_eq!(generic_block_name(&tree.root, "4:0"), Err(NO_SCSI));
        assert_eq!(generic_block_name(&tree.root, "4:1"), Err(NO_SCSI));
        assert_eq!(block_name(&tree.root, "8:16"), Ok(sdb()));
        assert_eq!(block_name(&tree.root, "8:17"), Err(PARTITION));
        assert_eq!(block_name(&tree.root, "8:32"), Err(NO_DEVICE));
    }

    #[test]
    fn paths_that_are_not_disks_are_refused() {
        let refused = |path: &str| name(Path::new(path)).unwrap_err().to_string();
        assert!(refused("/dev/null").starts_with("/dev/null: a device that accepts no SCSI"));
        assert!(refused("/proc/mounts").starts_with("/proc/mounts: not a device; expected"));
        assert!(refused("/dev/no-such-drive").starts_with("/dev/no-such-drive: No such file"));
    }
}
