//! MODE SENSE and MODE SELECT (SPC-4). The whole list is checked before anything changes.

use diskarm_wire::command::{Size, Values};
use diskarm_wire::mode::{Header6, Header10, LongDescriptor, Page, ShortDescriptor};
use diskarm_wire::sense::Code;
use diskarm_wire::{Command, Sense};

use crate::mode;
use crate::state::{Context, Start, invalid_field, invalid_parameter, list_length};

/// Page code for all pages, and subpage code for all of their subpages.
const ALL: (u8, u8) = (0x3f, 0xff);

pub(super) fn mode_sense(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => ModeSense {
        size, page, subpage, values, no_block_descriptors, long_addresses, length
    });
    if subpage != 0 && subpage != ALL.1 {
        return Err(invalid_field(3, None));
    }
    let which = (page != ALL.0).then_some(page);
    let pages = mode::pages(context, which, values).ok_or(invalid_field(2, Some(5)))?;
    let descriptor = if no_block_descriptors {
        Vec::new()
    } else {
        block_descriptor(context, long_addresses, values)
    };
    let (write_protected, dpo_fua) = (context.state.is_write_protected(), true);
    let header = if size == Size::Six {
        let length_after = Header6::LENGTH - 1 + descriptor.len() + pages.len();
        let header = Header6 {
            data_length: u8::try_from(length_after).map_err(|_| invalid_field(2, Some(5)))?,
            medium_type: 0,
            write_protected,
            dpo_fua,
            descriptors_length: descriptor.len() as u8,
        };
        header.emit().to_vec()
    } else {
        let length_after = Header10::LENGTH - 2 + descriptor.len() + pages.len();
        let header = Header10 {
            data_length: length_after as u16,
            medium_type: 0,
            write_protected,
            dpo_fua,
            long_addresses: long_addresses && !no_block_descriptors,
            descriptors_length: descriptor.len() as u16,
        };
        header.emit().to_vec()
    };
    let data = [header, descriptor, pages].concat();
    Ok(Start::data(data, length.into()))
}

/// Returns the block descriptor. It cannot be changed.
fn block_descriptor(context: &Context<'_>, long: bool, values: Values) -> Vec<u8> {
    let (blocks, block_bytes) = match values {
        Values::Changeable => (0, 0),
        _ => (context.state.blocks, context.state.block as u32),
    };
    if long {
        let descriptor = LongDescriptor {
            blocks,
            block_bytes,
        };
        return descriptor.emit().to_vec();
    }
    let descriptor = ShortDescriptor {
        blocks: u32::try_from(blocks).unwrap_or(u32::MAX),
        block_bytes,
    };
    descriptor.emit().to_vec()
}

pub(super) fn mode_select(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => ModeSelect { size, page_format, save, length });
    if length == 0 {
        return Ok(Start::Done(Vec::new()));
    }
    let list = context.list(length.into())?.to_vec();
    let at = check_descriptors(context, size, &list)?;
    if at < list.len() && !page_format {
        return Err(invalid_field(1, Some(4)));
    }
    let changes = parse_pages(context, &list, at)?;
    if mode::change(context, changes, save) {
        let sender = context.nexus;
        context
            .state
            .notify_others(sender, Code::MODE_PARAMETERS_CHANGED);
    }
    Ok(Start::Done(Vec::new()))
}

/// Checks the header and the block descriptor; returns the offset of the pages.
fn check_descriptors(context: &Context<'_>, size: Size, list: &[u8]) -> Result<usize, Sense> {
    // The offsets of the pages and of the fields depend on the size.
    let (header, medium_byte, length_byte, fields) = if size == Size::Six {
        let short = Header6::parse(list).map_err(|_| list_length())?;
        let fields = Header10 {
            data_length: short.data_length.into(),
            medium_type: short.medium_type,
            descriptors_length: short.descriptors_length.into(),
            ..Header10::default()
        };
        (Header6::LENGTH, 1, 3, fields)
    } else {
        let fields = Header10::parse(list).map_err(|_| list_length())?;
        (Header10::LENGTH, 2, 6, fields)
    };
    if fields.data_length != 0 {
        return Err(invalid_parameter(0, None));
    }
    if fields.medium_type != 0 {
        return Err(invalid_parameter(medium_byte, None));
    }
    let (length, long) = (
        usize::from(fields.descriptors_length),
        fields.long_addresses,
    );
    let end = header + length;
    let expected_length = if long {
        LongDescriptor::LENGTH
    } else {
        ShortDescriptor::LENGTH
    };
    if length != 0 && length != expected_length {
        return Err(invalid_parameter(length_byte, None));
    }
    let descriptor = list.get(header..end).ok_or(list_length())?;
    if length == 0 {
        return Ok(end);
    }
    let (blocks, all_blocks, block_bytes) = if long {
        let descriptor = LongDescriptor::parse(descriptor).map_err(|_| list_length())?;
        (descriptor.blocks, u64::MAX, descriptor.block_bytes)
    } else {
        let descriptor = ShortDescriptor::parse(descriptor).map_err(|_| list_length())?;
        let all_blocks = u32::MAX.into();
        (descriptor.blocks.into(), all_blocks, descriptor.block_bytes)
    };
    if blocks != 0 && blocks != all_blocks && blocks != context.state.blocks {
        return Err(invalid_parameter(header, None));
    }
    if block_bytes as usize != context.state.block {
        return Err(invalid_parameter(header + if long { 12 } else { 5 }, None));
    }
    Ok(end)
}

/// Checks the pages in the list; returns the code and content of each.
fn parse_pages(
    context: &Context<'_>,
    list: &[u8],
    begin: usize,
) -> Result<Vec<(u8, Vec<u8>)>, Sense> {
    let (mut rest, mut at) = (&list[begin..], begin);
    let mut changes = Vec::new();
    while !rest.is_empty() {
        let (page, after) = Page::parse(rest).map_err(|_| list_length())?;
        if page.saveable {
            // PS is reserved in MODE SELECT.
            return Err(invalid_parameter(at, Some(7)));
        }
        mode::check(context, at, &page)?;
        changes.push((page.code, page.content.to_vec()));
        at += rest.len() - after.len();
        rest = after;
    }
    Ok(changes)
}
