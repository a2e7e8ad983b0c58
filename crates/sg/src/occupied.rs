//! Who uses a disk: file systems, swap space, and devices that are made of it or of its partitions
//! (LVM, software RAID, encryption).

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// A block device that has blocks of the disk: the disk itself, a partition, or a device made of
/// either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its name in the kernel, such as `sda1` or `dm-0`.
    pub name: String,
    /// Its numbers, such as `8:1`.
    pub number: String,
    /// What it is made of, unless it is the disk or a partition.
    pub made_of: Option<String>,
}

/// All block devices that have blocks of the disk called `name`; the disk first.
///
/// # Errors
/// The system does not show the disk.
pub fn blocks(system: &Path, name: &str) -> io::Result<Vec<Block>> {
    let class = system.join("class/block");
    let mut found: Vec<Block> = Vec::new();
    let mut waiting = vec![(name.to_owned(), None)];
    while let Some((name, made_of)) = waiting.pop() {
        if found.iter().any(|block| block.name == name) {
            continue;
        }
        let place = class.join(&name);
        let number = fs::read_to_string(place.join("dev"))?.trim().to_owned();
        let is_partition = |entry: &String| place.join(entry).join("partition").exists();
        let partitions = names(&place)?.into_iter().filter(is_partition);
        waiting.extend(partitions.map(|partition| (partition, made_of.clone())));
        let holders = place.join("holders");
        if holders.exists() {
            let holders = names(&holders)?.into_iter();
            waiting.extend(holders.map(|holder| (holder, Some(name.clone()))));
        }
        found.push(Block {
            name,
            number,
            made_of,
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

/// Who uses any of the devices, in words: `mountinfo` and `swaps` are the texts that Linux shows
/// under these names in `/proc`.
pub fn user(blocks: &[Block], mountinfo: &str, swaps: &str) -> Option<String> {
    mounted(blocks, mountinfo)
        .or_else(|| swapped(blocks, swaps))
        .or_else(|| made(blocks))
}

/// A line has an id, the parent's id, the numbers of the device, the root within it, the mount
/// point, and other fields; after a dash, the kind of file system and its source (proc(5)).
/// The numbers are those of no device for some file systems (btrfs), which the source names.
fn mounted(blocks: &[Block], mountinfo: &str) -> Option<String> {
    mountinfo.lines().find_map(|line| {
        let (own, of_system) = line.split_once(" - ")?;
        let mut own = own.split(' ').skip(2);
        let (number, point) = (own.next()?, own.nth(1)?);
        let source = of_system.split(' ').nth(1).unwrap_or_default();
        let is_on = |block: &&Block| block.number == number || names_file(source, block);
        let block = blocks.iter().find(is_on)?;
        Some(format!("{} is mounted at {}", block.name, unescaped(point)))
    })
}

/// The first field of a line names a file.
fn swapped(blocks: &[Block], swaps: &str) -> Option<String> {
    swaps.lines().find_map(|line| {
        let file = line.split_whitespace().next()?;
        let block = blocks.iter().find(|block| names_file(file, block))?;
        Some(format!("{} is swap space", block.name))
    })
}

fn made(blocks: &[Block]) -> Option<String> {
    blocks.iter().find_map(|block| {
        let of = block.made_of.as_ref()?;
        Some(format!("{of} is a part of {}", block.name))
    })
}

/// Whether a path is the usual one of the device. A `/` in its name is a `!` in the kernel's.
fn names_file(path: &str, block: &Block) -> bool {
    let name = path.strip_prefix("/dev/");
    name.is_some_and(|name| name.replace('/', "!") == block.name)
}

/// Without the octal escapes of blanks and backslashes.
fn unescaped(text: &str) -> String {
    let escapes = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    let unescape = |text: String, (escape, letter): &(&str, &str)| text.replace(escape, letter);
    escapes.iter().fold(text.to_owned(), unescape)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A folder that looks like `/sys`, which is removed in the end.
    pub struct Tree {
        pub root: PathBuf,
    }

    impl Tree {
        pub fn new(name: &str) -> Self {
            let unique = format!("diskarm-sg-{name}-{}", std::process::id());
            let root = std::env::temp_dir().join(unique);
            fs::create_dir(&root).unwrap();
            Self { root }
        }

        pub fn folder(&self, path: &str) {
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

    fn block(name: &str, number: &str, made_of: Option<&str>) -> Block {
        Block {
            name: name.to_owned(),
            number: number.to_owned(),
            made_of: made_of.map(str::to_owned),
        }
    }

    #[test]
    fn partitions_and_what_is_made_of_them_are_found() {
        let tree = Tree::new("blocks");
        tree.device("class/block/sda", "8:0");
        tree.folder("class/block/sda/holders");
        tree.folder("class/block/sda/queue");
        for (partition, number) in [("sda1", "8:1"), ("sda2", "8:2")] {
            tree.folder(&format!("class/block/sda/{partition}/partition"));
            tree.device(&format!("class/block/{partition}"), number);
        }
        // Two volumes on one partition, and a third on the first.
        tree.folder("class/block/sda2/holders/dm-0");
        tree.folder("class/block/sda2/holders/dm-1");
        tree.device("class/block/dm-0", "254:0");
        tree.device("class/block/dm-1", "254:1");
        tree.folder("class/block/dm-0/holders/dm-2");
        tree.device("class/block/dm-2", "254:2");
        tree.device("class/block/sdb", "8:16");
        let mut found = blocks(&tree.root, "sda").unwrap();
        assert_eq!(found[0], block("sda", "8:0", None));
        found.sort_by(|a, b| a.number.cmp(&b.number));
        let expected = [
            block("dm-0", "254:0", Some("sda2")),
            block("dm-1", "254:1", Some("sda2")),
            block("dm-2", "254:2", Some("dm-0")),
            block("sda", "8:0", None),
            block("sda1", "8:1", None),
            block("sda2", "8:2", None),
        ];
        assert_eq!(found, expected);
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

    fn user_of(blocks: &[Block]) -> Option<String> {
        user(blocks, MOUNTINFO, SWAPS)
    }

    #[test]
    fn mounted_devices_are_named_with_their_mount_point() {
        let disk = [block("sda", "8:0", None), block("sda1", "8:1", None)];
        assert_eq!(user_of(&disk), None);
        let old = [block("sdd", "8:48", None), block("sdd1", "8:49", None)];
        let expected = "sdd1 is mounted at /media/old disk";
        assert_eq!(user_of(&old).as_deref(), Some(expected));
        // By its source alone.
        let home = [block("sdb3", "8:19", None)];
        assert_eq!(user_of(&home).as_deref(), Some("sdb3 is mounted at /home"));
        // What is mounted says more than what is made of the disk.
        let system = [
            block("sda", "8:0", None),
            block("dm-0", "254:0", Some("sda")),
        ];
        assert_eq!(user_of(&system).as_deref(), Some("dm-0 is mounted at /"));
    }

    #[test]
    fn swap_space_and_parts_of_other_devices_are_named() {
        let swap = [block("sdb", "8:16", None), block("sdb2", "8:18", None)];
        assert_eq!(user_of(&swap).as_deref(), Some("sdb2 is swap space"));
        let raid = [block("sdc", "8:32", None), block("md0", "9:0", Some("sdc"))];
        assert_eq!(user_of(&raid).as_deref(), Some("sdc is a part of md0"));
    }

    #[test]
    fn similar_names_and_numbers_are_others() {
        assert_eq!(user_of(&[block("sdb", "8:16", None)]), None);
        assert_eq!(
            user_of(&[block("sdd1", "8:4", None)]).as_deref(),
            Some("sdd1 is mounted at /media/old disk")
        );
        assert_eq!(user_of(&[block("sdd11", "8:4", None)]), None);
        assert_eq!(user_of(&[block("x", "254:00", None)]), None);
        let controller = [block("cciss!c0d0p1", "104:1", None)];
        let line = "9 1 0:9 / /srv rw - btrfs /dev/cciss/c0d0p1 rw";
        let expected = "cciss!c0d0p1 is mounted at /srv";
        assert_eq!(user(&controller, line, "").as_deref(), Some(expected));
    }

    #[test]
    fn lines_that_say_nothing_are_skipped() {
        let disk = [block("sda", "8:0", None)];
        assert_eq!(user(&disk, "\n1 2\n1 2 8:0 / /x rw\n - \n", "\n\n"), None);
    }

    /// On a machine with a root file system on a disk, whatever its name.
    #[test]
    fn the_disk_below_this_system_is_in_use() {
        let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let numbers = mountinfo.lines().filter_map(|line| line.split(' ').nth(2));
        let class = Path::new("/sys/dev/block");
        let mut disks = numbers.filter(|number| class.join(number).exists());
        let Some(number) = disks.next() else {
            println!("skipped: nothing that is mounted here is a block device");
            return;
        };
        let place = class.join(number).canonicalize().unwrap();
        let name = place.file_name().unwrap().to_str().unwrap();
        let blocks = blocks(Path::new("/sys"), name).unwrap();
        let user = user(&blocks, &mountinfo, "").unwrap();
        assert!(user.contains(" is mounted at /"), "{user}");
    }
}
