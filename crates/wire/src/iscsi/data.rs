//! Data of SCSI commands.

use super::{Lun, Serial, Tag};
use crate::layout::FieldPosition;

layout! {
    /// Data for a target.
    pub struct DataOut: 48 {
        /// The last of the unsolicited data, or of those that a [`ReadyToTransfer`] asked for.
        is_final: bool = FieldPosition::flag(1, 7);
        /// That of the [`ReadyToTransfer`]; reserved in unsolicited data.
        lun: Lun = FieldPosition::bytes(8, 8);
        tag: Tag = FieldPosition::bytes(16, 4);
        /// That of the [`ReadyToTransfer`]; [`Tag::NONE`] in unsolicited data.
        transfer: Tag = FieldPosition::bytes(20, 4);
        /// The number of the next response that is expected.
        expected_status: Serial = FieldPosition::bytes(28, 4);
        /// Counts the messages of a sequence.
        data: Serial = FieldPosition::bytes(36, 4);
        /// Offset in the data of the command, in bytes.
        offset: u32 = FieldPosition::bytes(40, 4);
    }
}

layout! {
    /// Data for an initiator.
    pub struct DataIn: 48 {
        /// The last of a sequence.
        is_final: bool = FieldPosition::flag(1, 7);
        /// The target wants to know that they have arrived.
        acknowledge: bool = FieldPosition::flag(1, 6);
        /// More would have been read than was expected; with a status only.
        overflow: bool = FieldPosition::flag(1, 2);
        /// Less was read than was expected; with a status only.
        underflow: bool = FieldPosition::flag(1, 1);
        /// The command ends with these data; no response follows.
        has_status: bool = FieldPosition::flag(1, 0);
        /// Status of the command (SAM-5).
        scsi_status: u8 = FieldPosition::bytes(3, 1);
        /// The logical unit, where the target wants an acknowledgement.
        lun: Lun = FieldPosition::bytes(8, 8);
        tag: Tag = FieldPosition::bytes(16, 4);
        /// Names the acknowledgement; else [`Tag::NONE`].
        transfer: Tag = FieldPosition::bytes(20, 4);
        /// The number of this response, if there is a status.
        status: Serial = FieldPosition::bytes(24, 4);
        /// The number of the next command that is expected.
        expected_command: Serial = FieldPosition::bytes(28, 4);
        /// The largest number of a command that is taken now.
        max_command: Serial = FieldPosition::bytes(32, 4);
        /// Counts the messages with data of the command.
        data: Serial = FieldPosition::bytes(36, 4);
        /// Offset in the data of the command, in bytes.
        offset: u32 = FieldPosition::bytes(40, 4);
        /// Difference between the actual and the expected length of the read data; with a status
        /// only.
        residual: u32 = FieldPosition::bytes(44, 4);
    }
}

layout! {
    /// A target wants data (R2T).
    pub struct ReadyToTransfer: 48 {
        lun: Lun = FieldPosition::bytes(8, 8);
        tag: Tag = FieldPosition::bytes(16, 4);
        /// The data are to have it, too.
        transfer: Tag = FieldPosition::bytes(20, 4);
        /// The number of the next response.
        status: Serial = FieldPosition::bytes(24, 4);
        /// The number of the next command that is expected.
        expected_command: Serial = FieldPosition::bytes(28, 4);
        /// The largest number of a command that is taken now.
        max_command: Serial = FieldPosition::bytes(32, 4);
        /// Counts these messages of the command.
        number: Serial = FieldPosition::bytes(36, 4);
        /// Offset in the data of the command, in bytes.
        offset: u32 = FieldPosition::bytes(40, 4);
        /// Length, in bytes.
        length: u32 = FieldPosition::bytes(44, 4);
    }
}
