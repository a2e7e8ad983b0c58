//! Scheduling policies: which pending request is served next.
//!
//! Each [`Policy`] owns the data structure of its pending requests, so that it can be as fast as
//! possible. It learns about the drive through [`Estimate`], which answers "how long would this
//! request take from here?"; inside a drive the answer is exact. Policies are a layer below the
//! drive, because a drive's on-board queue contains one.
//!
//! A policy is written as its name, with optional parameters: `vscan(r=0.2, by=map)`. A
//! [`PolicyConfig`] is a parsed policy; it creates the policy for a given drive.
//!
//! # Ties, identical and overlapping requests
//! Requests that a policy cannot distinguish are served in order of arrival. Identical requests
//! (direction, first block, number of blocks) differ only in age, which favours the older: they
//! complete in order of arrival, in the host's queue, merging or not, and in the drive's.
//! Exceptions are `satfdf`, `satfgdf` and `lbsatf`: the first two postpone an old request until it
//! is due and meanwhile may serve a younger identical one; the third sets aside a request that does
//! not fit its batch, in which a younger identical one may fit later. Requests that only begin at
//! the same block are equal to policies that know nothing but blocks; other policies distinguish
//! them by transfer, direction and buffer.
//!
//! Nothing protects overlapping requests. As in the classic studies, whose requests carry no data,
//! no policy checks for overlap: if the policy prefers it, a read overtakes an earlier write of the
//! same blocks, and the later of two writes reaches the media first. Only order of arrival (`fcfs`)
//! never does that. This is a drive's unrestricted reordering (SPC, Control mode page, QUEUE
//! ALGORITHM MODIFIER 1), under which a host that needs an order waits for the first completion
//! before it submits the second request. Ordering by overlap would make each policy differ from its
//! paper's.
//!
//! Sequential requests stay separate unless the host's queue merges them ([`Host::merging`]).
//!
//! [`Host::merging`]: crate::host::Host::merging

mod along;
mod area;
mod asatf;
mod aspctf;
mod aspctf_seq;
mod asptf;
mod bsatf;
mod clook;
mod cscan;
mod cscan_la;
mod cvscan;
mod fcfs;
mod field;
mod forced;
mod gstf;
mod hol;
mod lbsatf;
mod limited;
mod line;
mod look;
mod mq_deadline;
mod oat;
mod oat_batch;
mod oat_window;
mod orders;
mod saptf;
mod satf;
mod satf_la;
mod satfdf;
mod satfgdf;
mod satfuf;
mod scan;
mod search;
mod select;
mod sorted;
mod spctf;
mod sptf;
mod sptf_cp;
mod sptf_sw;
mod sstf;
mod sw_sptf;
mod table;
mod to_edge;
mod two_way;
mod vscan;
mod waiting;
mod wb_sptf;
mod wscan;
mod wstf;

pub use asatf::Asatf;
pub use aspctf::Aspctf;
pub use aspctf_seq::AspctfSeq;
pub use asptf::Asptf;
pub use bsatf::Bsatf;
pub use clook::CLook;
pub use cscan::CScan;
pub use cscan_la::CScanLa;
pub use cvscan::CvScan;
pub use fcfs::Fcfs;
pub use gstf::Gstf;
pub use hol::Hol;
pub use lbsatf::Lbsatf;
pub use limited::Limited;
pub use line::{Line, Mark, Measure};
pub use look::Look;
pub use mq_deadline::MqDeadline;
pub use oat::Oat;
pub use oat_batch::OatBatch;
pub use oat_window::OatWindow;
pub use saptf::Saptf;
pub use satf::Satf;
pub use satf_la::SatfLa;
pub use satfdf::SatfDf;
pub use satfgdf::SatfGdf;
pub use satfuf::SatfUf;
pub use scan::Scan;
pub use spctf::Spctf;
pub use sptf::Sptf;
pub use sptf_cp::SptfCp;
pub use sptf_sw::SptfSw;
pub use sstf::Sstf;
pub use sw_sptf::SwSptf;
pub use table::{INFOS, PolicyConfig};
pub use vscan::VScan;
pub use wb_sptf::WbSptf;
pub use wscan::WScan;
pub use wstf::Wstf;

use crate::extent::Extent;
use crate::request::{Op, Request};
use crate::text::{Args, InputError};
use crate::units::{Angle, Cylinder, Instant, SectorCount, Span};

/// A request waiting to be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The request. Ids are unique among pending requests.
    pub request: Request,
    /// When it entered the queue.
    pub arrived: Instant,
}

