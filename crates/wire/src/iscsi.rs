//! Bytes and meaning of iSCSI, which carries SCSI over TCP.
//!
//! A connection carries messages (PDUs). Each begins with a basic header segment of 48 bytes,
//! which is a [`Message`] with its [`Lengths`]; then come additional header segments ([`segment`])
//! and data, each with a [`Digest`] after it if both sides agreed to that, and padded to words of
//! four bytes. A connection begins with a login, in which both sides negotiate by [`text`].
//!
//! The source is RFC 7143, cited by the names of its messages and keys.

mod control;
mod data;
mod digest;
mod login;
mod lun;
pub mod segment;
mod serial;
mod task;
pub mod text;

pub use control::{
    AsyncMessage, LogoutRequest, LogoutResponse, NopIn, NopOut, Reject, Snack, TextRequest,
    TextResponse, async_event, logout_reason, logout_response, reject_reason, snack_kind,
};
pub use data::{DataIn, DataOut, ReadyToTransfer};
pub use digest::Digest;
pub use login::{LoginRequest, LoginResponse, login_status, stage};
pub use lun::Lun;
pub use serial::Serial;
pub use task::{
    Command, Response, TaskRequest, TaskResponse, attribute, function, response, task_response,
};

use crate::layout::{Field, FieldPosition};

/// The port at which targets listen (IANA, "iscsi-target").
pub const PORT: u16 = 3260;

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
    /// No additional header segments, and `length` bytes of data.
    pub const fn of_data(length: usize) -> Self {
        Self {
            ahs_words: 0,
            data_length: length as u32,
        }
    }

    /// Length of the additional header segments, in bytes.
    pub const fn ahs(self) -> usize {
        self.ahs_words as usize * 4
    }

    /// Length of the data, in bytes, with their padding.
    pub const fn padded(self) -> usize {
        padded(self.data_length as usize)
    }
}

/// `length` bytes with their padding to words of four bytes.
pub const fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

/// The name of a task or a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u32);

impl Tag {
    /// The name of nothing.
    pub const NONE: Self = Self(0xffff_ffff);
}

impl Field for Tag {
    fn read(data: &[u8], place: FieldPosition) -> Self {
        Self(Field::read(data, place))
    }

    fn write(&self, data: &mut [u8], place: FieldPosition) {
        self.0.write(data, place);
    }
}

/// The reason that bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// There are fewer than [`Message::LENGTH`].
    Short,
    /// The code of the operation is unknown.
    Operation(u8),
}

/// Declares the messages: a row for each with its code, as byte 0 has it, and those bits of byte 1
/// that are always set.
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

            /// The code of the operation.
            pub const fn operation(&self) -> u8 {
                match self { $(Self::$name(_) => $code & OPERATION,)+ }
            }

            /// The bytes.
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
    /// An initiator misses something.
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
