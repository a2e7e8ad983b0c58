//! Tests of `diskarm scan` with files and servers: its outputs, interruptions and errors.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use diskarm_wire::nbd::message::Simple;
use diskarm_wire::nbd::option::{AnswerHeader, ExportInfo, OptionHeader, answer, info};
use diskarm_wire::nbd::{Command as Asked, Error, Greeting, Headers, Request};
use serde_json::Value;

use crate::iscsi::Server as Target;
use crate::lost::traced;
use crate::scan::predictions;
use crate::serve::{Server, name_of};
use crate::{diskarm, file_of};

const SMALL: &str = include_str!("../../../scan/tests/scan/small.toml");
const BLOCKS: u64 = 6600;

/// Bytes that differ from block to block, with zeroes in every fifth piece of 64 KiB.
fn contents() -> Vec<u8> {
    let block = |number: u64| {
        let byte = (1 + number % 251) as u8;
        [if number / 128 % 5 == 3 { 0 } else { byte }; 512]
    };
    (0..BLOCKS).flat_map(block).collect()
}

/// Returns an unused path unique to this test.
fn unused_path(name: &str) -> String {
    let path = name_of(name);
    let _ = fs::remove_file(&path);
    path.into_os_string().into_string().expect("UTF-8")
}

/// An NBD server with one bad block, which calls a function before each reply.
struct Export {
    uri: String,
    path: String,
}

impl Export {
    fn start(
        name: &str,
        bad: Option<u64>,
        before: impl Fn(u64) -> bool + Send + Sync + 'static,
    ) -> Self {
        let path = unused_path(&format!("{name}.sock"));
        let listener = UnixListener::bind(&path).expect("a socket");
        let (data, reads) = (Arc::new(contents()), Arc::new(AtomicU64::new(0)));
        let before = Arc::new(before);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (data, reads) = (Arc::clone(&data), Arc::clone(&reads));
                let before = Arc::clone(&before);
                std::thread::spawn(move || {
                    let next = || before(reads.fetch_add(1, Ordering::SeqCst));
                    // A client that is killed closes its connection.
                    let _ = serve(stream, (&data, bad), next);
                });
            }
        });
        Self {
            uri: format!("nbd+unix:///?socket={path}"),
            path,
        }
    }
}

