//! `diskarm serve nbd --record`: what real clients do, replayed.

use std::fs;

use crate::serve::{Server, client, name_of};
use crate::{diskarm, json};

/// Reads and writes at several depths; the last are under way when the server gets SIGTERM.
const SCRIPT: &str = "
import os, signal
for n in range(8):
    h.pwrite(bytes([n + 1]) * 4096, n * 5 * 65536)
h.flush()
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

/// All that was answered is in the file, with the answers' times, which a replay finds again.
#[test]
fn a_recording_holds_all_that_was_served() {
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
    let count = reads.as_u64().expect("a number") + 8;
    assert_eq!(recording["requests"], count);
    assert_eq!(
        (&recording["flushes"], &recording["failed"]),
        (&1.into(), &0.into())
    );
    assert_eq!(recording["file"], *text);
    let replay = [
        "simulate", "--drive", "hp-c2247", "--policy", "look", "--trace", &text, "--json",
    ];
    assert_eq!(json(&replay)["requests"], count);
    // Nothing came to the other export: its file is there all the same.
    assert_eq!(fs::read(&answers).expect("a file"), b"");
    for file in [text, answers] {
        fs::remove_file(file).expect("a file");
    }
}

#[test]
fn a_recording_never_takes_the_place_of_an_input() {
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
    let expected = "expected another file than --store ";
    assert!(
        found.starts_with("error: --record: ") && found.contains(expected),
        "{found}"
    );
    assert_eq!(fs::read(&image).expect("a file"), vec![7; 1 << 20]);
    let other = format!("x(drive=hp-c2247, record={image}.spc)");
    let twice = format!("{image}.spc");
    let found = error(&["--record", &twice, "--export", &other]);
    assert!(found.contains("which is written too"), "{found}");
    let found = error(&["--record", &twice, "--record-format", "alibaba"]);
    assert!(found.starts_with("error: --record-format: "), "{found}");
    let found = error(&["--export", &other, "--no-time"]);
    assert!(found.contains("expected no --no-time"), "{found}");
    assert!(!fs::exists(&twice).expect("a folder"));
    fs::remove_file(image).expect("a file");
}
