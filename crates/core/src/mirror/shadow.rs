//! Pairs on real bytes.

use std::collections::BTreeMap;

use super::*;
use crate::device::slow::{Log, Slow};
use crate::random::{Generator, below};
use crate::redundancy::shadow::{self, Copies, Made};
use crate::units::Lbn;

impl Copies for Mirror {
    fn commands(&self) -> BTreeMap<u64, Option<Request>> {
        let parents = self.parents.iter();
        let request = |parent: &Parent| (!parent.rebuilds).then_some(parent.request);
        parents.map(|(id, parent)| (id, request(parent))).collect()
    }

    fn key(command: u64) -> u64 {
        parent_of(command).0
    }

    fn numbers(&self) -> Vec<usize> {
        let failing = self.failing.as_ref();
        let number = |place| failing.map_or(place, |failing| failing.number(place));
        (0..2).map(number).collect()
    }

    fn block(&self, member: usize, place: u64) -> Option<Lbn> {
        let mut blocks = (0..self.capacity().0).map(Lbn);
        blocks.find(|block| {
            let request = Request::new(0, Op::Read, *block, SectorCount(1));
            let piece = self.layout.piece(&request, member, 0);
            piece.is_some_and(|(_, piece)| piece.start.0 == place)
        })
    }

    fn has(&self, member: usize, place: u64) -> bool {
        let block = self.block(member, place);
        block.is_some_and(|block| {
            self.serves(member, &Request::new(0, Op::Read, block, SectorCount(1)))
        })
    }

    fn has_lost_data(&self) -> bool {
        Self::has_lost_data(self)
    }

    fn empty(&mut self, now: Instant) {
        self.hurry(now, true);
    }

    fn is_empty(&self) -> bool {
        assert!(self.reported == 0 || !self.parents.is_empty());
        self.parents.is_empty()
    }

    fn has_held(&self) -> bool {
        !self.held.is_empty()
    }

    fn steps(&self) -> Option<(u64, u64)> {
        let progress = self.rebuilt()?;
        Some((progress.steps, progress.of))
    }
}

fn random_mirroring(dice: &mut Generator) -> MirrorConfig {
    let failures = shadow::random_failures(2, dice);
    let rebuilds = !failures.is_empty() && below(dice, 3) > 0;
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
        rebuild: rebuilds.then(|| RebuildConfig {
            share_fraction: [0.2, 0.7, 1.0][below(dice, 3) as usize],
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
        ..random_mirroring(dice)
    }
}

fn random_pair(
    random: impl Fn(&mut Generator) -> MirrorConfig,
    dice: &mut Generator,
    log: &Log,
) -> Made<Mirror> {
    let mirroring = random(dice);
    let sectors = SectorCount(1 + below(dice, 40));
    let mut slow = |number| BoxedDevice::opaque(Slow::new(number, sectors, dice, log));
    let members = [slow(0), slow(1)];
    let spare = mirroring.rebuild.map(|_| slow(2));
    let pair = Mirror::with_spare(members, spare, &mirroring);
    Made {
        array: pair.expect("block numbers suffice"),
        members: 2,
        has_spare: mirroring.rebuild.is_some(),
        sectors,
        failures: mirroring.failures,
    }
}

/// In both layouts, with completion by the later and by the first copy.
#[test]
fn what_is_read_is_what_was_written() {
    let pair = |dice: &mut Generator, log: &Log| random_pair(random_mirroring, dice, log);
    let met = shadow::check(4_000, pair);
    assert!(met.checked > 100_000 && met.rebuilt > 1_000, "{met:?}");
    assert!(met.lost > 300 && met.held > 1_000, "{met:?}");
}

/// Also where writes wait for batches.
#[test]
fn what_is_read_is_what_was_written_while_writes_wait_for_batches() {
    let pair = |dice: &mut Generator, log: &Log| random_pair(random_destaging, dice, log);
    let met = shadow::check(3_000, pair);
    assert!(met.checked > 75_000 && met.rebuilt > 500, "{met:?}");
    assert!(met.lost > 200 && met.held > 500, "{met:?}");
}
