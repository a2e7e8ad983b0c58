//! Rotation and arm: how long it takes to bring a head over a sector.
//!
//! A [`Mechanism`] holds what never changes while a drive runs: layout, rotation and seek times.
//! Where the head is, and since when, is a [`Position`]; what happens over one track is a
//! [`Piece`], whose every sector is known in closed form.

mod piece;
mod rotation;
mod seek;

pub use piece::Piece;
pub use rotation::Rotation;
pub use seek::SeekTimes;

use std::sync::Arc;

use crate::geometry::{Extent, Layout};
use crate::request::Op;
use crate::spec::Spec;
use crate::units::{Angle, Cylinder, Head, Instant, Span};

/// Layout, rotation and arm of one drive.
#[derive(Clone, Debug)]
pub struct Mechanism {
    /// Where blocks lie.
    pub layout: Arc<Layout>,
    /// How the platter turns.
    pub rotation: Rotation,
    /// How the arm moves.
    pub seek: SeekTimes,
}

/// A head over a track from some instant on, free to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Cylinder under the heads.
    pub cylinder: Cylinder,
    /// Active head.
    pub head: Head,
    /// Since when.
    pub since: Instant,
}

/// What it takes to bring a head to the start of a run of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Approach {
    /// Arm movement, head switch in its shadow.
    pub seek: Span,
    /// Head switch where the arm rests, and write settle; may be negative when effective.
    pub settle: Span,
    /// Head in place, waiting for data to write.
    pub hold: Span,
    /// Wait for the first sector to come round.
    pub wait: Span,
}

impl Approach {
    /// All of it.
    #[inline]
    pub fn total(self) -> Span {
        self.seek + self.settle + self.hold + self.wait
    }
}

impl Mechanism {
    /// Builds the mechanism of `spec` over its `layout`, the platter at angle `origin` at
    /// [`Instant::START`].
    pub fn new(spec: &Spec, layout: Arc<Layout>, origin: Angle) -> Self {
        Self {
            layout,
            rotation: Rotation::new(spec.mechanics.period_ns, origin),
            seek: SeekTimes::new(&spec.mechanics, spec.geometry.cylinders),
        }
    }

    /// The total of [`Mechanism::approach`], in the fewest steps: schedulers ask it of every
    /// pending request.
    #[inline]
    pub fn positioning(&self, from: Position, op: Op, extent: &Extent, ready: Instant) -> Span {
        let way = (from.cylinder, extent.cylinder);
        let moved = self.seek.total(op, way, from.head != extent.head);
        let there = (from.since + moved).max(ready);
        there + self.rotation.wait(there, extent.start) - from.since
    }

    /// How a head at `from` gets to the start of `extent`, not to begin before `ready`.
    #[inline]
    pub fn approach(&self, from: Position, op: Op, extent: &Extent, ready: Instant) -> Approach {
        let way = (from.cylinder, extent.cylinder);
        let (seek, settle) = self.seek.parts(op, way, from.head != extent.head);
        let there = from.since + (seek + settle);
        let hold = ready.since_or_zero(there);
        Approach {
            seek,
            settle,
            hold,
            wait: self.rotation.wait(there + hold, extent.start),
        }
    }
}
