//! READ DEFECT DATA and REASSIGN BLOCKS (SBC-3), and the geometry of a drive after blocks are
//! reassigned or the drive is formatted.
//!
//! The primary list contains the slipped and reallocated defects in the specification. The grown
//! list contains the blocks that have been reallocated since.

use diskarm_core::geometry::{Layout, Unit};
use diskarm_core::spec::{Geometry, Sparing, Spec};
use diskarm_core::units::{Lbn, SectorCount};
use diskarm_wire::command::{AddressFormat, Size};
use diskarm_wire::defect::{
    Address, Header10, Header12, LongReassignHeader, ReassignHeader, WHOLE_TRACK, addresses,
};
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense};

use super::diagnostic;
use crate::state::{Context, Start, invalid_field, list_length, too_few_data};

pub(super) fn read_defect_data(
    command: &Command,
    context: &mut Context<'_>,
) -> Result<Start, Sense> {
    fields!(command => ReadDefectData { size, primary, grown, format, index, length });
    let byte = if size == Size::Ten { 2 } else { 1 };
    let Some(address_length) = Address::length(format) else {
        return Err(invalid_field(byte, Some(2)));
    };
    let (layout, _) = context.layout_and_spec()?;
    let Some(spec) = &context.state.original_spec else {
        return Err(Sense::new(Key::IllegalRequest, Code::INVALID_OPERATION));
    };
    let list = defect_addresses(context, layout, spec, (primary, grown), format);
    let mut content = vec![0; address_length * list.len()];
    for (address, bytes) in list.iter().zip(content.chunks_exact_mut(address_length)) {
        address.emit(bytes);
    }
    let format = format as u8;
    let mut data = if size == Size::Ten {
        let length = u16::try_from(content.len()).map_err(|_| too_long())?;
        let header = Header10 {
            primary,
            grown,
            format,
            length,
        };
        header.emit().to_vec()
    } else {
        let skipped = (index as usize)
            .saturating_mul(address_length)
            .min(content.len());
        content.drain(..skipped);
        let length = content.len() as u32;
        let header = Header12 {
            primary,
            grown,
            format,
            generation: context.state.generation,
            length,
        };
        header.emit().to_vec()
    };
    data.extend(content);
    Ok(Start::data(data, length as usize))
}

/// Returns sense data for a list too long for the length field of READ DEFECT DATA(10) (SBC-3).
fn too_long() -> Sense {
    Sense::new(Key::IllegalRequest, Code::INVALID_FIELD)
}

/// Returns the defective units in order of position; primary ones come first.
fn defective_units(layout: &Layout, spec: &Spec, (primary, grown): (bool, bool)) -> Vec<Unit> {
    let is_primary = |unit: &Unit| {
        let zone = &spec.geometry.zones[unit.zone];
        let slipped = zone.slips.contains(&unit.number);
        slipped || zone.defects.iter().any(|(from, _)| *from == unit.number)
    };
    let mut all: Vec<Unit> = layout.slips().collect();
    all.extend(layout.reallocated_units().map(|(from, _)| from));
    all.sort_unstable();
    let (mut list, others): (Vec<Unit>, Vec<Unit>) = all.into_iter().partition(is_primary);
    if !primary {
        list.clear();
    }
    if grown {
        list.extend(others);
    }
    list
}

fn defect_addresses(
    context: &Context<'_>,
    layout: &Layout,
    spec: &Spec,
    which: (bool, bool),
    format: AddressFormat,
) -> Vec<Address> {
    let is_block = matches!(format, AddressFormat::ShortBlock | AddressFormat::LongBlock);
    let mut list = Vec::new();
    for unit in defective_units(layout, spec, which) {
        let at = layout.address(unit);
        let numbered = layout.original_block(unit).filter(|_| is_block);
        let block = numbered.map(|Lbn(block)| block);
        let address = diagnostic::address(layout, context.state.block, at, block, format);
        let is_track = !is_block && spec.geometry.sparing == Sparing::TracksPerZone;
        list.extend(address.map(|address| {
            if is_track {
                whole_track(address)
            } else {
                address
            }
        }));
    }
    list
}

/// Replaces the sector or byte with all ones, which denote the whole track (SBC-3).
fn whole_track(mut address: Address) -> Address {
    match &mut address {
        Address::PhysicalSector(position) | Address::BytesFromIndex(position) => {
            position.offset = u32::MAX;
        }
        Address::ExtendedPhysicalSector(at) | Address::ExtendedBytesFromIndex(at) => {
            at.position.offset = WHOLE_TRACK;
        }
        Address::ShortBlock(_) | Address::LongBlock(_) => {}
    }
    address
}

/// Moves blocks to spares; the blocks keep their data.
pub(super) fn reassign(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => ReassignBlocks { long_addresses, long_list });
    context.check_writable()?;
    let blocks = listed_blocks(context, long_addresses, long_list)?;
    if blocks.iter().any(|block| *block >= context.state.blocks) {
        return Err(Sense::new(Key::IllegalRequest, Code::OUT_OF_RANGE));
    }
    for block in blocks {
        let no_spare = Sense {
            information: Some(block),
            ..Sense::new(Key::HardwareError, Code::NO_SPARE)
        };
        let (layout, spec) = context.layout_and_spec().map_err(|_| no_spare)?;
        let geometry = reassigned_geometry(&spec.geometry, layout, Lbn(block)).ok_or(no_spare)?;
        let changed = context.device.set_geometry(context.now, &geometry);
        changed.map_err(|_| no_spare)?;
        context.state.generation = context.state.generation.wrapping_add(1);
    }
    Ok(Start::Done(Vec::new()))
}

