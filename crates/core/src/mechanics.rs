//! Rotation and arm movement: the times of seeks, head switches and sectors.
//!
//! A [`Mechanism`] is the constant part of a drive: layout, rotation and seek times. A [`Position`]
//! is a track and an instant; a [`Piece`] is a run on one track, with the time of each sector.

mod seek;

use std::sync::Arc;

use crate::geometry::{Extent, Layout, Physical};
use crate::request::Op;
use crate::spec::Spec;
use crate::units::{Angle, Cylinder, Head, Instant, Lbn, SectorCount, Span};

pub use seek::SeekTimes;

/// The layout, rotation and arm of one drive.
#[derive(Clone, Debug)]
pub struct Mechanism {
    /// The location of blocks.
    pub layout: Arc<Layout>,
    /// The rotation of the platter.
    pub rotation: Rotation,
    /// The movement of the arm.
    pub seek: SeekTimes,
}

/// A head that is over a track and free to move from some instant on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Cylinder under the heads.
    pub cylinder: Cylinder,
    /// The active head.
    pub head: Head,
    /// Instant at which the head is over the track.
    pub since: Instant,
}

impl Position {
    /// Returns the same position, but from `since` on.
    #[inline]
    pub fn with_since(self, since: Instant) -> Self {
        Self { since, ..self }
    }
}

/// The phases of bringing a head to the start of a run of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Approach {
    /// Arm movement, including an overlapping head switch.
    pub seek: Span,
    /// Head switch without arm movement, and write settle, which may be specified as negative.
    pub settle: Span,
    /// Wait for data to write, with the head over the track.
    pub hold: Span,
    /// Rotational wait for the first sector.
    pub wait: Span,
}

impl Approach {
    /// Returns the total time.
    #[inline]
    pub fn total(self) -> Span {
        self.seek + self.settle + self.hold + self.wait
    }

    /// Delays the arrival of the arm by `late`, which may be negative. This changes the seek, or
    /// the settle if there is no seek. If the seek would become negative, it becomes zero and the
    /// settle absorbs the rest.
    pub fn delayed_by(self, late: Span) -> Self {
        let seek = if self.seek == Span::ZERO {
            Span::ZERO
        } else {
            (self.seek + late).max(Span::ZERO)
        };
        Self {
            seek,
            settle: self.settle + late - (seek - self.seek),
            ..self
        }
    }
}

impl Mechanism {
    /// Builds a mechanism from `spec` and its `layout`, with the platter at `origin` at the start.
    pub fn new(spec: &Spec, layout: Arc<Layout>, origin: Angle) -> Self {
        Self {
            layout,
            rotation: Rotation::new(spec.mechanics.period_ns, origin),
            seek: SeekTimes::new(&spec.mechanics, spec.geometry.cylinders),
        }
    }

    /// Returns a copy that shares the tables, with the platter at `origin` at [`Instant::START`].
    pub fn at_angle(&self, origin: Angle) -> Self {
        Self {
            rotation: self.rotation.at_angle(origin),
            ..self.clone()
        }
    }

    /// Returns the time that it takes to move the head from `from` to a track for an `op`.
    #[inline]
    pub fn movement(&self, op: Op, from: Position, cylinder: Cylinder, head: Head) -> Span {
        self.seek
            .total(op, (from.cylinder, cylinder), from.head != head)
    }

    /// Returns only the total of the approach, which schedulers need for every pending request.
    #[inline]
    pub fn positioning(&self, from: Position, op: Op, extent: &Extent, ready: Instant) -> Span {
        let movement = self.movement(op, from, extent.cylinder, extent.head);
        let arrival = (from.since + movement).max(ready);
        arrival + self.rotation.wait(arrival, extent.start) - from.since
    }

    /// Returns the approach of a head from `from` to the start of `extent`. The transfer does not
    /// begin before `ready`. The transfer begins a request, or `continues` the previous transfer.
    #[inline(always)]
    fn approach(
        &self,
        continues: bool,
        from: Position,
        op: Op,
        extent: &Extent,
        ready: Instant,
    ) -> Approach {
        let cylinders = (from.cylinder, extent.cylinder);
        let head_changes = from.head != extent.head;
        let (seek, settle) = self.seek.parts(continues, op, cylinders, head_changes);
        let arrival = from.since + (seek + settle);
        let hold = ready.since_or_zero(arrival);
        Approach {
            seek,
            settle,
            hold,
            wait: self.rotation.wait(arrival + hold, extent.start),
        }
    }
}

