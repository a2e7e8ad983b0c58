//! The platter's angle as a function of time, and back.

use crate::units::{Angle, Instant, Span};

/// Fraction bits of the period in [`Rotation::period`].
const FRACTION_BITS: u32 = 20;

/// A sector that began to pass less than this ago is still caught: 2^-20 of a revolution, about 10
/// ns at 5400 rpm. It absorbs the rounding of instants to whole nanoseconds, which could otherwise
/// turn "exactly in time" into a lost revolution.
const GRACE: u64 = 1 << 44;

/// A platter that rotates at a constant rate from a known angle.
///
/// The angle at an instant is one multiplication that wraps as the platter does, so the phase is
/// valid for all instants: rounding the rate changes the period by less than one part in 10^12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Units of 2^-64 revolutions per nanosecond.
    rate: u64,
    /// Nanoseconds per revolution, with [`FRACTION_BITS`] bits of fraction.
    period: u64,
    /// Angle at the start.
    origin: Angle,
}

impl Rotation {
    /// Returns the tolerance between times computed in different ways: angles are exact to 2^-20 of
    /// a revolution, and times to a nanosecond.
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

    /// Returns the same platter corrected at `at`: lagging its previous angle by `late`, and with
    /// another period from there on.
    ///
    /// # Panics
    /// As [`Rotation::new`].
    pub fn corrected(&self, at: Instant, late: Span, period_ns: f64) -> Self {
        let there = self.angle(at) - Angle::from_raw(self.rate.wrapping_mul(late.as_ns() as u64));
        let new = Self::new(period_ns, Angle::ZERO);
        Self {
            origin: there - new.angle(at),
            ..new
        }
    }

    /// Returns one revolution, to the nanosecond.
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

    /// Returns the time from `at` until `target` passes under the heads, less than a revolution.
    #[inline]
    pub fn wait(&self, at: Instant, target: Angle) -> Span {
        let ahead = target - self.angle(at);
        if ahead.as_raw() > u64::MAX - GRACE {
            Span::ZERO
        } else {
            self.turn(ahead)
        }
    }

    /// Returns the time of one sector, in units of 2^-20 ns, so that a whole track of them adds up.
    /// Angle zero means the whole revolution of a track with one sector.
    #[inline]
    pub(super) fn sector_time(&self, sector: Angle) -> u64 {
        if sector == Angle::ZERO {
            return self.period;
        }
        ((u128::from(sector.as_raw()) * u128::from(self.period)) >> 64) as u64
    }
}

/// [`GRACE`] as a time, plus the rounding error of two instants.
#[inline]
pub(super) fn grace(period: Span) -> Span {
    Span::from_ns((period.as_ns() >> 20) + 2)
}

/// Returns the span of `sectors` sectors of [`Rotation::sector_time`] each.
#[inline]
pub(super) fn sectors_span(sector_time: u64, sectors: u64) -> Span {
    Span::from_ns(((sector_time * sectors) >> FRACTION_BITS) as i64)
}

/// Returns the number of whole sectors of [`Rotation::sector_time`] that pass in `span`.
#[inline]
pub(super) fn sectors_within(sector_time: u64, span: Span) -> u64 {
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
        let sum: Span = (0..n)
            .map(|i| rotation.wait(at, Angle::from_fraction(i, n)))
            .sum();
        let mean_ns = sum.as_ns() as f64 / n as f64;
        let off = mean_ns - PERIOD_NS / 2.0;
        assert!(off.abs() < PERIOD_NS / n as f64, "{mean_ns}");
    }

    #[test]
    fn the_phase_holds_over_a_hundred_hours() {
        // 5400 rpm is 90 revolutions per second, so whole seconds do not change the angle.
        let rotation = Rotation::new(PERIOD_NS, Angle::from_fraction(1, 3));
        let later = rotation.angle(Instant::from_ns(360_000_000_000_000));
        let off = (later - Angle::from_fraction(1, 3)).as_revolutions();
        assert!(off.min(1.0 - off) < 1e-4, "{off}");
    }

    #[test]
    fn waiting_brings_the_angle() {
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
    fn whole_sectors_are_counted_at_their_ends() {
        let rotation = Rotation::new(PERIOD_NS, Angle::ZERO);
        let sector = rotation.sector_time(Angle::from_fraction(1, 96));
        for k in 0..=96 {
            assert_eq!(sectors_within(sector, sectors_span(sector, k)), k);
        }
        let before_the_fifth_end = sectors_span(sector, 5) - Span::from_ns(2);
        assert_eq!(sectors_within(sector, before_the_fifth_end), 4);
    }
}
