//! Completes a layout using the defects that a drive lists. Without them, reads do not reveal the
//! order of heads, the index mark, or reallocated blocks.
//!
//! # Reallocated blocks
//! If the sector of a listed defect is not slipped, it used to hold a block that is now on a spare
//! of its region. That block is read. If the read does not end at the angle of the defect, the
//! block is assumed to be on the first free spare at the angle where the read ends. A spare at the
//! same angle on another track would look the same. If no such spare is free, the block counts as
//! lost. This costs one or two reads for each defect that is not slipped.

use std::collections::BTreeSet;

use diskarm_core::geometry::{Layout, Pba, Unit};
use diskarm_core::spec::{Geometry, Sparing, TrackOrder};
use diskarm_core::text::with_noun;
use diskarm_core::units::Lbn;

use super::assemble::MeasuredLayout;
use super::phases::{Phases, angle_to};
use super::zone_map::IN_LINE;
use crate::defects::{WHOLE_TRACK, sector};
use crate::{Error, PhysicalAddress};

/// A slipped unit and a listed defect that must be the same, because their cylinder has no other.
struct SlipPair {
    unit: Unit,
    listed: PhysicalAddress,
}

/// Chooses the order of heads that makes the largest number of slips coincide with listed defects,
/// and rotates the layout so that angles are relative to the index mark. If several orders fit
/// equally well, chooses the one with the fewest listed defects that still hold their blocks.
pub(super) fn apply(
    found: &mut MeasuredLayout,
    phases: &mut Phases<'_, '_>,
    defects: &[PhysicalAddress],
) -> Result<(), Error> {
    let pairs = matched_slips(&found.geometry, defects);
    let mut best: Vec<Geometry> = Vec::new();
    let mut max = 0;
    let orders = distinct_orders(&found.geometry);
    for &order in &orders {
        let geometry = Geometry {
            order,
            ..found.geometry.clone()
        };
        let layout = Layout::new(&geometry).ok();
        let head = |unit| layout.as_ref().map(|layout| layout.address(unit).head.0);
        let agrees = |pair: &&SlipPair| head(pair.unit) == Some(pair.listed.head.into());
        let count = pairs.iter().filter(agrees).count();
        if count > max {
            best.clear();
            max = count;
        }
        if count == max {
            best.push(geometry);
        }
    }
    if max == 0 || 10 * max < 9 * pairs.len() {
        if orders.len() > 1 {
            found.assume(ASSUMED_ASCENDING);
        }
        found.assume(unknown_index(defects));
        return Ok(());
    }
    let candidates = best.into_iter();
    let mut candidates = candidates
        .map(|geometry| Candidate::new(geometry, &pairs, phases, defects))
        .collect::<Result<Vec<_>, Error>>()?;
    let in_line = |candidate: &Candidate| candidate.reallocated.in_line;
    let min = candidates.iter().map(in_line).min();
    candidates.retain(|candidate| Some(in_line(candidate)) == min);
    if candidates.len() > 1 {
        found.assume(ASSUMED_ASCENDING);
    }
    let chosen = candidates.swap_remove(0);
    found.geometry = chosen.geometry;
    if !chosen.has_index {
        found.assume(unknown_index(defects));
    }
    let Reallocations { lost, in_line, .. } = chosen.reallocated;
    if lost > 0 {
        let defects = with_noun(lost, "listed defect");
        found.assume(format!(
            "The blocks at {defects} are reallocated to unknown locations."
        ));
    }
    if in_line > 0 {
        let defects = with_noun(in_line, "listed defect");
        found.assume(format!(
            "The regular blocks are still at the locations of {defects}."
        ));
    }
    Ok(())
}

const ASSUMED_ASCENDING: &str =
    "The listed defects do not determine the order of heads: it is assumed to be ascending.";

/// Returns the assumption that applies if no listed defect is among the slipped sectors.
fn unknown_index(defects: &[PhysicalAddress]) -> String {
    let mut note =
        "Angles are relative to the first block: no listed defect locates the index mark."
            .to_owned();
    if !defects.is_empty() {
        note += " It is not known whether the blocks at listed defects are reallocated.";
    }
    note
}

