//! The strokes of SCAN and C-SCAN to the edges of the disk.
//!
//! # What it does
//! Serves in the order of the policy inside, LOOK or C-LOOK. With `to=edge`, where that one
//! reverses or starts again, the arm first continues to the edge ahead of it. SCAN then turns there;
//! C-SCAN returns to the first cylinder. These are full seeks: the arm stops at an edge, and goes
//! from there to the request. They are counted as `owed`, the movement under way.
//!
//! # Origin
//! worthington94 section 3.1; jacobson91 sections 1 and 2; liu05 section 5.1. Departure: the
//! request is chosen as the arm leaves for the edge, so what arrives during the stroke is not
//! served on the way, but counts as behind if it lies beyond the request chosen. An arm with
//! nothing to serve stays where it is, and a request that finds the disk idle is served without a
//! stroke.
//!
//! # Cost
//! Next to that of the policy inside, by cylinders the location of each request served.
//!
//! # When it is bad
//! It is worse than the policy inside by the strokes, which weigh most where sweeps are short.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! for policy in ["scan(by=map, to=edge)", "cscan(by=map, to=edge)"] {
//!     assert!(PolicyConfig::parse(policy, "policy").is_ok());
//! }
//! ```

use super::along::{InCylinder, Key};
use super::line::{Line, Measure};
use super::{Estimate, Pending, Policy};
use crate::request::{Ordering, Request, Stroke};
use crate::text::{Args, InputError};
use crate::units::{Instant, Lbn};

/// Documentation of the parameter.
pub(super) const PARAMETER: (&str, &str) = (
    "to=request",
    "a sweep ends at its last request (to=request) or at the edge of the disk (to=edge)",
);

/// Reads the parameter: whether sweeps end at the edge.
pub(super) fn read(args: &mut Args<'_>) -> Result<bool, InputError> {
    let read = |text: &str| match text {
        "request" => Some(false),
        "edge" => Some(true),
        _ => None,
    };
    Ok(args.maybe("to", "request or edge", read)?.unwrap_or(false))
}

/// The order of another policy, with strokes to the edges.
pub(super) struct ToEdge<E> {
    order: Box<dyn Policy<E>>,
    measure: Measure,
    /// It only serves on its way up.
    cyclic: bool,
    /// The place of the arm on the line.
    place: u64,
    /// Whether it last moved up.
    up: bool,
}

impl<E: Estimate> ToEdge<E> {
    /// `order`, which measures by `measure`, with the arm at the first block.
    pub fn boxed(
        order: Box<dyn Policy<E>>,
        (measure, cyclic): (Measure, bool),
        drive: &E,
    ) -> Box<dyn Policy<E>> {
        let place = measure.by.place_of(Lbn(0), drive);
        Box::new(Self {
            order,
            measure,
            cyclic,
            place,
            up: true,
        })
    }

    /// Moves the arm to `place`; whether it moved up before and does now.
    fn turn_to(&mut self, place: u64) -> (bool, bool) {
        let before = self.up;
        if place != self.place {
            self.up = place > self.place;
        }
        (before, self.up)
    }

    /// Leaves the arm where `request` does.
    fn rest_after(&mut self, request: &Request, drive: &E) {
        let measure = self.measure;
        self.place = match measure.by {
            Line::Lbn => measure.position_after::<Lbn, E>(request, drive).place(),
            Line::Fixed(_) | Line::Map => measure
                .position_after::<InCylinder, E>(request, drive)
                .place(),
        };
        if self.cyclic {
            self.up = true;
        }
    }

    fn place_of(&self, request: &Request, drive: &E) -> u64 {
        self.measure.by.place_of(request.start, drive)
    }
}

impl<E: Estimate> Policy<E> for ToEdge<E> {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.order.add(pending, drive);
    }

    fn note_bypass(&mut self, request: &Request, drive: &E) {
        self.turn_to(self.place_of(request, drive));
        self.rest_after(request, drive);
        self.order.note_bypass(request, drive);
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        let mut pending = self.order.next(now, drive)?;
        let stroke = match self.turn_to(self.place_of(&pending.request, drive)) {
            (true, false) if self.cyclic => Stroke::ByLastAndFirst,
            (true, false) => Stroke::ByLast,
            (false, true) => Stroke::ByFirst,
            _ => Stroke::Direct,
        };
        pending.request.ordering = Ordering::Simple(stroke);
        self.rest_after(&pending.request, drive);
        Some(pending)
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.order.take(id)
    }
}
