//! Mode pages about geometry: rigid disk geometry, flexible disk, format device, and notch and
//! partition (worthington96 section 4.1.3). An initiator selects a notch (a zone) with the notch
//! page; it determines the format page and the boundaries in the notch page.

use diskarm_core::spec::{Sparing, Spec};
use diskarm_core::units::Lbn;
use diskarm_wire::mode::{FlexibleDisk, FormatDevice, Geometry, Notch};

use super::{PageEntry, PageError, View, accept, no_changes};
use crate::command::rotation_rate;
use crate::realism::Places;

pub(super) const GEOMETRY: PageEntry = PageEntry {
    code: Geometry::CODE,
    values: |view| Some(geometry(view)?.emit().to_vec()),
    mask: no_changes::<{ Geometry::LENGTH }>,
    check: accept,
};

fn geometry(view: &View<'_>) -> Option<Geometry> {
    let (spec, layout) = view.drive?;
    Some(Geometry {
        cylinders: layout.cylinders(),
        heads: layout.surfaces() as u8,
        landing_zone: 0,
        position_locking: 0,
        rotational_offset: 0,
        rotation_rate: if view.realism.nominal {
            // To the nearest ten: 5411 is sold as 5410 revolutions per minute.
            (rotation_rate(spec) + 5) / 10 * 10
        } else {
            rotation_rate(spec)
        },
    })
}

/// Some programs request this page from fixed disks, too. It describes the drive as if all its
/// tracks were equal; values that do not fit their fields are zero.
pub(super) const FLEXIBLE_DISK: PageEntry = PageEntry {
    code: FlexibleDisk::CODE,
    values: |view| Some(flexible_disk(view)?.emit().to_vec()),
    mask: no_changes::<{ FlexibleDisk::LENGTH }>,
    check: accept,
};

fn flexible_disk(view: &View<'_>) -> Option<FlexibleDisk> {
    let (spec, layout) = view.drive?;
    let geometry = &spec.geometry;
    let tracks = u64::from(geometry.surfaces) * u64::from(geometry.cylinders);
    let sectors = geometry.sectors.0 / tracks;
    let rate = rotation_rate(spec);
    let bits = sectors * u64::from(geometry.sector_bytes) * 8 * u64::from(rate) / 60;
    Some(FlexibleDisk {
        transfer_rate: u16::try_from(bits / 1000).unwrap_or(0),
        heads: layout.surfaces() as u8,
        sectors_per_track: u8::try_from(sectors).unwrap_or(0),
        sector_bytes: u16::try_from(geometry.sector_bytes).unwrap_or(0),
        cylinders: u16::try_from(geometry.cylinders).unwrap_or(0),
        rotation_rate: rate,
    })
}

/// The tracks of the active notch.
pub(super) const FORMAT: PageEntry = PageEntry {
    code: FormatDevice::CODE,
    values: |view| Some(format_device(view)?.emit().to_vec()),
    mask: no_changes::<{ FormatDevice::LENGTH }>,
    check: accept,
};

/// Returns zero, which SCSI-2 calls undefined, for a value that does not fit its field.
fn u16_or_zero(number: u64) -> u16 {
    u16::try_from(number).unwrap_or(0)
}

fn format_device(view: &View<'_>) -> Option<FormatDevice> {
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
        return Some(nominal_format(spec));
    }
    let skew = |sectors: f64| sectors.round().clamp(0.0, 65_535.0) as u16;
    Some(FormatDevice {
        tracks_per_zone: u16_or_zero(region),
        spare_sectors_per_zone: u16_or_zero(spare_sectors),
        spare_tracks_per_zone: u16_or_zero(spare_tracks),
        spare_tracks: 0,
        sectors_per_track: u16_or_zero(zone.sectors_per_track.into()),
        sector_bytes: u16_or_zero(geometry.sector_bytes.into()),
        interleave: 1,
        track_skew: skew(zone.track_skew_sectors),
        cylinder_skew: skew(zone.cylinder_skew_sectors),
        soft_sectors: false,
        hard_sectors: true,
        removable: false,
        by_surface: false,
    })
}

/// Describes the mean track, regardless of the notch.
fn nominal_format(spec: &Spec) -> FormatDevice {
    let geometry = &spec.geometry;
    let tracks = u64::from(geometry.surfaces) * u64::from(geometry.cylinders);
    FormatDevice {
        tracks_per_zone: 0,
        spare_sectors_per_zone: 0,
        spare_tracks_per_zone: 0,
        spare_tracks: 0,
        sectors_per_track: u16_or_zero(geometry.sectors.0 / tracks),
        sector_bytes: u16_or_zero(geometry.sector_bytes.into()),
        interleave: 1,
        track_skew: 0,
        cylinder_skew: 0,
        soft_sectors: false,
        hard_sectors: true,
        removable: false,
        by_surface: false,
    }
}

pub(super) const NOTCH: PageEntry = PageEntry {
    code: Notch::CODE,
    values: |view| Some(notch(view)?.emit().to_vec()),
    mask: |_| MASK.emit().to_vec(),
    check: check_notch,
};

const MASK: Notch = Notch {
    notched: false,
    logical: true,
    maximum: 0,
    active: u16::MAX,
    starting_boundary: 0,
    ending_boundary: 0,
    pages_notched: 0,
};

fn notch(view: &View<'_>) -> Option<Notch> {
    let (spec, layout) = view.drive?;
    if view.realism.places == Places::Hidden {
        return None;
    }
    let notches = view.notches();
    let (first, last) = match view.notch.checked_sub(1) {
        None => (0, notches.len() - 1),
        Some(index) => (usize::from(index), usize::from(index)),
    };
    let (first, last) = (*notches.get(first)?, *notches.get(last)?);
    let (starting_boundary, ending_boundary) = if view.logical {
        let short = |Lbn(block): Lbn| u32::try_from(block).unwrap_or(u32::MAX);
        let end = layout.zone_blocks(last).1;
        (short(layout.zone_blocks(first).0), short(Lbn(end.0 - 1)))
    } else {
        // Three bytes of cylinder, one of head.
        let zones = &spec.geometry.zones;
        let begin = zones[first].first_cylinder << 8;
        let end = zones[last].end_cylinder - 1;
        (begin, end << 8 | (layout.surfaces() - 1))
    };
    Some(Notch {
        notched: notches.len() > 1,
        logical: view.logical,
        maximum: notches.len() as u16,
        active: view.notch,
        starting_boundary,
        ending_boundary,
        pages_notched: 1 << FormatDevice::CODE | 1 << Notch::CODE,
    })
}

fn check_notch(view: &View<'_>, page: &[u8]) -> Result<(), PageError> {
    let page = Notch::parse(page).map_err(|_| PageError::Length)?;
    if usize::from(page.active) > view.notches().len() {
        // Byte 6 of the page, whose header has two.
        return Err(PageError::Field { byte: 4, bit: None });
    }
    Ok(())
}
