//! Standard INQUIRY data (SPC-4, with the bits of SCSI-2 in byte 7).

use crate::layout::Place;

layout! {
    /// Standard INQUIRY data, without version descriptors.
    pub struct Inquiry: 36 {
        /// 0: a unit is there; 3: there can be none at this number.
        qualifier: u8 = Place::bits(0, 7, 5);
        /// 0 for a disk, 0x1f for none.
        device_type: u8 = Place::bits(0, 4, 0);
        /// The medium can be removed.
        removable: bool = Place::flag(1, 7);
        /// The standard: 2 is SCSI-2, 6 is SPC-4.
        version: u8 = Place::bytes(2, 1);
        /// Supports NACA in the control byte.
        normal_aca: bool = Place::flag(3, 5);
        /// Numbers its units hierarchically.
        hierarchical: bool = Place::flag(3, 4);
        /// 2 for this layout.
        response_format: u8 = Place::bits(3, 3, 0);
        /// How many bytes follow this one.
        additional_length: u8 = Place::bytes(4, 1);
        /// Supports protection information.
        protect: bool = Place::flag(5, 0);
        /// Has several ports.
        multiple_ports: bool = Place::flag(6, 4);
        /// Takes transfers of 32 bits (SCSI-2).
        wide_32: bool = Place::flag(7, 6);
        /// Takes transfers of 16 bits (SCSI-2).
        wide_16: bool = Place::flag(7, 5);
        /// Takes synchronous transfers (SCSI-2).
        synchronous: bool = Place::flag(7, 4);
        /// Takes linked commands (SCSI-2).
        linked: bool = Place::flag(7, 3);
        /// Queues commands.
        command_queueing: bool = Place::flag(7, 1);
        /// Who made it, in ASCII, padded with spaces.
        vendor: [u8; 8] = Place::bytes(8, 8);
        /// What it is.
        product: [u8; 16] = Place::bytes(16, 16);
        /// Revision of its firmware.
        revision: [u8; 4] = Place::bytes(32, 4);
    }
}

/// Where version descriptors begin in standard data that are longer than [`Inquiry`], and how many
/// there can be.
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
