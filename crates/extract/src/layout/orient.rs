//! The order of heads and the index mark, which reads do not tell: from the places of slips that a
//! drive has listed.

use diskarm_core::geometry::{Layout, Unit};
use diskarm_core::spec::{Geometry, Sparing, TrackOrder};

use super::MeasuredLayout;
use super::phases::Phases;
use super::reallocated::Reallocated;
use crate::defects::WHOLE_TRACK;
use crate::{Error, PhysicalAddress};

/// A slipped unit of the layout that must be a listed defect: no other is on the cylinder.
struct Pair {
    unit: Unit,
    listed: PhysicalAddress,
}

/// Chooses the order of heads with which most slips are where defects are listed, and rotates the
/// layout to the index mark that they are counted from. Of orders with which equally many are, it
/// is the one with which fewest blocks are where defects are listed that no block skips; the blocks
/// that are elsewhere are reallocated ones.
///
/// # Errors
/// A read failed.
pub(super) fn by_defects(
    found: &mut MeasuredLayout,
    phases: &mut Phases<'_, '_>,
    defects: &[PhysicalAddress],
) -> Result<(), Error> {
    let pairs = pairs(&found.geometry, defects);
    let with = |order: TrackOrder| Geometry {
        order,
        ..found.geometry.clone()
    };
    let agreeing = |order: TrackOrder| {
        let Ok(layout) = Layout::new(&with(order)) else {
            return 0;
        };
        let same = |pair: &&Pair| layout.address(pair.unit).head.0 == u32::from(pair.listed.head);
        pairs.iter().filter(same).count()
    };
    let orders = distinct(&found.geometry);
    let max = orders.iter().map(|order| agreeing(*order)).max();
    let max = max.expect("there is at least one order");
    if max == 0 || 10 * max < 9 * pairs.len() {
        if orders.len() > 1 {
            found.assumed.push(ASCENDING.to_owned());
        }
        found.assumed.push(unplaced(defects));
        return Ok(());
    }
    let best = orders.into_iter().filter(|order| agreeing(*order) == max);
    let mut best: Vec<Candidate> = best
        .map(|order| Candidate::new(with(order), &pairs, phases, defects))
        .collect::<Result<_, Error>>()?;
    best.sort_by_key(|candidate| candidate.reallocated.in_line);
    let min = best[0].reallocated.in_line;
    best.retain(|candidate| candidate.reallocated.in_line == min);
    if best.len() > 1 {
        found.assumed.push(ASCENDING.to_owned());
    }
    let chosen = best.swap_remove(0);
    found.geometry = chosen.geometry;
    if !chosen.has_index {
        found.assumed.push(unplaced(defects));
    }
    let Reallocated { lost, in_line, .. } = chosen.reallocated;
    if lost > 0 {
        found.assumed.push(format!(
            "The blocks at {lost} listed defects are reallocated to unknown places."
        ));
    }
    if in_line > 0 {
        found.assumed.push(format!(
            "{in_line} listed defects are at places whose blocks are there all the same."
        ));
    }
    Ok(())
}

/// What is assumed where nothing tells in which order heads follow one another.
const ASCENDING: &str = "Listed defects do not tell the order of heads: they are taken to ascend.";

/// What is assumed where no listed sector is found among the slipped ones.
fn unplaced(defects: &[PhysicalAddress]) -> String {
    let mut note = "Angles count from the first block: no listed sector tells more.".to_owned();
    if !defects.is_empty() {
        note += " Whether blocks at listed defects are reallocated is not known.";
    }
    note
}

/// A layout with an order of heads that fits most slips.
struct Candidate {
    geometry: Geometry,
    /// Whether its angles count from the index mark.
    has_index: bool,
    reallocated: Reallocated,
}

impl Candidate {
    fn new(
        mut geometry: Geometry,
        pairs: &[Pair],
        phases: &mut Phases<'_, '_>,
        defects: &[PhysicalAddress],
    ) -> Result<Self, Error> {
        let turn = turn(&geometry, pairs);
        let mut reallocated = Reallocated::default();
        if let Some(turn) = turn {
            rotate(&mut geometry, turn);
            if let Ok(layout) = Layout::new(&geometry) {
                reallocated = Reallocated::measure(phases, &layout, defects)?;
            }
            let mut moved = geometry.clone();
            reallocated.insert(&mut moved);
            if Layout::new(&moved).is_ok() {
                geometry = moved;
            }
        }
        Ok(Self {
            geometry,
            has_index: turn.is_some(),
            reallocated,
        })
    }
}

