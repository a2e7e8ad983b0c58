//! Units of time in trace files, and exact parsing of decimal numbers.

use std::fmt;

use diskarm_core::units::Instant;

use crate::digits::{POWERS_OF_TEN, digits, find, write_number};

/// The unit in which a format writes its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// The SI unit, with decimals.
    Seconds,
    /// Thousandths of a second.
    Milliseconds,
    /// Millionths of a second.
    Microseconds,
    /// 100 ns, the tick of Windows.
    Ticks,
    /// The unit of all times in this crate.
    Nanoseconds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InvalidTime {
    /// It is not a decimal number: digits, optionally followed by a decimal point and more digits.
    NotDecimal,
    Negative,
    /// It is more than 2^63 - 1 ns.
    TooLong,
}

impl TimeUnit {
    /// Returns the unit's name, in the plural.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
            Self::Ticks => "units of 100 ns",
            Self::Nanoseconds => "nanoseconds",
        }
    }

    /// Returns the number of decimal places from this unit down to the nanosecond.
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
    /// It does not use `f64`, which would lose nanoseconds above 2^53 ns (104 days).
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

    /// Returns the time of `whole` units and a fraction with this many decimals; `None` if the
    /// decimals go below the nanosecond or the time is 2^63 ns or more.
    #[inline]
    pub(crate) fn ns_of(self, whole: u64, fraction: u64, decimals: usize) -> Option<i64> {
        let missing = self.decimals().checked_sub(decimals)?;
        let whole = i64::try_from(whole).ok()?;
        // There are at most nine decimals.
        let scaled = whole.checked_mul(POWERS_OF_TEN[decimals] as i64)?;
        let value = scaled.checked_add(fraction as i64)?;
        value.checked_mul(POWERS_OF_TEN[missing] as i64)
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
            let tenfold = ns.checked_mul(10).ok_or(InvalidTime::TooLong)?;
            let digit = i64::from(digit - b'0');
            ns = tenfold.checked_add(digit).ok_or(InvalidTime::TooLong)?;
        }
        let round_up = fraction.get(kept).is_some_and(|digit| *digit >= b'5');
        ns.checked_add(i64::from(round_up))
            .ok_or(InvalidTime::TooLong)
    }

    pub(crate) const fn ns(self) -> i64 {
        POWERS_OF_TEN[self.decimals()] as i64
    }

    /// Writes `ns` in the unit, to the last decimal place that is not zero.
    pub(crate) fn write(self, ns: u64, out: &mut Vec<u8>) {
        let unit = self.ns().unsigned_abs();
        write_number(ns / unit, out);
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

/// Parses a time relative to the start of a trace, exactly: a decimal number in `ns`, `us`, `ms`,
/// `s`, `min` or `h`. Returns `None` for anything else, and for 2^63 ns or more.
///
/// ```
/// use diskarm_trace::adapt::parse_instant;
/// assert_eq!(parse_instant("1.5 min"), parse_instant("90s"));
/// assert_eq!(parse_instant("90"), None);
/// ```
pub fn parse_instant(text: &str) -> Option<Instant> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(end);
    let (unit, factor) = match unit.trim_start() {
        "ns" => (TimeUnit::Nanoseconds, 1),
        "us" => (TimeUnit::Microseconds, 1),
        "ms" => (TimeUnit::Milliseconds, 1),
        "s" => (TimeUnit::Seconds, 1),
        "min" => (TimeUnit::Seconds, 60),
        "h" => (TimeUnit::Seconds, 3_600),
        _ => return None,
    };
    let ns = unit.parse_ns(number.as_bytes()).ok()?.checked_mul(factor)?;
    Some(Instant::from_ns(ns.unsigned_abs()))
}

/// A factor for the arrival rate of a trace: an exact decimal number above 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    billionths: u64,
}

const BILLION: u64 = 1_000_000_000;

impl Factor {
    /// Parses a number from 0.000000001 to 1000000000 with at most nine decimals.
    ///
    /// ```
    /// use diskarm_trace::adapt::Factor;
    /// assert_eq!(Factor::parse("0.50").map(|half| half.to_string()), Some("0.5".to_owned()));
    /// assert_eq!(Factor::parse("0"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let missing = 9usize.checked_sub(fraction.len())?;
        let parts = digits(fraction.as_bytes())? * 10u64.pow(missing as u32);
        let whole = digits(whole.as_bytes()).filter(|whole| *whole <= BILLION)?;
        let billionths = whole * BILLION + parts;
        let is_valid = (1..=BILLION * BILLION).contains(&billionths);
        is_valid.then_some(Self { billionths })
    }

    /// Returns `ns` divided by the factor, rounded to the nearest integer; `None` for 2^63 or more.
    pub(crate) fn divide(self, ns: u64) -> Option<i64> {
        let divisor = u128::from(self.billionths);
        let scaled = u128::from(ns) * u128::from(BILLION);
        i64::try_from((scaled + divisor / 2) / divisor).ok()
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, parts) = (self.billionths / BILLION, self.billionths % BILLION);
        let digits = format!("{whole}.{parts:09}");
        f.write_str(digits.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_are_exact_up_to_the_largest_time() {
        for (unit, text, ns) in [
            (TimeUnit::Microseconds, "18228.000", 18_228_000),
            (TimeUnit::Microseconds, "7", 7_000),
            (TimeUnit::Microseconds, "0.1", 100),
            (TimeUnit::Microseconds, "0000.001", 1),
            (TimeUnit::Microseconds, "0.0004999", 0),
            (TimeUnit::Microseconds, "0.0005", 1),
            (TimeUnit::Microseconds, "1.9999", 2_000),
            (TimeUnit::Milliseconds, "0.000001", 1),
            // 2^53 + 1 ns, the first count that an f64 cannot hold.
            (
                TimeUnit::Milliseconds,
                "9007199254.740993",
                9_007_199_254_740_993,
            ),
            (TimeUnit::Milliseconds, "9223372036854.775807", i64::MAX),
            (TimeUnit::Milliseconds, "9223372036854.7758074", i64::MAX),
        ] {
            assert_eq!(unit.parse_ns(text.as_bytes()), Ok(ns), "{text}");
        }
        for text in [
            "9223372036854.7758075",
            "9223372036854.775808",
            "9999999999999999999999",
        ] {
            let found = TimeUnit::Milliseconds.parse_ns(text.as_bytes());
            assert_eq!(found, Err(InvalidTime::TooLong), "{text}");
        }
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
