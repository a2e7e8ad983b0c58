//! Commands to the RAM-backed drive of Linux's module `scsi_debug`. Skipped unless the module can
//! be loaded, which needs root.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use diskarm_core::units::{Bytes, Lbn, SectorCount};
use diskarm_transport::sg::Sg;
use diskarm_transport::{Disk, Error};

/// The loaded module, which is removed on drop.
struct Module;

impl Module {
    fn load() -> Option<Self> {
        let loaded = Path::new("/sys/module/scsi_debug").exists();
        let modprobe = |arguments: &[&str]| {
            let status = Command::new("modprobe").arg("-q").args(arguments).status();
            status.is_ok_and(|status| status.success())
        };
        (!loaded && modprobe(&["scsi_debug", "dev_size_mb=8", "delay=0"])).then(|| Self)
    }

    /// Returns the generic device, and the block device if there is one yet.
    fn devices(&self) -> (PathBuf, Option<PathBuf>) {
        let generic = fs::read_dir("/sys/class/scsi_generic").unwrap();
        let folders = generic.map(|entry| entry.unwrap().path());
        let is_module = |folder: &PathBuf| {
            let model = fs::read_to_string(folder.join("device/model"));
            model.is_ok_and(|model| model.trim() == "scsi_debug")
        };
        let folder = folders
            .into_iter()
            .find(is_module)
            .expect("the module's unit");
        let device = |name: &std::ffi::OsStr| Path::new("/dev").join(name);
        let block = fs::read_dir(folder.join("device/block"));
        let block = block.ok().and_then(|mut blocks| blocks.next());
        (
            device(folder.file_name().unwrap()),
            block.map(|entry| device(&entry.unwrap().file_name())),
        )
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let removed = Command::new("rmmod").arg("scsi_debug").status();
        assert!(removed.is_ok_and(|status| status.success()), "rmmod");
    }
}

#[test]
fn a_scsi_debug_drive_is_read_and_written() {
    let Some(module) = Module::load() else {
        println!("skipped: the kernel's module scsi_debug cannot be loaded");
        return;
    };
    let (generic, block) = module.devices();
    for path in [Some(generic), block].into_iter().flatten() {
        println!("testing {}", path.display());
        let mut drive = Sg::open(&path).unwrap_or_else(|error| panic!("{error}"));
        let mut disk = Disk::new(&mut drive).unwrap();
        assert_eq!(disk.sectors(), SectorCount(8 << 11));
        assert_eq!(disk.sector_size(), Bytes(512));
        let [first, second] = [0, 8].map(|at| disk.read(Lbn(at), 8).unwrap());
        assert!(first.sent < first.ended && first.ended <= second.sent);
        // Past the last block: sense data with LOGICAL BLOCK ADDRESS OUT OF RANGE.
        let Err(Error::Status { status, sense, .. }) = disk.read(Lbn(8 << 11), 1) else {
            panic!("a read beyond the end succeeded");
        };
        assert_eq!((status, sense[2] & 0x0f, sense[12]), (2, 5, 0x21));
        assert!(matches!(disk.write(Lbn(0), 1), Err(Error::Status { .. })));

        drive
            .allow_writes(false)
            .unwrap_or_else(|error| panic!("{error}"));
        Disk::new(&mut drive).unwrap().write(Lbn(0), 8).unwrap();
    }
}
