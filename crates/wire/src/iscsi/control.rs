//! Messages that end connections, ask for what is missing, and reject others.

use super::field::{Lun, Serial, Tag};
use crate::layout::FieldPosition;

layout! {
    /// An initiator wants to end a connection or session.
    pub struct LogoutRequest: 48 {
        /// It has no number of its own.
        immediate: bool = FieldPosition::flag(0, 6);
        /// A number of [`logout_reason`].
        reason: u8 = FieldPosition::bits(1, 6, 0);
        /// Name of this request.
        tag: Tag = FieldPosition::bytes(16, 4);
        /// The connection to end, unless it is the session.
        connection: u16 = FieldPosition::bytes(20, 2);
        command: Serial = FieldPosition::bytes(24, 4);
        /// The number of the next response that is expected.
        expected_status: Serial = FieldPosition::bytes(28, 4);
    }
}

/// Numbers of what a logout ends.
pub mod logout_reason {
    pub const CLOSE_SESSION: u8 = 0;
    pub const CLOSE_CONNECTION: u8 = 1;
    /// A connection, whose tasks another one takes over.
    pub const RECOVER_CONNECTION: u8 = 2;
}

layout! {
    /// The answer to a logout.
    pub struct LogoutResponse: 48 {
        /// A number of [`logout_response`].
        response: u8 = FieldPosition::bytes(2, 1);
        tag: Tag = FieldPosition::bytes(16, 4);
        /// The number of this response.
        status: Serial = FieldPosition::bytes(24, 4);
        /// The number of the next command that is expected.
        expected_command: Serial = FieldPosition::bytes(28, 4);
        /// The largest number of a command that is taken now.
        max_command: Serial = FieldPosition::bytes(32, 4);
        /// Minimum time before a new attempt, in seconds.
        wait_s: u16 = FieldPosition::bytes(40, 2);
        /// Time for which tasks are kept after that, in seconds.
        retain_s: u16 = FieldPosition::bytes(42, 2);
    }
}

/// Numbers of answers to a logout.
pub mod logout_response {
    /// It has ended.
    pub const CLOSED: u8 = 0;
    /// There is no such connection.
    pub const NO_CONNECTION: u8 = 1;
    /// Connections cannot be recovered.
    pub const NO_RECOVERY: u8 = 2;
    /// It failed.
    pub const FAILED: u8 = 3;
}

layout! {
    /// An initiator reports missing messages, or acknowledges data.
    pub struct Snack: 48 {
        /// A number of [`snack_kind`].
        kind: u8 = FieldPosition::bits(1, 3, 0);
        /// The logical unit, for an acknowledgement.
        lun: Lun = FieldPosition::bytes(8, 8);
        /// The task's; else [`Tag::NONE`].
        tag: Tag = FieldPosition::bytes(16, 4);
        /// That of the response, or of the [`super::DataIn`] that is acknowledged.
        transfer: Tag = FieldPosition::bytes(20, 4);
        /// The number of the next response that is expected.
        expected_status: Serial = FieldPosition::bytes(28, 4);
        /// The first missing one.
        first: Serial = FieldPosition::bytes(40, 4);
        /// Number of missing messages; 0 for all that follow.
        count: u32 = FieldPosition::bytes(44, 4);
    }
}

/// Numbers of what is missed.
pub mod snack_kind {
    /// Data, or messages that want data.
    pub const DATA: u8 = 0;
    pub const STATUS: u8 = 1;
    /// Nothing: data have arrived.
    pub const DATA_ACKNOWLEDGED: u8 = 2;
    /// All data, in messages of another length.
    pub const ALL_DATA: u8 = 3;
}

layout! {
    /// Something has happened at the target.
    pub struct AsyncMessage: 48 {
        lun: Lun = FieldPosition::bytes(8, 8);
        /// [`Tag::NONE`].
        tag: Tag = FieldPosition::bytes(16, 4);
        /// The number of this response.
        status: Serial = FieldPosition::bytes(24, 4);
        /// The number of the next command that is expected.
        expected_command: Serial = FieldPosition::bytes(28, 4);
        /// The largest number of a command that is taken now.
        max_command: Serial = FieldPosition::bytes(32, 4);
        /// A number of [`async_event`].
        event: u8 = FieldPosition::bytes(36, 1);
        /// A number of the vendor.
        vendor: u8 = FieldPosition::bytes(37, 1);
        /// First parameter: the connection, if the event is about one, or a time in seconds.
        first: u16 = FieldPosition::bytes(38, 2);
        /// Second parameter: how long to wait before a new attempt, in seconds.
        second: u16 = FieldPosition::bytes(40, 2);
        /// Third parameter: how long tasks are kept after that, in seconds.
        third: u16 = FieldPosition::bytes(42, 2);
    }
}

pub mod async_event {
    /// A SCSI event, with sense data in the data.
    pub const SCSI: u8 = 0;
    /// The target asks for a logout of this connection.
    pub const LOGOUT_WANTED: u8 = 1;
    /// The target will close, or has closed, a connection.
    pub const CONNECTION_ENDS: u8 = 2;
    /// The target will close, or has closed, all connections of the session.
    pub const SESSION_ENDS: u8 = 3;
    /// The target wants to negotiate on this connection.
    pub const NEGOTIATION_WANTED: u8 = 4;
}

layout! {
    /// A target does not take a message, whose header is in the data.
    pub struct Reject: 48 {
        /// A number of [`reject_reason`].
        reason: u8 = FieldPosition::bytes(2, 1);
        /// [`Tag::NONE`].
        tag: Tag = FieldPosition::bytes(16, 4);
        /// The number of this response.
        status: Serial = FieldPosition::bytes(24, 4);
        /// The number of the next command that is expected.
        expected_command: Serial = FieldPosition::bytes(28, 4);
        /// The largest number of a command that is taken now.
        max_command: Serial = FieldPosition::bytes(32, 4);
        /// For a protocol error of a SNACK: the next number of the data.
        data: Serial = FieldPosition::bytes(36, 4);
    }
}

/// Numbers of reasons for a rejection.
pub mod reject_reason {
    /// The digest of the data is wrong.
    pub const DATA_DIGEST: u8 = 0x02;
    /// The target does not send it again.
    pub const SNACK: u8 = 0x03;
    /// It does not follow the protocol.
    pub const PROTOCOL_ERROR: u8 = 0x04;
    /// The target does not know it.
    pub const NOT_SUPPORTED: u8 = 0x05;
    /// The target takes no more immediate commands now.
    pub const IMMEDIATE: u8 = 0x06;
    /// The task is being served.
    pub const TASK_IN_PROGRESS: u8 = 0x07;
    /// The acknowledgement is of no data.
    pub const INVALID_ACKNOWLEDGEMENT: u8 = 0x08;
    /// A field has a value that the target does not take.
    pub const INVALID_FIELD: u8 = 0x09;
    /// The target has no room for a response that would be this long.
    pub const LONG_OPERATION: u8 = 0x0a;
    /// The negotiation starts over.
    pub const NEGOTIATION_RESET: u8 = 0x0b;
    /// The target waits for a logout.
    pub const WAITING_FOR_LOGOUT: u8 = 0x0c;
}
