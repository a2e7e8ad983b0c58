//! ORWRITE (SBC-3): a read and a write of the same blocks, which takes a revolution between them.

use diskarm_core::request::Op;
use diskarm_core::units::Lbn;
use diskarm_wire::command::Size;
use diskarm_wire::{Command, Sense};

use super::misplaced;
use super::transfer::{checked, whole};
use crate::state::Context;
use crate::work::{Start, Step, Work};

struct OrWrite {
    at: Lbn,
    count: u64,
    /// The bits to set.
    data: Vec<u8>,
    force_unit_access: bool,
    served: u8,
}

pub(super) fn run(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::OrWrite { blocks, caching } = *command else {
        misplaced(command);
    };
    context.writable()?;
    let at = checked(context, Size::Sixteen, blocks)?;
    if blocks.count == 0 {
        return Ok(Start::Done(Vec::new()));
    }
    Ok(Start::work(OrWrite {
        at,
        count: blocks.count.into(),
        data: context.take(whole(context, blocks.count))?,
        force_unit_access: caching.force_unit_access,
        served: 0,
    }))
}

impl Work for OrWrite {
    fn next(&mut self, context: &mut Context<'_>) -> Result<Step, Sense> {
        self.served += 1;
        match self.served {
            1 => {
                let fresh = self.force_unit_access || context.state.read_cache_disabled;
                Ok(Step::request(Op::Read, self.at, self.count, fresh))
            }
            2 => {
                let mut found = vec![0; self.data.len()];
                context.state.store.read(self.at, &mut found)?;
                for (byte, bits) in found.iter_mut().zip(&self.data) {
                    *byte |= bits;
                }
                context.state.store.write(self.at, &found)?;
                let fua = self.force_unit_access;
                Ok(Step::request(Op::Write, self.at, self.count, fua))
            }
            _ => Ok(Step::Done(Vec::new())),
        }
    }
}
