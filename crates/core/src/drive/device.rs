//! The trait of everything that serves requests: drives, and what wraps them.

use super::Completion;
use crate::request::Request;
use crate::units::{Instant, SectorCount};

/// A device that does no I/O, reads no clock and starts no thread.
///
/// It is handed requests and instants, and hands back completions and the instant of its next
/// event. Instants never go back from one call to the next.
pub trait Device {
    /// Number of blocks that requests may name.
    fn sectors(&self) -> SectorCount;

    /// Whether a command handed over now would be taken.
    fn accepts(&self) -> bool;

    /// A host hands over a command.
    ///
    /// # Errors
    /// The request goes back, and the device is as it was.
    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Refused>;

    /// When something happens by itself, if anything.
    fn next_event(&self) -> Option<Instant>;

    /// Goes on to `now`, or hands back the next completion up to and including it, in the order
    /// of their instants; to be called until `None` comes.
    fn advance(&mut self, now: Instant) -> Option<Completion>;
}

/// Why a device did not take a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Its queue is full.
    Full,
    /// The request names no block.
    Empty,
    /// The request ends beyond the last block.
    BeyondEnd {
        /// Number of blocks of the device.
        sectors: SectorCount,
    },
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Full => f.write_str("the command queue is full"),
            Self::Empty => f.write_str("the request has no sectors, expected at least 1"),
            Self::BeyondEnd { sectors } => {
                write!(
                    f,
                    "the request ends beyond the last of {} blocks",
                    sectors.0
                )
            }
        }
    }
}

impl std::error::Error for Refused {}

/// Whether a device of `sectors` blocks can serve `request`.
///
/// # Errors
/// [`Refused::Empty`] and [`Refused::BeyondEnd`].
pub fn check(request: &Request, sectors: SectorCount) -> Result<(), Refused> {
    if request.sectors.0 == 0 {
        return Err(Refused::Empty);
    }
    match request.start.0.checked_add(request.sectors.0) {
        Some(end) if end <= sectors.0 => Ok(()),
        _ => Err(Refused::BeyondEnd { sectors }),
    }
}
