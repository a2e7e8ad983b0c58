//! SEEK (SCSI-2). It ends when the arm has settled; the unit waits for all other commands first.

use diskarm_wire::{Command, Sense};

use super::misplaced;
use crate::state::Context;
use crate::work::{Asked, Start, Step, Work};

struct Seek {
    arrived: bool,
    at: diskarm_core::units::Lbn,
}

pub(super) fn run(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::Seek { size, at } = *command else {
        misplaced(command);
    };
    let byte = super::transfer::address_byte(size);
    let at = context.in_range(at, 1, byte)?;
    Ok(Start::work(Seek { arrived: false, at }))
}

impl Work for Seek {
    fn next(&mut self, _: &mut Context<'_>) -> Result<Step, Sense> {
        if self.arrived {
            return Ok(Step::Done(Vec::new()));
        }
        self.arrived = true;
        Ok(Step::Ask(Asked::Seek(self.at)))
    }
}
