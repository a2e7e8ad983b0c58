//! Blocks that were reallocated, at the defects that a drive has listed.
//!
//! # Hypothesis
//! A listed defect that no block skips had a block, which is on a spare of its region now.
//!
//! # Test vector
//! A read of the block that is in line there.
//!
//! # Decision
//! Where it does not end at the angle of the defect, the block is on the first free spare at whose
//! angle it ends.
//!
//! # Confidence
//! A spare at the same angle on another track would look the same. Blocks on no spare that is free
//! are counted.
//!
//! # Cost
//! One or two reads a defect that is not slipped.

use std::collections::BTreeSet;

use diskarm_core::geometry::{Layout, Unit};
use diskarm_core::spec::{Geometry, Sparing};
use diskarm_core::units::{Angle, Lbn};

use super::pattern::IN_LINE;
use super::phases::Phases;
use crate::defects::sector;
use crate::{Error, PhysicalAddress};

/// What reads tell of the listed defects that are not slipped.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reallocated {
    /// Defective units, and the spares that hold their blocks.
    pub moved: Vec<(Unit, Unit)>,
    /// Defects whose blocks are elsewhere, nobody knows where.
    pub lost: usize,
    /// Defects whose blocks are there all the same, which contradicts the list or the layout.
    pub in_line: usize,
}

impl Reallocated {
    /// Reads the blocks at `defects` in this layout, whose angles count from the index mark.
    ///
    /// # Errors
    /// A read failed.
    pub fn measure(
        phases: &mut Phases<'_, '_>,
        layout: &Layout,
        defects: &[PhysicalAddress],
    ) -> Result<Self, Error> {
        let mut found = Self::default();
        let moved: BTreeSet<Unit> = layout.reallocated().map(|(from, _)| from).collect();
        let mut seen: BTreeSet<Unit> = layout.slipped().chain(moved).collect();
        for defect in defects {
            let Some(at) = sector(layout, *defect) else {
                continue;
            };
            let unit = layout.unit_at(at).expect("a sector is of a unit");
            let Some(block) = layout.lbn(at).filter(|_| seen.insert(unit)) else {
                continue;
            };
            let (start, width) = layout.angle(at).expect("the sector is on the disk");
            if is_at(phases, layout, block, (start, width))? {
                found.in_line += 1;
                continue;
            }
            let mut taken: Vec<Unit> = found.moved.iter().map(|(_, to)| *to).collect();
            loop {
                let Some(spare) = layout.spare(unit, &taken) else {
                    found.lost += 1;
                    break;
                };
                let place = layout.angle(layout.address(spare));
                let place = place.expect("the spare is on the disk");
                if is_at(phases, layout, block, place)? {
                    found.moved.push((unit, spare));
                    break;
                }
                taken.push(spare);
            }
        }
        Ok(found)
    }

    /// Enters the blocks that moved.
    pub fn insert(&self, geometry: &mut Geometry) {
        for (from, to) in &self.moved {
            let spare = match geometry.sparing {
                // Spares count from the front of the disk.
                Sparing::SectorsPerDisk => {
                    let places = geometry.zones[..to.zone].iter().map(|zone| {
                        let cylinders = u64::from(zone.end_cylinder - zone.first_cylinder);
                        let tracks = cylinders * u64::from(geometry.surfaces);
                        tracks * u64::from(zone.sectors_per_track)
                    });
                    places.sum::<u64>() + to.number
                }
                _ => to.number,
            };
            let zone = &mut geometry.zones[from.zone];
            zone.defects.push((from.number, spare));
            zone.defects.sort_unstable();
        }
    }
}

/// Whether a block ends at the end of this place.
fn is_at(
    phases: &mut Phases<'_, '_>,
    layout: &Layout,
    block: Lbn,
    (start, width): (Angle, Angle),
) -> Result<bool, Error> {
    // Angles are those from the end of the first block.
    let first = layout.extent(Lbn(0));
    let origin = (first.start + first.sector_angle).as_revolutions();
    let angle = ((start + width).as_revolutions() - origin).rem_euclid(1.0);
    let sectors = (1.0 / width.as_revolutions()).round() as u64;
    phases.is_at(block.0, angle, (IN_LINE, sectors))
}
