//! INQUIRY (SPC-4): standard data and vital product data.

use diskarm_wire::report::{
    BlockLimits, Characteristics, Designator, Inquiry, VERSIONS, VitalPage, padded, page_code,
    version,
};
use diskarm_wire::{Command, Sense};

use super::transfer::MAX_BLOCKS;
use crate::mode::rotation_rate;
use crate::state::{Context, Start, invalid_field};

pub(super) fn run(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => Inquiry { page, length });
    let Some(page) = page else {
        return Ok(Start::data(standard_data(context), length.into()));
    };
    let entry = PAGES.iter().find(|(code, _)| *code == page);
    let (_, content) = entry.ok_or(invalid_field(2, None))?;
    let content = content(context);
    let page = VitalPage {
        qualifier: 0,
        device_type: 0,
        code: page,
        content: &content,
    };
    Ok(Start::data(page.emit(), length.into()))
}

fn standard_data(context: &Context<'_>) -> Vec<u8> {
    let identity = &context.state.identity;
    let inquiry = Inquiry {
        // SPC-4.
        version: 6,
        response_format: 2,
        additional_length: STANDARD_LENGTH as u8 - 5,
        command_queueing: true,
        vendor: padded(&identity.vendor),
        product: padded(&identity.product),
        revision: padded(&identity.revision),
        ..Inquiry::default()
    };
    let mut data = inquiry.emit().to_vec();
    data.resize(STANDARD_LENGTH, 0);
    let versions = [version::SAM_5, version::SPC_4, version::SBC_3];
    let fields = data[VERSIONS.0..].chunks_exact_mut(2);
    for (field, version) in fields.zip(versions) {
        field.copy_from_slice(&version.to_be_bytes());
    }
    data
}

const STANDARD_LENGTH: usize = VERSIONS.0 + 2 * VERSIONS.1;

type Content = fn(&Context<'_>) -> Vec<u8>;

/// The vital product data pages, in the order of their codes.
static PAGES: &[(u8, Content)] = &[
    (page_code::SUPPORTED_PAGES, supported_pages),
    (page_code::SERIAL_NUMBER, serial),
    (page_code::IDENTIFICATION, identification),
    (page_code::BLOCK_LIMITS, limits),
    (page_code::CHARACTERISTICS, characteristics),
];

fn supported_pages(_: &Context<'_>) -> Vec<u8> {
    PAGES.iter().map(|(code, _)| *code).collect()
}

/// Returns the serial number in graphic ASCII.
fn serial(context: &Context<'_>) -> Vec<u8> {
    let text: [u8; 32] = padded(&context.state.identity.serial);
    text.trim_ascii_end().to_vec()
}

/// Returns the name of the unit: vendor, product and serial number (T10 vendor identification).
fn identification(context: &Context<'_>) -> Vec<u8> {
    let identity = &context.state.identity;
    let (vendor, product): ([u8; 8], [u8; 16]) =
        (padded(&identity.vendor), padded(&identity.product));
    let name = [&vendor[..], &product, &serial(context)].concat();
    let designator = Designator {
        code_set: 2,
        association: 0,
        kind: 1,
        name: &name,
    };
    designator.emit()
}

fn limits(context: &Context<'_>) -> Vec<u8> {
    // SBC-3: zero means not reported.
    let granularity = match context.state.physical {
        1 => 0,
        blocks => blocks as u16,
    };
    let limits = BlockLimits {
        compare_and_write: u8::MAX,
        granularity,
        transfer: MAX_BLOCKS,
        write_same: MAX_BLOCKS.into(),
        ..BlockLimits::default()
    };
    limits.emit().to_vec()
}

fn characteristics(context: &Context<'_>) -> Vec<u8> {
    let rate = context.device.spec().map(rotation_rate);
    let characteristics = Characteristics {
        rotation_rate: rate.unwrap_or(0),
        form_factor: 0,
    };
    characteristics.emit().to_vec()
}
