//! Clients of an export that send or read nothing.

use std::time::Duration;

use diskarm_core::units::Span;
use diskarm_serve::nbd::{MAX_OUTSTANDING, Nbd, NbdSession, NegotiatedExport};
use diskarm_serve::store::StoreSpec;
use diskarm_serve::{
    DEFAULT_POLICY, ExportSpec, Facts, MAX_IDLE, MAX_SILENCE, Pace, Protocol, Speed, Waker,
};
use diskarm_wire::nbd::{Command, Headers, Request};

use crate::channel::{Bench, Wire};

const SIZE: u64 = 1 << 20;
const MOMENT: Duration = Duration::from_millis(1);

pub struct Server {
    pub bench: Bench<<Nbd as Protocol>::Service>,
    facts: Facts,
}

impl Server {
    /// Serves a megabyte from a drive, a thousand times slower if `is_timed`.
    fn new(is_timed: bool) -> Self {
        let spec = ExportSpec {
            name: String::new(),
            drive: "hp-c2247".to_owned(),
            changes: Vec::new(),
            policy: DEFAULT_POLICY.to_owned(),
            size: Some("1 MiB".to_owned()),
            store: StoreSpec::Memory,
            is_read_only: false,
            record: None,
            bound: None,
        };
        let pace = Pace {
            speed: is_timed.then(|| Speed::new(0.001).expect("a speed")),
            spins: false,
            bound: Span::from_us(100.0),
        };
        let mut export = spec.build(pace, 1).expect("an export");
        export.power = None;
        let facts = export.facts.clone();
        let (waker, _) = Waker::new().expect("a socket");
        let service = Nbd::default().serve(export, waker).expect("a service");
        Self {
            bench: Bench::new(service),
            facts,
        }
    }

    fn connect(&mut self) -> Wire {
        let negotiated = NegotiatedExport {
            export: 0,
            headers: Headers::Simple,
            has_status: false,
            rest: Vec::new(),
        };
        let session = NbdSession::new(self.facts.clone(), &negotiated, b"");
        self.bench.connect(session)
    }

    fn close_idle(&mut self) {
        self.bench.engine.close_idle(self.bench.now.get());
    }
}

pub fn request(command: Command, offset: u64, length: u64) -> Vec<u8> {
    let request = Request {
        flags: 0,
        command,
        cookie: 0,
        offset,
        length,
    };
    let mut data = [0; Request::MAX_LENGTH];
    let length = request.emit(Headers::Simple, &mut data);
    data[..length].to_vec()
}

#[test]
fn a_client_that_stops_in_the_middle_of_a_request_is_disconnected() {
    let write = [request(Command::Write, 0, 4096), vec![7; 4095]].concat();
    for sent in [1, 27, 28, 29, write.len()] {
        let mut server = Server::new(false);
        let (client, other) = (server.connect(), server.connect());
        client.send(&write[..sent]);
        server.bench.pass(MAX_SILENCE - MOMENT);
        assert!(!client.is_closed(), "{sent}");
        server.bench.pass(MOMENT);
        assert!(client.is_closed(), "{sent}");
        // The other has sent nothing, and may go on.
        assert!(!other.is_closed());
        assert_eq!(server.bench.open_count(), 1);
    }
}

#[test]
fn a_client_that_goes_on_sending_is_not_disconnected() {
    let mut server = Server::new(false);
    let client = server.connect();
    client.send(&request(Command::Write, 0, 1024));
    for _ in 0..1024 {
        client.send(&[7]);
        server.bench.pass(MAX_SILENCE - MOMENT);
    }
    assert_eq!(client.take().len(), 16);
    assert!(!client.is_closed());
}

#[test]
fn a_client_that_does_not_read_its_replies_is_disconnected() {
    for stop_reading in [Wire::block, Wire::keep_output] {
        let mut server = Server::new(false);
        let client = server.connect();
        stop_reading(&client);
        client.send(&request(Command::Read, 0, 512));
        server.bench.pass(MAX_SILENCE - MOMENT);
        assert!(!client.is_closed());
        server.bench.pass(MOMENT);
        assert!(client.is_closed());
        assert_eq!(server.bench.open_count(), 0);
    }
}

/// Requests that wait for those of other clients are not the fault of theirs.
#[test]
fn clients_with_requests_in_progress_are_not_disconnected() {
    let mut server = Server::new(true);
    let (first, second) = (server.connect(), server.connect());
    let read = |number: u64| request(Command::Read, number * 5 * 65_536 % SIZE, 512);
    let reads: Vec<u8> = (0..MAX_OUTSTANDING as u64).flat_map(read).collect();
    first.send(&reads);
    server.bench.pass(MOMENT);
    second.send(&reads);
    second.send(&reads);
    for _ in 0..20 {
        server.bench.pass(MAX_SILENCE);
        server.close_idle();
    }
    assert!(!first.is_closed() && !second.is_closed());
    // The server was slow enough for this to matter.
    assert!(second.take().is_empty());
}

#[test]
fn an_idle_client_is_disconnected_only_when_others_need_its_place() {
    let mut server = Server::new(false);
    let (idle, busy) = (server.connect(), server.connect());
    for client in [&idle, &busy] {
        client.send(&request(Command::Read, 0, 512));
    }
    server.bench.pass(MAX_IDLE - MOMENT);
    busy.send(&request(Command::Read, 0, 512));
    server.close_idle();
    assert!(!idle.is_closed());
    server.bench.pass(MOMENT);
    server.close_idle();
    assert!(idle.is_closed());
    assert_eq!(idle.take().len(), 16 + 512);
    server.bench.pass(100 * MAX_IDLE);
    assert!(!busy.is_closed());
    assert_eq!(server.bench.open_count(), 1);
    server.close_idle();
    assert!(busy.is_closed());
    assert_eq!(server.bench.open_count(), 0);
}
