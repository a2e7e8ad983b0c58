//! The initiator against an independent target, Debian's package `tgt`. If it is not installed, the
//! tests are skipped, but fail in CI.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Stdio};
use std::time::{Duration, Instant};

use diskarm_transport::iscsi::{Address, Credentials, Error, Session, targets};
use diskarm_transport::{Data, Disk, Identity, Transport};
use diskarm_wire::command::{Blocks, Caching, Size};
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense};

const TARGET: &str = "iqn.2026-11.example:disk";

/// A running target with a disk of 16 MiB as logical unit 1.
struct Tgtd {
    process: Child,
    folder: PathBuf,
    port: u16,
}

impl Tgtd {
    /// Returns `None` if tgtd is not installed.
    fn start(test: &str) -> Option<Self> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tgtd-{test}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let disk = File::create(folder.join("disk")).unwrap();
        disk.set_len(16 << 20).unwrap();
        let started = Process::new("/usr/sbin/tgtd")
            .args(["-f", "--iscsi", &format!("portal=127.0.0.1:{port}")])
            .env("TGT_IPC_SOCKET", folder.join("control"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(process) = started else {
            let is_ci = std::env::var_os("CI").is_some();
            assert!(!is_ci, "CI installs the package tgt");
            eprintln!("skipped: tgtd is not installed");
            return None;
        };
        let target = Self {
            process,
            folder,
            port,
        };
        let deadline = Instant::now() + Duration::from_secs(20);
        while !target.control("--op new --mode target --tid 1", &["-T", TARGET]) {
            assert!(Instant::now() < deadline, "tgtd does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
        let disk = target.folder.join("disk");
        let disk = ["-b", disk.to_str().unwrap()];
        assert!(target.control("--op new --mode logicalunit --tid 1 --lun 1", &disk));
        assert!(target.control("--op bind --mode target --tid 1 -I ALL", &[]));
        Some(target)
    }

    /// Runs a command of `tgtadm` and returns true if it succeeds.
    fn control(&self, words: &str, more: &[&str]) -> bool {
        let status = Process::new("/usr/sbin/tgtadm")
            .args(["--lld", "iscsi"])
            .args(words.split(' '))
            .args(more)
            .env("TGT_IPC_SOCKET", self.folder.join("control"))
            .stderr(Stdio::null())
            .status();
        status.unwrap().success()
    }

    fn address(&self) -> Address {
        let url = format!("//127.0.0.1:{}/{TARGET}/1", self.port);
        Address::parse(&url).unwrap()
    }
}

impl Drop for Tgtd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Opens a session and executes the first command, which reports a reset.
fn open(tgtd: &Tgtd, credentials: Option<&Credentials>) -> Result<Session, Error> {
    let mut session = Session::open(&tgtd.address(), credentials)?;
    Disk::new(&mut session).unwrap();
    Ok(session)
}

fn encode(command: &Command) -> Vec<u8> {
    let mut block = [0; 16];
    let length = command.emit(&mut block);
    block[..length].to_vec()
}

fn blocks(at: u64, count: usize) -> Blocks {
    Blocks {
        at,
        count: count as u32,
    }
}

fn read(session: &mut Session, at: u64, data: &mut [u8]) -> (u8, usize, Vec<u8>) {
    let command = Command::Read {
        size: Size::Ten,
        blocks: blocks(at, data.len() / 512),
        caching: Caching::default(),
    };
    let reply = session.execute(&encode(&command), Data::In(data)).unwrap();
    assert!(reply.sent <= reply.ended);
    (reply.status, reply.transferred, reply.sense)
}

fn write(session: &mut Session, at: u64, data: &[u8]) -> (u8, usize) {
    let command = Command::Write {
        size: Size::Ten,
        blocks: blocks(at, data.len() / 512),
        caching: Caching::default(),
    };
    let reply = session.execute(&encode(&command), Data::Out(data)).unwrap();
    (reply.status, reply.transferred)
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 512 * 31 + at) as u8).collect()
}

/// Data are written and read back, with and without digests, and reach the target's file. They fit
/// into the command, into one message, or into neither.
#[test]
fn written_data_are_read_back() {
    let Some(tgtd) = Tgtd::start("data") else {
        return;
    };
    for digest in ["None", "CRC32C"] {
        for key in ["HeaderDigest", "DataDigest"] {
            let words = "--op update --mode target --tid 1 -n";
            assert!(tgtd.control(words, &[key, "-v", digest]));
        }
        let mut session = open(&tgtd, None).unwrap();
        session.allow_writes(true).unwrap();
        for blocks in [1, 15, 16, 17, 128, 2000] {
            let data = pattern(blocks * 512);
            let at = 7 * blocks as u64;
            assert_eq!(write(&mut session, at, &data), (0, data.len()));
            let mut found = vec![0; data.len()];
            assert_eq!(
                read(&mut session, at, &mut found),
                (0, data.len(), Vec::new())
            );
            assert!(found == data, "{digest}, {blocks} blocks");
            let file = fs::read(tgtd.folder.join("disk")).unwrap();
            let offset = at as usize * 512;
            assert!(file[offset..offset + data.len()] == data[..]);
        }
    }
}

#[test]
fn errors_have_sense_data() {
    let Some(tgtd) = Tgtd::start("errors") else {
        return;
    };
    let mut session = Session::open(&tgtd.address(), None).unwrap();
    let identity = Disk::new(&mut session).and_then(|mut disk| Identity::read(&mut disk));
    let identity = identity.unwrap();
    assert_eq!((identity.sectors.0, identity.sector_size.0), (32_768, 512));
    assert_eq!(identity.vendor, "IET");
    let (status, _, sense) = read(&mut session, 32_768, &mut [0; 512]);
    let sense = Sense::parse(&sense).unwrap();
    assert_eq!(status, 2);
    assert_eq!(
        (sense.key, sense.code),
        (Key::IllegalRequest, Code::OUT_OF_RANGE)
    );
    // Writes are not sent.
    let before = fs::read(tgtd.folder.join("disk")).unwrap();
    assert_eq!(write(&mut session, 0, &pattern(512)), (2, 0));
    assert!(before == fs::read(tgtd.folder.join("disk")).unwrap());
}

#[test]
fn a_disk_with_data_is_not_overwritten() {
    let Some(tgtd) = Tgtd::start("content") else {
        return;
    };
    let mut session = open(&tgtd, None).unwrap();
    session.allow_writes(false).unwrap();
    let mut front = pattern(1024);
    front[512..520].copy_from_slice(b"EFI PART");
    write(&mut session, 0, &front);
    let mut session = open(&tgtd, None).unwrap();
    let error = session.allow_writes(false).unwrap_err().to_string();
    assert_eq!(
        error,
        "contains a partition table (GPT): writes would destroy data"
    );
    assert_eq!(write(&mut session, 9, &front), (2, 0));
    session.allow_writes(true).unwrap();
    assert_eq!(write(&mut session, 9, &front), (0, 1024));
}

#[test]
fn targets_are_listed() {
    let Some(tgtd) = Tgtd::start("targets") else {
        return;
    };
    assert!(tgtd.control("--op new --mode target --tid 2", &["-T", "iqn.b"]));
    assert!(tgtd.control("--op bind --mode target --tid 2 -I ALL", &[]));
    let mut found = targets(&tgtd.address(), None).unwrap();
    found.sort();
    assert_eq!(found, ["iqn.2026-11.example:disk", "iqn.b"]);
    let mut address = tgtd.address();
    address.target = "iqn.c".to_owned();
    let error = Session::open(&address, None).unwrap_err();
    assert!(matches!(error, Error::Login(0x0203)), "{error}");
}

/// Both sides authenticate, and a login with a wrong or missing secret fails.
#[test]
fn authentication_is_mutual() {
    let Some(tgtd) = Tgtd::start("secrets") else {
        return;
    };
    let account = |user: &str, secret: &str, bind: &str| {
        let new = "--op new --mode account";
        assert!(tgtd.control(new, &["--user", user, "--password", secret]));
        let words = format!("--op bind --mode account --tid 1{bind}");
        assert!(tgtd.control(&words, &["--user", user]));
    };
    account("me", "my secret", "");
    account("it", "its secret", " --outgoing");
    let log_in = |user: &str, secret: &str, target: Option<&str>| {
        let credentials = Credentials {
            user: user.to_owned(),
            secret: secret.as_bytes().to_vec(),
            target_secret: target.map(|secret| secret.as_bytes().to_vec()),
        };
        open(&tgtd, Some(&credentials))
    };
    for target in [None, Some("its secret")] {
        let mut session = log_in("me", "my secret", target).unwrap();
        let (status, ..) = read(&mut session, 0, &mut [0; 512]);
        assert_eq!(status, 0);
    }
    let error = log_in("me", "my secret", Some("another secret")).unwrap_err();
    assert!(matches!(error, Error::Impostor), "{error}");
    for (user, secret) in [("me", "no secret"), ("you", "my secret")] {
        let error = log_in(user, secret, None).unwrap_err();
        assert!(matches!(error, Error::Login(_)), "{error}");
    }
    let error = Session::open(&tgtd.address(), None).unwrap_err();
    assert!(matches!(error, Error::Login(_)), "{error}");
}
