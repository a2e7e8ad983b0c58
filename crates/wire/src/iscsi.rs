//! The wire format of iSCSI, which carries SCSI over TCP.
//!
//! A connection carries messages (PDUs). Each begins with a basic header segment of 48 bytes, which
//! is a [`Message`] with its [`Lengths`]. Additional header segments ([`segment`]) and data follow,
//! each padded to words of four bytes, and with a [`Digest`] if both sides have agreed on one. A
//! connection begins with a login, in which both sides negotiate with [`text`].
//!
//! The source is RFC 7143; comments refer to its messages and keys by name.

mod message;
pub mod segment;
pub mod text;

pub use message::{
    AsyncMessage, Command, DataIn, DataOut, Invalid, Lengths, LoginRequest, LoginResponse,
    LogoutRequest, LogoutResponse, Lun, Message, NopIn, NopOut, ReadyToTransfer, Reject, Response,
    Serial, Snack, Tag, TaskRequest, TaskResponse, TextRequest, TextResponse, async_event,
    attribute, function, login_status, logout_reason, logout_response, padded, reject_reason,
    response, snack_kind, stage, task_response,
};
pub use segment::Digest;

/// The port on which targets listen (IANA, "iscsi-target").
pub const PORT: u16 = 3260;
