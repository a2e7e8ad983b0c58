//! Which disk a path names.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{major, minor};

use crate::Error;

/// Where Linux shows its devices.
pub const SYSTEM: &str = "/sys";

/// What a path must be, in words, where it is something else.
const NO_DEVICE: &str = "no device";
const NO_SCSI: &str = "a device that takes no SCSI commands";
const PARTITION: &str = "a partition";

/// The name of the block device of a disk, such as `sda`: of a path that is a block device, or of
/// an SCSI generic device. The latter has none if no driver of disks took it.
///
/// # Errors
/// There is no such file, or it is no whole disk.
pub fn block_name(path: &Path) -> Result<Option<String>, Error> {
    let file = |source| Error::File {
        path: path.to_owned(),
        source,
    };
    let metadata = fs::metadata(path).map_err(file)?;
    let device = metadata.rdev();
    let number = format!("{}:{}", major(device), minor(device));
    let kind = metadata.file_type();
    let found = if kind.is_char_device() {
        of_generic(Path::new(SYSTEM), &number)
    } else if kind.is_block_device() {
        of_block(Path::new(SYSTEM), &number).map(Some)
    } else {
        Err(NO_DEVICE)
    };
    found.map_err(|is| Error::NoDisk {
        path: path.to_owned(),
        is,
    })
}

/// Of the character device of this number.
fn of_generic(system: &Path, number: &str) -> Result<Option<String>, &'static str> {
    let name = resolved_name(&system.join("dev/char").join(number)).ok_or(NO_SCSI)?;
    let generic = system.join("class/scsi_generic").join(name);
    if !generic.exists() {
        return Err(NO_SCSI);
    }
    let Ok(mut blocks) = generic.join("device/block").read_dir() else {
        return Ok(None);
    };
    let block = blocks.next().and_then(Result::ok);
    Ok(block.map(|entry| entry.file_name().to_string_lossy().into_owned()))
}

/// Of the block device of this number. Whether it takes SCSI commands its driver knows.
fn of_block(system: &Path, number: &str) -> Result<String, &'static str> {
    let place = system.join("dev/block").join(number);
    if place.join("partition").exists() {
        return Err(PARTITION);
    }
    resolved_name(&place).ok_or(NO_DEVICE)
}

/// The last part of the place that a link leads to.
fn resolved_name(link: &Path) -> Option<String> {
    let place = link.canonicalize().ok()?;
    Some(place.file_name()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occupied::tests::Tree;
    use std::os::unix::fs::symlink;

    #[test]
    fn both_kinds_of_devices_lead_to_the_block_device() {
        let tree = Tree::new("device");
        tree.folder("class/scsi_generic/sg3/device/block/sdb");
        tree.folder("class/scsi_generic/sg4/device");
        tree.folder("class/tty/tty0");
        tree.folder("block/sdb/sdb1/partition");
        tree.folder("dev/char");
        tree.folder("dev/block");
        for (link, place) in [
            ("dev/char/21:3", "class/scsi_generic/sg3"),
            ("dev/char/21:4", "class/scsi_generic/sg4"),
            ("dev/char/4:0", "class/tty/tty0"),
            ("dev/block/8:16", "block/sdb"),
            ("dev/block/8:17", "block/sdb/sdb1"),
        ] {
            symlink(tree.root.join(place), tree.root.join(link)).unwrap();
        }
        let sdb = || "sdb".to_owned();
        assert_eq!(of_generic(&tree.root, "21:3"), Ok(Some(sdb())));
        assert_eq!(of_generic(&tree.root, "21:4"), Ok(None));
        assert_eq!(of_generic(&tree.root, "4:0"), Err(NO_SCSI));
        assert_eq!(of_generic(&tree.root, "4:1"), Err(NO_SCSI));
        assert_eq!(of_block(&tree.root, "8:16"), Ok(sdb()));
        assert_eq!(of_block(&tree.root, "8:17"), Err(PARTITION));
        assert_eq!(of_block(&tree.root, "8:32"), Err(NO_DEVICE));
    }

    #[test]
    fn what_is_no_disk_is_refused() {
        let refused = |path: &str| block_name(Path::new(path)).unwrap_err().to_string();
        assert!(refused("/dev/null").starts_with("/dev/null: a device that takes no SCSI"));
        assert!(refused("/proc/mounts").starts_with("/proc/mounts: no device; expected"));
        assert!(refused("/dev/no-such-drive").starts_with("/dev/no-such-drive: No such file"));
    }
}
