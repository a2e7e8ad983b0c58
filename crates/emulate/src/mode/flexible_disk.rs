//! Flexible disk, which some programs ask fixed ones for: the drive as if all its tracks were
//! equal. What does not fit its field is zero.

use diskarm_wire::mode::FlexibleDisk;

use super::{Row, View, any, nothing};
use crate::command::rotation_rate;

pub(super) const ROW: Row = Row {
    code: FlexibleDisk::CODE,
    values: |view| Some(values(view)?.emit().to_vec()),
    mask: nothing::<{ FlexibleDisk::LENGTH }>,
    check: any,
};

fn values(view: &View<'_>) -> Option<FlexibleDisk> {
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
