//! Tests of `diskarm serve --record`: requests of real clients are recorded and replayed.

use std::fs;
use std::process::Command;

use crate::running::Running;
use crate::serve::{Server, client, name_of, output};
use crate::{diskarm, iscsi, json, skip};

const SMALL: &str = include_str!("../../../scan/tests/scan/small.toml");

/// Reads and writes at several depths; the last are in progress when the server gets SIGTERM.
const SCRIPT: &str = "
import os, signal
for n in range(8):
    h.pwrite(bytes([n + 1]) * 4096, n * 5 * 65536)
h.flush()
h.zero(131072, 1048576, nbd.CMD_FLAG_FUA)
h.trim(65536, 0)
h.trim(65536, 65536)
cookies = [h.aio_pread(nbd.Buffer(4096), n * 7919 % 240 * 4096) for n in range(24)]
while h.aio_in_flight() > 16:
    h.poll(-1)
os.kill(SERVER, signal.SIGTERM)
try:
    while h.aio_in_flight():
        h.poll(-1)
except nbd.Error:
    pass
";

/// The file has all answered requests with their response times, which a replay reproduces.
#[test]
fn a_recording_has_all_answered_requests() {
    let [text, answers] = ["r.spc", "r.csv"].map(|name| {
        let path = name_of(name);
        path.to_str().expect("UTF-8").to_owned()
    });
    let other = format!("other(drive=hp-c2247, size=1 MiB, record={answers})");
    let arguments = [
        "--drive",
        "hp-c2247",
        "--policy",
        "look",
        "--size",
        "4 MiB",
        "--record",
        &text,
        "--record-format",
        "spc",
        "--export",
        &other,
    ];
    let server = Server::start("record", &arguments);
    let script = SCRIPT.replace("SERVER", &server.id().to_string());
    let shell = ["nbdsh", "-u", &server.uri(""), "-c", &script];
    if client("python3-libnbd", &shell).is_none() {
        return;
    }
    let served = server.wait();
    assert_eq!(served["failed"], 0);
    let (reads, writes) = (&served["reads"], &served["writes"]);
    assert_eq!(writes, 8);
    let recording = &served["recording"];
    let count = reads.as_u64().expect("a number") + 9;
    assert_eq!(recording["requests"], count);
    let without = ["flushes", "trims", "failed"].map(|key| recording[key].as_u64());
    assert_eq!(without, [Some(1), Some(2), Some(0)]);
    let notes = recording["notes"].as_array().expect("notes");
    for note in [
        "writes with force unit access recorded as plain writes: 1",
        "writes of zeroes recorded as plain writes: 1",
    ] {
        assert!(notes.contains(&note.into()), "{notes:?}");
    }
    assert_eq!(recording["file"], *text);
    let replay = [
        "simulate", "--drive", "hp-c2247", "--policy", "look", "--trace", &text, "--json",
    ];
    assert_eq!(json(&replay)["requests"], count);
    // The other export received nothing, but its file exists.
    assert_eq!(fs::read(&answers).expect("a file"), b"");
    for file in [text, answers] {
        fs::remove_file(file).expect("a file");
    }
}

/// A whole drive, which a unit reports as such, and a drive behind a policy.
#[test]
fn a_recording_over_iscsi_has_all_answered_requests() {
    for policy in ["fcfs", "look"] {
        let path = name_of("iscsi.spc").to_str().expect("UTF-8").to_owned();
        let drive = ["--drive", "hp-c2247", "--policy", policy];
        let server = iscsi::Server::start(
            &[&drive[..], &["--record", &path, "--record-format", "spc"]].concat(),
        );
        let io = ["qemu-io", "-f", "raw", &server.uri];
        let commands = [
            "write -P 5 1M 64k",
            "flush",
            "aio_read 8M 4k",
            "aio_read 100M 8k",
            "aio_write 9M 4k",
            "aio_flush",
            "read -P 5 1M 64k",
        ];
        let commands = commands.iter().flat_map(|command| ["-c", command]);
        let commands: Vec<&str> = io.into_iter().chain(commands).collect();
        let Some(output) = output("qemu-block-extra", &commands) else {
            return;
        };
        if String::from_utf8_lossy(&output.stderr).contains("Unknown driver 'iscsi'") {
            skip("qemu-io has no iSCSI (qemu-block-extra)");
            return;
        }
        assert!(output.status.success());
        let served = server.stop();
        let recording = &served["recording"];
        let counts = ["requests", "flushes", "failed"].map(|key| &recording[key]);
        let (reads, writes) = (&served["reads"], &served["writes"]);
        let all = reads.as_u64().expect("a number") + writes.as_u64().expect("a number");
        assert_eq!(
            counts,
            [all, served["flushes"].as_u64().expect("a number"), 0]
        );
        let replay = [&["simulate"], &drive[..], &["--trace", &path, "--json"]].concat();
        assert_eq!(json(&replay)["requests"], all);
        fs::remove_file(path).expect("a file");
    }
}

