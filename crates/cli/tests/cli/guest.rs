//! Tests in which a whole machine uses a served drive: a QEMU guest without hardware support, whose
//! Linux kernel sends its commands through `scsi-block` to the iSCSI target. It mounts the disk,
//! tests it with sg3_utils and fio, and measures it with `diskarm extract`.
//!
//! The kernel comes from Debian's package `linux-image-cloud-amd64`, unpacked into `guest-kernel`
//! in the target folder, as by `.ci/run`. Without it a test prints a line and passes.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use diskarm_core::spec;
use diskarm_core::units::Span;
use diskarm_extract::Comparison;

use crate::iscsi::Server;
use crate::{file_of, skip, stdout};

/// The kernel modules, each after its dependencies.
const MODULES: [&str; 10] = [
    "virtio_ring",
    "virtio",
    "virtio_pci_legacy_dev",
    "virtio_pci_modern_dev",
    "virtio_pci",
    "scsi_common",
    "scsi_mod",
    "virtio_scsi",
    "sd_mod",
    "sg",
];

/// The first commands of the guest in every test.
const BEGIN: &str = "\
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
";

/// Allows one guest at a time: measurements are exact only if this machine is otherwise idle.
static GUEST: Mutex<()> = Mutex::new(());

/// Timeout of a guest, in seconds.
const LIMIT: &str = "420";

fn found(program: &str) -> Option<PathBuf> {
    let folders = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"];
    let mut places = folders.iter().map(|folder| Path::new(folder).join(program));
    places.find(|path| path.is_file())
}

/// Returns a program of a package that CI installs; elsewhere, prints a line if it is missing.
fn program(name: &str, package: &str) -> Option<PathBuf> {
    let path = found(name);
    if path.is_none() {
        let is_ci = std::env::var_os("CI").is_some();
        assert!(!is_ci, "{name} is not installed ({package})");
        skip(&format!("{name} is not installed ({package})"));
    }
    path
}

/// Returns the first file below a folder with a wanted name.
fn below(folder: &Path, is_wanted: &dyn Fn(&str) -> bool) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().find_map(|path| {
        if path.is_dir() {
            below(&path, is_wanted)
        } else {
            is_wanted(path.file_name()?.to_str()?).then_some(path)
        }
    })
}

/// The requirements of a guest on its host.
struct Parts {
    qemu: PathBuf,
    kernel: PathBuf,
    modules: Vec<PathBuf>,
    busybox: PathBuf,
}

impl Parts {
    /// Returns `None` and prints a line without a kernel. The files that come with the kernel and,
    /// in CI, the programs must exist.
    fn find() -> Option<Self> {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?;
        let kernel = target.join("guest-kernel");
        if !kernel.exists() {
            skip("there is no kernel for the guest");
            return None;
        }
        let of_kernel = |is_wanted: &dyn Fn(&str) -> bool, name: &str| {
            let missing = || panic!("{} has no {name}", kernel.display());
            below(&kernel, is_wanted).unwrap_or_else(missing)
        };
        let module = |module| of_kernel(&|name| name.strip_suffix(".ko") == Some(module), module);
        Some(Self {
            qemu: program("qemu-system-x86_64", "qemu-system-x86")?,
            kernel: of_kernel(&|name| name.starts_with("vmlinuz-"), "kernel"),
            modules: MODULES.into_iter().map(module).collect(),
            busybox: program("busybox", "busybox-static")?,
        })
    }

    /// Boots a guest that has the disk at `uri`, these programs and their libraries, and runs
    /// `script`; returns its console output. `front` precedes the command line.
    fn boot(&self, front: &[&str], uri: &str, programs: &[PathBuf], script: &str) -> String {
        let _alone = GUEST.lock().unwrap_or_else(PoisonError::into_inner);
        let name = uri.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let initial = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("guest-{name}"));
        fs::write(&initial, self.archive(programs, script)).unwrap();
        let disk = format!("file={uri},if=none,id=disk,format=raw,cache=none");
        let all = [front, &["timeout", LIMIT]].concat();
        let output = Command::new(all[0])
            .args(&all[1..])
            .arg(&self.qemu)
            .args(["-accel", "tcg", "-m", "768", "-nodefaults", "-no-reboot"])
            .args(["-nographic", "-serial", "stdio"])
            .arg("-kernel")
            .arg(&self.kernel)
            .arg("-initrd")
            .arg(&initial)
            .args(["-append", "console=ttyS0 quiet panic=-1"])
            // A separate I/O thread avoids wake-ups of varying duration.
            .args(["-object", "iothread,id=watcher,poll-max-ns=50000000"])
            .args(["-device", "virtio-scsi-pci,iothread=watcher"])
            .args(["-drive", &disk])
            .args(["-device", "scsi-block,drive=disk"])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        fs::remove_file(&initial).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{errors}{shown}");
        shown.replace('\r', "")
    }

    /// Returns the guest's initial file system.
    fn archive(&self, programs: &[PathBuf], script: &str) -> Vec<u8> {
        let mut archive = Archive::default();
        for folder in [
            "proc",
            "sys",
            "dev",
            "mnt",
            "tmp",
            "lib",
            "lib/modules",
            "bin",
        ] {
            archive.folder(folder);
        }
        archive.file("bin/busybox", &self.busybox);
        let mut init = BEGIN.to_owned();
        for module in &self.modules {
            let name = module.file_name().unwrap().to_str().unwrap();
            archive.file(&format!("lib/modules/{name}"), module);
            let _ = writeln!(init, "insmod /lib/modules/{name}");
        }
        let mut libraries = BTreeSet::new();
        for program in programs {
            let name = program.file_name().unwrap().to_str().unwrap();
            archive.file(&format!("bin/{name}"), program);
            libraries.extend(libraries_of(program));
        }
        for library in libraries {
            archive.file(library.to_str().unwrap().trim_start_matches('/'), &library);
        }
        init += script;
        init += "\npoweroff -f\n";
        archive.add("init", 0o100_755, init.as_bytes());
        archive.end()
    }
}

