//! Notch and partition: zones (worthington96 section 4.1.3). The notch that an initiator makes
//! active is the one that the format page and the boundaries here are about.

use diskarm_core::units::Lbn;
use diskarm_wire::mode::{FormatDevice, Notch};

use super::{Refused, Row, View};
use crate::realism::Places;

pub(super) const ROW: Row = Row {
    code: Notch::CODE,
    values: |view| Some(values(view)?.emit().to_vec()),
    mask: |_| MASK.emit().to_vec(),
    check,
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

fn values(view: &View<'_>) -> Option<Notch> {
    let (spec, layout) = view.drive?;
    if view.realism.places == Places::Untold {
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

fn check(view: &View<'_>, page: &[u8]) -> Result<(), Refused> {
    let page = Notch::parse(page).map_err(|_| Refused::Length)?;
    if usize::from(page.active) > view.notches().len() {
        // Byte 6 of the page, whose header has two.
        return Err(Refused::Field { byte: 4, bit: None });
    }
    Ok(())
}
