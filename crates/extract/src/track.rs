//! Tracks that hold blocks, and sets of equivalent cylinders.

use std::collections::BTreeMap;

use diskarm_core::geometry::{Extent, Layout, Pba};
use diskarm_core::units::{Cylinder, Head, Lbn, SectorCount};

#[derive(Clone, Debug)]
pub(crate) struct Track {
    /// First block and extent of each run of contiguous blocks.
    pub runs: Vec<(Lbn, Extent)>,
}

impl Track {
    pub fn find(layout: &Layout, cylinder: u32, head: u32) -> Option<Self> {
        let (cylinder, head) = (Cylinder(cylinder), Head(head));
        let pba = |sector| Pba {
            cylinder,
            head,
            sector,
        };
        let is_here = |extent: &Extent| extent.cylinder == cylinder && extent.head == head;
        let mut found = (0..64).find_map(|sector| layout.lbn(pba(sector)))?;
        if is_here(&layout.extent(found)) {
            found = layout.track_first(found);
        }
        Self::from(layout, found, is_here)
    }

    pub fn starting_at(layout: &Layout, first: Lbn) -> Self {
        let at = layout.extent(first);
        let is_here = |extent: &Extent| (extent.cylinder, extent.head) == (at.cylinder, at.head);
        Self::from(layout, first, is_here).expect("the first block is on its own track")
    }

    /// Collects the extents on a track from block `found` on.
    fn from(layout: &Layout, mut found: Lbn, is_here: impl Fn(&Extent) -> bool) -> Option<Self> {
        let mut runs = Vec::new();
        // Reallocated blocks are on other tracks; few tracks have more than one.
        let mut elsewhere = 0;
        while found < Lbn(layout.sectors().0) && elsewhere < 4 {
            let extent = layout.extent(found);
            if is_here(&extent) {
                runs.push((found, extent));
            } else {
                elsewhere += 1;
            }
            found = found + extent.sectors;
        }
        (!runs.is_empty()).then_some(Self { runs })
    }

    /// Returns the blocks around the end of the track as one run of `sectors`, of which `before`
    /// are on this track and the others on the next one; `None` if they are not contiguous.
    pub fn across_end(&self, layout: &Layout, before: u64, sectors: u64) -> Option<Self> {
        let (first, extent) = *self.runs.last()?;
        let next = first + extent.sectors;
        if extent.sectors.0 < before || next >= Lbn(layout.sectors().0) {
            return None;
        }
        let there = layout.extent(next);
        let is_other = (there.cylinder.0, there.head.0) != (self.cylinder(), self.head());
        let at = Lbn(next.0 - before);
        let sectors = SectorCount(sectors);
        let run = Extent {
            sectors,
            ..layout.extent(at)
        };
        (is_other && there.sectors.0 >= sectors.0 - before).then(|| Self {
            runs: vec![(at, run)],
        })
    }

    /// Returns the track with the first block of a cylinder, if the cylinder has blocks.
    pub fn first_in_cylinder(layout: &Layout, cylinder: u32) -> Option<Self> {
        if cylinder >= layout.cylinders() {
            return None;
        }
        let tracks = (0..layout.surfaces()).filter_map(|head| Self::find(layout, cylinder, head));
        tracks.min_by_key(Self::first)
    }

    pub fn first(&self) -> Lbn {
        self.runs[0].0
    }

    pub fn cylinder(&self) -> u32 {
        self.runs[0].1.cylinder.0
    }

    pub fn head(&self) -> u32 {
        self.runs[0].1.head.0
    }

    /// Returns true if the blocks of the track are contiguous.
    pub fn is_whole(&self) -> bool {
        self.runs.len() == 1
    }

    /// Returns the number of sectors per revolution.
    pub fn sectors(&self) -> u64 {
        (1.0 / self.runs[0].1.sector_angle.as_revolutions()).round() as u64
    }
}

