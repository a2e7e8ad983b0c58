//! Tests of `diskarm serve nbd` with clients whose times are compared with the model, or that need
//! kernel support. A test whose client is not installed prints a line and passes.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::serve::{Server, client, name_of};
use crate::{skip, stdout};

/// Speeds of the drive. The machine's own times should be a hundredth of the drive's, so a busy
/// machine needs a slower drive.
const SPEEDS: [f64; 3] = [0.1, 0.05, 0.02];

/// Checks that the mean latency in fio equals the mean in a simulation of the same requests plus
/// the mean lateness that the server measured, to 1 %.
fn fio_measures_the_model(depth: u32, requests: u32) {
    let mut found = None;
    for speed in SPEEDS {
        let Some((mean, range)) = compare_fio_with_the_model(depth, requests, speed) else {
            return;
        };
        // No reply is early, so fio cannot measure less time than the drive takes.
        assert!(mean >= range.start, "{mean} us, not in {range:?}");
        if range.contains(&mean) {
            return;
        }
        found = Some((mean, range));
    }
    panic!("the mean is not in the range: {found:?} us");
}

/// Returns the mean latency measured by fio and its allowed range, in microseconds, for a drive at
/// this speed. `None` if fio is not installed.
///
/// After its last request fio waits for all others and uses that time as the end of each, so only
/// requests that complete earlier count.
fn compare_fio_with_the_model(depth: u32, requests: u32, speed: f64) -> Option<(f64, Range<f64>)> {
    let [trace, rows, log] = ["spc", "rows", "log"].map(|end| {
        let path = name_of(&format!("fio-{depth}.{end}"));
        path.to_str().expect("UTF-8").to_owned()
    });
    let drive = ["--drive", "hp-c2247", "--policy", "sptf"];
    let recorded = ["--record", &trace, "--record-format", "spc"];
    let speed_text = speed.to_string();
    let arguments = [&drive[..], &recorded, &["--speed", &speed_text]].concat();
    let server = Server::start(&format!("fio-{depth}"), &arguments);
    let job = [
        "fio --name=reads --ioengine=nbd --rw=randread --bs=4k --log_offset=1",
        &format!(" --iodepth={depth} --number_ios={requests} --write_lat_log={log}"),
        &format!(" --uri={}", server.uri("")),
    ];
    let job = job.concat();
    client("fio", &job.split(' ').collect::<Vec<_>>())?;
    let served = server.stop();
    assert_eq!(served["recording"]["requests"], requests);
    let late = served["lateness"]["mean_us"].as_f64().expect("a number") * speed;
    let replay = [&["simulate"], &drive[..], &["--trace", &trace]].concat();
    stdout(&[&replay[..], &["--per-request", &rows]].concat());
    let log = format!("{log}_lat.1.log");
    let measured: BTreeMap<u64, f64> = table(&log, ", ")
        .map(|row| (number(&row[4]) as u64, number(&row[1]) / 1e3 * speed))
        .collect();
    let mut simulated = Vec::new();
    for row in table(&rows, ",").skip(1) {
        let [offset, arrived, completed, response] = [3, 6, 7, 8].map(|at| number(&row[at]));
        simulated.push((offset as u64 * 512, arrived, completed, response));
    }
    let last = simulated.iter().map(|row| row.1).fold(0.0, f64::max);
    let (mut model_us, mut fio_us, mut count) = (0.0, 0.0, 0.0);
    for (offset, _, completed, response) in simulated {
        if completed < last {
            model_us += response;
            fio_us += measured[&offset];
            count += 1.0;
        }
    }
    assert!(count >= f64::from(requests - depth) - 1.0, "{count}");
    let range = model_us / count * 0.9999..(model_us / count + late) * 1.01;
    for file in [trace, rows, log] {
        fs::remove_file(file).expect("a file");
    }
    for other in ["slat", "clat"] {
        fs::remove_file(name_of(&format!("fio-{depth}.log_{other}.1.log"))).expect("a log");
    }
    Some((fio_us / count, range))
}

