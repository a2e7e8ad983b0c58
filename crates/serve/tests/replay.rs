//! Replays of recordings have the same response times as the recorded run.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use diskarm_core::device::{Completion, Device, Status};
use diskarm_core::request::{Op, Request as DeviceRequest};
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};
use diskarm_core::wrap::{ObservedDevice, Recording};
use diskarm_serve::iscsi::{Iscsi, target_name};
use diskarm_serve::nbd::Nbd;
use diskarm_serve::store::StoreSpec;
use diskarm_serve::{Address, ExportSpec, Listener, Pace, Recorder, Server, Speed, Tappable};
use diskarm_simulate::{
    BlockConverter, Input, Simulation, Sink, System, TraceReplay, never_stop, policy,
};
use diskarm_transport::iscsi::Session;
use diskarm_transport::{Data, Transport as _};
use diskarm_wire::command::{Blocks as Range, Caching, Command as Scsi, Size};
use diskarm_wire::nbd::message::Simple;
use diskarm_wire::nbd::option::{OptionHeader, code};
use diskarm_wire::nbd::{Command, Greeting, Headers, Request};
use tempfile::TempDir;

/// Returns the conversion between blocks of a trace and of a drive.
fn blocks(drive: &str) -> BlockConverter {
    let system = System::parse(drive).expect("a drive");
    BlockConverter::new(system.disk(), drive).expect("blocks")
}

const DRIVE: &str = "hp-c2247";

/// The path of a trace in a temporary folder.
struct Trace {
    _folder: TempDir,
    path: PathBuf,
    drive: &'static str,
}

impl Trace {
    fn new(name: &str, drive: &'static str) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let path = folder.path().join(name);
        Self {
            _folder: folder,
            path,
            drive,
        }
    }

    fn name(&self) -> &str {
        self.path.to_str().expect("UTF-8")
    }

    /// Starts recording the requests of `device`.
    fn record(&self, format: &str, device: Box<dyn Device>) -> (Recorder, Box<dyn Device>) {
        let file = File::create(&self.path).expect("a file");
        let blocks = blocks(self.drive);
        let started = Recorder::start(file, self.name(), format, blocks);
        let (recorder, tap) = started.expect("a format");
        (recorder, device.with_tap(tap))
    }

    fn replay(&self, format: &str, by: &str) -> Vec<Row> {
        replay(self.name(), format, self.drive, by)
    }
}

/// Simulates the trace at `path`; returns the results in order of arrival.
fn replay(path: &str, format: &str, drive: &str, by: &str) -> Vec<Row> {
    let model = System::parse(drive).expect("a drive");
    let policy = policy("policy", by).expect("a policy");
    let mut traced = TraceReplay::new(vec![path.to_owned()]);
    traced.reading.format = Some(format.to_owned());
    let input = Input::Traced(traced);
    let mut all = Completions(Vec::new());
    let simulation = Simulation::new(&model, &policy, &input);
    simulation
        .run(&never_stop, Some(&mut all))
        .expect("a replay");
    all.0.sort_by_key(|completion| completion.request.id);
    all.0.iter().map(row).collect()
}

struct Completions(Vec<Completion>);

impl Sink for Completions {
    fn take(&mut self, completion: &Completion) {
        self.0.push(*completion);
    }
}

/// A request, its arrival and its duration.
type Row = (Op, u64, u64, Instant, Span);

fn row(completion: &Completion) -> Row {
    let DeviceRequest {
        op, start, sectors, ..
    } = completion.request;
    let response = completion.response();
    (op, start.0, sectors.0, completion.arrived, response)
}

/// Returns the reads and writes that succeeded.
fn successful_rows(recording: &Recording) -> Vec<Row> {
    let completions = recording.requests().iter().filter_map(|one| one.completion);
    let done = completions.filter(Completion::has_transferred);
    done.map(|completion| row(&completion)).collect()
}

