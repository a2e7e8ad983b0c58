//! The interfaces to drives and to read-only storage, and their errors.

use std::time::{Duration, Instant as HostInstant};

use diskarm_core::units::{Bytes, Instant, Lbn, SectorCount, Span};
use diskarm_wire::sense::Key;
use diskarm_wire::{Sense, status};

/// Carries SCSI commands to one logical unit, one at a time, and times them.
///
/// Times are measured at the host: a command is sent when the host passes it on, and ends when the
/// host is notified of its completion.
pub trait Transport {
    /// Sends a command and waits for its completion. Fails if the command or the connection is
    /// lost; a status other than GOOD is not an error.
    fn execute(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, TransportError>;

    /// Sleeps for `span`, during which the drive is idle.
    fn sleep(&mut self, span: Span);

    /// Returns the current time on the clock that times the replies.
    fn now(&self) -> Instant;
}

/// The wall clock that times real drives. It starts when the drive is opened.
#[derive(Debug)]
pub(crate) struct HostClock(HostInstant);

impl HostClock {
    pub fn start() -> Self {
        Self(HostInstant::now())
    }

    pub fn now(&self) -> Instant {
        let ns = self.0.elapsed().as_nanos();
        Instant::from_ns(u64::try_from(ns).expect("less than 584 years"))
    }

    pub fn sleep(&self, span: Span) {
        std::thread::sleep(Duration::from_nanos(span.as_ns().try_into().unwrap_or(0)));
    }
}

/// The data of a command, as seen by the host.
#[derive(Debug)]
pub enum Data<'a> {
    None,
    In(&'a mut [u8]),
    Out(&'a [u8]),
}

impl Data<'_> {
    pub(crate) fn reborrow(&mut self) -> Data<'_> {
        match self {
            Self::None => Data::None,
            Self::In(bytes) => Data::In(bytes),
            Self::Out(bytes) => Data::Out(bytes),
        }
    }

    pub(crate) fn sent(&self) -> &[u8] {
        match self {
            Self::Out(bytes) => bytes,
            Self::None | Self::In(_) => &[],
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::In(bytes) => bytes.len(),
            _ => self.sent().len(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status byte (SAM-5); 0 is GOOD.
    pub status: u8,
    /// Sense data; empty unless the status is CHECK CONDITION.
    pub sense: Vec<u8>,
    pub transferred: usize,
    pub sent: Instant,
    pub ended: Instant,
}

/// A failure of the transport, with its reason as a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransportError {
    /// A command timed out or was ended by a reset. The next command may succeed.
    Unanswered(String),
    /// The drive is no longer reachable.
    Lost(String),
}

impl std::fmt::Display for TransportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unanswered(reason) | Self::Lost(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for TransportError {}

/// The failure of a command or of a measurement. `command` is the name of the SCSI command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    Transport(TransportError),
    /// The drive completed a command with a status other than GOOD.
    Status {
        command: &'static str,
        status: u8,
        sense: Vec<u8>,
    },
    /// The drive returned data that the standard does not allow.
    Malformed {
        command: &'static str,
        reason: String,
    },
    /// The measurement was inconclusive or reached its limits.
    Undecided(String),
}

impl Error {
    /// Returns true if the drive could not read or write a block.
    pub fn is_medium_error(&self) -> bool {
        matches!(self, Self::Status { sense, .. }
            if Sense::parse(sense).is_ok_and(|sense| sense.key == Key::MediumError))
    }
}

impl From<TransportError> for Error {
    fn from(error: TransportError) -> Self {
        Self::Transport(error)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Transport(error) => error.fmt(f),
            Self::Status {
                command,
                status,
                sense,
            } => {
                match status::name(*status) {
                    Some(name) => write!(f, "{command} ended with {name}")?,
                    None => write!(f, "{command} ended with status 0x{status:02x}")?,
                }
                match Sense::parse(sense) {
                    Ok(sense) => write!(f, ", {sense}"),
                    Err(_) if sense.is_empty() => Ok(()),
                    Err(_) => write!(f, ", sense data {sense:02x?}"),
                }
            }
            Self::Malformed { command, reason } => write!(f, "{command}: {reason}"),
            Self::Undecided(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Error {}

/// Storage that several threads read in parallel, each through its own [`Reader`].
pub trait Source: Send + Sync {
    fn open(&self) -> Result<Box<dyn Reader>, Lost>;
}

/// A connection to a source, or an open file. Executes one read at a time.
pub trait Reader: Send {
    fn size(&self) -> Size;

    /// Fills `buffer` with the blocks from `first` on. It must hold a whole number of blocks.
    fn read(&mut self, first: Lbn, buffer: &mut [u8]) -> Result<(), Fault>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub sectors: SectorCount,
    pub sector: Bytes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Blocks are unreadable. Contains the first of them if the device reports it.
    Unreadable(Option<Lbn>),
    /// The connection was lost. A new connection may work.
    Lost(Lost),
}

/// The loss of a connection, with its reason as a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost(pub String);

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Lost {}

impl From<std::io::Error> for Lost {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<Lost> for Fault {
    fn from(lost: Lost) -> Self {
        Self::Lost(lost)
    }
}

/// Splits an authority such as `host:80` or `[::1]:80` into host and port (or the default port).
pub(crate) fn host_and_port(authority: &str, default: u16) -> Option<(&str, u16)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    match port {
        "" => Some((host, default)),
        port => Some((host, port.strip_prefix(':')?.parse().ok()?)),
    }
}
