//! Scheduling policies: which pending request is served next.
//!
//! A [`Policy`] owns its pending structure, so that each is as fast as it can be. What it knows
//! of the drive it learns through [`Estimate`], which answers "how long would this request take
//! from here?"; inside a drive the answer is exact. Policies stand below the drive, because a
//! drive's on-board queue holds one.
//!
//! A policy is written as its name, with parameters where it has any: `vscan(r=0.2, by=map)`.
//! A [`PolicyConfig`] is one that was read; it makes the policy for the drive at hand.
//!
//! # Ties, identical and overlapping requests
//! Of requests that a policy cannot tell apart the one that came first goes first. Identical ones
//! (direction, first block, number of blocks) differ in age alone, which favours the older: they
//! complete in order of arrival, in the host's queue, merging or not, and in the drive's. All but
//! `satfdf`, `satfgdf` and `lbsatf` keep that: the first two postpone an old request till it is
//! due and meanwhile serve others, of which a younger one may be like it; the third puts one aside
//! that does not fit its batch, in which a younger one may find room later. Those that only begin
//! at the same block are equals to policies that know no more than blocks; transfer, direction and
//! buffer tell them apart for others.
//!
//! Nothing protects requests that overlap. As in the classic studies, whose requests carry no
//! data, no policy looks for overlap: wherever the policy's measure says so, a read passes an
//! earlier write of the same blocks, and of two writes the later reaches the media first. Only
//! order of arrival (`fcfs`) never does that. It is a drive's unrestricted reordering (SPC, Control
//! mode page, QUEUE ALGORITHM MODIFIER 1), under which a host that cares completes the first
//! before it submits the second. Order by overlap would make each policy another than its paper's.
//!
//! Sequential requests stay apart unless the host's queue merges them ([`Host::merging`]).
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

/// A request that waits to be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// What is asked. No two that wait have the same name.
    pub request: Request,
    /// When it entered the queue.
    pub arrived: Instant,
}

/// What a drive tells a scheduler about the time a request would take. It borrows nothing, so that
/// a policy for it can hold another.
pub trait Estimate: Send + 'static {
    /// The drive's state at the moment of a decision.
    type Outlook<'a>: Outlook
    where
        Self: 'a;

    /// A copy of the drive on which requests can be tried.
    type Rehearsal: Rehearse;

    /// Its size and its pace.
    fn shape(&self) -> Shape;

    /// Where a request's first block lies. A policy that wants to know asks once, on arrival.
    fn locate(&self, request: &Request) -> Extent;

    /// The state that a request chosen at `now` would meet.
    fn outlook(&self, now: Instant) -> Self::Outlook<'_>;

    /// The drive as it is, to look several requests ahead.
    fn rehearse(&self) -> Self::Rehearsal;
}

/// What never changes of a drive, as far as policies ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its blocks.
    pub sectors: SectorCount,
    /// Its cylinders.
    pub cylinders: u32,
    /// One revolution of its platter.
    pub revolution: Span,
}

/// Times from one state of a drive, each counted from the instant at which the arm is free for
/// the request.
pub trait Outlook {
    /// The cylinder under the heads.
    fn cylinder(&self) -> Cylinder;

    /// What passes under the heads at the instant from which the times of a read or a write count.
    fn angle(&self, op: Op) -> Angle;

    /// Time until the media transfer of a request at `place` would begin.
    fn positioning(&self, request: &Request, place: &Extent) -> Span;

    /// Time until the media transfer of a request at `place` would end: positioning, the
    /// transfer, and the changes of track within it.
    fn access(&self, request: &Request, place: &Extent) -> Span;

    /// The part of positioning that the arm takes, with head switch and settle.
    fn seek(&self, request: &Request, place: &Extent) -> Span;

    /// Whether the buffer has the beginning of the request's data, or is just getting it.
    fn is_buffered(&self, request: &Request) -> bool;

    /// No request `distance` cylinders away or more takes less to position for.
    fn least(&self, distance: u32) -> Span;
}

/// A drive to try requests on, one at a time.
pub trait Rehearse: Estimate + Clone {
    /// Serves a request chosen at `now`, no earlier than the instant that the call before gave;
    /// gives the instant at which the next can be chosen.
    fn serve(&mut self, now: Instant, request: &Request) -> Instant;

    /// When the host has the completion of the request served last. Inside a drive the next may
    /// be chosen before that.
    fn over(&self) -> Instant;
}

/// An order of service.
pub trait Policy<E: Estimate>: Send {
    /// Takes a request in.
    fn add(&mut self, pending: Pending, drive: &E);

    /// Hears of a request that is served next and was not chosen here: it found the drive free
    /// and nothing pending, or was taken out of turn.
    fn passed(&mut self, _: &Request, _: &E) {}

    /// Takes out the request to serve next, if any waits. Among equals the one that came first.
    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending>;

    /// Takes out the request called `id`, if it waits here.
    fn take(&mut self, id: u64) -> Option<Pending>;
}

/// What an entry of the table says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyInfo {
    /// What specifications and command lines call it.
    pub name: &'static str,
    /// One line for a list.
    pub summary: &'static str,
    /// Its parameters as they are written with their defaults, such as `r=0.2`, and what each
    /// means.
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
    /// Block numbers; the mapping to cylinders where `by=map` is written.
    Blocks,
    /// Positioning times.
    Times,
    /// Positioning times and the buffer's contents.
    TimesAndBuffer,
    /// What the policy knows that it holds.
    Held,
}

impl Knowledge {
    /// For lists.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Blocks => "blocks",
            Self::Times => "times",
            Self::TimesAndBuffer => "times, buffer",
            Self::Held => "its policy's",
        }
    }
}

/// An entry of the table: a policy with its parameters.
pub(crate) trait Rule: Sized {
    /// What it says about itself.
    const INFO: PolicyInfo;

    /// Reads its parameters.
    fn read(args: &mut Args<'_>) -> Result<Self, InputError>;

    /// One for `drive`, with nothing pending.
    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>>;
}
