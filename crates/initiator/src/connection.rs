//! Messages on a TCP connection.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use diskarm_wire::iscsi::{Digest, Lengths, Message, padded};

use crate::error::{Error, protocol};

/// The most data that a message to this side may have, in bytes (MaxRecvDataSegmentLength).
pub const MAX_DATA: usize = 1 << 18;

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(10);

/// A connection to a target.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    /// Whether headers have a digest.
    pub header_digest: bool,
    /// Whether data have one.
    pub data_digest: bool,
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects to a host, by the first of its addresses that answers.
    pub fn open(host: &str, port: u16) -> Result<Self, Error> {
        let mut refused = None;
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT) {
                Ok(stream) => return Self::over(stream),
                Err(error) => refused = Some(error),
            }
        }
        match refused {
            Some(error) => Err(error.into()),
            None => Err(protocol(format!("{host} has no address"))),
        }
    }

    fn over(stream: TcpStream) -> Result<Self, Error> {
        // Commands are short, and each waits for the one before.
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(Duration::from_secs(60)))?;
        Ok(Self {
            stream,
            header_digest: false,
            data_digest: false,
            buffer: Vec::new(),
        })
    }

    /// Sends a message with its data.
    pub fn send(&mut self, message: &Message, data: &[u8]) -> Result<(), Error> {
        let header = message.emit(Lengths::of_data(data.len()));
        self.buffer.clear();
        self.buffer.extend(header);
        if self.header_digest {
            self.buffer.extend(Digest::new(&header).bytes());
        }
        self.buffer.extend(data);
        self.buffer
            .extend(&[0; 3][..padded(data.len()) - data.len()]);
        if self.data_digest && !data.is_empty() {
            self.buffer.extend(Digest::new(data).bytes());
        }
        Ok(self.stream.write_all(&self.buffer)?)
    }

    /// The next message with its data, which must come before `deadline`.
    pub fn receive(&mut self, deadline: Instant) -> Result<(Message, Vec<u8>), Error> {
        let mut header = [0; Message::LENGTH];
        self.fill(&mut header, deadline)?;
        let lengths = Lengths::parse(&header).expect("all its bytes");
        let mut more = vec![0; lengths.ahs()];
        self.fill(&mut more, deadline)?;
        if self.header_digest {
            let mut sum = Digest::default();
            sum.update(&header);
            sum.update(&more);
            self.check(sum, "header", deadline)?;
        }
        let message = Message::parse(&header)
            .map_err(|_| protocol(format!("unknown message 0x{:02x}", header[0])))?;
        let length = lengths.data_length as usize;
        if length > MAX_DATA {
            return Err(protocol(format!("a message with {length} bytes of data")));
        }
        let mut data = vec![0; lengths.padded()];
        self.fill(&mut data, deadline)?;
        if self.data_digest && length > 0 {
            self.check(Digest::new(&data), "data", deadline)?;
        }
        data.truncate(length);
        Ok((message, data))
    }

    /// Reads a digest, which must be `sum`.
    fn check(&mut self, sum: Digest, of: &str, deadline: Instant) -> Result<(), Error> {
        let mut found = [0; Digest::LENGTH];
        self.fill(&mut found, deadline)?;
        let expected = sum.bytes();
        if found != expected {
            return Err(protocol(format!(
                "wrong digest of {of}: found {found:02x?}, expected {expected:02x?}"
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
                    let kind = std::io::ErrorKind::UnexpectedEof;
                    return Err(Error::Io(std::io::Error::new(
                        kind,
                        "the target closed the connection",
                    )));
                }
                Ok(read) => room = &mut room[read..],
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
