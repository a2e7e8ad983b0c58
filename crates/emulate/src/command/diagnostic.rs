//! SEND DIAGNOSTIC and RECEIVE DIAGNOSTIC RESULTS (SPC-4), with the page that translates addresses
//! (SBC-3; worthington96 section 4.1.2).

use diskarm_core::geometry::{Layout, Pba};
use diskarm_core::spec::Sparing;
use diskarm_core::units::Lbn;
use diskarm_wire::command::AddressFormat;
use diskarm_wire::defect::{
    Address, Extended, Malformed, Physical, SUPPORTED_PAGES, TRANSLATE, Translate, Translated,
};
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense};

use super::{misplaced, places};
use crate::realism::Places;
use crate::state::{Context, invalid_field, invalid_parameter, list_length};
use crate::work::Start;

pub(super) fn send(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::SendDiagnostic {
        self_test_code,
        page_format,
        self_test,
        length,
        ..
    } = *command
    else {
        misplaced(command);
    };
    if self_test || self_test_code != 0 {
        // Self-tests take no parameters, and find nothing: faults are the device's.
        return if length == 0 {
            Ok(Start::Done(Vec::new()))
        } else {
            Err(invalid_field(3, None))
        };
    }
    if length == 0 {
        return Ok(Start::Done(Vec::new()));
    }
    if !page_format {
        return Err(invalid_field(1, Some(4)));
    }
    let page = context.list(length.into())?;
    let asked = Translate::parse(page).map_err(|malformed| match malformed {
        Malformed::Short(_) => list_length(),
        Malformed::Code(_) => invalid_parameter(0, None),
        Malformed::Format(_) if page[4] & !0x07 != 0 || is_unknown(page[4]) => {
            invalid_parameter(4, Some(2))
        }
        Malformed::Format(_) => invalid_parameter(5, Some(2)),
    })?;
    // What cannot be translated is refused now.
    translated(context, &asked)?;
    context.state.nexuses[context.nexus].asked = Some(asked);
    Ok(Start::Done(Vec::new()))
}

/// Returns true if addresses of a format cannot be translated.
fn is_unknown(format: u8) -> bool {
    !matches!(format & 0x07, 0..=5)
}

pub(super) fn receive(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::ReceiveDiagnosticResults { page, length } = *command else {
        misplaced(command);
    };
    let data = match page {
        Some(SUPPORTED_PAGES) => supported(context),
        Some(TRANSLATE) | None => {
            let asked = context.state.nexuses[context.nexus].asked;
            let sequence = Sense::new(Key::IllegalRequest, Code::COMMAND_SEQUENCE);
            translated(context, &asked.ok_or(sequence)?)?
                .emit()
                .to_vec()
        }
        Some(_) => return Err(invalid_field(2, None)),
    };
    Ok(Start::data(data, length.into()))
}

/// The list of diagnostic pages.
fn supported(context: &Context<'_>) -> Vec<u8> {
    match drive(context) {
        Ok(_) => vec![SUPPORTED_PAGES, 0, 0, 2, SUPPORTED_PAGES, TRANSLATE],
        Err(_) => vec![SUPPORTED_PAGES, 0, 0, 1, SUPPORTED_PAGES],
    }
}

/// The reported layout.
fn drive<'a>(context: &'a Context<'_>) -> Result<&'a Layout, Sense> {
    let (layout, _) = context.known()?;
    if context.state.realism.places != Places::Translated {
        return Err(invalid_parameter(0, None));
    }
    Ok(layout)
}

/// The sector that an address names.
pub(super) fn place(context: &Context<'_>, layout: &Layout, address: Address) -> Option<Pba> {
    let block = |at: u64| (at < layout.sectors().0).then(|| layout.pba(Lbn(at)));
    match address {
        Address::ShortBlock(at) => block(at.into()),
        Address::LongBlock(at) => block(at),
        Address::PhysicalSector(place)
        | Address::ExtendedPhysicalSector(Extended { place, .. }) => places::sector(layout, place),
        Address::BytesFromIndex(place)
        | Address::ExtendedBytesFromIndex(Extended { place, .. }) => {
            let offset = place.offset / context.state.block as u32;
            places::sector(layout, Physical { offset, ..place })
        }
    }
}

fn translated(context: &Context<'_>, asked: &Translate) -> Result<Translated, Sense> {
    let refused = |byte| invalid_parameter(byte, None);
    let layout = drive(context).map_err(|_| refused(0))?;
    let at = place(context, layout, asked.address).ok_or(refused(6))?;
    let block = layout.lbn(at);
    let to_block = matches!(
        asked.wanted,
        AddressFormat::ShortBlock | AddressFormat::LongBlock
    );
    if to_block && block.is_none() {
        return Err(refused(6));
    }
    let block_bytes = context.state.block;
    let number = block.map(|block| block.0);
    let address = places::address(layout, block_bytes, at, number, asked.wanted);
    let is_alternate = block.is_some_and(|block| layout.is_reallocated(block));
    let spec = context.device.spec();
    let by_track = spec.is_some_and(|spec| spec.geometry.sparing == Sparing::TracksPerZone);
    Ok(Translated {
        supplied: asked.address.format(),
        reserved: block.is_none(),
        alternate_sector: is_alternate && !by_track,
        alternate_track: is_alternate && by_track,
        address: address.ok_or(refused(5))?,
    })
}
