//! Declustered arrays on real bytes.

use std::collections::BTreeMap;

use super::*;
use crate::device::slow::{Log, Slow};
use crate::random::below;
use crate::redundancy::shadow::{self, Copies, Made};
use crate::units::Lbn;

impl Copies for Declustered {
    fn commands(&self) -> BTreeMap<u64, Option<Request>> {
        let request = |piece: &Piece| Some(self.parents.get(piece.parent)?.request);
        let pieces = self.pieces.iter();
        pieces.map(|(id, piece)| (id, request(piece))).collect()
    }

    fn key(command: u64) -> u64 {
        command
    }

    fn numbers(&self) -> Vec<usize> {
        let failing = self.failing.as_ref();
        let number = |place| failing.map_or(place, |failing| failing.number(place));
        (0..self.members.len()).map(number).collect()
    }

    fn block(&self, member: usize, place: u64) -> Option<Lbn> {
        let is_here = |copy: &Copied| (copy.member, copy.place) == (member, place);
        let mut blocks = (0..self.capacity().0).map(Lbn);
        blocks.find(|block| self.copies(block.0).iter().any(is_here))
    }

    fn has(&self, member: usize, place: u64) -> bool {
        let copy = Copied { member, place };
        self.left([copy, copy]).0[0].is_some()
    }

    fn has_lost_data(&self) -> bool {
        Self::has_lost_data(self)
    }

    fn is_empty(&self) -> bool {
        self.parents.is_empty() && self.pieces.is_empty()
    }

    fn has_held(&self) -> bool {
        !self.held.is_empty()
    }

    fn steps(&self) -> Option<(u64, u64)> {
        let progress = self.rebuilt()?;
        Some((progress.steps, progress.of))
    }
}

fn random_array(dice: &mut Generator, log: &Log) -> Made<Declustered> {
    let kinds = [
        (LayoutKind::Basic, 4),
        (LayoutKind::Interleaved { cluster: 3 }, 6),
        (LayoutKind::Chained, 5),
        (LayoutKind::Chained, 2),
        (LayoutKind::GroupRotate { cluster: 2 }, 4),
    ];
    let (kind, disks) = kinds[below(dice, 5) as usize];
    let failures = shadow::random_failures(disks, dice);
    let rebuilds = !failures.is_empty() && below(dice, 3) > 0;
    let unit = SectorCount(1 + below(dice, 4));
    let sectors = SectorCount(2 * unit.0 + below(dice, 16));
    let declustering = DeclusteredConfig {
        layout: Layout::new(kind, disks).expect("a layout"),
        failures: failures.clone(),
        rebuild_share: rebuilds.then(|| [0.2, 0.7, 1.0][below(dice, 3) as usize]),
        unit,
        policy: ["fcfs", "sstf", "clook"][below(dice, 3) as usize]
            .parse()
            .expect("a policy"),
        seed: below(dice, 1 << 40),
    };
    let devices = disks + usize::from(rebuilds);
    let slow = (0..devices).map(|number| Slow::new(number, sectors, dice, log));
    let members = slow.map(BoxedDevice::opaque).collect();
    let array = Declustered::new(members, declustering);
    Made {
        array: array.expect("block numbers suffice"),
        members: disks,
        has_spare: rebuilds,
        sectors,
        failures,
    }
}

#[test]
fn what_is_read_is_what_was_written() {
    let met = shadow::check(4_000, random_array);
    assert!(met.checked > 100_000 && met.rebuilt > 1_000, "{met:?}");
    assert!(met.lost > 200 && met.held > 500, "{met:?}");
}
