//! The table of mode pages: the default content of each, the bits that may be changed, and their
//! effect.

mod buffer;
mod geometry;

use diskarm_core::geometry::Layout;
use diskarm_core::spec::Spec;
use diskarm_wire::command::Values;
use diskarm_wire::mode::{Caching, Control, Disconnect, ErrorRecovery, Exceptions, Notch, Page};

use crate::realism::Realism;
use crate::state::Context;

/// The state that a page describes.
pub(crate) struct View<'a> {
    /// The drive as specified, if the unit knows it.
    pub drive: Option<(&'a Spec, &'a Layout)>,
    /// The active notch, from 1; 0 for the whole drive.
    pub notch: u16,
    /// True if boundaries of notches are given as blocks.
    pub logical: bool,
    pub realism: Realism,
}

impl<'a> View<'a> {
    /// Returns the indices of the zones that hold blocks, which are the notches of the drive.
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

    /// Returns the zone of the active notch, or the first notch if none is active.
    fn zone(&self) -> Option<(&'a Spec, usize)> {
        let (spec, _) = self.drive?;
        let index = usize::from(self.notch.max(1)) - 1;
        Some((spec, *self.notches().get(index)?))
    }
}

/// An entry in the table of pages.
pub(crate) struct PageEntry {
    code: u8,
    /// The default content; `None` if the unit does not have the page.
    values: fn(&View<'_>) -> Option<Vec<u8>>,
    /// A one for each bit that may be changed.
    mask: fn(&View<'_>) -> Vec<u8>,
    /// Checks content that differs only in changeable bits.
    check: fn(&View<'_>, &[u8]) -> Result<(), PageError>,
}

/// An error in a page; bytes count from the start of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageError {
    /// The page has the wrong length.
    Length,
    /// A field has an unsupported value.
    Field { byte: usize, bit: Option<u8> },
}

/// All pages, in the order of their codes.
static PAGES: &[PageEntry] = &[
    ERROR_RECOVERY,
    buffer::DISCONNECT,
    geometry::FORMAT,
    geometry::GEOMETRY,
    geometry::FLEXIBLE_DISK,
    buffer::CACHING,
    CONTROL,
    geometry::NOTCH,
    EXCEPTIONS,
];

/// The format of sense data, and write protection.
const CONTROL: PageEntry = PageEntry {
    code: Control::CODE,
    values: |_| Some(control(false, false, 1).emit().to_vec()),
    mask: |_: &View<'_>| control(true, true, 0).emit().to_vec(),
    check: accept,
};

fn control(descriptor_sense: bool, write_protect: bool, queue_algorithm: u8) -> Control {
    Control {
        task_sets: 0,
        descriptor_sense,
        logs_not_saved: false,
        queue_algorithm,
        queue_errors: 0,
        attention_interlock: 0,
        write_protect,
        task_aborted_status: false,
        busy_timeout: 0,
        self_test_time_s: 0,
    }
}

/// Nothing may be changed: retries are the device's.
const ERROR_RECOVERY: PageEntry = PageEntry {
    code: ErrorRecovery::CODE,
    values: |_| Some(vec![0; ErrorRecovery::LENGTH]),
    mask: no_changes::<{ ErrorRecovery::LENGTH }>,
    check: accept,
};

/// The model predicts no faults, so exceptions are disabled and nothing may be changed.
const EXCEPTIONS: PageEntry = PageEntry {
    code: Exceptions::CODE,
    values: |_| Some(DISABLED.emit().to_vec()),
    mask: no_changes::<{ Exceptions::LENGTH }>,
    check: accept,
};

const DISABLED: Exceptions = Exceptions {
    performance: false,
    background: false,
    warnings: false,
    disabled: true,
    test: false,
    logged: false,
    method: 0,
    interval: 0,
    reports: 0,
};

/// The current and saved content of each page that was changed, by its index in the table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Modes {
    current: [Option<Vec<u8>>; PAGES.len()],
    saved: [Option<Vec<u8>>; PAGES.len()],
}

fn accept(_: &View<'_>, _: &[u8]) -> Result<(), PageError> {
    Ok(())
}

/// Returns a mask that allows no changes.
fn no_changes<const LENGTH: usize>(_: &View<'_>) -> Vec<u8> {
    vec![0; LENGTH]
}

impl Modes {
    fn stored(&self, code: u8) -> Option<&[u8]> {
        let index = PAGES.iter().position(|entry| entry.code == code)?;
        self.current[index].as_deref()
    }

    /// Returns D_SENSE of the control page.
    pub fn has_descriptor_sense(&self) -> bool {
        self.control()
            .is_some_and(|control| control.descriptor_sense)
    }