/// A layout with one of the possible orders of heads.
struct Candidate {
    geometry: Geometry,
    /// True if angles are relative to the index mark.
    has_index: bool,
    reallocated: Reallocations,
}

impl Candidate {
    fn new(
        mut geometry: Geometry,
        pairs: &[SlipPair],
        phases: &mut Phases<'_, '_>,
        defects: &[PhysicalAddress],
    ) -> Result<Self, Error> {
        let turn = rotation_to_index(&geometry, pairs);
        let mut reallocated = Reallocations::default();
        if let Some(turn) = turn {
            rotate(&mut geometry, turn);
            if let Ok(layout) = Layout::new(&geometry) {
                reallocated = Reallocations::measure(phases, &layout, defects)?;
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

/// Returns the orders of heads that this layout can distinguish.
fn distinct_orders(geometry: &Geometry) -> Vec<TrackOrder> {
    if geometry.surfaces == 1 {
        return vec![TrackOrder::CylinderMajor];
    }
    // For the first two cylinders of each zone, true if heads are in descending order.
    let descends = |order: TrackOrder| -> Vec<bool> {
        let cylinders = geometry.zones.iter().flat_map(|zone| {
            let first = zone.first_cylinder;
            (first..zone.end_cylinder)
                .take(2)
                .map(move |at| (at, at - first))
        });
        let is_descending = |(at, index): (u32, u32)| match order {
            TrackOrder::CylinderMajor => false,
            TrackOrder::SerpentinePerZone => index % 2 == 1,
            TrackOrder::Serpentine => at % 2 == 1,
        };
        cylinders.map(is_descending).collect()
    };
    let mut distinct = vec![TrackOrder::CylinderMajor];
    for order in [TrackOrder::SerpentinePerZone, TrackOrder::Serpentine] {
        if distinct
            .iter()
            .all(|known| descends(*known) != descends(order))
        {
            distinct.push(order);
        }
    }
    distinct
}

/// Pairs the slips and the listed defects of cylinders that have only one of each.
fn matched_slips(geometry: &Geometry, defects: &[PhysicalAddress]) -> Vec<SlipPair> {
    let Ok(layout) = Layout::new(geometry) else {
        return Vec::new();
    };
    let slips: Vec<Unit> = layout.slips().collect();
    let cylinder = |unit: &Unit| layout.address(*unit).cylinder.0;
    let mut listed = defects.to_vec();
    listed.sort_unstable();
    let mut pairs = Vec::new();
    for group in slips.chunk_by(|a, b| cylinder(a) == cylinder(b)) {
        let at = cylinder(&group[0]);
        let begin = listed.partition_point(|defect| defect.cylinder < at);
        let end = listed.partition_point(|defect| defect.cylinder <= at);
        if let (&[unit], &[listed]) = (group, &listed[begin..end]) {
            pairs.push(SlipPair { unit, listed });
        }
    }
    pairs
}

/// Returns the rotation of the layout, in revolutions, that makes slips begin at listed sectors.
fn rotation_to_index(geometry: &Geometry, pairs: &[SlipPair]) -> Option<f64> {
    if geometry.sparing == Sparing::TracksPerZone {
        return None;
    }
    let layout = Layout::new(geometry).ok()?;
    let turn = |pair: &SlipPair| {
        let at = layout.address(pair.unit);
        if pair.listed.sector == WHOLE_TRACK || at.head.0 != u32::from(pair.listed.head) {
            return None;
        }
        let (start, width) = layout.angle(at)?;
        let listed = f64::from(pair.listed.sector) * width.as_revolutions();
        let turn = listed - start.as_revolutions();
        Some(turn - turn.floor())
    };
    let turns: Vec<f64> = pairs.iter().filter_map(turn).collect();
    // Choose the value that most others are close to, within half a sector of the shortest tracks.
    let near = |turn: f64| {
        let deviations = turns.iter().map(move |other| angle_to(turn, *other));
        deviations.filter(|deviation| deviation.abs() < 1e-3)
    };
    let best = turns
        .iter()
        .copied()
        .max_by_key(|turn| near(*turn).count())?;
    Some(best + near(best).sum::<f64>() / near(best).count() as f64)
}

fn rotate(geometry: &mut Geometry, turn: f64) {
    for zone in &mut geometry.zones {
        let sectors = f64::from(zone.sectors_per_track);
        let offset = (zone.first_offset_sectors + turn * sectors).rem_euclid(sectors);
        let whole = offset.round();
        // On most drives the offset is a whole number of sectors.
        let is_whole = (offset - whole).abs() < 0.05;
        zone.first_offset_sectors = if is_whole {
            whole.rem_euclid(sectors)
        } else {
            offset
        };
    }
}

/// The locations of the blocks of listed defects that are not slipped.
#[derive(Clone, Debug, Default, PartialEq)]
struct Reallocations {
    /// Defective units, each with the spare that holds its blocks.
    moved: Vec<(Unit, Unit)>,
    /// Number of defects whose blocks were not found.
    lost: usize,
    /// Number of defects that still hold their blocks, which contradicts the list or the layout.
    in_line: usize,
}

impl Reallocations {
    /// Finds the blocks of `defects`. The angles of `layout` must be relative to the index mark.
    fn measure(
        phases: &mut Phases<'_, '_>,
        layout: &Layout,
        defects: &[PhysicalAddress],
    ) -> Result<Self, Error> {
        let mut found = Self::default();
        let moved = layout.reallocated_units().map(|(from, _)| from);
        let mut seen: BTreeSet<Unit> = layout.slips().chain(moved).collect();
        for defect in defects {
            let Some(at) = sector(layout, *defect) else {
                continue;
            };
            let unit = layout.unit_at(at).expect("every sector belongs to a unit");
            let Some(block) = layout.lbn(at).filter(|_| seen.insert(unit)) else {
                continue;
            };
            if is_at(phases, layout, block, at)? {
                found.in_line += 1;
                continue;
            }
            let mut tried: Vec<Unit> = found.moved.iter().map(|(_, to)| *to).collect();
            loop {
                let Some(spare) = layout.spare(unit, &tried) else {
                    found.lost += 1;
                    break;
                };
                if is_at(phases, layout, block, layout.address(spare))? {
                    found.moved.push((unit, spare));
                    break;
                }
                tried.push(spare);
            }
        }
        Ok(found)
    }

    fn insert(&self, geometry: &mut Geometry) {
        for (from, to) in &self.moved {
            let spare = match geometry.sparing {
                // Spares are counted from the front of the disk.
                Sparing::SectorsPerDisk => {
                    let sectors_before = geometry.zones[..to.zone].iter().map(|zone| {
                        let cylinders = u64::from(zone.end_cylinder - zone.first_cylinder);
                        let tracks = cylinders * u64::from(geometry.surfaces);
                        tracks * u64::from(zone.sectors_per_track)
                    });
                    sectors_before.sum::<u64>() + to.number
                }
                _ => to.number,
            };
            let zone = &mut geometry.zones[from.zone];
            zone.defects.push((from.number, spare));
            zone.defects.sort_unstable();
        }
    }
}

/// Returns true if reads show that a block ends at the angle of this sector.
fn is_at(
    phases: &mut Phases<'_, '_>,
    layout: &Layout,
    block: Lbn,
    sector: Pba,
) -> Result<bool, Error> {
    let (start, width) = layout.angle(sector).expect("the sector is on the disk");
    // Angles are relative to the end of the first block.
    let first = layout.extent(Lbn(0));
    let origin = (first.start + first.sector_angle).as_revolutions();
    let angle = ((start + width).as_revolutions() - origin).rem_euclid(1.0);
    let sectors = (1.0 / width.as_revolutions()).round() as u64;
    phases.is_at(block.0, angle, IN_LINE, sectors)
}