fn listed_blocks(context: &Context<'_>, long: bool, long_list: bool) -> Result<Vec<u64>, Sense> {
    let data = &context.data_out;
    let length = if long_list {
        LongReassignHeader::parse(data).map(|header| header.length as usize)
    } else {
        ReassignHeader::parse(data).map(|header| header.length.into())
    };
    let length = length.map_err(|_| too_few_data())?;
    let end = ReassignHeader::LENGTH.saturating_add(length);
    let list = data
        .get(ReassignHeader::LENGTH..end)
        .ok_or(too_few_data())?;
    let (format, address_length) = if long {
        (AddressFormat::LongBlock, 8)
    } else {
        (AddressFormat::ShortBlock, 4)
    };
    if !list.len().is_multiple_of(address_length) {
        return Err(list_length());
    }
    let blocks = addresses(format, list).filter_map(|address| match address {
        Address::ShortBlock(block) => Some(block.into()),
        Address::LongBlock(block) => Some(block),
        _ => None,
    });
    Ok(blocks.collect())
}

/// A defective unit and its spare; a spare that is defective itself is paired with itself.
type Pair = (Unit, Unit);

/// Returns all pairs of a geometry, including those placed at random.
fn pairs(geometry: &Geometry, layout: &Layout) -> Vec<Pair> {
    let defective_spares = defective_spares(geometry)
        .into_iter()
        .map(|unit| (unit, unit));
    layout.reallocated_units().chain(defective_spares).collect()
}

fn defective_spares(geometry: &Geometry) -> Vec<Unit> {
    let zones = geometry.zones.iter().enumerate();
    zones
        .flat_map(|(zone, z)| z.defects.iter().map(move |pair| (zone, *pair)))
        .filter(|&(zone, (from, to))| to == spare_number(geometry, Unit { zone, number: from }))
        .map(|(zone, (number, _))| Unit { zone, number })
        .collect()
}

/// Returns the number of a spare in the geometry, counted within its zone or over the whole disk.
fn spare_number(geometry: &Geometry, spare: Unit) -> u64 {
    if geometry.sparing != Sparing::SectorsPerDisk {
        return spare.number;
    }
    let before = geometry.zones[..spare.zone].iter();
    let units = before.map(|zone| {
        let tracks =
            u64::from(geometry.surfaces) * u64::from(zone.end_cylinder - zone.first_cylinder);
        tracks * u64::from(zone.sectors_per_track)
    });
    units.sum::<u64>() / geometry.physical_sector.0 + spare.number
}

/// Returns the geometry with exactly these pairs and with sorted slips.
fn with_pairs(geometry: &Geometry, pairs: &[Pair]) -> Geometry {
    let mut geometry = geometry.clone();
    geometry.grown_defects.count = 0;
    for zone in &mut geometry.zones {
        zone.slips.sort_unstable();
        zone.defects.clear();
    }
    for (from, to) in pairs {
        let to = spare_number(&geometry, *to);
        geometry.zones[from.zone].defects.push((from.number, to));
    }
    geometry
}

/// Returns the geometry after a block is moved to a spare; `None` if its region has no free spare.
fn reassigned_geometry(geometry: &Geometry, layout: &Layout, block: Lbn) -> Option<Geometry> {
    let unit = layout.unit_at(layout.pba(block))?;
    let mut pairs = pairs(geometry, layout);
    let defective_spares = defective_spares(geometry);
    let is_spare_here = |(from, to): &Pair| *to == unit && from != to;
    match pairs.iter().position(is_spare_here) {
        Some(moved) => {
            let from = pairs[moved].0;
            pairs[moved].1 = layout.spare(from, &defective_spares)?;
            pairs.push((unit, unit));
        }
        None => pairs.push((unit, layout.spare(unit, &defective_spares)?)),
    }
    Some(with_pairs(geometry, &pairs))
}

/// Returns the geometry after formatting. Reallocated blocks and `more` are slipped as long as
/// there are enough spares; the remaining blocks stay reallocated.
pub(super) fn formatted_geometry(geometry: &Geometry, layout: &Layout, more: &[Unit]) -> Geometry {
    let pairs = pairs(geometry, layout);
    let defective = pairs.iter().map(|(from, _)| *from);
    let mut units: Vec<Unit> = defective.chain(more.iter().copied()).collect();
    units.sort_unstable();
    units.dedup();
    let mut all = with_pairs(geometry, &[]);
    units.iter().for_each(|unit| slip(&mut all, *unit));
    if Layout::new(&all).is_ok() {
        return all;
    }
    // Otherwise slip as many as possible, one by one.
    let mut geometry = with_pairs(geometry, &pairs);
    for unit in units {
        let mut next = geometry.clone();
        let defects = &mut next.zones[unit.zone].defects;
        defects.retain(|(from, _)| *from != unit.number);
        slip(&mut next, unit);
        if Layout::new(&next).is_ok() {
            geometry = next;
        }
    }
    geometry
}

/// Slips a unit. With spares at the end of the disk, this uses up one of them.
fn slip(geometry: &mut Geometry, unit: Unit) {
    let slips = &mut geometry.zones[unit.zone].slips;
    let Err(position) = slips.binary_search(&unit.number) else {
        return;
    };
    slips.insert(position, unit.number);
    if geometry.sparing == Sparing::SectorsPerDisk {
        let slipped = geometry.physical_sector.0;
        let unused = geometry.unused_sectors.0.saturating_sub(slipped);
        geometry.unused_sectors = SectorCount(unused);
    }
}