/// Maximum distance of an equivalent cylinder, except near the ends of the disk.
const MAX_DISTANCE: u32 = 30;
/// Minimum number of cylinders between two successive visits.
const MIN_STRIDE: usize = 7;

/// Visits equivalent nearby cylinders in turn, so that commands do not hit buffered blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct EquivalentCylinders {
    by_cylinder: BTreeMap<u32, Vec<u32>>,
    visits: usize,
}

impl EquivalentCylinders {
    pub fn next(&mut self, layout: &Layout, place: &Track) -> Track {
        let known = self.by_cylinder.entry(place.cylinder());
        let cylinders = known.or_insert_with(|| equivalent_cylinders(layout, place));
        self.visits += 1;
        let all = cylinders.len();
        let stride = (MIN_STRIDE..MIN_STRIDE + all).find(|stride| are_coprime(*stride, all));
        let next = stride.map(|stride| cylinders[self.visits * stride % all]);
        let track = next.and_then(|cylinder| Track::first_in_cylinder(layout, cylinder));
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

/// Returns the cylinders near `place` whose first track has as many sectors as `place`.
fn equivalent_cylinders(layout: &Layout, place: &Track) -> Vec<u32> {
    let width = 2 * MAX_DISTANCE + 1;
    let last = layout.cylinders().saturating_sub(width);
    let first = place.cylinder().saturating_sub(MAX_DISTANCE).min(last);
    let is_equivalent = |cylinder: &u32| {
        let track = Track::first_in_cylinder(layout, *cylinder);
        track.is_some_and(|track| track.sectors() == place.sectors())
    };
    (first..first + width).filter(is_equivalent).collect()
}

/// Returns the first block after the track of `at`.
pub(crate) fn next_track(layout: &Layout, mut at: Lbn) -> Option<Lbn> {
    let track = |at| {
        let extent = layout.extent(at);
        ((extent.cylinder, extent.head), at + extent.sectors)
    };
    let (here, mut next) = track(at);
    while next < Lbn(layout.sectors().0) {
        at = next;
        let (there, after) = track(at);
        if there != here {
            return Some(at);
        }
        next = after;
    }
    None
}

/// Position of the head when read-ahead after the first block of a cylinder has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReadAheadEnd {
    /// Numbers of sectors per track, each with the number of blocks read ahead on those tracks.
    Blocks([(u64, SectorCount); 3]),
    /// The number of tracks read, including that of the first block.
    Tracks(u32),
}

impl ReadAheadEnd {
    /// Returns the track on which read-ahead ends after a read of the first block of `from`.
    pub fn track(&self, layout: &Layout, from: &Track) -> Option<Track> {
        let last = Lbn(layout.sectors().0 - 1);
        let end = match self {
            Self::Blocks(zones) => {
                let gap = |(sectors, _): &&(u64, SectorCount)| sectors.abs_diff(from.sectors());
                let (_, ahead) = zones.iter().min_by_key(gap)?;
                from.first() + *ahead
            }
            Self::Tracks(count) => {
                let mut first = from.first();
                for _ in 1..*count {
                    first = next_track(layout, first)?;
                }
                first
            }
        };
        let end = layout.extent(end.min(last));
        Track::find(layout, end.cylinder.0, end.head.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::collections::BTreeSet;

    use diskarm_core::spec::{Geometry, Zone};
    use diskarm_core::units::{Lbn, SectorCount};

    #[test]
    fn no_cylinder_is_revisited_too_soon() {
        let zone = |first: u32, end: u32, sectors| Zone {
            first_cylinder: first,
            end_cylinder: end,
            sectors_per_track: sectors,
            ..Zone::default()
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
            let place = Track::first_in_cylinder(&layout, cylinder).unwrap();
            let mut equivalent = EquivalentCylinders::default();
            let mut visit = || equivalent.next(&layout, &place).cylinder();
            let visited: BTreeSet<u32> = (0..count).map(|_| visit()).collect();
            assert_eq!(visited.len(), count, "block {at}");
        }
    }
}
