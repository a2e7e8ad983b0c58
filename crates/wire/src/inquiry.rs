//! Data of INQUIRY (SPC-4): standard data, with the bits of SCSI-2 in byte 7, and vital product
//! data.

use crate::layout::{FieldPosition, Short, put};

layout! {
    /// Standard INQUIRY data, without version descriptors.
    pub struct Inquiry: 36 {
        /// 0: a unit is there; 3: there can be none at this number.
        qualifier: u8 = FieldPosition::bits(0, 7, 5);
        /// 0 for a disk, 0x1f for none.
        device_type: u8 = FieldPosition::bits(0, 4, 0);
        /// The medium can be removed.
        removable: bool = FieldPosition::flag(1, 7);
        /// The standard: 2 is SCSI-2, 6 is SPC-4.
        version: u8 = FieldPosition::bytes(2, 1);
        /// Supports NACA in the control byte.
        normal_aca: bool = FieldPosition::flag(3, 5);
        /// Numbers its units hierarchically.
        hierarchical: bool = FieldPosition::flag(3, 4);
        /// 2 for this layout.
        response_format: u8 = FieldPosition::bits(3, 3, 0);
        /// Number of bytes that follow this one.
        additional_length: u8 = FieldPosition::bytes(4, 1);
        protect: bool = FieldPosition::flag(5, 0);
        multiple_ports: bool = FieldPosition::flag(6, 4);
        /// Takes transfers of 32 bits (SCSI-2).
        wide_32: bool = FieldPosition::flag(7, 6);
        /// Takes transfers of 16 bits (SCSI-2).
        wide_16: bool = FieldPosition::flag(7, 5);
        /// Takes synchronous transfers (SCSI-2).
        synchronous: bool = FieldPosition::flag(7, 4);
        /// Takes linked commands (SCSI-2).
        linked: bool = FieldPosition::flag(7, 3);
        command_queueing: bool = FieldPosition::flag(7, 1);
        /// The vendor, in ASCII, padded with spaces.
        vendor: [u8; 8] = FieldPosition::bytes(8, 8);
        product: [u8; 16] = FieldPosition::bytes(16, 16);
        revision: [u8; 4] = FieldPosition::bytes(32, 4);
    }
}

/// Offset of the version descriptors after [`Inquiry`], and their maximum number.
pub const VERSIONS: (usize, usize) = (58, 8);

/// Version descriptors (SPC-4): standards of which no particular draft is claimed.
pub mod version {
    pub const SAM_5: u16 = 0x00a0;
    pub const SPC_4: u16 = 0x0460;
    pub const SBC_3: u16 = 0x04c0;
}

/// Pads `text` with spaces. Characters beyond the field are cut off, and those outside ASCII
/// replaced, as the standard allows graphic ASCII only.
pub fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [b' '; N];
    for (byte, character) in field.iter_mut().zip(text.chars()) {
        *byte = match character {
            ' '..='~' => character as u8,
            _ => b'?',
        };
    }
    field
}

/// Codes of pages of vital product data.
pub mod page_code {
    pub const SUPPORTED_PAGES: u8 = 0x00;
    pub const SERIAL_NUMBER: u8 = 0x80;
    pub const IDENTIFICATION: u8 = 0x83;
    pub const BLOCK_LIMITS: u8 = 0xb0;
    pub const CHARACTERISTICS: u8 = 0xb1;
}

/// A page of vital product data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VitalPage<'a> {
    /// As in standard INQUIRY data.
    pub qualifier: u8,
    /// As in standard INQUIRY data.
    pub device_type: u8,
    pub code: u8,
    /// The content after the header: page codes, a serial number in ASCII, [`designators`],
    /// [`BlockLimits`] or [`Characteristics`].
    pub content: &'a [u8],
}

const HEADER: usize = 4;

impl<'a> VitalPage<'a> {
    /// Parses a page, whose end may be cut off by the allocation length.
    /// Fails if the header is incomplete.
    pub fn parse(data: &'a [u8]) -> Result<Self, Short> {
        let Some((header, rest)) = data.split_at_checked(HEADER) else {
            return Err(Short { expected: HEADER });
        };
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        Ok(Self {
            qualifier: header[0] >> 5,
            device_type: header[0] & 0x1f,
            code: header[1],
            content: &rest[..length.min(rest.len())],
        })
    }

    /// Writes it at the front of `data`; returns its length.
    pub fn emit(&self, data: &mut [u8]) -> usize {
        assert!(self.qualifier < 8 && self.device_type < 32);
        let end = HEADER + self.content.len();
        data[0] = self.qualifier << 5 | self.device_type;
        data[1] = self.code;
        put(&mut data[2..HEADER], self.content.len() as u64);
        data[HEADER..end].copy_from_slice(self.content);
        end
    }
}

/// A name of the unit (SPC-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Designator<'a> {
    /// 1: binary, 2: ASCII, 3: UTF-8.
    pub code_set: u8,
    /// 0: the unit, 1: its port, 2: its target.
    pub association: u8,
    /// 1: T10 vendor identification, 2: EUI-64, 3: NAA, 8: SCSI name.
    pub kind: u8,
    pub name: &'a [u8],
}

/// Returns the designators in a device identification page, up to the first that is cut off.
pub fn designators(mut content: &[u8]) -> impl Iterator<Item = Designator<'_>> {
    core::iter::from_fn(move || {
        let (header, rest) = content.split_at_checked(HEADER)?;
        let (name, rest) = rest.split_at_checked(usize::from(header[3]))?;
        content = rest;
        Some(Designator {
            code_set: header[0] & 0x0f,
            association: header[1] >> 4 & 0x03,
            kind: header[1] & 0x0f,
            name,
        })
    })
}

impl Designator<'_> {
    /// Writes it at the front of `data`; returns its length.
    /// Panics if there is too little room, or a number does not fit its field.
    pub fn emit(&self, data: &mut [u8]) -> usize {
        assert!(self.code_set < 16 && self.association < 4 && self.kind < 16);
        let end = HEADER + self.name.len();
        data[0] = self.code_set;
        data[1] = self.association << 4 | self.kind;
        data[2] = 0;
        put(&mut data[3..HEADER], self.name.len() as u64);
        data[HEADER..end].copy_from_slice(self.name);
        end
    }
}

layout! {
    /// Content of the block limits page (SBC-3). Zero means no limit, or unknown.
    pub struct BlockLimits: 60 {
        /// WRITE SAME of zero blocks is refused.
        write_same_nonzero: bool = FieldPosition::flag(0, 0);
        compare_and_write: u8 = FieldPosition::bytes(1, 1);
        /// Optimal transfer granularity, in blocks.
        granularity: u16 = FieldPosition::bytes(2, 2);
        /// Blocks of a transfer.
        transfer: u32 = FieldPosition::bytes(4, 4);
        /// Optimal maximum transfer length, in blocks.
        optimal_transfer: u32 = FieldPosition::bytes(8, 4);
        /// Blocks of a PRE-FETCH.
        prefetch: u32 = FieldPosition::bytes(12, 4);
        /// Blocks of a WRITE SAME.
        write_same: u64 = FieldPosition::bytes(32, 8);
    }

    /// Content of the block device characteristics page (SBC-3).
    pub struct Characteristics: 60 {
        /// Revolutions per minute; 0 if not reported, 1 if the medium does not rotate.
        rotation_rate: u16 = FieldPosition::bytes(0, 2);
        /// 1: 5.25 inch, 2: 3.5, 3: 2.5, 4: 1.8.
        form_factor: u8 = FieldPosition::bits(3, 3, 0);
    }
}
