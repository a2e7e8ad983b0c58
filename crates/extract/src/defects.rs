//! The defects that a drive lists, compared with a layout (worthington96 section 4.1.1).
//!
//! # Hypothesis
//! A sector or track known to be defective when the drive was formatted is slipped: it is skipped,
//! so all following blocks are shifted. The blocks of a defect found later are reallocated to a
//! spare location. A defect in spare or reserved space has no effect.
//!
//! # Test vector
//! READ DEFECT DATA with the primary and the grown list, in physical sector format or, if the drive
//! does not support that, as bytes from the index mark. Lists that are too long for the 10-byte
//! command are read with the 12-byte one.
//!
//! # Decision
//! The header of a list gives its format. A defect is classified by what is at its location in the
//! layout.
//!
//! # Confidence
//! A list may be outdated or belong to another drive. A defect whose location holds its regular
//! block counts as contradicted, and a slip or reallocation without a listed defect as unlisted.
//!
//! # Cost
//! Two commands per list; no media access.

use std::collections::BTreeSet;

use diskarm_core::geometry::{Layout, Pba, Unit};
use diskarm_core::spec::Geometry;
use diskarm_core::text::InputError;
use diskarm_core::units::{Angle, Cylinder, Head};
use diskarm_wire::Command;
use diskarm_wire::command::{AddressFormat, Size};
use diskarm_wire::defect::{self, Address, Header10, Header12};
use serde::{Deserialize, Serialize};

use crate::{Disk, Error, PhysicalAddress};

/// The sector of a [`PhysicalAddress`] that represents a whole track.
pub const WHOLE_TRACK: u32 = u32::MAX;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Defects {
    /// Defects known when the drive was made.
    pub primary: Vec<PhysicalAddress>,
    pub grown: Vec<PhysicalAddress>,
}