impl Drop for Export {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn serve(
    mut stream: UnixStream,
    (data, bad): (&[u8], Option<u64>),
    next: impl Fn() -> bool,
) -> std::io::Result<()> {
    let greeting = Greeting {
        password: Greeting::PASSWORD,
        magic: Greeting::MAGIC,
        fixed_newstyle: true,
        no_zeroes: true,
    };
    stream.write_all(&greeting.emit())?;
    let mut option = [0; 4 + OptionHeader::LENGTH];
    stream.read_exact(&mut option)?;
    let option = OptionHeader::parse(&option[4..]).expect("all its bytes");
    stream.read_exact(&mut vec![0; option.length as usize])?;
    let info = ExportInfo {
        info: info::EXPORT,
        size: data.len() as u64,
        flags: 1,
    };
    for (answer, data) in [(answer::INFO, &info.emit()[..]), (answer::ACK, &[])] {
        let header = AnswerHeader {
            magic: AnswerHeader::MAGIC,
            option: option.option,
            answer,
            length: data.len() as u32,
        };
        stream.write_all(&[&header.emit()[..], data].concat())?;
    }
    loop {
        let mut request = [0; Request::header_length(Headers::Simple)];
        stream.read_exact(&mut request)?;
        let request = Request::parse(Headers::Simple, &request).expect("a request");
        if request.command != Asked::Read || !next() {
            return Ok(());
        }
        let range = request.offset..request.offset + request.length;
        let is_bad = bad.is_some_and(|bad| range.contains(&(512 * bad)));
        let reply = Simple {
            magic: Simple::MAGIC,
            error: if is_bad { Error::Io.code() } else { 0 },
            cookie: request.cookie,
        };
        stream.write_all(&reply.emit())?;
        if !is_bad {
            stream.write_all(&data[range.start as usize..range.end as usize])?;
        }
    }
}

/// Returns the JSON on standard output, and the exit code.
fn outcome(output: &Output) -> (Value, Option<i32>) {
    let json = serde_json::from_slice(&output.stdout);
    let json = json.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    (json, output.status.code())
}

#[test]
fn a_file_is_copied_with_its_holes_and_its_checksums() {
    let disk = file_of("whole.disk", "");
    fs::write(&disk, contents()).expect("a file");
    let [image, sums, again] = ["whole.img", "whole.sums", "whole.again"].map(unused_path);
    let output = diskarm(&["scan", &disk, "--image", &image, "--checksums", &sums]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("6600 of 6600"), "{text}");
    assert_eq!(fs::read(&image).expect("an image"), contents());
    let (disk_blocks, image_blocks) = [&disk, &image]
        .map(|path| fs::metadata(path).expect("a file").blocks())
        .into();
    assert!(
        image_blocks < disk_blocks,
        "{image_blocks} of {disk_blocks}"
    );
    // The copy has the same checksums, and different contents have others.
    assert!(
        diskarm(&["scan", &image, "--checksums", &again])
            .status
            .success()
    );
    let read = |path: &str| fs::read_to_string(path).expect("checksums");
    assert_eq!(read(&again), read(&sums));
    assert_eq!(read(&sums).lines().count(), 2 + 4);
    let mut other = contents();
    other[700] ^= 1;
    fs::write(&image, other).expect("a file");
    assert!(
        diskarm(&["scan", &image, "--checksums", &again])
            .status
            .success()
    );
    let (before, after) = (read(&sums), read(&again));
    let differ = before.lines().zip(after.lines());
    assert_eq!(differ.filter(|(one, other)| one != other).count(), 1);
    for path in [disk, image, sums, again] {
        let _ = fs::remove_file(path);
    }
}

#[test]
fn an_unreadable_block_is_reported_and_all_others_are_read() {
    let model = file_of("bad.toml", SMALL);
    let export = Export::start("bad", Some(1234), |_| true);
    let [image, sums] = ["bad.img", "bad.sums"].map(unused_path);
    let arguments = [
        "scan",
        &export.uri,
        "--model",
        &model,
        "--image",
        &image,
        "--checksums",
        &sums,
    ];
    let output = diskarm(&[&arguments[..], &["--json"]].concat());
    let (found, code) = outcome(&output);
    assert_eq!((code, &found["blocks_left"]), (Some(1), &0.into()));
    // Three surfaces of 40 sectors: block 1234 is the 35th of track 30.
    let bad = &found["unreadable"][0];
    let place = ["block", "blocks", "cylinder", "head"].map(|key| bad[key].as_u64());
    assert_eq!(place, [Some(1234), Some(1), Some(10), Some(0)]);
    assert_eq!(found["unreadable"].as_array().map(Vec::len), Some(1));
    let mut expected = contents();
    expected[1234 * 512..1235 * 512].fill(0);
    assert_eq!(fs::read(&image).expect("an image"), expected);
    let sums = fs::read_to_string(&sums).expect("checksums");
    assert!(
        sums.lines().nth(2).is_some_and(|line| line.ends_with(" 1")),
        "{sums}"
    );
    fs::remove_file(&image).expect("an image");
    let text = diskarm(&arguments);
    let text = String::from_utf8_lossy(&text.stdout);
    assert!(
        text.contains("block 1234: cylinder 10, head 0, sector "),
        "{text}"
    );
}

/// A running scan, and the number of reads that it has sent.
struct Running {
    id: u32,
    reads: u32,
}

/// Stopped by Ctrl-C and by kill -9, with connections closing, a scan continues until complete.
#[test]
fn an_interrupted_scan_continues_from_its_checkpoint() {
    let running: Arc<Mutex<Option<Running>>> = Arc::default();
    let victim = Arc::clone(&running);
    // The first run ends before the checkpoint is due.
    let signals = Mutex::new(vec!["-KILL", "-INT", "-KILL"]);
    // A whole scan has 26 reads of 256 KiB, and each run ends at its seventh.
    let export = Export::start("continued", Some(5000), move |read| {
        let mut running = victim.lock().expect("no thread panicked");
        // `None` if this read is from a run that has ended.
        if let Some(running) = running.as_mut() {
            running.reads += 1;
            if running.reads == 7
                && let Some(signal) = signals.lock().expect("no thread panicked").pop()
            {
                let id = running.id.to_string();
                let killed = Command::new("kill").args([signal, &id]).status();
                assert!(killed.expect("kill").success());
            }
        }
        read != 9
    });
    let [image, sums, kept] =
        ["continued.img", "continued.sums", "continued.kept"].map(unused_path);
    let run = || {
        let spawned = Command::new(env!("CARGO_BIN_EXE_diskarm"))
            .args(["scan", &export.uri, "--json", "--checkpoint", &kept])
            .args(["--image", &image, "--checksums", &sums])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program was built with this test");
        let id = spawned.id();
        *running.lock().expect("no thread panicked") = Some(Running { id, reads: 0 });
        let output = spawned.wait_with_output().expect("an exit status");
        *running.lock().expect("no thread panicked") = None;
        output
    };
    let mut codes = Vec::new();
    let mut last = run();
    while last.status.code() != Some(1) {
        codes.push(last.status.code());
        assert!(codes.len() < 9, "{last:?}");
        last = run();
    }
    assert!(
        codes.contains(&Some(130)) && codes.contains(&None),
        "{codes:?}"
    );
    let (found, _) = outcome(&last);
    assert_eq!(found["is_complete"], true);
    assert!(found["blocks_before"].as_u64() > Some(0), "{found}");
    assert_eq!(found["unreadable"][0]["block"], 5000);
    let mut expected = contents();
    expected[5000 * 512..5001 * 512].fill(0);
    assert!(fs::read(&image).expect("an image") == expected);
    assert!(!fs::exists(&kept).expect("a folder"));
    let again = unused_path("continued.again");
    let output = diskarm(&["scan", &image, "--checksums", &again]);
    assert!(output.status.success());
    let read = |path: &str| fs::read_to_string(path).expect("checksums");
    assert_eq!(read(&sums).replace(" 1\n", "\n"), read(&again));
}

/// Killed at any step of its beginning, a scan can be run again.
#[test]
fn a_scan_killed_before_it_reads_continues() {
    let disk = file_of("early.disk", "");
    fs::write(&disk, contents()).expect("a file");
    let [image, kept] = ["early.img", "early.kept"].map(unused_path);
    let scan = ["scan", &disk, "--image", &image, "--checkpoint", &kept];
    let folder = tempfile::TempDir::new().expect("a folder");
    for step in ["ftruncate", "fdatasync", "linkat", "rename", "fsync"] {
        let killed = format!("inject={step}:signal=KILL:when=1");
        let options = [
            "-e",
            "trace=ftruncate,fdatasync,linkat,rename,fsync,exit_group",
        ];
        let options = [&options[..], &["-e", &killed]].concat();
        let Some(log) = traced(folder.path(), &options, &scan) else {
            break;
        };
        assert!(log.contains("+++ killed by SIGKILL +++"), "{log}");
        let output = diskarm(&scan);
        assert!(output.status.success(), "{step}: {output:?}");
        assert!(fs::read(&image).expect("an image") == contents(), "{step}");
        assert!(!fs::exists(&kept).expect("a folder"));
        fs::remove_file(&image).expect("an image");
    }
    // A checkpoint without progress needs no image yet, one with progress does.
    let export = Export::start("early", None, |read| read < 9);
    let scan = [
        "scan",
        &export.uri,
        "--image",
        &image,
        "--checkpoint",
        &kept,
    ];
    assert_eq!(diskarm(&scan).status.code(), Some(2));
    fs::write(&image, "").expect("an image");
    let output = diskarm(&scan);
    let message = String::from_utf8_lossy(&output.stderr);
    let expected = format!(
        "error: {image}: found 0 bytes, expected the {} bytes of the image that belongs to the \
         checkpoint {kept}",
        512 * BLOCKS
    );
    assert_eq!(message.trim_end(), expected);
    for path in [&disk, &image, &kept] {
        fs::remove_file(path).expect("a file");
    }
}

/// The image of a failing disk may be better than one that could be made now.
#[test]
fn a_finished_image_is_not_overwritten() {
    let export = Export::start("finished", Some(1234), |_| true);
    let [image, kept] = ["finished.img", "finished.kept"].map(unused_path);
    let finished = [
        "scan",
        &export.uri,
        "--image",
        &image,
        "--checkpoint",
        &kept,
    ];
    assert_eq!(diskarm(&finished).status.code(), Some(1));
    assert!(!fs::exists(&kept).expect("a folder"));
    let found = fs::read(&image).expect("an image");
    for again in [&finished[..], &finished[..4]] {
        let output = diskarm(again);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.contains("`--image` needs a new or empty file"),
            "{message}"
        );
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(fs::read(&image).expect("an image") == found);
        assert!(!fs::exists(&kept).expect("a folder"));
    }
    fs::remove_file(&image).expect("an image");
}

