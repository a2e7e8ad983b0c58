//! Tests of `geometry` against a slow reference, worked examples and real drives.

mod drives;
mod errors;
mod random;
mod reference;
mod skew;

use diskarm_core::spec::{Geometry, Sparing, Zone};
use diskarm_core::units::SectorCount;

/// Returns a zone with neither spares nor defects nor skew.
fn zone(cylinders: std::ops::Range<u32>, sectors_per_track: u32) -> Zone {
    Zone {
        first_cylinder: cylinders.start,
        end_cylinder: cylinders.end,
        sectors_per_track,
        ..Zone::default()
    }
}

/// Returns a geometry of these zones, cylinder-major, that exports all of the `sectors` they map.
fn geometry(surfaces: u32, sparing: Sparing, zones: Vec<Zone>, sectors: u64) -> Geometry {
    Geometry {
        surfaces,
        cylinders: zones.last().map_or(0, |z| z.end_cylinder),
        sectors: SectorCount(sectors),
        sector_bytes: 512,
        sparing,
        zones,
        ..Geometry::default()
    }
}
