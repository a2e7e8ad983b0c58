//! VERIFY and WRITE AND VERIFY (SBC-3). A verification takes as long as a read from the media: the
//! model moves no data from the media without the bus.

use diskarm_core::request::Op;
use diskarm_core::units::Lbn;
use diskarm_wire::command::Check;
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense};

use super::misplaced;
use super::transfer::{checked, whole};
use crate::state::Context;
use crate::work::{Start, Step, Work};

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
    fn next(&mut self, context: &mut Context<'_>) -> Result<Step, Sense> {
        self.served += 1;
        match (self.writes, self.served) {
            (true, 1) => Ok(Step::request(Op::Write, self.at, self.count, true)),
            (true, 2) => {
                context.state.store.write(self.at, &self.data)?;
                Ok(Step::request(Op::Read, self.at, self.count, true))
            }
            (false, 1) => Ok(Step::request(Op::Read, self.at, self.count, true)),
            (true, _) => Ok(Step::Done(Vec::new())),
            (false, _) => self.compare(context),
        }
    }

    fn data(&self) -> Vec<u8> {
        self.data.clone()
    }
}

impl Verify {
    fn compare(&self, context: &mut Context<'_>) -> Result<Step, Sense> {
        if self.data.is_empty() {
            return Ok(Step::Done(Vec::new()));
        }
        let mut found = vec![0; whole(context, self.count as u32)];
        context.state.store.read(self.at, &mut found)?;
        let same = found
            .chunks_exact(self.data.len())
            .all(|part| part == self.data);
        if same {
            return Ok(Step::Done(Vec::new()));
        }
        Err(Sense::new(Key::Miscompare, Code::MISCOMPARE))
    }
}
