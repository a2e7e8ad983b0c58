//! The power switch of a disk, the trigger that waits to cut the power, and injected bad blocks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant as HostInstant};

use diskarm_core::request::Request;
use diskarm_core::units::{Lbn, Span};
use diskarm_core::wrap::{AffectedOps, BadBlocks};
use serde::{Serialize, Serializer};

use super::cache::{Losses, PowerCut};
use crate::statistics::Access;

#[derive(Clone, Debug)]
pub struct PowerSwitch {
    pub is_on: bool,
    trigger: Option<Trigger>,
    /// The time at which the trigger cuts the power, if it waits for a time.
    pub trigger_time: Option<HostInstant>,
    /// A cut that happens as soon as pending replies have been sent.
    due: Option<PowerCut>,
    pub last_losses: Option<Losses>,
    pub faults: InjectedFaults,
}

impl Default for PowerSwitch {
    fn default() -> Self {
        Self {
            is_on: true,
            trigger: None,
            trigger_time: None,
            due: None,
            last_losses: None,
            faults: InjectedFaults::default(),
        }
    }
}

impl PowerSwitch {
    /// Returns true if the power is on and no cut is due.
    pub fn takes_requests(&self) -> bool {
        self.is_on && self.due.is_none()
    }

    /// Counts a request that has reached `stage`; returns true if a power cut is now due.
    pub fn count_request(&mut self, stage: TriggerStage, access: Access) -> bool {
        let Some(trigger) = &mut self.trigger else {
            return false;
        };
        if !trigger.when.count_request(stage, access) {
            return false;
        }
        self.due = Some(trigger.cut);
        self.disarm();
        true
    }

    /// Arms a trigger, which replaces any earlier one.
    pub fn arm(&mut self, trigger: Trigger, now: HostInstant) {
        self.trigger_time = match trigger.when {
            TriggerEvent::Time(span) => {
                Some(now + Duration::from_nanos(span.as_ns().unsigned_abs()))
            }
            TriggerEvent::Request { .. } => None,
        };
        self.trigger = Some(trigger);
    }

    pub fn take_due(&mut self, now: HostInstant) -> Option<PowerCut> {
        if self.trigger_time.is_some_and(|at| at <= now) {
            self.due = self.trigger.map(|trigger| trigger.cut);
            self.disarm();
        }
        self.due.take()
    }

    fn disarm(&mut self) {
        self.trigger = None;
        self.trigger_time = None;
    }

    pub fn record_cut(&mut self, lost: Losses) {
        self.is_on = false;
        self.disarm();
        self.last_losses = Some(lost);
    }
}

/// A power cut that waits for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trigger {
    pub when: TriggerEvent,
    pub cut: PowerCut,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerEvent {
    /// The n-th request of a type after arming.
    Request {
        stage: TriggerStage,
        /// Flushes or writes; writing zeroes counts as a write.
        access: Access,
        /// At least 1.
        nth: u64,
    },
    /// A wall-clock time span after arming.
    Time(Span),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerStage {
    /// The request has arrived with its data; the drive does not receive it.
    Before,
    /// The request has been answered.
    After,
}

impl TriggerEvent {
    /// Counts a request that has reached a stage; returns true if it sets off the trigger.
    fn count_request(&mut self, reached: TriggerStage, found: Access) -> bool {
        let Self::Request { stage, access, nth } = self else {
            return false;
        };
        let is_write = |access| matches!(access, Access::Write | Access::Zero);
        let is_match = found == *access || is_write(found) && is_write(*access);
        if reached != *stage || !is_match {
            return false;
        }
        *nth -= 1;
        *nth == 0
    }
}

/// Consecutive blocks that fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InjectedFault {
    /// The range, and the transfers that fail.
    pub blocks: BadBlocks,
    /// Number of requests that will still fail; `None` if the blocks fail until they are healed.
    pub left: Option<u64>,
}

impl InjectedFault {
    /// The exclusive end of a range that extends to the end of the disk. No disk has this many
    /// sectors.
    pub const ALL: Lbn = Lbn(1 << 48);
}

/// Names of the transfers that fail.
pub const AFFECTED: [(AffectedOps, &str); 3] = [
    (AffectedOps::Reads, "reads"),
    (AffectedOps::Writes, "writes"),
    (AffectedOps::Both, "both"),
];

pub fn affected_name(affected: AffectedOps) -> &'static str {
    let mut all = AFFECTED.iter();
    let named = all.find(|(other, _)| *other == affected);
    named.map_or("both", |(_, name)| name)
}

impl Serialize for InjectedFault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Output {
            first_sector: u64,
            /// `None` for a range up to the end of the disk.
            sectors: Option<u64>,
            affects: &'static str,
            times: Option<u64>,
        }
        let BadBlocks {
            first,
            end,
            affected,
            ..
        } = self.blocks;
        let output = Output {
            first_sector: first.0,
            sectors: (end != Self::ALL).then(|| end.0 - first.0),
            affects: affected_name(affected),
            times: self.left,
        };
        output.serialize(serializer)
    }
}

/// The bad blocks of a disk. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct InjectedFaults(Arc<Mutex<Vec<InjectedFault>>>);

impl InjectedFaults {
    pub fn inject(&self, injected: InjectedFault) {
        self.all().push(injected);
    }

