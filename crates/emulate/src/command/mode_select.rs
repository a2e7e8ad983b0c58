//! MODE SELECT (SPC-4). A list is checked as a whole before anything changes.

use diskarm_wire::command::Size;
use diskarm_wire::mode::{Header6, Header10, LongDescriptor, Page, ShortDescriptor};
use diskarm_wire::sense::Code;
use diskarm_wire::{Command, Sense};

use super::misplaced;
use crate::mode;
use crate::state::{Context, invalid_field, invalid_parameter, list_length};
use crate::work::Start;

pub(super) fn run(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::ModeSelect {
        size,
        page_format,
        save,
        length,
    } = *command
    else {
        misplaced(command);
    };
    if length == 0 {
        return Ok(Start::Done(Vec::new()));
    }
    let list = context.list(length.into())?.to_vec();
    let at = descriptors(context, size, &list)?;
    if at < list.len() && !page_format {
        return Err(invalid_field(1, Some(4)));
    }
    let changes = pages(context, &list, at)?;
    if mode::change(context, &changes, save) {
        let but = context.nexus;
        context
            .state
            .tell_others(but, Code::MODE_PARAMETERS_CHANGED);
    }
    Ok(Start::Done(Vec::new()))
}

/// Checks header and block descriptor; returns where the pages begin.
fn descriptors(context: &Context<'_>, size: Size, list: &[u8]) -> Result<usize, Sense> {
    let (header, length, long, reserved) = if size == Size::Six {
        let header = Header6::parse(list).map_err(|_| list_length())?;
        let descriptors = usize::from(header.descriptors_length);
        let reserved = [(header.data_length, 0), (header.medium_type, 1)];
        (Header6::LENGTH, descriptors, false, reserved)
    } else {
        let header = Header10::parse(list).map_err(|_| list_length())?;
        let descriptors = usize::from(header.descriptors_length);
        let set = u8::from(header.data_length != 0);
        let reserved = [(set, 0), (header.medium_type, 2)];
        (
            Header10::LENGTH,
            descriptors,
            header.long_addresses,
            reserved,
        )
    };
    if let Some((_, byte)) = reserved.into_iter().find(|(value, _)| *value != 0) {
        return Err(invalid_parameter(byte, None));
    }
    let end = header + length;
    let each = if long {
        LongDescriptor::LENGTH
    } else {
        ShortDescriptor::LENGTH
    };
    if length != 0 && length != each {
        let field = if size == Size::Six { 3 } else { 6 };
        return Err(invalid_parameter(field, None));
    }
    let descriptor = list.get(header..end).ok_or(list_length())?;
    if length == 0 {
        return Ok(end);
    }
    let (blocks, all, block_bytes) = if long {
        let descriptor = LongDescriptor::parse(descriptor).map_err(|_| list_length())?;
        (descriptor.blocks, u64::MAX, descriptor.block_bytes)
    } else {
        let descriptor = ShortDescriptor::parse(descriptor).map_err(|_| list_length())?;
        (
            descriptor.blocks.into(),
            u32::MAX.into(),
            descriptor.block_bytes,
        )
    };
    if blocks != 0 && blocks != all && blocks != context.state.blocks {
        return Err(invalid_parameter(header, None));
    }
    if block_bytes as usize != context.state.block {
        return Err(invalid_parameter(header + if long { 12 } else { 5 }, None));
    }
    Ok(end)
}

/// The pages of the list, checked: table row and content of each.
fn pages(context: &Context<'_>, list: &[u8], begin: usize) -> Result<Vec<(usize, Vec<u8>)>, Sense> {
    let (mut rest, mut at) = (&list[begin..], begin);
    let mut changes = Vec::new();
    while !rest.is_empty() {
        let (page, behind) = Page::parse(rest).map_err(|_| list_length())?;
        if page.saveable {
            // PS is reserved here.
            return Err(invalid_parameter(at, Some(7)));
        }
        let row = mode::row(context, page.code).filter(|_| page.subpage.is_none());
        let row = row.ok_or(invalid_parameter(at, Some(5)))?;
        match mode::check(context, row, page.content) {
            Ok(()) => changes.push((row, page.content.to_vec())),
            // The content begins after page code and length.
            Err(mode::Refused::Length) => return Err(invalid_parameter(at + 1, None)),
            Err(mode::Refused::Field { byte, bit }) => {
                return Err(invalid_parameter(at + 2 + byte, bit));
            }
        }
        at += rest.len() - behind.len();
        rest = behind;
    }
    Ok(changes)
}
