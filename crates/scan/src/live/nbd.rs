//! Exports of NBD servers.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use diskarm_core::units::{Bytes, Lbn, SectorCount};
use diskarm_wire::nbd::option::{
    AnswerHeader, BlockSizes, Choice, ExportInfo, OptionHeader, answer, code, info,
};
use diskarm_wire::nbd::reply::Simple;
use diskarm_wire::nbd::{ClientFlags, Command, Error, Greeting, Headers, MAX_STRING, Request};

use super::source::{Fault, Lost, Reader, Size, Source};

/// The port of servers (IANA).
const PORT: u16 = 10809;

/// Size of a block where the server does not ask for larger ones, in bytes.
const SECTOR: u64 = 512;

/// How long the server may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest answer to an option that is read, in bytes.
const MOST_ANSWER: u32 = 1 << 16;

/// An export of an NBD server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NbdSource {
    server: Server,
    export: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Server {
    Tcp(String, u16),
    /// The path of a socket.
    Unix(String),
}

impl NbdSource {
    /// What [`Self::parse`] expects.
    pub const EXPECTED: &str = "nbd://HOST[:PORT][/EXPORT], or nbd+unix:///EXPORT?socket=PATH";

    /// Reads a URL.
    pub fn parse(url: &str) -> Option<Self> {
        if let Some(rest) = url.strip_prefix("nbd+unix:///") {
            let (export, path) = rest.split_once("?socket=")?;
            return (!path.is_empty()).then(|| Self {
                server: Server::Unix(path.to_owned()),
                export: export.to_owned(),
            });
        }
        let rest = url.strip_prefix("nbd://")?;
        let (place, export) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = match place.strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => place.find(':').map_or((place, ""), |at| place.split_at(at)),
        };
        let port = match port {
            "" => PORT,
            port => port.strip_prefix(':')?.parse().ok()?,
        };
        let is_sound = !host.is_empty() && !host.contains('@') && export.len() <= MAX_STRING;
        is_sound.then(|| Self {
            server: Server::Tcp(host.to_owned(), port),
            export: export.to_owned(),
        })
    }

    fn connect(&self) -> io::Result<Stream> {
        match &self.server {
            Server::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port))?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Ok(Box::new(stream))
            }
            #[cfg(unix)]
            Server::Unix(path) => {
                let stream = std::os::unix::net::UnixStream::connect(path)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Ok(Box::new(stream))
            }
            #[cfg(not(unix))]
            Server::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

trait Both: Read + Write + Send {}
impl<T: Read + Write + Send> Both for T {}
type Stream = Box<dyn Both>;

impl Source for NbdSource {
    fn open(&self) -> Result<Box<dyn Reader>, Lost> {
        let mut stream = self.connect()?;
        let size = chosen(&mut stream, &self.export)?;
        Ok(Box::new(Client {
            stream,
            size,
            cookie: 0,
        }))
    }
}

fn wrong(what: impl Into<String>) -> Lost {
    Lost(format!("the NBD server sends {}", what.into()))
}

fn exact<const N: usize>(stream: &mut Stream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Chooses an export.
fn chosen(stream: &mut Stream, export: &str) -> Result<Size, Lost> {
    let greeting: [u8; Greeting::LENGTH] = exact(stream)?;
    let greeting = Greeting::parse(&greeting).map_err(|_| wrong("too little"))?;
    let is_new = greeting.password == Greeting::PASSWORD && greeting.magic == Greeting::MAGIC;
    if !is_new || !greeting.fixed_newstyle {
        return Err(wrong("no greeting of the fixed newstyle protocol"));
    }
    let flags = ClientFlags {
        fixed_newstyle: true,
        no_zeroes: greeting.no_zeroes,
    };
    let mut choice = vec![0; export.len() + 16];
    let length = Choice::emit(&mut choice, export, &[info::BLOCK_SIZE]);
    let header = OptionHeader {
        magic: Greeting::MAGIC,
        option: code::GO,
        length: length as u32,
    };
    let sent = [&flags.emit()[..], &header.emit(), &choice[..length]].concat();
    stream.write_all(&sent)?;
    let (mut bytes, mut sector) = (None, SECTOR);
    loop {
        let header: [u8; AnswerHeader::LENGTH] = exact(stream)?;
        let header = AnswerHeader::parse(&header).map_err(|_| wrong("too little"))?;
        if header.magic != AnswerHeader::MAGIC || header.length > MOST_ANSWER {
            return Err(wrong("no answer to an option"));
        }
        let mut data = vec![0; header.length as usize];
        stream.read_exact(&mut data)?;
        match header.answer {
            answer::ACK => break,
            answer::INFO => match data.get(..2) {
                Some([0, 0]) => bytes = ExportInfo::parse(&data).ok().map(|found| found.size),
                Some([0, 3]) => {
                    let found = BlockSizes::parse(&data).map_err(|_| wrong("too little"))?;
                    sector = sector.max(u64::from(found.minimum));
                }
                _ => {}
            },
            answer::UNKNOWN => return Err(Lost(format!("there is no export {export:?}"))),
            other => {
                let text = String::from_utf8_lossy(&data);
                let text: String = text.chars().filter(|char| !char.is_control()).collect();
                return Err(Lost(format!(
                    "the NBD server refuses (0x{other:08x}): {text}"
                )));
            }
        }
    }
    let bytes = bytes.ok_or_else(|| wrong("no size of the export"))?;
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

    fn read(&mut self, first: Lbn, room: &mut [u8]) -> Result<(), Fault> {
        let offset = first.0 * self.size.sector.0;
        let sent = self.send(Command::Read, offset, room.len() as u64);
        sent.map_err(Lost::from)?;
        let header: [u8; Simple::LENGTH] = exact(&mut self.stream).map_err(Lost::from)?;
        let reply = Simple::parse(&header).map_err(|_| wrong("too little"))?;
        if reply.magic != Simple::MAGIC || reply.cookie != self.cookie {
            return Err(wrong("a reply to something else").into());
        }
        match Error::of(reply.error) {
            None => Ok(self.stream.read_exact(room).map_err(Lost::from)?),
            Some(Error::Io) => Err(Fault::Unreadable(None)),
            Some(error) => Err(wrong(format!("{error:?} for a read")).into()),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A server that does not hear it finds the connection closed.
        let _ = self.send(Command::Disconnect, 0, 0);
    }
}
