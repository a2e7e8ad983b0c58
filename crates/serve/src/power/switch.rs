//! Whether a disk has power, what waits to cut it, and which of its blocks fail.

use std::time::{Duration, Instant as Wall};

use super::{InjectedFaults, Losses, PowerCut, Trigger, TriggerEvent, TriggerSide};
use crate::figures::Access;

/// See the module.
#[derive(Clone, Debug)]
pub struct PowerSwitch {
    is_on: bool,
    strike: Option<Trigger>,
    /// When the strike comes, if it waits for a time.
    strikes_at: Option<Wall>,
    /// A cut that comes when what has been answered is on its way.
    due: Option<PowerCut>,
    /// What the last cut has taken.
    lost: Option<Losses>,
    injections: InjectedFaults,
}

impl Default for PowerSwitch {
    fn default() -> Self {
        Self {
            is_on: true,
            strike: None,
            strikes_at: None,
            due: None,
            lost: None,
            injections: InjectedFaults::default(),
        }
    }
}

impl PowerSwitch {
    /// Whether the power is on.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Whether the power is on, and stays so for the next request.
    pub fn takes_requests(&self) -> bool {
        self.is_on && self.due.is_none()
    }

    /// A request has got to `side`. Returns whether the power goes now.
    pub fn passes(&mut self, side: TriggerSide, access: Access) -> bool {
        let Some(strike) = &mut self.strike else {
            return false;
        };
        if !strike.when.passes(side, access) {
            return false;
        }
        self.due = Some(strike.cut);
        self.forget_strike();
        true
    }

    /// Lets `strike` wait from now on; another that waits is forgotten.
    pub fn arm(&mut self, strike: Trigger, now: Wall) {
        self.strikes_at = match strike.when {
            TriggerEvent::Time(span) => {
                Some(now + Duration::from_nanos(span.as_ns().unsigned_abs()))
            }
            TriggerEvent::Request { .. } => None,
        };
        self.strike = Some(strike);
    }

    /// When the strike comes, if it waits for a time.
    pub fn strikes_at(&self) -> Option<Wall> {
        self.strikes_at
    }

    /// The cut that is due by now.
    pub fn take_due(&mut self, now: Wall) -> Option<PowerCut> {
        if self.strikes_at.is_some_and(|at| at <= now) {
            self.due = self.strike.map(|strike| strike.cut);
            self.forget_strike();
        }
        self.due.take()
    }

    fn forget_strike(&mut self) {
        self.strike = None;
        self.strikes_at = None;
    }

    /// The power is off.
    pub fn went_off(&mut self, lost: Losses) {
        self.is_on = false;
        self.forget_strike();
        self.lost = Some(lost);
    }

    /// What the last cut has taken.
    pub fn lost(&self) -> Option<Losses> {
        self.lost
    }

    /// The power is on again.
    pub fn restore(&mut self) {
        self.is_on = true;
    }

    /// The blocks that fail.
    pub fn injections(&self) -> &InjectedFaults {
        &self.injections
    }
}

#[cfg(test)]
mod tests {
    use diskarm_core::units::Span;

    use super::*;

    fn strike(when: TriggerEvent, seed: u64) -> Trigger {
        let cut = PowerCut {
            torn: false,
            worst: false,
            seed,
        };
        Trigger { when, cut }
    }

    #[test]
    fn a_strike_waits_for_its_time() {
        let now = Wall::now();
        let ms = Duration::from_millis;
        let mut switch = PowerSwitch::default();
        switch.arm(strike(TriggerEvent::Time(Span::from_ms(20.0)), 1), now);
        assert_eq!(switch.strikes_at(), Some(now + ms(20)));
        assert_eq!(switch.take_due(now + ms(19)), None);
        let cut = switch.take_due(now + ms(20)).expect("a cut");
        assert_eq!((cut.seed, switch.strikes_at()), (1, None));
        assert_eq!(switch.take_due(now + ms(21)), None);
    }

    #[test]
    fn a_strike_takes_the_place_of_one_that_waits() {
        let now = Wall::now();
        let later = now + Duration::from_secs(1);
        let flush = TriggerEvent::Request {
            side: TriggerSide::Before,
            access: Access::Flush,
            nth: 1,
        };
        let time = TriggerEvent::Time(Span::from_ms(20.0));
        let mut switch = PowerSwitch::default();
        switch.arm(strike(time, 1), now);
        switch.arm(strike(flush, 2), now);
        assert_eq!(switch.take_due(later), None);
        assert!(switch.passes(TriggerSide::Before, Access::Flush));
        assert_eq!(switch.take_due(now).map(|cut| cut.seed), Some(2));
        switch.arm(strike(flush, 3), now);
        switch.arm(strike(time, 4), now);
        assert!(!switch.passes(TriggerSide::Before, Access::Flush));
        // Nor does a time strike that a cut came before.
        switch.went_off(Losses::default());
        assert_eq!(switch.take_due(later), None);
    }
}
