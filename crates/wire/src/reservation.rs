//! Persistent reservations (SPC-4).

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

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
        /// 1: write exclusive, 3: exclusive access. 5 and 6 are the same for registrants only; 7
        /// and 8 are the same for all registrants.
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
        /// A bit for each type: 15 to 8 for types 7 to 0, 0 for type 8.
        types: u16 = FieldPosition::bytes(4, 2);
    }
}

/// Header of READ KEYS, READ RESERVATION and READ FULL STATUS.
const HEADER: usize = 8;

/// Encodes `content` after its header.
fn with_header(generation: u32, content: &[u8]) -> Vec<u8> {
    let length = content.len() as u32;
    [&generation.to_be_bytes(), &length.to_be_bytes(), content].concat()
}

pub fn emit_keys(generation: u32, keys: &[u64]) -> Vec<u8> {
    let bytes: Vec<u8> = keys.iter().flat_map(|key| key.to_be_bytes()).collect();
    with_header(generation, &bytes)
}

pub fn emit_reservation(generation: u32, held: Option<&Reservation>) -> Vec<u8> {
    let content = held.map_or_else(Vec::new, |held| held.emit().to_vec());
    with_header(generation, &content)
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
    /// A registration in READ FULL STATUS. The identifier of its initiator follows.
    pub struct FullStatus: 20 {
        key: u64 = FieldPosition::bytes(0, 8);
        /// The registration is for all ports of the target; the port number is then meaningless.
        all_ports: bool = FieldPosition::flag(12, 1);
        /// The initiator holds the reservation.
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
    /// A SAS address.
    Sas(u64),
    /// An iSCSI name, such as `iqn.1993-08.org.debian:01:abc`.
    Iscsi(&'a str),
    /// An iSCSI name, and the session identifier as six hexadecimal bytes.
    IscsiSession(&'a str, &'a str),
}

/// Separates a name from a session identifier.
const SESSION: &str = ",i,0x";

impl<'a> TransportId<'a> {
    /// Encodes an address in 24 bytes, or a name in a multiple of four bytes, padded with zeros.
    /// Panics if a name is longer than the standard allows.
    pub fn emit(&self) -> Vec<u8> {
        let (code, text) = match self {
            Self::Sas(address) => {
                let mut data = vec![0; 24];
                data[0] = 0x06;
                put(&mut data[4..12], *address);
                return data;
            }
            Self::Iscsi(name) => (0x05, String::from(*name)),
            Self::IscsiSession(name, session) => (0x45, [*name, SESSION, session].concat()),
        };
        // SPC-4: a name ends with at least one zero, and takes at least 20 bytes.
        let length = (text.len() + 1).next_multiple_of(4).max(20);
        let mut data = vec![code, 0, 0, 0];
        put(&mut data[2..4], length as u64);
        data.extend(text.bytes());
        data.resize(4 + length, 0);
        data
    }

    /// Parses the identifier at the front of `data`; returns it and its length. `None` if it is cut
    /// off or belongs to another protocol.
    pub fn parse(data: &'a [u8]) -> Option<(Self, usize)> {
        let header = data.get(..4)?;
        if header[0] & 0x0f == 0x06 && header[0] >> 6 == 0 {
            let address = number(data.get(4..12)?);
            return (data.len() >= 24).then_some((Self::Sas(address), 24));
        }
        let end = 4 + number(&header[2..]) as usize;
        let field = data.get(4..end)?;
        let name = field.split(|byte| *byte == 0).next()?;
        let text = core::str::from_utf8(name).ok()?;
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

pub fn emit_full_status(
    generation: u32,
    registrations: &[(FullStatus, TransportId<'_>)],
) -> Vec<u8> {
    let mut content = Vec::new();
    for (status, id) in registrations {
        let id_bytes = id.emit();
        content.extend(status.emit());
        content.extend((id_bytes.len() as u32).to_be_bytes());
        content.extend(id_bytes);
    }
    with_header(generation, &content)
}

/// Returns the registrations in the content of READ FULL STATUS, up to the first that is cut off;
/// initiators with protocols other than those in [`TransportId`] are `None`.
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
