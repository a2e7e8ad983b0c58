//! Power cuts that wait for a request.

use super::Cut;
use crate::figures::Access;

/// The power is cut at the n-th request of a kind, counted from when this is armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strike {
    /// When it strikes.
    pub side: Side,
    /// Flushes, or writes; zeroes are writes.
    pub access: Access,
    /// At which, at least the first.
    pub nth: u64,
    /// What survives.
    pub cut: Cut,
}

/// Before or after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// When it has arrived, with its data: the drive does not get it.
    Before,
    /// When it has been answered.
    After,
}

impl Strike {
    /// A request has got to `side`; returns what survives if the power is cut now.
    pub fn passes(&mut self, side: Side, access: Access) -> Option<Cut> {
        let is_write = |access| matches!(access, Access::Write | Access::Zero);
        let is_one = access == self.access || is_write(access) && is_write(self.access);
        if side != self.side || !is_one {
            return None;
        }
        self.nth -= 1;
        (self.nth == 0).then_some(self.cut)
    }
}
