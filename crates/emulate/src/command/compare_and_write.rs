//! COMPARE AND WRITE (SBC-3). No other command sees the blocks between comparison and writing: they
//! are changed at the end of the read.

use diskarm_core::request::Op;
use diskarm_core::units::Lbn;
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense};

use super::misplaced;
use super::transfer::whole;
use crate::state::Context;
use crate::work::{Start, Step, Work};

struct CompareAndWrite {
    at: Lbn,
    count: u64,
    /// The expected data, then the data to write.
    data: Vec<u8>,
    force_unit_access: bool,
    served: u8,
}

pub(super) fn run(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::CompareAndWrite { at, count, caching } = *command else {
        misplaced(command);
    };
    context.writable()?;
    let at = context.in_range(at, count.into(), 2)?;
    if count == 0 {
        return Ok(Start::Done(Vec::new()));
    }
    let length = 2 * whole(context, count.into());
    Ok(Start::work(CompareAndWrite {
        at,
        count: count.into(),
        data: context.take(length)?,
        force_unit_access: caching.force_unit_access,
        served: 0,
    }))
}

impl Work for CompareAndWrite {
    fn next(&mut self, context: &mut Context<'_>) -> Result<Step, Sense> {
        self.served += 1;
        match self.served {
            1 => {
                let fresh = self.force_unit_access || context.state.read_cache_disabled;
                Ok(Step::request(Op::Read, self.at, self.count, fresh))
            }
            2 => {
                let (expected, new) = self.data.split_at(self.data.len() / 2);
                let mut found = vec![0; expected.len()];
                context.state.store.read(self.at, &mut found)?;
                let mut bytes = found.iter().zip(expected);
                if let Some(offset) = bytes.position(|(found, expected)| found != expected) {
                    // SBC-3: where in the data the first difference is.
                    return Err(Sense {
                        information: Some(offset as u64),
                        ..Sense::new(Key::Miscompare, Code::MISCOMPARE)
                    });
                }
                context.state.store.write(self.at, new)?;
                Ok(Step::request(
                    Op::Write,
                    self.at,
                    self.count,
                    self.force_unit_access,
                ))
            }
            _ => Ok(Step::Done(Vec::new())),
        }
    }
}
