//! Power cuts of a target, as seen by an initiator.

use std::path::PathBuf;

use diskarm_core::units::Span;
use diskarm_serve::control_socket::ControlServer;
use diskarm_serve::iscsi::{Disk, Iscsi, target_name};
use diskarm_serve::{
    Address, DEFAULT_MAX_CONNECTIONS, Export, ExportSpec, Listener, Pace, Server, Speed,
};
use diskarm_transport::iscsi::{Address as TargetAddress, Session};
use diskarm_transport::{Data, Transport as _, TransportError};
use diskarm_wire::Sense;
use diskarm_wire::command::{Blocks, Caching, Command, Size};
use diskarm_wire::sense::{Code, Key};
use serde_json::{Value, json};

use super::client::{ask_at, cut_with_two_writes_pending, temporary_path};

const DRIVE: &str = "sata-4tb-7200";
const BLOCK: usize = 512;

/// A target with a control socket.
pub struct Running {
    server: Server,
    address: TargetAddress,
    control: PathBuf,
}

impl Running {
    /// Serves a megabyte in memory from a drive, at `speed`.
    fn start(name: &str, drive: &str, speed: Option<f64>) -> Self {
        Self::start_with(name, drive, speed, |export| export)
    }

    /// Like [`Self::start`], with an export modified by `change`.
    pub fn start_with(
        name: &str,
        drive: &str,
        speed: Option<f64>,
        change: impl FnOnce(Export<Disk>) -> Export<Disk>,
    ) -> Self {
        let text = format!("db(drive={drive}, size=1 MiB)");
        let spec = ExportSpec::parse(&text, "--export").expect("a specification");
        let pace = Pace {
            speed: speed.map(|factor| Speed::new(factor).expect("a speed")),
            spins: false,
            bound: Span::from_us(100.0),
        };
        let export = change(spec.build_unit(pace, 1).expect("an export"));
        let bytes = export.facts.bytes();
        let address = Address::parse("127.0.0.1:0").expect("an address");
        let listener = Listener::bind(&address).expect("a port");
        let port = listener.tcp_address().expect("TCP").port();
        let target = Iscsi::new(None);
        let server = Server::start_controlled(
            target,
            vec![export],
            vec![listener],
            DEFAULT_MAX_CONNECTIONS,
        );
        let server = server.expect("a server");
        let controller = ControlServer {
            handles: server.handles(),
            statistics: Box::new(move |_, served| spec.statistics(pace, bytes, served)),
        };
        let control = temporary_path(&format!("target-{name}"));
        let socket = Listener::bind(&Address::Unix(control.clone())).expect("a socket");
        controller.listen(socket).expect("a thread");
        let url = format!("//127.0.0.1:{port}/{}/0", target_name("db"));
        Self {
            server,
            address: TargetAddress::parse(&url).expect("an address"),
            control,
        }
    }

    /// Returns the answer from the control socket.
    pub fn ask(&self, line: &str) -> Value {
        ask_at(&self.control, line)
    }

    /// Logs in, and executes the first command, which reports the power-on.
    pub fn log_in(&self) -> Initiator {
        let mut session = Session::open(&self.address, None).expect("a target");
        let mut block = [0; 16];
        let length = Command::TestUnitReady.emit(&mut block);
        let reply = session.execute(&block[..length], Data::None);
        let reply = reply.expect("a reply");
        let attention = Sense::new(Key::UnitAttention, Code::POWER_ON_OR_RESET);
        assert_eq!(Sense::parse(&reply.sense), Ok(attention));
        session.allow_writes(true).expect("writes are allowed");
        Initiator(session)
    }

    pub fn stop(self) {
        self.server.stopper().expect("a stopper").stop();
        self.server.wait();
        std::fs::remove_file(self.control).expect("a socket");
    }
}

pub struct Initiator(Session);

impl Initiator {
    /// Executes a command; returns its sense data, or `None` on success.
    fn run(&mut self, command: &Command, data: Data<'_>) -> Result<Option<Sense>, TransportError> {
        let mut block = [0; 16];
        let length = command.emit(&mut block);
        let reply = self.0.execute(&block[..length], data)?;
        let sense = (reply.status != 0).then(|| Sense::parse(&reply.sense).expect("sense data"));
        Ok(sense)
    }

    /// Fills blocks with a byte.
    fn write(
        &mut self,
        at: u64,
        count: u32,
        fill: u8,
        fua: bool,
    ) -> Result<Option<Sense>, TransportError> {
        let write = Command::Write {
            size: Size::Ten,
            blocks: Blocks { at, count },
            caching: Caching {
                disable_page_out: false,
                force_unit_access: fua,
            },
        };
        let data = vec![fill; count as usize * BLOCK];
        self.run(&write, Data::Out(&data))
    }