/// Connects with the oldest form of the handshake.
fn client(path: &PathBuf) -> UnixStream {
    let mut stream = UnixStream::connect(path).expect("a listening server");
    // A server that hangs must not hang the test.
    let max = Some(Duration::from_secs(60));
    stream.set_read_timeout(max).expect("a timeout");
    let header = OptionHeader {
        magic: Greeting::MAGIC,
        option: code::EXPORT_NAME,
        length: 0,
    };
    let flags = 3_u32.to_be_bytes();
    let sent = [&flags, &header.emit()[..]].concat();
    stream.write_all(&sent).expect("sent");
    let mut answer = [0; Greeting::LENGTH + 10];
    stream.read_exact(&mut answer).expect("an export");
    stream
}

/// The same random requests each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> (bool, u64) {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 62 > 0, (self.0 >> 33) % 2_000_000)
    }
}

fn send(stream: &mut UnixStream, command: Command, cookie: u64, range: (u64, u64)) {
    let mut data = [0; Request::MAX_LENGTH];
    let request = Request {
        flags: 0,
        command,
        cookie,
        offset: range.0,
        length: range.1,
    };
    let length = request.emit(Headers::Simple, &mut data);
    stream.write_all(&data[..length]).expect("sent");
}

/// Reads the reply to one of these requests.
fn reply(stream: &mut UnixStream, are_reads: &[bool]) {
    let mut header = [0; Simple::LENGTH];
    stream.read_exact(&mut header).expect("a reply");
    let header = Simple::parse(&header).expect("a reply");
    assert_eq!(header.error, 0);
    if are_reads[header.cookie as usize] {
        stream.read_exact(&mut [0; 4096]).expect("data");
    }
}

/// Sends requests for random sectors, `depth` at a time, and a flush when all have been answered.
fn session(stream: &mut UnixStream, rounds: u64, depth: usize) {
    let mut random = Random(1);
    for _ in 0..rounds {
        let mut are_reads = Vec::new();
        for cookie in 0..depth as u64 {
            let (is_read, sector) = random.next();
            are_reads.push(is_read);
            let command = if is_read {
                Command::Read
            } else {
                Command::Write
            };
            send(stream, command, cookie, (sector * 512, 4096));
            if !is_read {
                stream.write_all(&[7; 4096]).expect("sent");
            }
        }
        for _ in 0..depth {
            reply(stream, &are_reads);
        }
        send(stream, Command::Flush, 0, (0, 0));
        reply(stream, &[false]);
    }
}

/// Tests a drive that writes immediately, and one that keeps writes in its buffer.
#[test]
fn a_replayed_session_has_the_served_times() {
    for drive in [DRIVE, "seagate-cheetah-st39102lw"] {
        check_replay(drive);
    }
}

/// Returns the specification of an export of a whole drive.
fn export_spec(drive: &str, policy: &str) -> ExportSpec {
    ExportSpec {
        name: String::new(),
        drive: drive.to_owned(),
        changes: Vec::new(),
        policy: policy.to_owned(),
        size: None,
        store: StoreSpec::Memory,
        is_read_only: false,
        record: None,
        bound: None,
    }
}

fn pace() -> Pace {
    Pace {
        speed: Speed::new(10.0),
        spins: false,
        bound: Span::from_us(100.0),
    }
}

fn check_replay(drive: &'static str) {
    let trace = Trace::new("session.spc", drive);
    let socket = Trace::new("socket", drive);
    let spec = export_spec(drive, "sptf");
    let mut export = spec.build(pace(), 1).expect("an export");
    let mut timing = export.timing.take().expect("a drive");
    let seen = Arc::new(Mutex::new(Recording::default()));
    let observed = Box::new(ObservedDevice::new(timing.device, Arc::clone(&seen)));
    let (recorder, device) = trace.record("spc", observed);
    timing.device = device;
    export.timing = Some(timing);
    let listener = Listener::bind(&Address::Unix(socket.path.clone())).expect("a socket");
    let server = Server::start(Nbd::default(), vec![export], vec![listener], 4).expect("a server");
    session(&mut client(&socket.path), 12, 8);
    server.stopper().expect("a stopper").stop();
    server.wait();
    let recorded = recorder.finish().expect("a trace");
    let served = successful_rows(&seen.lock().expect("not poisoned"));
    assert_eq!((recorded.requests, recorded.flushes), (96, 12));
    assert_eq!((recorded.failed, served.len()), (0, 96));
    assert_eq!(trace.replay("spc", "sptf"), served);
}

