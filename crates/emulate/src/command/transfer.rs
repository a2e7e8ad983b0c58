//! READ, WRITE and WRITE SAME (SBC-3), and the reads that return no data: PRE-FETCH (SBC-3) and
//! SEEK (SCSI-2).

use diskarm_core::request::{Op, Request};
use diskarm_core::units::Lbn;
use diskarm_wire::command::{Blocks, Size};
use diskarm_wire::{Command, Sense};

use crate::state::{Action, Answer, Context, Operation, Start, Steps, Work, invalid_field};

/// Maximum number of blocks in a transfer, as in the block limits page.
pub(crate) const MAX_BLOCKS: u32 = Request::MAX_SECTORS.0 as u32;

/// Returns the offset of the address in a command block.
pub(super) fn address_byte(size: Size) -> u16 {
    if size == Size::Six { 1 } else { 2 }
}

/// Returns the offset of the number of blocks in a command block.
pub(super) fn count_byte(size: Size) -> u16 {
    match size {
        Size::Six => 4,
        Size::Ten => 7,
        Size::Twelve => 6,
        Size::Sixteen => 10,
    }
}

/// Returns the first block of a transfer if it is within the capacity and the block limits.
pub(super) fn check_range(context: &Context<'_>, size: Size, blocks: Blocks) -> Result<Lbn, Sense> {
    if blocks.count > MAX_BLOCKS {
        return Err(invalid_field(count_byte(size), None));
    }
    context.in_range(blocks.at, blocks.count.into(), address_byte(size))
}

pub(super) fn byte_length(context: &Context<'_>, count: u32) -> usize {
    count as usize * context.state.block
}

pub(super) fn read_store(context: &mut Context<'_>, at: Lbn, count: u32) -> Result<Vec<u8>, Sense> {
    let mut data = vec![0; byte_length(context, count)];
    context.state.store.read(at, &mut data)?;
    Ok(data)
}

pub(super) fn read(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => Read { size, blocks, caching });
    let at = check_range(context, size, blocks)?;
    if blocks.count == 0 {
        return Ok(Start::Done(Vec::new()));
    }
    let bypasses_buffer = caching.force_unit_access || context.state.read_cache_disabled;
    let first = Action::request(Op::Read, at, blocks.count.into(), bypasses_buffer);
    Ok(Start::steps(first, Vec::new(), move |context, _| {
        read_store(context, at, blocks.count).map(Action::Done)
    }))
}

pub(super) fn write(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => Write { size, blocks, caching });
    context.check_writable()?;
    let at = check_range(context, size, blocks)?;
    if blocks.count == 0 {
        return Ok(Start::Done(Vec::new()));
    }
    let data = context.take(byte_length(context, blocks.count))?;
    let fua = caching.force_unit_access;
    let first = Action::request(Op::Write, at, blocks.count.into(), fua);
    Ok(Start::steps(first, data, move |context, data| {
        context.state.store.write(at, data)?;
        Ok(Action::Done(Vec::new()))
    }))
}

struct WriteSame {
    at: Lbn,
    count: u64,
    block: Vec<u8>,
    is_written: bool,
}

pub(super) fn write_same(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => WriteSame { size, blocks, no_data });
    context.check_writable()?;
    let at = context.in_range(blocks.at, blocks.count.into(), address_byte(size))?;
    let count = match blocks.count {
        0 => context.state.blocks - at.0,
        count => count.into(),
    };
    // The maximum in the block limits page.
    if count > MAX_BLOCKS.into() {
        return Err(invalid_field(count_byte(size), None));
    }
    let length = context.state.block;
    let block = if no_data {
        vec![0; length]
    } else {
        context.take(length)?
    };
    Ok(Start::work(WriteSame {
        at,
        count,
        block,
        is_written: false,
    }))
}

impl Work for WriteSame {
    fn next(&mut self, context: &mut Context<'_>) -> Result<Action, Sense> {
        if !self.is_written {
            self.is_written = true;
            return Ok(Action::request(Op::Write, self.at, self.count, false));
        }
        context.state.store.write(self.at, &self.data())?;
        Ok(Action::Done(Vec::new()))
    }

    fn data(&self) -> Vec<u8> {
        self.block.repeat(self.count as usize)
    }
}

/// Reads blocks into the buffer; blocks that do not fit are skipped. This takes as long as a read,
/// since the model cannot read from the media without using the bus.
pub(super) fn prefetch(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => PreFetch { size, blocks, immediate, .. });
    let at = context.in_range(blocks.at, blocks.count.into(), address_byte(size))?;
    let count = match blocks.count {
        0 => context.state.blocks - at.0,
        count => count.into(),
    };
    let buffer = context.device.spec().map(|spec| &spec.buffer);
    let room = buffer.map_or(0, |rules| if rules.caching { rules.segment.0 } else { 0 });
    let fits = count <= room && !context.state.read_cache_disabled;
    let count = count.min(room.max(1)).min(MAX_BLOCKS.into());
    let first = Action::request(Op::Read, at, count, false);
    let work = Steps::new(first, Vec::new(), move |_, _| {
        Ok(if fits {
            Action::ConditionMet
        } else {
            Action::Done(Vec::new())
        })
    });
    Ok(match (immediate, fits) {
        (false, _) => Start::work(work),
        (true, true) => Start::Background(Box::new(work), Answer::ConditionMet),
        (true, false) => Start::Background(Box::new(work), Answer::Good),
    })
}

/// Moves the arm and completes once it has settled. The unit waits for all other commands first.
pub(super) fn seek(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => Seek { size, at });
    let at = context.in_range(at, 1, address_byte(size))?;
    let first = Action::Wait(Operation::Seek(at));
    let end = |_: &mut Context<'_>, _: &[u8]| Ok(Action::Done(Vec::new()));
    Ok(Start::steps(first, Vec::new(), end))
}
