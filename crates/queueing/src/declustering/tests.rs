//! Layouts against brute force, the printed equations and simulations.

mod balance;
mod load_equations;
mod survival_equations;

use super::*;
use crate::queue::Random;

/// Every layout on 2 to `most` disks.
pub fn all(max: usize) -> Vec<Layout> {
    let kinds = |cluster| {
        [
            LayoutKind::Interleaved { cluster },
            LayoutKind::GroupRotate { cluster },
        ]
    };
    let of = |disks: usize| {
        let clusters = (1..=disks).flat_map(kinds);
        let kinds = [LayoutKind::Basic, LayoutKind::Chained]
            .into_iter()
            .chain(clusters);
        kinds.filter_map(move |kind| Layout::new(kind, disks).ok())
    };
    (2..=max).flat_map(of).collect()
}

pub fn layout(kind: LayoutKind, disks: usize) -> Layout {
    Layout::new(kind, disks).unwrap()
}

/// The four layouts of the thesis' example: 8 disks, clusters of 4.
pub fn example() -> [Layout; 4] {
    [
        LayoutKind::Basic,
        LayoutKind::Interleaved { cluster: 4 },
        LayoutKind::Chained,
        LayoutKind::GroupRotate { cluster: 4 },
    ]
    .map(|kind| layout(kind, 8))
}

/// All sets of `disks` disks.
pub fn sets(disks: usize) -> impl Iterator<Item = DiskSet> {
    (0_u32..1 << disks).map(move |bits| (0..disks).filter(|disk| bits >> disk & 1 == 1).collect())
}

/// A disk that is not in `failed`, each equally likely.
pub fn fail_another(random: &mut Random, layout: &Layout, failed: DiskSet) -> usize {
    loop {
        let disk = (random.uniform() * layout.disks() as f64) as usize;
        if !failed.contains(disk) {
            return disk;
        }
    }
}

/// Every set of failures: data are lost if both disks of a block have failed.
#[test]
fn a_set_survives_if_every_block_has_a_copy() {
    for layout in all(12) {
        let places: Vec<DiskSet> = layout.period().map(CopyDisks::disks).collect();
        let mut counts = vec![0; layout.disks() + 1];
        let mut survived = Vec::new();
        for failed in sets(layout.disks()) {
            let is_left = |place: &DiskSet| place.iter().any(|disk| !failed.contains(disk));
            let survives = places.iter().all(is_left);
            assert_eq!(layout.survives(failed), survives, "{layout:?} {failed:?}");
            if survives {
                counts[failed.len()] += 1;
                survived.push(failed);
            }
        }
        assert_eq!(layout.survived_by_number(), counts, "{layout:?}");
        let mut found = layout.survived();
        found.sort_unstable();
        survived.sort_unstable();
        assert_eq!(found, survived);
    }
}
