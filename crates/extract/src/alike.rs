//! Cylinders that are like another one, for commands that must not meet what earlier ones left in
//! the buffer.

use std::collections::BTreeMap;

use diskarm_core::geometry::Layout;

use crate::idle;
use crate::track::Track;

/// How far such cylinders are from the place, where the disk has room on both sides.
const AROUND: u32 = 30;
/// Cylinders between two that are visited one after the other, at least.
const APART: usize = 7;

/// Visits cylinders near a place with as many sectors a track, one after the other: each as often
/// as any other.
#[derive(Clone, Debug, Default)]
pub(crate) struct EquivalentCylinders {
    /// The cylinders, by that of the place.
    around: BTreeMap<u32, Vec<u32>>,
    visits: usize,
}

impl EquivalentCylinders {
    /// The first track of the next cylinder.
    pub fn next(&mut self, layout: &Layout, place: &Track) -> Track {
        let cylinders = self
            .around
            .entry(place.cylinder())
            .or_insert_with(|| around(layout, place));
        self.visits += 1;
        let all = cylinders.len();
        let apart = (APART..APART + all).find(|apart| are_coprime(*apart, all));
        // One of these follows a multiple of their number.
        let next = apart.map(|apart| cylinders[self.visits * apart % all]);
        let track = next.and_then(|cylinder| idle::beginning(layout, cylinder));
        track.unwrap_or_else(|| place.clone())
    }
}

fn are_coprime(a: usize, b: usize) -> bool {
    if b == 0 {
        a == 1
    } else {
        are_coprime(b, a % b)
    }
}

/// The cylinders near `place` that begin with as many sectors a track.
fn around(layout: &Layout, place: &Track) -> Vec<u32> {
    let width = 2 * AROUND + 1;
    let last = layout.cylinders().saturating_sub(width);
    let first = place.cylinder().saturating_sub(AROUND).min(last);
    let is_alike = |cylinder: &u32| {
        idle::beginning(layout, *cylinder).is_some_and(|track| track.sectors() == place.sectors())
    };
    (first..first + width).filter(is_alike).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::collections::BTreeSet;

    use diskarm_core::spec::{Geometry, Zone};
    use diskarm_core::units::{Lbn, SectorCount};

    /// At the first cylinders of a disk, and in a zone of a few, none is visited twice before all
    /// have been.
    #[test]
    fn no_cylinder_is_soon_visited_again() {
        let zone = |first: u32, end: u32, sectors| Zone {
            first_cylinder: first,
            end_cylinder: end,
            sectors_per_track: sectors,
            first_offset_sectors: 0.0,
            reserved_sectors: SectorCount(0),
            track_skew_sectors: 0.0,
            cylinder_skew_sectors: 0.0,
            spares: 0,
            slips: Vec::new(),
            defects: Vec::new(),
        };
        let geometry = Geometry {
            sector_bytes: 512,
            surfaces: 1,
            cylinders: 100,
            sectors: SectorCount(80 * 24 + 20 * 20),
            zones: vec![zone(0, 80, 24), zone(80, 100, 20)],
            ..Geometry::default()
        };
        let layout = Layout::new(&geometry).unwrap();
        for (at, count) in [(0, 61), (24 * 40, 61), (24 * 79, 41), (24 * 80 + 30, 20)] {
            let cylinder = layout.extent(Lbn(at)).cylinder.0;
            let place = idle::beginning(&layout, cylinder).unwrap();
            let mut alike = EquivalentCylinders::default();
            let mut visit = || alike.next(&layout, &place).cylinder();
            let visited: BTreeSet<u32> = (0..count).map(|_| visit()).collect();
            assert_eq!(visited.len(), count, "block {at}");
        }
    }
}
