//! The wire format of NBD, the network block device protocol.
//!
//! A connection begins with a [`Greeting`] and options, which choose an export and the format of
//! the following messages ([`option`]); then come requests ([`Request`]) and replies ([`message`]).
//! The source is the protocol document of the NBD project ("The NBD protocol", doc/proto.md), cited
//! by the names of its messages, and its extension EXTENDED_HEADERS for the longer [`Headers`].

pub mod message;
pub mod option;

pub use message::{
    BadMagic, Command, CommandFlags, Error, ExtentFlags, Headers, MAX_STRING, Request,
};
pub use option::{ClientFlags, ExportReply, Greeting, TransmissionFlags};
