//! Power cuts that wait for a request, or for a time.

use diskarm_core::units::Span;

use super::PowerCut;
use crate::figures::Access;

/// The power is cut when something happens, counted from when this is armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// When it strikes.
    pub when: TriggerEvent,
    /// What survives.
    pub cut: PowerCut,
}

/// What a [`Trigger`] waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerEvent {
    /// The n-th request of a kind.
    Request {
        /// Before or after it.
        side: TriggerSide,
        /// Flushes, or writes; zeroes are writes.
        access: Access,
        /// At which, at least the first.
        nth: u64,
    },
    /// This much time, by the clock on the wall.
    Time(Span),
}

/// Before or after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerSide {
    /// When it has arrived, with its data: the drive does not get it.
    Before,
    /// When it has been answered.
    After,
}

impl TriggerEvent {
    /// A request has got to `at`; returns whether this was what it waits for.
    pub fn passes(&mut self, at: TriggerSide, found: Access) -> bool {
        let Self::Request { side, access, nth } = self else {
            return false;
        };
        let is_write = |access| matches!(access, Access::Write | Access::Zero);
        let is_one = found == *access || is_write(found) && is_write(*access);
        if at != *side || !is_one {
            return false;
        }
        *nth -= 1;
        *nth == 0
    }
}
