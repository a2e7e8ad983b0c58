//! WRITE SAME (SBC-3).

use diskarm_core::request::Op;
use diskarm_core::units::Lbn;
use diskarm_wire::{Command, Sense};

use super::misplaced;
use super::transfer::{MAX_BLOCKS, address_byte, count_byte};
use crate::state::{Context, invalid_field};
use crate::work::{Start, Step, Work};

struct WriteSame {
    at: Lbn,
    count: u64,
    block: Vec<u8>,
    served: bool,
}

pub(super) fn run(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::WriteSame {
        size,
        blocks,
        no_data,
    } = *command
    else {
        misplaced(command);
    };
    context.writable()?;
    let at = context.in_range(blocks.at, blocks.count.into(), address_byte(size))?;
    let count = match blocks.count {
        0 => context.state.blocks - at.0,
        count => count.into(),
    };
    // The most that the block limits page allows.
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
        served: false,
    }))
}

impl Work for WriteSame {
    fn next(&mut self, context: &mut Context<'_>) -> Result<Step, Sense> {
        if !self.served {
            self.served = true;
            return Ok(Step::request(Op::Write, self.at, self.count, false));
        }
        context.state.store.write(self.at, &self.data())?;
        Ok(Step::Done(Vec::new()))
    }

    fn data(&self) -> Vec<u8> {
        self.block.repeat(self.count as usize)
    }
}