#[test]
fn a_foreground_is_served_during_a_scan_over_the_network() {
    let model = file_of("beside.toml", SMALL);
    let served = Server::start("beside", &["--drive", &model]);
    let target = Target::start(&["--drive", &model]);
    for uri in [&served.uri(""), &target.uri] {
        let workload = "closed(clients=4) uniform size=4KiB reads=66.7%";
        let some = [
            "--model",
            &model,
            "--workload",
            workload,
            "--requests",
            "60",
        ];
        let output = diskarm(&[&["scan", uri, "--json"], &some[..]].concat());
        let (found, code) = outcome(&output);
        assert_eq!(code, Some(0), "{output:?}");
        let foreground = &found["foreground"];
        assert_eq!(foreground["foreground_requests"], 60);
        assert!(foreground["response_alone_ms"].as_f64() > Some(1.0));
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains("its writes become reads"), "{message}");
        // Without a foreground, everything is read.
        let (found, code) = outcome(&diskarm(&["scan", uri, "--json"]));
        assert_eq!((code, &found["blocks_left"]), (Some(0), &0.into()));
    }
    served.stop();
    target.stop();
}

/// The server records the times that the scan measures, except for the delay between them.
#[test]
fn predictions_in_real_time_match_the_recording_of_the_server() {
    let model = file_of("served.toml", SMALL);
    let [rows, recorded] = ["served.csv", "recorded.csv"].map(unused_path);
    let workload = "closed(clients=4) uniform size=exponential(mean=8KiB, unit=4KiB)";
    let scan = |uri: &str| {
        let arguments = ["scan", uri, "--json", "--model", &model];
        let foreground = ["--workload", workload, "--requests", "60"];
        let files = ["--predictions", &rows];
        let output = diskarm(&[&arguments[..], &foreground, &files].concat());
        let (found, code) = outcome(&output);
        assert_eq!(code, Some(0), "{output:?}");
        found["foreground"].clone()
    };
    let recording = ["--record", &recorded];
    let arguments = [&["--drive", &model], &recording[..]].concat();
    for protocol in ["nbd", "iscsi"] {
        let foreground = match protocol {
            "nbd" => {
                let server = Server::start("served", &arguments);
                let found = scan(&server.uri(""));
                server.stop();
                found
            }
            _ => {
                let server = Target::start(&arguments);
                let found = scan(&server.uri);
                server.stop();
                found
            }
        };
        let rows = predictions(&rows);
        let of = |source: &str| rows.iter().filter(|row| row.source == source).count();
        assert_eq!(of("foreground"), 60);
        assert!(of("scan") > 0);
        // Reads of one block come first, to measure the delay of the connection.
        let confident = rows.iter().filter(|row| row.is_confident).count() as u64;
        let count = foreground["predictions"]["requests"].as_u64();
        let count = count.expect("a number");
        assert!((confident..=confident + 40).contains(&count));
        let text = fs::read_to_string(&recorded).expect("a recording");
        let served: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        // The foreground without the scan follows.
        assert!(served.len() >= 40 + rows.len() + 60, "{}", served.len());
        for (row, served) in rows.iter().zip(&served[40..]) {
            let place = [row.lbn, row.sectors].map(|blocks| (512 * blocks).to_string());
            assert_eq!(served[4..6], place);
            let served_us = 0.1 * served[6].parse::<f64>().expect("a time");
            // No completion is reported before it happens.
            assert!(row.measured_us > served_us - 1.0, "{served:?}");
        }
    }
    fs::remove_file(recorded).expect("a recording");
}

