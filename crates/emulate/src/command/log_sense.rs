//! LOG SENSE (SPC-4).

use diskarm_wire::command::LogValues;
use diskarm_wire::report::{ErrorCounter, Exceptions, LogHeader, LogParameter, log_page as page};
use diskarm_wire::{Command, Sense};

use crate::state::{Context, ErrorCounts, Start, invalid_field};

type Content = fn(&Context<'_>) -> Vec<u8>;

/// All pages, in the order of their codes.
static PAGES: &[(u8, Content)] = &[
    (page::SUPPORTED, |_| {
        PAGES.iter().map(|(code, _)| *code).collect()
    }),
    (page::WRITE_ERRORS, |context| {
        counters(context, &context.state.counts.writes)
    }),
    (page::READ_ERRORS, |context| {
        counters(context, &context.state.counts.reads)
    }),
    (page::EXCEPTIONS, exceptions),
];

/// Control byte: DU, TSD, and a counter in binary (format 00b) or a list (11b).
const COUNTER: u8 = 0x60;
const LIST: u8 = 0x63;

pub(super) fn run(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => LogSense { save, values, page, subpage, pointer, length });
    // Only current counts are available: counts are not saved and have no thresholds.
    if save {
        return Err(invalid_field(1, Some(0)));
    }
    if values != LogValues::Cumulative {
        return Err(invalid_field(2, Some(7)));
    }
    if subpage != 0 {
        return Err(invalid_field(3, None));
    }
    let entry = PAGES.iter().find(|(code, _)| *code == page);
    let (_, content) = entry.ok_or(invalid_field(2, Some(5)))?;
    let mut content = content(context);
    if pointer != 0 {
        content = from_parameter(page, &content, pointer).ok_or(invalid_field(5, None))?;
    }
    let header = LogHeader {
        not_saved: true,
        has_subpage: false,
        page,
        subpage: 0,
        length: content.len() as u16,
    };
    let data = [&header.emit()[..], &content].concat();
    Ok(Start::data(data, length.into()))
}

/// Returns the parameters with codes of at least `pointer`; `None` if there are none.
fn from_parameter(page: u8, content: &[u8], pointer: u16) -> Option<Vec<u8>> {
    if page == page::SUPPORTED {
        return None;
    }
    let mut at = 0;
    for parameter in diskarm_wire::report::log_parameters(content) {
        if parameter.code >= pointer {
            return Some(content[at..].to_vec());
        }
        at += 4 + parameter.value.len();
    }
    None
}

fn counters(context: &Context<'_>, errors: &ErrorCounts) -> Vec<u8> {
    let bytes = errors.blocks * context.state.block as u64;
    let counts = [
        (ErrorCounter::CorrectedWithDelay, errors.recovered),
        (ErrorCounter::Repeated, errors.retries),
        (ErrorCounter::Corrected, errors.recovered),
        (ErrorCounter::Bytes, bytes),
        (ErrorCounter::Uncorrected, errors.failed),
    ];
    let emit = |(code, count): (ErrorCounter, u64)| {
        let parameter = LogParameter {
            code: code as u16,
            control: COUNTER,
            value: &count.to_be_bytes(),
        };
        parameter.emit()
    };
    counts.into_iter().flat_map(emit).collect()
}

/// Reports no exceptions: faults are not predicted, and temperatures are not modelled.
fn exceptions(_: &Context<'_>) -> Vec<u8> {
    let value = Exceptions {
        code: 0,
        qualifier: 0,
        temperature: 0xff,
    };
    let parameter = LogParameter {
        code: 0,
        control: LIST,
        value: &value.emit(),
    };
    parameter.emit()
}
