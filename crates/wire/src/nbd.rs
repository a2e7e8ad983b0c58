//! The wire format of NBD, the network block device protocol.
//!
//! A connection begins with a [`Greeting`] and options, which choose an export and the format of
//! the following messages ([`option`]). Requests ([`Request`]) and replies ([`message`]) follow.
//! The source is the protocol document of the NBD project ("The NBD protocol", doc/proto.md) with
//! its extension EXTENDED_HEADERS ([`Headers`]); comments refer to messages by name.

pub mod message;
pub mod option;

pub use message::{
    BadMagic, Command, CommandFlags, Error, ExtentFlags, Headers, MAX_STRING, Request, shortened,
};
pub use option::{ClientFlags, ExportReply, Greeting, TransmissionFlags};
