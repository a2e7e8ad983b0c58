//! Layouts that were found beside those that were given.

use std::collections::{BTreeMap, BTreeSet};

use diskarm_core::geometry::{Layout, Pba};
use diskarm_core::spec::{Geometry, Sparing, TrackOrder, Zone};
use diskarm_core::units::{Angle, Cylinder, Head, Lbn};
use diskarm_extract::LayoutDifference;
use serde::Serialize;

/// How a layout that was found differs from the one that was given.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// Whether every block is where it was, to half a sector.
    pub is_exact: bool,
    /// The first block that is not.
    pub first_elsewhere: Option<u64>,
    /// Blocks on other tracks.
    pub other_track: u64,
    pub tracks: Counted,
    /// Beginnings of zones: where tracks begin to hold another number of sectors.
    pub zones: Counted,
    /// Slipped and reallocated places.
    pub defects: Counted,
}

/// How many of what was given were found.
#[derive(Debug, Serialize)]
pub struct Counted {
    /// How many there are.
    pub given: usize,
    /// How many of them were found.
    pub right: usize,
    /// How many were found that there are not.
    pub wrong: usize,
}

impl Counted {
    fn of<T: Ord>(given: &BTreeSet<T>, found: &BTreeSet<T>) -> Self {
        let right = given.intersection(found).count();
        Self {
            given: given.len(),
            right,
            wrong: found.len() - right,
        }
    }

    /// Whether all were found and nothing else.
    pub fn is_exact(&self) -> bool {
        self.right == self.given && self.wrong == 0
    }
}

/// Compares two layouts.
///
/// # Panics
/// If one contradicts itself.
pub fn compared(given: &Geometry, found: &Geometry) -> Compared {
    let layouts = [given, found].map(|one| Layout::new(one).expect("it was checked"));
    let difference = LayoutDifference::new(&layouts[0], &layouts[1]);
    let [given_starts, found_starts] = layouts.each_ref().map(Starts::of);
    let given_defects = defects(given, &layouts[0]);
    let found_defects = defects(found, &layouts[1]);
    let is_exact = difference.is_equal() && given.sectors == found.sectors;
    Compared {
        is_exact,
        first_elsewhere: difference.first_elsewhere.map(|at| at.0),
        other_track: difference.other_track.0,
        tracks: Counted::of(&given_starts.tracks, &found_starts.tracks),
        zones: Counted::of(&given_starts.zones, &found_starts.zones),
        defects: Counted::of(&given_defects, &found_defects),
    }
}

/// Where tracks and zones begin.
struct Starts {
    tracks: BTreeSet<u64>,
    zones: BTreeSet<u64>,
}

impl Starts {
    fn of(layout: &Layout) -> Self {
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

/// A defect that the places of blocks show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Defect {
    /// This many units are skipped before this block.
    Slipped { before: u64, units: usize },
    /// This block is elsewhere.
    Moved(u64),
}

/// The defects whose blocks show them: slips between blocks of a zone, and moved blocks. Those in
/// spare or reserved space change nothing.
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
            let next = (slip + 1..)
                .find(|at| !slips.contains(at))
                .map(|at| at * unit);
            let next = next.and_then(|at| places.block(at));
            if let (true, Some(next)) = (begins_after_data, next) {
                *slipped.entry(next).or_default() += 1;
            }
        }
        let of_disk = geometry.sparing == Sparing::SectorsPerDisk;
        let spares = zone.defects.iter().filter(|_| !of_disk);
        let moved = spares.filter_map(|&(_, spare)| places.block(spare * unit));
        all.extend(moved.map(Defect::Moved));
    }
    let slipped = slipped.into_iter();
    all.extend(slipped.map(|(before, units)| Defect::Slipped { before, units }));
    all
}

/// The places of a zone, counted from its front.
struct Places<'a> {
    geometry: &'a Geometry,
    layout: &'a Layout,
    zone: &'a Zone,
}

impl Places<'_> {
    /// How many places a unit of the sparing scheme has, and the slipped units.
    fn slips(&self) -> (u64, BTreeSet<u64>) {
        let unit = match self.geometry.sparing {
            Sparing::TracksPerZone => u64::from(self.zone.sectors_per_track),
            _ => 1,
        };
        (unit, self.zone.slips.iter().copied().collect())
    }

    /// Whether a block is right before a unit, except for slipped ones.
    fn before(&self, unit: u64, places: u64, slips: &BTreeSet<u64>) -> bool {
        let last = (0..unit).rev().find(|at| !slips.contains(at));
        last.is_some_and(|at| self.block(at * places + places - 1).is_some())
    }

    /// The block at a place.
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
        let head = match is_descending {
            true => self.geometry.surfaces - 1 - head,
            false => head,
        };
        let at = Pba {
            cylinder: Cylinder(cylinder),
            head: Head(head),
            sector: (place % per_track) as u32,
        };
        self.layout.lbn(at).map(|lbn| lbn.0)
    }
}
