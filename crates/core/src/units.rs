//! Quantities as types: times, angles, addresses and sizes.
//!
//! All public signatures use these types for times, addresses and sizes, never bare numbers.
//! Internally they are plain integers, so that equal inputs give identical results.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

/// A point in time, in whole nanoseconds since the start of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(i64);

impl Instant {
    /// The start of a run.
    pub const START: Self = Self(0);
    /// Later than every instant of a run.
    pub const NEVER: Self = Self(i64::MAX);
    /// The end of the longest run, after 146 years. It is so far from [`Self::NEVER`] that whatever
    /// a device computes before it, such as the end of a pass over the largest disk, cannot
    /// overflow.
    pub const LIMIT: Self = Self(1 << 62);

    /// Creates the instant `ns` nanoseconds after the start. Panics beyond 292 years.
    #[inline]
    pub const fn from_ns(ns: u64) -> Self {
        assert!(ns <= i64::MAX as u64, "instant out of range");
        Self(ns as i64)
    }

    /// Returns the nanoseconds since the start.
    #[inline]
    pub const fn as_ns(self) -> u64 {
        self.0 as u64
    }

    /// Returns the seconds since the start, for display.
    pub fn as_s(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns this instant moved by `by`, or [`Self::NEVER`] if that is not representable.
    #[inline]
    pub const fn saturating_add(self, by: Span) -> Self {
        Self(self.0.saturating_add(by.0))
    }

    /// Returns the time from `other` to this instant, which is negative when `other` is later.
    #[inline]
    pub const fn after(self, other: Self) -> Span {
        Span(self.0 - other.0)
    }

    /// Returns this instant moved by `by`, but not before the start.
    #[inline]
    pub const fn shifted(self, by: Span) -> Self {
        Self(Span(self.0 + by.0).or_zero().0)
    }

    /// Returns the time from `earlier` to this instant, or zero when `earlier` is later.
    #[inline]
    pub const fn since_or_zero(self, earlier: Self) -> Span {
        Span(self.0 - earlier.0).or_zero()
    }
}

impl AddAssign<Span> for Instant {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

/// Panics when the right operand is later than the left one, because time never runs backwards.
impl Sub for Instant {
    type Output = Span;
    #[inline]
    fn sub(self, earlier: Self) -> Span {
        if self.0 < earlier.0 {
            time_runs_backwards(self, earlier);
        }
        Span(self.0 - earlier.0)
    }
}

// This and similar functions are separate so that the messages do not slow down the hot path.
#[cold]
#[inline(never)]
fn time_runs_backwards(at: Instant, earlier: Instant) -> ! {
    panic!("time runs backwards: {at:?} - {earlier:?}")
}

macro_rules! operators {
    ($(
        $operator:ident::$function:ident($left:ident, $right:ident)
            = |$a:ident, $b:ident| $result:expr;
    )+) => {$(
        impl $operator<$right> for $left {
            type Output = Self;
            #[inline]
            fn $function(self, other: $right) -> Self {
                let ($a, $b) = (self.0, other.0);
                Self($result)
            }
        }
    )+};
}

operators! {
    Add::add(Instant, Span) = |at, span| at + span;
    Sub::sub(Instant, Span) = |at, span| at - span;
    Add::add(Span, Span) = |a, b| a + b;
    Sub::sub(Span, Span) = |a, b| a - b;
    Add::add(Angle, Angle) = |a, b| a.wrapping_add(b);
    Sub::sub(Angle, Angle) = |a, b| a.wrapping_sub(b);
    Add::add(Lbn, SectorCount) = |at, sectors| at + sectors;
    Add::add(SectorCount, SectorCount) = |a, b| a + b;
}

/// A length of time in whole nanoseconds; negative only for a model's *effective* values (such as
/// the write settle of worthington96 table 12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Span(i64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// Creates a span of `ns` nanoseconds.
    #[inline]
    pub const fn from_ns(ns: i64) -> Self {
        Self(ns)
    }

    /// Creates a span of `ms` milliseconds, to the nearest nanosecond.
    pub fn from_ms(ms: f64) -> Self {
        Self((ms * 1e6).round() as i64)
    }

    /// Creates a span of `us` microseconds, to the nearest nanosecond.
    pub fn from_us(us: f64) -> Self {
        Self((us * 1e3).round() as i64)
    }