    /// Repairs the blocks of `[first, end)`. What remains of a range keeps the range's count.
    pub fn heal(&self, first: Lbn, end: Lbn) {
        let remaining_parts = |injected: InjectedFault| {
            let bad = injected.blocks;
            let before = BadBlocks {
                end: bad.end.min(first),
                ..bad
            };
            let after = BadBlocks {
                first: bad.first.max(end),
                ..bad
            };
            [before, after]
                .into_iter()
                .filter(|blocks| blocks.first < blocks.end)
                .map(move |blocks| InjectedFault { blocks, ..injected })
        };
        let mut all = self.all();
        *all = all.drain(..).flat_map(remaining_parts).collect();
    }

    /// Returns the bad blocks, in order of injection.
    pub fn list(&self) -> Vec<InjectedFault> {
        self.all().clone()
    }

    /// Returns the first bad block that a request touches. Only the failure of that block counts.
    pub fn first_failure(&self, request: &Request) -> Option<Lbn> {
        let mut all = self.all();
        let (block, index) = all
            .iter()
            .enumerate()
            .filter_map(|(index, fault)| Some((fault.blocks.first_in(request)?, index)))
            .min()?;
        if let Some(left) = &mut all[index].left {
            *left -= 1;
            if *left == 0 {
                all.remove(index);
            }
        }
        Some(block)
    }

    fn all(&self) -> MutexGuard<'_, Vec<InjectedFault>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use diskarm_core::request::Op;
    use diskarm_core::units::SectorCount;

    use super::*;

    fn trigger(when: TriggerEvent, seed: u64) -> Trigger {
        let cut = PowerCut {
            torn: false,
            worst: false,
            seed,
        };
        Trigger { when, cut }
    }

    #[test]
    fn a_trigger_waits_for_its_time() {
        let now = HostInstant::now();
        let ms = Duration::from_millis;
        let mut switch = PowerSwitch::default();
        switch.arm(trigger(TriggerEvent::Time(Span::from_ms(20.0)), 1), now);
        assert_eq!(switch.trigger_time, Some(now + ms(20)));
        assert_eq!(switch.take_due(now + ms(19)), None);
        let cut = switch.take_due(now + ms(20)).expect("a cut");
        assert_eq!((cut.seed, switch.trigger_time), (1, None));
        assert_eq!(switch.take_due(now + ms(21)), None);
    }

    #[test]
    fn a_trigger_replaces_the_previous_one() {
        let now = HostInstant::now();
        let later = now + Duration::from_secs(1);
        let flush = TriggerEvent::Request {
            stage: TriggerStage::Before,
            access: Access::Flush,
            nth: 1,
        };
        let time = TriggerEvent::Time(Span::from_ms(20.0));
        let mut switch = PowerSwitch::default();
        switch.arm(trigger(time, 1), now);
        switch.arm(trigger(flush, 2), now);
        assert_eq!(switch.take_due(later), None);
        assert!(switch.count_request(TriggerStage::Before, Access::Flush));
        assert_eq!(switch.take_due(now).map(|cut| cut.seed), Some(2));
        switch.arm(trigger(flush, 3), now);
        switch.arm(trigger(time, 4), now);
        assert!(!switch.count_request(TriggerStage::Before, Access::Flush));
        // An earlier cut also disarms a trigger that waits for a time.
        switch.record_cut(Losses::default());
        assert_eq!(switch.take_due(later), None);
    }

    fn injected(first: u64, end: u64, left: Option<u64>) -> InjectedFault {
        let blocks = BadBlocks {
            first: Lbn(first),
            end: Lbn(end),
            affected: AffectedOps::Reads,
            retries: 0,
        };
        InjectedFault { blocks, left }
    }

    fn read(all: &InjectedFaults, first: u64, sectors: u64) -> Option<u64> {
        let request = Request::new(0, Op::Read, Lbn(first), SectorCount(sectors));
        all.first_failure(&request).map(|block| block.0)
    }

    #[test]
    fn a_range_fails_as_often_as_specified() {
        let all = InjectedFaults::default();
        all.inject(injected(8, 10, Some(2)));
        all.inject(injected(9, 12, None));
        // Only reads that touch a bad block count, and only in the range with the first such block.
        assert_eq!(read(&all, 0, 8), None);
        assert_eq!(read(&all, 0, 16), Some(8));
        let left = [injected(8, 10, Some(1)), injected(9, 12, None)];
        assert_eq!(all.list(), left);
        let write = Request::new(0, Op::Write, Lbn(8), SectorCount(1));
        assert_eq!(all.first_failure(&write), None);
        assert_eq!(read(&all, 8, 1), Some(8));
        assert_eq!(read(&all, 8, 1), None);
        assert_eq!(read(&all, 0, 16), Some(9));
        assert_eq!(all.list(), [injected(9, 12, None)]);
    }

    #[test]
    fn remaining_parts_of_a_healed_range_keep_its_count() {
        let all = InjectedFaults::default();
        all.inject(injected(8, 12, Some(3)));
        assert_eq!(read(&all, 9, 1), Some(9));
        all.heal(Lbn(9), Lbn(11));
        let remaining = [injected(8, 9, Some(2)), injected(11, 12, Some(2))];
        assert_eq!(all.list(), remaining);
        all.heal(Lbn(0), InjectedFault::ALL);
        assert_eq!(all.list(), []);
    }
}
