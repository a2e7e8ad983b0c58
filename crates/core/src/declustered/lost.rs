//! What is lost when disks have failed that had both copies of some data.

use super::layout::Layout;

/// The first stripe unit that `is_lost`, and how many are. Each half of a disk has `rows`
/// rows of units, and a spare has the first `rebuilt` units of what the disk had in whose place it
/// is.
///
/// What is lost repeats with the places of the layout, among rows of which the spare has the same
/// halves: one period of these is enough.
pub(super) fn count(
    layout: &Layout,
    rows: u64,
    rebuilt: u64,
    is_lost: impl Fn(u64) -> bool,
) -> Option<(u64, u64)> {
    let (period, disks) = (layout.rows() as u64, layout.disks() as u64);
    // The spare has first the primary copies of all rows, and then the secondary ones.
    let [both, primary] = [rebuilt.saturating_sub(rows), rebuilt.min(rows)];
    let (mut first, mut units) = (None, 0);
    for alike in [0..both, both..primary, primary..rows] {
        for row in alike.clone().take(period as usize) {
            let repeated = (alike.end - row).div_ceil(period);
            for unit in (row * disks..(row + 1) * disks).filter(|unit| is_lost(*unit)) {
                first = first.or(Some(unit));
                units += repeated;
            }
        }
    }
    first.map(|first| (first, units))
}

#[cfg(test)]
mod tests {
    use super::super::{DiskSet, LayoutKind};
    use super::*;
    use crate::random::{Purpose, below, generator};

    /// A unit is lost if neither of its disks is there, nor the spare for one of them that has it.
    fn is_lost(
        layout: &Layout,
        rows: u64,
        failed: DiskSet,
        spare: (usize, u64),
        unit: u64,
    ) -> bool {
        let (place, row) = (layout.copy_disks(unit), unit / layout.disks() as u64);
        let copies = [(place.primary, row), (place.secondary, rows + row)];
        let has =
            |(disk, own): (usize, u64)| !failed.contains(disk) || disk == spare.0 && own < spare.1;
        !copies.into_iter().any(has)
    }

    /// Looks at every unit of small arrays in all layouts, rebuilt up to each unit.
    #[test]
    fn what_is_lost_is_what_a_look_at_each_unit_finds() {
        let mut lost = 0;
        for (kind, disks) in [
            (LayoutKind::Basic, 6),
            (LayoutKind::Interleaved { cluster: 2 }, 6),
            (LayoutKind::Interleaved { cluster: 4 }, 8),
            (LayoutKind::Interleaved { cluster: 7 }, 7),
            (LayoutKind::Chained, 2),
            (LayoutKind::Chained, 7),
            (LayoutKind::GroupRotate { cluster: 1 }, 4),
            (LayoutKind::GroupRotate { cluster: 3 }, 12),
            (LayoutKind::GroupRotate { cluster: 5 }, 10),
        ] {
            let layout = Layout::new(kind, disks).expect("a layout");
            let dice = &mut generator(disks as u64, 0, Purpose::Requests);
            for _ in 0..20 {
                let rows = 1 + below(dice, 30);
                let failed = 1 + below(dice, 4);
                let failed = (0..failed).map(|_| below(dice, disks as u64) as usize);
                let failed: DiskSet = failed.collect();
                let spare = failed.iter().next().expect("a disk");
                for rebuilt in 0..=2 * rows {
                    let is_lost =
                        |unit: u64| is_lost(&layout, rows, failed, (spare, rebuilt), unit);
                    let found = count(&layout, rows, rebuilt, is_lost);
                    let mut all = (0..rows * disks as u64).filter(|unit| is_lost(*unit));
                    let first = all.next();
                    let expected = first.map(|first| (first, 1 + all.count() as u64));
                    let what = format!("{kind:?} {rows} {failed:?} {rebuilt}");
                    assert_eq!(found, expected, "{what}");
                    lost += u64::from(found.is_some());
                }
            }
        }
        assert!(lost > 1_000, "{lost}");
    }

    /// Two disks of a cluster of four have a third of their units in common: 10^12 rows have
    /// 2 / 3 10^12 such units, and of the row behind them one more.
    #[test]
    fn large_disks_take_no_longer() {
        let layout = Layout::new(LayoutKind::Interleaved { cluster: 4 }, 8).expect("a layout");
        let failed: DiskSet = [4, 5].into_iter().collect();
        let rows = 3_000_000_000_001;
        let is_lost = |unit: u64| is_lost(&layout, rows, failed, (4, 0), unit);
        let found = count(&layout, rows, 0, is_lost);
        assert_eq!(found, Some((4, 2_000_000_000_001)));
    }
}
