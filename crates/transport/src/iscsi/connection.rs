//! A TCP connection to a target, and its errors.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use diskarm_wire::iscsi::{Digest, Lengths, Message, login_status, padded};

/// Maximum data in a received message, in bytes (MaxRecvDataSegmentLength).
pub const MAX_DATA: usize = 1 << 18;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The reason why a disk cannot be used.
#[derive(Debug)]
pub enum Error {
    /// The connection failed.
    Io(io::Error),
    /// The target did not answer in time.
    Timeout,
    /// The target rejected the login, with a number of [`login_status`].
    Login(u16),
    /// The target violates the protocol, or requires an unsupported feature.
    Protocol(String),
    /// The target did not prove that it knows its secret.
    Impostor,
    /// The disk is not empty.
    Content(&'static str),
    /// A command failed.
    Disk(crate::transport::Error),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(source) => source.fmt(f),
            Self::Timeout => f.write_str("the target did not answer in time"),
            Self::Login(status) => {
                let reason = match *status {
                    login_status::AUTHENTICATION_FAILURE => "user or secret is wrong or missing",
                    login_status::AUTHORIZATION_FAILURE => "this target may not be used",
                    login_status::NOT_FOUND => "no such target",
                    login_status::UNSUPPORTED_VERSION => "the protocol version is not supported",
                    login_status::TOO_MANY_CONNECTIONS | login_status::OUT_OF_RESOURCES => {
                        "the target has no room for another session"
                    }
                    login_status::UNAVAILABLE => "the target is not available now",
                    status if status >> 8 == 1 => "the target has moved",
                    _ => "no reason given",
                };
                write!(f, "login refused: {reason} (status 0x{status:04x})")
            }
            Self::Protocol(reason) => write!(f, "the target violates the protocol: {reason}"),
            Self::Impostor => f.write_str("the target's proof of its secret is wrong or missing"),
            Self::Content(what) => write!(f, "has {what}: writes would destroy data"),
            Self::Disk(source) => source.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(source) => Some(source),
            Self::Disk(source) => Some(source),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // Unix and Windows report a read timeout differently.
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Timeout,
            _ => Self::Io(error),
        }
    }
}

pub fn protocol_error(reason: impl Into<String>) -> Error {
    Error::Protocol(reason.into())
}
/// A connection that sends and receives messages.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    pub has_header_digest: bool,
    pub has_data_digest: bool,
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects to the first address of a host that answers.
    pub fn open(host: &str, port: u16) -> Result<Self, Error> {
        let mut failure = None;
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                Ok(stream) => return Self::new(stream),
                Err(error) => failure = Some(error),
            }
        }
        match failure {
            Some(error) => Err(error.into()),
            None => Err(protocol_error(format!("{host} has no address"))),
        }
    }

    fn new(stream: TcpStream) -> Result<Self, Error> {
        // Each command is short and waits for the previous one.
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(Duration::from_secs(60)))?;
        Ok(Self {
            stream,
            has_header_digest: false,
            has_data_digest: false,
            buffer: Vec::new(),
        })
    }

    pub fn send(&mut self, message: &Message, data: &[u8]) -> Result<(), Error> {
        let header = message.emit(Lengths::of_data(data.len()));
        self.buffer.clear();
        self.buffer.extend(header);
        if self.has_header_digest {
            self.buffer.extend(Digest::new(&header).bytes());
        }
        self.buffer.extend(data);
        self.buffer
            .extend(&[0; 3][..padded(data.len()) - data.len()]);
        if self.has_data_digest && !data.is_empty() {
            self.buffer.extend(Digest::new(data).bytes());
        }
        Ok(self.stream.write_all(&self.buffer)?)
    }

    /// Receives the next message with its data before `deadline`.
    pub fn receive(&mut self, deadline: Instant) -> Result<(Message, Vec<u8>), Error> {
        let mut header = [0; Message::LENGTH];
        self.fill(&mut header, deadline)?;
        let lengths = Lengths::parse(&header).expect("all its bytes");
        let mut additional = vec![0; lengths.ahs()];
        self.fill(&mut additional, deadline)?;
        if self.has_header_digest {
            let mut sum = Digest::default();
            sum.update(&header);
            sum.update(&additional);
            self.check(sum, "header", deadline)?;
        }
        let message = Message::parse(&header)
            .map_err(|_| protocol_error(format!("unknown message 0x{:02x}", header[0])))?;
        let length = lengths.data_length as usize;
        if length > MAX_DATA {
            return Err(protocol_error(format!(
                "a message with {length} bytes of data"
            )));
        }
        let mut data = vec![0; lengths.padded()];
        self.fill(&mut data, deadline)?;
        if self.has_data_digest && length > 0 {
            self.check(Digest::new(&data), "data", deadline)?;
        }
        data.truncate(length);
        Ok((message, data))
    }

    /// Reads a digest and compares it with `sum`.
    fn check(&mut self, sum: Digest, part: &str, deadline: Instant) -> Result<(), Error> {
        let mut found = [0; Digest::LENGTH];
        self.fill(&mut found, deadline)?;
        let expected = sum.bytes();
        if found != expected {
            return Err(protocol_error(format!(
                "wrong digest of {part}: found {found:02x?}, expected {expected:02x?}"
            )));
        }
        Ok(())
    }

    fn fill(&mut self, mut room: &mut [u8], deadline: Instant) -> Result<(), Error> {
        while !room.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::Timeout);
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(room) {
                Ok(0) => {
                    let kind = io::ErrorKind::UnexpectedEof;
                    return Err(Error::Io(io::Error::new(
                        kind,
                        "the target closed the connection",
                    )));
                }
                Ok(read) => room = &mut room[read..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
