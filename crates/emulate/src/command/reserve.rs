//! RESERVE and RELEASE of the whole unit (SCSI-2).

use diskarm_wire::{Command, Sense};

use crate::state::Context;
use crate::work::Start;

/// SPC-4: with registrations, or a reservation by another initiator, it conflicts.
pub(super) fn reserve(_: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let reservations = &mut context.state.reservations;
    let other = reservations
        .reserved
        .is_some_and(|holder| holder != context.nexus);
    if other || !reservations.registered.is_empty() {
        return Ok(Start::Conflict);
    }
    reservations.reserved = Some(context.nexus);
    Ok(Start::Done(Vec::new()))
}

/// Releases the initiator's own reservation; another initiator's stays.
pub(super) fn release(_: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let reservations = &mut context.state.reservations;
    if !reservations.registered.is_empty() {
        return Ok(Start::Conflict);
    }
    if reservations.reserved == Some(context.nexus) {
        reservations.reserved = None;
    }
    Ok(Start::Done(Vec::new()))
}
