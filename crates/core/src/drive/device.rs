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
    /// The request is larger than [`Request::MOST_SECTORS`].
    TooLarge,
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
            Self::TooLarge => {
                let most = Request::MOST_SECTORS.0;
                write!(
                    f,
                    "the request is too large, expected at most {most} sectors"
                )
            }
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
/// [`Refused::Empty`], [`Refused::TooLarge`] and [`Refused::BeyondEnd`].
pub fn check(request: &Request, sectors: SectorCount) -> Result<(), Refused> {
    if request.sectors.0 == 0 {
        return Err(Refused::Empty);
    }
    if request.sectors > Request::MOST_SECTORS {
        return Err(Refused::TooLarge);
    }
    match request.start.0.checked_add(request.sectors.0) {
        Some(end) if end <= sectors.0 => Ok(()),
        _ => Err(Refused::BeyondEnd { sectors }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Op;
    use crate::units::Lbn;

    fn asked(start: u64, sectors: u64) -> Result<(), Refused> {
        let request = Request {
            id: 0,
            op: Op::Read,
            start: Lbn(start),
            sectors: SectorCount(sectors),
        };
        check(&request, SectorCount(100_000))
    }

    #[test]
    fn requests_within_the_disk_and_of_a_size_that_commands_have_are_served() {
        let beyond = Err(Refused::BeyondEnd {
            sectors: SectorCount(100_000),
        });
        assert_eq!(asked(99_999, 1), Ok(()));
        assert_eq!(asked(99_999, 2), beyond);
        assert_eq!(asked(u64::MAX, 1), beyond);
        assert_eq!(asked(0, 0), Err(Refused::Empty));
        assert_eq!(asked(0, 65_536), Ok(()));
        assert_eq!(asked(0, 65_537), Err(Refused::TooLarge));
    }
}
