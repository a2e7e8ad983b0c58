//! SCSI commands and task management.

use super::{Lun, Serial, Tag};
use crate::layout::FieldPosition;

layout! {
    /// A SCSI command, perhaps with its first data.
    pub struct Command: 48 {
        /// It is served before others and has no number of its own.
        immediate: bool = FieldPosition::flag(0, 6);
        /// No unsolicited data follow.
        is_final: bool = FieldPosition::flag(1, 7);
        /// The initiator expects data.
        reads: bool = FieldPosition::flag(1, 6);
        /// The initiator has data.
        writes: bool = FieldPosition::flag(1, 5);
        /// Task attribute, a number of [`attribute`].
        attribute: u8 = FieldPosition::bits(1, 2, 0);
        lun: Lun = FieldPosition::bytes(8, 8);
        /// Name of the task.
        tag: Tag = FieldPosition::bytes(16, 4);
        /// Number of bytes that the initiator sends or expects.
        length: u32 = FieldPosition::bytes(20, 4);
        command: Serial = FieldPosition::bytes(24, 4);
        /// The number of the next response that is expected.
        expected_status: Serial = FieldPosition::bytes(28, 4);
        /// The command block; a longer one continues in an additional header segment.
        block: [u8; 16] = FieldPosition::bytes(32, 16);
    }
}

impl Command {
    /// The command block without its padding: how long it is follows from the first bits of its
    /// code (SPC-4, "Command Descriptor Block"), except for codes of variable length and of
    /// vendors.
    pub fn unpadded(&self) -> &[u8] {
        let length = match self.block[0] >> 5 {
            0 => 6,
            1 | 2 => 10,
            4 => 16,
            5 => 12,
            _ => self.block.len(),
        };
        &self.block[..length]
    }
}

/// Numbers of task attributes.
pub mod attribute {
    /// None: the same as [`SIMPLE`].
    pub const UNTAGGED: u8 = 0;
    /// In any order.
    pub const SIMPLE: u8 = 1;
    /// After all older tasks and before all newer ones.
    pub const ORDERED: u8 = 2;
    /// Before all tasks that wait.
    pub const HEAD_OF_QUEUE: u8 = 3;
    /// While an auto contingent allegiance lasts.
    pub const ACA: u8 = 4;
}

layout! {
    /// The outcome of a SCSI command; sense data are in the data ([`super::segment::sense`]).
    pub struct Response: 48 {
        /// Bidirectional commands: more would have been read than was expected.
        read_overflow: bool = FieldPosition::flag(1, 4);
        /// Bidirectional commands: less was read than was expected.
        read_underflow: bool = FieldPosition::flag(1, 3);
        /// More would have been transferred than was expected.
        overflow: bool = FieldPosition::flag(1, 2);
        /// Less was transferred than was expected.
        underflow: bool = FieldPosition::flag(1, 1);
        /// A number of [`response`].
        response: u8 = FieldPosition::bytes(2, 1);
        /// Status of the command (SAM-5).
        scsi_status: u8 = FieldPosition::bytes(3, 1);
        tag: Tag = FieldPosition::bytes(16, 4);
        /// For a SNACK of all data.
        snack: Tag = FieldPosition::bytes(20, 4);
        /// The number of this response.
        status: Serial = FieldPosition::bytes(24, 4);
        /// The number of the next command that is expected.
        expected_command: Serial = FieldPosition::bytes(28, 4);
        /// The largest number of a command that is taken now.
        max_command: Serial = FieldPosition::bytes(32, 4);
        /// Number of data messages and data requests that the target has sent.
        expected_data: Serial = FieldPosition::bytes(36, 4);
        /// Difference between the actual and the expected length of the read data.
        read_residual: u32 = FieldPosition::bytes(40, 4);
        /// Difference between the actual and the expected length of the transfer.
        residual: u32 = FieldPosition::bytes(44, 4);
    }
}

pub mod response {
    /// The target has executed the command; the status is its outcome.
    pub const COMPLETED: u8 = 0;
    /// The target could not execute the command.
    pub const TARGET_FAILURE: u8 = 1;
}

layout! {
    /// A task management function.
    pub struct TaskRequest: 48 {
        /// It is served before others and has no number of its own.
        immediate: bool = FieldPosition::flag(0, 6);
        /// A number of [`function`].
        function: u8 = FieldPosition::bits(1, 6, 0);
        /// The logical unit, where the function is about one.
        lun: Lun = FieldPosition::bytes(8, 8);
        /// Name of this request.
        tag: Tag = FieldPosition::bytes(16, 4);
        /// The task to abort or reassign.
        task: Tag = FieldPosition::bytes(20, 4);
        command: Serial = FieldPosition::bytes(24, 4);
        /// The number of the next response that is expected.
        expected_status: Serial = FieldPosition::bytes(28, 4);
        /// The number of the task to abort.
        task_command: Serial = FieldPosition::bytes(32, 4);
        /// For a task to reassign: the next expected data.
        expected_data: Serial = FieldPosition::bytes(36, 4);
    }
}

/// Numbers of task management functions.
pub mod function {
    /// `ABORT TASK`.
    pub const ABORT_TASK: u8 = 1;
    /// `ABORT TASK SET`: all tasks of this initiator.
    pub const ABORT_TASK_SET: u8 = 2;
    /// `CLEAR ACA`.
    pub const CLEAR_ACA: u8 = 3;
    /// `CLEAR TASK SET`: all tasks.
    pub const CLEAR_TASK_SET: u8 = 4;
    /// `LOGICAL UNIT RESET`.
    pub const UNIT_RESET: u8 = 5;
    /// `TARGET WARM RESET`.
    pub const WARM_RESET: u8 = 6;
    /// `TARGET COLD RESET`: all connections end, too.
    pub const COLD_RESET: u8 = 7;
    /// `TASK REASSIGN`: a task of another connection.
    pub const REASSIGN: u8 = 8;
}

layout! {
    /// The outcome of a task management function.
    pub struct TaskResponse: 48 {
        /// A number of [`task_response`].
        response: u8 = FieldPosition::bytes(2, 1);
        tag: Tag = FieldPosition::bytes(16, 4);
        /// The number of this response.
        status: Serial = FieldPosition::bytes(24, 4);
        /// The number of the next command that is expected.
        expected_command: Serial = FieldPosition::bytes(28, 4);
        /// The largest number of a command that is taken now.
        max_command: Serial = FieldPosition::bytes(32, 4);
    }
}

/// Numbers of responses to task management functions.
pub mod task_response {
    pub const COMPLETE: u8 = 0;
    /// There is no such task.
    pub const NO_TASK: u8 = 1;
    /// There is no such logical unit.
    pub const NO_UNIT: u8 = 2;
    /// The task belongs to a connection that is still there.
    pub const STILL_ALLEGIANT: u8 = 3;
    /// Tasks cannot be reassigned.
    pub const NO_REASSIGNMENT: u8 = 4;
    /// The target does not know the function.
    pub const NOT_SUPPORTED: u8 = 5;
    /// The initiator may not use the function.
    pub const NOT_AUTHORIZED: u8 = 6;
    /// The target does not do it.
    pub const REJECTED: u8 = 255;
}
