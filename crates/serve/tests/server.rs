//! Servers over Unix sockets: isolation of clients, and shutdown.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use diskarm_core::units::Span;
use diskarm_serve::nbd::Nbd;
use diskarm_serve::store::StoreSpec;
use diskarm_serve::{
    Address, DEFAULT_POLICY, ExportSpec, Listener, Pace, Server, Speed, Statistics,
};
use diskarm_wire::nbd::message::Simple;
use diskarm_wire::nbd::option::{AnswerHeader, Choice, OptionHeader, answer, code};
use diskarm_wire::nbd::{Command, Error, Greeting, Headers, Request};

const SIZE: u64 = 1 << 20;

/// A server, and its socket.
struct Running {
    server: Server,
    path: PathBuf,
}

fn pace(speed: Option<f64>) -> Pace {
    Pace {
        speed: speed.map(|factor| Speed::new(factor).expect("a speed")),
        spins: false,
        bound: Span::from_us(100.0),
    }
}

/// Serves a megabyte from a drive to at most `max` connections at a time.
fn start(name: &str, speed: Option<f64>, store: StoreSpec, max: usize) -> Running {
    let name = format!("diskarm-{}-server-{name}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let spec = ExportSpec {
        name: String::new(),
        drive: "hp-c2247".to_owned(),
        changes: Vec::new(),
        policy: DEFAULT_POLICY.to_owned(),
        size: Some("1 MiB".to_owned()),
        store,
        is_read_only: false,
        record: None,
        bound: None,
    };
    let export = spec.build(pace(speed), 1).expect("an export");
    let listener = Listener::bind(&Address::Unix(path.clone())).expect("a socket");
    let server =
        Server::start(Nbd::default(), vec![export], vec![listener], max).expect("a server");
    Running { server, path }
}

impl Running {
    fn stop(self) -> Statistics {
        self.server.stopper().expect("a stopper").stop();
        let served = self.server.wait().remove(0);
        assert!(!self.path.exists());
        served
    }

    /// Connects without a handshake.
    fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.path).expect("a listening server");
        // A server that hangs must not hang the test.
        let max = Some(Duration::from_secs(60));
        stream.set_read_timeout(max).expect("a timeout");
        stream
    }

    /// Connects and chooses the export; also returns the server's last answer.
    fn choose(&self) -> (UnixStream, u32) {
        let mut stream = self.connect();
        exact(&mut stream, Greeting::LENGTH);
        let data = Choice::emit("", &[]);
        let header = OptionHeader {
            magic: Greeting::MAGIC,
            option: code::GO,
            length: data.len() as u32,
        };
        let sent = [&[0, 0, 0, 3], &header.emit()[..], &data].concat();
        stream.write_all(&sent).expect("a listening server");
        loop {
            let header = exact(&mut stream, AnswerHeader::LENGTH);
            let header = AnswerHeader::parse(&header).expect("an answer");
            exact(&mut stream, header.length as usize);
            if header.answer != answer::INFO {
                return (stream, header.answer);
            }
        }
    }

    fn client(&self) -> UnixStream {
        let (stream, answer) = self.choose();
        assert_eq!(answer, answer::ACK);
        stream
    }
}

fn exact(stream: &mut UnixStream, count: usize) -> Vec<u8> {
    let mut data = vec![0; count];
    stream.read_exact(&mut data).expect("data from the server");
    data
}

fn request(command: Command, cookie: u64, range: (u64, u64)) -> Vec<u8> {
    let request = Request {
        flags: 0,
        command,
        cookie,
        offset: range.0,
        length: range.1,
    };
    let mut data = [0; Request::MAX_LENGTH];
    let length = request.emit(Headers::Simple, &mut data);
    data[..length].to_vec()
}

/// Reads the next reply; returns its cookie, its error, and `count` bytes of data on success.
fn reply(stream: &mut UnixStream, count: usize) -> (u64, Option<Error>, Vec<u8>) {
    let header = exact(stream, Simple::LENGTH);
    let header = Simple::parse(&header).expect("a reply");
    assert_eq!(header.magic, Simple::MAGIC);
    let error = Error::from_code(header.error);
    let data = match error {
        None => exact(stream, count),
        Some(_) => Vec::new(),
    };
    (header.cookie, error, data)
}

