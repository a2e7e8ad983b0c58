//! The common part of SSTF, LOOK, VSCAN and CVSCAN: an arm that moves up or down a line.
//!
//! # What it does
//! Serves all requests for the arm's place, a block or a cylinder, as C-LOOK does. When none is
//! left, it moves to the next place with requests, up or down the line. If there are some on both
//! sides, the policy decides by its [`Turn`].
//!
//! # Origin
//! worthington94 section 5.2, which uses C-LOOK within a cylinder under every policy. A request
//! that was served without being chosen also sets the direction, if it moved the arm.
//!
//! # Cost
//! A binary search per arrival, up to three per decision, and for each, 16 bytes (24 by cylinders)
//! moved for every request pending at a higher block.
//!
//! # When it is bad
//! Requests that keep arriving for the arm's place hold it there.
//!
//! # Example
//! ```
//! use diskarm_core::sched::PolicyConfig;
//! for policy in ["sstf", "look", "vscan", "cvscan"] {
//!     assert!(PolicyConfig::parse(policy, "policy").is_ok());
//! }
//! ```

use super::along::{Along, InCylinder, Key, Way};
use super::line::{Line, Measure};
use super::{Estimate, Pending, Policy};
use crate::request::Request;
use crate::units::{Instant, Lbn};

pub(super) trait Turn: Send {
    /// The direction in which to leave an exhausted place if there are requests on both sides:
    /// `above` and `below` are the indices of the next ones. The arm last moved `way`.
    fn turn<K: Key>(&self, along: &Along<K>, way: Way, above: usize, below: usize) -> Way;
}

/// A policy that measures by `measure` and turns by `turn`.
pub(super) fn two_way<E: Estimate, T: Turn + 'static>(
    measure: Measure,
    turn: T,
    drive: &E,
) -> Box<dyn Policy<E>> {
    match measure.by {
        Line::Lbn => Box::new(TwoWay::<Lbn, T>::new(measure, turn, drive)),
        Line::Fixed(_) | Line::Map => Box::new(TwoWay::<InCylinder, T>::new(measure, turn, drive)),
    }
}

/// Moves where its turn says.
#[derive(Debug)]
struct TwoWay<K, T> {
    along: Along<K>,
    /// The direction in which the arm last moved.
    way: Way,
    turn: T,
}

impl<K: Key, T: Turn> TwoWay<K, T> {
    fn new<E: Estimate>(measure: Measure, turn: T, drive: &E) -> Self {
        Self {
            along: Along::new(measure, drive),
            way: Way::Up,
            turn,
        }
    }
}

impl<E: Estimate, K: Key, T: Turn> Policy<E> for TwoWay<K, T> {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.along.add(pending, drive);
    }

    fn note_bypass(&mut self, request: &Request, drive: &E) {
        let place = self.along.first(request, drive).place();
        if place != self.along.place() {
            let up = place > self.along.place();
            self.way = if up { Way::Up } else { Way::Down };
        }
        self.along.passed(request, drive);
    }

    fn next(&mut self, _: Instant, drive: &E) -> Option<Pending> {
        let along = &self.along;
        let index = along.here().or_else(|| {
            let (way, index) = match (along.above(), along.below()) {
                (Some(above), Some(below)) => match self.turn.turn(along, self.way, above, below) {
                    Way::Up => (Way::Up, above),
                    Way::Down => (Way::Down, below),
                },
                (Some(above), None) => (Way::Up, above),
                (None, below) => (Way::Down, below?),
            };
            self.way = way;
            Some(index)
        })?;
        Some(self.along.serve(index, drive))
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.along.take(id)
    }
}

/// 1 if an arm that moved `way` reverses to move `to`, else 0.
pub(super) fn turns(way: Way, to: Way) -> f64 {
    f64::from(u8::from(way != to))
}

/// The cheaper direction, where `up` and `down` are its cost and the index of the request there;
/// ties go to the request that arrived first.
pub(super) fn cheaper<K: Key, C: PartialOrd>(
    along: &Along<K>,
    up: (C, usize),
    down: (C, usize),
) -> Way {
    let earlier = along.arrival(up.1) < along.arrival(down.1);
    if up.0 < down.0 || (up.0 == down.0 && earlier) {
        Way::Up
    } else {
        Way::Down
    }
}
