//! An NBD client.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use diskarm_core::units::{Bytes, Lbn, SectorCount};
use diskarm_wire::nbd::message::Simple;
use diskarm_wire::nbd::option::{
    AnswerHeader, BlockSizes, Choice, ExportInfo, OptionHeader, answer, code, info,
};
use diskarm_wire::nbd::{ClientFlags, Command, Error, Greeting, Headers, MAX_STRING, Request};

use crate::transport::{Fault, Lost, Reader, Size, Source, host_and_port};

/// Default port of NBD servers (IANA).
const PORT: u16 = 10809;

/// Block size in bytes, unless the server requires larger blocks.
const SECTOR: u64 = 512;

/// Timeout for each read from and write to the connection.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum length of an answer to an option, in bytes.
const MAX_ANSWER_LENGTH: u32 = 1 << 16;

/// Maximum number of answers to one option. The protocol defines only four kinds.
const MAX_ANSWERS: usize = 64;

/// The largest minimum block size that is accepted (section "Block size constraints"), in bytes.
const MAX_SECTOR: u64 = 1 << 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NbdSource {
    server: Server,
    export: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Server {
    Tcp(String, u16),
    Unix(String),
}

impl NbdSource {
    /// The syntax that [`Self::parse`] accepts.
    pub const EXPECTED: &str = "nbd://HOST[:PORT][/EXPORT], or nbd+unix:///EXPORT?socket=PATH";

    /// Parses a URL. The export and the path of the socket may contain percent-encoded characters
    /// (doc/uri.md of the NBD project).
    pub fn parse(url: &str) -> Option<Self> {
        if let Some(rest) = url.strip_prefix("nbd+unix:///") {
            let (export, path) = rest.split_once("?socket=")?;
            let (export, path) = (percent_decode(export)?, percent_decode(path)?);
            let is_valid = !path.is_empty() && export.len() <= MAX_STRING;
            return is_valid.then_some(Self {
                server: Server::Unix(path),
                export,
            });
        }
        let rest = url.strip_prefix("nbd://")?;
        let (address, export) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = host_and_port(address, PORT)?;
        let export = percent_decode(export)?;
        let is_valid = !host.is_empty() && !host.contains('@') && export.len() <= MAX_STRING;
        is_valid.then(|| Self {
            server: Server::Tcp(host.to_owned(), port),
            export,
        })
    }

    fn connect(&self) -> io::Result<Stream> {
        match &self.server {
            Server::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port))?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(TIMEOUT))?;
                stream.set_write_timeout(Some(TIMEOUT))?;
                Ok(Box::new(stream))
            }
            #[cfg(unix)]
            Server::Unix(path) => {
                let stream = std::os::unix::net::UnixStream::connect(path)?;
                stream.set_read_timeout(Some(TIMEOUT))?;
                stream.set_write_timeout(Some(TIMEOUT))?;
                Ok(Box::new(stream))
            }
            #[cfg(not(unix))]
            Server::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// Decodes percent-encoded text (RFC 3986); `None` if it is malformed or not UTF-8.
