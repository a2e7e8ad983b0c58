//! The messages and their lengths.

use super::control::{AsyncMessage, LogoutRequest, LogoutResponse, Reject, Snack};
use super::field::{Lun, Serial, Tag, padded};
use crate::layout::FieldPosition;

layout! {
    /// Lengths of a message, from its first 8 bytes.
    pub struct Lengths: 8 {
        /// Additional header segments, in words of four bytes.
        ahs_words: u8 = FieldPosition::bytes(4, 1);
        /// Data, in bytes without padding; at most 24 bits.
        data_length: u32 = FieldPosition::bytes(5, 3);
    }
}

impl Lengths {
    /// Creates the lengths of a message with `length` bytes of data and no additional header
    /// segments.
    pub const fn of_data(length: usize) -> Self {
        Self {
            ahs_words: 0,
            data_length: length as u32,
        }
    }

    /// Returns the length of the additional header segments, in bytes.
    pub const fn ahs(self) -> usize {
        self.ahs_words as usize * 4
    }

    /// Returns the length of the data with their padding, in bytes.
    pub const fn padded(self) -> usize {
        padded(self.data_length as usize)
    }
}

/// An error in the header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// There are fewer than [`Message::LENGTH`].
    Short,
    /// The code of the operation is unknown.
    Operation(u8),
}

