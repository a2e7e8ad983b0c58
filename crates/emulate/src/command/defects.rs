//! READ DEFECT DATA (SBC-3). The primary list has what the specification lists, slipped or
//! reallocated; the grown list what was reallocated since.

use diskarm_core::geometry::{Layout, Unit};
use diskarm_core::spec::{Sparing, Spec};
use diskarm_core::units::Lbn;
use diskarm_wire::command::{AddressFormat, Size};
use diskarm_wire::defect::{Address, Header10, Header12, WHOLE_TRACK};
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense};

use super::{misplaced, places};
use crate::state::{Context, invalid_field};
use crate::work::Start;

pub(super) fn run(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::ReadDefectData {
        size,
        primary,
        grown,
        format,
        index,
        length,
    } = *command
    else {
        misplaced(command);
    };
    let byte = if size == Size::Ten { 2 } else { 1 };
    let Some(each) = Address::length(format) else {
        return Err(invalid_field(byte, Some(2)));
    };
    let (layout, _) = context.known()?;
    let Some(spec) = &context.state.given else {
        return Err(Sense::new(Key::IllegalRequest, Code::INVALID_OPERATION));
    };
    let list = addresses(context, layout, spec, (primary, grown), format);
    let mut content = vec![0; each * list.len()];
    for (address, room) in list.iter().zip(content.chunks_exact_mut(each)) {
        address.emit(room);
    }
    let format = format as u8;
    let mut data = if size == Size::Ten {
        let length = u16::try_from(content.len()).map_err(|_| too_long())?;
        Header10 {
            primary,
            grown,
            format,
            length,
        }
        .emit()
        .to_vec()
    } else {
        let skipped = (index as usize).saturating_mul(each).min(content.len());
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

/// SBC-3: the list does not fit the length field of READ DEFECT DATA(10).
fn too_long() -> Sense {
    Sense::new(Key::IllegalRequest, Code::INVALID_FIELD)
}

/// Defective units in the order of their places, primary ones first.
fn units(layout: &Layout, spec: &Spec, (primary, grown): (bool, bool)) -> Vec<Unit> {
    let listed = |unit: &Unit| {
        let zone = &spec.geometry.zones[unit.zone];
        let slipped = zone.slips.contains(&unit.number);
        slipped || zone.defects.iter().any(|(from, _)| *from == unit.number)
    };
    let mut all: Vec<Unit> = layout.slipped().collect();
    all.extend(layout.reallocated().map(|(from, _)| from));
    all.sort_unstable();
    let (mut list, others): (Vec<Unit>, Vec<Unit>) = all.into_iter().partition(listed);
    if !primary {
        list.clear();
    }
    if grown {
        list.extend(others);
    }
    list
}

fn addresses(
    context: &Context<'_>,
    layout: &Layout,
    spec: &Spec,
    which: (bool, bool),
    format: AddressFormat,
) -> Vec<Address> {
    let is_block = matches!(format, AddressFormat::ShortBlock | AddressFormat::LongBlock);
    let mut list = Vec::new();
    for unit in units(layout, spec, which) {
        let at = layout.address(unit);
        if is_block {
            let block = layout.numbered(unit).map(|Lbn(block)| block);
            list.extend(places::address(
                layout,
                context.state.block,
                at,
                block,
                format,
            ));
            continue;
        }
        let Some(address) = places::address(layout, context.state.block, at, None, format) else {
            continue;
        };
        list.push(if spec.geometry.sparing == Sparing::TracksPerZone {
            whole_track(address)
        } else {
            address
        });
    }
    list
}

/// SBC-3: all ones in place of the sector or byte stand for the whole track.
fn whole_track(address: Address) -> Address {
    match address {
        Address::PhysicalSector(mut place) => {
            place.offset = u32::MAX;
            Address::PhysicalSector(place)
        }
        Address::BytesFromIndex(mut place) => {
            place.offset = u32::MAX;
            Address::BytesFromIndex(place)
        }
        Address::ExtendedPhysicalSector(mut at) => {
            at.place.offset = WHOLE_TRACK;
            Address::ExtendedPhysicalSector(at)
        }
        Address::ExtendedBytesFromIndex(mut at) => {
            at.place.offset = WHOLE_TRACK;
            Address::ExtendedBytesFromIndex(at)
        }
        block => block,
    }
}