/// A gap-free run of blocks on one track, and the time at which it passes under the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First block of the run.
    pub first: Lbn,
    /// Length of the run in blocks.
    pub sectors: SectorCount,
    /// Cylinder of the track.
    pub cylinder: Cylinder,
    /// Head that accesses the track.
    pub head: Head,
    /// Instant at which the first sector begins to pass.
    pub begin: Instant,
    /// The number of sectors from `begin` to the end of the whole piece: all of them, or fewer if
    /// the head landed within the piece and transferred its last sectors first (zero latency).
    through: u64,
    /// The size of a physical sector, to which numbers of sectors are rounded.
    physical: Physical,
    /// The time of one sector, in nanoseconds with [`FRACTION_BITS`] bits of fraction.
    sector_time: u64,
}

impl Piece {
    /// Returns the instant at which the first `sectors` sectors of the piece are done.
    #[inline]
    pub fn after(&self, sectors: SectorCount) -> Instant {
        let passed = self.physical.up(sectors.0).min(self.through);
        self.begin + sectors_span(self.sector_time, passed)
    }

    /// Returns the instant at which the physical sector containing sector `index` begins to pass.
    #[inline]
    pub fn begins(&self, index: SectorCount) -> Instant {
        self.after(SectorCount(self.physical.down(index.0)))
    }

    /// Returns the instant at which the whole piece is done.
    #[inline]
    pub fn end(&self) -> Instant {
        self.begin + sectors_span(self.sector_time, self.through)
    }

    /// Returns the number of sectors, counted from the first, that are done by `at`.
    #[inline]
    pub fn done(&self, at: Instant) -> SectorCount {
        if at < self.begin {
            return SectorCount(0);
        }
        // Checked first, because the count below overflows after a few hours.
        if at >= self.end() {
            return self.sectors;
        }
        let passed = sectors_within(self.sector_time, at - self.begin);
        if passed >= self.through {
            self.sectors
        } else {
            SectorCount(self.physical.down(passed))
        }
    }

    /// Returns the number of sectors that pass within `span`, rounded down to physical sectors.
    #[inline]
    pub fn sectors_in(&self, span: Span) -> SectorCount {
        SectorCount(self.physical.down(sectors_within(self.sector_time, span)))
    }

    /// Of the first `sectors` sectors (at least one), finds the one that passes last, and returns
    /// the number of sectors up to and including the first of its physical sector.
    #[inline]
    pub fn last_to_pass(&self, sectors: SectorCount) -> SectorCount {
        SectorCount(self.physical.down(sectors.0.min(self.through) - 1) + 1)
    }

    /// Returns the same piece one revolution of `period` later.
    pub fn next_time(self, period: Span) -> Self {
        Self {
            begin: self.begin + period,
            ..self
        }
    }

    /// Returns one past the last block.
    #[inline]
    pub fn end_lbn(&self) -> Lbn {
        self.first + self.sectors
    }

    /// Returns the position of the head when the piece is done.
    #[inline]
    pub fn position_after(&self) -> Position {
        Position {
            cylinder: self.cylinder,
            head: self.head,
            since: self.end(),
        }
    }

    /// Returns the part of the piece before its sector `at`.
    pub fn before(self, at: SectorCount) -> Self {
        Self {
            sectors: at,
            through: at.0,
            ..self
        }
    }

    /// Applies zero latency to a head that lands `early` before the first sector of the run passes.
    /// If it lands on the run itself, all of the first `wanted` sectors are done when the sector on
    /// which it landed comes round again.
    pub fn on_arrival(mut self, early: Span, wanted: SectorCount, period: Span) -> Self {
        let since_first = period - early;
        // This includes a sector that the head just catches: see `GRACE`.
        let late = (since_first - grace(period)).or_zero();
        let landed = self.physical.up(sectors_within(self.sector_time, late) + 1);
        if landed < wanted.0 && since_first > Span::ZERO {
            self.through = landed;
        }
        self
    }

    /// Splits the run into runs that pass in the order of their blocks, earliest first. With zero
    /// latency there may be two. A revolution takes `period`.
    pub fn in_passing_order(self, period: Span) -> [Option<Self>; 2] {
        if self.through >= self.sectors.0 {
            return [Some(self), None];
        }
        // The head landed on this sector; at `through` it comes round again.
        let begin = self.begin + sectors_span(self.sector_time, self.through);
        let remaining = self.sectors.0 - self.through;
        let landed = Self {
            first: self.first + SectorCount(self.through),
            sectors: SectorCount(remaining),
            begin: begin.shifted(-period),
            through: remaining,
            ..self
        };
        [Some(landed), Some(self.before(SectorCount(self.through)))]
    }
}

