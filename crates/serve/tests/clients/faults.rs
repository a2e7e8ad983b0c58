//! Faults in the server itself: a panic ends as little as possible.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use diskarm_core::device::{Completion, Device, SubmitError};
use diskarm_core::request::Request;
use diskarm_core::units::{Bytes, Instant, SectorCount, Span};
use diskarm_serve::nbd::{Nbd, NbdSession, NegotiatedExport};
use diskarm_serve::store::{Extent, SparseStore, Store, Syncer};
use diskarm_serve::{
    Address, Export, ExportSpec, Facts, Listener, Pace, Protocol as _, Server, Speed, Timing, Waker,
};
use diskarm_wire::nbd::option::{OptionHeader, code};
use diskarm_wire::nbd::{Command, Greeting, Headers};

use crate::channel::Bench;
use crate::silence::request;

const SIZE: u64 = 1 << 20;
/// Reads at this offset fail.
const FAULT: u64 = 4096;

struct FaultyStore(SparseStore);

impl Store for FaultyStore {
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        assert_ne!(offset, FAULT, "a fault in the store");
        self.0.read(offset, data)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }

    fn zero(&mut self, offset: u64, length: u64, may_free: bool) -> io::Result<()> {
        self.0.zero(offset, length, may_free)
    }

    fn extent(&mut self, offset: u64, length: u64) -> io::Result<Extent> {
        self.0.extent(offset, length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync()
    }

    fn syncer(&self, waker: Waker) -> io::Result<Option<Box<dyn Syncer>>> {
        self.0.syncer(waker)
    }
}

struct FaultyDevice(Box<dyn Device>);

impl Device for FaultyDevice {
    diskarm_core::forward!(0: capacity sector_size has_room next_event abort);

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        self.0.submit(now, request)
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        let completion = self.0.advance(now)?;
        let offset = completion.request.start.0 * 512;
        assert_ne!(offset, FAULT, "a fault in the device");
        Some(completion)
    }
}

fn facts(name: &str) -> Facts {
    Facts {
        name: name.to_owned(),
        description: "disk".to_owned(),
        sector: Bytes(512),
        physical: Bytes(512),
        sectors: SectorCount(SIZE / 512),
        is_read_only: false,
        is_timed: false,
    }
}

fn export(store: impl Store + 'static) -> Export {
    Export {
        facts: facts(""),
        store: Box::new(store),
        timing: None,
        power: None,
    }
}

#[test]
fn a_fault_in_a_request_ends_only_its_connection() {
    let (waker, _) = Waker::new().expect("a socket");
    let export = export(FaultyStore(SparseStore::empty(SIZE)));
    let service = Nbd::default().serve(export, waker).expect("a service");
    let mut bench = Bench::new(service);
    let negotiated = NegotiatedExport {
        export: 0,
        headers: Headers::Simple,
        has_status: false,
        rest: Vec::new(),
    };
    let mut connect = || bench.connect(NbdSession::new(facts(""), &negotiated, b""));
    let (victim, other) = (connect(), connect());
    for client in [&victim, &other] {
        client.send(&request(Command::Read, 0, 512));
    }
    victim.send(&request(Command::Read, FAULT, 512));
    bench.turn();
    other.send(&request(Command::Read, 0, 512));
    bench.turn();
    assert!(victim.is_closed() && !other.is_closed());
    assert_eq!(other.take().len(), 2 * (16 + 512));
    assert_eq!((bench.engine.panics(), bench.open_count()), (1, 1));
}

/// Chooses the export `name` and reads a block; returns `None` if the server disconnects.
fn read(socket: &std::path::Path, name: &str, offset: u64) -> Option<Vec<u8>> {
    let mut stream = UnixStream::connect(socket).expect("a listening server");
    let header = OptionHeader {
        magic: Greeting::MAGIC,
        option: code::EXPORT_NAME,
        length: name.len() as u32,
    };
    let flags = [0, 0, 0, 3];
    let choice = [&flags, &header.emit()[..], name.as_bytes()].concat();
    stream.write_all(&choice).ok()?;
    stream
        .write_all(&request(Command::Read, offset, 512))
        .ok()?;
    let mut data = vec![0; Greeting::LENGTH + 10 + 16 + 512];
    stream.read_exact(&mut data).ok()?;
    Some(data.split_off(data.len() - 512))
}

#[test]
fn a_fault_in_an_export_ends_only_this_export() {
    let name = format!("diskarm-{}-faults", std::process::id());
    let socket = std::env::temp_dir().join(name);
    let pace = Pace {
        speed: Some(Speed::new(1000.0).expect("a speed")),
        spins: false,
        bound: Span::from_us(100.0),
    };
    let exports = ["faulty", "other"].map(|name| {
        let text = format!("{name}(drive=hp-c2247, size=1 MiB)");
        let spec = ExportSpec::parse(&text, "--export").expect("a specification");
        let mut export = spec.build(pace, 1).expect("an export");
        if name == "faulty" {
            let timing = export.timing.take().expect("a timed export");
            export.timing = Some(Timing {
                device: Box::new(FaultyDevice(timing.device)),
                ..timing
            });
        }
        export
    });
    let listener = Listener::bind(&Address::Unix(socket.clone())).expect("a socket");
    let server = Server::start(Nbd::default(), exports.into(), vec![listener], 4);
    let server = server.expect("a server");
    assert!(read(&socket, "faulty", 0).is_some());
    assert_eq!(read(&socket, "faulty", FAULT), None);
    // The first export has ended, and the other goes on.
    assert_eq!(read(&socket, "faulty", 0), None);
    assert!(read(&socket, "other", FAULT).is_some());
    let reads = |all: &[diskarm_serve::Statistics]| {
        let reads = all.iter().map(|one| one.counts.reads);
        reads.collect::<Vec<u64>>()
    };
    let statistics = server.watcher().statistics().expect("a running server");
    assert_eq!(reads(&statistics), [2, 1]);
    server.stopper().expect("a stopper").stop();
    assert_eq!(reads(&server.wait()), [2, 1]);
}
