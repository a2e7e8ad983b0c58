//! Addresses on the medium, as hosts see them: sectors and bytes count from the index mark.

use diskarm_core::geometry::{Layout, Pba};
use diskarm_core::units::{Angle, Cylinder, Head};
use diskarm_wire::command::AddressFormat;
use diskarm_wire::defect::{Address, Extended, Physical};

/// Sums of rounded angles fall short of whole sectors by a few units of 2^-64.
const ROUNDING: Angle = Angle::from_raw(1 << 32);

/// The number, counted from the index mark, of the sector that begins at `start`.
fn counted(start: Angle, width: Angle) -> u32 {
    ((start + ROUNDING).as_raw() / width.as_raw().max(1)) as u32
}

/// The place of a sector; `None` if there is none.
pub(super) fn physical(layout: &Layout, at: Pba) -> Option<Physical> {
    let (start, width) = layout.angle(at)?;
    Some(Physical {
        cylinder: at.cylinder.0,
        head: at.head.0 as u8,
        offset: counted(start, width),
    })
}

/// The sector at a place; `None` if there is none.
pub(super) fn sector(layout: &Layout, at: Physical) -> Option<Pba> {
    let cylinder = Cylinder(at.cylinder);
    let sectors = layout.track_sectors(cylinder)? as u32;
    let first = Pba {
        cylinder,
        head: Head(at.head.into()),
        sector: 0,
    };
    let (start, width) = layout.angle(first)?;
    let before = counted(start, width) % sectors;
    let sector = (at.offset < sectors).then(|| (at.offset + sectors - before) % sectors)?;
    Some(Pba { sector, ..first })
}

/// The address of a sector in a format: `None` where the format has none, as a block address of a
/// place without a block.
pub(super) fn address(
    layout: &Layout,
    block_bytes: usize,
    at: Pba,
    block: Option<u64>,
    format: AddressFormat,
) -> Option<Address> {
    let place = physical(layout, at)?;
    let bytes = Physical {
        offset: place.offset * block_bytes as u32,
        ..place
    };
    let extended = |place| Extended {
        place,
        begins_run: false,
    };
    match format {
        AddressFormat::ShortBlock => Some(Address::ShortBlock(u32::try_from(block?).ok()?)),
        AddressFormat::LongBlock => Some(Address::LongBlock(block?)),
        AddressFormat::BytesFromIndex => Some(Address::BytesFromIndex(bytes)),
        AddressFormat::PhysicalSector => Some(Address::PhysicalSector(place)),
        AddressFormat::ExtendedBytesFromIndex => {
            Some(Address::ExtendedBytesFromIndex(extended(bytes)))
        }
        AddressFormat::ExtendedPhysicalSector => {
            Some(Address::ExtendedPhysicalSector(extended(place)))
        }
        AddressFormat::VendorSpecific => None,
    }
}
