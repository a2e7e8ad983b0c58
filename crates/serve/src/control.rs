//! The control socket: commands to exports from outside their protocol.
//!
//! A client sends a line of text, such as `power-cut(export=db, torn=yes)`, and gets a line of
//! JSON: an object with what it asked for, or with `error`.

mod command;
mod powered;
mod socket;

pub use command::{Command, ExportCommand};
pub use powered::PowerControl;
pub use socket::{ControlServer, ExportHandle, ask};

use serde::Serialize;

use crate::figures::Statistics;
use crate::power::{InjectedFault, Losses, PendingWrite};

/// What a command is answered.
#[derive(Clone, Debug)]
pub enum Reply {
    /// It is done.
    Done,
    /// The power is off.
    PowerCut(Losses),
    /// What can be lost.
    Pending(Pending),
    /// The blocks that fail.
    Errors(Vec<InjectedFault>),
    /// What has been served.
    Statistics(Box<Statistics>),
}

/// What is not on the media.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pending {
    /// Whether the power is on.
    pub is_powered: bool,
    /// The writes that are not on the media, in the order in which they arrived.
    pub pending: Vec<PendingWrite>,
    /// What the last power cut has taken.
    pub last_cut: Option<Losses>,
}
