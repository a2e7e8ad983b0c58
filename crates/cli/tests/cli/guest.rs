//! A whole machine uses a served drive: a guest of QEMU, without hardware support, whose Linux
//! kernel sends its commands through `scsi-block` to the iSCSI target. It mounts the disk, asks it
//! with sg3_utils and fio, and measures it with `diskarm extract`.
//!
//! The kernel is that of Debian's package `linux-image-cloud-amd64`, unpacked into the folder
//! `guest-kernel` of the target folder, as `.ci/run` does. A test that misses something says so in
//! a line and passes.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use diskarm_core::spec;
use diskarm_extract::Comparison;
use serde_json::Value;

use crate::file_of;
use crate::iscsi::Server;

/// The kernel's modules, each after those that it needs.
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

/// What the guest runs before the commands of a test.
const BEGIN: &str = "\
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
";

/// Seconds after which a guest is given up.
const LIMIT: &str = "240";

fn found(program: &str) -> Option<PathBuf> {
    let folders = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"];
    let mut places = folders.iter().map(|folder| Path::new(folder).join(program));
    places.find(|path| path.is_file())
}

/// The first file below a folder whose name is as wanted.
fn below(folder: &Path, is_wanted: &dyn Fn(&str) -> bool) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().find_map(|path| match path.is_dir() {
        true => below(&path, is_wanted),
        false => is_wanted(path.file_name()?.to_str()?).then_some(path),
    })
}

/// What a guest needs from the machine that it runs on.
struct Parts {
    qemu: PathBuf,
    kernel: PathBuf,
    modules: Vec<PathBuf>,
    busybox: PathBuf,
}

impl Parts {
    /// `None`, with a line that says why, if something is missing.
    fn find() -> Option<Self> {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?;
        let kernel = target.join("guest-kernel");
        let modules =
            MODULES.map(|module| below(&kernel, &|name| name.strip_suffix(".ko") == Some(module)));
        let parts = || {
            Some(Self {
                qemu: found("qemu-system-x86_64")?,
                kernel: below(&kernel, &|name| name.starts_with("vmlinuz-"))?,
                modules: modules.into_iter().collect::<Option<_>>()?,
                busybox: found("busybox")?,
            })
        };
        let parts = parts();
        if parts.is_none() {
            eprintln!("skipped: needs qemu-system-x86, busybox-static and a kernel for the guest");
        }
        parts
    }

