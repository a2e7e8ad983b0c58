//! Tests of the layout of a pair, and of the data in pairs.

use super::*;
use crate::array::Access;
use crate::array::shadow::{self, Log, SlowDevice, TestArray};
use crate::random::{Generator, below};

fn runs(start: u64, sectors: u64) -> Vec<(u64, u64)> {
    let layout = Layout::new(Some(SectorCount(10)), SectorCount(34));
    let commands = layout.commands(1, Op::Read, start..start + sectors);
    let run = |access: &Access| (access.start, access.sectors);
    commands.iter().map(run).collect()
}

#[test]
fn units_are_reversed_and_an_incomplete_unit_stays() {
    assert_eq!(runs(0, 10), [(20, 10)]);
    assert_eq!(runs(3, 2), [(23, 2)]);
    assert_eq!(runs(8, 14), [(28, 2), (10, 10), (0, 2)]);
    assert_eq!(runs(29, 3), [(9, 1), (30, 2)]);
    assert_eq!(runs(30, 4), [(30, 4)]);
    // A flush.
    assert_eq!(runs(0, 0), [(0, 0)]);
}

#[test]
fn every_block_has_one_position() {
    for unit in 1..40 {
        let layout = Layout::new(Some(SectorCount(unit)), SectorCount(34));
        let mut positions: Vec<u64> = (0..34).map(|block| layout.position(1, block)).collect();
        let back = positions.iter().map(|start| layout.position(1, *start));
        assert!(back.eq(0..34), "units of {unit}");
        positions.sort_unstable();
        assert_eq!(positions, (0..34).collect::<Vec<u64>>(), "units of {unit}");
    }
}

impl shadow::Model for Pair {
    fn has(array: &Mirror, member: usize, start: u64) -> bool {
        let block = Lbn(array.placement.layout.position(member, start));
        array.serves(member, &Request::new(0, Op::Read, block, SectorCount(1)))
    }

    fn serve_waiting(array: &mut Mirror, now: Instant) {
        array.hurry(now, true);
    }
}

fn random_config(dice: &mut Generator) -> MirrorConfig {
    let failures = shadow::random_failures_of_copies(2, dice);
    let share = shadow::random_share(&failures, dice);
    MirrorConfig {
        // Positions are unknown here.
        policy: ["fcfs", "sstf", "clook"][below(dice, 3) as usize]
            .parse()
            .expect("a policy"),
        reads: match below(dice, 4) {
            0 => ReadDispatch::Shared,
            3 => ReadDispatch::Divided {
                pivot: Lbn(below(dice, 40)),
                relaxed: [None, Some(0), Some(2)][below(dice, 3) as usize],
            },
            1 => ReadDispatch::Routed(Routing::Uniform),
            _ => ReadDispatch::Routed(Routing::ShortestQueue),
        },
        writes: [WriteCompletion::Both, WriteCompletion::First][below(dice, 2) as usize],
        transposed: (below(dice, 2) == 0).then(|| SectorCount(1 + below(dice, 5))),
        destaging: None,
        rebuild: share.map(|share_fraction| RebuildConfig {
            share_fraction,
            unit: SectorCount(1 + below(dice, 6)),
        }),
        failures,
        seed: below(dice, 1 << 40),
    }
}

fn random_destaging(dice: &mut Generator) -> MirrorConfig {
    let reads = 1 + below(dice, 3) as usize;
    let schemes = [
        DestageScheme::Alternating,
        DestageScheme::Conditional { reads },
    ];
    MirrorConfig {
        reads: ReadDispatch::Shared,
        writes: WriteCompletion::Both,
        destaging: Some(DestageConfig {
            scheme: schemes[below(dice, 2) as usize],
            batch: 1 + below(dice, 5) as usize,
            // Positions are unknown here.
            order: BatchOrder::Ascending,
        }),
        ..random_config(dice)
    }
}

fn random_pair(
    random: impl Fn(&mut Generator) -> MirrorConfig,
    dice: &mut Generator,
    log: &Log,
) -> TestArray<Pair> {
    let config = random(dice);
    let sectors = SectorCount(1 + below(dice, 40));
    let has_spare = config.rebuild.is_some();
    let mut devices =
        SlowDevice::build_several(2 + usize::from(has_spare), sectors, dice, log).into_iter();
    let members = [(); 2].map(|()| devices.next().expect("a member"));
    let pair = Mirror::with_spare(members, devices.next(), &config);
    TestArray {
        array: pair.expect("the policy needs only block numbers"),
        members: 2,
        has_spare,
        sectors,
        failures: config.failures,
    }
}

/// Covers both layouts, and writes that complete with the later or the first copy.
#[test]
fn reads_return_what_was_written() {
    let pair = |dice: &mut Generator, log: &Log| random_pair(random_config, dice, log);
    let runs = shadow::check(4_000, pair);
    assert!(runs.checked > 100_000 && runs.rebuilt > 1_000, "{runs:?}");
    assert!(runs.lost > 300 && runs.held > 1_000, "{runs:?}");
}

#[test]
fn reads_return_what_was_written_while_writes_wait_for_batches() {
    let pair = |dice: &mut Generator, log: &Log| random_pair(random_destaging, dice, log);
    let runs = shadow::check(3_000, pair);
    assert!(runs.checked > 75_000 && runs.rebuilt > 500, "{runs:?}");
    assert!(runs.lost > 200 && runs.held > 500, "{runs:?}");
}
