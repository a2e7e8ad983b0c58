//! Bytes and meaning of NBD, the network block device protocol.
//!
//! A connection begins with a [`Greeting`] and options, which choose an export and the format of
//! the following messages ([`option`]); then come requests ([`Request`]) and replies ([`reply`]).
//! The source is the protocol document of the NBD project ("The NBD protocol", doc/proto.md), cited
//! by the names of its messages, and its extension EXTENDED_HEADERS for the longer [`Headers`].

mod field;
pub mod option;
pub mod reply;
pub mod request;

pub use field::{Headers, MAX_STRING};
pub use option::{ClientFlags, ExportReply, Greeting, TransmissionFlags};
pub use reply::{Error, ExtentFlags};
pub use request::{BadMagic, Command, CommandFlags, Request};