/// Estimates of the time that a request would take on a drive. `'static`, so that one policy can
/// contain another.
pub trait Estimate: Send + 'static {
    /// The drive's state at the moment of a decision.
    type Outlook<'a>: Outlook
    where
        Self: 'a;

    /// A copy of the drive on which requests can be tried.
    type Rehearsal: Rehearse;

    /// Size and rotation of the drive.
    fn shape(&self) -> Shape;

    /// The location of a request's first block. Policies that need it ask once, on arrival.
    fn locate(&self, request: &Request) -> Extent;

    /// The state that a request chosen at `now` would meet.
    fn outlook(&self, now: Instant) -> Self::Outlook<'_>;

    /// The drive as it is, to look several requests ahead.
    fn rehearse(&self) -> Self::Rehearsal;
}

/// Constant properties of a drive that policies use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of blocks.
    pub sectors: SectorCount,
    /// Number of cylinders.
    pub cylinders: u32,
    /// Time of one revolution.
    pub revolution: Span,
}

/// Times in one state of a drive, each measured from the instant when the arm is free for the
/// request.
pub trait Outlook {
    /// The cylinder under the heads.
    fn cylinder(&self) -> Cylinder;

    /// The angle under the heads at the instant from which the times of a read or a write are
    /// measured.
    fn angle(&self, op: Op) -> Angle;

    /// Time until the media transfer of a request at `place` would begin.
    fn positioning(&self, request: &Request, place: &Extent) -> Span;

    /// Time until the media transfer of a request at `place` would end: positioning, the transfer,
    /// and track changes within it.
    fn access(&self, request: &Request, place: &Extent) -> Span;

    /// The seek part of positioning, with head switch and settle.
    fn seek(&self, request: &Request, place: &Extent) -> Span;

    /// Whether the buffer has the beginning of the request's data, or is receiving it now.
    fn is_buffered(&self, request: &Request) -> bool;

    /// A lower bound on the positioning time of any request at least `distance` cylinders away.
    fn min_seek(&self, distance: u32) -> Span;
}

/// A copy of a drive on which to try requests, one at a time.
pub trait Rehearse: Estimate + Clone {
    /// Serves a request chosen at `now`, no earlier than the instant that the previous call
    /// returned; returns the instant at which the next can be chosen.
    fn serve(&mut self, now: Instant, request: &Request) -> Instant;

    /// When the host receives the completion of the last request. Inside a drive the next may be
    /// chosen earlier.
    fn completed_at(&self) -> Instant;
}

/// A scheduling policy.
pub trait Policy<E: Estimate>: Send {
    /// Adds a request.
    fn add(&mut self, pending: Pending, drive: &E);

    /// Notes a request that is served next without being chosen by the policy: it found the drive
    /// free and nothing pending, or was taken out of turn.
    fn note_bypass(&mut self, _: &Request, _: &E) {}

    /// Removes and returns the request to serve next, if any is pending. Ties go to the earliest
    /// arrival.
    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending>;

    /// Removes and returns the request `id`, if it is pending.
    fn take(&mut self, id: u64) -> Option<Pending>;
}

/// Documentation of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyInfo {
    /// Its name in specifications and on the command line.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Its parameters with their defaults, as written (`r=0.2`), and what each means.
    pub parameters: &'static [(&'static str, &'static str)],
    /// What it must know of the drive.
    pub knowledge: Knowledge,
    /// Where it was published.
    pub origin: &'static str,
}

/// How much a policy must know of the drive (worthington94 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Knowledge {
    /// Nothing but when requests arrived.
    Nothing,
    /// Block numbers; with `by=map`, [`Cylinders`](Self::Cylinders).
    Blocks,
    /// The mapping from block numbers to cylinders.
    Cylinders,
    /// Positioning times.
    Times,
    /// Positioning times and the buffer's contents.
    TimesAndBuffer,
    /// Whatever the policy that it contains knows.
    Inner,
}

impl Knowledge {
    /// Its name in lists.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Blocks => "blocks",
            Self::Cylinders => "cylinders",
            Self::Times => "times",
            Self::TimesAndBuffer => "times, buffer",
            Self::Inner => "what its policy needs",
        }
    }

    /// For sentences: what a policy needs.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Blocks => "block numbers",
            Self::Cylinders => "the cylinders of blocks",
            Self::Times => "positioning times",
            Self::TimesAndBuffer => "positioning times and the contents of the buffer",
            Self::Inner => "what the policy that it holds needs",
        }
    }
}

/// An entry of the table: a policy with its parameters.
pub(crate) trait Rule: Sized {
    const INFO: PolicyInfo;

    fn read(args: &mut Args<'_>) -> Result<Self, InputError>;

    /// What it must know of the drive with these parameters; never [`Knowledge::Inner`].
    fn knowledge(&self) -> Knowledge {
        Self::INFO.knowledge
    }

    /// Creates the policy for `drive`, with nothing pending.
    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>>;
}
