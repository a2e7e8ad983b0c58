//! Tests of the data in RAID 5 arrays.

use std::collections::BTreeSet;

use super::*;
use crate::array::shadow::{self, Log, Model, PartRecord, SlowDevice, TestArray};
use crate::random::{Generator, below};

impl Model for Stripes {
    const IS_SERIAL: bool = true;
    const FAILED_COMPLETE: bool = true;
    const WRITES: u64 = 2;

    fn max_sectors(dice: &mut Generator, blocks: u64) -> u64 {
        if below(dice, 2) == 0 { 6 } else { blocks }
    }

    fn device_in(array: &Raid, member: usize) -> usize {
        Self::device_of(array, member)
    }

    fn slot_of(array: &Raid, device: usize) -> Option<usize> {
        Some(array.placement.member_of(device))
    }

    fn has(array: &Raid, member: usize, start: u64) -> bool {
        let Self { layout, health, .. } = &array.placement;
        health.missing(start / layout.unit()) != Some(member)
    }

    /// Computes the parity from all data if they are known, and otherwise from the old parity.
    fn write_value(array: &Raid, part: &PartRecord, member: usize, start: u64) -> u64 {
        let layout = &array.placement.layout;
        let others = (0..layout.members()).filter(|other| *other != member);
        if part.request.is_none() {
            let others = others.map(|other| part.known[&(other, start)]);
            return others.fold(0, |one, other| one ^ other);
        }
        if let Some(block) = layout.block(member, Lbn(start)) {
            return part.new_value(Some(block)).expect("a block of the request");
        }
        let new = |other| part.new_value(layout.block(other, Lbn(start)));
        let known = |other| part.known.get(&(other, start)).copied();
        let all = others
            .clone()
            .map(|other| new(other).or_else(|| known(other)));
        if let Some(parity) = all.reduce(|sum, next| Some(sum? ^ next?)).flatten() {
            return parity;
        }
        let mut parity = part.known[&(member, start)];
        for other in others {
            if let Some(new) = new(other) {
                parity ^= new ^ part.known[&(other, start)];
            }
        }
        parity
    }

    /// Only a read of a missing block reads the rest of its row, including the parity.
    fn read_values(array: &Raid, part: &PartRecord, member: usize, start: u64) -> Vec<(Lbn, u64)> {
        let Self { layout, health, .. } = &array.placement;
        let others = (0..layout.members())
            .filter(|other| Some(*other) != health.failed)
            .map(|other| part.known.get(&(other, start)).copied());
        let sum = others.reduce(|sum, next| Some(sum? ^ next?)).flatten();
        let own = Some((member, part.known[&(member, start)]));
        let found = [own, health.failed.zip(sum)].into_iter().flatten();
        found
            .filter_map(|(member, found)| Some((layout.block(member, Lbn(start))?, found)))
            .filter(|(block, _)| part.new_value(Some(*block)).is_some())
            .collect()
    }

    /// Returns the missing blocks that have another missing block in their row.
    fn lost_blocks(
        array: &Raid,
        sectors: u64,
        is_missing: &dyn Fn(usize, u64) -> bool,
    ) -> BTreeSet<Lbn> {
        let layout = &array.placement.layout;
        let mut lost = BTreeSet::new();
        for start in 0..sectors {
            let missing = (0..layout.members()).filter(|member| is_missing(*member, start));
            if missing.clone().count() > 1 {
                lost.extend(missing.filter_map(|member| layout.block(member, Lbn(start))));
            }
        }
        lost
    }

    fn check_parity(array: &Raid, start: u64, stored: &dyn Fn(usize) -> u64) {
        let layout = &array.placement.layout;
        let members = 0..layout.members();
        let is_missing =
            |member| layout.block(member, Lbn(start)).is_none() && !Self::has(array, member, start);
        if !members.clone().any(is_missing) {
            let sum = members.fold(0, |sum, member| sum ^ stored(member));
            assert_eq!(sum, 0, "wrong parity at {start}");
        }
    }

    fn has_replaced(array: &Raid) -> bool {
        array.placement.replaced.is_some()
    }
}

fn random_raid(dice: &mut Generator, log: &Log) -> TestArray<Stripes> {
    let count = 3 + below(dice, 4) as usize;
    let pauses_ns = [0, 200, 5_000, 20_000];
    let failures = shadow::random_failures(count, &[0, 1, 1, 2, 3], pauses_ns, dice);
    let config = RaidConfig {
        level: Level::Five,
        rebuild_share: shadow::random_share(&failures, dice),
        failures: failures.clone(),
        unit: SectorCount(1 + below(dice, 5)),
        policy: PolicyConfig::default(),
    };
    let sectors = SectorCount(1 + below(dice, 40));
    let has_spare = config.rebuild_share.is_some();
    let devices = SlowDevice::build_several(count + usize::from(has_spare), sectors, dice, log);
    TestArray {
        array: Raid::new(devices, &config).expect("the policy needs only block numbers"),
        members: count,
        has_spare,
        sectors,
        failures,
    }
}

#[test]
fn reads_return_what_was_written() {
    let runs = shadow::check(4_000, random_raid);
    assert!(runs.checked > 100_000 && runs.rebuilt > 1_000, "{runs:?}");
    assert!(runs.lost > 300 && runs.replaced > 50, "{runs:?}");
}
