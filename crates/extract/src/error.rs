//! Why a measurement failed.

use diskarm_wire::Sense;
use diskarm_wire::sense::Key;
use diskarm_wire::status;

use crate::Broken;

/// Why a measurement failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The transport failed.
    Broken(Broken),
    /// The drive ended a command with another status than GOOD.
    Status {
        /// Which command, in words.
        command: &'static str,
        /// The status byte.
        status: u8,
        /// Sense data.
        sense: Vec<u8>,
    },
    /// The drive returned data that the standard does not allow.
    Malformed {
        /// Which command, in words.
        command: &'static str,
        /// What is wrong with them.
        reason: String,
    },
    /// What was measured leaves the question open.
    Undecided(String),
}

impl Error {
    /// Whether the drive could not read or write a block.
    pub fn is_medium_error(&self) -> bool {
        match self {
            Self::Status { sense, .. } => {
                Sense::parse(sense).is_ok_and(|sense| sense.key == Key::MediumError)
            }
            _ => false,
        }
    }
}

impl From<Broken> for Error {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Broken(broken) => broken.fmt(f),
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