fn percent_decode(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let code = part.get(..2)?;
        let is_hex = code.bytes().all(|digit| digit.is_ascii_hexdigit());
        bytes.push(u8::from_str_radix(code, 16).ok().filter(|_| is_hex)?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

trait ReadWrite: Read + Write + Send {}
impl<T: Read + Write + Send> ReadWrite for T {}
type Stream = Box<dyn ReadWrite>;

impl Source for NbdSource {
    fn open(&self) -> Result<Box<dyn Reader>, Lost> {
        let mut stream = self
            .connect()
            .map_err(|error| Lost(format!("cannot connect to the NBD server: {error}")))?;
        let size = choose_export(&mut stream, &self.export)?;
        Ok(Box::new(Client {
            stream,
            size,
            cookie: 0,
        }))
    }
}

fn protocol_error(found: impl Into<String>) -> Lost {
    Lost(format!("the NBD server sent {}", found.into()))
}

fn truncation<E>(_: E) -> Lost {
    protocol_error("a truncated message")
}

fn read_array<const N: usize>(stream: &mut Stream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Performs the handshake. Returns the size of the export.
fn choose_export(stream: &mut Stream, export: &str) -> Result<Size, Lost> {
    let bytes: [u8; Greeting::LENGTH] = read_array(stream)?;
    let greeting = Greeting::parse(&bytes).map_err(truncation)?;
    let is_newstyle = greeting.password == Greeting::PASSWORD && greeting.magic == Greeting::MAGIC;
    if !is_newstyle || !greeting.fixed_newstyle {
        return Err(protocol_error("a greeting that is not fixed newstyle"));
    }
    let flags = ClientFlags {
        fixed_newstyle: true,
        no_zeroes: greeting.no_zeroes,
    };
    let choice = Choice::emit(export, &[info::BLOCK_SIZE]);
    let header = OptionHeader {
        magic: Greeting::MAGIC,
        option: code::GO,
        length: choice.len() as u32,
    };
    let sent = [&flags.emit()[..], &header.emit(), &choice].concat();
    stream.write_all(&sent)?;
    receive_answers(stream, export)
}

fn receive_answers(stream: &mut Stream, export: &str) -> Result<Size, Lost> {
    let (mut size, mut minimum) = (None, 1);
    for _ in 0..MAX_ANSWERS {
        let bytes: [u8; AnswerHeader::LENGTH] = read_array(stream)?;
        let header = AnswerHeader::parse(&bytes).map_err(truncation)?;
        if header.magic != AnswerHeader::MAGIC || header.length > MAX_ANSWER_LENGTH {
            return Err(protocol_error("an invalid answer to an option"));
        }
        let mut data = vec![0; header.length as usize];
        stream.read_exact(&mut data)?;
        match header.answer {
            answer::ACK => {
                let missing = || protocol_error("an export without a size");
                return export_size(size.ok_or_else(missing)?, minimum);
            }
            answer::INFO => match data.get(..2) {
                Some([0, 0]) => size = ExportInfo::parse(&data).ok().map(|found| found.size),
                Some([0, 3]) => {
                    minimum = BlockSizes::parse(&data).map_err(truncation)?.minimum.into();
                }
                _ => {}
            },
            answer::UNKNOWN => return Err(Lost(format!("there is no export {export:?}"))),
            other => {
                let mut text = String::from_utf8_lossy(&data).into_owned();
                text.retain(|char| !char.is_control());
                return Err(Lost(format!(
                    "the NBD server rejected the export (0x{other:08x}): {text}"
                )));
            }
        }
    }
    Err(protocol_error("too many answers to one option"))
}

/// Converts the size of an export from bytes to blocks of at least the minimum size.
fn export_size(bytes: u64, minimum: u64) -> Result<Size, Lost> {
    if !minimum.is_power_of_two() || minimum > MAX_SECTOR {
        return Err(protocol_error(format!(
            "a minimum block size of {minimum} bytes, expected a power of two up to {MAX_SECTOR}"
        )));
    }
    let sector = SECTOR.max(minimum);
    if bytes == 0 || !bytes.is_multiple_of(sector) {
        let found = format!("an export of {bytes} bytes, expected whole blocks of {sector}");
        return Err(protocol_error(found));
    }
    Ok(Size {
        sectors: SectorCount(bytes / sector),
        sector: Bytes(sector),
    })
}

struct Client {
    stream: Stream,
    size: Size,
    cookie: u64,
}

impl Client {
    fn send(&mut self, command: Command, offset: u64, length: u64) -> io::Result<()> {
        self.cookie += 1;
        let request = Request {
            flags: 0,
            command,
            cookie: self.cookie,
            offset,
            length,
        };
        let mut bytes = [0; Request::MAX_LENGTH];
        let length = request.emit(Headers::Simple, &mut bytes);
        self.stream.write_all(&bytes[..length])
    }
}

impl Reader for Client {
    fn size(&self) -> Size {
        self.size
    }

    fn read(&mut self, first: Lbn, buffer: &mut [u8]) -> Result<(), Fault> {
        let offset = first.0 * self.size.sector.0;
        let sent = self.send(Command::Read, offset, buffer.len() as u64);
        sent.map_err(Lost::from)?;
        let header: [u8; Simple::LENGTH] = read_array(&mut self.stream).map_err(Lost::from)?;
        let reply = Simple::parse(&header).map_err(truncation)?;
        if reply.magic != Simple::MAGIC || reply.cookie != self.cookie {
            return Err(protocol_error("a reply to another request").into());
        }
        match Error::from_code(reply.error) {
            None => Ok(self.stream.read_exact(buffer).map_err(Lost::from)?),
            Some(Error::Io) => Err(Fault::Unreadable(None)),
            Some(error) => Err(protocol_error(format!("a read error: {error}")).into()),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A server that does not receive the command will see the connection close.
        let _ = self.send(Command::Disconnect, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn urls_are_percent_decoded() {
        let unix = |path: &str, export: &str| NbdSource {
            server: Server::Unix(path.to_owned()),
            export: export.to_owned(),
        };
        let parse = NbdSource::parse;
        // The URL that `diskarm serve nbd` prints for a socket at /srv/my disk.sock.
        let found = parse("nbd+unix:///a%2Fb?socket=/srv/my%20disk.sock");
        assert_eq!(found, Some(unix("/srv/my disk.sock", "a/b")));
        let found = parse("nbd+unix:///?socket=%C3%A9.sock%25");
        assert_eq!(found, Some(unix("\u{e9}.sock%", "")));
        let found = parse("nbd://host/my%20disk").expect("a URL");
        assert_eq!(found.export, "my disk");
        for bad in ["%", "%2", "%zz", "%+1", "%ff", "a%2\u{e9}"] {
            assert_eq!(parse(&format!("nbd://host/{bad}")), None, "{bad}");
            let path = format!("nbd+unix:///?socket={bad}");
            assert_eq!(parse(&path), None, "{bad}");
        }
    }

    #[test]
    fn exports_consist_of_whole_blocks_of_a_valid_size() {
        let size = |sectors, sector| {
            Ok(Size {
                sectors: SectorCount(sectors),
                sector: Bytes(sector),
            })
        };
        assert_eq!(export_size(1024, 1), size(2, 512));
        assert_eq!(export_size(1 << 20, 4096), size(256, 4096));
        assert_eq!(export_size(1 << 20, 1 << 16), size(16, 1 << 16));
        for (bytes, minimum, expected) in [
            (1000, 1, "of 1000 bytes, expected whole blocks of 512"),
            (0, 1, "of 0 bytes, expected whole blocks of 512"),
            (1024, 4096, "of 1024 bytes, expected whole blocks of 4096"),
            (1 << 40, 1 << 17, "of 131072 bytes, expected a power of two"),
            (1 << 40, u32::MAX.into(), "expected a power of two"),
            (1 << 40, 1536, "expected a power of two"),
            (1 << 40, 0, "expected a power of two"),
        ] {
            let Err(Lost(why)) = export_size(bytes, minimum) else {
                panic!("{bytes} bytes in blocks of {minimum} were accepted");
            };
            assert!(why.contains(expected), "{why}");
        }
    }

    #[test]
    fn an_endless_answer_is_an_error() {
        let header = AnswerHeader {
            magic: AnswerHeader::MAGIC,
            option: code::GO,
            answer: answer::INFO,
            length: 0,
        };
        let answers = header.emit().repeat(MAX_ANSWERS + 1);
        let mut stream: Stream = Box::new(Cursor::new(answers));
        let found = receive_answers(&mut stream, "");
        assert_eq!(found, Err(protocol_error("too many answers to one option")));
    }
}
