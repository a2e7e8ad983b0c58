//! READ and WRITE (SBC-3).

use diskarm_core::request::{Op, Request};
use diskarm_core::units::{Lbn, SectorCount};
use diskarm_wire::command::{Blocks, Caching, Size};
use diskarm_wire::{Command, Sense};

use super::misplaced;
use crate::state::{Context, invalid_field};
use crate::work::{Asked, Start, Step, Transfer, Work};

/// Maximum blocks of a transfer, as in the block limits page.
pub(crate) const MAX_BLOCKS: u32 = Request::MAX_SECTORS.0 as u32;

/// The position of the address in a command block.
pub(super) fn address_byte(size: Size) -> u16 {
    if size == Size::Six { 1 } else { 2 }
}

/// The position of the number of blocks in a command block.
pub(super) fn count_byte(size: Size) -> u16 {
    match size {
        Size::Six => 4,
        Size::Ten => 7,
        Size::Twelve => 6,
        Size::Sixteen => 10,
    }
}

/// The blocks of a transfer, which are within the capacity and the block limits.
pub(super) fn checked(context: &Context<'_>, size: Size, blocks: Blocks) -> Result<Lbn, Sense> {
    if blocks.count > MAX_BLOCKS {
        return Err(invalid_field(count_byte(size), None));
    }
    context.in_range(blocks.at, blocks.count.into(), address_byte(size))
}

/// Length of blocks, in bytes.
pub(super) fn whole(context: &Context<'_>, count: u32) -> usize {
    count as usize * context.state.block
}

struct Read {
    transfer: Transfer,
    served: bool,
}

pub(super) fn read(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::Read {
        size,
        blocks,
        caching,
    } = *command
    else {
        misplaced(command);
    };
    let at = checked(context, size, blocks)?;
    if blocks.count == 0 {
        return Ok(Start::Done(Vec::new()));
    }
    let Caching {
        force_unit_access, ..
    } = caching;
    Ok(Start::work(Read {
        transfer: Transfer {
            op: Op::Read,
            at,
            sectors: SectorCount(blocks.count.into()),
            force_unit_access: force_unit_access || context.state.read_cache_disabled,
        },
        served: false,
    }))
}

impl Work for Read {
    fn next(&mut self, context: &mut Context<'_>) -> Result<Step, Sense> {
        let Transfer { at, sectors, .. } = self.transfer;
        if !self.served {
            self.served = true;
            return Ok(Step::Ask(Asked::Transfer(self.transfer)));
        }
        let mut data = vec![0; sectors.0 as usize * context.state.block];
        context.state.store.read(at, &mut data)?;
        Ok(Step::Done(data))
    }
}

struct Write {
    transfer: Transfer,
    data: Vec<u8>,
    served: bool,
}

pub(super) fn write(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::Write {
        size,
        blocks,
        caching,
    } = *command
    else {
        misplaced(command);
    };
    context.writable()?;
    let at = checked(context, size, blocks)?;
    if blocks.count == 0 {
        return Ok(Start::Done(Vec::new()));
    }
    let data = context.take(whole(context, blocks.count))?;
    Ok(Start::work(Write {
        transfer: Transfer {
            op: Op::Write,
            at,
            sectors: SectorCount(blocks.count.into()),
            force_unit_access: caching.force_unit_access,
        },
        data,
        served: false,
    }))
}

impl Work for Write {
    fn next(&mut self, context: &mut Context<'_>) -> Result<Step, Sense> {
        if !self.served {
            self.served = true;
            return Ok(Step::Ask(Asked::Transfer(self.transfer)));
        }
        context.state.store.write(self.transfer.at, &self.data)?;
        Ok(Step::Done(Vec::new()))
    }

    fn data(&self) -> Vec<u8> {
        self.data.clone()
    }
}
