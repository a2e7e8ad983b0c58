//! Persistent reservations (SPC-4).

use crate::bytes::{number, put};
use crate::layout::Place;

layout! {
    /// The list that PERSISTENT RESERVE OUT sends, without transport identifiers.
    pub struct Parameters: 24 {
        /// The sender's key.
        key: u64 = Place::bytes(0, 8);
        /// The key that the action is about.
        action_key: u64 = Place::bytes(8, 8);
        /// Transport identifiers follow.
        others: bool = Place::flag(20, 3);
        /// It is about all ports of the target.
        all_ports: bool = Place::flag(20, 2);
        /// Registrations are kept without power.
        through_power_loss: bool = Place::flag(20, 0);
    }
}

layout! {
    /// A reservation, after the header of READ RESERVATION.
    pub struct Reservation: 16 {
        /// The holder's key.
        key: u64 = Place::bytes(0, 8);
        /// 0: the whole unit.
        scope: u8 = Place::bits(13, 7, 4);
        /// 1: write exclusive, 3: exclusive access; 5 and 6: the same for all that are registered
        /// but the others; 7 and 8: with all that are registered as holders.
        kind: u8 = Place::bits(13, 3, 0);
    }
}

layout! {
    /// Data of REPORT CAPABILITIES.
    pub struct Capabilities: 8 {
        /// 8.
        length: u16 = Place::bytes(0, 2);
        /// CRH: RESERVE and RELEASE work for holders.
        compatible: bool = Place::flag(2, 4);
        /// SIP_C: transport identifiers are taken.
        others: bool = Place::flag(2, 3);
        /// ATP_C: registrations for all ports are taken.
        all_ports: bool = Place::flag(2, 2);
        /// PTPL_C: registrations can be kept without power.
        can_keep: bool = Place::flag(2, 0);
        /// TMV: the types below count.
        types_valid: bool = Place::flag(3, 7);
        /// Which commands pass in spite of a reservation.
        allowed_commands: u8 = Place::bits(3, 6, 4);
        /// PTPL_A: registrations are kept without power.
        kept: bool = Place::flag(3, 0);
        /// A bit for each type: 15 to 8 for those from 7 down, 0 for type 8.
        types: u16 = Place::bytes(4, 2);
    }
}

/// Header of READ KEYS, READ RESERVATION and READ FULL STATUS.
const HEADER: usize = 8;

/// Writes the registered keys at the front of `data`; returns the length.
///
/// # Panics
/// If there is no room.
pub fn emit_keys(generation: u32, keys: &[u64], data: &mut [u8]) -> usize {
    let end = HEADER + 8 * keys.len();
    put(&mut data[..4], u64::from(generation));
    put(&mut data[4..HEADER], (end - HEADER) as u64);
    for (entry, key) in data[HEADER..end].chunks_exact_mut(8).zip(keys) {
        put(entry, *key);
    }
    end
}

/// Writes the reservation, if there is one, at the front of `data`; returns the length.
///
/// # Panics
/// If there is no room.
pub fn emit_reservation(generation: u32, held: Option<&Reservation>, data: &mut [u8]) -> usize {
    let content = held.map(Reservation::emit);
    let length = content.as_ref().map_or(0, |content| content.len());
    put(&mut data[..4], u64::from(generation));
    put(&mut data[4..HEADER], length as u64);
    if let Some(content) = content {
        data[HEADER..HEADER + length].copy_from_slice(&content);
    }
    HEADER + length
}

/// The generation, and what follows the header as far as it is there; `None` without a header.
pub fn content(data: &[u8]) -> Option<(u32, &[u8])> {
    let (header, rest) = data.split_at_checked(HEADER)?;
    let length = number(&header[4..]) as usize;
    Some((number(&header[..4]) as u32, &rest[..length.min(rest.len())]))
}

/// The keys in the content of READ KEYS.
pub fn keys(content: &[u8]) -> impl Iterator<Item = u64> {
    content.chunks_exact(8).map(number)
}
