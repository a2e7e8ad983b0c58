//! Why a disk cannot be used.

use std::io;

use diskarm_wire::iscsi::login_status;

/// Why a disk cannot be used.
#[derive(Debug)]
pub enum Error {
    /// The connection could not be made, or failed.
    Io(io::Error),
    /// Nothing came in time.
    Timeout,
    /// The target refused the login, with a number of [`login_status`].
    Login(u16),
    /// The target does not follow the protocol, or wants what is not known here.
    Protocol(String),
    /// The target could not prove who it is.
    Impostor,
    /// There is a disk, but writes would destroy what it holds.
    Content(&'static str),
    /// The disk could not be asked.
    Disk(diskarm_extract::Error),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(source) => source.fmt(f),
            Self::Timeout => f.write_str("the target did not answer in time"),
            Self::Login(status) => {
                let why = match *status {
                    login_status::AUTHENTICATION_FAILURE => "user or secret is wrong or missing",
                    login_status::AUTHORIZATION_FAILURE => "this target may not be used",
                    login_status::NOT_FOUND => "there is no such target",
                    login_status::UNSUPPORTED_VERSION => "another version of the protocol",
                    login_status::TOO_MANY_CONNECTIONS | login_status::OUT_OF_RESOURCES => {
                        "the target has no room for another session"
                    }
                    login_status::UNAVAILABLE => "the target is not available now",
                    status if status >> 8 == 1 => "the target has moved",
                    _ => "the target does not take it",
                };
                write!(f, "login refused: {why} (status 0x{status:04x})")
            }
            Self::Protocol(why) => write!(f, "the target does not follow the protocol: {why}"),
            Self::Impostor => f.write_str("the target's proof of its secret is wrong or missing"),
            Self::Content(what) => write!(f, "has {what}: writes would destroy data"),
            Self::Disk(source) => source.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(source) => Some(source),
            Self::Disk(source) => Some(source),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // What the two kinds of systems call a read that took too long.
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Timeout,
            _ => Self::Io(error),
        }
    }
}

/// What a target sends that it should not.
pub(crate) fn protocol(why: impl Into<String>) -> Error {
    Error::Protocol(why.into())
}
