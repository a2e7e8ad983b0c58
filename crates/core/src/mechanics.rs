//! Rotation and arm: the time to bring a head over a sector.
//!
//! A [`Mechanism`] is the constant part of a drive: layout, rotation and seek times. A [`Position`]
//! is where the head is, and since when; a [`Piece`] is a run on one track, with the time of every
//! sector in closed form.

mod piece;
mod rotation;
mod seek;

pub use piece::Piece;
pub use rotation::Rotation;
pub use seek::SeekTimes;
pub(crate) use seek::time_over;

use std::sync::Arc;

use crate::geometry::{Extent, Layout};
use crate::request::Op;
use crate::spec::Spec;
use crate::units::{Angle, Cylinder, Head, Instant, Span};

/// Layout, rotation and arm of one drive.
#[derive(Clone, Debug)]
pub struct Mechanism {
    /// The location of blocks.
    pub layout: Arc<Layout>,
    /// The rotation of the platter.
    pub rotation: Rotation,
    /// The movement of the arm.
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

/// The phases of bringing a head to the start of a run of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Approach {
    /// Arm movement, including an overlapping head switch.
    pub seek: Span,
    /// Head switch without arm movement, and write settle; may be negative if it is an effective
    /// value.
    pub settle: Span,
    /// Head in place, waiting for data to write.
    pub hold: Span,
    /// Rotational wait for the first sector.
    pub wait: Span,
}

impl Approach {
    /// The total time.
    #[inline]
    pub fn total(self) -> Span {
        self.seek + self.settle + self.hold + self.wait
    }

    /// The same with an arm that arrives `late`, or early if that is negative: the seek takes
    /// longer, or settling where there is none, and what the seek cannot take less, settling does.
    pub fn late(self, late: Span) -> Self {
        let seek = match self.seek == Span::ZERO {
            true => Span::ZERO,
            false => (self.seek + late).max(Span::ZERO),
        };
        Self {
            seek,
            settle: self.settle + late - (seek - self.seek),
            ..self
        }
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

    /// A copy that shares its tables, the platter at angle `origin` at [`Instant::START`].
    pub fn at_angle(&self, origin: Angle) -> Self {
        Self {
            rotation: self.rotation.at_angle(origin),
            ..self.clone()
        }
    }

    /// The total of the approach that [`Mechanism::piece`] gives, and no more, because schedulers
    /// compute it for every pending request.
    #[inline]
    pub fn positioning(&self, from: Position, op: Op, extent: &Extent, ready: Instant) -> Span {
        let way = (from.cylinder, extent.cylinder);
        let moved = self.seek.total(op, way, from.head != extent.head);
        let there = (from.since + moved).max(ready);
        there + self.rotation.wait(there, extent.start) - from.since
    }

    /// The approach of a head from `from` to the start of `extent`, where the transfer may not
    /// begin before `ready`: of a request, or of a transfer that `goes_on` there.
    #[inline(always)]
    fn approach(
        &self,
        goes_on: bool,
        from: Position,
        op: Op,
        extent: &Extent,
        ready: Instant,
    ) -> Approach {
        let way = (from.cylinder, extent.cylinder);
        let head_changes = from.head != extent.head;
        let (seek, settle) = self.seek.any_parts(goes_on, op, way, head_changes);
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
