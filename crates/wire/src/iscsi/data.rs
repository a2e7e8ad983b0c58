//! Data of SCSI commands.

use super::{Lun, Serial, Tag};
use crate::layout::Place;

layout! {
    /// Data for a target.
    pub struct DataOut: 48 {
        /// The last of the unsolicited data, or of those that a [`ReadyToTransfer`] asked for.
        is_final: bool = Place::flag(1, 7);
        /// That of the [`ReadyToTransfer`]; reserved in unsolicited data.
        lun: Lun = Place::bytes(8, 8);
        /// The task's.
        tag: Tag = Place::bytes(16, 4);
        /// That of the [`ReadyToTransfer`]; [`Tag::NONE`] in unsolicited data.
        transfer: Tag = Place::bytes(20, 4);
        /// The number of the next response that is expected.
        expected_status: Serial = Place::bytes(28, 4);
        /// Counts the messages of a sequence.
        data: Serial = Place::bytes(36, 4);
        /// Where they belong in the data of the command, in bytes.
        offset: u32 = Place::bytes(40, 4);
    }
}

layout! {
    /// Data for an initiator.
    pub struct DataIn: 48 {
        /// The last of a sequence.
        is_final: bool = Place::flag(1, 7);
        /// The target wants to know that they have arrived.
        acknowledge: bool = Place::flag(1, 6);
        /// More would have been read than was expected; with a status only.
        overflow: bool = Place::flag(1, 2);
        /// Less was read than was expected; with a status only.
        underflow: bool = Place::flag(1, 1);
        /// The command ends with these data; no response follows.
        has_status: bool = Place::flag(1, 0);
        /// Status of the command (SAM-5), if any.
        scsi_status: u8 = Place::bytes(3, 1);
        /// The logical unit, where the target wants an acknowledgement.
        lun: Lun = Place::bytes(8, 8);
        /// The task's.
        tag: Tag = Place::bytes(16, 4);
        /// Names the acknowledgement; else [`Tag::NONE`].
        transfer: Tag = Place::bytes(20, 4);
        /// The number of this response, if there is a status.
        status: Serial = Place::bytes(24, 4);
        /// The number of the next command that is expected.
        expected_command: Serial = Place::bytes(28, 4);
        /// The largest number of a command that is taken now.
        max_command: Serial = Place::bytes(32, 4);
        /// Counts the messages with data of the command.
        data: Serial = Place::bytes(36, 4);
        /// Where they belong in the data of the command, in bytes.
        offset: u32 = Place::bytes(40, 4);
        /// By how much reading differed from what was expected; with a status only.
        residual: u32 = Place::bytes(44, 4);
    }
}

layout! {
    /// A target wants data (R2T).
    pub struct ReadyToTransfer: 48 {
        /// The logical unit.
        lun: Lun = Place::bytes(8, 8);
        /// The task's.
        tag: Tag = Place::bytes(16, 4);
        /// The data are to have it, too.
        transfer: Tag = Place::bytes(20, 4);
        /// The number of the next response.
        status: Serial = Place::bytes(24, 4);
        /// The number of the next command that is expected.
        expected_command: Serial = Place::bytes(28, 4);
        /// The largest number of a command that is taken now.
        max_command: Serial = Place::bytes(32, 4);
        /// Counts these messages of the command.
        number: Serial = Place::bytes(36, 4);
        /// Which data of the command: the first, in bytes.
        offset: u32 = Place::bytes(40, 4);
        /// How many, in bytes.
        length: u32 = Place::bytes(44, 4);
    }
}
