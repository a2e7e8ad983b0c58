//! Whether a disk has power, what waits to cut it, and which of its blocks fail.

use diskarm_core::request::Request;
use diskarm_core::units::Lbn;
use diskarm_core::wrap::BadBlocks;

use super::{Cut, Lost, Side, Strike};
use crate::figures::Access;

/// See the module.
#[derive(Clone, Debug)]
pub struct Switch {
    is_on: bool,
    strike: Option<Strike>,
    /// A cut that comes when what has been answered is on its way.
    due: Option<Cut>,
    /// What the last cut has taken.
    lost: Option<Lost>,
    bad: Vec<BadBlocks>,
}

impl Default for Switch {
    fn default() -> Self {
        Self {
            is_on: true,
            strike: None,
            due: None,
            lost: None,
            bad: Vec::new(),
        }
    }
}

impl Switch {
    /// Whether the power is on.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Whether the power is on, and stays so for the next request.
    pub fn takes_requests(&self) -> bool {
        self.is_on && self.due.is_none()
    }

    /// A request has got to `side`. Returns whether the power goes now.
    pub fn passes(&mut self, side: Side, access: Access) -> bool {
        let strike = self.strike.as_mut();
        let Some(cut) = strike.and_then(|strike| strike.passes(side, access)) else {
            return false;
        };
        self.strike = None;
        self.due = Some(cut);
        true
    }

    /// Lets `strike` wait; another that waits is forgotten.
    pub fn arm(&mut self, strike: Strike) {
        self.strike = Some(strike);
    }

    /// The cut that is due.
    pub fn take_due(&mut self) -> Option<Cut> {
        self.due.take()
    }

    /// The power is off.
    pub fn went_off(&mut self, lost: Lost) {
        self.is_on = false;
        self.strike = None;
        self.lost = Some(lost);
    }

    /// What the last cut has taken.
    pub fn lost(&self) -> Option<Lost> {
        self.lost
    }

    /// The power is on again.
    pub fn restore(&mut self) {
        self.is_on = true;
    }

    /// Lets blocks fail.
    pub fn inject(&mut self, bad: BadBlocks) {
        self.bad.push(bad);
    }

    /// Lets blocks of `[first, end)` fail no more.
    pub fn heal(&mut self, first: Lbn, end: Lbn) {
        let rest = |bad: BadBlocks| {
            let before = BadBlocks {
                end: bad.end.min(first),
                ..bad
            };
            let after = BadBlocks {
                first: bad.first.max(end),
                ..bad
            };
            [before, after]
        };
        let parts = self.bad.drain(..).flat_map(rest);
        self.bad = parts.filter(|bad| bad.first < bad.end).collect();
    }

    /// Whether a request meets a block that fails.
    pub fn fails(&self, request: &Request) -> bool {
        self.bad.iter().any(|bad| bad.met_by(request).is_some())
    }
}
