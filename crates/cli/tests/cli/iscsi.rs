//! Serves drives over iSCSI to real clients, from Debian's packages libiscsi-bin, and qemu-utils
//! with qemu-block-extra. A test whose client is not installed prints a line and passes.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use crate::running::Running;
use crate::serve::{client, output};
use crate::{diskarm, file_of, skip};

const LIBISCSI: &str = "libiscsi-bin";

/// A server at a port of this machine.
pub struct Server {
    running: Running,
    /// The address of its first target.
    pub uri: String,
}

impl Server {
    /// Starts a server with `arguments` on a free port.
    pub fn start(arguments: &[&str]) -> Self {
        Self::spawn(Command::new(env!("CARGO_BIN_EXE_diskarm")), arguments)
    }

    /// Starts a server with a higher real-time priority than its clients.
    pub fn start_in_real_time(arguments: &[&str]) -> Self {
        let mut command = Command::new("chrt");
        command.args(["--fifo", "20", env!("CARGO_BIN_EXE_diskarm")]);
        Self::spawn(command, arguments)
    }

    fn spawn(mut program: Command, arguments: &[&str]) -> Self {
        program.args(["serve", "iscsi", "--json", "--listen", "127.0.0.1:0"]);
        program.env("DISKARM_CHAP_INITIATOR", "alice secret-of-alice");
        program.env("DISKARM_CHAP_TARGET", "disk secret-of-disk");
        let running = Running::start(program.args(arguments));
        let uri = running.uri();
        Self { running, uri }
    }

    /// The address of its portal.
    fn portal(&self) -> String {
        let parts: Vec<&str> = self.uri.split('/').take(3).collect();
        parts.join("/")
    }

    /// Returns the URI of the target with a name and a secret.
    fn uri_of(&self, name: &str, secret: &str) -> String {
        let account = format!("iscsi://{name}%{secret}@");
        self.uri.replacen("iscsi://", &account, 1)
    }

    /// Stops it with SIGTERM; returns the printed statistics of its first export.
    pub fn stop(mut self) -> Value {
        self.running.stop()
    }
}

/// Creates a file that only its owner may read.
fn secret_file_of(name: &str, text: &str) -> String {
    let path = file_of(name, text);
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("a file");
    path
}

#[test]
fn libiscsi_reads_the_properties_of_targets() {
    let other = "old(drive=sata-4tb-7200, read-only=yes)";
    let server = Server::start(&["--drive", "hp-c2247", "--export", other]);
    let Some(list) = client(LIBISCSI, &["iscsi-ls", "--show-luns", &server.portal()]) else {
        return;
    };
    let portal = server.portal().replace("iscsi://", "");
    let first = "iqn.2026-01.com.example.diskarm";
    // The last target comes first; sizes are limited to 2 TiB, as READ CAPACITY(10) reports.
    let expected = [
        format!("Target:{first}:old Portal:{portal},1"),
        "Lun:0    Type:DIRECT_ACCESS (Size:1T)".to_owned(),
        format!("Target:{first} Portal:{portal},1"),
        "Lun:0    Type:DIRECT_ACCESS (Size:1003M)".to_owned(),
    ];
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines, expected);
    let inquiry = client(LIBISCSI, &["iscsi-inq", &server.uri]).expect("installed");
    assert!(inquiry.contains("Vendor:DISKARM"), "{inquiry}");
    assert!(inquiry.contains("Product:HP-C2247"), "{inquiry}");
    // The drive reports its 5400 rpm.
    let page = ["iscsi-inq", "-e", "1", "-c", "177", &server.uri];
    let page = client(LIBISCSI, &page).expect("installed");
    assert!(page.contains("5400"), "{page}");
    let capacity = client(LIBISCSI, &["iscsi-readcapacity16", &server.uri]);
    let capacity = capacity.expect("installed");
    let model = diskarm_simulate::Model::find("hp-c2247").expect("a drive");
    let last = model.disk().sectors.0 - 1;
    let last = format!("RETURNED LOGICAL BLOCK ADDRESS:{last}\n");
    assert!(capacity.contains(&last), "{capacity}");
    assert!(
        capacity.contains("LOGICAL BLOCK LENGTH IN BYTES:512\n"),
        "{capacity}"
    );
}

