//! Serves drives over NBD with TLS to real clients, which use GnuTLS.

use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::running::Running;
use crate::serve::{client, name_of, output};

#[path = "../../../serve/tests/tls/certificates.rs"]
mod certificates;

use certificates::Authority;

/// A server at a port of this machine.
struct Server {
    running: Running,
    /// The printed URI, which ends with a slash.
    uri: String,
}

impl Server {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_diskarm"));
        program.args(["serve", "nbd", "--json", "--drive", "hp-c2247"]);
        program.args(["--size", "16 MiB", "--instant", "--listen", "127.0.0.1:0"]);
        program.arg("--tls-certificates").arg(folder);
        let running = Running::start(program.args(arguments));
        let uri = running.uri();
        Self { running, uri }
    }

    /// Returns its address for clients that use the certificates in a folder.
    fn with(&self, folder: &Path) -> String {
        format!("{}?tls-certificates={}", self.uri, folder.display())
    }

    /// Stops it and returns its statistics.
    fn stop(mut self) -> Value {
        self.running.stop()
    }
}

#[test]
fn nbdcopy_and_nbdsh_use_certificates() {
    let authority = Authority::new();
    let folder = authority.folder(&["server", "client"]);
    let server = Server::start(folder.path(), &["--tls-verify-peer"]);
    assert!(
        server.uri.starts_with("nbds://127.0.0.1:"),
        "{}",
        server.uri
    );
    let uri = server.with(folder.path());
    let Some(info) = client("libnbd-bin", &["nbdinfo", "--json", &uri]) else {
        return;
    };
    let info: Value = serde_json::from_str(&info).expect("JSON");
    let tls = info["TLS"].as_bool().expect("whether it is encrypted");
    assert_eq!((tls, &info["structured"]), (true, &true.into()));
    let data: Vec<u8> = (0..16u32 << 20).map(|at| (at / 1000) as u8).collect();
    let [from, to] = ["from", "to"].map(|name| name_of(&format!("tls-{name}")));
    std::fs::write(&from, &data).expect("a file");
    let [from_name, to_name] = [&from, &to].map(|path| path.to_str().expect("UTF-8"));
    let copy = ["nbdcopy", "--connections=4", "--threads=4"];
    client("libnbd-bin", &[&copy[..], &[from_name, &uri]].concat());
    client("libnbd-bin", &[&copy[..], &[&uri, to_name]].concat());
    assert!(std::fs::read(&to).expect("a file") == data);
    for path in [from, to] {
        std::fs::remove_file(path).expect("a file");
    }
    let script = format!(
        "h.set_uri_allow_local_file(True)\nh.connect_uri('{uri}')\n\
         assert h.get_tls_negotiated()\nh.pwrite(b'x' * 512, 0)\nh.flush()\n\
         assert h.pread(512, 0) == b'x' * 512"
    );
    client("python3-libnbd", &["nbdsh", "-c", &script]);
    assert_eq!(server.stop()["failed"], 0);
}

#[test]
fn clients_without_the_right_certificates_are_refused() {
    let (authority, other) = (Authority::new(), Authority::new());
    let folder = authority.folder(&["server", "client"]);
    let without = authority.folder(&[]);
    let wrong = other.folder(&["client"]);
    let server = Server::start(folder.path(), &["--tls-verify-peer"]);
    let plain = server.uri.replace("nbds://", "nbd://");
    for (uri, expected) in [
        // A certificate from another authority, none, and no TLS.
        (server.with(wrong.path()), ""),
        (server.with(without.path()), ""),
        (plain, "opt_go request: Operation not supported"),
    ] {
        let Some(output) = output("libnbd-bin", &["nbdinfo", &uri]) else {
            return;
        };
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && error.contains(expected),
            "{error}"
        );
    }
    client("libnbd-bin", &["nbdinfo", &server.with(folder.path())]);
    assert_eq!(server.stop()["connections"], 1);
}

#[test]
fn clients_can_choose_if_tls_is_optional() {
    let folder = Authority::new().folder(&["server"]);
    let server = Server::start(folder.path(), &["--tls", "on"]);
    assert!(server.uri.starts_with("nbd://"), "{}", server.uri);
    let size = ["nbdinfo", "--size"];
    for uri in [
        server.uri.clone(),
        server.with(folder.path()).replace("nbd://", "nbds://"),
    ] {
        let Some(text) = client("libnbd-bin", &[&size[..], &[&uri]].concat()) else {
            return;
        };
        assert_eq!(text, "16777216\n");
    }
}

