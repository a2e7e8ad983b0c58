//! Addresses on the medium and lists of defects (SBC-3: FORMAT UNIT, REASSIGN BLOCKS,
//! READ DEFECT DATA; SCSI-2: translate address).

use crate::command::AddressFormat;
use crate::layout::{FieldPosition, Short, number, put};

/// An address on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// A block below 2^32.
    ShortBlock(u32),
    LongBlock(u64),
    BytesFromIndex(Physical),
    PhysicalSector(Physical),
    ExtendedBytesFromIndex(Extended),
    ExtendedPhysicalSector(Extended),
}

/// A position that may begin a run. A list contains only the first and last positions of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Extended {
    /// The position; its offset is below 2^28, or [`WHOLE_TRACK`].
    pub position: Physical,
    /// MADS: the next address in the list is the last of a run that begins here.
    pub begins_run: bool,
}

/// An extended offset of all ones, for the whole track.
pub const WHOLE_TRACK: u32 = (1 << 28) - 1;

/// A position on a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Physical {
    /// The cylinder, below 2^24.
    pub cylinder: u32,
    pub head: u8,
    /// The sector, or the number of bytes from the index mark; all ones for the whole track.
    pub offset: u32,
}

impl Address {
    pub fn format(&self) -> AddressFormat {
        match self {
            Self::ShortBlock(_) => AddressFormat::ShortBlock,
            Self::LongBlock(_) => AddressFormat::LongBlock,
            Self::BytesFromIndex(_) => AddressFormat::BytesFromIndex,
            Self::PhysicalSector(_) => AddressFormat::PhysicalSector,
            Self::ExtendedBytesFromIndex(_) => AddressFormat::ExtendedBytesFromIndex,
            Self::ExtendedPhysicalSector(_) => AddressFormat::ExtendedPhysicalSector,
        }
    }

    /// Returns the length of an address in a list, in bytes; `None` for vendor-specific formats.
    pub fn length(format: AddressFormat) -> Option<usize> {
        match format {
            AddressFormat::ShortBlock => Some(4),
            AddressFormat::VendorSpecific => None,
            _ => Some(8),
        }
    }

    /// Parses the address at the front of `data`; `None` if it is cut off or vendor-specific.
    pub fn parse(format: AddressFormat, data: &[u8]) -> Option<Self> {
        let data = data.get(..Self::length(format)?)?;
        let physical = || Physical {
            cylinder: number(&data[..3]) as u32,
            head: data[3],
            offset: number(&data[4..]) as u32,
        };
        let extended = || {
            let (position, flags) = (physical(), data[4]);
            let position = Physical {
                offset: position.offset & WHOLE_TRACK,
                ..position
            };
            // Three bits are reserved.
            (flags & 0x70 == 0).then_some(Extended {
                position,
                begins_run: flags & 0x80 != 0,
            })
        };
        Some(match format {
            AddressFormat::ExtendedBytesFromIndex => Self::ExtendedBytesFromIndex(extended()?),
            AddressFormat::ExtendedPhysicalSector => Self::ExtendedPhysicalSector(extended()?),
            AddressFormat::ShortBlock => Self::ShortBlock(number(data) as u32),
            AddressFormat::LongBlock => Self::LongBlock(number(data)),
            AddressFormat::BytesFromIndex => Self::BytesFromIndex(physical()),
            _ => Self::PhysicalSector(physical()),
        })
    }

    /// Writes the address at the front of `data`; returns its length. Panics if a cylinder has more
    /// than 24 bits or an extended offset more than 28.
    pub fn emit(&self, data: &mut [u8]) -> usize {
        match *self {
            Self::ShortBlock(block) => {
                put(&mut data[..4], u64::from(block));
                4
            }
            Self::LongBlock(block) => {
                put(&mut data[..8], block);
                8
            }
            Self::BytesFromIndex(position) | Self::PhysicalSector(position) => {
                put(&mut data[..3], u64::from(position.cylinder));
                data[3] = position.head;
                put(&mut data[4..8], u64::from(position.offset));
                8
            }
            Self::ExtendedBytesFromIndex(at) | Self::ExtendedPhysicalSector(at) => {
                assert!(at.position.offset <= WHOLE_TRACK, "an offset has 28 bits");
                let end = Self::PhysicalSector(at.position).emit(data);
                data[4] |= u8::from(at.begins_run) << 7;
                end
            }
        }
    }
}

/// Returns the addresses in a list, up to the first that is cut off.
pub fn addresses(format: AddressFormat, mut list: &[u8]) -> impl Iterator<Item = Address> {
    core::iter::from_fn(move || {
        let address = Address::parse(format, list)?;
        list = &list[Address::length(format)?..];
        Some(address)
    })
}