/// The drive answers at most a few hundred reads a second.
#[test]
fn iscsi_perf_reads_at_the_speed_of_the_drive() {
    let server = Server::start(&["--drive", "hp-c2247", "--policy", "sptf"]);
    let arguments = [
        "iscsi-perf",
        "-t",
        "1",
        "-r",
        "-b",
        "8",
        "-m",
        "8",
        &server.uri,
    ];
    if client(LIBISCSI, &arguments).is_none() {
        return;
    }
    let served = server.stop();
    let reads = served["reads"].as_u64().expect("a number");
    assert!((20..1000).contains(&reads), "{served}");
    assert_eq!(served["lateness"]["replies"], reads, "{served}");
}

/// Runs the tests of libiscsi, with a second path to the target. The two that fail use COMPARE AND
/// WRITE with 256 blocks, which is zero in eight bits, and expect an error that SBC-3 lacks.
#[test]
fn libiscsi_tests_the_target() {
    let server = Server::start(&["--drive", "hp-c2247", "--size", "64 MiB", "--instant"]);
    let arguments = [
        "iscsi-test-cu",
        "--dataloss",
        "--allow-sanitize",
        "--test=ALL",
        &server.uri,
        &server.uri,
    ];
    let Some(output) = output(LIBISCSI, &arguments) else {
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let tests: Vec<&str> = text.split("\n  Test: ").skip(1).collect();
    let has_failed = |test: &&&str| test.contains("FAILED\n");
    let failed: Vec<&str> = tests.iter().filter(has_failed).copied().collect();
    let skipped = tests
        .iter()
        .filter(|test| test.contains("[SKIPPED]") && !has_failed(test));
    let skipped = skipped.count();
    let passed = tests.len() - skipped - failed.len();
    eprintln!(
        "libiscsi: {passed} pass, {skipped} skip, {} fail",
        failed.len()
    );
    let is_known = |test: &&str| test.contains("test_compareandwrite_");
    assert!(failed.iter().all(is_known), "{failed:?}");
    assert!(passed >= 170 && failed.len() <= 3, "{passed} pass");
}

#[test]
fn only_clients_that_know_the_secret_can_connect() {
    let server = Server::start(&["--drive", "hp-c2247", "--chap", "env"]);
    let known = server.uri_of("alice", "secret-of-alice");
    let Some(inquiry) = client(LIBISCSI, &["iscsi-inq", &known]) else {
        return;
    };
    assert!(inquiry.contains("Product:HP-C2247"), "{inquiry}");
    // The server proves that it knows the other secret.
    let both = format!("{known}?target_user=disk&target_password=secret-of-disk");
    assert!(client(LIBISCSI, &["iscsi-inq", &both]).is_some());
    let wrong = [
        server.uri.clone(),
        server.uri_of("alice", "secret-of-mallory"),
        server.uri_of("mallory", "secret-of-alice"),
        format!("{known}?target_user=disk&target_password=secret-of-other"),
    ];
    for uri in wrong {
        let output = Command::new("timeout")
            .args(["60", "iscsi-inq", &uri])
            .output();
        let output = output.expect("timeout, of coreutils");
        assert!(!output.status.success(), "{uri}");
        assert!(output.stdout.is_empty(), "{uri}");
    }
}

/// `diskarm extract` can log in, and reports that a plain store is not a drive.
#[test]
fn the_initiator_reaches_the_target() {
    let server = Server::start(&["--drive", "hp-c2247", "--chap", "env", "--instant"]);
    let found = file_of("iscsi-found.toml", "");
    let accounts = |of_alice: &str| {
        let text = format!("initiator alice {of_alice}\ntarget disk secret-of-disk\n");
        secret_file_of("iscsi-accounts", &text)
    };
    let extract = |uri: &str, accounts: &str| {
        let chap = format!("file:{accounts}");
        let output = diskarm(&["extract", uri, "-o", &found, "--quick", "--chap", &chap]);
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let right = accounts("secret-of-alice");
    let (code, shown, _) = extract(&server.uri, &right);
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("DISKARM HP-C2247"), "{shown}");
    assert!(shown.contains("rotation failed"), "{shown}");
    let (code, _, error) = extract(&server.portal(), &right);
    assert_eq!(code, Some(2));
    let expected = "expected a URL with a target, such as one of iqn.2026-01.com.example.diskarm";
    assert!(error.contains(expected), "{error}");
    let wrong = accounts("secret-of-mallory");
    let (_, _, error) = extract(&server.uri, &wrong);
    assert!(
        error.contains("login refused: wrong or missing user name or secret"),
        "{error}"
    );
    for path in [&right, &found, &format!("{found}.partial")] {
        std::fs::remove_file(path).expect("a file");
    }
}

#[test]
fn qemu_copies_an_image_to_a_target_and_back() {
    let data: Vec<u8> = (0..4 << 20).map(|at: u32| (at / 1000) as u8).collect();
    let [from, to] = ["from", "to"].map(|name| file_of(&format!("iscsi-{name}"), ""));
    std::fs::write(&from, &data).expect("a file");
    let server = Server::start(&["--drive", "hp-c2247", "--size", "4 MiB", "--instant"]);
    let formats = Command::new("qemu-img")
        .args(["info", &server.uri])
        .output();
    if !formats.is_ok_and(|output| output.status.success()) {
        skip("qemu-img cannot reach iSCSI (qemu-utils, qemu-block-extra)");
        return;
    }
    let to_target = [
        "qemu-img",
        "convert",
        "-n",
        "-f",
        "raw",
        "-O",
        "raw",
        &from,
        &server.uri,
    ];
    client("qemu-utils", &to_target);
    let back = [
        "qemu-img",
        "convert",
        "-f",
        "raw",
        "-O",
        "raw",
        &server.uri,
        &to,
    ];
    client("qemu-utils", &back);
    assert!(std::fs::read(&to).expect("a file") == data);
    for path in [from, to] {
        std::fs::remove_file(path).expect("a file");
    }
}

#[test]
fn errors_name_the_flag() {
    let error = |arguments: &[&str]| {
        let output = diskarm(&[&["serve", "iscsi", "--drive", "hp-c2247"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8(output.stderr).expect("text")
    };
    let open = error(&["--listen", "0.0.0.0:0"]);
    let expected = "protect the server with --chap, or allow it with --insecure\n";
    assert!(
        open.starts_with("error: `--listen`: other machines can connect to 0.0.0.0:0; ")
            && open.ends_with(expected),
        "{open}"
    );
    let short = secret_file_of("iscsi-chap", "initiator alice short\n");
    let open_file = file_of("iscsi-open", "initiator alice secret-of-alice\n");
    let expected = "must be accessible only to its owner (its mode is 644; run chmod 600 ";
    std::fs::set_permissions(&open_file, Permissions::from_mode(0o644)).expect("a file");
    let found = error(&["--chap", &format!("file:{open_file}")]);
    assert!(found.contains(expected), "{found}");
    let cases = [
        (
            error(&["--listen", "unix:socket"]),
            "--listen: found \"unix:socket\", expected HOST:PORT",
        ),
        (
            error(&["--export", "Big(drive=hp-c2247)"]),
            "--export: found \"Big\", expected a name of lower-case letters",
        ),
        (
            error(&["--chap", "secret"]),
            "--chap: found \"secret\", expected file:PATH or env",
        ),
        (
            error(&["--chap", "file:/no/file"]),
            "/no/file: cannot read: ",
        ),
        (
            error(&["--chap", "env"]),
            "--chap: found \"env\", expected names and secrets (there is no line",
        ),
    ];
    for (found, expected) in cases {
        assert!(found.starts_with(&format!("error: {expected}")), "{found}");
    }
    let found = error(&["--chap", &format!("file:{short}")]);
    assert!(
        found.contains("must have 12 to 255 bytes; found 5 and 5 bytes"),
        "{found}"
    );
    for path in [short, open_file] {
        std::fs::remove_file(path).expect("a file");
    }
}
