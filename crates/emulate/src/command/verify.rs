//! Commands that read blocks and then compare or change them: VERIFY, WRITE AND VERIFY, ORWRITE and
//! COMPARE AND WRITE (SBC-3).
//!
//! A verification takes as long as a read from the media, since the model cannot read from the
//! media without using the bus. A revolution passes between reading a block and writing it.

use diskarm_core::request::Op;
use diskarm_wire::command::{Check, Size};
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense};

use super::transfer::{byte_length, check_range, read_store};
use crate::state::{Action, Context, Start};

pub(super) fn verify(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => Verify { size, blocks, check, .. });
    let at = check_range(context, size, blocks)?;
    if blocks.count == 0 {
        return Ok(Start::Done(Vec::new()));
    }
    let expected = context.take(match check {
        Check::Readable => 0,
        Check::Data => byte_length(context, blocks.count),
        Check::OneBlock => context.state.block,
    })?;
    let first = Action::request(Op::Read, at, blocks.count.into(), true);
    Ok(Start::steps(first, Vec::new(), move |context, _| {
        let is_expected = |part: &[u8]| part == expected;
        if expected.is_empty()
            || read_store(context, at, blocks.count)?
                .chunks_exact(expected.len())
                .all(is_expected)
        {
            return Ok(Action::Done(Vec::new()));
        }
        Err(Sense::new(Key::Miscompare, Code::MISCOMPARE))
    }))
}

pub(super) fn write_and_verify(
    command: &Command,
    context: &mut Context<'_>,
) -> Result<Start, Sense> {
    fields!(command => WriteAndVerify { size, blocks, .. });
    context.check_writable()?;
    let at = check_range(context, size, blocks)?;
    if blocks.count == 0 {
        return Ok(Start::Done(Vec::new()));
    }
    let data = context.take(byte_length(context, blocks.count))?;
    let first = Action::request(Op::Write, at, blocks.count.into(), true);
    Ok(Start::steps(first, data, move |context, data| {
        context.state.store.write(at, data)?;
        Ok(Action::request(Op::Read, at, blocks.count.into(), true))
    }))
}

/// ORs the data into the blocks.
pub(super) fn or_write(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => OrWrite { blocks, caching });
    context.check_writable()?;
    let at = check_range(context, Size::Sixteen, blocks)?;
    if blocks.count == 0 {
        return Ok(Start::Done(Vec::new()));
    }
    let data = context.take(byte_length(context, blocks.count))?;
    let (count, fua) = (blocks.count.into(), caching.force_unit_access);
    let bypasses_buffer = fua || context.state.read_cache_disabled;
    let first = Action::request(Op::Read, at, count, bypasses_buffer);
    Ok(Start::steps(first, Vec::new(), move |context, _| {
        let mut stored = read_store(context, at, blocks.count)?;
        for (byte, bits) in stored.iter_mut().zip(&data) {
            *byte |= bits;
        }
        context.state.store.write(at, &stored)?;
        Ok(Action::request(Op::Write, at, count, fua))
    }))
}

/// Compares blocks with the first half of the data and, if they are equal, writes the second half.
/// The store changes as soon as the read ends, so that no other command can intervene.
pub(super) fn compare_and_write(
    command: &Command,
    context: &mut Context<'_>,
) -> Result<Start, Sense> {
    fields!(command => CompareAndWrite { at, count, caching });
    context.check_writable()?;
    let at = context.in_range(at, count.into(), 2)?;
    if count == 0 {
        return Ok(Start::Done(Vec::new()));
    }
    let data = context.take(2 * byte_length(context, count.into()))?;
    let fua = caching.force_unit_access;
    let bypasses_buffer = fua || context.state.read_cache_disabled;
    let first = Action::request(Op::Read, at, count.into(), bypasses_buffer);
    Ok(Start::steps(first, Vec::new(), move |context, _| {
        let (expected, new) = data.split_at(data.len() / 2);
        let stored = read_store(context, at, count.into())?;
        let mut bytes = stored.iter().zip(expected);
        if let Some(offset) = bytes.position(|(stored, expected)| stored != expected) {
            // SBC-3: the offset of the first difference in the data.
            return Err(Sense {
                information: Some(offset as u64),
                ..Sense::new(Key::Miscompare, Code::MISCOMPARE)
            });
        }
        context.state.store.write(at, new)?;
        Ok(Action::request(Op::Write, at, count.into(), fua))
    }))
}