impl Mechanism {
    /// Returns the transfer that begins with the first of `blocks` and ends at a gap or the end of
    /// the track, and the head's approach from `from`. The transfer does not begin before `ready`.
    /// If it `continues` from another track, the settle time at the start of a request is left out.
    #[inline(always)]
    pub fn piece(
        &self,
        continues: bool,
        from: Position,
        op: Op,
        blocks: (Lbn, Lbn),
        ready: Instant,
    ) -> (Approach, Piece) {
        let extent = self.layout.extent(blocks.0);
        self.piece_of(continues, from, op, blocks, &extent, ready)
    }

    /// Like [`Mechanism::piece`], with a known extent at the first block.
    #[inline(always)]
    pub fn piece_of(
        &self,
        continues: bool,
        from: Position,
        op: Op,
        blocks: (Lbn, Lbn),
        extent: &Extent,
        ready: Instant,
    ) -> (Approach, Piece) {
        let approach = self.approach(continues, from, op, extent, ready);
        let (first, end) = blocks;
        let sectors = extent.sectors.min(end - first);
        let piece = Piece {
            first,
            sectors,
            cylinder: extent.cylinder,
            head: extent.head,
            begin: from.since + approach.total(),
            through: sectors.0,
            physical: self.layout.physical(),
            sector_time: self.rotation.sector_time(extent.sector_angle),
        };
        (approach, piece)
    }
}

/// Fraction bits of the period in [`Rotation::period`].
const FRACTION_BITS: u32 = 20;

/// A head that is late for a sector by less than this still catches it: 2^-20 of a revolution,
/// about 10 ns at 5400 rpm. Otherwise, rounding could cost a head that is exactly on time a
/// revolution.
const GRACE: u64 = 1 << 44;

/// A platter that rotates at a constant rate from a known angle.
///
/// Finding an angle takes one multiplication, whose result wraps around once per revolution. The
/// phase is valid for all instants, because rounding the rate changes the period by less than one
/// part in 10^12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Units of 2^-64 revolutions per nanosecond.
    rate: u64,
    /// Nanoseconds per revolution, with [`FRACTION_BITS`] bits of fraction.
    period: u64,
    origin: Angle,
}

impl Rotation {
    /// Returns the largest error in a time; angles are accurate to 2^-20 revolutions, times to 1
    /// ns.
    pub fn rounding(&self) -> Span {
        Span::from_ns((self.period().as_ns() >> 19) + 4)
    }

    /// Creates a platter with a period of `period_ns` nanoseconds (between a microsecond and ten
    /// seconds), at angle `origin` at [`Instant::START`].
    pub fn new(period_ns: f64, origin: Angle) -> Self {
        let is_in_range = (1e3..=1e10).contains(&period_ns);
        assert!(is_in_range, "period out of range: {period_ns} ns");
        Self {
            rate: (2f64.powi(64) / period_ns).round() as u64,
            period: (period_ns * f64::from(1 << FRACTION_BITS)).round() as u64,
            origin,
        }
    }

    /// Returns the same platter at angle `origin` at [`Instant::START`].
    pub fn at_angle(self, origin: Angle) -> Self {
        Self { origin, ..self }
    }

    /// Returns the platter corrected at `at`: delayed by `late`, with a new period from then on.
    ///
    /// # Panics
    /// If the period is out of range; see [`Rotation::new`].
    pub fn corrected(&self, at: Instant, late: Span, period_ns: f64) -> Self {
        let angle = self.angle(at) - Angle::from_raw(self.rate.wrapping_mul(late.as_ns() as u64));
        let new = Self::new(period_ns, Angle::ZERO);
        Self {
            origin: angle - new.angle(at),
            ..new
        }
    }

    /// Returns the time of one revolution, to the nanosecond.
    pub fn period(&self) -> Span {
        Span::from_ns((self.period >> FRACTION_BITS) as i64)
    }

    /// Returns the angle under a head at `at`.
    #[inline]
    pub fn angle(&self, at: Instant) -> Angle {
        self.origin + Angle::from_raw(at.as_ns().wrapping_mul(self.rate))
    }

    /// Returns the time for the platter to rotate by `angle`.
    #[inline]
    pub fn turn(&self, angle: Angle) -> Span {
        let turned = u128::from(angle.as_raw()) * u128::from(self.period);
        Span::from_ns((turned >> (64 + FRACTION_BITS)) as i64)
    }

