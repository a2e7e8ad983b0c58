//! Tests of what the sockets of `diskarm serve` replace and remove.

use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::diskarm;
use crate::running::Running;

const SERVE: [&str; 4] = ["serve", "nbd", "--drive", "hp-c2247"];

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Returns the options that name a socket at `path`.
fn sockets(path: &Path) -> [(&'static str, String); 2] {
    let path = text(path);
    [
        ("--listen", format!("unix:{path}")),
        ("--control", path.to_owned()),
    ]
}

/// Asserts that a server with these options ends with this error.
fn assert_refused(options: &[&str], expected: &str) {
    // A server that is not refused before ends with another error.
    let ended = ["--metrics", "0.0.0.0:0"];
    let output = diskarm(&[&SERVE[..], options, &ended].concat());
    let message = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{options:?}: {message}");
    assert_eq!(message, format!("error: {expected}\n"), "{options:?}");
}

/// Of all that can be at a path, only a socket without a listener is replaced.
#[test]
fn only_a_dead_socket_is_replaced() {
    let folder = TempDir::new().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let all = ["file", "empty", "folder", "pipe", "link", "gone", "reached"].map(path);
    let [file, empty, inner, pipe, link, gone, reached] = &all;
    fs::write(file, "mine").expect("a file");
    fs::write(empty, "").expect("a file");
    fs::create_dir(inner).expect("a folder");
    assert!(
        Command::new("mkfifo")
            .arg(pipe)
            .status()
            .expect("mkfifo")
            .success()
    );
    let dead = path("dead");
    drop(UnixListener::bind(&dead).expect("a socket"));
    symlink(file, link).expect("a link");
    symlink("nowhere", gone).expect("a link");
    symlink(&dead, reached).expect("a link");
    let kind = |path: &PathBuf| fs::symlink_metadata(path).expect("a file").file_type();
    let before = all.each_ref().map(kind);
    for path in &all {
        for (option, address) in sockets(path) {
            let expected = format!(
                "`{option}`: cannot listen on unix:{}: a file that is not a socket has this name: \
                 remove the file, or choose another name",
                path.display()
            );
            assert_refused(&[option, &address, "--size=1 MiB"], &expected);
        }
    }
    assert_eq!(all.each_ref().map(kind), before);
    assert_eq!(fs::read_to_string(file).expect("a file"), "mine");
    let live = path("live");
    let _listener = UnixListener::bind(&live).expect("a socket");
    for (option, address) in sockets(&live) {
        let expected = format!(
            "`{option}`: another program is already listening on unix:{}",
            live.display()
        );
        assert_refused(&[option, &address], &expected);
    }
    let control = path("control");
    drop(UnixListener::bind(&control).expect("a socket"));
    let [(listen, address), _] = sockets(&dead);
    let mut server = Command::new(env!("CARGO_BIN_EXE_diskarm"));
    server.args(SERVE).args(["--json", listen, &address]);
    let mut server = Running::start(server.arg("--control").arg(&control));
    server.stop();
    assert!(!dead.exists() && !control.exists());
}

/// A socket at the path of an input or another output is refused before anything is created.
#[test]
fn sockets_are_not_inputs_or_other_outputs() {
    let folder = TempDir::new().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let (image, drive, new) = (path("image"), path("drive.toml"), path("new"));
    fs::write(&image, vec![7; 1 << 20]).expect("a file");
    let entry = diskarm_drives::find("hp-c2247").expect("a drive");
    fs::write(&drive, entry.text).expect("a file");
    let (link, hard) = (path("link"), path("hard"));
    symlink(&image, &link).expect("a link");
    fs::hard_link(&image, &hard).expect("a link");
    let indirect = path(".").join("image");
    let store = format!("file:{}", text(&image));
    let new_store = format!("file:{}", text(&new));
    let export = format!("x(drive={})", text(&drive));
    let record = format!("x(drive=hp-c2247, record={})", text(&new));
    let read = "which is read and would be lost";
    let written = "which is also written";
    for (at, options, field, input, why) in [
        (&image, ["--store", &store], "--store", &image, read),
        (&link, ["--store", &store], "--store", &image, read),
        (&hard, ["--store", &store], "--store", &image, read),
        (&indirect, ["--store", &store], "--store", &image, read),
        (&new, ["--store", &new_store], "--store", &new, read),
        (&drive, ["--export", &export], "--drive", &drive, read),
        (&new, ["--record", text(&new)], "", &new, written),
        (&new, ["--export", &record], "", &new, written),
    ] {
        for (option, address) in sockets(at) {
            // The option that comes first in the program is named last.
            let (named, other) = match field {
                "" => ("--record", option),
                field => (option, field),
            };
            let expected = format!(
                "{named}: found {:?}, expected a different file from {other} {:?}, {why}",
                text(at),
                text(input)
            );
            assert_refused(&[&options[..], &[option, &address]].concat(), &expected);
        }
    }
    assert_eq!(fs::read(&image).expect("a file"), vec![7; 1 << 20]);
    assert_eq!(fs::read_to_string(&drive).expect("a file"), entry.text);
    assert!(!new.exists());
    let [listen, control] = sockets(&new);
    let expected = format!(
        "--control: found {0:?}, expected a different file from --listen {0:?}, {written}",
        text(&new)
    );
    assert_refused(&[listen.0, &listen.1, control.0, &control.1], &expected);
}

/// What another program put in the place of a socket stays.
#[test]
fn a_server_removes_only_its_own_sockets() {
    let folder = TempDir::new().expect("a folder");
    let names = ["listen", "control"].map(|name| folder.path().join(name));
    let address = format!("unix:{}", text(&names[0]));
    let mut server = Command::new(env!("CARGO_BIN_EXE_diskarm"));
    server.args(SERVE).args(["--json", "--listen", &address]);
    let mut server = Running::start(server.arg("--control").arg(&names[1]));
    for path in &names {
        assert!(
            fs::metadata(path)
                .expect("a socket")
                .file_type()
                .is_socket()
        );
        fs::remove_file(path).expect("a socket");
    }
    let other = UnixListener::bind(&names[0]).expect("a socket");
    fs::write(&names[1], "mine").expect("a file");
    server.stop();
    assert!(names[0].exists());
    assert_eq!(fs::read_to_string(&names[1]).expect("a file"), "mine");
    drop(other);
}
