//! An iSCSI initiator: the [`diskarm_extract::Transport`] of a disk behind a target.
//!
//! A [`Session`] has one connection, on which one command is under way at a time, since that is how
//! drives are measured. It sends data with a command as far as the target permits, and the rest
//! when the target asks; it proves who it is by CHAP, and demands the same of the target if it has
//! a secret for that. The source is RFC 7143, cited by the names of its messages and keys.

mod address;
mod chap;
mod connection;
mod error;
mod login;
mod session;

pub use address::Address;
pub use chap::Credentials;
pub use error::Error;
pub use session::{Session, targets};
