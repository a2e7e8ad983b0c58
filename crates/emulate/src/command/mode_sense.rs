//! MODE SENSE (SPC-4).

use diskarm_wire::command::{Size, Values};
use diskarm_wire::mode::{Header6, Header10, LongDescriptor, ShortDescriptor};
use diskarm_wire::{Command, Sense};

use super::misplaced;
use crate::mode;
use crate::state::{Context, invalid_field};
use crate::work::Start;

/// Page code for all pages, and subpage code for all of their subpages.
const ALL: (u8, u8) = (0x3f, 0xff);

pub(super) fn run(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::ModeSense {
        size,
        page,
        subpage,
        values,
        no_block_descriptors,
        long_addresses,
        length,
    } = *command
    else {
        misplaced(command);
    };
    if subpage != 0 && subpage != ALL.1 {
        return Err(invalid_field(3, None));
    }
    let which = (page != ALL.0).then_some(page);
    let pages = mode::pages(context, which, values).ok_or(invalid_field(2, Some(5)))?;
    let descriptor = if no_block_descriptors {
        Vec::new()
    } else {
        descriptor(context, long_addresses, values)
    };
    let (write_protected, dpo_fua) = (context.state.is_write_protected(), true);
    let header = if size == Size::Six {
        let rest = Header6::LENGTH - 1 + descriptor.len() + pages.len();
        let header = Header6 {
            data_length: u8::try_from(rest).map_err(|_| invalid_field(2, Some(5)))?,
            medium_type: 0,
            write_protected,
            dpo_fua,
            descriptors_length: descriptor.len() as u8,
        };
        header.emit().to_vec()
    } else {
        let rest = Header10::LENGTH - 2 + descriptor.len() + pages.len();
        let header = Header10 {
            data_length: rest as u16,
            medium_type: 0,
            write_protected,
            dpo_fua,
            long_addresses: long_addresses && !no_block_descriptors,
            descriptors_length: descriptor.len() as u16,
        };
        header.emit().to_vec()
    };
    Ok(Start::data(
        [header, descriptor, pages].concat(),
        length.into(),
    ))
}

/// Number and size of blocks, which cannot be changed.
fn descriptor(context: &Context<'_>, long: bool, values: Values) -> Vec<u8> {
    let (blocks, block_bytes) = match values {
        Values::Changeable => (0, 0),
        _ => (context.state.blocks, context.state.block as u32),
    };
    if long {
        return LongDescriptor {
            blocks,
            block_bytes,
        }
        .emit()
        .to_vec();
    }
    let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
    ShortDescriptor {
        blocks,
        block_bytes,
    }
    .emit()
    .to_vec()
}
