//! PRE-FETCH (SBC-3): a read that goes no further than the buffer. What does not fit is left out.
//! It takes as long as a read: the model moves no data from the media without the bus.

use diskarm_core::request::Op;
use diskarm_core::units::Lbn;
use diskarm_wire::{Command, Sense};

use super::misplaced;
use super::transfer::{MAX_BLOCKS, address_byte};
use crate::state::Context;
use crate::work::{Answer, Start, Step, Work};

struct PreFetch {
    at: Lbn,
    count: u64,
    served: bool,
    fits: bool,
}

pub(super) fn run(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::PreFetch {
        size,
        blocks,
        immediate,
        ..
    } = *command
    else {
        misplaced(command);
    };
    let at = context.in_range(blocks.at, blocks.count.into(), address_byte(size))?;
    let count = match blocks.count {
        0 => context.state.blocks - at.0,
        count => count.into(),
    };
    let buffer = context.device.spec().map(|spec| &spec.buffer);
    let room = buffer.map_or(0, |rules| if rules.caching { rules.segment.0 } else { 0 });
    let fits = count <= room && !context.state.read_cache_disabled;
    let work = PreFetch {
        at,
        count: count.min(room.max(1)).min(MAX_BLOCKS.into()),
        served: false,
        fits,
    };
    Ok(match (immediate, fits) {
        (false, _) => Start::work(work),
        (true, true) => Start::Background(Box::new(work), Answer::ConditionMet),
        (true, false) => Start::Background(Box::new(work), Answer::Good),
    })
}

impl Work for PreFetch {
    fn next(&mut self, _: &mut Context<'_>) -> Result<Step, Sense> {
        if !self.served {
            self.served = true;
            return Ok(Step::request(Op::Read, self.at, self.count, false));
        }
        Ok(if self.fits {
            Step::ConditionMet
        } else {
            Step::Done(Vec::new())
        })
    }
}