    fn flush(&mut self) -> Result<Option<Sense>, TransportError> {
        let flush = Command::SynchronizeCache {
            size: Size::Ten,
            blocks: Blocks { at: 0, count: 0 },
            immediate: false,
        };
        self.run(&flush, Data::None)
    }

    pub fn read(&mut self, at: u64, count: u32) -> Result<Vec<u8>, Option<Sense>> {
        let read = Command::Read {
            size: Size::Ten,
            blocks: Blocks { at, count },
            caching: Caching::default(),
        };
        let mut data = vec![0; count as usize * BLOCK];
        match self.run(&read, Data::In(&mut data)) {
            Ok(None) => Ok(data),
            Ok(sense) => Err(sense),
            Err(_) => Err(None),
        }
    }

    /// Returns the first bytes of some blocks.
    pub fn bytes(&mut self, blocks: &[u64]) -> Vec<u8> {
        let first = |at: &u64| self.read(*at, 1).expect("a block")[0];
        blocks.iter().map(first).collect()
    }
}

/// With a write cache, only writes that were listed as pending are lost.
#[test]
fn only_writes_listed_as_pending_are_lost() {
    const ROUNDS: u64 = 12;
    const WRITES: u64 = 4;
    let running = Running::start("listed", DRIVE, Some(0.05));
    // Distant writes of 1 to 8 blocks, each with its own byte.
    let range = |n: u64| (n * 1117 % 2000, 1 + (n % 8) as u32, 1 + n as u8);
    let mut reverted = 0;
    for round in 0..ROUNDS {
        let mut initiator = running.log_in();
        let writes = round * WRITES..(round + 1) * WRITES;
        for n in writes.clone() {
            let (at, count, fill) = range(n);
            let done = initiator.write(at, count, fill, n % 7 == 3);
            assert_eq!(done, Ok(None));
        }
        if round == 6 {
            assert_eq!(initiator.flush(), Ok(None));
        }
        let pending = running.ask("pending(export=db)");
        let lost = running.ask("power-cut(export=db)");
        assert!(initiator.read(0, 1).is_err());
        running.ask("power-restore(export=db)");
        let mut initiator = running.log_in();
        let listed = pending["pending"].as_array().expect("a list").iter();
        let listed = listed.map(|write| write["first_sector"].as_u64().expect("a number"));
        let listed: Vec<u64> = listed.collect();
        assert!(round != 6 || listed.is_empty(), "{pending}");
        let mut missing = 0;
        for n in writes {
            let (at, count, fill) = range(n);
            let content = initiator.read(at, count).expect("blocks");
            let is_written = content.iter().all(|byte| *byte == fill);
            let is_lost = content.iter().all(|byte| *byte == 0);
            assert!(is_written || is_lost, "a write was torn: {n}");
            let is_allowed = is_written || listed.contains(&at);
            assert!(is_allowed, "{n} was not listed: {pending}");
            missing += u64::from(is_lost);
        }
        assert_eq!(lost["lost_writes"], missing, "{pending}");
        reverted += missing;
    }
    assert!(reverted > 5, "{reverted}");
    running.stop();
}

#[test]
fn only_flushed_or_fua_writes_of_an_initiator_survive() {
    let running = Running::start("plain", DRIVE, None);
    let mut initiator = running.log_in();
    assert_eq!(initiator.write(0, 8, 1, false), Ok(None));
    assert_eq!(initiator.flush(), Ok(None));
    assert_eq!(initiator.write(0, 1, 2, false), Ok(None));
    assert_eq!(initiator.write(8, 1, 3, true), Ok(None));
    assert_eq!(initiator.write(16, 2, 4, false), Ok(None));
    cut_with_two_writes_pending(|line| running.ask(line));
    // Without power all sessions end, including new ones.
    assert!(initiator.flush().is_err());
    let off = Session::open(&running.address, None);
    let ready = |mut session: Session| session.execute(&[0; 6], Data::None).is_ok();
    assert!(!off.is_ok_and(ready));
    assert_eq!(
        running.ask("power-cut(export=db)"),
        json!({"error": "the power is off"})
    );
    assert_eq!(running.ask("power-restore(export=db)"), json!({}));
    let mut initiator = running.log_in();
    assert_eq!(initiator.bytes(&[0, 1, 8, 16]), [1, 1, 3, 0]);
    running.stop();
}

