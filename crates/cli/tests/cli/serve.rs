//! Serves drives over NBD to real clients, from Debian's packages libnbd-bin, python3-libnbd,
//! qemu-utils and fio. A test whose client is not installed prints a line and passes.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::running::Running;
use crate::{diskarm, file_of, keys, skip};
use serde_json::Value;

/// A server at a Unix socket.
pub struct Server {
    running: Running,
    socket: PathBuf,
}

/// Returns a path unique to this test.
pub fn name_of(name: &str) -> PathBuf {
    let name = format!("diskarm-{}-serve-{name}", std::process::id());
    std::env::temp_dir().join(name)
}

impl Server {
    /// Starts a server with `arguments` on a Unix socket.
    pub fn start(name: &str, arguments: &[&str]) -> Self {
        let socket = name_of(name);
        let mut program = Command::new(env!("CARGO_BIN_EXE_diskarm"));
        program.args(["serve", "nbd", "--json", "--listen"]);
        program.arg(format!("unix:{}", socket.display()));
        let running = Running::start(program.args(arguments));
        Self { running, socket }
    }

    pub fn uri(&self, export: &str) -> String {
        format!("nbd+unix:///{export}?socket={}", self.socket.display())
    }

    pub fn id(&self) -> u32 {
        self.running.id()
    }

    /// Kills it, which it cannot notice.
    pub fn kill(&mut self) {
        let id = self.id().to_string();
        let killed = Command::new("kill").args(["-KILL", &id]).status();
        assert!(killed.expect("kill").success());
        assert_eq!(self.running.wait_for_end().code(), None);
    }

    /// Stops it with SIGTERM; returns the printed statistics of its first export.
    pub fn stop(mut self) -> Value {
        let served = self.running.stop();
        assert!(!self.socket.exists());
        served
    }