#[test]
fn qemu_uses_certificates() {
    let folder = Authority::new().folder(&["server", "client"]);
    let server = Server::start(folder.path(), &["--tls-verify-peer"]);
    let address = server
        .uri
        .trim_start_matches("nbds://")
        .trim_end_matches('/');
    let (host, port) = address.split_once(':').expect("a port");
    let credentials = format!(
        "tls-creds-x509,id=tls,endpoint=client,dir={}",
        folder.path().display()
    );
    let image =
        format!("driver=nbd,server.type=inet,server.host={host},server.port={port},tls-creds=tls");
    let io = ["qemu-io", "--object", &credentials, "--image-opts", &image];
    let commands = ["-c", "write -P 5 1M 2M", "-c", "read -P 5 2M 1M"];
    let Some(text) = client("qemu-utils", &[&io[..], &commands].concat()) else {
        return;
    };
    assert!(text.contains("read 1048576/1048576"), "{text}");
    assert_eq!(server.stop()["failed"], 0);
}

#[test]
fn errors_name_unusable_files_and_modes() {
    let authority = Authority::new();
    let folder = authority.folder(&[]);
    let path = folder.path().display().to_string();
    let error = |arguments: &[&str]| {
        let serve = [
            "serve",
            "nbd",
            "--drive",
            "hp-c2247",
            "--tls-certificates",
            &path,
        ];
        let output = crate::diskarm(&[&serve[..], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8(output.stderr).expect("text")
    };
    let missing = error(&[]);
    assert!(
        missing.contains("/server-cert.pem: cannot read: "),
        "{missing}"
    );
    std::fs::write(folder.path().join("server-cert.pem"), "").expect("a file");
    let expected =
        format!("error: {path}/server-cert.pem: found none, expected certificates in PEM\n");
    assert_eq!(error(&[]), expected);
    let issued = authority.issue("server");
    let put = |name, text| std::fs::write(folder.path().join(name), text).expect("a file");
    put("server-cert.pem", issued.certificate);
    put("server-key.pem", issued.key);
    let expected = "error: `--tls on` cannot be combined with `--tls-verify-peer`: a client \
                    without TLS has no certificate\n";
    assert_eq!(error(&["--tls", "on", "--tls-verify-peer"]), expected);
    // If clients may connect in plain text, certificates are not enough.
    let open = error(&["--tls", "on", "--listen", "0.0.0.0:0"]);
    assert!(open.starts_with("error: `--listen`: "), "{open}");
}

/// A key that others can read or replace is served with a warning.
#[test]
fn an_exposed_key_is_reported() {
    let folder = Authority::new().folder(&["server"]);
    let key = folder.path().join("server-key.pem");
    for (mode, is_exposed) in [
        (0o600, false),
        (0o400, false),
        (0o644, true),
        (0o640, true),
        (0o602, true),
    ] {
        std::fs::set_permissions(&key, Permissions::from_mode(mode)).expect("a file");
        let mut server = Command::new(env!("CARGO_BIN_EXE_diskarm"));
        server.args([
            "serve",
            "nbd",
            "--drive",
            "hp-c2247",
            "--listen",
            "127.0.0.1:0",
        ]);
        server.arg("--tls-certificates").arg(folder.path());
        let mut server = server.stderr(Stdio::piped()).spawn().expect("built");
        let mut lines = BufReader::new(server.stderr.take().expect("piped")).lines();
        let mut next = || lines.next().map(|line| line.expect("text"));
        let first = next().expect("a line");
        assert!(first.starts_with("serving hp-c2247 at nbds://"), "{first}");
        let killed = Command::new("kill").arg(server.id().to_string()).status();
        assert!(killed.expect("kill").success());
        let key = key.display();
        let warning = format!(
            "warning: other users of this machine can access the key {key}: run chmod 600 {key}"
        );
        assert_eq!(next(), is_exposed.then_some(warning), "{mode:o}");
        assert!(server.wait().expect("an exit status").success());
    }
}

#[test]
fn keys_are_not_replaced() {
    let folder = Authority::new().folder(&["server"]);
    for name in ["server-key.pem", "server-cert.pem", "ca-cert.pem"] {
        let path = folder.path().join(name);
        let before = std::fs::read(&path).expect("a file");
        let path = path.to_str().expect("UTF-8");
        let certificates = folder.path().to_str().expect("UTF-8");
        let serve = ["serve", "nbd", "--drive", "hp-c2247", "--record", path];
        // A server that is not refused before ends with another error.
        let ended = ["--tls-certificates", certificates, "--metrics", "0.0.0.0:0"];
        let output = crate::diskarm(&[&serve[..], &ended].concat());
        let message = String::from_utf8(output.stderr).expect("text");
        let expected = format!(
            "error: --record: found {path:?}, expected a different file from --tls-certificates \
             {path:?}, which is read and would be lost\n"
        );
        assert_eq!((output.status.code(), message), (Some(2), expected));
        assert_eq!(std::fs::read(path).expect("a file"), before);
    }
}