/// A drive with faults reports the bad blocks.
#[test]
fn a_simulated_scan_reports_bad_blocks() {
    let drive = file_of("faults.toml", SMALL);
    let url = format!("sim:faults(medium=\"1234..1236 after 1 retries\", drive={drive})");
    let found = diskarm(&["scan", &url, "--model", &drive, "--json"]);
    let (found, code) = outcome(&found);
    assert_eq!((code, &found["blocks_left"]), (Some(1), &0.into()));
    let bad = &found["unreadable"][0];
    let place = ["block", "blocks", "cylinder", "head"].map(|key| bad[key].as_u64());
    assert_eq!(place, [Some(1234), Some(2), Some(10), Some(0)]);
}

/// A scan of a simulated drive has a checkpoint, though no data.
#[test]
fn a_simulated_scan_continues_from_its_checkpoint() {
    let url = format!("sim:{}", file_of("kept.toml", SMALL));
    let kept = unused_path("sim.kept");
    let mut blocks_left = vec![BLOCKS];
    while blocks_left.last() != Some(&0) {
        let arguments = ["scan", &url, "--requests", "300", "--checkpoint", &kept];
        let found = crate::json(&[&arguments[..], &["--json"]].concat());
        blocks_left.push(found["blocks_left"].as_u64().expect("a number"));
        assert!(
            blocks_left.is_sorted_by(|one, next| one > next),
            "{blocks_left:?}"
        );
    }
    assert!(blocks_left.len() > 2, "{blocks_left:?}");
    assert!(!fs::exists(&kept).expect("a folder"));
}