    /// Creates a span of `s` seconds, to the nearest nanosecond.
    pub fn from_s(s: f64) -> Self {
        Self((s * 1e9).round() as i64)
    }

    /// Returns the number of nanoseconds.
    #[inline]
    pub const fn as_ns(self) -> i64 {
        self.0
    }

    /// Returns the span in milliseconds, for display and statistics.
    #[inline]
    pub fn as_ms(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Returns the span in seconds, for display and statistics.
    pub fn as_s(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns this span, or zero when it is negative.
    #[inline]
    pub const fn or_zero(self) -> Self {
        if self.0 < 0 { Self::ZERO } else { self }
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl SubAssign for Span {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Neg for Span {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    #[inline]
    fn mul(self, times: u64) -> Self {
        Self(self.0 * times as i64)
    }
}

impl Sum for Span {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.as_ms())
    }
}

/// A position on the platter, or a difference of two positions: a fraction of a revolution, in
/// units of 2^-64, so that arithmetic wraps around once per revolution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Angle(u64);

impl Angle {
    /// The angle of the index mark.
    pub const ZERO: Self = Self(0);

    /// Creates the angle of `numerator / denominator` revolutions, modulo one, rounded down.
    #[inline]
    pub const fn from_fraction(numerator: u64, denominator: u64) -> Self {
        Self((((numerator % denominator) as u128) << 64).div_euclid(denominator as u128) as u64)
    }

    /// Creates the angle of `raw` units of 2^-64 revolutions.
    #[inline]
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    /// Returns the number of units of 2^-64 revolutions.
    #[inline]
    pub const fn as_raw(self) -> u64 {
        self.0
    }

    /// Returns the fraction of a revolution, in `[0, 1)`, for display.
    pub fn as_revolutions(self) -> f64 {
        self.0 as f64 / 2f64.powi(64)
    }
}

impl Mul<u64> for Angle {
    type Output = Self;
    #[inline]
    fn mul(self, times: u64) -> Self {
        Self(self.0.wrapping_mul(times))
    }
}

/// A logical block number, by which the host addresses blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lbn(pub u64);

/// A number of sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SectorCount(pub u64);

/// A cylinder; 0 is the outermost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cylinder(pub u32);

/// A data surface, identified by its head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Head(pub u32);

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bytes(pub u64);

/// Panics when the right operand is beyond the left one.
impl Sub for Lbn {
    type Output = SectorCount;
    #[inline]
    fn sub(self, lower: Self) -> SectorCount {
        if self.0 < lower.0 {
            blocks_run_backwards(self, lower);
        }
        SectorCount(self.0 - lower.0)
    }
}

#[cold]
#[inline(never)]
fn blocks_run_backwards(at: Lbn, lower: Lbn) -> ! {
    panic!("block numbers run backwards: {at:?} - {lower:?}")
}

impl Cylinder {
    /// Returns the number of cylinders between this one and `other`.
    #[inline]
    pub const fn distance(self, other: Self) -> u32 {
        self.0.abs_diff(other.0)
    }
}

/// Returns `span` in nanoseconds; panics if it is negative.
#[inline]
pub(crate) fn elapsed_ns(span: Span) -> u64 {
    if span < Span::ZERO {
        negative_time(span);
    }
    span.as_ns() as u64
}

#[cold]
#[inline(never)]
fn negative_time(span: Span) -> ! {
    panic!("the time is negative: {span:?}")
}

pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "time runs backwards")]
    fn a_later_instant_cannot_be_subtracted_from_an_earlier_one() {
        let _ = Instant::from_ns(1) - Instant::from_ns(2);
    }

    #[test]
    fn angles_wrap_after_a_revolution() {
        // A quarter of a revolution minus three quarters is half a revolution forward.
        let quarters = |n| Angle::from_fraction(n, 4);
        assert_eq!(quarters(1) - quarters(3), Angle::from_fraction(1, 2));
        assert_eq!(quarters(7), quarters(3));
        assert_eq!(quarters(1) * 4, Angle::ZERO);
    }

    #[test]
    fn spans_are_exact_to_the_nanosecond() {
        assert_eq!(Span::from_ms(0.95343).as_ns(), 953_430);
        assert_eq!(Span::from_ms(-0.483).as_ns(), -483_000);
        assert_eq!(Instant::from_ns(5) + Span::from_ns(-2), Instant::from_ns(3));
    }
}