#[test]
fn triggers_fire_before_or_after_a_command() {
    for speed in [None, Some(1000.0)] {
        let running = Running::start("trigger", DRIVE, speed);
        let mut initiator = running.log_in();
        assert_eq!(initiator.write(0, 1, 1, true), Ok(None));
        running.ask("trigger(export=db, before=flush, nth=2)");
        assert_eq!(initiator.flush(), Ok(None));
        assert_eq!(initiator.write(0, 1, 2, true), Ok(None));
        assert!(initiator.flush().is_err());
        running.ask("power-restore(export=db)");
        let mut initiator = running.log_in();
        assert_eq!(initiator.bytes(&[0]), [2]);
        // The second write has been answered but not flushed.
        running.ask("trigger(export=db, after=write, nth=2, worst=yes, seed=1)");
        assert_eq!(initiator.write(1, 1, 3, true), Ok(None));
        assert_eq!(initiator.write(2, 1, 4, true), Ok(None));
        assert!(initiator.read(0, 1).is_err());
        running.ask("power-restore(export=db)");
        let mut initiator = running.log_in();
        assert_eq!(initiator.bytes(&[1, 2]), [3, 4]);
        // The data never reach the drive.
        running.ask("trigger(export=db, before=write)");
        assert!(initiator.write(0, 1, 5, true).is_err());
        running.ask("power-restore(export=db)");
        assert_eq!(running.log_in().bytes(&[0]), [2]);
        running.ask("trigger(export=db, after=1ms)");
        while running.ask("pending(export=db)")["is_powered"] == true {}
        running.ask("power-restore(export=db)");
        assert_eq!(running.log_in().bytes(&[0]), [2]);
        running.stop();
    }
}

#[test]
fn blocks_of_a_target_fail_until_they_are_healed() {
    for speed in [None, Some(1000.0)] {
        let running = Running::start("bad", DRIVE, speed);
        let mut initiator = running.log_in();
        running.ask("inject(export=db, first=8, sectors=8)");
        assert_eq!(initiator.write(8, 1, 1, true), Ok(None));
        assert!(initiator.read(7, 1).is_ok());
        let sense = initiator.read(6, 4).expect_err("a bad block");
        let expected = Sense {
            information: Some(8),
            ..Sense::new(Key::MediumError, Code::UNRECOVERED_READ_ERROR)
        };
        assert_eq!(sense, Some(expected));
        running.ask("inject(export=db, first=100, sectors=1, affects=writes)");
        let sense = initiator.write(100, 1, 1, false).expect("a reply");
        assert_eq!(sense.map(|sense| sense.key), Some(Key::MediumError));
        // Bad blocks survive a power cut.
        running.ask("power-cut(export=db)");
        running.ask("power-restore(export=db)");
        let mut initiator = running.log_in();
        assert!(initiator.read(8, 1).is_err());
        assert_eq!(initiator.bytes(&[100]), [0]);
        running.ask("heal(export=db)");
        assert_eq!(initiator.write(100, 1, 1, true), Ok(None));
        assert_eq!(initiator.bytes(&[100, 8]), [1, 1]);
        running.stop();
    }
}

#[test]
fn blocks_of_a_target_recover_on_a_retry() {
    for speed in [None, Some(1000.0)] {
        let running = Running::start("times", DRIVE, speed);
        let mut initiator = running.log_in();
        running.ask("inject(export=db, first=8, sectors=8, times=3)");
        assert!(initiator.read(8, 1).is_err());
        assert!(initiator.read(0, 16).is_err());
        // A power cut does not count as a failure.
        running.ask("power-cut(export=db)");
        running.ask("power-restore(export=db)");
        let mut initiator = running.log_in();
        let left = json!({"first_sector": 8, "sectors": 8, "affects": "reads", "times": 1});
        assert_eq!(running.ask("errors(export=db)"), json!({"errors": [left]}));
        assert!(initiator.read(15, 1).is_err());
        assert_eq!(initiator.bytes(&[15, 8]), [0, 0]);
        assert_eq!(running.ask("errors(export=db)"), json!({"errors": []}));
        running.stop();
    }
}

#[test]
fn the_power_of_an_array_cannot_be_cut() {
    let running = Running::start("array", "raid5(disks=4, drive=hp-c2247)", Some(1.0));
    let array = running.ask("power-cut(export=db)");
    let error = array["error"].as_str().expect("an error");
    let expected = "raid5(disks=4, drive=hp-c2247) does not report when data reach the media, ";
    assert!(error.starts_with(expected), "{error}");
    running.stop();
}
