//! Validated client requests.

use std::io;

use diskarm_wire::nbd::{Command, CommandFlags, Error, Request};

use crate::export::Facts;
use crate::power::WriteId;
use crate::statistics::Access;

/// Maximum data length of a request or reply, in bytes: the model's longest request of 512-byte
/// sectors, and the most that clients may expect of any server (section "Size constraints").
pub const MAX_PAYLOAD: u64 = 32 << 20;

/// The id of the context `base:allocation`.
pub(super) const ALLOCATION: u32 = 1;

/// A request that has arrived, with its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    pub cookie: u64,
    pub offset: u64,
    pub length: u64,
    pub kind: JobKind,
    /// True if the reply waits until the data would survive the server's exit.
    pub force_unit_access: bool,
    /// True if the reply must have a single data chunk or extent.
    pub is_undivided: bool,
    /// The id of this write in the export's data path.
    pub write: WriteId,
    /// True if the job counts towards the limit for changes that are arriving or in progress.
    pub is_limited: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    Read,
    /// Writes data that have arrived.
    Write,
    /// Waits until all writes that completed earlier have reached the medium.
    Flush,
    Trim,
    Zero {
        /// True if the zeroes need not take up space.
        may_free: bool,
    },
    /// Returns the allocation of blocks.
    Status,
    /// An invalid request, with the error for the client.
    Refused(Error, &'static str),
}

impl JobKind {
    /// Returns the type under which the statistics count the request.
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
    /// Validates `request`; an invalid one becomes [`JobKind::Refused`].
    pub fn new(request: &Request, facts: &Facts, has_status: bool, is_extended: bool) -> Self {
        let flags = request.flags.to_be_bytes();
        let flags = CommandFlags::parse(&flags).unwrap_or_else(|_| panic!("flags have two bytes"));
        let kind = check(request, flags, facts, has_status, is_extended)
            .unwrap_or_else(|(error, message)| JobKind::Refused(error, message));
        Self {
            cookie: request.cookie,
            offset: request.offset,
            length: request.length,
            kind,
            force_unit_access: flags.force_unit_access,
            is_undivided: flags.dont_fragment || flags.one_extent,
            write: WriteId::NONE,
            is_limited: false,
        }
    }
}

/// The error code and message of a refused or failed request.
pub type Refusal = (Error, &'static str);

/// Returns the type of a request, or its error (sections "Request types" and "Error values").
fn check(
    request: &Request,
    flags: CommandFlags,
    facts: &Facts,
    has_status: bool,
    is_extended: bool,
) -> Result<JobKind, Refusal> {
    let kind = match request.command {
        Command::Read => JobKind::Read,
        Command::Write => JobKind::Write,
        Command::Flush => JobKind::Flush,
        Command::Trim => JobKind::Trim,
        Command::WriteZeroes => JobKind::Zero {
            may_free: !flags.no_hole,
        },
        Command::BlockStatus if has_status => JobKind::Status,
        Command::BlockStatus => {
            return Err((Error::Invalid, "no metadata context was negotiated"));
        }
        Command::Cache | Command::Disconnect | Command::Other(_) => {
            return Err((Error::Invalid, "unknown command"));
        }
    };
    let allowed = CommandFlags {
        force_unit_access: true,
        no_hole: matches!(kind, JobKind::Zero { .. }),
        dont_fragment: kind == JobKind::Read,
        one_extent: kind == JobKind::Status,
        fast_zero: matches!(kind, JobKind::Zero { .. }),
        payload: kind == JobKind::Write && is_extended,
    };
    if request.flags & !u16::from_be_bytes(allowed.emit()) != 0 {
        return Err((Error::Invalid, "invalid flag for this command"));
    }
    let is_write = matches!(kind, JobKind::Write | JobKind::Trim | JobKind::Zero { .. });
    if is_write && facts.is_read_only {
        return Err((Error::NotPermitted, "the export is read-only"));
    }
    check_range(request, kind, facts)?;
    if flags.fast_zero && facts.is_timed {
        return Err((Error::NotSupported, "zeroing is no faster than writing"));
    }
    Ok(kind)
}

fn check_range(request: &Request, kind: JobKind, facts: &Facts) -> Result<(), Refusal> {
    if kind == JobKind::Flush {
        return match (request.offset, request.length) {
            (0, 0) => Ok(()),
            _ => Err((Error::Invalid, "a flush must have no offset or length")),
        };
    }
    if request.length == 0 {
        return Err((Error::Invalid, "the length is zero"));
    }
    let end = request.offset.checked_add(request.length);
    if end.is_none_or(|end| end > facts.bytes().0) {
        let error = match kind {
            JobKind::Write | JobKind::Zero { .. } => Error::NoSpace,
            _ => Error::Invalid,
        };
        return Err((error, "the request extends beyond the end of the export"));
    }
    let is_aligned = (request.offset | request.length).is_multiple_of(facts.sector.0);
    if !is_aligned {
        return Err((Error::Invalid, "the request is not aligned to blocks"));
    }
    let has_payload = matches!(kind, JobKind::Read | JobKind::Write);
    if has_payload && request.length > MAX_PAYLOAD {
        return Err((Error::Invalid, "the data exceed the maximum payload"));
    }
    Ok(())
}

pub(super) fn store_error(error: &io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            (Error::NoSpace, "no space left in the store")
        }
        _ => (Error::Io, "I/O error in the store"),
    }
}
