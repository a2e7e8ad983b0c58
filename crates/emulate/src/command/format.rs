//! FORMAT UNIT (SBC-3): zeroes all blocks, and slips reallocated sectors (worthington96 section
//! 4.1.1).
//!
//! No parameter set gives the duration of formatting. One revolution per track is assumed for
//! writing and, unless the initiator disables certification, another for reading.

use diskarm_core::geometry::{Layout, Pba, Unit};
use diskarm_core::units::{Instant, Span};
use diskarm_wire::command::AddressFormat;
use diskarm_wire::defect::{Address, FormatHeader, LongFormatHeader, Physical};
use diskarm_wire::{Command, Sense};

use super::{defects, diagnostic};
use crate::state::{
    Action, Context, Start, Work, invalid_field, invalid_parameter, list_length, too_few_data,
};

/// Maximum number of defects in a list; no new drive has as many. When spares are scarce, a new
/// layout must be built for each defect to find out whether it can be slipped.
const MAX_DEFECTS: usize = 2048;

#[derive(Clone, Debug, Default)]
struct List {
    defects: Vec<Unit>,
    disable_certification: bool,
    immediate: bool,
}

struct Format {
    list: List,
    has_begun: bool,
}

pub(super) fn run(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => FormatUnit { defects, long_list, complete, interleave });
    context.check_writable()?;
    if interleave > 1 {
        return Err(invalid_field(3, None));
    }
    // The grown list cannot be replaced: the drive keeps its known defects.
    if complete {
        return Err(invalid_field(1, Some(3)));
    }
    let list = match defects {
        Some(format) => parse_list(context, format, long_list)?,
        None => List::default(),
    };
    let immediate = list.immediate;
    let work = Format {
        list,
        has_begun: false,
    };
    Ok(Start::immediate(work, immediate))
}

fn parse_list(context: &Context<'_>, format: AddressFormat, long: bool) -> Result<List, Sense> {
    let data = &context.data_out;
    // Both headers have their flags in the same byte.
    let short = FormatHeader::parse(data).map_err(|_| too_few_data())?;
    let (header, length) = if long {
        let long = LongFormatHeader::parse(data).map_err(|_| too_few_data())?;
        (LongFormatHeader::LENGTH, long.length as usize)
    } else {
        (FormatHeader::LENGTH, short.length.into())
    };
    if data[0] != 0 {
        return Err(invalid_parameter(0, None));
    }
    if data[1] & 0x01 != 0 {
        return Err(invalid_parameter(1, Some(0)));
    }
    // SBC-3: without FOV the options must be zero.
    let options = [
        (short.disable_primary, 6),
        (short.disable_certification, 5),
        (short.stop, 4),
        (short.pattern, 3),
        (short.disable_saving, 2),
    ];
    let wrong = options
        .into_iter()
        .find(|(set, _)| *set && !short.options_valid);
    // The primary list is always used, and blocks are always set to zeros.
    let unsupported = options
        .into_iter()
        .find(|(set, bit)| *set && matches!(bit, 6 | 3));
    if let Some((_, bit)) = wrong.or(unsupported) {
        return Err(invalid_parameter(1, Some(bit)));
    }
    let list = data
        .get(header..header.saturating_add(length))
        .ok_or(too_few_data())?;
    let defects = defective_units(context, format, list, header)?;
    Ok(List {
        defects,
        disable_certification: short.disable_certification,
        immediate: short.immediate,
    })
}

/// Returns the defects in a list of addresses that starts `list_offset` bytes into the parameters.
fn defective_units(
    context: &Context<'_>,
    format: AddressFormat,
    list: &[u8],
    list_offset: usize,
) -> Result<Vec<Unit>, Sense> {
    let address_length = Address::length(format).ok_or(invalid_field(1, Some(2)))?;
    if !list.len().is_multiple_of(address_length) || list.len() / address_length > MAX_DEFECTS {
        return Err(list_length());
    }
    let mut units: Vec<Unit> = Vec::new();
    let mut run_start = None;
    let mut end = list_offset;
    for bytes in list.chunks_exact(address_length) {
        let at = end;
        end += address_length;
        // Formats with flags have them in byte 4, where three bits are reserved.
        let address = Address::parse(format, bytes).ok_or(invalid_parameter(at + 4, None))?;
        let (layout, _) = context
            .layout_and_spec()
            .map_err(|_| invalid_parameter(list_offset, None))?;
        let unknown = invalid_parameter(at, None);
        let position = diagnostic::locate(context, layout, address).ok_or(unknown)?;
        match (run_start.take(), begins_run(address)) {
            (None, false) => units.push(layout.unit_at(position).ok_or(unknown)?),
            (None, true) => run_start = Some(position),
            // The end of a run cannot begin another run.
            (Some(_), true) => return Err(invalid_parameter(at + 4, Some(7))),
            (Some(from), false) => {
                units.extend(units_between(layout, from, position).ok_or(unknown)?);
            }
        }
        if units.len() > MAX_DEFECTS {
            return Err(invalid_parameter(at, None));
        }
    }
    match run_start {
        None => Ok(units),
        Some(_) => Err(invalid_parameter(end - address_length + 4, Some(7))),
    }
}

/// Returns true if an address is the first of two that denote a range (MADS).
fn begins_run(address: Address) -> bool {
    match address {
        Address::ExtendedBytesFromIndex(at) | Address::ExtendedPhysicalSector(at) => at.begins_run,
        _ => false,
    }
}

/// Returns the units between two positions on a track, in rotational order from the index mark;
/// `None` if the positions are in reverse order or on different tracks.
fn units_between(layout: &Layout, from: Pba, to: Pba) -> Option<Vec<Unit>> {
    let [first, last] = [from, to].map(|at| diagnostic::physical(layout, at));
    let (first, last) = (first?, last?);
    let is_same_track = (first.cylinder, first.head) == (last.cylinder, last.head);
    if !is_same_track || first.offset > last.offset {
        return None;
    }
    let positions = (first.offset..=last.offset).map(|offset| Physical { offset, ..first });
    let units = positions.map(|at| layout.unit_at(diagnostic::sector(layout, at)?));
    let mut units = units.collect::<Option<Vec<_>>>()?;
    // If whole tracks are spared, all of these are the same unit.
    units.dedup();
    Some(units)
}

impl Work for Format {
    fn next(&mut self, context: &mut Context<'_>) -> Result<Action, Sense> {
        if self.has_begun {
            context.state.formatting = None;
            return Ok(Action::Done(Vec::new()));
        }
        self.has_begun = true;
        context.state.store.clear()?;
        if let Ok((layout, spec)) = context.layout_and_spec() {
            let geometry = defects::formatted_geometry(&spec.geometry, layout, &self.list.defects);
            // Layouts that cannot be built were rejected above.
            if context.device.set_geometry(context.now, &geometry).is_ok() {
                context.state.generation = context.state.generation.wrapping_add(1);
            }
        }
        let end = self.end(context);
        context.state.formatting = Some((context.now, end));
        Ok(Action::Until(end))
    }
}

impl Format {
    fn end(&self, context: &Context<'_>) -> Instant {
        let Ok((layout, spec)) = context.layout_and_spec() else {
            return context.now;
        };
        let tracks = u64::from(layout.cylinders()) * u64::from(layout.surfaces());
        let passes = 1 + u64::from(!self.list.disable_certification);
        let revolution = Span::from_ns(spec.mechanics.period_ns as i64);
        context.now + revolution * (tracks * passes)
    }
}