    /// Boots a guest that has the disk at `uri`, these programs and their libraries, and runs
    /// `script`; what its console shows. `front` is in front of the command line.
    fn boot(&self, front: &[&str], uri: &str, programs: &[PathBuf], script: &str) -> String {
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
            // A thread of its own that watches for commands and answers saves wake-ups, whose times
            // vary.
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

    /// The guest's first file system.
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

/// The shared libraries of a program, and what loads them.
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

    /// Adds a file, and the folders in which it is.
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

/// A disk with a file system and one file in it, made without mounting it.
fn file_system(folder: &Path) -> Option<PathBuf> {
    let mke2fs = found("mke2fs")?;
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
/// says of itself.
#[test]
fn a_guest_mounts_and_asks_the_drive() {
    let Some(parts) = Parts::find() else {
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guest-disk");
    let (Some(disk), Some(inquiry), Some(modes)) =
        (file_system(&folder), found("sg_inq"), found("sg_modes"))
    else {
        eprintln!("skipped: needs e2fsprogs and sg3-utils");
        return;
    };
    let store = format!("file:{}", disk.display());
    let server = Server::start(&["--drive", "hp-c2247", "--size", "64MiB", "--store", &store]);
    let mut programs = vec![inquiry, modes];
    let mut script = "\
mount -t ext4 /dev/sda /mnt && cat /mnt/greeting
echo hello from the guest > /mnt/answer
umount /mnt
sg_inq /dev/sg0
sg_modes --page=8 /dev/sg0
"
    .to_owned();
    if let Some(fio) = found("fio") {
        programs.push(fio);
        script += "fio --name=reads --filename=/dev/sda --rw=randread --bs=4k --direct=1 \
                   --ioengine=psync --number_ios=20 --output-format=terse\n";
    }
    let shown = parts.boot(&[], &server.uri, &programs, &script);
    assert!(shown.contains("hello from the host"), "{shown}");
    assert!(shown.contains("Vendor identification: DISKARM"), "{shown}");
    assert!(
        shown.contains("Product identification: HP-C2247"),
        "{shown}"
    );
    assert!(shown.contains("Caching, page_control: current"), "{shown}");
    let served = server.stop();
    assert!(served["reads"].as_u64().unwrap() > 20, "{served}");
    let told = Command::new("debugfs")
        .args(["-R", "cat /answer"])
        .arg(&disk)
        .output()
        .unwrap();
    assert_eq!(told.stdout, b"hello from the guest\n");
}

/// A drive whose sectors take milliseconds. A command takes 0.1 to 0.5 ms from the guest to the
/// drive and back, which vary, and sectors must be told apart beside that.
const SMALL: &str = include_str!("guest.toml");

/// The JSON that is printed after a line.
fn json_after(shown: &str, line: &str) -> Value {
    let (_, text) = shown.split_once(line).unwrap_or_else(|| panic!("{shown}"));
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    values.next().expect("a value").expect("JSON")
}

/// `diskarm extract` finds by SG_IO, through the guest's kernel, how the drive turns and where its
/// blocks are: exactly, with the defects. When it is ended it leaves its checkpoint. Where reads
/// are so late that the rotation is not found, the same command measures it again.
///
/// It does not come to a whole specification in the time that a test may take. Each command reaches
/// the drive some 0.1 ms sooner or later than another, so that each of some 40 thresholds takes
/// hundreds of reads; and the measurement of when the arm is free often takes it for busy, after
/// which every one of these reads waits for up to 0.1 s.
///
/// The drive serves in real time, and other work of this machine would be taken for the drive's, so
/// the processes have a real-time priority. That needs root.
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
        eprintln!("skipped: needs chrt and the right to run in real time");
        return;
    }
    let drive = file_of("small.toml", SMALL);
    let server = Server::start_in_real_time(&["--drive", &drive]);
    let diskarm = PathBuf::from(env!("CARGO_BIN_EXE_diskarm"));
    let script = "\
cd tmp
for attempt in 1 2 3
do timeout 40 diskarm extract /dev/sg0 -o found.toml --quick
ended=$?
test $ended = 1 || break
done
echo extract ended with $ended
echo CHECKPOINT
cat found.toml.partial
";
    let shown = parts.boot(&front, &server.uri, &[diskarm], script);
    fs::remove_file(&drive).unwrap();
    // By SIGTERM.
    assert!(shown.contains("extract ended with 143\n"), "{shown}");
    let checkpoint = json_after(&shown, "CHECKPOINT\n");
    let records = checkpoint["records"].as_array().unwrap();
    let outcomes: Vec<_> = records
        .iter()
        .map(|r| (&r["name"], &r["outcome"]))
        .collect();
    let done = ["rotation", "layout"].map(|name| (Value::from(name), Value::from("done")));
    assert!(outcomes.len() >= 2, "{shown}");
    for ((name, outcome), (expected, done)) in outcomes.iter().zip(&done) {
        assert_eq!((*name, *outcome), (expected, done), "{shown}");
    }
    let given = spec::parse(SMALL, "small.toml").unwrap();
    let findings = &checkpoint["findings"];
    // The guest calibrates its clock when it boots.
    let period = findings["rotation"]["period_ns"].as_f64().unwrap();
    let apart = period / given.mechanics.period_ns - 1.0;
    assert!(apart.abs() < 1e-4, "{period}");
    let text = findings["layout"]["found"]["geometry"].as_str().unwrap();
    let found = spec::parse(text, "found").unwrap();
    let compared = Comparison::of(&given, &found).unwrap();
    assert!(compared.layout.is_equal(), "{:?}", compared.layout);
    assert_eq!(compared.layout.blocks, given.geometry.sectors);
    assert_eq!(found.geometry, given.geometry);
}
