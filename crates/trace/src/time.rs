//! Units of time in trace files, and exact parsing of decimal numbers.

use crate::digits::{digits, find, write_whole};

/// The unit in which a format writes its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// 1 s.
    Seconds,
    /// 10^-3 s.
    Milliseconds,
    /// 10^-6 s.
    Microseconds,
    /// 10^-7 s, the tick of Windows.
    Ticks,
    /// 10^-9 s.
    Nanoseconds,
}

/// The reason why a text is not a valid time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InvalidTime {
    /// It is not digits, or digits, a point and digits.
    NotDecimal,
    /// It is below zero.
    Negative,
    /// It is more than 2^63 - 1 ns.
    TooLong,
}

impl TimeUnit {
    /// The unit's name, in the plural.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
            Self::Ticks => "units of 100 ns",
            Self::Nanoseconds => "nanoseconds",
        }
    }

    /// Decimal places from this unit down to the nanosecond.
    const fn decimals(self) -> usize {
        match self {
            Self::Seconds => 9,
            Self::Milliseconds => 6,
            Self::Microseconds => 3,
            Self::Ticks => 2,
            Self::Nanoseconds => 0,
        }
    }

    /// Parses a decimal number of this unit as nanoseconds in `[0, 2^63)`. Digits below the
    /// nanosecond are rounded to the nearest, halves up.
    ///
    /// Does not use `f64`, which would lose nanoseconds from 2^53 ns (104 days) on.
    #[inline]
    pub(crate) fn parse_ns(self, text: &[u8]) -> Result<i64, InvalidTime> {
        match self.parse_short(text) {
            Some(ns) => Ok(ns),
            None => self.parse_any(text),
        }
    }

    /// Parses a number without digits below the nanosecond, the common case.
    #[inline]
    fn parse_short(self, text: &[u8]) -> Option<i64> {
        let (whole, fraction, decimals) = match find(b'.', text) {
            Some(point) => {
                let fraction = &text[point + 1..];
                (digits(&text[..point])?, digits(fraction)?, fraction.len())
            }
            None => (digits(text)?, 0, 0),
        };
        self.ns_of(whole, fraction, decimals)
    }

    /// The time of `whole` units and a fraction of this many decimals; `None` if those go below the
    /// nanosecond, or from 2^63 ns on.
    #[inline]
    pub(crate) fn ns_of(self, whole: u64, fraction: u64, decimals: usize) -> Option<i64> {
        let missing = self.decimals().checked_sub(decimals)?;
        let whole = i64::try_from(whole).ok()?;
        // At most nine decimals.
        let value = whole
            .checked_mul(POWERS_OF_TEN[decimals])?
            .checked_add(fraction as i64)?;
        value.checked_mul(POWERS_OF_TEN[missing])
    }

    fn parse_any(self, text: &[u8]) -> Result<i64, InvalidTime> {
        if let Some(rest) = text.strip_prefix(b"-") {
            return Err(match self.parse_any(rest) {
                Err(InvalidTime::NotDecimal | InvalidTime::Negative) => InvalidTime::NotDecimal,
                Ok(_) | Err(InvalidTime::TooLong) => InvalidTime::Negative,
            });
        }
        let is_digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
        let (whole, fraction) = match text.iter().position(|byte| *byte == b'.') {
            Some(point) => (&text[..point], &text[point + 1..]),
            None => (text, &b"0"[..]),
        };
        if !is_digits(whole) || !is_digits(fraction) {
            return Err(InvalidTime::NotDecimal);
        }
        let kept = fraction.len().min(self.decimals());
        let mut ns: i64 = 0;
        let zeros = b"000000000"[..self.decimals() - kept].iter();
        for digit in whole.iter().chain(fraction[..kept].iter()).chain(zeros) {
            ns = times_ten_plus(ns, digit - b'0').ok_or(InvalidTime::TooLong)?;
        }
        let round_up = fraction.get(kept).is_some_and(|digit| *digit >= b'5');
        ns.checked_add(i64::from(round_up))
            .ok_or(InvalidTime::TooLong)
    }

    /// Nanoseconds in one of the unit.
    pub(crate) const fn ns(self) -> i64 {
        POWERS_OF_TEN[self.decimals()]
    }

    /// Writes `ns` in the unit, to the last decimal place that is not zero.
    pub(crate) fn write(self, ns: u64, out: &mut Vec<u8>) {
        let unit = self.ns().unsigned_abs();
        write_whole(ns / unit, out);
        let mut rest = ns % unit;
        if rest == 0 {
            return;
        }
        out.push(b'.');
        let mut scale = unit / 10;
        while rest > 0 {
            out.push(b'0' + (rest / scale) as u8);
            rest %= scale;
            scale /= 10;
        }
    }
}