/// Returns the shared libraries of a program, and their loader.
fn libraries_of(program: &Path) -> Vec<PathBuf> {
    let output = Command::new("ldd").arg(program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let words = text.split_whitespace().filter(|word| word.starts_with('/'));
    words.map(PathBuf::from).collect()
}

/// A cpio archive in the format "newc", as the kernel unpacks it.
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    folders: BTreeSet<String>,
}

impl Archive {
    fn folder(&mut self, name: &str) {
        if self.folders.insert(name.to_owned()) {
            self.add(name, 0o040_755, &[]);
        }
    }

    /// Adds a file and its parent folders.
    fn file(&mut self, name: &str, from: &Path) {
        for (at, _) in name.match_indices('/') {
            self.folder(&name[..at]);
        }
        let data = fs::read(from).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        self.add(name, 0o100_755, &data);
    }

    fn add(&mut self, name: &str, mode: u32, data: &[u8]) {
        let mut header = "070701".to_owned();
        let inode = self.bytes.len() as u32;
        let (size, length) = (data.len() as u32, name.len() as u32 + 1);
        for field in [inode, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, length, 0] {
            let _ = write!(header, "{field:08x}");
        }
        self.bytes.extend(header.as_bytes());
        self.bytes.extend(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(data);
        self.pad();
    }

    fn pad(&mut self) {
        let length = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(length, 0);
    }

    fn end(mut self) -> Vec<u8> {
        self.add("TRAILER!!!", 0, &[]);
        self.bytes
    }
}

/// Creates a disk with a file system and one file, without mounting it.
fn file_system(folder: &Path) -> Option<PathBuf> {
    let mke2fs = program("mke2fs", "e2fsprogs")?;
    let (content, disk) = (folder.join("content"), folder.join("disk"));
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(&content).unwrap();
    fs::write(content.join("greeting"), "hello from the host\n").unwrap();
    let made = Command::new(mke2fs)
        .args(["-q", "-t", "ext4", "-O", "^has_journal", "-d"])
        .args([&content, &disk])
        .arg("64M")
        .status()
        .unwrap();
    assert!(made.success());
    Some(disk)
}

/// A kernel mounts the disk, reads and writes files; sg3_utils and fio agree with what the drive
/// reports; and `diskarm scan` reads the same data by SG_IO and from the block device.
#[test]
fn a_guest_mounts_and_queries_the_drive() {
    let Some(parts) = Parts::find() else {
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guest-disk");
    let sg3_utils = |name| program(name, "sg3-utils");
    let (Some(disk), Some(inquiry), Some(modes), Some(fio)) = (
        file_system(&folder),
        sg3_utils("sg_inq"),
        sg3_utils("sg_modes"),
        program("fio", "fio"),
    ) else {
        return;
    };
    let store = format!("file:{}", disk.display());
    let drive = ["--drive", "hp-c2247", "--size", "64MiB", "--speed", "20"];
    let server = Server::start(&[&drive[..], &["--store", &store]].concat());
    let diskarm = PathBuf::from(env!("CARGO_BIN_EXE_diskarm"));
    let script = "\
cd tmp
mount -t ext4 /dev/sda /mnt && cat /mnt/greeting
echo hello from the guest > /mnt/answer
umount /mnt
sg_inq /dev/sg0
sg_modes --page=8 /dev/sg0
fio --name=reads --filename=/dev/sda --rw=randread --bs=4k --direct=1 \
--ioengine=psync --number_ios=20 --output-format=terse
diskarm scan /dev/sg0 --checksums by-sg
diskarm scan /dev/sda --checksums by-block
echo BY SG
cat by-sg
echo BY BLOCK
cat by-block
echo END
";
    let shown = parts.boot(&[], &server.uri, &[inquiry, modes, fio, diskarm], script);
    assert!(shown.contains("hello from the host"), "{shown}");
    assert!(shown.contains("Vendor identification: DISKARM"), "{shown}");
    assert!(
        shown.contains("Product identification: HP-C2247"),
        "{shown}"
    );
    assert!(shown.contains("Caching, page_control: current"), "{shown}");
    // The name and group of the file, and no error.
    assert!(shown.contains(";reads;0;0;"), "{shown}");
    let served = server.stop();
    assert!(served["reads"].as_u64().unwrap() > 20, "{served}");
    let output = Command::new("debugfs")
        .args(["-R", "cat /answer"])
        .arg(&disk)
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"hello from the guest\n");
    let sums = folder.join("sums");
    let [disk, into] = [&disk, &sums].map(|path| path.to_str().unwrap());
    stdout(&["scan", disk, "--checksums", into]);
    let sums = fs::read_to_string(sums).unwrap();
    assert_eq!(between(&shown, "BY SG\n", "BY BLOCK\n"), sums);
    assert_eq!(between(&shown, "BY BLOCK\n", "END\n"), sums);
}

/// A drive whose sectors take milliseconds: the delay between guest and drive varies from 0.1 to
/// 0.5 ms a command, and shorter sectors would be indistinguishable.
const SMALL: &str = include_str!("guest.toml");

/// `diskarm extract` finds a whole specification by SG_IO through the guest's kernel: the block
/// layout exactly, with the defects; rotation, seeks and read times to about 0.1 ms, by which the
/// delay of commands varies. If a busy machine hid a value or a buffer hit, it measures again.
///
/// The drive serves in real time, and delays by other work of this machine would be measured too,
/// so the processes get real-time priority, which needs root.
#[test]
fn a_guest_measures_the_drive() {
    let Some(parts) = Parts::find() else {
        return;
    };
    let front = ["chrt", "--fifo", "10"];
    let may = Command::new(front[0])
        .args(&front[1..])
        .arg("true")
        .status();
    if !may.is_ok_and(|status| status.success()) {
        skip("needs chrt and the right to run in real time");
        return;
    }
    let drive = file_of("small.toml", SMALL);
    let server = Server::start_in_real_time(&["--drive", &drive]);
    let diskarm = PathBuf::from(env!("CARGO_BIN_EXE_diskarm"));
    let script = "\
cd tmp
for attempt in 1 2
do rm -f found.toml found.toml.partial
timeout 180 diskarm extract /dev/sg0 -o found.toml --quick >shown 2>&1
ended=$?
cat shown
test $ended = 0 && ! grep -q 'overheads.read_hit_after_read, ' shown && break
done
echo extract ended with $ended
echo SPECIFICATION
cat found.toml
echo END
";
    let shown = parts.boot(&front, &server.uri, &[diskarm], script);
    fs::remove_file(&drive).unwrap();
    assert!(shown.contains("extract ended with 0\n"), "{shown}");
    let found = between(&shown, "SPECIFICATION\n", "END\n");
    let given = spec::parse(SMALL, "small.toml").unwrap();
    let found = spec::parse(found, "found.toml").unwrap();
    // The guest calibrates its clock when it boots.
    let deviation = found.mechanics.period_ns / given.mechanics.period_ns - 1.0;
    assert!(deviation.abs() < 1e-4, "{shown}");
    let compared = Comparison::new(&given, &found).unwrap();
    assert!(compared.layout.is_equal(), "{:?}", compared.layout);
    assert_eq!(compared.layout.blocks, given.geometry.sectors);
    assert_eq!(found.geometry, given.geometry);
    assert!(compared.reads.mean < Span::from_ms(0.3), "{shown}");
    // On a busy machine the guest may not see a hit, and reports this.
    let has_hits = !shown.contains("overheads.read_hit_after_read, ");
    // Read times include the delay to the drive and back.
    for (name, [given, found]) in &compared.sums {
        let (min, max) = match *name {
            "read hit after read" if !has_hits => continue,
            "read after read" | "read hit after read" => (0.0, 1.5),
            "head switch" => (-0.3, 0.3),
            _ => continue,
        };
        let more = (*found - *given).as_ms();
        assert!((min..max).contains(&more), "{name}: {shown}");
    }
    let is_right = found.buffer.caching && found.buffer.read_ahead == given.buffer.read_ahead;
    assert!(is_right, "{shown}");
}

/// Returns the text between two lines.
fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let found = text
        .split_once(from)
        .and_then(|(_, rest)| rest.split_once(to));
    found.unwrap_or_else(|| panic!("{text}")).0
}
