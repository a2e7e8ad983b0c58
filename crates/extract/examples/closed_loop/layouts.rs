//! Compares measured layouts with given ones.

use std::collections::{BTreeMap, BTreeSet};

use diskarm_core::geometry::{Layout, Pba};
use diskarm_core::spec::{Geometry, Sparing, TrackOrder, Zone};
use diskarm_core::units::{Angle, Cylinder, Head, Lbn};
use diskarm_extract::LayoutDifference;
use serde::Serialize;

/// The differences of a measured layout from the given one.
#[derive(Debug, Serialize)]
pub struct LayoutComparison {
    /// True if every block is at its location to within half a sector.
    pub is_exact: bool,
    /// The first block at another location.
    pub first_elsewhere: Option<u64>,
    /// Number of blocks on other tracks.
    pub other_track: u64,
    pub tracks: ItemCounts,
    /// Starts of zones, where the number of sectors per track changes.
    pub zones: ItemCounts,
    /// Slipped and reallocated units.
    pub defects: ItemCounts,
}

/// Numbers of given and measured items.
#[derive(Debug, Serialize)]
pub struct ItemCounts {
    pub given: usize,
    /// Given items that were found.
    pub right: usize,
    /// Items that were found but not given.
    pub wrong: usize,
}

impl ItemCounts {
    fn new<T: Ord>(given: &BTreeSet<T>, found: &BTreeSet<T>) -> Self {
        let right = given.intersection(found).count();
        Self {
            given: given.len(),
            right,
            wrong: found.len() - right,
        }
    }

    /// Returns true if exactly the given items were found.
    pub fn is_exact(&self) -> bool {
        self.right == self.given && self.wrong == 0
    }
}

/// Compares a measured layout with the given one.
pub fn compare(given: &Geometry, found: &Geometry) -> LayoutComparison {
    let layouts = [given, found].map(|one| Layout::new(one).expect("the layout was checked"));
    let difference = LayoutDifference::new(&layouts[0], &layouts[1]);
    let [given_starts, found_starts] = layouts.each_ref().map(Starts::new);
    let given_defects = defects(given, &layouts[0]);
    let found_defects = defects(found, &layouts[1]);
    let is_exact = difference.is_equal() && given.sectors == found.sectors;
    LayoutComparison {
        is_exact,
        first_elsewhere: difference.first_elsewhere.map(|at| at.0),
        other_track: difference.other_track.0,
        tracks: ItemCounts::new(&given_starts.tracks, &found_starts.tracks),
        zones: ItemCounts::new(&given_starts.zones, &found_starts.zones),
        defects: ItemCounts::new(&given_defects, &found_defects),
    }
}

/// The starts of tracks and zones.
struct Starts {
    tracks: BTreeSet<u64>,
    zones: BTreeSet<u64>,
}

impl Starts {
    fn new(layout: &Layout) -> Self {
        let mut starts = Self {
            tracks: BTreeSet::new(),
            zones: BTreeSet::new(),
        };
        let mut last: Option<(Cylinder, Head, Angle)> = None;
        let mut at = 0;
        while at < layout.sectors().0 {
            let extent = layout.extent(Lbn(at));
            let here = (extent.cylinder, extent.head, extent.sector_angle);
            if last.is_none_or(|last| (last.0, last.1) != (here.0, here.1)) {
                starts.tracks.insert(at);
            }
            if last.is_none_or(|last| last.2 != here.2) {
                starts.zones.insert(at);
            }
            last = Some(here);
            at += extent.sectors.0;
        }
        starts
    }
}

/// A defect that affects the locations of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Defect {
    /// This many units are skipped before this block.
    Slipped { before: u64, units: usize },
    /// This block is reallocated.
    Moved(u64),
}

/// Returns the defects that affect the locations of blocks: slips between blocks of a zone, and
/// reallocated blocks. Defects in spare or reserved space have no effect.
fn defects(geometry: &Geometry, layout: &Layout) -> BTreeSet<Defect> {
    let mut slipped: BTreeMap<u64, usize> = BTreeMap::new();
    let mut all = BTreeSet::new();
    for zone in &geometry.zones {
        let places = Places {
            geometry,
            layout,
            zone,
        };
        let (unit, slips) = places.slips();
        for &slip in &slips {
            let begins_after_data = places.before(slip, unit, &slips);
            let after = (slip + 1..).find(|at| !slips.contains(at));
            let next = after.and_then(|at| places.block(at * unit));
            if let (true, Some(next)) = (begins_after_data, next) {
                *slipped.entry(next).or_default() += 1;
            }
        }
        let of_disk = geometry.sparing == Sparing::SectorsPerDisk;
        let spares = zone.defects.iter().filter(|_| !of_disk);
        let moved = spares.filter_map(|&(_, spare)| places.block(spare * unit));
        all.extend(moved.map(Defect::Moved));
    }
    let slip = |(before, units)| Defect::Slipped { before, units };
    all.extend(slipped.into_iter().map(slip));
    all
}

/// The positions of a zone, counted from its start.
struct Places<'a> {
    geometry: &'a Geometry,
    layout: &'a Layout,
    zone: &'a Zone,
}

impl Places<'_> {
    /// Returns the number of positions per unit of the sparing scheme, and the slipped units.
    fn slips(&self) -> (u64, BTreeSet<u64>) {
        let unit = match self.geometry.sparing {
            Sparing::TracksPerZone => u64::from(self.zone.sectors_per_track),
            _ => 1,
        };
        (unit, self.zone.slips.iter().copied().collect())
    }

    /// Returns true if a block directly precedes a unit, ignoring slipped ones.
    fn before(&self, unit: u64, places: u64, slips: &BTreeSet<u64>) -> bool {
        let last = (0..unit).rev().find(|at| !slips.contains(at));
        last.is_some_and(|at| self.block(at * places + places - 1).is_some())
    }

    /// Returns the block at a position.
    fn block(&self, place: u64) -> Option<u64> {
        let per_track = u64::from(self.zone.sectors_per_track);
        let surfaces = u64::from(self.geometry.surfaces);
        let track = place / per_track;
        let (down, head) = ((track / surfaces) as u32, (track % surfaces) as u32);
        let cylinder = self.zone.first_cylinder + down;
        if cylinder >= self.zone.end_cylinder {
            return None;
        }
        let is_descending = match self.geometry.order {
            TrackOrder::CylinderMajor => false,
            TrackOrder::SerpentinePerZone => down % 2 == 1,
            TrackOrder::Serpentine => cylinder % 2 == 1,
        };
        let head = if is_descending {
            self.geometry.surfaces - 1 - head
        } else {
            head
        };
        let at = Pba {
            cylinder: Cylinder(cylinder),
            head: Head(head),
            sector: (place % per_track) as u32,
        };
        self.layout.lbn(at).map(|lbn| lbn.0)
    }
}
