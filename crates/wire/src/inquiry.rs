//! Standard INQUIRY data (SPC-4, with the bits of SCSI-2 in byte 7).

use crate::layout::FieldPosition;

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
        /// The product.
        product: [u8; 16] = FieldPosition::bytes(16, 16);
        /// Revision of its firmware.
        revision: [u8; 4] = FieldPosition::bytes(32, 4);
    }
}

/// Offset of the version descriptors in standard data that are longer than [`Inquiry`], and their
/// maximum number.
pub const VERSIONS: (usize, usize) = (58, 8);

/// Version descriptors (SPC-4): standards of which no particular draft is claimed.
pub mod version {
    /// SAM-5.
    pub const SAM_5: u16 = 0x00a0;
    /// SPC-4.
    pub const SPC_4: u16 = 0x0460;
    /// SBC-3.
    pub const SBC_3: u16 = 0x04c0;
}

/// `text` padded with spaces; characters beyond the field and those outside ASCII are replaced or
/// cut, as the standard allows graphic ASCII only.
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
