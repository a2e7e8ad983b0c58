//! Which commands are sent again.
//!
//! A drive that is busy, becomes ready, or has to report that it was reset, has not executed the
//! command (SAM-5, SPC-4). It is sent again, a few times; all other statuses are results. One of
//! them is that somebody changed the drive's parameters or its capacity: what is measured before
//! and after such a change are two drives, so the measurement fails. So does one in which the drive
//! reports that an earlier command failed after its end.

use diskarm_core::units::Span;
use diskarm_wire::Sense;
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::status;

use crate::Reply;

/// How often a command is sent at most.
pub const MAX_ATTEMPTS: u32 = 12;

/// How long to rest before a command is sent again; nothing if this is its result. What happened
/// before the first command on a connection, which `is_first`, does no harm.
pub fn pause(reply: &Reply, is_first: bool) -> Option<Span> {
    match reply.status {
        status::BUSY | status::TASK_SET_FULL => Some(Span::from_ms(100.0)),
        status::CHECK_CONDITION => match Sense::parse(&reply.sense).ok()? {
            sense if sense.deferred => {
                (is_first || sense.key == Key::RecoveredError).then_some(Span::ZERO)
            }
            Sense {
                key: Key::UnitAttention,
                code: Code::MODE_PARAMETERS_CHANGED | Code::CAPACITY_CHANGED,
                ..
            } => is_first.then_some(Span::ZERO),
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
