//! An NBD client that waits for each reply, and a server for it.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use diskarm_core::units::Span;
use diskarm_serve::control::ExportCommand;
use diskarm_serve::control_socket::{ControlServer, ask};
use diskarm_serve::nbd::Nbd;
use diskarm_serve::{
    Address, DEFAULT_MAX_CONNECTIONS, Export, ExportSpec, Listener, Pace, Server, Speed,
};
use diskarm_wire::nbd::message::Simple;
use diskarm_wire::nbd::option::{AnswerHeader, Choice, OptionHeader, answer, code};
use diskarm_wire::nbd::{Command, Greeting, Headers, Request};
use serde_json::{Value, json};

pub const SIZE: u64 = 1 << 20;

/// A server with a control socket.
pub struct Running {
    server: Server,
    pub socket: PathBuf,
    pub control: PathBuf,
}

/// Returns a path in the temporary folder that is unique to this process.
pub fn temporary_path(name: &str) -> PathBuf {
    let name = format!("diskarm-{}-power-{name}", std::process::id());
    std::env::temp_dir().join(name)
}

/// Serves the export `text` at `socket`, at `speed`.
pub fn serve(text: &str, speed: Option<f64>, socket: &Path, control: &Path) -> Server {
    serve_with(text, speed, (socket, control), |export| export)
}

/// Like [`serve`], with an export modified by `change`.
pub fn serve_with(
    text: &str,
    speed: Option<f64>,
    (socket, control): (&Path, &Path),
    change: impl FnOnce(Export) -> Export,
) -> Server {
    let spec = ExportSpec::parse(text, "--export").expect("a specification");
    let pace = Pace {
        speed: speed.map(|factor| Speed::new(factor).expect("a speed")),
        spins: false,
        bound: Span::from_us(100.0),
    };
    let export = change(spec.build(pace, 1).expect("an export"));
    let bytes = export.facts.bytes();
    let bind = |path: &Path| Listener::bind(&Address::Unix(path.to_owned())).expect("a socket");
    let listeners = vec![bind(socket)];
    let server = Server::start_controlled(
        Nbd::default(),
        vec![export],
        listeners,
        DEFAULT_MAX_CONNECTIONS,
    );
    let server = server.expect("a server");
    let statistics = move |_, counted: &_| spec.statistics(pace, bytes, counted);
    let controller = ControlServer {
        handles: server.handles(),
        statistics: Box::new(statistics),
    };
    controller.listen(bind(control)).expect("a thread");
    server
}

impl Running {
    /// Serves a megabyte in memory from a drive.
    pub fn start(name: &str, drive: &str, speed: Option<f64>) -> Self {
        Self::start_with(name, drive, speed, |export| export)
    }

    /// Like [`Self::start`], with an export modified by `change`.
    pub fn start_with(
        name: &str,
        drive: &str,
        speed: Option<f64>,
        change: impl FnOnce(Export) -> Export,
    ) -> Self {
        let (socket, control) = (
            temporary_path(name),
            temporary_path(&format!("{name}-control")),
        );
        let text = format!("db(drive={drive}, size=1 MiB)");
        Self {
            server: serve_with(&text, speed, (&socket, &control), change),
            socket,
            control,
        }
    }

    /// Returns the answer from the control socket.
    pub fn ask(&self, line: &str) -> Value {
        ask_at(&self.control, line)
    }

    pub fn stop(self) {
        self.server.stopper().expect("a stopper").stop();
        self.server.wait();
        std::fs::remove_file(self.control).expect("a socket");
    }

    pub fn client(&self) -> Client {
        Client::connect(&self.socket).expect("a listening server")
    }
}

/// Returns the answer from a control socket.
pub fn ask_at(control: &Path, line: &str) -> Value {
    let command = ExportCommand::parse(line).expect("a command");
    let answer = ask(control, &command).expect("a server");
    serde_json::from_str(&answer).expect("JSON")
}

/// Cuts the power while writes of sector 0 and of sectors 16 and 17 are acknowledged but not safe,
/// so that they are lost. Returns the answer from the control socket.
pub fn cut_with_two_writes_pending(ask: impl Fn(&str) -> Value) -> Value {
    let write = |first: u64, sectors: u64| {
        json!({"first_sector": first, "sectors": sectors, "landed_sectors": 0,
            "is_acknowledged": true})
    };
    let expected = json!({"is_powered": true, "pending": [write(0, 1), write(16, 2)],
        "last_cut": null});
    assert_eq!(ask("pending(export=db)"), expected);
    let lost = ask("power-cut(export=db)");
    let expected = json!({"lost_writes": 2, "unfinished_writes": 0, "reverted_sectors": 3});
    assert_eq!(lost, expected);
    lost
}

/// A connection to an export.
pub struct Client(UnixStream);

impl Client {
    /// Connects to the export `db`.
    pub fn connect(socket: &Path) -> io::Result<Self> {
        let mut client = Self(UnixStream::connect(socket)?);
        // A server that hangs must not hang the test. The timeout is shorter than the 30 seconds
        // after which the server checks silent clients, which would hide a missed event.
        client.0.set_read_timeout(Some(Duration::from_secs(25)))?;
        client.exact(Greeting::LENGTH)?;
        let data = Choice::emit("db", &[]);
        let header = OptionHeader {
            magic: Greeting::MAGIC,
            option: code::GO,
            length: data.len() as u32,
        };
        let sent = [&[0, 0, 0, 3], &header.emit()[..], &data].concat();
        client.0.write_all(&sent)?;
        loop {
            let header = client.exact(AnswerHeader::LENGTH)?;
            let header = AnswerHeader::parse(&header).expect("an answer");
            client.exact(header.length as usize)?;
            match header.answer {
                answer::INFO => {}
                answer::ACK => return Ok(client),
                _ => return Err(io::Error::other("refused")),
            }
        }
    }

    fn exact(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut data = vec![0; count];
        self.0.read_exact(&mut data)?;
        Ok(data)
    }

    pub fn send(&mut self, command: Command, fua: bool, range: (u64, u64)) -> io::Result<()> {
        // NBD_CMD_FLAG_FUA is bit 0.
        let request = Request {
            flags: u16::from(fua),
            command,
            cookie: 1,
            offset: range.0,
            length: range.1,
        };
        let mut data = [0; Request::MAX_LENGTH];
        let length = request.emit(Headers::Simple, &mut data);
        self.0.write_all(&data[..length])
    }

    pub fn data(&mut self, data: &[u8]) -> io::Result<()> {
        self.0.write_all(data)
    }

    /// Reads the next reply; returns its data.
    pub fn reply(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let header = self.exact(Simple::LENGTH)?;
        let header = Simple::parse(&header).expect("a reply");
        match header.error {
            0 => self.exact(count),
            error => Err(io::Error::from_raw_os_error(error as i32)),
        }
    }

    pub fn write(&mut self, offset: u64, data: &[u8], fua: bool) -> io::Result<()> {
        self.send(Command::Write, fua, (offset, data.len() as u64))?;
        self.data(data)?;
        self.reply(0).map(drop)
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.send(Command::Flush, false, (0, 0))?;
        self.reply(0).map(drop)
    }

    pub fn read(&mut self, offset: u64, count: u64) -> io::Result<Vec<u8>> {
        self.send(Command::Read, false, (offset, count))?;
        self.reply(count as usize)
    }
}
