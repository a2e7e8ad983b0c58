//! Persistent reservations (SPC-4).

use crate::layout::{FieldPosition, number, put};

layout! {
    /// The list that PERSISTENT RESERVE OUT sends, without transport identifiers.
    pub struct Parameters: 24 {
        key: u64 = FieldPosition::bytes(0, 8);
        action_key: u64 = FieldPosition::bytes(8, 8);
        others: bool = FieldPosition::flag(20, 3);
        /// Applies to all ports of the target.
        all_ports: bool = FieldPosition::flag(20, 2);
        /// Registrations survive a power loss.
        through_power_loss: bool = FieldPosition::flag(20, 0);
    }

    /// A reservation, after the header of READ RESERVATION.
    pub struct Reservation: 16 {
        key: u64 = FieldPosition::bytes(0, 8);
        /// 0: the whole unit.
        scope: u8 = FieldPosition::bits(13, 7, 4);
        /// 1: write exclusive, 3: exclusive access; 5 and 6: the same, registrants only;
        /// 7 and 8: the same, all registrants.
        kind: u8 = FieldPosition::bits(13, 3, 0);
    }

    /// Data of REPORT CAPABILITIES.
    pub struct Capabilities: 8 {
        /// Always 8, in bytes.
        length: u16 = FieldPosition::bytes(0, 2);
        /// CRH: RESERVE and RELEASE work for holders.
        compatible: bool = FieldPosition::flag(2, 4);
        /// SIP_C: transport identifiers are supported.
        others: bool = FieldPosition::flag(2, 3);
        /// ATP_C: registrations for all ports are supported.
        all_ports: bool = FieldPosition::flag(2, 2);
        /// PTPL_C: registrations can survive a power loss.
        can_keep: bool = FieldPosition::flag(2, 0);
        /// TMV: the types below are valid.
        types_valid: bool = FieldPosition::flag(3, 7);
        /// The commands that are allowed despite a reservation.
        allowed_commands: u8 = FieldPosition::bits(3, 6, 4);
        /// PTPL_A: registrations survive a power loss.
        kept: bool = FieldPosition::flag(3, 0);
        /// A bit for each type: 15 to 8 for those from 7 down, 0 for type 8.
        types: u16 = FieldPosition::bytes(4, 2);
    }
}

/// Header of READ KEYS, READ RESERVATION and READ FULL STATUS.
const HEADER: usize = 8;

/// Writes the registered keys at the front of `data`; returns the length.
pub fn emit_keys(generation: u32, keys: &[u64], data: &mut [u8]) -> usize {
    let end = HEADER + 8 * keys.len();
    put(&mut data[..4], u64::from(generation));
    put(&mut data[4..HEADER], (end - HEADER) as u64);
    for (entry, key) in data[HEADER..end].chunks_exact_mut(8).zip(keys) {
        put(entry, *key);
    }
    end
}

/// Writes the reservation at the front of `data`; returns the length.
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

/// Returns the generation and the available content after the header; `None` without a header.
pub fn content(data: &[u8]) -> Option<(u32, &[u8])> {
    let (header, rest) = data.split_at_checked(HEADER)?;
    let length = number(&header[4..]) as usize;
    Some((number(&header[..4]) as u32, &rest[..length.min(rest.len())]))
}

pub fn keys(content: &[u8]) -> impl Iterator<Item = u64> {
    content.chunks_exact(8).map(number)
}

layout! {
    /// A registration, in READ FULL STATUS. Its initiator follows.
    pub struct FullStatus: 20 {
        key: u64 = FieldPosition::bytes(0, 8);
        /// It is for all ports of the target; the number of the port is then meaningless.
        all_ports: bool = FieldPosition::flag(12, 1);
        /// It holds the reservation.
        holder: bool = FieldPosition::flag(12, 0);
        /// The scope of the held reservation.
        scope: u8 = FieldPosition::bits(13, 7, 4);
        /// The type of the held reservation.
        kind: u8 = FieldPosition::bits(13, 3, 0);
        /// Relative target port identifier.
        port: u16 = FieldPosition::bytes(18, 2);
    }
}

/// The name of an initiator port (SPC-4, TransportID).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportId<'a> {
    /// On SAS: its address.
    Sas(u64),
    /// On iSCSI: its name, as `iqn.1993-08.org.debian:01:abc`.
    Iscsi(&'a str),
    /// On iSCSI: its name, and the identifier of its session as six hexadecimal bytes.
    IscsiSession(&'a str, &'a str),
}

