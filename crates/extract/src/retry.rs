//! Which commands are sent again.
//!
//! A drive that is busy, becomes ready, or has something to report that has nothing to do with the
//! command (a reset, changed parameters) has not executed it (SAM-5, SPC-4). The command is sent
//! again, a few times; all other statuses are results.

use diskarm_core::units::Span;
use diskarm_wire::Sense;
use diskarm_wire::sense::{Code, Key};

use crate::Reply;

/// How often a command is sent at most.
pub(crate) const MOST: u32 = 12;

const BUSY: u8 = 0x08;
const CHECK_CONDITION: u8 = 0x02;
const TASK_SET_FULL: u8 = 0x28;

/// How long to rest before a command is sent again; nothing if this is its result.
pub(crate) fn pause(reply: &Reply) -> Option<Span> {
    match reply.status {
        BUSY | TASK_SET_FULL => Some(Span::from_ms(100.0)),
        CHECK_CONDITION => match Sense::parse(&reply.sense).ok()? {
            sense if sense.deferred => Some(Span::ZERO),
            Sense {
                key: Key::UnitAttention | Key::AbortedCommand,
                ..
            } => Some(Span::ZERO),
            Sense {
                key: Key::NotReady,
                code: Code::BECOMING_READY,
                ..
            } => Some(Span::from_s(1.0)),
            _ => None,
        },
        _ => None,
    }
}
