//! Reads `[overheads]`, `[bus]` and `[queue]`.

use super::error::SpecError;
use super::field;
use super::reader::{Table, Value};
use super::{Bus, ExtraWriteDisconnect, Overheads, PreSeek, Queue, WriteLeaves, WriteStart};
use crate::sched::PolicyConfig;
use crate::text::Fault;
use crate::units::{Bytes, Span};

pub(super) fn overheads(mut table: Table<'_>, sector: Bytes) -> Result<Overheads, SpecError> {
    let extra_write_disconnect = table.maybe("extra_write_disconnect", |v| extra(v.table()?))?;
    let write_start = table.or("write_start", WriteStart::default(), |v| {
        write_start(v.table()?, sector)
    })?;
    let mut time = |key| table.or(key, Span::ZERO, field::time);
    let overheads = Overheads {
        read_hit_after_read: time("read_hit_after_read")?,
        read_hit_after_write: time("read_hit_after_write")?,
        read_miss_after_read: time("read_miss_after_read")?,
        read_miss_after_write: time("read_miss_after_write")?,
        write_hit_after_read: time("write_hit_after_read")?,
        write_hit_after_write: time("write_hit_after_write")?,
        write_miss_after_read: time("write_miss_after_read")?,
        write_miss_after_write: time("write_miss_after_write")?,
        read_completion: time("read_completion")?,
        write_completion: time("write_completion")?,
        data_preparation: time("data_preparation")?,
        first_reselect: time("first_reselect")?,
        other_reselect: time("other_reselect")?,
        read_disconnect_after_read: time("read_disconnect_after_read")?,
        read_disconnect_after_write: time("read_disconnect_after_write")?,
        write_disconnect: time("write_disconnect")?,
        extra_write_disconnect,
        write_minimum_delay: time("write_minimum_delay")?,
        write_start,
    };
    table.finish()?;
    Ok(overheads)
}

/// All five times must be given: half a measurement is none.
fn extra(mut table: Table<'_>) -> Result<ExtraWriteDisconnect, SpecError> {
    let extra = ExtraWriteDisconnect {
        command: table.need("command", field::time)?,
        disconnect: table.need("disconnect", field::time)?,
        duration: table.need("duration", field::time)?,
        second_disconnect: table.need("second_disconnect", field::time)?,
        seek_delay: table.need("seek_delay", field::time)?,
    };
    table.finish()?;
    Ok(extra)
}

fn write_start(mut table: Table<'_>, sector: Bytes) -> Result<WriteStart, SpecError> {
    let size = |v: &Value<'_>| field::some_size(v, sector);
    let start = WriteStart {
        small: table.need("small", size)?,
        large: table.need("large", size)?,
        large_from: table.need("large_from", size)?,
    };
    table.finish()?;
    Ok(start)
}

pub(super) fn bus(mut table: Table<'_>) -> Result<Bus, SpecError> {
    let bus = Bus {
        read_sector: table.or("read_sector", Span::ZERO, field::time)?,
        write_sector: table.or("write_sector", Span::ZERO, field::time)?,
        read_restart: table.or("read_restart", Span::ZERO, field::time)?,
        hold_read: table.or("hold_read", false, field::flag)?,
        hold_write: table.or("hold_write", false, field::flag)?,
        never_disconnect: table.or("never_disconnect", false, field::flag)?,
        write_leaves: table.or("write_leaves", WriteLeaves::AfterData, write_leaves)?,
    };
    table.finish()?;
    Ok(bus)
}

fn write_leaves(value: &Value<'_>) -> Result<WriteLeaves, SpecError> {
    let words = [
        ("after-data", WriteLeaves::AfterData),
        ("if-seeking", WriteLeaves::IfSeeking),
    ];
    field::word(value, &words)
}

pub(super) fn queue(mut table: Table<'_>) -> Result<Queue, SpecError> {
    let queue = Queue {
        depth: table.or("depth", 1, |v| field::count_u32(v, 1..=1_000_000))?,
        policy: table.or("policy", PolicyConfig::default(), policy)?,
        preseek: table.or("preseek", PreSeek::Acknowledged, preseek)?,
    };
    table.finish()?;
    Ok(queue)
}

fn policy(value: &Value<'_>) -> Result<PolicyConfig, SpecError> {
    let expected = "a policy, such as \"sptf\"";
    let text = value.string().ok_or_else(|| value.error(expected))?;
    text.parse().map_err(|fault: Fault| {
        let Fault {
            field, expected, ..
        } = fault;
        value.error(match field.as_str() {
            "policy" => expected,
            _ => format!("of {field} {expected}"),
        })
    })
}

fn preseek(value: &Value<'_>) -> Result<PreSeek, SpecError> {
    field::word(
        value,
        &[
            ("acknowledged", PreSeek::Acknowledged),
            ("completion-ready", PreSeek::CompletionReady),
            ("media-done", PreSeek::MediaDone),
        ],
    )
}
