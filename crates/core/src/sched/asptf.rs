//! ASPTF, ASATF and ASPCTF: SPTF and SPCTF with a credit for waiting.
//!
//! # What it does
//! Serves the pending request with the minimum aged positioning time, T_pos - W T_wait, where
//! T_wait is the time that the request has waited. ASATF takes W in its original unit, sectors per
//! second. In ASPCTF, T_pos is zero if the buffer holds at least the beginning of the request's
//! data.
//!
//! # Origin
//! worthington94 section 5.3, and section 6.3 for ASPCTF. The paper does not state the unit of W.
//! We use milliseconds of positioning per second of waiting, because the paper says that
//! jacobson91's 30 sectors per second are approximately ASPTF(6.3), and a sector of the HP 97560
//! takes 0.21 ms. ASPTF(0) is SPTF, and ASPCTF(0) is SPCTF. With a large W, ASPTF is FCFS, except
//! that requests that arrive at the same instant are ordered by positioning time. Differences are
//! computed exactly, in integers.
//!
//! ASATF: jacobson91 section 5.3. It serves the request with the greatest merit w T_age - T_A /
//! tau, where T_age is the wait, T_A the access time and tau the time of one sector. T_A is the
//! seek and the rotational latency without the transfer (section 4), so ASATF(w) is exactly
//! ASPTF(W) with W = w tau. W is rounded to a nanosecond per second. With several zones, tau is the
//! time of a sector at block 0; on the HP 97560, which has one zone, it is 0.21 ms.
//!
//! # Cost
//! The cost of SPTF, but a decision of ASPTF or ASATF examines more requests, because it cannot
//! skip a ring of cylinders that might contain a request as old as the oldest. Above W = 100, every
//! decision computes the time of every pending request. ASPCTF has the cost of SPCTF.
//!
//! # When it is bad
//! With a large W, ASPTF becomes FCFS when the drive saturates (worthington94 figure 5a). A request
//! is overtaken only by those that arrive within P / W after it, where P is the longest positioning
//! time: within 4 s if W = 6 and P = 24 ms. On sequential reads, ASPCTF is slower than C-LOOK
//! (section 6.3).

use std::marker::PhantomData;

use super::field::{MinCost, MinCostQueue};
use super::policy::{Estimate, Knowledge, Outlook, Policy, PolicyInfo, Rule, Shape};
use super::sptf::{CachedPositioning, Positioning, Time};
use super::waiting::{Candidate, Selector};
use crate::request::{Op, Request};
use crate::text::{Args, InputError};
use crate::units::{Angle, Instant, Lbn, SectorCount, Span};

pub type Asptf = Aged<Positioning>;
pub type Aspctf = Aged<CachedPositioning>;

/// Serves the request with the shortest time `T` minus its credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aged<T> {
    credit: Credit,
    time: PhantomData<T>,
}

/// The time subtracted per second of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Credit(Span);

impl Credit {
    pub const PARAMETER: (&str, &str) = (
        "w=6",
        "the credit W, in ms of positioning per second of waiting, from 0 to 10^12",
    );

    /// The maximum credit for which costs fit [`MinCostQueue`] for years of simulated time.
    const MAX_SEARCHABLE: Self = Self(Span::from_ns(100_000_000));

    pub fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let w = args.maybe_number("w", 0.0..=1e12)?.unwrap_or(6.0);
        Ok(Self(Span::from_ms(w)))
    }

    /// Returns `time` minus the credit for waiting from `arrived` to `now`, in units of 10^-18 s.
    pub fn subtract_from(self, time: Span, arrived: Instant, now: Instant) -> i128 {
        let ns = |span: Span| i128::from(span.as_ns());
        ns(time) * 1_000_000_000 - ns(self.0) * ns(now.since_or_zero(arrived))
    }

    /// Returns the credit for waiting from time zero until `at`, in nanoseconds.
    fn until(self, at: Instant) -> f64 {
        self.0.as_ns() as f64 * at.as_s()
    }
}

/// A time that a policy with a credit uses.
pub trait AgedTime: Time {
    const AGED: PolicyInfo;
}

impl AgedTime for Positioning {
    const AGED: PolicyInfo = PolicyInfo {
        name: "asptf",
        summary: "shortest positioning time first, less a credit for waiting",
        parameters: &[Credit::PARAMETER],
        knowledge: Knowledge::Times,
        origin: "worthington94 section 5.3",
        example: "asptf(w=6.3)",
    };
}

impl AgedTime for CachedPositioning {
    const AGED: PolicyInfo = PolicyInfo {
        name: "aspctf",
        summary: "ASPTF with a positioning time of zero for buffered data",
        parameters: &[Credit::PARAMETER],
        knowledge: Knowledge::TimesAndBuffer,
        origin: "worthington94 section 6.3",
        example: "aspctf(w=6)",
    };
}

impl<T: AgedTime> Rule for Aged<T> {
    const INFO: PolicyInfo = T::AGED;

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        Credit::read(args).map(Self::new)
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        if T::IS_SEARCHABLE && self.credit.0 <= Credit::MAX_SEARCHABLE.0 {
            Box::new(MinCostQueue::new(*self, drive.shape()))
        } else {
            Box::new(Selector::new(*self))
        }
    }
}

impl<T> Aged<T> {
    fn new(credit: Credit) -> Self {
        let time = PhantomData;
        Self { credit, time }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asatf {
    sectors_per_s: f64,
}

impl Rule for Asatf {
    const INFO: PolicyInfo = PolicyInfo {
        name: "asatf",
        summary: "ASPTF with the weight in sectors per second",
        parameters: &[(
            "w=30",
            "the credit w, in sectors per second of waiting, from 0 to 10^12; one sector stands \
             for its transfer time at block 0",
        )],
        knowledge: Knowledge::Times,
        origin: "jacobson91 section 5.3",
        example: "asatf(w=30)",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let sectors_per_s = args.maybe_number("w", 0.0..=1e12)?.unwrap_or(30.0);
        Ok(Self { sectors_per_s })
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let ns = self.sectors_per_s * sector_ns(drive);
        let credit = Credit(Span::from_ns(ns.round() as i64));
        Asptf::new(credit).policy(drive)
    }
}

fn sector_ns<E: Estimate>(drive: &E) -> f64 {
    let first = Request::new(0, Op::Read, Lbn(0), SectorCount(1));
    let angle = drive.locate(&first).sector_angle;
    // If a track has only one sector, that sector takes a whole revolution.
    let turn = if angle == Angle::ZERO {
        1.0
    } else {
        angle.as_revolutions()
    };
    drive.shape().revolution.as_ns() as f64 * turn
}

impl<T: Time> MinCost for Aged<T> {
    type Cost = i128;

    const GROWS_WITH_ARRIVAL: bool = true;

    fn excess_ns(&self, shape: Shape, candidate: &Candidate) -> f64 {
        T::min_excess_ns(shape, candidate) + self.credit.until(candidate.pending.arrived)
    }

    fn rebate_ns(&self, now: Instant) -> f64 {
        self.credit.until(now)
    }

    #[inline]
    fn cost<O: Outlook>(&self, now: Instant, outlook: &O, candidate: &Candidate) -> i128 {
        let time = T::time(outlook, candidate);
        let arrived = candidate.pending.arrived;
        self.credit.subtract_from(time, arrived, now)
    }
}