/// Separates a name from a session identifier.
const SESSION: &str = ",i,0x";

impl<'a> TransportId<'a> {
    /// Returns the length in bytes: 24, or a multiple of four for names padded with zeros.
    pub fn length(&self) -> usize {
        let text = match self {
            Self::Sas(_) => return 24,
            Self::Iscsi(name) => name.len(),
            Self::IscsiSession(name, session) => name.len() + SESSION.len() + session.len(),
        };
        // SPC-4: it ends with at least one zero, and takes at least 20 bytes.
        4 + (text + 1).next_multiple_of(4).max(20)
    }

    /// Writes it at the front of `data`; returns its length.
    /// Panics if there is too little room, or a name is longer than the standard allows.
    pub fn emit(&self, data: &mut [u8]) -> usize {
        let end = self.length();
        let data = &mut data[..end];
        data.fill(0);
        match self {
            Self::Sas(address) => {
                data[0] = 0x06;
                put(&mut data[4..12], *address);
            }
            Self::Iscsi(name) => {
                data[0] = 0x05;
                put(&mut data[2..4], (end - 4) as u64);
                data[4..4 + name.len()].copy_from_slice(name.as_bytes());
            }
            Self::IscsiSession(name, session) => {
                data[0] = 0x45;
                put(&mut data[2..4], (end - 4) as u64);
                let mut at = 4;
                for part in [*name, SESSION, session] {
                    data[at..at + part.len()].copy_from_slice(part.as_bytes());
                    at += part.len();
                }
            }
        }
        end
    }

    /// Parses the one at the front of `data`; returns it with its length. `None` if it is cut off,
    /// or of another protocol.
    pub fn parse(data: &'a [u8]) -> Option<(Self, usize)> {
        let header = data.get(..4)?;
        if header[0] & 0x0f == 0x06 && header[0] >> 6 == 0 {
            let address = number(data.get(4..12)?);
            return (data.len() >= 24).then_some((Self::Sas(address), 24));
        }
        let end = 4 + number(&header[2..]) as usize;
        let text = data.get(4..end)?;
        let text = text.split(|byte| *byte == 0).next()?;
        let text = core::str::from_utf8(text).ok()?;
        match header[0] {
            0x05 => Some((Self::Iscsi(text), end)),
            0x45 => {
                let (name, session) = text.split_once(SESSION)?;
                Some((Self::IscsiSession(name, session), end))
            }
            _ => None,
        }
    }
}

/// Returns the length of READ FULL STATUS data, in bytes.
pub fn full_status_length(registrations: &[(FullStatus, TransportId<'_>)]) -> usize {
    let registrations = registrations
        .iter()
        .map(|(_, id)| FullStatus::LENGTH + 4 + id.length());
    HEADER + registrations.sum::<usize>()
}

/// Writes all registrations with their initiators at the front of `data`; returns the length.
pub fn emit_full_status(
    generation: u32,
    registrations: &[(FullStatus, TransportId<'_>)],
    data: &mut [u8],
) -> usize {
    let mut at = HEADER;
    for (status, id) in registrations {
        let end = at + FullStatus::LENGTH;
        data[at..end].copy_from_slice(&status.emit());
        let length = id.emit(&mut data[end + 4..]);
        put(&mut data[end..end + 4], length as u64);
        at = end + 4 + length;
    }
    put(&mut data[..4], u64::from(generation));
    put(&mut data[4..HEADER], (at - HEADER) as u64);
    at
}

/// Returns the registrations in the content of READ FULL STATUS, up to the first that is cut off;
/// initiators of other protocols than in [`TransportId`] are `None`.
pub fn full_status(
    mut content: &[u8],
) -> impl Iterator<Item = (FullStatus, Option<TransportId<'_>>)> {
    core::iter::from_fn(move || {
        let status = FullStatus::parse(content).ok()?;
        let rest = &content[FullStatus::LENGTH..];
        let (length, rest) = rest.split_at_checked(4)?;
        let (id, rest) = rest.split_at_checked(number(length) as usize)?;
        content = rest;
        Some((status, TransportId::parse(id).map(|(id, _)| id)))
    })
}
