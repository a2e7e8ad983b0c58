//! SYNCHRONIZE CACHE (SBC-3). The whole write cache is flushed, whatever blocks are named.

use diskarm_core::request::Op;
use diskarm_core::units::Lbn;
use diskarm_wire::{Command, Sense};

use super::misplaced;
use super::transfer::address_byte;
use crate::state::Context;
use crate::work::{Start, Step, Work};

/// Flushes, and may stop the medium then.
pub(super) struct Flush {
    pub stops: bool,
    pub served: bool,
}

pub(super) fn run(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::SynchronizeCache {
        size,
        blocks,
        immediate,
    } = *command
    else {
        misplaced(command);
    };
    context.in_range(blocks.at, blocks.count.into(), address_byte(size))?;
    let flush = Flush {
        stops: false,
        served: false,
    };
    Ok(Start::immediate(flush, immediate))
}

impl Work for Flush {
    fn next(&mut self, context: &mut Context<'_>) -> Result<Step, Sense> {
        if !self.served {
            self.served = true;
            return Ok(Step::request(Op::Flush, Lbn(0), 0, false));
        }
        context.state.stopped |= self.stops;
        Ok(Step::Done(Vec::new()))
    }
}