const POWERS_OF_TEN: [i64; 10] = [
    1,
    10,
    100,
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
    1_000_000_000,
];

fn times_ten_plus(value: i64, digit: u8) -> Option<i64> {
    value.checked_mul(10)?.checked_add(i64::from(digit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_are_exact() {
        let us = |text: &str| TimeUnit::Microseconds.parse_ns(text.as_bytes());
        let ms = |text: &str| TimeUnit::Milliseconds.parse_ns(text.as_bytes());
        assert_eq!(us("18228.000"), Ok(18_228_000));
        assert_eq!(us("7"), Ok(7_000));
        assert_eq!(us("0.1"), Ok(100));
        assert_eq!(us("0000.001"), Ok(1));
        assert_eq!(us("0.0004999"), Ok(0));
        assert_eq!(us("0.0005"), Ok(1));
        assert_eq!(us("1.9999"), Ok(2_000));
        assert_eq!(ms("0.000001"), Ok(1));
        // 2^53 + 1 ns, the first count that an f64 cannot hold.
        assert_eq!(ms("9007199254.740993"), Ok(9_007_199_254_740_993));
    }

    #[test]
    fn the_largest_time_is_accepted() {
        let ms = |text: &str| TimeUnit::Milliseconds.parse_ns(text.as_bytes());
        assert_eq!(ms("9223372036854.775807"), Ok(i64::MAX));
        assert_eq!(ms("9223372036854.7758074"), Ok(i64::MAX));
        assert_eq!(ms("9223372036854.7758075"), Err(InvalidTime::TooLong));
        assert_eq!(ms("9223372036854.775808"), Err(InvalidTime::TooLong));
        assert_eq!(ms("9999999999999999999999"), Err(InvalidTime::TooLong));
    }

    #[test]
    fn other_spellings_are_rejected() {
        for text in [
            "", ".", "5.", ".5", "+5", "1e3", "NaN", "nan", "inf", "1,5", " 5", "5 ", "0x5",
            "1.2.3", "--5", "-", "-x", "1_000", "\u{0665}",
        ] {
            let found = TimeUnit::Microseconds.parse_ns(text.as_bytes());
            assert_eq!(found, Err(InvalidTime::NotDecimal), "{text:?}");
        }
        for text in ["-5", "-0.001", "-99999999999999999999"] {
            let found = TimeUnit::Microseconds.parse_ns(text.as_bytes());
            assert_eq!(found, Err(InvalidTime::Negative), "{text:?}");
        }
    }

    proptest! {
        /// A time written with a known number of nanoseconds and digits below them is read as that
        /// number, plus one when those digits are half a nanosecond or more.
        #[test]
        fn times_round_trip(ns in 0..i64::MAX, tail in 0..1000i64) {
            for (unit, scale, decimals) in [
                (TimeUnit::Seconds, 1_000_000_000, 9),
                (TimeUnit::Milliseconds, 1_000_000, 6),
                (TimeUnit::Microseconds, 1_000, 3),
                (TimeUnit::Ticks, 100, 2),
            ] {
                let (whole, part) = (ns / scale, ns % scale);
                let text = format!("{whole}.{part:0decimals$}{tail:03}");
                let expected = ns + i64::from(tail >= 500);
                prop_assert_eq!(unit.parse_ns(text.as_bytes()), Ok(expected));
                let mut written = Vec::new();
                unit.write(ns.unsigned_abs(), &mut written);
                prop_assert_eq!(unit.parse_ns(&written), Ok(ns));
            }
        }
    }
}
