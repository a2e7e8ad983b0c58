//! Bytes and meaning of iSCSI, which carries SCSI over TCP.
//!
//! A connection carries messages (PDUs). Each begins with a basic header segment of 48 bytes,
//! which is a [`Message`] with its [`Lengths`]; then come additional header segments ([`segment`])
//! and data, each with a [`Digest`] after it if both sides agreed to that, and padded to words of
//! four bytes. A connection begins with a login, in which both sides negotiate by [`text`].
//!
//! The source is RFC 7143, cited by the names of its messages and keys.

mod control;
mod field;
mod message;
pub mod segment;
pub mod text;

pub use control::{
    AsyncMessage, LogoutRequest, LogoutResponse, Reject, Snack, async_event, logout_reason,
    logout_response, reject_reason, snack_kind,
};
pub use field::{Lun, Serial, Tag, padded};
pub use message::{
    Command, DataIn, DataOut, Invalid, Lengths, LoginRequest, LoginResponse, Message, NopIn,
    NopOut, ReadyToTransfer, Response, TaskRequest, TaskResponse, TextRequest, TextResponse,
    attribute, function, login_status, response, stage, task_response,
};
pub use segment::Digest;

/// The port at which targets listen (IANA, "iscsi-target").
pub const PORT: u16 = 3260;
