//! Format device: the tracks of the active notch.

use diskarm_core::spec::{Sparing, Spec};
use diskarm_wire::mode::FormatDevice;

use super::{Row, View, any, nothing};

pub(super) const ROW: Row = Row {
    code: FormatDevice::CODE,
    values: |view| Some(values(view)?.emit().to_vec()),
    mask: nothing::<{ FormatDevice::LENGTH }>,
    check: any,
};

/// Values that do not fit their fields are zero, which SCSI-2 calls undefined.
fn short(number: u64) -> u16 {
    u16::try_from(number).unwrap_or(0)
}

fn values(view: &View<'_>) -> Option<FormatDevice> {
    let (spec, index) = view.zone()?;
    let (geometry, zone) = (&spec.geometry, &spec.geometry.zones[index]);
    let surfaces = u64::from(geometry.surfaces);
    let tracks = surfaces * u64::from(zone.end_cylinder - zone.first_cylinder);
    let region = match geometry.sparing {
        Sparing::None | Sparing::SectorsPerDisk => 0,
        Sparing::SectorsPerTrack => 1,
        Sparing::SectorsPerCylinder | Sparing::SectorsPerCylinderFront => surfaces,
        Sparing::SectorsPerRange => surfaces * u64::from(geometry.sparing_range),
        Sparing::SectorsPerZone | Sparing::TracksPerZone => tracks,
    };
    let (spare_sectors, spare_tracks) = match geometry.sparing {
        Sparing::None | Sparing::SectorsPerDisk => (0, 0),
        Sparing::TracksPerZone => (0, zone.spares),
        _ => (zone.spares * geometry.physical_sector.0, 0),
    };
    if view.realism.nominal {
        return Some(nominal(spec));
    }
    let skew = |sectors: f64| sectors.round().clamp(0.0, 65_535.0) as u16;
    Some(FormatDevice {
        tracks_per_zone: short(region),
        spare_sectors_per_zone: short(spare_sectors),
        spare_tracks_per_zone: short(spare_tracks),
        spare_tracks: 0,
        sectors_per_track: short(zone.sectors_per_track.into()),
        sector_bytes: short(geometry.sector_bytes.into()),
        interleave: 1,
        track_skew: skew(zone.track_skew_sectors),
        cylinder_skew: skew(zone.cylinder_skew_sectors),
        soft_sectors: false,
        hard_sectors: true,
        removable: false,
        by_surface: false,
    })
}

/// The mean track, whatever the notch.
fn nominal(spec: &Spec) -> FormatDevice {
    let geometry = &spec.geometry;
    let tracks = u64::from(geometry.surfaces) * u64::from(geometry.cylinders);
    FormatDevice {
        tracks_per_zone: 0,
        spare_sectors_per_zone: 0,
        spare_tracks_per_zone: 0,
        spare_tracks: 0,
        sectors_per_track: short(geometry.sectors.0 / tracks),
        sector_bytes: short(geometry.sector_bytes.into()),
        interleave: 1,
        track_skew: 0,
        cylinder_skew: 0,
        soft_sectors: false,
        hard_sectors: true,
        removable: false,
        by_surface: false,
    }
}
