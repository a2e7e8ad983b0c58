//! SEND DIAGNOSTIC and RECEIVE DIAGNOSTIC RESULTS (SPC-4) with the page that translates addresses
//! (SBC-3; worthington96 section 4.1.2), and the translation itself. In physical addresses, sectors
//! and bytes are counted from the index mark.

use diskarm_core::geometry::{Layout, Pba};
use diskarm_core::spec::Sparing;
use diskarm_core::units::{Angle, Cylinder, Head, Lbn};
use diskarm_wire::command::AddressFormat;
use diskarm_wire::defect::{
    Address, Extended, Malformed, Physical, SUPPORTED_PAGES, TRANSLATE, Translate, Translated,
    WHOLE_TRACK,
};
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense};

use crate::realism::Places;
use crate::state::{Context, Start, invalid_field, invalid_parameter, list_length};

pub(super) fn send(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => SendDiagnostic { self_test_code, page_format, self_test, length, .. });
    // Self-tests take no parameters and always pass: faults are modelled in the device below.
    if length == 0 {
        return Ok(Start::Done(Vec::new()));
    }
    if self_test || self_test_code != 0 {
        return Err(invalid_field(3, None));
    }
    if !page_format {
        return Err(invalid_field(1, Some(4)));
    }
    let page = context.list(length.into())?;
    let query = Translate::parse(page).map_err(|malformed| match malformed {
        Malformed::Short(_) => list_length(),
        Malformed::Code(_) => invalid_parameter(0, None),
        // Addresses in vendor-specific or unknown formats cannot be translated.
        Malformed::Format(_) if page[4] > 5 => invalid_parameter(4, Some(2)),
        Malformed::Format(_) => invalid_parameter(5, Some(2)),
    })?;
    // An address that cannot be translated is refused immediately.
    translate(context, &query)?;
    context.state.nexuses[context.nexus].query = Some(query);
    Ok(Start::Done(Vec::new()))
}

pub(super) fn receive(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => ReceiveDiagnosticResults { page, length });
    let data = match page {
        Some(SUPPORTED_PAGES) => supported_pages(context),
        Some(TRANSLATE) | None => {
            let query = context.state.nexuses[context.nexus].query;
            let out_of_sequence = Sense::new(Key::IllegalRequest, Code::COMMAND_SEQUENCE);
            translate(context, &query.ok_or(out_of_sequence)?)?
                .emit()
                .to_vec()
        }
        Some(_) => return Err(invalid_field(2, None)),
    };
    Ok(Start::data(data, length.into()))
}

fn supported_pages(context: &Context<'_>) -> Vec<u8> {
    match translatable_layout(context) {
        Ok(_) => vec![SUPPORTED_PAGES, 0, 0, 2, SUPPORTED_PAGES, TRANSLATE],
        Err(_) => vec![SUPPORTED_PAGES, 0, 0, 1, SUPPORTED_PAGES],
    }
}

/// Returns the layout if the unit translates addresses.
fn translatable_layout<'a>(context: &'a Context<'_>) -> Result<&'a Layout, Sense> {
    let (layout, _) = context.layout_and_spec()?;
    if context.state.realism.places != Places::Translated {
        return Err(invalid_parameter(0, None));
    }
    Ok(layout)
}

pub(super) fn locate(context: &Context<'_>, layout: &Layout, address: Address) -> Option<Pba> {
    let block = |at: u64| (at < layout.sectors().0).then(|| layout.pba(Lbn(at)));
    match address {
        Address::ShortBlock(at) => block(at.into()),
        Address::LongBlock(at) => block(at),
        Address::PhysicalSector(position)
        | Address::ExtendedPhysicalSector(Extended { position, .. }) => sector(layout, position),
        Address::BytesFromIndex(position)
        | Address::ExtendedBytesFromIndex(Extended { position, .. }) => {
            let offset = position.offset / context.state.block as u32;
            sector(layout, Physical { offset, ..position })
        }
    }
}

fn translate(context: &Context<'_>, query: &Translate) -> Result<Translated, Sense> {
    let refused = |byte| invalid_parameter(byte, None);
    let layout = translatable_layout(context).map_err(|_| refused(0))?;
    let at = locate(context, layout, query.address).ok_or(refused(6))?;
    let block = layout.lbn(at);
    let to_block = matches!(
        query.wanted,
        AddressFormat::ShortBlock | AddressFormat::LongBlock
    );
    if to_block && block.is_none() {
        return Err(refused(6));
    }
    let block_bytes = context.state.block;
    let number = block.map(|block| block.0);
    let address = address(layout, block_bytes, at, number, query.wanted);
    let is_alternate = block.is_some_and(|block| layout.is_reallocated(block));
    let spec = context.device.spec();
    let by_track = spec.is_some_and(|spec| spec.geometry.sparing == Sparing::TracksPerZone);
    Ok(Translated {
        supplied: query.address.format(),
        reserved: block.is_none(),
        alternate_sector: is_alternate && !by_track,
        alternate_track: is_alternate && by_track,
        address: address.ok_or(refused(5))?,
    })
}

/// Tolerance for sums of rounded angles, which fall short of whole sectors by a few units of 2^-64.
const ROUNDING: Angle = Angle::from_raw(1 << 32);

/// Returns the number, counted from the index mark, of the sector that begins at `start`.
fn sectors_from_index(start: Angle, width: Angle) -> u32 {
    ((start + ROUNDING).as_raw() / width.as_raw().max(1)) as u32
}

/// Returns the physical position of a sector.
pub(super) fn physical(layout: &Layout, at: Pba) -> Option<Physical> {
    let (start, width) = layout.angle(at)?;
    Some(Physical {
        cylinder: at.cylinder.0,
        head: at.head.0 as u8,
        offset: sectors_from_index(start, width),
    })
}

pub(super) fn sector(layout: &Layout, at: Physical) -> Option<Pba> {
    let cylinder = Cylinder(at.cylinder);
    let sectors = layout.track_sectors(cylinder)? as u32;
    let first = Pba {
        cylinder,
        head: Head(at.head.into()),
        sector: 0,
    };
    let (start, width) = layout.angle(first)?;
    let before = sectors_from_index(start, width) % sectors;
    let sector = (at.offset < sectors).then(|| (at.offset + sectors - before) % sectors)?;
    Some(Pba { sector, ..first })
}

/// Returns the address of a sector in a format, or `None` if the format cannot express it, such as
/// a block address for a sector without a block.
pub(super) fn address(
    layout: &Layout,
    block_bytes: usize,
    at: Pba,
    block: Option<u64>,
    format: AddressFormat,
) -> Option<Address> {
    let position = physical(layout, at)?;
    let bytes = || {
        let offset = position.offset.checked_mul(block_bytes as u32)?;
        Some(Physical { offset, ..position })
    };
    let extended = |position: Physical| {
        let fits = position.offset < WHOLE_TRACK;
        fits.then_some(Extended {
            position,
            begins_run: false,
        })
    };
    Some(match format {
        AddressFormat::ShortBlock => Address::ShortBlock(u32::try_from(block?).ok()?),
        AddressFormat::LongBlock => Address::LongBlock(block?),
        AddressFormat::BytesFromIndex => Address::BytesFromIndex(bytes()?),
        AddressFormat::PhysicalSector => Address::PhysicalSector(position),
        AddressFormat::ExtendedBytesFromIndex => {
            Address::ExtendedBytesFromIndex(extended(bytes()?)?)
        }
        AddressFormat::ExtendedPhysicalSector => {
            Address::ExtendedPhysicalSector(extended(position)?)
        }
        AddressFormat::VendorSpecific => return None,
    })
}
