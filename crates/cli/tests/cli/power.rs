//! Tests of commands to a running server.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::errors::error;
use crate::serve::{name_of, output};
use crate::{iscsi, skip, stdout};

/// A server, killed when it is dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Commands and their expected output.
const CASES: [(&[&str], &str); 9] = [
    (
        &["pending"],
        r#"{"is_powered":true,"pending":[],"last_cut":null}"#,
    ),
    (
        &["trigger", "--after", "flush", "--nth", "3", "--torn"],
        "{}",
    ),
    (&["trigger", "--after", "1800s"], "{}"),
    (&["inject", "--first", "8", "--affects", "both"], "{}"),
    (&["heal", "--first", "9", "--sectors", "2"], "{}"),
    (
        &["inject", "--first", "20", "--sectors", "2", "--times", "3"],
        "{}",
    ),
    (
        &["errors"],
        concat!(
            r#"{"errors":[{"first_sector":8,"sectors":1,"affects":"both","times":null},"#,
            r#"{"first_sector":11,"sectors":null,"affects":"both","times":null},"#,
            r#"{"first_sector":20,"sectors":2,"affects":"reads","times":3}]}"#
        ),
    ),
    (
        &["power-cut", "--worst", "--seed", "5"],
        r#"{"lost_writes":0,"unfinished_writes":0,"reverted_sectors":0}"#,
    ),
    (&["power-restore"], "{}"),
];

#[test]
fn a_server_accepts_commands_at_its_control_socket() {
    let name = format!("diskarm-{}-power", std::process::id());
    let socket = std::env::temp_dir().join(name).display().to_string();
    let control = format!("{socket}-control");
    assert!(error(&["serve", "ctl", &control, "pending"]).contains(": cannot ask: "));
    let other = format!("db(drive={}, size=1 MiB)", "raid0(disks=2, drive=hp-c2247)");
    let mut child = Command::new(env!("CARGO_BIN_EXE_diskarm"))
        .args([
            "serve",
            "nbd",
            "--drive",
            "sata-4tb-7200",
            "--size",
            "1 MiB",
        ])
        .args(["--export", &other, "--control", &control, "--listen"])
        .arg(format!("unix:{socket}"))
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program was built with this test");
    let stderr = child.stderr.take().expect("piped");
    let server = Server(child);
    let mut line = String::new();
    BufReader::new(stderr).read_line(&mut line).expect("a line");
    assert!(line.starts_with("serving "), "{line}");
    for (arguments, expected) in CASES {
        let command_line = [&["serve", "ctl", &control], arguments].concat();
        assert_eq!(stdout(&command_line).trim_end(), expected, "{arguments:?}");
    }
    let figures = stdout(&["serve", "ctl", &control, "stats"]);
    assert!(figures.starts_with(r#"{"export":"","drive":"sata-4tb-7200","#));
    let ask = |arguments: &[&str]| error(&[&["serve", "ctl", &control], arguments].concat());
    assert_eq!(ask(&["power-restore"]), "the power is already on");
    assert_eq!(
        ask(&["trigger", "--after", "2s", "--nth", "3"]),
        "--nth: found \"3\", expected nothing, because the trigger waits for a time"
    );
    assert_eq!(
        ask(&["--export", "db", "power-cut"]),
        "raid0(disks=2, drive=hp-c2247) does not report when data reach the media, so its power \
         cannot be cut: use a single drive with nothing in front of it, not an array, a pair or a \
         cache"
    );
    check_ranges(&control);
    drop(server);
    for path in [socket, control] {
        std::fs::remove_file(path).expect("a socket");
    }
}

/// Faults can be injected only into existing sectors.
fn check_ranges(control: &str) {
    let ask = |arguments: &[&str]| error(&[&["serve", "ctl", control], arguments].concat());
    // Some ranges include existing sectors, others do not.
    for (range, found) in [
        (&["--first", "2047", "--sectors", "2"][..], "2047 to 2048"),
        (&["--first", "2048"], "2048"),
    ] {
        let arguments = [&["--export", "db", "inject"], range].concat();
        let expected = "expected a range in the 2048 sectors of db";
        assert_eq!(
            ask(&arguments),
            format!("inject: found sectors from {found}, {expected}")
        );
    }
    let inside = [
        "--export",
        "db",
        "inject",
        "--first",
        "2046",
        "--sectors",
        "2",
    ];
    let command_line = [&["serve", "ctl", control], &inside[..]].concat();
    assert_eq!(stdout(&command_line), "{}\n");
    let error = ask(&["inject", "--times", "2"]);
    assert!(
        error.contains("required") && error.contains("--first <N>"),
        "{error}"
    );
    assert_eq!(
        ask(&["--export", "none", "pending"]),
        "there is no export \"none\""
    );
}

/// QEMU flushes when it closes a disk. Without power it retries its login until it succeeds.
#[test]
fn qemu_logs_in_again_after_a_power_cut() {
    let control = name_of("qemu-control").display().to_string();
    let arguments = ["--drive", "sata-4tb-7200", "--size", "1 MiB", "--instant"];
    let server = iscsi::Server::start(&[&arguments[..], &["--control", &control]].concat());
    let io = ["qemu-io", "-t", "writeback", "-f", "raw", &server.uri];
    let run = |commands: &[&str]| {
        let commands = commands.iter().flat_map(|command| ["-c", command]);
        let commands: Vec<&str> = io.into_iter().chain(commands).collect();
        output("qemu-block-extra", &commands)
    };
    let ask = |arguments: &[&str]| stdout(&[&["serve", "ctl", &control], arguments].concat());
    let Some(first) = run(&["write -P 5 0 64k", "flush"]) else {
        return;
    };
    if String::from_utf8_lossy(&first.stderr).contains("Unknown driver 'iscsi'") {
        skip("qemu-io has no iSCSI (qemu-block-extra)");
        return;
    }
    assert!(first.status.success());
    ask(&["trigger", "--before", "flush"]);
    std::thread::scope(|scope| {
        let second = scope.spawn(|| run(&["write -P 6 0 32k"]));
        while !ask(&["pending"]).contains(r#""is_powered":false"#) {
            assert!(!second.is_finished(), "the trigger did not fire");
        }
        ask(&["power-restore"]);
        let second = second.join().expect("no panic").expect("installed");
        assert!(second.status.success());
    });
    let lost = r#""last_cut":{"lost_writes":1,"unfinished_writes":0,"reverted_sectors":64}}"#;
    assert!(ask(&["pending"]).contains(lost));
    let third = run(&["read -P 5 0 64k"]).expect("installed");
    let text = String::from_utf8_lossy(&third.stdout);
    let is_read = text.starts_with("read 65536/65536 bytes at offset 0\n");
    assert!(third.status.success() && is_read, "{third:?}");
    server.stop();
}
