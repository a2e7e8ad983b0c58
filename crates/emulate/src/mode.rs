//! The table of mode pages. Each page has its own file, with its default content, the bits that may
//! be changed, and their effect.

mod caching;
mod control;
mod disconnect;
mod error_recovery;
mod exceptions;
mod flexible_disk;
mod format;
mod geometry;
mod notch;

use diskarm_core::geometry::Layout;
use diskarm_core::spec::Spec;
use diskarm_wire::command::Values;
use diskarm_wire::mode::{Caching, Control, Disconnect, Notch, Page};

use crate::realism::Realism;
use crate::state::Context;

/// The state that a page describes.
pub(crate) struct View<'a> {
    /// The drive as given, if the unit knows it.
    pub drive: Option<(&'a Spec, &'a Layout)>,
    /// The active notch, from 1; 0 for the whole drive.
    pub notch: u16,
    /// The boundaries of notches are blocks.
    pub logical: bool,
    pub realism: Realism,
}

impl<'a> View<'a> {
    /// The zones that hold blocks, by their index: the drive's notches.
    fn notches(&self) -> Vec<usize> {
        let Some((spec, layout)) = self.drive else {
            return Vec::new();
        };
        let holds_blocks = |zone: &usize| {
            let (first, end) = layout.zone_blocks(*zone);
            first < end
        };
        (0..spec.geometry.zones.len())
            .filter(holds_blocks)
            .collect()
    }

    /// The zone of the active notch; the first one's if none is active.
    fn zone(&self) -> Option<(&'a Spec, usize)> {
        let (spec, _) = self.drive?;
        let index = usize::from(self.notch.max(1)) - 1;
        Some((spec, *self.notches().get(index)?))
    }
}

/// A row of the table.
pub(crate) struct Row {
    code: u8,
    /// The default content; `None` if the unit does not have the page.
    values: fn(&View<'_>) -> Option<Vec<u8>>,
    /// A one for each bit that may be changed.
    mask: fn(&View<'_>) -> Vec<u8>,
    /// Refuses content that only differs in changeable bits.
    check: fn(&View<'_>, &[u8]) -> Result<(), Refused>,
}

/// The reason for refusing a page; bytes count from its content on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It has another length.
    Length,
    /// A field has a value that is not taken.
    Field { byte: usize, bit: Option<u8> },
}

/// All pages, in the order of their codes.
static PAGES: &[Row] = &[
    error_recovery::ROW,
    disconnect::ROW,
    format::ROW,
    geometry::ROW,
    flexible_disk::ROW,
    caching::ROW,
    control::ROW,
    notch::ROW,
    exceptions::ROW,
];

/// The bits of each page that were changed and saved, by row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Modes {
    current: [Option<Vec<u8>>; PAGES.len()],
    saved: [Option<Vec<u8>>; PAGES.len()],
}

fn any(_: &View<'_>, _: &[u8]) -> Result<(), Refused> {
    Ok(())
}

/// Nothing may be changed.
fn nothing<const LENGTH: usize>(_: &View<'_>) -> Vec<u8> {
    vec![0; LENGTH]
}

impl Modes {
    fn stored(&self, code: u8) -> Option<&[u8]> {
        let row = PAGES.iter().position(|row| row.code == code)?;
        self.current[row].as_deref()
    }

    /// D_SENSE of the control page.
    pub fn descriptor_sense(&self) -> bool {
        self.control()
            .is_some_and(|control| control.descriptor_sense)
    }

    /// SWP of the control page.
    pub fn write_protected(&self) -> bool {
        self.control().is_some_and(|control| control.write_protect)
    }

    /// The buffer full ratio, if it was changed.
    pub fn buffer_full_ratio(&self) -> Option<u8> {
        let page = Disconnect::parse(self.stored(Disconnect::CODE)?).ok()?;
        Some(page.buffer_full_ratio)
    }

    /// Goes back to what was saved.
    pub fn restore(&mut self) {
        self.current.clone_from(&self.saved);
    }

    fn control(&self) -> Option<Control> {
        Control::parse(self.stored(Control::CODE)?).ok()
    }