impl Defects {
    /// Returns the distinct defects of both lists in ascending order.
    pub fn all(&self) -> Vec<PhysicalAddress> {
        let mut all = [&self.primary[..], &self.grown].concat();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Numbers of defects by their effect on a layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DefectCounts {
    pub slipped: u64,
    pub reallocated: u64,
    /// Defects in spare or reserved space, or beyond the last block.
    pub unused: u64,
    /// Defects whose location holds its regular block, which contradicts the list or the layout.
    pub contradicted: u64,
    /// Slips and reallocations of the layout without a listed defect.
    pub unlisted: u64,
}

/// More defects than any drive lists.
const MAX_DEFECTS: usize = 1_000_000;
const MAX_PER_COMMAND: usize = 8_000;
/// Bytes per address in the requested formats.
const ADDRESS_BYTES: usize = 8;

pub fn read(disk: &mut Disk<'_>) -> Result<Defects, Error> {
    Ok(Defects {
        primary: read_list(disk, true)?,
        grown: read_list(disk, false)?,
    })
}

/// Reads one list, in the first of the formats that the drive supports.
fn read_list(disk: &mut Disk<'_>, primary: bool) -> Result<Vec<PhysicalAddress>, Error> {
    let mut refused = None;
    for format in [AddressFormat::PhysicalSector, AddressFormat::BytesFromIndex] {
        for size in [Size::Ten, Size::Twelve] {
            match read_in_format(disk, primary, size, format) {
                Err(error @ (Error::Status { .. } | Error::Malformed { .. })) => {
                    refused.get_or_insert(error);
                }
                result => return result,
            }
        }
    }
    Err(refused.expect("every attempt failed"))
}

fn read_in_format(
    disk: &mut Disk<'_>,
    primary: bool,
    size: Size,
    format: AddressFormat,
) -> Result<Vec<PhysicalAddress>, Error> {
    let mut addresses = Vec::new();
    // The 10-byte command cannot specify an index, so it must return the whole list.
    while addresses.len() < MAX_DEFECTS {
        let index = addresses.len() as u32;
        let (actual, length, data) = receive(disk, primary, size, format, index)?;
        let remaining = length / ADDRESS_BYTES;
        let list = &data[..data.len().min(length)];
        let before = addresses.len();
        for address in defect::addresses(actual, list) {
            addresses.push(physical_address(address, disk.sector_size().0)?);
        }
        let got = addresses.len() - before;
        if got >= remaining {
            return Ok(addresses);
        }
        if size == Size::Ten || got == 0 {
            break;
        }
    }
    Err(malformed(format!(
        "the list ends after {} addresses, before its stated length",
        addresses.len()
    )))
}

/// Reads a list from address `index` on. Returns its format, its length in bytes, and the data.
fn receive(
    disk: &mut Disk<'_>,
    primary: bool,
    size: Size,
    format: AddressFormat,
    index: u32,
) -> Result<(AddressFormat, usize, Vec<u8>), Error> {
    let header = match size {
        Size::Ten => Header10::LENGTH,
        _ => Header12::LENGTH,
    };
    let mut data = vec![0; header + MAX_PER_COMMAND * ADDRESS_BYTES];
    let command = Command::ReadDefectData {
        size,
        primary,
        grown: !primary,
        format,
        index,
        length: data.len() as u32,
    };
    let (_, transferred) = disk.data_up_to(&command, &mut data)?;
    data.truncate(transferred);
    let short = || malformed(format!("returned {transferred} bytes, less than a header"));
    let (code, length) = match size {
        Size::Ten => {
            let header = Header10::parse(&data).map_err(|_| short())?;
            (header.format, usize::from(header.length))
        }
        _ => {
            let header = Header12::parse(&data).map_err(|_| short())?;
            (header.format, header.length as usize)
        }
    };
    let actual = [AddressFormat::PhysicalSector, AddressFormat::BytesFromIndex]
        .into_iter()
        .find(|format| *format as u8 == code)
        .ok_or_else(|| {
            malformed(format!(
                "format {code} does not give locations on the media"
            ))
        })?;
    data.drain(..header);
    Ok((actual, length, data))
}

fn malformed(reason: String) -> Error {
    Error::Malformed {
        command: "READ DEFECT DATA",
        reason,
    }
}

fn physical_address(address: Address, sector_bytes: u64) -> Result<PhysicalAddress, Error> {
    let (place, sector) = match address {
        Address::PhysicalSector(place) => (place, place.offset),
        Address::BytesFromIndex(place) if place.offset == WHOLE_TRACK => (place, WHOLE_TRACK),
        Address::BytesFromIndex(place) => (place, (u64::from(place.offset) / sector_bytes) as u32),
        _ => return Err(malformed("the list contains block addresses".to_owned())),
    };
    Ok(PhysicalAddress {
        cylinder: place.cylinder,
        head: place.head,
        sector,
    })
}

/// Classifies defects by their effect on a layout. Fails if the geometry is inconsistent.
pub fn count(geometry: &Geometry, defects: &[PhysicalAddress]) -> Result<DefectCounts, InputError> {
    let layout = Layout::new(geometry)?;
    let slipped: BTreeSet<Unit> = layout.slips().collect();
    let reallocated: BTreeSet<Unit> = layout.reallocated_units().map(|(from, _)| from).collect();
    let mut counts = DefectCounts::default();
    let mut seen = BTreeSet::new();
    for defect in defects {
        let Some(at) = sector(&layout, *defect) else {
            counts.unused += 1;
            continue;
        };
        let unit = layout.unit_at(at).expect("every sector belongs to a unit");
        if !seen.insert(unit) {
            continue;
        }
        if slipped.contains(&unit) {
            counts.slipped += 1;
        } else if reallocated.contains(&unit) {
            counts.reallocated += 1;
        } else if (layout.lbn(at)).is_none_or(|block| layout.is_reallocated(block)) {
            counts.unused += 1;
        } else {
            counts.contradicted += 1;
        }
    }
    let all = slipped.union(&reallocated);
    counts.unlisted = all.filter(|unit| !seen.contains(unit)).count() as u64;
    Ok(counts)
}

/// Returns the sector at a location, or the first of a whole track; `None` if it does not exist.
pub(crate) fn sector(layout: &Layout, at: PhysicalAddress) -> Option<Pba> {
    let cylinder = Cylinder(at.cylinder);
    let sectors = layout.track_sectors(cylinder)?;
    let first = Pba {
        cylinder,
        head: Head(at.head.into()),
        sector: 0,
    };
    if u32::from(at.head) >= layout.surfaces() {
        return None;
    }
    if at.sector == WHOLE_TRACK {
        return Some(first);
    }
    let (start, width) = layout.angle(first)?;
    // Sums of rounded angles may fall short of whole sectors by a few units of 2^-64. If a track
    // starts at a fraction of a sector, its sectors are counted from the preceding whole sector.
    let begin = (start + Angle::from_raw(1 << 32)).as_raw() / width.as_raw().max(1);
    let counted = u64::from(at.sector);
    (counted < sectors).then(|| Pba {
        sector: ((counted + sectors - begin % sectors) % sectors) as u32,
        ..first
    })
}