    /// Returns SWP of the control page.
    pub fn is_write_protected(&self) -> bool {
        self.control().is_some_and(|control| control.write_protect)
    }

    /// Returns the buffer full ratio if it was changed.
    pub fn buffer_full_ratio(&self) -> Option<u8> {
        let page = Disconnect::parse(self.stored(Disconnect::CODE)?).ok()?;
        Some(page.buffer_full_ratio)
    }

    /// Restores the saved values.
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
    let index = PAGES.iter().position(|entry| entry.code == Notch::CODE);
    let page = index.and_then(|index| match values {
        Values::Current => modes.current[index].as_deref(),
        Values::Saved => modes.saved[index].as_deref(),
        Values::Default | Values::Changeable => None,
    });
    let (notch, logical) = Modes::notch(page);
    // The specified buffer rules, but the current defects.
    View {
        drive: context.state.given.as_ref().zip(context.device.layout()),
        notch,
        logical,
        realism: context.state.realism,
    }
}

fn content(context: &Context<'_>, index: usize, values: Values) -> Option<Vec<u8>> {
    let view = view(context, values);
    let given = (PAGES[index].values)(&view)?;
    let mask = (PAGES[index].mask)(&view);
    let changed = match values {
        Values::Changeable => return Some(mask),
        Values::Default => return Some(given),
        Values::Current => context.state.modes.current[index].as_deref(),
        Values::Saved => context.state.modes.saved[index].as_deref(),
    };
    Some(match changed {
        Some(changed) => merged(&given, changed, &mask),
        None => given,
    })
}

/// Returns the bits of `changed` where `mask` has ones, else those of `given`.
fn merged(given: &[u8], changed: &[u8], mask: &[u8]) -> Vec<u8> {
    let bits = given.iter().zip(changed).zip(mask);
    bits.map(|((given, changed), mask)| given & !mask | changed & mask)
        .collect()
}

/// Returns one page or all pages for MODE SENSE; `None` if there is no such page.
pub(crate) fn pages(context: &Context<'_>, which: Option<u8>, values: Values) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    for (index, entry) in PAGES.iter().enumerate() {
        if which.is_some_and(|code| code != entry.code) {
            continue;
        }
        let Some(content) = content(context, index, values) else {
            continue;
        };
        let page = Page {
            saveable: true,
            code: entry.code,
            subpage: None,
            content: &content,
        };
        let begin = data.len();
        data.resize(begin + 2 + content.len(), 0);
        page.emit(&mut data[begin..]);
    }
    (which.is_none() || !data.is_empty()).then_some(data)
}

/// Returns the index in the table of a page that the unit has.
pub(crate) fn position(context: &Context<'_>, code: u8) -> Option<usize> {
    let index = PAGES.iter().position(|entry| entry.code == code)?;
    content(context, index, Values::Current).map(|_| index)
}

/// Checks a page from the initiator: only changeable bits may differ, and the values must be
/// acceptable.
pub(crate) fn check(context: &Context<'_>, index: usize, new: &[u8]) -> Result<(), PageError> {
    let current = content(context, index, Values::Current).unwrap_or_default();
    if new.len() != current.len() {
        return Err(PageError::Length);
    }
    let view = view(context, Values::Current);
    let mask = (PAGES[index].mask)(&view);
    for (byte, ((new, current), mask)) in new.iter().zip(&current).zip(&mask).enumerate() {
        let wrong = (new ^ current) & !mask;
        if wrong != 0 {
            let bit = Some(7 - wrong.leading_zeros() as u8);
            return Err(PageError::Field { byte, bit });
        }
    }
    (PAGES[index].check)(&view, new)
}

/// Stores pages that were checked; returns true if any value has changed.
pub(crate) fn change(context: &mut Context<'_>, changes: &[(usize, Vec<u8>)], save: bool) -> bool {
    let mut differs = false;
    for (index, new) in changes {
        differs |= content(context, *index, Values::Current).as_ref() != Some(new);
        context.state.modes.current[*index] = Some(new.clone());
        if save {
            context.state.modes.saved[*index] = Some(new.clone());
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
        buffer::apply_caching(&caching, &mut spec);
    }
    if let Some(ratios) = page(Disconnect::CODE).and_then(|page| Disconnect::parse(page).ok()) {
        buffer::apply_ratios(&ratios, &mut spec);
    }
    context.state.read_cache_disabled = read_cache_disabled;
    if context.device.spec() != Some(&spec) {
        context.device.set_buffer(context.now, &spec);
    }
}