    fn notch(page: Option<&[u8]>) -> (u16, bool) {
        let notch = page.and_then(|page| Notch::parse(page).ok());
        notch.map_or((0, false), |notch| (notch.active, notch.logical))
    }
}

fn view<'a>(context: &'a Context<'_>, values: Values) -> View<'a> {
    let modes = &context.state.modes;
    let row = PAGES.iter().position(|row| row.code == Notch::CODE);
    let page = row.and_then(|row| match values {
        Values::Current => modes.current[row].as_deref(),
        Values::Saved => modes.saved[row].as_deref(),
        Values::Default | Values::Changeable => None,
    });
    let (notch, logical) = Modes::notch(page);
    // Buffer rules as given; defects as they are now.
    View {
        drive: context.state.given.as_ref().zip(context.device.layout()),
        notch,
        logical,
        realism: context.state.realism,
    }
}

/// The content of a page.
fn content(context: &Context<'_>, row: usize, values: Values) -> Option<Vec<u8>> {
    let view = view(context, values);
    let given = (PAGES[row].values)(&view)?;
    let mask = (PAGES[row].mask)(&view);
    let changed = match values {
        Values::Changeable => return Some(mask),
        Values::Default => return Some(given),
        Values::Current => context.state.modes.current[row].as_deref(),
        Values::Saved => context.state.modes.saved[row].as_deref(),
    };
    Some(match changed {
        Some(changed) => merged(&given, changed, &mask),
        None => given,
    })
}

/// `changed` where `mask` has ones, else `given`.
fn merged(given: &[u8], changed: &[u8], mask: &[u8]) -> Vec<u8> {
    let bits = given.iter().zip(changed).zip(mask);
    bits.map(|((given, changed), mask)| given & !mask | changed & mask)
        .collect()
}

/// Pages as MODE SENSE returns them: one, or all; `None` if there is no such page.
pub(crate) fn pages(context: &Context<'_>, which: Option<u8>, values: Values) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    for (index, row) in PAGES.iter().enumerate() {
        if which.is_some_and(|code| code != row.code) {
            continue;
        }
        let Some(content) = content(context, index, values) else {
            continue;
        };
        let page = Page {
            saveable: true,
            code: row.code,
            subpage: None,
            content: &content,
        };
        let begin = data.len();
        data.resize(begin + 2 + content.len(), 0);
        page.emit(&mut data[begin..]);
    }
    (which.is_none() || !data.is_empty()).then_some(data)
}

/// The row of a page that the unit has.
pub(crate) fn row(context: &Context<'_>, code: u8) -> Option<usize> {
    let row = PAGES.iter().position(|row| row.code == code)?;
    content(context, row, Values::Current).map(|_| row)
}

/// Checks a page from the initiator: only changeable bits may differ, and the values must be
/// acceptable.
pub(crate) fn check(context: &Context<'_>, row: usize, new: &[u8]) -> Result<(), Refused> {
    let current = content(context, row, Values::Current).unwrap_or_default();
    if new.len() != current.len() {
        return Err(Refused::Length);
    }
    let view = view(context, Values::Current);
    let mask = (PAGES[row].mask)(&view);
    for (byte, ((new, current), mask)) in new.iter().zip(&current).zip(&mask).enumerate() {
        let wrong = (new ^ current) & !mask;
        if wrong != 0 {
            let bit = Some(7 - wrong.leading_zeros() as u8);
            return Err(Refused::Field { byte, bit });
        }
    }
    (PAGES[row].check)(&view, new)
}

/// Takes pages that were checked; whether any value is another one now.
pub(crate) fn change(context: &mut Context<'_>, changes: &[(usize, Vec<u8>)], save: bool) -> bool {
    let mut differs = false;
    for (row, new) in changes {
        differs |= content(context, *row, Values::Current).as_ref() != Some(new);
        context.state.modes.current[*row] = Some(new.clone());
        if save {
            context.state.modes.saved[*row] = Some(new.clone());
        }
    }
    if differs {
        apply(context);
    }
    differs
}

/// Applies the pages to the device.
pub(crate) fn apply(context: &mut Context<'_>) {
    let Some(given) = context.state.given.as_ref() else {
        return;
    };
    let mut spec = given.clone();
    if let Some(spec_now) = context.device.spec() {
        spec.geometry = spec_now.geometry.clone();
    }
    let mut read_cache_disabled = false;
    let page = |code| context.state.modes.stored(code);
    if let Some(caching) = page(Caching::CODE).and_then(|page| Caching::parse(page).ok()) {
        read_cache_disabled = caching.read_cache_disabled;
        caching::apply(&caching, &mut spec);
    }
    if let Some(ratios) = page(Disconnect::CODE).and_then(|page| Disconnect::parse(page).ok()) {
        disconnect::apply(&ratios, &mut spec);
    }
    context.state.read_cache_disabled = read_cache_disabled;
    if context.device.spec() != Some(&spec) {
        context.device.set_buffer(context.now, &spec);
    }
}
