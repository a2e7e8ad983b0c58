//! SPTF, SATF, SPCTF: shortest positioning, access or positioning (with cache) time first.
//!
//! # What it does
//! Serves the pending request with the shortest time, computed from the position that the head will
//! have when the command has been processed. For SPTF, the time ends when the media transfer
//! begins: it is the seek and the rotational latency. SATF adds the transfer itself, including
//! track changes. SPCTF is SPTF with knowledge of the buffer: the positioning time is zero if at
//! least the beginning of the data is in the buffer. Ties go to the earliest arrival.
//!
//! # Origin
//! SPTF: worthington94 sections 3.2 and 5.3; jacobson91 section 4.2 (as SATF). As worthington94
//! section 2.4 requires, the angle is taken after the command overhead. SATF: jacobson91 section
//! 4.2; liu05 section 3.1. With requests of one size, as in both papers, it differs from SPTF only
//! because transfer times depend on the zone and on track changes. jacobson91's access time T_A in
//! fact ends where the transfer begins (section 4), which is SPTF here. With several sizes, SATF
//! favours small requests. SPCTF: worthington94 section 6.3.
//!
//! # Cost
//! SPTF and SATF keep pending requests by cylinder and angle (the module `field`): on the HP C2247,
//! a decision of SPTF examines about ten of 64 random requests, or forty of 1,000, and computes the
//! exact time of three to ten. An access time takes slightly longer to compute. SPCTF: per
//! decision, a buffer lookup for every pending request, and the positioning time of misses.
//!
//! # When it is bad
//! All three starve requests; SATF starves mainly large ones. The tail of SPTF's response times is
//! the longest of all policies (worthington94 figure 5b). They break up sequential streams (section
//! 6.3): on sequential reads, even SPCTF is slower than C-LOOK, because it serves only parts of a
//! stream in order.

use super::field::{MinCost, MinCostQueue};
use super::policy::{Estimate, Knowledge, Outlook, Policy, PolicyInfo, Rule, Shape};
use super::waiting::{Candidate, Selector};
use crate::text::{Args, InputError};
use crate::units::{Instant, Span};

pub type Sptf = Shortest<Positioning>;
pub type Satf = Shortest<Access>;
pub type Spctf = Shortest<CachedPositioning>;

/// Serves the request with the shortest time `T` first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shortest<T>(T);

/// The time that a policy minimises.
pub trait Time: Copy + Default + Send + 'static {
    const INFO: PolicyInfo;

    /// True if no time is below the positioning time, so that candidates are searched by position.
    const IS_SEARCHABLE: bool = true;

    /// Returns a lower bound on the excess of a candidate's time over its positioning time, in ns.
    fn min_excess_ns(_: Shape, _: &Candidate) -> f64 {
        0.0
    }

    fn time<O: Outlook>(outlook: &O, candidate: &Candidate) -> Span;
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Positioning;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access;

/// Like [`Positioning`], but zero for buffered data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CachedPositioning;

impl Time for Positioning {
    const INFO: PolicyInfo = PolicyInfo {
        name: "sptf",
        summary: "shortest positioning time first",
        parameters: &[],
        knowledge: Knowledge::Times,
        origin: "worthington94 section 3.2, jacobson91 section 4.2",
        example: "sptf",
    };

    #[inline]
    fn time<O: Outlook>(outlook: &O, candidate: &Candidate) -> Span {
        candidate.positioning(outlook)
    }
}

impl Time for Access {
    const INFO: PolicyInfo = PolicyInfo {
        name: "satf",
        summary: "shortest access time first: positioning and transfer",
        parameters: &[],
        knowledge: Knowledge::Times,
        origin: "jacobson91 section 4.2, liu05 section 3.1",
        example: "satf",
    };

    /// Returns the transfer time of the blocks on the first track.
    fn min_excess_ns(shape: Shape, candidate: &Candidate) -> f64 {
        let Candidate { pending, location } = candidate;
        let sectors = location.sectors.min(pending.request.sectors).0;
        let revolutions = location.sector_angle.as_revolutions() * sectors as f64;
        revolutions * shape.revolution.as_ns() as f64
    }

    #[inline]
    fn time<O: Outlook>(outlook: &O, candidate: &Candidate) -> Span {
        candidate.access(outlook)
    }
}

impl Time for CachedPositioning {
    const INFO: PolicyInfo = PolicyInfo {
        name: "spctf",
        summary: "shortest positioning time first, counted as zero for buffered data",
        parameters: &[],
        knowledge: Knowledge::TimesAndBuffer,
        origin: "worthington94 section 6.3",
        example: "spctf",
    };

    const IS_SEARCHABLE: bool = false;

    fn time<O: Outlook>(outlook: &O, candidate: &Candidate) -> Span {
        if outlook.is_buffered(&candidate.pending.request) {
            Span::ZERO
        } else {
            candidate.positioning(outlook)
        }
    }
}

impl<T: Time> Rule for Shortest<T> {
    const INFO: PolicyInfo = T::INFO;

    fn read(_: &mut Args<'_>) -> Result<Self, InputError> {
        Ok(Self::default())
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        if T::IS_SEARCHABLE {
            Box::new(MinCostQueue::new(*self, drive.shape()))
        } else {
            Box::new(Selector::new(*self))
        }
    }
}

impl<T: Time> MinCost for Shortest<T> {
    type Cost = Span;

    fn excess_ns(&self, shape: Shape, candidate: &Candidate) -> f64 {
        T::min_excess_ns(shape, candidate)
    }

    #[inline]
    fn cost<O: Outlook>(&self, _: Instant, outlook: &O, candidate: &Candidate) -> Span {
        T::time(outlook, candidate)
    }
}
