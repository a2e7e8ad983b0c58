//! The interfaces between policies and drives.

use std::collections::VecDeque;

use crate::extent::Extent;
use crate::request::{Op, Request};
use crate::text::{Args, InputError};
use crate::units::{Angle, Cylinder, Instant, SectorCount, Span};

/// A request waiting to be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The request. Ids are unique among pending requests.
    pub request: Request,
    /// The instant at which the request entered the queue.
    pub arrived: Instant,
}

/// Removes and returns the request `id` from a list.
pub(crate) fn take(list: &mut VecDeque<Pending>, id: u64) -> Option<Pending> {
    let index = list.iter().position(|p| p.request.id == id)?;
    list.remove(index)
}

/// A drive that can estimate the time of a request.
pub trait Estimate: Send + 'static {
    /// The drive's state at the moment of a decision.
    type Outlook<'a>: Outlook
    where
        Self: 'a;

    /// A copy of the drive on which requests can be tried.
    type Rehearsal: Rehearse;

    /// Returns the size and rotation of the drive.
    fn shape(&self) -> Shape;

    /// Locates the first block of a request. Policies that need the location ask once, on arrival.
    fn locate(&self, request: &Request) -> Extent;

    /// Returns the state in which a request chosen at `now` would find the drive.
    fn outlook(&self, now: Instant) -> Self::Outlook<'_>;

    /// Returns a copy of the drive for looking several requests ahead.
    fn rehearse(&self) -> Self::Rehearsal;
}

/// Constant properties of a drive that policies use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of exported blocks.
    pub sectors: SectorCount,
    /// Number of cylinders of the drive.
    pub cylinders: u32,
    /// Time of one revolution.
    pub revolution: Span,
}

/// Estimates in one state of a drive. Times start when the arm is free for the request.
pub trait Outlook {
    /// Returns the cylinder under the heads.
    fn cylinder(&self) -> Cylinder;

    /// Returns the angle under the heads at the instant from which the times of `op` are measured.
    fn angle(&self, op: Op) -> Angle;

    /// Returns the time until the media transfer of a request at `location` would begin.
    fn positioning(&self, request: &Request, location: &Extent) -> Span;

    /// Returns the time until the media transfer of a request at `location` would end: positioning,
    /// the transfer, and track changes within it.
    fn access(&self, request: &Request, location: &Extent) -> Span;

    /// Returns the seek part of the positioning time, including head switch and settle.
    fn seek(&self, request: &Request, location: &Extent) -> Span;

    /// Returns true if the buffer holds or is receiving the beginning of the request's data.
    fn is_buffered(&self, request: &Request) -> bool;

    /// Returns a lower bound on the positioning time of requests `distance` or more cylinders away.
    fn min_seek(&self, distance: u32) -> Span;
}

/// A copy of a drive on which to try requests, one at a time.
pub trait Rehearse: Estimate + Clone {
    /// Serves a request chosen at `now`. Returns the instant at which the next one can be chosen,
    /// which is the earliest `now` of the next call.
    fn serve(&mut self, now: Instant, request: &Request) -> Instant;

    /// Returns the time at which the host receives the completion of the last request. Inside a
    /// drive, the next request may be chosen earlier.
    fn completed_at(&self) -> Instant;
}

/// A scheduling policy, which holds the waiting requests.
pub trait Policy<E: Estimate>: Send {
    /// Adds a waiting request.
    fn add(&mut self, pending: Pending, drive: &E);

    /// Records a request that is served next although the policy did not choose it: it found the
    /// drive idle, or was taken out of turn.
    fn note_bypass(&mut self, _: &Request, _: &E) {}

    /// Removes and returns the request to serve next. Ties go to the earliest arrival.
    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending>;

    /// Removes and returns the request `id`.
    fn take(&mut self, id: u64) -> Option<Pending>;
}

/// Documentation of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyInfo {
    /// The name in specifications and on the command line.
    pub name: &'static str,
    /// A one-line description for lists.
    pub summary: &'static str,
    /// The parameters with their defaults, as in `r=0.2`, and the meaning of each.
    pub parameters: &'static [(&'static str, &'static str)],
    /// The knowledge of the drive that the policy needs.
    pub knowledge: Knowledge,
    /// The publication that describes the policy.
    pub origin: &'static str,
    /// An example of the policy with parameters.
    pub example: &'static str,
}

/// The knowledge of the drive that a policy needs (worthington94 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Knowledge {
    /// Only the arrival times of requests.
    Nothing,
    /// Block numbers; with `by=map`, [`Cylinders`](Self::Cylinders).
    Blocks,
    /// The mapping from block numbers to cylinders.
    Cylinders,
    /// Positioning times of requests.
    Times,
    /// Positioning times and the buffer's contents.
    TimesAndBuffer,
    /// The knowledge that the inner policy needs.
    Inner,
}

impl Knowledge {
    /// Returns the name used in lists.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Blocks => "blocks",
            Self::Cylinders => "cylinders",
            Self::Times => "times",
            Self::TimesAndBuffer => "times, buffer",
            Self::Inner => "that of its policy",
        }
    }

    /// Returns a noun phrase for use in sentences.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Blocks => "block numbers",
            Self::Cylinders => "the cylinders of blocks",
            Self::Times => "positioning times",
            Self::TimesAndBuffer => "positioning times and the contents of the buffer",
            Self::Inner => "whatever its policy needs",
        }
    }
}

/// An entry in the table of policies: a policy with its parameters.
pub(crate) trait Rule: Sized {
    const INFO: PolicyInfo;

    fn read(args: &mut Args<'_>) -> Result<Self, InputError>;

    /// Returns the knowledge that is needed with these parameters; never [`Knowledge::Inner`].
    fn knowledge(&self) -> Knowledge {
        Self::INFO.knowledge
    }

    /// Creates the policy for `drive`, with nothing pending.
    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>>;
}

/// Reads a parameter that is one of two words.
pub(super) fn read_word<T: Copy>(
    args: &mut Args<'_>,
    key: &'static str,
    words: [(&str, T); 2],
) -> Result<Option<T>, InputError> {
    let expected = format!("{} or {}", words[0].0, words[1].0);
    let read = |text: &str| Some(words.iter().find(|(word, _)| *word == text)?.1);
    args.maybe(key, &expected, read)
}
