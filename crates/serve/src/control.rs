//! The control socket: commands to exports from outside their protocol.
//!
//! A client sends a line of text, such as `power-cut(export=db, torn=yes)`, and gets a line of
//! JSON: an object with what it asked for, or with `error`.

mod command;
mod powered;
mod socket;

pub use command::{Command, Named};
pub use powered::Powered;
pub use socket::{Controller, Remote, ask};

use serde::Serialize;

use crate::figures::Served;
use crate::power::{Injected, Lost, Unwritten};

/// What a command is answered.
#[derive(Clone, Debug)]
pub enum Reply {
    /// It is done.
    Done,
    /// The power is off.
    Cut(Lost),
    /// What can be lost.
    Pending(Pending),
    /// The blocks that fail.
    Errors(Vec<Injected>),
    /// What has been served.
    Served(Box<Served>),
}

/// What is not on the media.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pending {
    /// Whether the power is on.
    pub is_powered: bool,
    /// The writes that are not on the media, in the order in which they arrived.
    pub pending: Vec<Unwritten>,
    /// What the last power cut has taken.
    pub last_cut: Option<Lost>,
}
