//! The messages, their fields and their lengths.
//!
//! Of the sequence numbers, `command` is CmdSN, `status` is StatSN and `data` is DataSN. The prefix
//! `expected_` marks the next number that the sender expects, and `max_` the last that it accepts.
//! `tag` is the initiator task tag, `transfer` is the target transfer tag, and `connection` is the
//! CID. An `immediate` request has no number of its own. An `offset` counts bytes of the command's
//! data.

use crate::command::Size;
use crate::layout::{Field, FieldPosition};

/// Returns `length` rounded up to a multiple of four.
pub const fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

/// The identifier of a task or a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u32);

impl Tag {
    pub const NONE: Self = Self(0xffff_ffff);
}

/// A logical unit number of 64 bits (SAM-5, "LUN structures").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lun(pub u64);

impl Lun {
    /// Creates the number of a unit below 16,384, with peripheral device addressing below 256 and
    /// flat space addressing above. Panics if the number is larger.
    pub const fn new(number: u16) -> Self {
        assert!(number < 1 << 14, "a unit number has at most 14 bits");
        let method = if number < 256 { 0 } else { 1 << 14 };
        Self(((method | number) as u64) << 48)
    }

    /// Returns the number if it has one level, an addressing method of [`Self::new`], and bus 0.
    pub const fn number(self) -> Option<u16> {
        let first = (self.0 >> 48) as u16;
        let is_single = self.0 << 16 == 0;
        match first >> 14 {
            0 if is_single && first < 256 => Some(first),
            1 if is_single => Some(first & 0x3fff),
            _ => None,
        }
    }
}

/// A 32-bit sequence number, which wraps around (RFC 1982).
///
/// There is no order between numbers 2^31 apart, so the type has [`Self::is_before`] but not `Ord`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Serial(pub u32);

impl Serial {
    /// Returns the number that is `count` after this one.
    pub const fn plus(self, count: u32) -> Self {
        Self(self.0.wrapping_add(count))
    }

    pub const fn next(self) -> Self {
        self.plus(1)
    }

    pub const fn previous(self) -> Self {
        Self(self.0.wrapping_sub(1))
    }

