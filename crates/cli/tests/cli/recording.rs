//! Tests of `diskarm serve --record`: requests of real clients are recorded and replayed.

use std::fs;

use crate::serve::{Server, client, name_of, output};
use crate::{diskarm, iscsi, json, skip};

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