/// Returns the fields of each line of a file.
fn table(path: &str, between: &'static str) -> impl Iterator<Item = Vec<String>> {
    let text = fs::read_to_string(path).expect("a file");
    let lines: Vec<Vec<String>> = text
        .lines()
        .map(|line| line.split(between).map(str::to_owned).collect())
        .collect();
    lines.into_iter()
}

fn number(text: &str) -> f64 {
    text.trim().parse().expect("a number")
}

#[test]
fn fio_measures_the_model_at_depth_1() {
    fio_measures_the_model(1, 30);
}

#[test]
fn fio_measures_the_model_at_depth_32() {
    fio_measures_the_model(32, 96);
}

/// A disk that nbdfuse shows as a file.
struct Mounted {
    child: Child,
    folder: String,
}

impl Mounted {
    /// Mounts it; returns `None` and prints the reason if this machine cannot.
    fn new(folder: &Path, uri: &str) -> Option<Self> {
        if !Path::new("/dev/fuse").exists() {
            skip("there is no /dev/fuse");
            return None;
        }
        client("libnbd-bin", &["nbdfuse", "--version"])?;
        if Command::new("fusermount3")
            .arg("--version")
            .output()
            .is_err()
        {
            skip("fusermount3 is not installed (fuse3)");
            return None;
        }
        fs::create_dir_all(folder).expect("a folder");
        let folder = folder.to_str().expect("UTF-8").to_owned();
        let mut child = Command::new("nbdfuse")
            .args([&folder, uri])
            .stdin(Stdio::null())
            .spawn()
            .expect("installed");
        while !Path::new(&folder).join("nbd").exists() {
            if let Some(status) = child.try_wait().expect("a process") {
                skip(&format!("nbdfuse cannot mount here ({status})"));
                return None;
            }
            thread::sleep(Duration::from_millis(10));
        }
        Some(Self { child, folder })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let unmounted = Command::new("fusermount3")
            .args(["-u", &self.folder])
            .status();
        if !unmounted.is_ok_and(|status| status.success()) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
        let _ = fs::remove_dir(&self.folder);
    }
}

/// The file system is created and read without mounting it, through nbdfuse's file for the disk.
#[test]
fn debugfs_reads_a_file_system_through_nbdfuse() {
    let content = name_of("fuse-content");
    let image = name_of("fuse-image");
    let folder = name_of("fuse");
    let text: String = (0..5000).map(|line| format!("line {line}\n")).collect();
    fs::create_dir_all(content.join("below")).expect("a folder");
    fs::write(content.join("below/lines"), &text).expect("a file");
    let [content, image] = [&content, &image].map(|path| path.to_str().expect("UTF-8"));
    let make = ["mke2fs", "-q", "-t", "ext4", "-d", content, image, "32M"];
    if Command::new(make[0]).arg("-V").output().is_err() {
        skip("mke2fs is not installed (e2fsprogs)");
        return;
    }
    let made = Command::new(make[0]).args(&make[1..]).status();
    assert!(made.expect("installed").success());
    let store = format!("snapshot:{image}");
    let arguments = ["--drive", "hp-c2247", "--store", &store, "--speed", "20"];
    let server = Server::start("fuse-server", &arguments);
    let mounted = Mounted::new(&folder, &server.uri(""));
    if let Some(mounted) = &mounted {
        let read = Command::new("debugfs")
            .args(["-R", "cat /below/lines"])
            .arg(format!("{}/nbd", mounted.folder))
            .output()
            .expect("installed with mke2fs");
        assert_eq!(String::from_utf8_lossy(&read.stdout), text);
    }
    let was_mounted = mounted.is_some();
    drop(mounted);
    let served = server.stop();
    assert_eq!(served["failed"], 0);
    assert_eq!(served["reads"].as_u64() > Some(0), was_mounted);
    fs::remove_dir_all(content).expect("a folder");
    fs::remove_file(image).expect("a file");
}