    /// Returns the distance from `earlier` to this number.
    pub const fn since(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// Returns true if this number comes before `other` by less than 2^31.
    pub const fn is_before(self, other: Self) -> bool {
        let ahead = other.since(self);
        ahead != 0 && ahead < 1 << 31
    }
}

macro_rules! field_newtypes {
    ($($type:ident)+) => {$(
        impl Field for $type {
            fn read(data: &[u8], position: FieldPosition) -> Self {
                Self(Field::read(data, position))
            }

            fn write(&self, data: &mut [u8], position: FieldPosition) {
                self.0.write(data, position);
            }
        }
    )+};
}

field_newtypes! { Tag Lun Serial }

layout! {
    /// Lengths of a message, from its first 8 bytes.
    pub struct Lengths: 8 {
        /// Length of the additional header segments, in words of four bytes.
        ahs_words: u8 = FieldPosition::bytes(4, 1);
        /// Length of the data without padding, in bytes; at most 24 bits.
        data_length: u32 = FieldPosition::bytes(5, 3);
    }
}

impl Lengths {
    /// Creates the lengths of a message with `length` bytes of data and nothing else.
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
    /// The header is shorter than [`Message::LENGTH`].
    Short,
    /// The operation code is unknown.
    Operation(u8),
}

/// The bits of byte 0 that contain the operation code.
const OPERATION: u8 = 0x3f;

/// Declares the messages, each with its code in byte 0 and the bits of byte 1 that are always set.
macro_rules! messages {
    ($(
        $(#[$about:meta])*
        $name:ident = $code:literal, $fixed:literal { $($fields:tt)+ }
    )+) => {
        $(layout! {
            $(#[$about])*
            pub struct $name: 48 { $($fields)+ }
        })+

        /// A basic header segment, without its lengths.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Message { $($name($name),)+ }

        impl Message {
            /// Length of a basic header segment, in bytes.
            pub const LENGTH: usize = 48;

            /// Reads the first [`Self::LENGTH`] bytes of `data`; reserved bits are ignored. Fails
            /// if there are too few bytes or the operation is unknown.
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

            pub const fn operation(&self) -> u8 {
                match self { $(Self::$name(_) => $code & OPERATION,)+ }
            }

            /// Encodes the message; panics if a number does not fit its field.
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

messages! {
    /// A ping from the initiator, or its answer to a ping.
    NopOut = 0x00, 0x80 {
        /// The message has no number of its own; answers never have one.
        immediate: bool = FieldPosition::flag(0, 6);
        /// Copied from the [`NopIn`] that it answers.
        lun: Lun = FieldPosition::bytes(8, 8);
        /// Tag of the ping; [`Tag::NONE`] if no answer is wanted.
        tag: Tag = FieldPosition::bytes(16, 4);
        /// Copied from the [`NopIn`] that it answers; otherwise [`Tag::NONE`].
        transfer: Tag = FieldPosition::bytes(20, 4);
        command: Serial = FieldPosition::bytes(24, 4);
        expected_status: Serial = FieldPosition::bytes(28, 4);
    }

    /// A SCSI command, possibly with its first data.
    Command = 0x01, 0x00 {
        immediate: bool = FieldPosition::flag(0, 6);
        /// No unsolicited data follow.
        is_final: bool = FieldPosition::flag(1, 7);
        /// The initiator expects data.
        reads: bool = FieldPosition::flag(1, 6);
        /// The initiator sends data.
        writes: bool = FieldPosition::flag(1, 5);
        /// Task attribute, a constant from [`attribute`].
        attribute: u8 = FieldPosition::bits(1, 2, 0);
        lun: Lun = FieldPosition::bytes(8, 8);
        tag: Tag = FieldPosition::bytes(16, 4);
        length: u32 = FieldPosition::bytes(20, 4);
        command: Serial = FieldPosition::bytes(24, 4);
        expected_status: Serial = FieldPosition::bytes(28, 4);
        /// The command block; a longer one continues in an additional header segment.
        block: [u8; 16] = FieldPosition::bytes(32, 16);
    }

    /// A task management function.
    TaskRequest = 0x02, 0x80 {
        immediate: bool = FieldPosition::flag(0, 6);
        /// A constant from [`function`].
        function: u8 = FieldPosition::bits(1, 6, 0);
        /// The logical unit, if the function concerns one.
        lun: Lun = FieldPosition::bytes(8, 8);
        tag: Tag = FieldPosition::bytes(16, 4);
        /// The task to abort or reassign.
        task: Tag = FieldPosition::bytes(20, 4);
        command: Serial = FieldPosition::bytes(24, 4);
        expected_status: Serial = FieldPosition::bytes(28, 4);
        task_command: Serial = FieldPosition::bytes(32, 4);
        /// For a task to reassign: the next expected data number.
        expected_data: Serial = FieldPosition::bytes(36, 4);
    }

    /// A step of the login, with text as data.
    LoginRequest = 0x43, 0x00 {
        /// The initiator wants to continue to the next stage.
        transit: bool = FieldPosition::flag(1, 7);
        continues: bool = FieldPosition::flag(1, 6);
        /// The current stage, a constant from [`stage`].
        current: u8 = FieldPosition::bits(1, 3, 2);
        next: u8 = FieldPosition::bits(1, 1, 0);
        version_max: u8 = FieldPosition::bytes(2, 1);
        version_min: u8 = FieldPosition::bytes(3, 1);
        isid: [u8; 6] = FieldPosition::bytes(8, 6);
        /// The target's part of the session identifier; 0 for a new session.
        tsih: u16 = FieldPosition::bytes(14, 2);
        /// The same in all requests of a login.
        tag: Tag = FieldPosition::bytes(16, 4);
        connection: u16 = FieldPosition::bytes(20, 2);
        command: Serial = FieldPosition::bytes(24, 4);
        expected_status: Serial = FieldPosition::bytes(28, 4);
    }

    /// Text from an initiator.
    TextRequest = 0x04, 0x00 {
        immediate: bool = FieldPosition::flag(0, 6);
        is_final: bool = FieldPosition::flag(1, 7);
        continues: bool = FieldPosition::flag(1, 6);
        /// Copied from the previous response.
        lun: Lun = FieldPosition::bytes(8, 8);
        /// The same in all requests of an exchange.
        tag: Tag = FieldPosition::bytes(16, 4);
        /// Copied from the previous response; [`Tag::NONE`] at the beginning.
        transfer: Tag = FieldPosition::bytes(20, 4);
        command: Serial = FieldPosition::bytes(24, 4);
        expected_status: Serial = FieldPosition::bytes(28, 4);
    }

    /// Data for a target.
    DataOut = 0x05, 0x00 {
        /// The last of the unsolicited data, or of those that a [`ReadyToTransfer`] requested.
        is_final: bool = FieldPosition::flag(1, 7);
        /// Copied from the [`ReadyToTransfer`]; reserved in unsolicited data.
        lun: Lun = FieldPosition::bytes(8, 8);
        tag: Tag = FieldPosition::bytes(16, 4);
        /// Copied from the [`ReadyToTransfer`]; [`Tag::NONE`] in unsolicited data.
        transfer: Tag = FieldPosition::bytes(20, 4);
        expected_status: Serial = FieldPosition::bytes(28, 4);
        /// Counts the messages of a sequence.
        data: Serial = FieldPosition::bytes(36, 4);
        offset: u32 = FieldPosition::bytes(40, 4);
    }

    /// A request to end a connection or session.
    LogoutRequest = 0x06, 0x80 {
        immediate: bool = FieldPosition::flag(0, 6);
        /// A constant from [`logout_reason`].
        reason: u8 = FieldPosition::bits(1, 6, 0);
        tag: Tag = FieldPosition::bytes(16, 4);
        /// The connection to end, unless the session is to end.
        connection: u16 = FieldPosition::bytes(20, 2);
        command: Serial = FieldPosition::bytes(24, 4);
        expected_status: Serial = FieldPosition::bytes(28, 4);
    }

    /// A report of missing messages, or an acknowledgement of data.
    Snack = 0x10, 0x80 {
        /// A constant from [`snack_kind`].
        kind: u8 = FieldPosition::bits(1, 3, 0);
        /// The logical unit, for an acknowledgement.
        lun: Lun = FieldPosition::bytes(8, 8);
        /// The tag of the task; otherwise [`Tag::NONE`].
        tag: Tag = FieldPosition::bytes(16, 4);
        /// Copied from the response, or from the acknowledged [`super::DataIn`].
        transfer: Tag = FieldPosition::bytes(20, 4);
        expected_status: Serial = FieldPosition::bytes(28, 4);
        first: Serial = FieldPosition::bytes(40, 4);
        /// Number of missing messages; 0 for all that follow.
        count: u32 = FieldPosition::bytes(44, 4);
    }

    /// A ping from the target, or its answer to a ping.
    NopIn = 0x20, 0x80 {
        /// The logical unit, to be sent back.
        lun: Lun = FieldPosition::bytes(8, 8);
        /// Copied from the [`NopOut`] that it answers; otherwise [`Tag::NONE`].
        tag: Tag = FieldPosition::bytes(16, 4);
        /// Tag of the ping; [`Tag::NONE`] if no answer is wanted.
        transfer: Tag = FieldPosition::bytes(20, 4);
        /// The number of this response if it is an answer, otherwise of the next response.
        status: Serial = FieldPosition::bytes(24, 4);
        expected_command: Serial = FieldPosition::bytes(28, 4);
        max_command: Serial = FieldPosition::bytes(32, 4);
    }

    /// The outcome of a SCSI command; the data contain its sense data ([`super::segment::sense`]).
    Response = 0x21, 0x80 {
        /// Bidirectional commands: more would have been read than was expected.
        read_overflow: bool = FieldPosition::flag(1, 4);
        /// Bidirectional commands: less was read than was expected.
        read_underflow: bool = FieldPosition::flag(1, 3);
        /// More would have been transferred than was expected.
        overflow: bool = FieldPosition::flag(1, 2);
        /// Less was transferred than was expected.
        underflow: bool = FieldPosition::flag(1, 1);
        /// A constant from [`response`].
        response: u8 = FieldPosition::bytes(2, 1);
        scsi_status: u8 = FieldPosition::bytes(3, 1);
        tag: Tag = FieldPosition::bytes(16, 4);
        snack: Tag = FieldPosition::bytes(20, 4);
        status: Serial = FieldPosition::bytes(24, 4);
        expected_command: Serial = FieldPosition::bytes(28, 4);
        max_command: Serial = FieldPosition::bytes(32, 4);
        /// Number of data messages and data requests that the target has sent.
        expected_data: Serial = FieldPosition::bytes(36, 4);
        /// Difference between the actual and the expected length of the read data.
        read_residual: u32 = FieldPosition::bytes(40, 4);
        /// Difference between the actual and the expected length of the transfer.
        residual: u32 = FieldPosition::bytes(44, 4);
    }

    /// The outcome of a task management function.
    TaskResponse = 0x22, 0x80 {
        /// A constant from [`task_response`].
        response: u8 = FieldPosition::bytes(2, 1);
        tag: Tag = FieldPosition::bytes(16, 4);
        status: Serial = FieldPosition::bytes(24, 4);
        expected_command: Serial = FieldPosition::bytes(28, 4);
        max_command: Serial = FieldPosition::bytes(32, 4);
    }

    /// The answer to a step of the login, with text as data.
    LoginResponse = 0x23, 0x00 {
        /// The target agrees to continue to the next stage.
        transit: bool = FieldPosition::flag(1, 7);
        continues: bool = FieldPosition::flag(1, 6);
        /// The current stage, a constant from [`stage`].
        current: u8 = FieldPosition::bits(1, 3, 2);
        next: u8 = FieldPosition::bits(1, 1, 0);
        version_max: u8 = FieldPosition::bytes(2, 1);
        version_active: u8 = FieldPosition::bytes(3, 1);
        isid: [u8; 6] = FieldPosition::bytes(8, 6);
        /// The target's part of the session identifier, in the last response.
        tsih: u16 = FieldPosition::bytes(14, 2);
        tag: Tag = FieldPosition::bytes(16, 4);
        status: Serial = FieldPosition::bytes(24, 4);
        expected_command: Serial = FieldPosition::bytes(28, 4);
        max_command: Serial = FieldPosition::bytes(32, 4);
        /// Class and detail, a constant from [`login_status`].
        result: u16 = FieldPosition::bytes(36, 2);
    }

    /// Text from a target.
    TextResponse = 0x24, 0x00 {
        is_final: bool = FieldPosition::flag(1, 7);
        continues: bool = FieldPosition::flag(1, 6);
        /// The initiator sends it back.
        lun: Lun = FieldPosition::bytes(8, 8);
        tag: Tag = FieldPosition::bytes(16, 4);
        /// The initiator sends it back; [`Tag::NONE`] at the end.
        transfer: Tag = FieldPosition::bytes(20, 4);
        status: Serial = FieldPosition::bytes(24, 4);
        expected_command: Serial = FieldPosition::bytes(28, 4);
        max_command: Serial = FieldPosition::bytes(32, 4);
    }

    /// Data for an initiator.
    DataIn = 0x25, 0x00 {
        /// The last message of a sequence.
        is_final: bool = FieldPosition::flag(1, 7);
        /// The target requests an acknowledgement.
        acknowledge: bool = FieldPosition::flag(1, 6);
        /// Only with a status: more would have been read than was expected.
        overflow: bool = FieldPosition::flag(1, 2);
        /// Only with a status: less was read than was expected.
        underflow: bool = FieldPosition::flag(1, 1);
        /// The command ends with these data; no response follows.
        has_status: bool = FieldPosition::flag(1, 0);
        scsi_status: u8 = FieldPosition::bytes(3, 1);
        /// The logical unit, if the target wants an acknowledgement.
        lun: Lun = FieldPosition::bytes(8, 8);
        tag: Tag = FieldPosition::bytes(16, 4);
        /// Identifies the acknowledgement; otherwise [`Tag::NONE`].
        transfer: Tag = FieldPosition::bytes(20, 4);
        /// The number of this response; only with a status.
        status: Serial = FieldPosition::bytes(24, 4);
        expected_command: Serial = FieldPosition::bytes(28, 4);
        max_command: Serial = FieldPosition::bytes(32, 4);
        /// Counts the data messages of the command.
        data: Serial = FieldPosition::bytes(36, 4);
        offset: u32 = FieldPosition::bytes(40, 4);
        /// Difference between the actual and the expected length; only with a status.
        residual: u32 = FieldPosition::bytes(44, 4);
    }

    /// The answer to a logout.
    LogoutResponse = 0x26, 0x80 {
        /// A constant from [`logout_response`].
        response: u8 = FieldPosition::bytes(2, 1);
        tag: Tag = FieldPosition::bytes(16, 4);
        status: Serial = FieldPosition::bytes(24, 4);
        expected_command: Serial = FieldPosition::bytes(28, 4);
        max_command: Serial = FieldPosition::bytes(32, 4);
        /// Minimum time before a new attempt, in seconds.
        wait_s: u16 = FieldPosition::bytes(40, 2);
        /// Time for which tasks are kept after that, in seconds.
        retain_s: u16 = FieldPosition::bytes(42, 2);
    }

    /// A target's request for data (R2T).
    ReadyToTransfer = 0x31, 0x80 {
        lun: Lun = FieldPosition::bytes(8, 8);
        tag: Tag = FieldPosition::bytes(16, 4);
        /// To be copied to the data messages.
        transfer: Tag = FieldPosition::bytes(20, 4);
        status: Serial = FieldPosition::bytes(24, 4);
        expected_command: Serial = FieldPosition::bytes(28, 4);
        max_command: Serial = FieldPosition::bytes(32, 4);
        /// Counts the requests for data of the command.
        number: Serial = FieldPosition::bytes(36, 4);
        offset: u32 = FieldPosition::bytes(40, 4);
        length: u32 = FieldPosition::bytes(44, 4);
    }

    /// An event at the target.
    AsyncMessage = 0x32, 0x80 {
        lun: Lun = FieldPosition::bytes(8, 8);
        tag: Tag = FieldPosition::bytes(16, 4);
        status: Serial = FieldPosition::bytes(24, 4);
        expected_command: Serial = FieldPosition::bytes(28, 4);
        max_command: Serial = FieldPosition::bytes(32, 4);
        /// A constant from [`async_event`].
        event: u8 = FieldPosition::bytes(36, 1);
        vendor: u8 = FieldPosition::bytes(37, 1);
        /// First parameter: the connection, if the event concerns one, or a time in seconds.
        first: u16 = FieldPosition::bytes(38, 2);
        /// Second parameter: how long to wait before a new attempt, in seconds.
        second: u16 = FieldPosition::bytes(40, 2);
        /// Third parameter: how long tasks are kept after that, in seconds.
        third: u16 = FieldPosition::bytes(42, 2);
    }

    /// The rejection of a message. The data are the header of the rejected message.
    Reject = 0x3f, 0x80 {
        /// A constant from [`reject_reason`].
        reason: u8 = FieldPosition::bytes(2, 1);
        tag: Tag = FieldPosition::bytes(16, 4);
        status: Serial = FieldPosition::bytes(24, 4);
        expected_command: Serial = FieldPosition::bytes(28, 4);
        max_command: Serial = FieldPosition::bytes(32, 4);
        /// For a protocol error in a SNACK: the next data number.
        data: Serial = FieldPosition::bytes(36, 4);
    }
}

impl Command {
    /// Returns the command block without its padding. The first bits of the operation code give the
    /// length (SPC-4, "Command Descriptor Block") unless it is variable-length or vendor-specific.
    pub fn unpadded(&self) -> &[u8] {
        &self.block[..Size::from_code(self.block[0]).bytes()]
    }
}

pub mod stage {
    pub const SECURITY: u8 = 0;
    pub const OPERATIONAL: u8 = 1;
    pub const FULL_FEATURE: u8 = 3;
}

/// Results of a login: class in the first byte, detail in the second.
pub mod login_status {
    /// The login continues, or has succeeded.
    pub const SUCCESS: u16 = 0x0000;
    pub const INITIATOR_ERROR: u16 = 0x0200;
    pub const AUTHENTICATION_FAILURE: u16 = 0x0201;
    pub const AUTHORIZATION_FAILURE: u16 = 0x0202;
    pub const NOT_FOUND: u16 = 0x0203;
    pub const UNSUPPORTED_VERSION: u16 = 0x0205;
    pub const TOO_MANY_CONNECTIONS: u16 = 0x0206;
    /// A key is missing, such as the initiator's name.
    pub const MISSING_PARAMETER: u16 = 0x0207;
    pub const NO_SESSION: u16 = 0x020a;
    /// The request is invalid in a login, or at this point of the login.
    pub const INVALID_REQUEST: u16 = 0x020b;
    pub const TARGET_ERROR: u16 = 0x0300;
    pub const UNAVAILABLE: u16 = 0x0301;
    pub const OUT_OF_RESOURCES: u16 = 0x0302;
}

pub mod attribute {
    pub const SIMPLE: u8 = 1;
    /// After all older tasks and before all newer ones.
    pub const ORDERED: u8 = 2;
    /// Before all waiting tasks.
    pub const HEAD_OF_QUEUE: u8 = 3;
    /// While an auto contingent allegiance lasts.
    pub const ACA: u8 = 4;
}

pub mod response {
    /// The target has executed the command; the status is its outcome.
    pub const COMPLETED: u8 = 0;
}

pub mod function {
    pub const ABORT_TASK: u8 = 1;
    /// `ABORT TASK SET`: all tasks of this initiator.
    pub const ABORT_TASK_SET: u8 = 2;
    /// `CLEAR TASK SET`: all tasks.
    pub const CLEAR_TASK_SET: u8 = 4;
    pub const UNIT_RESET: u8 = 5;
    pub const WARM_RESET: u8 = 6;
    /// `TARGET COLD RESET`: all connections end, too.
    pub const COLD_RESET: u8 = 7;
    /// `TASK REASSIGN`: a task of another connection.
    pub const REASSIGN: u8 = 8;
}

pub mod task_response {
    pub const COMPLETE: u8 = 0;
    pub const NO_TASK: u8 = 1;
    pub const NO_UNIT: u8 = 2;
    pub const NO_REASSIGNMENT: u8 = 4;
    pub const NOT_SUPPORTED: u8 = 5;
}

pub mod logout_reason {
    pub const CLOSE_SESSION: u8 = 0;
    pub const CLOSE_CONNECTION: u8 = 1;
    /// A connection whose tasks another connection takes over.
    pub const RECOVER_CONNECTION: u8 = 2;
}

pub mod logout_response {
    pub const CLOSED: u8 = 0;
    pub const NO_CONNECTION: u8 = 1;
    pub const NO_RECOVERY: u8 = 2;
    pub const FAILED: u8 = 3;
}

pub mod snack_kind {
    /// Data, or requests for data.
    pub const DATA: u8 = 0;
    pub const STATUS: u8 = 1;
}

pub mod async_event {
    /// A SCSI event; the data contain its sense data.
    pub const SCSI: u8 = 0;
    pub const LOGOUT_WANTED: u8 = 1;
    pub const NEGOTIATION_WANTED: u8 = 4;
}

pub mod reject_reason {
    pub const DATA_DIGEST: u8 = 0x02;
    pub const SNACK: u8 = 0x03;
    pub const PROTOCOL_ERROR: u8 = 0x04;
    pub const NOT_SUPPORTED: u8 = 0x05;
    /// The target accepts no more immediate commands for now.
    pub const IMMEDIATE: u8 = 0x06;
    pub const TASK_IN_PROGRESS: u8 = 0x07;
    pub const INVALID_FIELD: u8 = 0x09;
}