/// The progress of one drive is neither used for another drive nor lost.
#[test]
fn a_checkpoint_of_another_scan_is_unchanged() {
    let drive = file_of("other.toml", SMALL);
    let disk = file_of("other.disk", "");
    fs::write(&disk, contents()).expect("a file");
    let url = format!("sim:{drive}");
    let kept = unused_path("other.kept");
    let begun = ["scan", &url, "--requests=300", "--checkpoint", &kept];
    let output = diskarm(&begun);
    assert!(output.status.success(), "{output:?}");
    let bytes = fs::read(&kept).expect("a checkpoint");
    let refused = |source: &str, why: &str| {
        let output = diskarm(&["scan", source, "--checkpoint", &kept]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let expected = format!("error: {kept}: {why}; name another file to start over\n");
        assert_eq!(String::from_utf8_lossy(&output.stderr), expected);
        assert!(fs::read(&kept).expect("a checkpoint") == bytes);
    };
    let why = format!("the checkpoint belongs to a scan of {url}, not of {disk}");
    refused(&disk, &why);
    // A different drive with the same name.
    let entry = diskarm_drives::find("hp-c2247").expect("a drive in the catalogue");
    fs::write(&drive, entry.text).expect("a specification");
    refused(&url, "found a scan of 6600 blocks, expected 2054864");
    fs::remove_file(&kept).expect("a checkpoint");
}

#[test]
fn scans_that_would_lose_data_are_refused() {
    let disk = file_of("refused.disk", "");
    fs::write(&disk, contents()).expect("a file");
    let sim = format!("sim:{}", file_of("refused.toml", SMALL));
    let damaged = file_of("damaged.kept", "something else");
    for (arguments, expected) in [
        (
            &["scan", &disk, "--image", &disk][..],
            "which is read and would be lost",
        ),
        (
            &["scan", &disk, "--checksums", &disk],
            "which is read and would be lost",
        ),
        (
            &["scan", &disk, "--checkpoint", &damaged],
            "the file is not a checkpoint of a scan",
        ),
        (
            &["scan", &disk, "--model", "hp-c2247"],
            "a drive of 6600 blocks of 512 bytes",
        ),
        (
            &["scan", &disk, "--workload", "closed(clients=1) uniform"],
            "--model",
        ),
        (
            &["scan", &disk, "--requests", "5"],
            "`--requests` needs `--workload` on a real device: ",
        ),
        (
            &["scan", &disk, "--in-firmware"],
            "the firmware of a device",
        ),
        (
            &["scan", &sim, "--image", "x"],
            "`--image` needs a real device: a simulated drive holds no data",
        ),
        (
            &["scan", "no-such-file"],
            "expected an existing file or device",
        ),
        (&["scan", "nbd://"], "nbd://HOST[:PORT][/EXPORT]"),
        (&["scan", "iscsi://host"], "iscsi://HOST[:PORT]/TARGET/LUN"),
        (
            &["scan", "http://host"],
            "expected the path of a file or a device, sim:NAME",
        ),
    ] {
        let output = diskarm(arguments);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(expected), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    assert_eq!(fs::read(&disk).expect("a file"), contents());
}

#[test]
fn a_missing_server_is_reported() {
    let output = diskarm(&["scan", "nbd+unix:///?socket=no-such.sock"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    let expected = "cannot connect to the NBD server: No such file";
    assert!(message.contains(expected), "{message}");
}
