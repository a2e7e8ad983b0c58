//! What a request asks of an export, checked.

use diskarm_wire::nbd::{Command, CommandFlags, Error, Request};

use super::session::MAX_PAYLOAD;
use crate::export::Facts;
use crate::figures::Access;
use crate::power::Write;

/// A request that has arrived, with its data if it writes any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The client's name for it.
    pub cookie: u64,
    /// First byte.
    pub offset: u64,
    /// How many bytes.
    pub length: u64,
    /// What it does.
    pub kind: Kind,
    /// What it writes survives the end of the server, and is on the medium, before the reply.
    pub force_unit_access: bool,
    /// Its reply has one chunk of data, or one extent.
    pub is_undivided: bool,
    /// The store's number of what it writes.
    pub write: Write,
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Returns data.
    Read,
    /// Has written data.
    Write,
    /// Everything that completed before is on the medium.
    Flush,
    /// The data are not needed any more.
    Trim,
    /// Writes zeroes.
    Zero {
        /// They need not take up space.
        may_free: bool,
    },
    /// Returns what is known of the blocks.
    Status,
    /// Nothing: it is refused.
    Refused(Error, &'static str),
}

impl Kind {
    /// The same in figures.
    pub(super) fn access(self) -> Access {
        match self {
            Self::Read => Access::Read,
            Self::Write => Access::Write,
            Self::Flush => Access::Flush,
            Self::Trim => Access::Trim,
            Self::Zero { .. } => Access::Zero,
            Self::Status => Access::Status,
            Self::Refused(..) => Access::Refused,
        }
    }
}

impl Job {
    /// What `request` asks of the export; one that is not valid is refused.
    pub fn of(request: &Request, facts: &Facts, has_status: bool, is_extended: bool) -> Self {
        let flags = request.flags.to_be_bytes();
        let flags = CommandFlags::parse(&flags).unwrap_or_else(|_| panic!("two bytes"));
        let kind = check(request, flags, facts, has_status, is_extended)
            .unwrap_or_else(|(error, message)| Kind::Refused(error, message));
        Self {
            cookie: request.cookie,
            offset: request.offset,
            length: request.length,
            kind,
            force_unit_access: flags.force_unit_access,
            is_undivided: flags.dont_fragment || flags.one_extent,
            write: Write::default(),
        }
    }
}

type Refusal = (Error, &'static str);

/// What a request does, or why it is refused (sections "Request types" and "Error values").
fn check(
    request: &Request,
    flags: CommandFlags,
    facts: &Facts,
    has_status: bool,
    is_extended: bool,
) -> Result<Kind, Refusal> {
    let kind = match request.command {
        Command::Read => Kind::Read,
        Command::Write => Kind::Write,
        Command::Flush => Kind::Flush,
        Command::Trim => Kind::Trim,
        Command::WriteZeroes => Kind::Zero {
            may_free: !flags.no_hole,
        },
        Command::BlockStatus if has_status => Kind::Status,
        Command::BlockStatus => {
            return Err((Error::Invalid, "no context was chosen for block status"));
        }
        Command::Cache | Command::Disconnect | Command::Other(_) => {
            return Err((Error::Invalid, "unknown command"));
        }
    };
    let allowed = CommandFlags {
        force_unit_access: true,
        no_hole: matches!(kind, Kind::Zero { .. }),
        dont_fragment: kind == Kind::Read,
        one_extent: kind == Kind::Status,
        fast_zero: matches!(kind, Kind::Zero { .. }),
        payload: kind == Kind::Write && is_extended,
    };
    if request.flags & !u16::from_be_bytes(allowed.emit()) != 0 {
        return Err((Error::Invalid, "unknown flag for this command"));
    }
    let is_write = matches!(kind, Kind::Write | Kind::Trim | Kind::Zero { .. });
    if is_write && facts.is_read_only {
        return Err((Error::NotPermitted, "the export is read-only"));
    }
    check_range(request, kind, facts)?;
    if flags.fast_zero && facts.is_timed {
        return Err((Error::NotSupported, "zeroes take the time of data"));
    }
    Ok(kind)
}

fn check_range(request: &Request, kind: Kind, facts: &Facts) -> Result<(), Refusal> {
    if kind == Kind::Flush {
        return match (request.offset, request.length) {
            (0, 0) => Ok(()),
            _ => Err((Error::Invalid, "a flush has no offset and no length")),
        };
    }
    if request.length == 0 {
        return Err((Error::Invalid, "the length is zero"));
    }
    let end = request.offset.checked_add(request.length);
    if end.is_none_or(|end| end > facts.bytes().0) {
        let error = match kind {
            Kind::Write | Kind::Zero { .. } => Error::NoSpace,
            _ => Error::Invalid,
        };
        return Err((error, "beyond the end of the export"));
    }
    let is_aligned = (request.offset | request.length).is_multiple_of(facts.sector.0);
    if !is_aligned {
        return Err((Error::Invalid, "not aligned to the minimum block size"));
    }
    let has_payload = matches!(kind, Kind::Read | Kind::Write);
    if has_payload && request.length > MAX_PAYLOAD {
        return Err((Error::Invalid, "longer than the maximum payload"));
    }
    Ok(())
}
