//! The interface to a drive, and its errors.

use diskarm_core::units::{Instant, Span};
use diskarm_wire::sense::Key;
use diskarm_wire::{Sense, status};

/// Carries SCSI commands to one logical unit, one at a time, and times them.
///
/// Times are those of the host: a command is sent when the host hands it over, and ended when the
/// host learns of its completion.
pub trait Transport {
    /// Sends a command and waits for its completion.
    ///
    /// # Errors
    /// The command or the connection was lost. A command that the drive completes with a status
    /// other than GOOD is a [`Reply`].
    fn execute(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, TransportError>;

    /// Leaves the drive idle for `span`.
    fn rest(&mut self, span: Span);

    /// The current time on the clock of the replies.
    fn now(&self) -> Instant;
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

    /// Returns the bytes that the host sends.
    pub(crate) fn sent(&self) -> &[u8] {
        match self {
            Self::Out(bytes) => bytes,
            Self::None | Self::In(_) => &[],
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::In(bytes) => bytes.len(),
            Self::Out(bytes) => bytes.len(),
        }
    }
}

/// The completion of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status byte (SAM-5); 0 is GOOD.
    pub status: u8,
    /// Sense data; empty unless the status is CHECK CONDITION.
    pub sense: Vec<u8>,
    /// Bytes transferred.
    pub transferred: usize,
    pub sent: Instant,
    pub ended: Instant,
}

/// A failure of the transport, with its reason as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransportError {
    /// A command timed out or was ended by a reset. The next one may succeed.
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

/// The failure of a command or of a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    Transport(TransportError),
    /// The drive completed a command with a status other than GOOD.
    Status {
        /// Name of the command.
        command: &'static str,
        status: u8,
        sense: Vec<u8>,
    },
    /// The drive returned data that the standard does not allow.
    Malformed {
        /// Name of the command.
        command: &'static str,
        reason: String,
    },
    /// The measurement was inconclusive, or reached its limits.
    Undecided(String),
}

impl Error {
    /// Returns true if the drive could not read or write a block.
    pub fn is_medium_error(&self) -> bool {
        match self {
            Self::Status { sense, .. } => {
                Sense::parse(sense).is_ok_and(|sense| sense.key == Key::MediumError)
            }
            _ => false,
        }
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