/// Writes a block and reads it back.
fn check_connection(stream: &mut UnixStream) {
    let write = [request(Command::Write, 1, (512, 512)), vec![7; 512]].concat();
    stream.write_all(&write).expect("sent");
    assert_eq!(reply(stream, 0), (1, None, vec![]));
    let read = request(Command::Read, 2, (512, 512));
    stream.write_all(&read).expect("sent");
    assert_eq!(reply(stream, 512), (2, None, vec![7; 512]));
}

/// Returns true if the server has closed the connection.
fn has_ended(stream: &mut UnixStream) -> bool {
    match stream.read(&mut [0; 1]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[test]
fn requests_take_as_long_as_on_the_drive() {
    let running = start("timed", Some(10.0), StoreSpec::Memory, 4);
    let mut stream = running.client();
    check_connection(&mut stream);
    // A flush waits for the drive; writing zeroes waits for several commands.
    for (cookie, command) in [(3, Command::Flush), (4, Command::Trim)] {
        let range = if command == Command::Flush {
            (0, 0)
        } else {
            (0, 512)
        };
        stream
            .write_all(&request(command, cookie, range))
            .expect("sent");
        assert_eq!(reply(&mut stream, 0), (cookie, None, vec![]));
    }
    let zeroes = request(Command::WriteZeroes, 5, (0, SIZE));
    stream.write_all(&zeroes).expect("sent");
    assert_eq!(reply(&mut stream, 0), (5, None, vec![]));
    stream
        .write_all(&request(Command::Read, 6, (512, 512)))
        .expect("sent");
    assert_eq!(reply(&mut stream, 512).2, [0; 512]);
    stream
        .write_all(&request(Command::Disconnect, 7, (0, 0)))
        .expect("sent");
    assert!(has_ended(&mut stream));
    let served = running.stop();
    let counts = served.counts;
    assert_eq!((counts.reads, counts.writes, counts.flushes), (2, 1, 1));
    assert_eq!((counts.trims, counts.zeroes, counts.failed), (1, 1, 0));
    assert_eq!((counts.read_bytes, counts.written_bytes), (1024, 512));
    // A trim takes no time.
    assert_eq!((served.connections, served.lateness.count()), (1, 5));
}

#[test]
fn a_request_that_fails_in_the_drive_returns_an_error() {
    let name = format!("diskarm-{}-server-faults", std::process::id());
    let path = std::env::temp_dir().join(name);
    let text = "x(drive=faults(medium=100% after 1 retries, drive=hp-c2247), size=1 MiB)";
    let spec = ExportSpec::parse(text, "--export").expect("a specification");
    let spec = ExportSpec {
        name: String::new(),
        ..spec
    };
    let export = spec.build(pace(Some(1000.0)), 1).expect("an export");
    let listener = Listener::bind(&Address::Unix(path.clone())).expect("a socket");
    let server = Server::start(Nbd::default(), vec![export], vec![listener], 1).expect("a server");
    let running = Running { server, path };
    let mut stream = running.client();
    stream
        .write_all(&request(Command::Read, 1, (0, 512)))
        .expect("sent");
    assert_eq!(reply(&mut stream, 512), (1, Some(Error::Io), vec![]));
    stream
        .write_all(&request(Command::WriteZeroes, 2, (0, SIZE)))
        .expect("sent");
    assert_eq!(reply(&mut stream, 0), (2, Some(Error::Io), vec![]));
    assert_eq!(running.stop().counts.failed, 2);
}

#[test]
fn slow_clients_do_not_delay_others() {
    let running = start("slow", None, StoreSpec::Memory, 4);
    // More idle handshakes than the limit.
    let half_open: Vec<UnixStream> = (0..70).map(|_| running.connect()).collect();
    // A client that never finishes a write, and one that reads no replies.
    let mut slow = running.client();
    let write = [request(Command::Write, 1, (0, SIZE)), vec![1; 1000]].concat();
    slow.write_all(&write).expect("sent");
    let mut not_reading = running.client();
    let reads = request(Command::Read, 1, (0, SIZE)).repeat(200);
    not_reading.write_all(&reads).expect("sent");
    let mut lost = running.client();
    lost.write_all(&[0xff; 100]).expect("sent");
    assert!(has_ended(&mut lost));
    check_connection(&mut running.client());
    drop(half_open);
    // Once that client reads again, it receives everything.
    for _ in 0..200 {
        let (cookie, error, data) = reply(&mut not_reading, SIZE as usize);
        assert_eq!((cookie, error, data.len()), (1, None, SIZE as usize));
    }
    check_connection(&mut not_reading);
    let counts = running.stop().counts;
    assert_eq!((counts.reads, counts.writes), (202, 2));
}

#[test]
fn connections_above_the_limit_are_refused_until_one_ends() {
    let running = start("limit", None, StoreSpec::Memory, 1);
    let first = running.client();
    let (second, refused) = running.choose();
    assert_eq!(refused, answer::POLICY);
    first.shutdown(Shutdown::Both).expect("an open connection");
    // The server notices this when it polls.
    let ended = (0..10_000).any(|_| running.choose().1 == answer::ACK);
    assert!(ended);
    drop(second);
    running.stop();
}

#[test]
fn a_stopping_server_answers_pending_requests() {
    let running = start("drain", Some(1.0), StoreSpec::Memory, 4);
    let mut stream = running.client();
    for cookie in 0..8 {
        let offset = cookie * 100 * 1024 % SIZE;
        stream
            .write_all(&request(Command::Read, cookie, (offset, 1024)))
            .expect("sent");
    }
    // When the first reply has arrived, all requests are in the drive.
    let first = reply(&mut stream, 1024);
    // The server does not wait for an incomplete write.
    let mut incomplete = running.client();
    incomplete
        .write_all(&request(Command::Write, 9, (0, 4096)))
        .expect("sent");
    running.server.stopper().expect("a stopper").stop();
    let mut cookies = vec![first.0];
    for _ in 1..8 {
        let (cookie, error, data) = reply(&mut stream, 1024);
        assert_eq!((error, data.len()), (None, 1024));
        cookies.push(cookie);
    }
    cookies.sort_unstable();
    assert_eq!(cookies, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(has_ended(&mut stream) && has_ended(&mut incomplete));
    let served = running.server.wait().remove(0);
    assert_eq!((served.counts.reads, served.lateness.count()), (8, 8));
}

#[test]
fn requests_of_a_disconnected_client_are_aborted() {
    let running = start("gone", Some(0.001), StoreSpec::Memory, 2);
    // At this speed the drive would need minutes to serve these.
    let mut stream = running.client();
    let reads: Vec<u8> = (0..20)
        .flat_map(|cookie| request(Command::Read, cookie, (cookie * 50 * 1024, 1024)))
        .collect();
    stream.write_all(&reads).expect("sent");
    // The server has received them when it answers a later request that takes no time.
    stream
        .write_all(&request(Command::Trim, 99, (0, 512)))
        .expect("sent");
    assert_eq!(reply(&mut stream, 0).0, 99);
    drop(stream);
    let served = running.stop();
    assert_eq!(served.counts.reads, 20);
    assert!(served.counts.aborted >= 18, "{:?}", served.counts);
    assert_eq!(served.counts.failed, 0);
}

#[test]
fn flushed_data_are_in_the_file() {
    let name = format!("diskarm-{}-server-data", std::process::id());
    let file = std::env::temp_dir().join(name);
    let store = StoreSpec::File(file.to_str().expect("UTF-8").to_owned());
    let running = start("file", None, store, 2);
    let mut stream = running.client();
    check_connection(&mut stream);
    stream
        .write_all(&request(Command::Flush, 3, (0, 0)))
        .expect("sent");
    assert_eq!(reply(&mut stream, 0), (3, None, vec![]));
    let data = std::fs::read(&file).expect("the file");
    assert_eq!((data.len() as u64, &data[512..1024]), (SIZE, &[7; 512][..]));
    let mut zeroes = request(Command::WriteZeroes, 4, (0, SIZE));
    // With force unit access.
    zeroes[5] = 1;
    stream.write_all(&zeroes).expect("sent");
    assert_eq!(reply(&mut stream, 0), (4, None, vec![]));
    assert!(
        std::fs::read(&file)
            .expect("the file")
            .iter()
            .all(|byte| *byte == 0)
    );
    running.stop();
    std::fs::remove_file(file).expect("the file");
}