    /// Waits until it exits; returns the printed statistics of its first export.
    pub fn wait(mut self) -> Value {
        let served = self.running.wait();
        assert!(!self.socket.exists());
        served
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// Returns the output of a client if it is installed and succeeds within five minutes.
pub fn client(package: &str, arguments: &[&str]) -> Option<String> {
    let output = output(package, arguments)?;
    let text = String::from_utf8(output.stdout).expect("text");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {text}{error}");
    Some(text)
}

/// Returns the output of a client if it is installed, however it ends.
pub fn output(package: &str, arguments: &[&str]) -> Option<Output> {
    // The system's Python has the modules of its packages; another Python may not.
    let path = format!("/usr/bin:{}", std::env::var("PATH").unwrap_or_default());
    let (program, _) = arguments.split_first().expect("a program");
    let version = Command::new(program)
        .arg("--version")
        .env("PATH", &path)
        .output();
    if version.is_err() {
        skip(&format!("{program} is not installed ({package})"));
        return None;
    }
    let output = Command::new("timeout")
        .arg("300")
        .args(arguments)
        .env("PATH", path)
        .stdin(Stdio::null())
        .output()
        .expect("timeout, of coreutils");
    Some(output)
}

#[test]
fn nbdinfo_reads_the_properties_of_exports() {
    let other = "old(drive=hp-c2247, read-only=yes)";
    let server = Server::start("info", &["--drive", "sata-4tb-7200", "--export", other]);
    let list = client(
        "libnbd-bin",
        &["nbdinfo", "--list", "--json", &server.uri("")],
    );
    let Some(list) = list else { return };
    let list: Value = serde_json::from_str(&list).expect("JSON");
    let exports = list["exports"].as_array().expect("exports");
    assert_eq!(exports.len(), 2);
    let [first, second] = [&exports[0], &exports[1]];
    assert_eq!(
        (&first["export-name"], &second["export-name"]),
        (&"".into(), &"old".into())
    );
    assert_eq!(second["description"], "hp-c2247");
    let model = diskarm_simulate::Model::find("hp-c2247").expect("a drive");
    assert_eq!(second["export-size"], model.disk().sectors.0 * 512);
    assert_eq!(
        (&first["is_read_only"], &second["is_read_only"]),
        (&false.into(), &true.into())
    );
    for key in [
        "is_rotational",
        "can_multi_conn",
        "can_flush",
        "can_fua",
        "can_df",
    ] {
        assert_eq!(
            (&first[key], &second[key]),
            (&true.into(), &true.into()),
            "{key}"
        );
    }
    let sizes = ["minimum", "preferred", "maximum"].map(|it| &first[format!("block_size_{it}")]);
    assert_eq!(sizes, [512, 4096, 32 << 20]);
    assert_eq!(first["contexts"][0], "base:allocation");
}

#[test]
fn nbdcopy_copies_with_several_connections() {
    let size = 8 << 20;
    let data: Vec<u8> = (0..size).map(|at: u32| (at / 1000) as u8).collect();
    let [from, to] = ["from", "to"].map(|name| file_of(&format!("serve-{name}"), ""));
    std::fs::write(&from, &data).expect("a file");
    let arguments = ["--drive", "hp-c2247", "--size", "8 MiB", "--instant"];
    let server = Server::start("copy", &arguments);
    let uri = server.uri("");
    let copy = |from, to| {
        client(
            "libnbd-bin",
            &["nbdcopy", "--connections=4", "--threads=4", from, to],
        )
    };
    if copy(&from, &uri).is_some() {
        copy(&uri, &to);
        assert!(std::fs::read(&to).expect("a file") == data);
        let served = server.stop();
        assert!(served["connections"].as_u64() >= Some(4), "{served}");
        assert_eq!(served["failed"], 0);
    }
    for file in [from, to] {
        std::fs::remove_file(file).expect("a file");
    }
}

/// Sends every command, and provokes every error that the library does not prevent.
const SCRIPT: &str = r#"
import errno
h.set_strict_mode(0)
def fails(number, command, *arguments):
    try:
        command(*arguments)
    except nbd.Error as error:
        assert error.errnum == number, (error, number)
    else:
        assert False, (command, arguments)

size = h.get_size()
assert size == 1 << 20
h.pwrite(b"a" * 1024, 0)
h.pwrite(b"b" * 512, 512, nbd.CMD_FLAG_FUA)
h.flush()
assert h.pread(1536, 0) == b"a" * 512 + b"b" * 512 + b"\0" * 512
assert h.pread(1 << 16, 0, nbd.CMD_FLAG_DF)[:512] == b"a" * 512
h.zero(512, 0)
h.zero(512, 512, nbd.CMD_FLAG_NO_HOLE | nbd.CMD_FLAG_FUA)
assert h.pread(1024, 0) == b"\0" * 1024
h.trim(4096, 0)
seen = []
def see(context, offset, entries, error):
    seen.append((context, offset, sum(entries[::2])))
h.block_status(size, 0, see)
assert seen == [("base:allocation", 0, size)], seen
fails(errno.EINVAL, h.cache, 512, 0)
fails(errno.EINVAL, h.pread, 512, size)
fails(errno.EINVAL, h.pread, 512, 1)
fails(errno.EINVAL, h.trim, 512, size)
fails(errno.ENOSPC, h.pwrite, b"c" * 512, size)
fails(errno.ENOSPC, h.zero, 512, size)
fails(errno.EOVERFLOW, h.pread, 1 << 18, 0, nbd.CMD_FLAG_DF)
fails(errno.ENOTSUP, h.zero, 512, 0, nbd.CMD_FLAG_FAST_ZERO)
fails(errno.EINVAL, h.pread, 512, 0, nbd.CMD_FLAG_NO_HOLE)
cookies = [h.aio_pread(nbd.Buffer(512), 512 * n) for n in range(64)]
while h.aio_in_flight():
    h.poll(-1)
"#;

#[test]
fn nbdsh_sends_every_command() {
    let arguments = ["--drive", "hp-c2247", "--size", "1 MiB", "--speed", "20"];
    let server = Server::start("shell", &arguments);
    let uri = server.uri("");
    let script = ["nbdsh", "--base-allocation", "-u", &uri, "-c", SCRIPT];
    if client("python3-libnbd", &script).is_none() {
        return;
    }
    let socket = name_of("shell-fixed");
    let arguments = ["--drive", "hp-c2247", "--size", "1 MiB", "--read-only"];
    let read_only = Server::start("shell-fixed", &arguments);
    assert_eq!(read_only.socket, socket);
    let script = "
import errno
h.set_strict_mode(0)
assert h.is_read_only()
for command in [lambda: h.pwrite(b'a' * 512, 0), lambda: h.zero(512, 0), lambda: h.trim(512, 0)]:
    try:
        command()
        assert False
    except nbd.Error as error:
        assert error.errnum == errno.EPERM, error
";
    client(
        "python3-libnbd",
        &["nbdsh", "-u", &read_only.uri(""), "-c", script],
    );
    let served = server.stop();
    assert_eq!(served["policy"], "fcfs");
    // Four reads, one of which is too long for a chunk.
    assert_eq!(served["reads"], 4 + 64);
    assert_eq!(served["refused"], 8);
    assert_eq!(served["failed"], 0);
    let late = &served["lateness"];
    let expected = [
        "replies",
        "mean_us",
        "p50_us",
        "p99_us",
        "p999_us",
        "max_us",
        "bound_us",
        "keeps_time",
    ];
    assert_eq!(keys(late), expected);
    assert!(late["max_us"].as_f64() >= late["p50_us"].as_f64());
}

#[test]
fn nbdsh_finds_the_server_by_socket_activation() {
    let program = env!("CARGO_BIN_EXE_diskarm");
    let script = format!(
        "h.connect_systemd_socket_activation(['{program}', 'serve', 'nbd', '--drive', 'hp-c2247', \
         '--size', '1 MiB'])\nassert h.get_size() == 1 << 20\nh.pwrite(b'x' * 512, 0)\n\
         assert h.pread(512, 0) == b'x' * 512"
    );
    client("python3-libnbd", &["nbdsh", "-c", &script]);
}

#[test]
fn qemu_converts_and_verifies() {
    let arguments = ["--drive", "hp-c2247", "--size", "16 MiB", "--instant"];
    let server = Server::start("qemu", &arguments);
    let uri = server.uri("");
    let io = [
        "qemu-io",
        "-f",
        "raw",
        &uri,
        "-c",
        "write -P 5 1M 64k",
        "-c",
        "flush",
    ];
    let more = [
        "-c",
        "write -f -P 6 2M 4k",
        "-c",
        "write -z 3M 1M",
        "-c",
        "discard 4M 1M",
    ];
    let Some(text) = client("qemu-utils", &[&io[..], &more].concat()) else {
        return;
    };
    assert!(text.contains("wrote 65536/65536"), "{text}");
    let image = name_of("image").to_str().expect("UTF-8").to_owned();
    client(
        "qemu-utils",
        &[
            "qemu-img", "convert", "-f", "raw", "-O", "qcow2", &uri, &image,
        ],
    );
    let same = [
        "qemu-img", "compare", "-f", "raw", "-F", "qcow2", &uri, &image,
    ];
    let text = client("qemu-utils", &same).expect("installed");
    assert!(text.contains("identical"), "{text}");
    client(
        "qemu-utils",
        &["qemu-img", "convert", "-n", "-O", "raw", &image, &uri],
    );
    let read = [
        "qemu-io",
        "-f",
        "raw",
        &uri,
        "-c",
        "read -P 5 1M 64k",
        "-c",
        "read -P 6 2M 4k",
    ];
    let text = client("qemu-utils", &read).expect("installed");
    assert!(!text.contains("verification failed"), "{text}");
    std::fs::remove_file(image).expect("a file");
    assert_eq!(server.stop()["failed"], 0);
}

/// fio verifies the data that it wrote, at two depths.
#[test]
fn fio_verifies() {
    let arguments = ["--drive", "hp-c2247", "--size", "4 MiB", "--speed", "50"];
    let server = Server::start("fio", &arguments);
    let uri = format!("--uri={}", server.uri(""));
    for depth in ["--iodepth=1", "--iodepth=32"] {
        let common = [
            "fio",
            "--name=verify",
            "--ioengine=nbd",
            &uri,
            depth,
            "--rw=randwrite",
        ];
        let job = [
            "--bs=4k",
            "--size=1m",
            "--verify=crc32c",
            "--verify_state_save=0",
            "--output-format=json",
        ];
        let Some(text) = client("fio", &[&common[..], &job].concat()) else {
            return;
        };
        let start = text.find('{').expect("JSON");
        let found: Value = serde_json::from_str(&text[start..]).expect("JSON");
        let job = &found["jobs"][0];
        assert_eq!(job["error"], 0);
        assert_eq!(job["write"]["total_ios"], 256);
    }
    let served = server.stop();
    assert_eq!(
        (&served["writes"], &served["failed"]),
        (&512.into(), &0.into())
    );
}

/// Acknowledged writes are in the file, however the server ends.
#[test]
fn flushed_writes_survive_kill() {
    let file = name_of("survives").to_str().expect("UTF-8").to_owned();
    let store = format!("file:{file}");
    let arguments = ["--drive", "hp-c2247", "--size", "1 MiB", "--store", &store];
    let mut server = Server::start("kill", &arguments);
    let script = "
for n in range(4):
    h.pwrite(bytes([n + 1]) * 512, n * 4096)
h.flush()
h.pwrite(b'f' * 512, 65536, nbd.CMD_FLAG_FUA)
import os, signal
os.kill(SERVER, signal.SIGKILL)
";
    let script = script.replace("SERVER", &server.id().to_string());
    let shell = ["nbdsh", "-u", &server.uri(""), "-c", &script];
    if client("python3-libnbd", &shell).is_some() {
        server.running.wait_for_end();
        let data = std::fs::read(&file).expect("a file");
        for (number, chunk) in data.chunks(4096).take(4).enumerate() {
            assert_eq!(chunk[..512], [number as u8 + 1; 512]);
        }
        assert_eq!(data[65536..66048], [b'f'; 512]);
        // The old socket still exists, and is replaced.
        let again = Server::start("kill", &arguments[..2]);
        assert_eq!(again.stop()["connections"], 0);
    }
    std::fs::remove_file(file).expect("a file");
}

/// The server prints statistics as lines, because standard error is not a terminal.
#[test]
fn metrics_are_served() {
    let program = env!("CARGO_BIN_EXE_diskarm");
    let mut child = Command::new(program)
        .args(["serve", "nbd", "--drive", "hp-c2247", "--watch"])
        .args(["--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program was built with this test");
    let stderr = BufReader::new(child.stderr.take().expect("piped"));
    let line = stderr.lines().nth(1).expect("two lines").expect("text");
    let address = line.strip_prefix("metrics at http://");
    let address = address.and_then(|rest| rest.strip_suffix("/metrics"));
    let address = address.unwrap_or_else(|| panic!("{line}"));
    let mut stream = std::net::TcpStream::connect(address).expect("a server that listens");
    let sent = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
    sent.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    child.kill().expect("running");
    child.wait().expect("killed");
    let none = "diskarm_connections_total{export=\"\",drive=\"hp-c2247\"} 0\n";
    assert!(answer.contains(none), "{answer}");
    assert!(answer.ends_with("# EOF\n"), "{answer}");
}

#[test]
fn errors_name_the_flag() {
    let error = |arguments: &[&str]| {
        let output = diskarm(&[&["serve", "nbd"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8(output.stderr).expect("text")
    };
    let drive = |arguments: &[&str]| error(&[&["--drive", "hp-c2247"], arguments].concat());
    let open = drive(&["--listen", "0.0.0.0:0"]);
    let expected = "encrypt with --tls-certificates, or allow it with --insecure\n";
    assert!(
        open.starts_with("error: `--listen`: other machines can connect to 0.0.0.0:0; ")
            && open.ends_with(expected),
        "{open}"
    );
    let cases = [
        (
            drive(&["--store", "disk"]),
            "--store: found \"disk\", expected memory, file:PATH",
        ),
        (
            drive(&["--store", "snapshot:/no/f"]),
            "/no/f: cannot read: ",
        ),
        (
            drive(&["--size", "99 GiB"]),
            "--size: found \"99 GiB\", expected 1 to ",
        ),
        (
            drive(&["--policy", "none"]),
            "--policy: found \"none\", expected one of ",
        ),
        (
            drive(&["--speed", "0"]),
            "--speed: found \"0\", expected a number from 0.001",
        ),
        (
            drive(&["--listen", "7"]),
            "--listen: found \"7\", expected HOST:PORT",
        ),
        (
            drive(&["--metrics", "0.0.0.0:0"]),
            "`--metrics` needs an address HOST:PORT that other machines cannot reach, not \
             0.0.0.0:0",
        ),
        (
            drive(&["--export", "(drive=hp-c2247)"]),
            "`--export`: two exports are called \"\"",
        ),
        (
            error(&["--export", "x(drive=hp-c2247)", "--set", "queue.depth=1"]),
            "`--set` needs `--drive`: it changes the specification of that drive",
        ),
        (
            drive(&["--set", "queue.deep=1"]),
            "--set: queue.deep: found an unknown key, expected",
        ),
        (
            error(&["--export", "x(store=memory)"]),
            "--export: x.drive: found nothing, expected a drive",
        ),
    ];
    for (found, expected) in cases {
        assert!(found.starts_with(&format!("error: {expected}")), "{found}");
    }
}

#[test]
fn an_address_that_is_in_use_is_named_with_its_flag() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let expected =
        format!("error: `--listen`: another program is already listening on {address}\n");
    for protocol in ["nbd", "iscsi"] {
        let arguments = ["serve", protocol, "--drive=hp-c2247", "--listen", &address];
        let output = diskarm(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), expected);
    }
}