/// Declares the messages, each with its code in byte 0 and the bits of byte 1 that are always set.
macro_rules! messages {
    ($($(#[$about:meta])* $name:ident = $code:literal, $fixed:literal;)+) => {
        /// A basic header segment, without its lengths.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Message { $($(#[$about])* $name($name),)+ }

        impl Message {
            /// Reads the first [`Self::LENGTH`] bytes of `data`; reserved bits are left alone.
            ///
            /// # Errors
            /// If there are too few bytes, or the operation is unknown.
            pub fn parse(data: &[u8]) -> Result<Self, Invalid> {
                let data = data.get(..Self::LENGTH).ok_or(Invalid::Short)?;
                match data[0] & OPERATION {
                    $(code if code == $code & OPERATION => {
                        let message = $name::parse(data).map_err(|_| Invalid::Short)?;
                        Ok(Self::$name(message))
                    })+
                    code => Err(Invalid::Operation(code)),
                }
            }

            /// Returns the code of the operation.
            pub const fn operation(&self) -> u8 {
                match self { $(Self::$name(_) => $code & OPERATION,)+ }
            }

            /// Encodes the message.
            ///
            /// # Panics
            /// If a number does not fit its field.
            pub fn emit(&self, lengths: Lengths) -> [u8; Self::LENGTH] {
                let mut data = match self {
                    $(Self::$name(message) => {
                        let mut data = message.emit();
                        data[0] |= $code;
                        data[1] |= $fixed;
                        data
                    })+
                };
                data[..Lengths::LENGTH]
                    .iter_mut()
                    .zip(lengths.emit())
                    .for_each(|(byte, bits)| *byte |= bits);
                data
            }
        }
    };
}

/// The bits of byte 0 that are the code of the operation.
const OPERATION: u8 = 0x3f;

messages! {
    /// An initiator asks whether the target is there, or answers it.
    NopOut = 0x00, 0x80;
    Command = 0x01, 0x00;
    /// A task management function.
    TaskRequest = 0x02, 0x80;
    /// A step of the login.
    LoginRequest = 0x43, 0x00;
    /// Text of an initiator.
    TextRequest = 0x04, 0x00;
    /// Data for a target.
    DataOut = 0x05, 0x00;
    /// An initiator wants to end a connection or session.
    LogoutRequest = 0x06, 0x80;
    /// An initiator reports missing messages.
    Snack = 0x10, 0x80;
    /// A target asks whether the initiator is there, or answers it.
    NopIn = 0x20, 0x80;
    /// The outcome of a SCSI command.
    Response = 0x21, 0x80;
    /// The outcome of a task management function.
    TaskResponse = 0x22, 0x80;
    /// The answer to a step of the login.
    LoginResponse = 0x23, 0x00;
    /// Text of a target.
    TextResponse = 0x24, 0x00;
    /// Data for an initiator.
    DataIn = 0x25, 0x00;
    /// The answer to a logout.
    LogoutResponse = 0x26, 0x80;
    /// A target wants data.
    ReadyToTransfer = 0x31, 0x80;
    /// Something has happened at the target.
    AsyncMessage = 0x32, 0x80;
    /// A target does not take a message, whose header is in the data.
    Reject = 0x3f, 0x80;
}

impl Message {
    /// Length of a basic header segment, in bytes.
    pub const LENGTH: usize = 48;
}

/// Numbers of the stages of a login.
pub mod stage {
    /// `SecurityNegotiation`.
    pub const SECURITY: u8 = 0;
    /// `LoginOperationalNegotiation`.
    pub const OPERATIONAL: u8 = 1;
    /// `FullFeaturePhase`.
    pub const FULL_FEATURE: u8 = 3;
}

layout! {
    /// A step of the login: text in the data.
    pub struct LoginRequest: 48 {
        /// The initiator wants to continue to the next stage.
        transit: bool = FieldPosition::flag(1, 7);
        /// The text continues in the next request.
        continues: bool = FieldPosition::flag(1, 6);
        /// The current stage, a number of [`stage`].
        current: u8 = FieldPosition::bits(1, 3, 2);
        next: u8 = FieldPosition::bits(1, 1, 0);
        /// The highest version of the protocol that the initiator knows.
        version_max: u8 = FieldPosition::bytes(2, 1);
        /// The lowest.
        version_min: u8 = FieldPosition::bytes(3, 1);
        /// The initiator's part of the name of the session.
        isid: [u8; 6] = FieldPosition::bytes(8, 6);
        /// The target's part; 0 for a new session.
        tsih: u16 = FieldPosition::bytes(14, 2);
        /// Equal in all requests of a login.
        tag: Tag = FieldPosition::bytes(16, 4);
        /// Name of the connection.
        connection: u16 = FieldPosition::bytes(20, 2);
        /// The number of the next command.
        command: Serial = FieldPosition::bytes(24, 4);
        /// The number of the next response that is expected.
        expected_status: Serial = FieldPosition::bytes(28, 4);
    }
}

layout! {
    /// The answer to a step of the login: text in the data.
    pub struct LoginResponse: 48 {
        /// The target agrees to continue to the next stage.
        transit: bool = FieldPosition::flag(1, 7);
        /// The text continues in the next response.
        continues: bool = FieldPosition::flag(1, 6);
        /// The current stage, a number of [`stage`].
        current: u8 = FieldPosition::bits(1, 3, 2);
        next: u8 = FieldPosition::bits(1, 1, 0);
        /// The highest version of the protocol that the target knows.
        version_max: u8 = FieldPosition::bytes(2, 1);
        /// The version in use.
        version_active: u8 = FieldPosition::bytes(3, 1);
        /// The initiator's part of the name of the session.
        isid: [u8; 6] = FieldPosition::bytes(8, 6);
        /// The target's part, in the last response.
        tsih: u16 = FieldPosition::bytes(14, 2);
        tag: Tag = FieldPosition::bytes(16, 4);
        /// The number of this response.
        status: Serial = FieldPosition::bytes(24, 4);
        /// The number of the next command that is expected.
        expected_command: Serial = FieldPosition::bytes(28, 4);
        /// The largest number of a command that is taken now.
        max_command: Serial = FieldPosition::bytes(32, 4);
        /// Class and detail, a number of [`login_status`].
        result: u16 = FieldPosition::bytes(36, 2);
    }
}

/// Results of a login: class in the first byte, detail in the second.
pub mod login_status {
    /// The login continues, or has succeeded.
    pub const SUCCESS: u16 = 0x0000;
    /// The initiator made an error.
    pub const INITIATOR_ERROR: u16 = 0x0200;
    /// The initiator is not who it says.
    pub const AUTHENTICATION_FAILURE: u16 = 0x0201;
    /// The initiator may not use this target.
    pub const AUTHORIZATION_FAILURE: u16 = 0x0202;
    /// There is no such target.
    pub const NOT_FOUND: u16 = 0x0203;
    /// The version of the protocol is not supported.
    pub const UNSUPPORTED_VERSION: u16 = 0x0205;
    /// The session has its maximum number of connections.
    pub const TOO_MANY_CONNECTIONS: u16 = 0x0206;
    /// A key is missing, such as the initiator's name.
    pub const MISSING_PARAMETER: u16 = 0x0207;
    /// The connection cannot join this session.
    pub const CANNOT_INCLUDE: u16 = 0x0208;
    /// Sessions of this type are not supported.
    pub const UNSUPPORTED_SESSION: u16 = 0x0209;
    /// There is no such session.
    pub const NO_SESSION: u16 = 0x020a;
    /// The request is invalid in a login, or at this point of it.
    pub const INVALID_REQUEST: u16 = 0x020b;
    /// The target made an error.
    pub const TARGET_ERROR: u16 = 0x0300;
    /// The target is not available now.
    pub const UNAVAILABLE: u16 = 0x0301;
    /// The target has no room for another session or connection.
    pub const OUT_OF_RESOURCES: u16 = 0x0302;
}

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
    /// The command block without its padding: its length follows from the first bits of its code
    /// (SPC-4, "Command Descriptor Block"), except for codes of variable length and of vendors.
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

layout! {
    /// Data for a target.
    pub struct DataOut: 48 {
        /// The last of the unsolicited data, or of those that a [`ReadyToTransfer`] requested.
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

layout! {
    /// An initiator asks whether the target is there, or answers it.
    pub struct NopOut: 48 {
        /// It has no number of its own; answers never have one.
        immediate: bool = FieldPosition::flag(0, 6);
        /// That of the [`NopIn`] which it answers.
        lun: Lun = FieldPosition::bytes(8, 8);
        /// Name of the ping; [`Tag::NONE`] if no answer is wanted.
        tag: Tag = FieldPosition::bytes(16, 4);
        /// That of the [`NopIn`] which it answers; else [`Tag::NONE`].
        transfer: Tag = FieldPosition::bytes(20, 4);
        command: Serial = FieldPosition::bytes(24, 4);
        /// The number of the next response that is expected.
        expected_status: Serial = FieldPosition::bytes(28, 4);
    }
}

layout! {
    /// A target asks whether the initiator is there, or answers it.
    pub struct NopIn: 48 {
        /// The logical unit, to be sent back.
        lun: Lun = FieldPosition::bytes(8, 8);
        /// That of the [`NopOut`] which it answers; else [`Tag::NONE`].
        tag: Tag = FieldPosition::bytes(16, 4);
        /// Name of the ping; [`Tag::NONE`] if no answer is wanted.
        transfer: Tag = FieldPosition::bytes(20, 4);
        /// The number of this response; if it is not an answer, of the next one.
        status: Serial = FieldPosition::bytes(24, 4);
        /// The number of the next command that is expected.
        expected_command: Serial = FieldPosition::bytes(28, 4);
        /// The largest number of a command that is taken now.
        max_command: Serial = FieldPosition::bytes(32, 4);
    }
}

layout! {
    /// Text of an initiator.
    pub struct TextRequest: 48 {
        /// It has no number of its own.
        immediate: bool = FieldPosition::flag(0, 6);
        /// The initiator sends no more text.
        is_final: bool = FieldPosition::flag(1, 7);
        /// The text continues in the next request.
        continues: bool = FieldPosition::flag(1, 6);
        /// As the target wants it.
        lun: Lun = FieldPosition::bytes(8, 8);
        /// Equal in all requests of an exchange.
        tag: Tag = FieldPosition::bytes(16, 4);
        /// That of the response before; [`Tag::NONE`] at the beginning.
        transfer: Tag = FieldPosition::bytes(20, 4);
        command: Serial = FieldPosition::bytes(24, 4);
        /// The number of the next response that is expected.
        expected_status: Serial = FieldPosition::bytes(28, 4);
    }
}

layout! {
    /// Text of a target.
    pub struct TextResponse: 48 {
        /// The target sends no more text.
        is_final: bool = FieldPosition::flag(1, 7);
        /// The text continues in the next response.
        continues: bool = FieldPosition::flag(1, 6);
        /// To be sent back.
        lun: Lun = FieldPosition::bytes(8, 8);
        tag: Tag = FieldPosition::bytes(16, 4);
        /// To be sent back; [`Tag::NONE`] at the end.
        transfer: Tag = FieldPosition::bytes(20, 4);
        /// The number of this response.
        status: Serial = FieldPosition::bytes(24, 4);
        /// The number of the next command that is expected.
        expected_command: Serial = FieldPosition::bytes(28, 4);
        /// The largest number of a command that is taken now.
        max_command: Serial = FieldPosition::bytes(32, 4);
    }
}
