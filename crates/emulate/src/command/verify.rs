//! Commands that read blocks and then compare or change them: VERIFY, WRITE AND VERIFY, ORWRITE and
//! COMPARE AND WRITE (SBC-3).
//!
//! A verification takes as long as a read from the media, since the model moves no data from the
//! media without the bus. Between the read and the write of one block a revolution passes.

use diskarm_core::request::Op;
use diskarm_core::units::Lbn;
use diskarm_wire::command::{Check, Size};
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense};

use super::misplaced;
use super::transfer::{checked, whole};
use crate::state::{Action, Context, Start, Work};

struct Verify {
    at: Lbn,
    count: u64,
    /// The data with which the blocks are compared: none, one block, or all blocks.
    data: Vec<u8>,
    /// The data are written first.
    writes: bool,
    served: u8,
}

/// Length of the data that come with the command, in bytes.
fn data_length(context: &Context<'_>, check: Check, count: u32) -> usize {
    let block = context.state.block;
    match check {
        Check::Readable => 0,
        Check::Data => count as usize * block,
        Check::OneBlock => block,
    }
}

pub(super) fn verify(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let Command::Verify {
        size,
        blocks,
        check,
        ..
    } = *command
    else {
        misplaced(command);
    };
    let at = checked(context, size, blocks)?;
    if blocks.count == 0 {
        return Ok(Start::Done(Vec::new()));
    }
    let length = data_length(context, check, blocks.count);
    Ok(Start::work(Verify {
        at,
        count: blocks.count.into(),
        data: context.take(length)?,
        writes: false,
        served: 0,
    }))
}

pub(super) fn write_and_verify(
    command: &Command,
    context: &mut Context<'_>,
) -> Result<Start, Sense> {
    let Command::WriteAndVerify { size, blocks, .. } = *command else {
        misplaced(command);
    };
    context.writable()?;
    let at = checked(context, size, blocks)?;
    if blocks.count == 0 {
        return Ok(Start::Done(Vec::new()));
    }
    let length = whole(context, blocks.count);
    Ok(Start::work(Verify {
        at,
        count: blocks.count.into(),
        data: context.take(length)?,
        writes: true,
        served: 0,
    }))
}

impl Work for Verify {
    fn next(&mut self, context: &mut Context<'_>) -> Result<Action, Sense> {
        self.served += 1;
        match (self.writes, self.served) {
            (true, 1) => Ok(Action::request(Op::Write, self.at, self.count, true)),
            (true, 2) => {
                context.state.store.write(self.at, &self.data)?;
                Ok(Action::request(Op::Read, self.at, self.count, true))
            }
            (false, 1) => Ok(Action::request(Op::Read, self.at, self.count, true)),
            (true, _) => Ok(Action::Done(Vec::new())),
            (false, _) => self.compare(context),
        }
    }

    fn data(&self) -> Vec<u8> {
        self.data.clone()
    }
}

impl Verify {
    fn compare(&self, context: &mut Context<'_>) -> Result<Action, Sense> {
        if self.data.is_empty() {
            return Ok(Action::Done(Vec::new()));
        }
        let mut stored = vec![0; whole(context, self.count as u32)];
        context.state.store.read(self.at, &mut stored)?;
        let same = stored
            .chunks_exact(self.data.len())
            .all(|part| part == self.data);
        if same {
            return Ok(Action::Done(Vec::new()));
        }
        Err(Sense::new(Key::Miscompare, Code::MISCOMPARE))
    }
}

struct OrWrite {
    at: Lbn,
    count: u64,
    /// The bits to set.
    data: Vec<u8>,
    force_unit_access: bool,
    served: u8,
}

pub(super) fn or_write(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
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
    fn next(&mut self, context: &mut Context<'_>) -> Result<Action, Sense> {
        self.served += 1;
        match self.served {
            1 => {
                let fresh = self.force_unit_access || context.state.read_cache_disabled;
                Ok(Action::request(Op::Read, self.at, self.count, fresh))
            }
            2 => {
                let mut stored = vec![0; self.data.len()];
                context.state.store.read(self.at, &mut stored)?;
                for (byte, bits) in stored.iter_mut().zip(&self.data) {
                    *byte |= bits;
                }
                context.state.store.write(self.at, &stored)?;
                let fua = self.force_unit_access;
                Ok(Action::request(Op::Write, self.at, self.count, fua))
            }
            _ => Ok(Action::Done(Vec::new())),
        }
    }
}

/// The blocks change at the end of the read, so no other command sees them in between.
struct CompareAndWrite {
    at: Lbn,
    count: u64,
    /// The expected data, then the data to write.
    data: Vec<u8>,
    force_unit_access: bool,
    served: u8,
}

pub(super) fn compare_and_write(
    command: &Command,
    context: &mut Context<'_>,
) -> Result<Start, Sense> {
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
    fn next(&mut self, context: &mut Context<'_>) -> Result<Action, Sense> {
        self.served += 1;
        match self.served {
            1 => {
                let fresh = self.force_unit_access || context.state.read_cache_disabled;
                Ok(Action::request(Op::Read, self.at, self.count, fresh))
            }
            2 => {
                let (expected, new) = self.data.split_at(self.data.len() / 2);
                let mut stored = vec![0; expected.len()];
                context.state.store.read(self.at, &mut stored)?;
                let mut bytes = stored.iter().zip(expected);
                if let Some(offset) = bytes.position(|(stored, expected)| stored != expected) {
                    // SBC-3: where in the data the first difference is.
                    return Err(Sense {
                        information: Some(offset as u64),
                        ..Sense::new(Key::Miscompare, Code::MISCOMPARE)
                    });
                }
                context.state.store.write(self.at, new)?;
                Ok(Action::request(
                    Op::Write,
                    self.at,
                    self.count,
                    self.force_unit_access,
                ))
            }
            _ => Ok(Action::Done(Vec::new())),
        }
    }
}
