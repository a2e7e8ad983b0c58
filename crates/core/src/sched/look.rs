//! LOOK (the elevator), and SCAN, which can continue to the edges of the disk.
//!
//! # What it does
//! LOOK continues in the direction in which the arm last moved as long as there are requests ahead,
//! and then reverses. When ordering by cylinder, it serves all requests for the current cylinder
//! before it moves on, as C-LOOK does. A request that found the drive idle and moved the arm also
//! sets the direction.
//!
//! SCAN's arm reverses only at the edges. By default, the strokes to the edges and back take no
//! time, so it serves requests as LOOK does. With `to=edge`, the arm continues to the edge where
//! LOOK would reverse, and turns there. These are full seeks: the arm stops at the edge, and seeks
//! from there to the request.
//!
//! # Origin
//! worthington94 sections 3.1, 5.1 and 5.2; SCAN is also in jacobson91 section 2 and liu05 section
//! 3.1. The position is the first block of the previous request (worthington94 section 6.2); with
//! `from=last`, a repeated request waits for the return sweep. Departures: by default, SCAN's arm
//! moves only to serve a request, so each reversal omits the stroke to the edge and back. With
//! `to=edge`, the request is chosen when the arm leaves for the edge. Requests that arrive during
//! the stroke are not served on the way, and those beyond the chosen request count as already
//! passed. An arm with nothing to serve stays where it is, and a request that finds the drive idle
//! is served without a stroke. The SCAN that jacobson91 equates with VSCAN(1) is LOOK.
//!
//! # Cost
//! One binary search per arrival and up to three per decision. Each arrival and each decision also
//! moves 16 bytes (24 when ordering by cylinder) for every request pending at a higher block. With
//! `to=edge` and an order by cylinder, each request served also costs address translations.
//!
//! # When it is bad
//! Requests near the edges wait up to twice as long as under C-LOOK. When ordering by block number,
//! it serves sequential requests backwards on the way down (worthington94 section 6.1). No request
//! waits for more than two sweeps, unless requests for the current block (or cylinder) keep the arm
//! there (section 6.2 states this for all policies that order by cylinder). With `to=edge`, SCAN
//! also loses the time of the strokes, which matters most if sweeps are short.

use super::clook::cyclic;
use super::line::{InCylinder, Line, Metric, Origin, Position, TurnRule, two_way};
use super::policy::{Estimate, Knowledge, Pending, Policy, PolicyInfo, Rule, read_word};
use crate::request::{Ordering, Request, Stroke};
use crate::text::{Args, InputError};
use crate::units::{Instant, Lbn};

pub type Look = Sweep<false, false>;
pub type Scan = Sweep<false, true>;
pub type CLook = Sweep<true, false>;
pub type CScan = Sweep<true, true>;

/// Four policies that sweep over the disk. The cyclic ones serve requests only on the way up. Those
/// with edges, SCAN and C-SCAN, can continue to the edges of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sweep<const IS_CYCLIC: bool, const HAS_EDGES: bool> {
    metric: Metric,
    to_edge: bool,
}

const LOOK: PolicyInfo = PolicyInfo {
    name: "look",
    summary: "up and down, reversing where no request is left ahead",
    parameters: &[Line::PARAMETER, Origin::FIRST],
    knowledge: Knowledge::Blocks,
    origin: "worthington94 section 3.1",
    example: "look(by=1024)",
};

const SCAN: PolicyInfo = PolicyInfo {
    name: "scan",
    summary: "same order as look; with to=edge, a sweep continues to the edge of the disk",
    parameters: &[
        Line::PARAMETER,
        Origin::FIRST,
        (
            "to=request",
            "a sweep ends at its last request (to=request) or at the edge of the disk (to=edge)",
        ),
    ],
    example: "scan(by=map, to=edge)",
    ..LOOK
};

const CLOOK: PolicyInfo = PolicyInfo {
    name: "clook",
    summary: "cyclical LOOK: sweeps upwards only, then restarts at the lowest request",
    example: "clook(by=map)",
    ..LOOK
};

