//! Commands to a server that runs.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::errors::error;
use crate::printed;

/// A server, killed when it is dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_server_takes_commands_at_its_control_socket() {
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
    let cases: [(&[&str], &str); 7] = [
        (
            &["pending"],
            r#"{"is_powered":true,"pending":[],"last_cut":null}"#,
        ),
        (
            &["strike", "--after", "flush", "--nth", "3", "--torn"],
            "{}",
        ),
        (&["strike", "--after", "1800s"], "{}"),
        (&["inject", "--first", "8", "--affects", "both"], "{}"),
        (&["heal", "--first", "9", "--sectors", "2"], "{}"),
        (
            &["power-cut", "--worst", "--seed", "5"],
            r#"{"lost_writes":0,"unfinished_writes":0,"reverted_sectors":0}"#,
        ),
        (&["power-restore"], "{}"),
    ];
    for (arguments, expected) in cases {
        let asked = [&["serve", "ctl", &control], arguments].concat();
        assert_eq!(printed(&asked).trim_end(), expected, "{arguments:?}");
    }
    let figures = printed(&["serve", "ctl", &control, "figures"]);
    assert!(figures.starts_with(r#"{"export":"","drive":"sata-4tb-7200","#));
    let ask = |arguments: &[&str]| error(&[&["serve", "ctl", &control], arguments].concat());
    assert_eq!(ask(&["power-restore"]), "the power is on");
    assert_eq!(
        ask(&["strike", "--after", "2s", "--nth", "3"]),
        "--nth: found \"3\", expected none after a time"
    );
    assert_eq!(
        ask(&["--export", "db", "power-cut"]),
        "nothing tells when data of this device reach the media"
    );
    assert_eq!(
        ask(&["--export", "none", "pending"]),
        "there is no export \"none\""
    );
    drop(server);
    for path in [socket, control] {
        std::fs::remove_file(path).expect("a socket");
    }
}