/// The same over iSCSI, in a format whose files begin with the first request: the drive's time must
/// not begin earlier, with the login or with commands that take no time.
#[test]
fn a_replayed_iscsi_session_has_the_served_times() {
    // A whole drive, which reports its own properties, and a drive behind a policy.
    for policy in ["fcfs", "look"] {
        let trace = Trace::new(&format!("iscsi-{policy}.csv"), DRIVE);
        let mut export = export_spec(DRIVE, policy)
            .build_unit(pace(), 1)
            .expect("an export");
        let mut timing = export.timing.take().expect("a drive");
        let file = File::create(&trace.path).expect("a file");
        let blocks = blocks(DRIVE);
        let started = Recorder::start(file, trace.name(), "msr", blocks);
        let (recorder, tap) = started.expect("a format");
        timing.device = timing.device.with_tap(tap);
        export.timing = Some(timing);
        let address = Address::parse("127.0.0.1:0").expect("an address");
        let listener = Listener::bind(&address).expect("a port");
        let port = listener.tcp_address().expect("TCP").port();
        let server = Server::start(Iscsi::new(None), vec![export], vec![listener], 4);
        let server = server.expect("a server");
        initiate(&format!("//127.0.0.1:{port}/{}/0", target_name("")));
        server.stopper().expect("a stopper").stop();
        server.wait();
        let recorded = recorder.finish().expect("a trace");
        assert_eq!((recorded.requests, recorded.flushes), (60, 6), "{policy}");
        let mut notes = recorded.notes.iter();
        assert!(!notes.any(|note| note.contains("files starts with the first request")));
        let records = diskarm_trace::open(trace.name(), Some("msr")).expect("a trace");
        let replayed = trace.replay("msr", policy);
        assert_eq!(replayed.len(), 60, "{policy}");
        for (record, row) in records.zip(replayed) {
            let served = record.expect("a row").response.expect("a response");
            // The format's resolution, twice: arrival and response.
            let error = (row.4 - served).as_ns().abs();
            assert!(error <= 200, "{policy}: {row:?} {served:?}");
        }
    }
}

/// Sends commands for random blocks to the target at `url`, one at a time.
fn initiate(url: &str) {
    let address = diskarm_transport::iscsi::Address::parse(url).expect("an address");
    let mut session = Session::open(&address, None).expect("a target");
    session.allow_writes(true).expect("writes are allowed");
    let mut run = |command: &Scsi, data: Data<'_>| {
        let mut block = [0; 16];
        let length = command.emit(&mut block);
        let reply = session.execute(&block[..length], data);
        reply.expect("a reply").status
    };
    // The first command reports the power-on.
    assert_eq!(run(&Scsi::TestUnitReady, Data::None), 2);
    let (size, caching) = (Size::Ten, Caching::default());
    let mut random = Random(3);
    for round in 1..=60 {
        let (is_read, at) = random.next();
        let blocks = Range { at, count: 8 };
        let mut data = [7; 4096];
        let status = if is_read {
            let read = Scsi::Read {
                size,
                blocks,
                caching,
            };
            run(&read, Data::In(&mut data))
        } else {
            let write = Scsi::Write {
                size,
                blocks,
                caching,
            };
            run(&write, Data::Out(&data))
        };
        assert_eq!(status, 0);
        if round % 10 == 0 {
            let flush = Scsi::SynchronizeCache {
                size,
                blocks: Range { at: 0, count: 0 },
                immediate: false,
            };
            assert_eq!(run(&flush, Data::None), 0);
        }
    }
}

