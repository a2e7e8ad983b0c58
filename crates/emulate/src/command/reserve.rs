//! RESERVE and RELEASE of the whole unit (SCSI-2), and PERSISTENT RESERVE IN and OUT (SPC-4).
//!
//! Registrations end at power-off. REGISTER AND MOVE is not supported.

use diskarm_wire::command::{ReserveIn, ReserveOut};
use diskarm_wire::reservation::{
    Capabilities, FullStatus, Parameters, Reservation, emit_full_status, emit_keys,
    emit_reservation,
};
use diskarm_wire::sense::{Code, Key};
use diskarm_wire::{Command, Sense};

use crate::reservation::{ReservationType, Reservations};
use crate::state::{Context, Start, invalid_field, invalid_parameter, list_length};

/// Reserves the unit; fails if any initiator is registered or another has reserved it (SPC-4).
pub(super) fn reserve(_: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    let reservations = &mut context.state.reservations;
    let is_other = |holder| holder != context.nexus;
    if reservations.reserved.is_some_and(is_other) || !reservations.registered.is_empty() {
        return Ok(Start::Conflict);
    }
    reservations.reserved = Some(context.nexus);
    Ok(Start::Done(Vec::new()))
}

/// Releases the initiator's own reservation, but never another initiator's.
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

pub(super) fn persistent_in(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => PersistentReserveIn { action, length });
    let reservations = &context.state.reservations;
    let generation = reservations.generation;
    let held = reservations.held.map(|(holder, kind)| Reservation {
        key: if kind.is_all_registrants() {
            0
        } else {
            reservations.key(holder).unwrap_or(0)
        },
        scope: 0,
        kind: kind as u8,
    });
    let data = match action {
        ReserveIn::ReadKeys => {
            let keys: Vec<u64> = reservations.registered.iter().map(|r| r.key).collect();
            emit_keys(generation, &keys)
        }
        ReserveIn::ReadReservation => emit_reservation(generation, held.as_ref()),
        ReserveIn::ReportCapabilities => capabilities().emit().to_vec(),
        ReserveIn::ReadFullStatus => full_status(context),
    };
    Ok(Start::data(data, length.into()))
}

fn capabilities() -> Capabilities {
    Capabilities {
        length: Capabilities::LENGTH as u16,
        types_valid: true,
        types: ReservationType::ALL
            .iter()
            .fold(0, |all, (_, bit)| all | bit),
        ..Capabilities::default()
    }
}

fn full_status(context: &Context<'_>) -> Vec<u8> {
    let reservations = &context.state.reservations;
    let kind = reservations.held.map_or(0, |(_, kind)| kind as u8);
    let registrants: Vec<_> = reservations
        .registered
        .iter()
        .map(|registrant| {
            let is_holder = reservations.is_holder(registrant.nexus);
            let status = FullStatus {
                key: registrant.key,
                all_ports: false,
                holder: is_holder,
                scope: 0,
                kind: if is_holder { kind } else { 0 },
                port: 1,
            };
            let nexus = &context.state.nexuses[registrant.nexus];
            (status, nexus.transport_id())
        })
        .collect();
    emit_full_status(reservations.generation, &registrants)
}

pub(super) fn persistent_out(command: &Command, context: &mut Context<'_>) -> Result<Start, Sense> {
    fields!(command => PersistentReserveOut { action, scope, kind, length });
    if action == ReserveOut::RegisterAndMove {
        return Err(invalid_field(1, Some(4)));
    }
    if length as usize != Parameters::LENGTH {
        return Err(list_length());
    }
    let list = context.list(length as usize)?;
    let parameters = Parameters::parse(list).map_err(|_| list_length())?;
    let flags = [
        (parameters.others, 3),
        (parameters.all_ports, 2),
        (parameters.through_power_loss, 0),
    ];
    if let Some((_, bit)) = flags.into_iter().find(|(set, _)| *set) {
        return Err(invalid_parameter(20, Some(bit)));
    }
    let nexus = context.nexus;
    let registered = context.state.reservations.key(nexus);
    let ignores_key = action == ReserveOut::RegisterAndIgnore;
    let expected = match action {
        ReserveOut::Register => Some(registered.unwrap_or(0)),
        _ => registered,
    };
    let is_reserved = context.state.reservations.reserved.is_some();
    if is_reserved || !ignores_key && expected != Some(parameters.key) {
        return Ok(Start::Conflict);
    }
    let takes_type = matches!(
        action,
        ReserveOut::Reserve
            | ReserveOut::Release
            | ReserveOut::Preempt
            | ReserveOut::PreemptAndAbort
    );
    let kind = match ReservationType::from_code(kind) {
        _ if takes_type && scope != 0 => return Err(invalid_field(2, Some(7))),
        None if takes_type => return Err(invalid_field(2, Some(3))),
        kind => kind.unwrap_or(ReservationType::WriteExclusive),
    };
    execute(context, action, kind, parameters.action_key)
}

fn execute(
    context: &mut Context<'_>,
    action: ReserveOut,
    kind: ReservationType,
    key: u64,
) -> Result<Start, Sense> {
    let nexus = context.nexus;
    let state = &mut *context.state;
    let (reservations, nexuses) = (&mut state.reservations, &mut state.nexuses);
    match action {
        ReserveOut::Register | ReserveOut::RegisterAndIgnore => {
            let is_new = key != 0 && reservations.key(nexus).is_none();
            if is_new && reservations.registered.len() == Reservations::MAX {
                let code = Code::REGISTRATION_RESOURCES;
                return Err(Sense::new(Key::IllegalRequest, code));
            }
            reservations.register(nexus, key, nexuses);
        }
        ReserveOut::Reserve => match reservations.held {
            None => reservations.held = Some((nexus, kind)),
            Some((_, held)) if reservations.is_holder(nexus) && held == kind => {}
            Some(_) => return Ok(Start::Conflict),
        },
        ReserveOut::Release => {
            if reservations.is_holder(nexus) {
                if reservations.held.is_some_and(|(_, held)| held != kind) {
                    return Err(Sense::new(Key::IllegalRequest, Code::INVALID_RELEASE));
                }
                reservations.release(nexus, nexuses);
            }
        }
        ReserveOut::Clear => reservations.clear(nexus, nexuses),
        ReserveOut::Preempt | ReserveOut::PreemptAndAbort => {
            let all_registrants = reservations
                .held
                .is_some_and(|(_, held)| held.is_all_registrants());
            if key == 0 && !all_registrants {
                return Err(invalid_parameter(8, None));
            }
            let Some(removed) = reservations.preempt(nexus, key, kind, nexuses) else {
                return Ok(Start::Conflict);
            };
            if action == ReserveOut::PreemptAndAbort {
                state.preempted = removed;
            }
        }
        ReserveOut::RegisterAndMove => return Err(invalid_field(1, Some(4))),
    }
    Ok(Start::Done(Vec::new()))
}