/// The orders of heads that put some block of the layout on another head than those before.
fn distinct(geometry: &Geometry) -> Vec<TrackOrder> {
    let descends = |order: TrackOrder| -> Vec<bool> {
        let cylinders = geometry.zones.iter().flat_map(|zone| {
            let first = zone.first_cylinder;
            [first, first + 1].map(|at| (at < zone.end_cylinder, at, at - first))
        });
        let own = |(is_own, at, within): (bool, u32, u32)| match order {
            TrackOrder::CylinderMajor => false,
            TrackOrder::SerpentinePerZone => is_own && within % 2 == 1,
            TrackOrder::Serpentine => is_own && at % 2 == 1,
        };
        cylinders.map(own).collect()
    };
    let all = [
        TrackOrder::CylinderMajor,
        TrackOrder::SerpentinePerZone,
        TrackOrder::Serpentine,
    ];
    let mut distinct: Vec<TrackOrder> = Vec::new();
    for order in all {
        let is_new = |known: &TrackOrder| descends(*known) != descends(order);
        if distinct.iter().all(is_new) && (geometry.surfaces > 1 || distinct.is_empty()) {
            distinct.push(order);
        }
    }
    distinct
}

/// Slips and listed defects that are alone on a cylinder.
fn pairs(geometry: &Geometry, defects: &[PhysicalAddress]) -> Vec<Pair> {
    let Ok(layout) = Layout::new(geometry) else {
        return Vec::new();
    };
    let slips: Vec<Unit> = layout.slipped().collect();
    let cylinder = |unit: &Unit| layout.address(*unit).cylinder.0;
    let mut listed = defects.to_vec();
    listed.sort_unstable();
    let mut pairs = Vec::new();
    for group in slips.chunk_by(|a, b| cylinder(a) == cylinder(b)) {
        let at = cylinder(&group[0]);
        let begin = listed.partition_point(|place| place.cylinder < at);
        let end = listed.partition_point(|place| place.cylinder <= at);
        if let ([unit], [place]) = (group, &listed[begin..end]) {
            pairs.push(Pair {
                unit: *unit,
                listed: *place,
            });
        }
    }
    pairs
}

/// By how many revolutions the layout must turn so that slips begin at the sectors that are listed.
fn turn(geometry: &Geometry, pairs: &[Pair]) -> Option<f64> {
    if geometry.sparing == Sparing::TracksPerZone {
        return None;
    }
    let layout = Layout::new(geometry).ok()?;
    let turns = pairs.iter().filter_map(|pair| {
        if pair.listed.sector == WHOLE_TRACK {
            return None;
        }
        let at = layout.address(pair.unit);
        let (start, width) = layout
            .angle(at)
            .filter(|_| at.head.0 == u32::from(pair.listed.head))?;
        let listed = f64::from(pair.listed.sector) * width.as_revolutions();
        let turn = listed - start.as_revolutions();
        Some(turn - turn.floor())
    });
    let turns: Vec<f64> = turns.collect();
    // The first that most others are close to, half a sector of the shortest tracks.
    let near = |turn: f64| {
        let offs = turns.iter().map(move |other| {
            let off = other - turn;
            off - off.round()
        });
        offs.filter(|off| off.abs() < 1e-3)
    };
    let best = turns
        .iter()
        .copied()
        .max_by_key(|turn| near(*turn).count())?;
    let close: Vec<f64> = near(best).collect();
    Some(best + close.iter().sum::<f64>() / close.len() as f64)
}

fn rotate(geometry: &mut Geometry, turn: f64) {
    for zone in &mut geometry.zones {
        let sectors = f64::from(zone.sectors_per_track);
        let offset = (zone.first_offset_sectors + turn * sectors).rem_euclid(sectors);
        let whole = offset.round();
        // Most drives begin tracks with whole sectors.
        zone.first_offset_sectors = if (offset - whole).abs() < 0.05 {
            whole.rem_euclid(sectors)
        } else {
            offset
        };
    }
}