const CSCAN: PolicyInfo = PolicyInfo {
    name: "cscan",
    summary: "same order as clook; with to=edge, a sweep continues to the edge of the disk",
    origin: "worthington94 section 3.1, liu05 section 5.1",
    example: "cscan(by=map, to=edge)",
    ..SCAN
};

impl<const IS_CYCLIC: bool, const HAS_EDGES: bool> Rule for Sweep<IS_CYCLIC, HAS_EDGES> {
    const INFO: PolicyInfo = match (IS_CYCLIC, HAS_EDGES) {
        (false, false) => LOOK,
        (false, true) => SCAN,
        (true, false) => CLOOK,
        (true, true) => CSCAN,
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let metric = Metric::read(args, Origin::First)?;
        let to = [("request", false), ("edge", true)];
        let to_edge = HAS_EDGES && read_word(args, "to", to)?.unwrap_or(false);
        Ok(Self { metric, to_edge })
    }

    fn knowledge(&self) -> Knowledge {
        if self.to_edge {
            return Knowledge::Cylinders;
        }
        self.metric.knowledge()
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let metric = self.metric;
        let order = if IS_CYCLIC {
            cyclic(metric, drive)
        } else {
            let (count, penalty) = (1, None);
            two_way(metric, TurnRule { count, penalty }, drive)
        };
        if self.to_edge {
            return Box::new(EdgeStrokes::new(order, metric, IS_CYCLIC, drive));
        }
        order
    }
}

/// The order of another policy, with strokes to the edges where it reverses or starts again.
struct EdgeStrokes<E> {
    order: Box<dyn Policy<E>>,
    metric: Metric,
    /// True if the arm serves requests only on its way up, from the first cylinder to the last.
    is_cyclic: bool,
    arm: u64,
    is_up: bool,
}

impl<E: Estimate> EdgeStrokes<E> {
    /// Adds strokes to `order`, which uses `metric`. The arm starts at the first block.
    fn new(order: Box<dyn Policy<E>>, metric: Metric, is_cyclic: bool, drive: &E) -> Self {
        Self {
            order,
            metric,
            is_cyclic,
            arm: metric.line.coordinate(Lbn(0), drive),
            is_up: true,
        }
    }

    /// Turns the arm towards the start of `request`. Returns its old and new direction; true is up.
    fn turn_to(&mut self, request: &Request, drive: &E) -> (bool, bool) {
        let was_up = self.is_up;
        let target = self.metric.line.coordinate(request.start, drive);
        if target != self.arm {
            self.is_up = target > self.arm;
        }
        (was_up, self.is_up)
    }

    fn move_past(&mut self, request: &Request, drive: &E) {
        let metric = self.metric;
        self.arm = match metric.line {
            Line::Lbn => metric.position_after::<Lbn, E>(request, drive).coordinate(),
            Line::Fixed(_) | Line::Map => metric
                .position_after::<InCylinder, E>(request, drive)
                .coordinate(),
        };
        if self.is_cyclic {
            self.is_up = true;
        }
    }
}

impl<E: Estimate> Policy<E> for EdgeStrokes<E> {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.order.add(pending, drive);
    }

    fn note_bypass(&mut self, request: &Request, drive: &E) {
        self.turn_to(request, drive);
        self.move_past(request, drive);
        self.order.note_bypass(request, drive);
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        let mut pending = self.order.next(now, drive)?;
        let stroke = match self.turn_to(&pending.request, drive) {
            (true, false) if self.is_cyclic => Stroke::ByLastAndFirst,
            (true, false) => Stroke::ByLast,
            (false, true) => Stroke::ByFirst,
            _ => Stroke::Direct,
        };
        pending.request.ordering = Ordering::Simple(stroke);
        self.move_past(&pending.request, drive);
        Some(pending)
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.order.take(id)
    }
}
