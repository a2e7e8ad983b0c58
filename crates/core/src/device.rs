//! The trait of everything that serves requests, and what passes through it.
//!
//! A drive is a device, and so is whatever stands in front of devices: a host queue, disks side by
//! side, an observer, an injector of faults. Requests go in at one end ([`Device::submit`]) and
//! completions come out ([`Device::advance`]); [`Device::next_event`] tells when to look.

mod children;
mod completion;
mod landed;
mod part;
#[cfg(test)]
pub(crate) mod slow;

pub use children::Children;
pub use completion::{Breakdown, Completion, Outcome, Status};
pub use landed::Landed;
pub use part::{
    BufferWork, CacheWork, DiskWork, Failure, Lost, NamedWork, Part, RedundancyWork, Work,
};

use crate::request::{Op, Request};
use crate::units::{Bytes, Instant, SectorCount};

/// A device that does no I/O, reads no clock and starts no thread.
///
/// It is given requests and instants, and returns completions and the instant of its next event.
/// Instants never decrease from one call to the next, and whatever happens by an instant comes
/// first: [`advance`](Self::advance) to it until that returns `None`, then
/// [`submit`](Self::submit) or [`abort`](Self::abort). Every request that was submitted completes
/// exactly once.
pub trait Device: Send {
    /// Number of blocks that requests may address (on each unit, where there are several).
    fn capacity(&self) -> SectorCount;

    /// Size of a block.
    fn sector_size(&self) -> Bytes;

    /// Whether it can serve `request` at all, now or later.
    ///
    /// # Errors
    /// What is wrong with the request.
    #[inline]
    fn check(&self, request: &Request) -> Result<(), Refused> {
        check(request, self.capacity())
    }

    /// Whether it would take some request now. A queue in front of it chooses the next request
    /// only then.
    fn has_room(&self) -> bool;

    /// Whether it would take this request, which [`check`](Self::check) finds valid, now.
    #[inline]
    fn accepts(&self, _: &Request) -> bool {
        self.has_room()
    }

    /// Submits a request.
    ///
    /// # Errors
    /// The device does not take it, and is as it was before.
    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Refused>;

    /// When something happens without further input, if anything does.
    fn next_event(&self) -> Option<Instant>;

    /// Advances to `now`, or to the next completion up to and including `now` and returns it. Call
    /// it until it returns `None`. Completions come in the order of their instants.
    fn advance(&mut self, now: Instant) -> Option<Completion>;

    /// Takes back the request `id`. Returns whether it was still waiting: if so, it completes at
    /// `now` with [`Status::Aborted`]; if not, it completes as if nothing had been asked.
    fn abort(&mut self, now: Instant, id: u64) -> bool;

    /// What its parts have done so far. A single disk has none but a buffer that defers writes, and
    /// a wrapper those of the device behind it. Shares and means over time are of the time until
    /// `now`, or until the last event of the part if that is later; those of a disk that has
    /// failed, until then.
    fn parts(&self, _now: Instant) -> Vec<Part> {
        Vec::new()
    }

    /// The blocks that have reached the media by `now` since the last call, in the order in which
    /// they did. The first call begins the record. `None` from a device that keeps no such record:
    /// one of several drives, or one that delays what continues in a drive.
    fn landed(&mut self, _now: Instant) -> Option<Vec<Landed>> {
        None
    }
}

impl<D: Device + ?Sized> Device for Box<D> {
    fn capacity(&self) -> SectorCount {
        (**self).capacity()
    }

    fn sector_size(&self) -> Bytes {
        (**self).sector_size()
    }

    fn check(&self, request: &Request) -> Result<(), Refused> {
        (**self).check(request)
    }

    fn has_room(&self) -> bool {
        (**self).has_room()
    }

    fn accepts(&self, request: &Request) -> bool {
        (**self).accepts(request)
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Refused> {
        (**self).submit(now, request)
    }

    fn next_event(&self) -> Option<Instant> {
        (**self).next_event()
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        (**self).advance(now)
    }

    fn abort(&mut self, now: Instant, id: u64) -> bool {
        (**self).abort(now, id)
    }

    fn parts(&self, now: Instant) -> Vec<Part> {
        (**self).parts(now)
    }

    fn landed(&mut self, now: Instant) -> Option<Vec<Landed>> {
        (**self).landed(now)
    }
}

/// Why a device did not take a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Its queue is full.
    Full,
    /// A read or write of no blocks.
    Empty,
    /// The request is larger than [`Request::MAX_SECTORS`].
    TooLarge,
    /// The request ends beyond the last block.
    BeyondEnd {
        /// Number of blocks of the device.
        sectors: SectorCount,
    },
    /// There is no such unit.
    NoSuchUnit {
        /// How many units there are.
        units: u32,
    },
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Full => f.write_str("the command queue is full"),
            Self::Empty => f.write_str("the request has no sectors, expected at least 1"),
            Self::TooLarge => {
                let max = Request::MAX_SECTORS.0;
                write!(
                    f,
                    "the request is too large, expected at most {max} sectors"
                )
            }
            Self::BeyondEnd { sectors } => {
                write!(
                    f,
                    "the request ends beyond the last of {} blocks",
                    sectors.0
                )
            }
            Self::NoSuchUnit { units } => write!(f, "no such unit, expected one of {units}"),
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
        return match request.op {
            Op::Flush => Ok(()),
            Op::Read | Op::Write => Err(Refused::Empty),
        };
    }
    if request.sectors > Request::MAX_SECTORS {
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
    use crate::units::Lbn;

    fn checked(start: u64, sectors: u64) -> Result<(), Refused> {
        let request = Request::new(0, Op::Read, Lbn(start), SectorCount(sectors));
        check(&request, SectorCount(100_000))
    }

    #[test]
    fn requests_must_lie_within_the_device_and_have_a_valid_size() {
        let beyond = Err(Refused::BeyondEnd {
            sectors: SectorCount(100_000),
        });
        assert_eq!(checked(99_999, 1), Ok(()));
        assert_eq!(checked(99_999, 2), beyond);
        assert_eq!(checked(u64::MAX, 1), beyond);
        assert_eq!(checked(0, 0), Err(Refused::Empty));
        assert_eq!(checked(0, 65_536), Ok(()));
        assert_eq!(checked(0, 65_537), Err(Refused::TooLarge));
        assert_eq!(check(&Request::flush(0), SectorCount(1)), Ok(()));
    }
}