/// The same in every writable format, with fixed arrival times, so that rounding never varies.
#[test]
fn every_writable_format_can_be_replayed() {
    let model = System::parse(DRIVE).expect("a drive");
    let by = policy("policy", "fcfs").expect("a policy");
    for (entry, _) in diskarm_trace::writable() {
        let format = entry.info.name;
        let trace = Trace::new(format, DRIVE);
        let seen = Arc::new(Mutex::new(Recording::default()));
        let device = model.queued(&by, 1).expect("a device");
        let observed = Box::new(ObservedDevice::new(device, Arc::clone(&seen)));
        let (recorder, mut device) = trace.record(format, observed);
        let mut random = Random(2);
        let mut now = Instant::START;
        for id in 0..100 {
            let (is_read, sector) = random.next();
            let op = if is_read { Op::Read } else { Op::Write };
            let request = DeviceRequest::new(id, op, Lbn(sector), SectorCount(8));
            device.submit(now, request).expect("an idle drive");
            while let Some(at) = device.next_event() {
                if let Some(done) = device.advance(at) {
                    assert_eq!(done.status, Status::Good);
                    now = done.at + Span::from_ns(1_234_567);
                }
            }
        }
        // This request is still in progress when the device is dropped.
        device
            .submit(
                now,
                DeviceRequest::new(100, Op::Read, Lbn(0), SectorCount(8)),
            )
            .expect("an idle drive");
        drop(device);
        let recorded = recorder.finish().expect("a trace");
        assert_eq!((recorded.requests, recorded.failed), (100, 1), "{format}");
        let served = successful_rows(&seen.lock().expect("not poisoned"));
        let replayed = trace.replay(format, "fcfs");
        assert_eq!(replayed.len(), 100, "{format}");
        let is_exact = ["spc", "disksim", "measured"].contains(&format);
        for (replayed, served) in replayed.iter().zip(&served) {
            assert_eq!(
                (replayed.0, replayed.1, replayed.2),
                (served.0, served.1, served.2)
            );
            // The other formats have a resolution of 100 ns or a microsecond.
            let max = if is_exact { 0 } else { 1000 };
            let error = (replayed.4.as_ns() - served.4.as_ns()).abs();
            assert!(error <= max, "{format}: {replayed:?} {served:?}");
        }
    }
}

/// Some formats cannot represent a time before the first request.
#[test]
fn a_note_reports_if_the_format_loses_the_first_arrival() {
    let model = System::parse(DRIVE).expect("a drive");
    let by = policy("policy", "fcfs").expect("a policy");
    for (entry, _) in diskarm_trace::writable() {
        let format = entry.info.name;
        let trace = Trace::new(&format!("late-{format}"), DRIVE);
        let (recorder, mut device) = trace.record(format, model.queued(&by, 1).expect("a device"));
        let late = Instant::from_ns(5_000_000);
        let request = DeviceRequest::new(0, Op::Read, Lbn(100), SectorCount(8));
        device.submit(late, request).expect("an idle drive");
        while let Some(at) = device.next_event() {
            device.advance(at);
        }
        drop(device);
        let recorded = recorder.finish().expect("a trace");
        let is_noted = recorded.notes.iter().any(|note| note.contains("5.000 ms"));
        let is_lost = trace.replay(format, "fcfs")[0].3 != late;
        assert_eq!(is_noted, is_lost, "{format}: {:?}", recorded.notes);
    }
}

/// The model reproduces the times in the traces of databases in `examples/`.
#[test]
fn replayed_examples_have_the_served_times() {
    for (name, requests) in [("sqlite", 884), ("postgresql", 1578)] {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let path = format!("{root}/examples/{name}-{DRIVE}.csv.gz");
        let records = diskarm_trace::open(&path, None).expect("a trace");
        let replayed = replay(&path, "msr", DRIVE, "fcfs");
        assert_eq!(replayed.len(), requests, "{name}");
        for (record, row) in records.zip(replayed) {
            let served = record.expect("a row").response.expect("a response");
            // The format's resolution, twice: arrival and response.
            assert!((row.4 - served).as_ns().abs() <= 200, "{name}: {row:?}");
        }
    }
}