layout! {
    /// Header of READ DEFECT DATA(10). Addresses follow.
    pub struct Header10: 4 {
        /// The primary list follows.
        primary: bool = FieldPosition::flag(1, 4);
        /// The grown list follows.
        grown: bool = FieldPosition::flag(1, 3);
        /// Code of an [`AddressFormat`].
        format: u8 = FieldPosition::bits(1, 2, 0);
        /// Length of all addresses in bytes, even if fewer are returned.
        length: u16 = FieldPosition::bytes(2, 2);
    }

    /// Header of READ DEFECT DATA(12), with the flags of [`Header10`].
    pub struct Header12: 8 {
        primary: bool = FieldPosition::flag(1, 4);
        grown: bool = FieldPosition::flag(1, 3);
        format: u8 = FieldPosition::bits(1, 2, 0);
        /// Changes whenever the lists do.
        generation: u16 = FieldPosition::bytes(2, 2);
        /// Length of all addresses from the index on, in bytes.
        length: u32 = FieldPosition::bytes(4, 4);
    }

    /// Header of a short FORMAT UNIT parameter list. Addresses follow.
    pub struct FormatHeader: 4 {
        /// FOV: the bits below are valid.
        options_valid: bool = FieldPosition::flag(1, 7);
        /// DPRY: the primary list is not used.
        disable_primary: bool = FieldPosition::flag(1, 6);
        disable_certification: bool = FieldPosition::flag(1, 5);
        /// STPF: formatting stops if a list cannot be read.
        stop: bool = FieldPosition::flag(1, 4);
        /// IP: an initialisation pattern comes before the addresses.
        pattern: bool = FieldPosition::flag(1, 3);
        /// DSP: parameters are not saved.
        disable_saving: bool = FieldPosition::flag(1, 2);
        /// IMMED: the command ends before the formatting does.
        immediate: bool = FieldPosition::flag(1, 1);
        length: u16 = FieldPosition::bytes(2, 2);
    }

    /// The header with LONGLIST; its flags are the same as in [`FormatHeader`].
    pub struct LongFormatHeader: 8 {
        length: u32 = FieldPosition::bytes(4, 4);
    }

    /// Header of a REASSIGN BLOCKS parameter list. Addresses of four or eight bytes follow.
    pub struct ReassignHeader: 4 {
        length: u16 = FieldPosition::bytes(2, 2);
    }

    /// The header with LONGLIST.
    pub struct LongReassignHeader: 4 {
        length: u32 = FieldPosition::bytes(0, 4);
    }
}

/// The diagnostic page that translates addresses (SBC-3; worthington96 section 4.1.2). A host sends
/// an address and the requested format; the unit returns the addresses in that format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translate {
    pub address: Address,
    pub wanted: AddressFormat,
}

/// The code of the diagnostic page that translates addresses.
pub const TRANSLATE: u8 = 0x40;

/// The code of the diagnostic page that lists the supported pages.
pub const SUPPORTED_PAGES: u8 = 0x00;

/// The unit's answer, with the first of its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translated {
    /// The format of the address that was translated.
    pub supplied: AddressFormat,
    pub reserved: bool,
    pub alternate_sector: bool,
    pub alternate_track: bool,
    pub address: Address,
}

/// Length of the page with one address, from a host or from a unit.
pub const TRANSLATE_LENGTH: usize = 14;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    Short(Short),
    Code(u8),
    /// A format that [`Address`] does not support, with its byte.
    Format(u8),
}

fn format(byte: u8) -> Result<AddressFormat, Malformed> {
    AddressFormat::from_number(byte & 0x07)
        .filter(|format| *format != AddressFormat::VendorSpecific)
        .ok_or(Malformed::Format(byte))
}

/// Returns bytes 4 and 5 of the page, and its address.
fn page(data: &[u8]) -> Result<(u8, u8, &[u8]), Malformed> {
    let short = Malformed::Short(Short {
        expected: TRANSLATE_LENGTH,
    });
    let data = data.get(..TRANSLATE_LENGTH).ok_or(short)?;
    if data[0] != TRANSLATE {
        return Err(Malformed::Code(data[0]));
    }
    if usize::from(data[3]) + 4 < TRANSLATE_LENGTH && data[2] == 0 {
        return Err(short);
    }
    Ok((data[4], data[5], &data[6..]))
}

impl Translate {
    /// Parses the page from a host.
    pub fn parse(data: &[u8]) -> Result<Self, Malformed> {
        let (supplied, wanted, address) = page(data)?;
        let supplied = format(supplied)?;
        Ok(Self {
            address: Address::parse(supplied, address).ok_or(Malformed::Format(supplied as u8))?,
            wanted: format(wanted)?,
        })
    }

    pub fn emit(&self) -> [u8; TRANSLATE_LENGTH] {
        emit_page(self.address.format() as u8, self.wanted as u8, self.address)
    }
}

fn emit_page(supplied: u8, translated: u8, address: Address) -> [u8; TRANSLATE_LENGTH] {
    let mut data = [0; TRANSLATE_LENGTH];
    let length = TRANSLATE_LENGTH as u8 - 4;
    data[..6].copy_from_slice(&[TRANSLATE, 0, 0, length, supplied, translated]);
    address.emit(&mut data[6..]);
    data
}

impl Translated {
    /// Parses the page from the unit.
    pub fn parse(data: &[u8]) -> Result<Self, Malformed> {
        let (supplied, translated, address) = page(data)?;
        let address_format = format(translated)?;
        Ok(Self {
            supplied: format(supplied)?,
            reserved: translated & 0x80 != 0,
            alternate_sector: translated & 0x40 != 0,
            alternate_track: translated & 0x20 != 0,
            address: Address::parse(address_format, address)
                .ok_or(Malformed::Format(translated))?,
        })
    }

    pub fn emit(&self) -> [u8; TRANSLATE_LENGTH] {
        let alternate = u8::from(self.alternate_sector) << 6 | u8::from(self.alternate_track) << 5;
        let flags = u8::from(self.reserved) << 7 | alternate;
        let translated = flags | self.address.format() as u8;
        emit_page(self.supplied as u8, translated, self.address)
    }
}
