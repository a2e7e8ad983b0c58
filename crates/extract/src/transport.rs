//! What carries commands to a drive.

use diskarm_core::units::{Instant, Span};

/// Carries SCSI commands to one logical unit, one at a time, and times them.
///
/// Times are those of the host: a command is sent when the host hands it over, and has ended when
/// the host knows of it.
pub trait Transport {
    /// Sends a command and waits until it ends.
    ///
    /// # Errors
    /// The transport lost the command, or the drive. A command that the drive ends with another
    /// status than GOOD is a [`Reply`].
    fn execute(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, Broken>;

    /// Sends nothing for a while.
    fn rest(&mut self, span: Span);

    /// The present instant on the clock that replies are timed with.
    fn now(&self) -> Instant;
}

/// The data of a command, seen from the host.
#[derive(Debug)]
pub enum Data<'a> {
    /// None.
    None,
    /// From the drive, to here.
    In(&'a mut [u8]),
    /// To the drive, from here.
    Out(&'a [u8]),
}

impl Data<'_> {
    /// The same once more.
    pub(crate) fn again(&mut self) -> Data<'_> {
        match self {
            Self::None => Data::None,
            Self::In(bytes) => Data::In(bytes),
            Self::Out(bytes) => Data::Out(bytes),
        }
    }
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status byte (SAM-5); 0 is GOOD.
    pub status: u8,
    /// Sense data; empty unless the status is CHECK CONDITION.
    pub sense: Vec<u8>,
    /// Bytes transferred.
    pub transferred: usize,
    /// When the command was sent.
    pub sent: Instant,
    /// When it ended.
    pub ended: Instant,
}

/// The transport failed, for a reason in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// A command got no answer: it took too long, or a reset ended it. The next one may get one.
    Command(String),
    /// The drive cannot be reached any more.
    Transport(String),
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Command(why) | Self::Transport(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Broken {}