    /// Returns the time, less than a revolution, from `at` until `target` passes under the heads.
    #[inline]
    pub fn wait(&self, at: Instant, target: Angle) -> Span {
        let ahead = target - self.angle(at);
        if ahead.as_raw() > u64::MAX - GRACE {
            Span::ZERO
        } else {
            self.turn(ahead)
        }
    }

    /// Returns the time of one sector in units of 2^-20 ns, so that errors do not add up over a
    /// track. Angle zero means the whole revolution of a track with one sector.
    #[inline]
    fn sector_time(&self, sector: Angle) -> u64 {
        if sector == Angle::ZERO {
            return self.period;
        }
        ((u128::from(sector.as_raw()) * u128::from(self.period)) >> 64) as u64
    }
}

/// Returns [`GRACE`] as a time, plus the rounding error of two instants.
#[inline]
fn grace(period: Span) -> Span {
    Span::from_ns((period.as_ns() >> 20) + 2)
}

/// Returns the time of `sectors` sectors of [`Rotation::sector_time`] each.
#[inline]
fn sectors_span(sector_time: u64, sectors: u64) -> Span {
    Span::from_ns(((sector_time * sectors) >> FRACTION_BITS) as i64)
}

/// Returns the number of whole sectors of [`Rotation::sector_time`] that pass in `span`.
#[inline]
fn sectors_within(sector_time: u64, span: Span) -> u64 {
    // One nanosecond of grace: the end of sector k is rounded down by less than that.
    ((span.as_ns() as u64 + 1) << FRACTION_BITS) / sector_time
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD_NS: f64 = 60e9 / 5400.0;

    #[test]
    fn the_mean_wait_for_a_random_angle_is_half_a_revolution() {
        let rotation = Rotation::new(PERIOD_NS, Angle::ZERO);
        let at = Instant::from_ns(123_456_789_012);
        let n = 10_000;
        let wait = |i| rotation.wait(at, Angle::from_fraction(i, n));
        let mean_ns = (0..n).map(wait).sum::<Span>().as_ns() as f64 / n as f64;
        let off = mean_ns - PERIOD_NS / 2.0;
        assert!(off.abs() < PERIOD_NS / n as f64, "{mean_ns}");
    }

    #[test]
    fn the_phase_is_exact_after_a_hundred_hours() {
        // 5400 rpm is 90 revolutions per second, so whole seconds do not change the angle.
        let rotation = Rotation::new(PERIOD_NS, Angle::from_fraction(1, 3));
        let later = rotation.angle(Instant::from_ns(360_000_000_000_000));
        let off = (later - Angle::from_fraction(1, 3)).as_revolutions();
        assert!(off.min(1.0 - off) < 1e-4, "{off}");
    }

    #[test]
    fn waiting_reaches_the_target_angle() {
        let rotation = Rotation::new(5_985_037.4, Angle::from_fraction(1, 7));
        for i in 0..1000 {
            let at = Instant::from_ns(i * 1_234_567);
            let target = Angle::from_fraction(i * 37, 1000);
            let there = at + rotation.wait(at, target);
            let off = (target - rotation.angle(there)).as_revolutions();
            // Rounded down to a nanosecond: at most 2e-7 of a revolution early, never late.
            let early = off.min(1.0 - off);
            assert!(early < 2e-7, "{early}");
        }
    }

    #[test]
    fn a_sector_just_reached_is_caught() {
        let rotation = Rotation::new(PERIOD_NS, Angle::ZERO);
        let at = Instant::from_ns(77_777_777);
        let here = rotation.angle(at);
        assert_eq!(rotation.wait(at, here), Span::ZERO);
        let missed_by = |angle| rotation.wait(at, here - Angle::from_raw(angle));
        assert_eq!(missed_by(GRACE / 2), Span::ZERO);
        assert!(missed_by(GRACE * 2) > Span::from_ms(11.0));
    }

    #[test]
    fn a_sector_is_counted_when_it_ends() {
        let rotation = Rotation::new(PERIOD_NS, Angle::ZERO);
        let sector = rotation.sector_time(Angle::from_fraction(1, 96));
        for k in 0..=96 {
            assert_eq!(sectors_within(sector, sectors_span(sector, k)), k);
        }
        let before_the_fifth_end = sectors_span(sector, 5) - Span::from_ns(2);
        assert_eq!(sectors_within(sector, before_the_fifth_end), 4);
    }
}