#[test]
fn a_recording_never_replaces_an_input() {
    let image = name_of("record-image").to_str().expect("UTF-8").to_owned();
    fs::write(&image, vec![7; 1 << 20]).expect("a file");
    let error = |arguments: &[&str]| {
        let arguments = [&["serve", "nbd", "--drive", "hp-c2247"], arguments].concat();
        let output = diskarm(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8(output.stderr).expect("text")
    };
    let store = format!("file:{image}");
    let found = error(&["--store", &store, "--record", &image]);
    let expected = "expected a different file from --store ";
    assert!(
        found.starts_with("error: --record: ") && found.contains(expected),
        "{found}"
    );
    assert_eq!(fs::read(&image).expect("a file"), vec![7; 1 << 20]);
    let other = format!("x(drive=hp-c2247, record={image}.spc)");
    let twice = format!("{image}.spc");
    let found = error(&["--record", &twice, "--export", &other]);
    assert!(found.contains("which is also written"), "{found}");
    let found = error(&["--record", &twice, "--record-format", "alibaba"]);
    assert!(found.starts_with("error: --record-format: "), "{found}");
    let found = error(&["--export", &other, "--instant"]);
    assert!(
        found.contains("`--record` cannot be combined with `--instant`"),
        "{found}"
    );
    assert!(!fs::exists(&twice).expect("a folder"));
    fs::remove_file(image).expect("a file");
}

#[test]
fn an_empty_recording_does_not_replace_an_earlier_one() {
    let path = name_of("kept.spc").to_str().expect("UTF-8").to_owned();
    let arguments = ["--drive", "hp-c2247", "--record", &path];
    let end = || Server::start("kept", &arguments).stop()["recording"].clone();
    // The first recording creates an empty file, which a later one may replace.
    for _ in 0..2 {
        let recording = end();
        assert_eq!(recording["notes"].as_array().map(Vec::len), Some(0));
        assert_eq!(recording["requests"], 0);
    }
    fs::write(&path, "0,0,4096,r,0.0\n").expect("a file");
    let recording = end();
    let note = "there was nothing to record: the earlier file is unchanged";
    assert_eq!(recording["notes"][0], note);
    assert_eq!(fs::read(&path).expect("a file"), b"0,0,4096,r,0.0\n");
    fs::remove_file(path).expect("a file");
}

/// A client reads the whole drive, then the server is killed. The next one leaves the recording.
#[test]
fn a_recording_survives_kill() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let text = |name: &str| path(name).to_str().expect("UTF-8").to_owned();
    fs::write(path("small.toml"), SMALL).expect("a file");
    let (drive, recorded) = (text("small.toml"), text("work.csv"));
    let arguments = ["--drive", &drive, "--speed", "20", "--record", &recorded];
    let mut server = Server::start("killed", &arguments);
    let uri = server.uri("");
    let read = json(&["scan", &uri, "--json"])["blocks"].clone();
    let left = path(&format!("work.csv.{}.part", server.id()));
    let blocks = || {
        let rows = fs::read_to_string(&left).expect("a recording");
        let bytes = rows
            .lines()
            .filter_map(|line| line.split(',').nth(5)?.parse::<u64>().ok());
        bytes.sum::<u64>() / 512
    };
    // The last answers are there after milliseconds.
    for _ in 0..6000 {
        if Some(blocks()) == read.as_u64() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(Some(blocks()), read.as_u64());
    server.kill();
    let found = fs::read_to_string(&left).expect("a recording");
    let info = json(&["trace", "info", left.to_str().expect("UTF-8"), "--json"]);
    assert_eq!(info["requests"], found.lines().count());
    assert!(!path("work.csv").exists());
    let again = Server::start("killed", &arguments);
    json(&["scan", &again.uri(""), "--json"]);
    assert_eq!(again.stop()["recording"]["requests"], found.lines().count());
    assert_eq!(fs::read_to_string(&left).expect("a recording"), found);
    assert!(path("work.csv").exists());
}

/// The file cannot grow beyond 512 bytes, as on a full disk; what it has stays.
#[test]
fn a_recording_that_fails_is_kept() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("small.toml"), SMALL).expect("a file");
    // The signal is ignored, so that writes fail instead of killing the program.
    let limited = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
    let mut server = Command::new("sh");
    server.args(["-c", limited, env!("CARGO_BIN_EXE_diskarm"), "serve"]);
    server.args(["nbd", "--speed", "20", "--listen", "127.0.0.1:0", "--drive"]);
    server
        .arg(path("small.toml"))
        .arg("--record")
        .arg(path("work.csv"));
    let mut server = Running::start(&mut server);
    json(&["scan", &server.uri(), "--json"]);
    let id = server.id().to_string();
    let stopped = Command::new("kill").args(["-TERM", &id]).status();
    assert!(stopped.expect("kill").success());
    assert_eq!(server.wait_for_end().code(), Some(2));
    let left = fs::read_to_string(path(&format!("work.csv.{id}.part")));
    assert!(left.expect("a recording").lines().count() > 5);
    assert!(!path("work.csv").exists());
}
