//! Parses quantities: a plain decimal number with its unit, such as `"0.89 ms"`.
//!
//! Exponents and digit groups are accepted only in whole numbers; infinity and NaN are never
//! accepted.

use crate::units::{Bytes, SectorCount, Span};

/// The longest span, an hour in nanoseconds, so that all sums of spans fit in 64 bits.
const LONGEST_NS: f64 = 3.6e12;

/// Parses a time in `ns`, `us`, `ms`, `s`, `min` or `h`, from minus an hour to an hour.
pub fn span(text: &str) -> Option<Span> {
    let ns = nanoseconds(text).filter(|ns| ns.abs() <= LONGEST_NS)?;
    Some(Span::from_ns(ns.round() as i64))
}

/// Parses a whole number, such as `20000`, `20_000`, `1e6` or `2.5e6`; `None` for anything else.
pub fn count(text: &str) -> Option<u64> {
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (integer, decimals) = match number.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (number, ""),
    };
    let is_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let is_group = |group: &str| !group.is_empty() && is_digits(group);
    if !integer.split('_').all(is_group) || !is_digits(decimals) {
        return None;
    }
    let zeros = (exponent.parse::<u32>().ok()?).checked_sub(decimals.len() as u32)?;
    let digits: u64 = (integer.replace('_', "") + decimals).parse().ok()?;
    digits.checked_mul(10u64.checked_pow(zeros)?)
}

/// Parses a size in `sectors`, `B`, `KiB`, `MiB` or `GiB` that is a whole number of sectors of
/// `sector` bytes; `None` for anything else. `4k` is 4 KiB, as in fio.
pub fn sectors(text: &str, sector: Bytes) -> Option<SectorCount> {
    let (number, unit) = split(text)?;
    let number = count(number)?;
    let unit_bytes: u64 = match unit {
        "sector" | "sectors" => return Some(SectorCount(number)),
        "B" => 1,
        "KiB" | "K" | "k" => 1 << 10,
        "MiB" | "M" | "m" => 1 << 20,
        "GiB" | "G" | "g" => 1 << 30,
        _ => return None,
    };
    let bytes = number.checked_mul(unit_bytes)?;
    let is_whole = sector.0 > 0 && bytes.is_multiple_of(sector.0);
    is_whole.then(|| SectorCount(bytes / sector.0))
}

/// Parses a speed in `rpm`, or the time of a revolution, as nanoseconds per revolution. Any number
/// is accepted. Fractions of a nanosecond matter: over an hour they add up to degrees.
pub fn period_ns(text: &str) -> Option<f64> {
    match split(text)? {
        (number, "rpm") => number.parse::<f64>().ok().map(|rpm| 60e9 / rpm),
        _ => nanoseconds(text),
    }
}

/// Parses a rate in events per second, minute or hour, `"32/s"`, `"10/min"` or `"1/h"`, as events
/// per second; `None` for anything else. Any number is accepted; without a unit, it is per second.
pub fn per_s(text: &str) -> Option<f64> {
    let (number, unit) = split(text).unwrap_or((text, "/s"));
    let seconds = match unit {
        "/s" => 1.0,
        "/min" => 60.0,
        "/h" => 3_600.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? / seconds)
}

/// Parses a rate like [`per_s`], but returns the time between two events, at most an hour.
pub fn interval(text: &str) -> Option<Span> {
    let ns = 1e9 / per_s(text)?;
    let is_interval = (1.0..=LONGEST_NS).contains(&ns);
    is_interval.then(|| Span::from_ns(ns.round() as i64))
}

/// Parses a percentage, `"75 %"`, as 0.75; `None` for anything else. Any number is accepted.
pub fn fraction(text: &str) -> Option<f64> {
    match split(text)? {
        (number, "%") => number.parse::<f64>().ok().map(|percent| percent / 100.0),
        _ => None,
    }
}

/// Parses a percentage, whose % sign may be omitted if that is unambiguous: `67` is 67 % and `0` is
/// 0 %. `None` for anything else, such as `0.67`, which may be a share or a percentage.
pub fn typed_fraction(text: &str) -> Option<f64> {
    let is_percent = |number: &f64| *number == 0.0 || *number > 1.0 && number.is_finite();
    let bare = || text.parse::<f64>().ok().filter(is_percent);
    fraction(text).or_else(|| bare().map(|percent| percent / 100.0))
}

/// Suggests a size in binary units for one in decimal units, such as `4KB`; `None` for others.
pub fn binary_size(text: &str) -> Option<String> {
    let (number, unit) = split(text)?;
    let unit = match unit {
        "KB" | "kB" | "kb" => "KiB",
        "MB" | "mB" | "mb" => "MiB",
        "GB" | "gB" | "gb" => "GiB",
        _ => return None,
    };
    count(number).map(|number| format!("{number} {unit}"))
}

/// Parses milliseconds per unit, such as `"0.0059 ms/cylinder"` if `unit` is `ms/cylinder`.
pub fn rate_ms(text: &str, unit: &str) -> Option<f64> {
    match split(text)? {
        (number, found) if found == unit => number.parse().ok(),
        _ => None,
    }
}

/// Parses a number of cylinders, such as `"300 cylinders"`.
pub fn cylinders(text: &str) -> Option<u64> {
    match split(text)? {
        (number, "cylinder" | "cylinders") => number.parse().ok(),
        _ => None,
    }
}

/// Parses a time of any size and sign, such as the life of a disk; returns seconds.
pub fn time_s(text: &str) -> Option<f64> {
    nanoseconds(text).map(|ns| ns / 1e9)
}

/// Parses a time of any size in `ns`, `us`, `ms`, `s`, `min` or `h`; returns nanoseconds.
pub(crate) fn nanoseconds(text: &str) -> Option<f64> {
    let (number, unit) = split(text)?;
    let unit_ns = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        "h" => 3_600e9,
        _ => return None,
    };
    number.parse::<f64>().ok().map(|number| number * unit_ns)
}

/// Splits a number from its unit; the space between them is optional.
fn split(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-')?;
    let (number, unit) = text.split_at(end);
    Some((number, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        assert_eq!(span("0.89 ms"), Some(Span::from_ns(890_000)));
        assert_eq!(span("-0.483 ms"), Some(Span::from_ns(-483_000)));
        assert_eq!(span("25us"), Some(Span::from_ns(25_000)));
        assert_eq!(span("1.5 ns"), Some(Span::from_ns(2)));
        assert_eq!(span("2 s"), Some(Span::from_ns(2_000_000_000)));
        assert_eq!(span("1.5min"), Some(Span::from_ns(90_000_000_000)));
        assert_eq!(span("1h"), Some(Span::from_ns(3_600_000_000_000)));
        assert_eq!(time_s("1000000 h"), Some(3.6e9));
        let bad = ",ms,0.89,1 m,nan ms,inf s,1e3 ms,3601 s,1 ms x,--1 ms";
        for text in bad.split(',') {
            assert_eq!(span(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_are_whole_sectors() {
        let half_kib = Bytes(512);
        assert_eq!(sectors("256 KiB", half_kib), Some(SectorCount(512)));
        assert_eq!(sectors("128 sectors", half_kib), Some(SectorCount(128)));
        assert_eq!(sectors("1 sector", half_kib), Some(SectorCount(1)));
        assert_eq!(sectors("1 KiB", Bytes(256)), Some(SectorCount(4)));
        let bad = "100 B,0.5 KiB,-1 sectors,99999999999 GiB,256 KB,4,4 kb";
        for text in bad.split(',') {
            assert_eq!(sectors(text, half_kib), None, "{text}");
        }
        for (short, long) in [("4k", "4 KiB"), ("2M", "2 MiB"), ("1 g", "1 GiB")] {
            assert_eq!(sectors(short, half_kib), sectors(long, half_kib));
        }
    }

    #[test]
    fn whole_numbers_may_have_exponents_and_digit_groups() {
        for (text, number) in [
            ("0", 0),
            ("20_000", 20_000),
            ("1e6", 1_000_000),
            ("2.5E6", 2_500_000),
            ("1_0e2", 1_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(count(text), Some(number), "{text}");
        }
        let bad = ",_1,1_,1__0,-1,1.5,1.25e1,1e-3,1e,e6,1e20,1.e6,1 000,18446744073709551616";
        for text in bad.split(',') {
            assert_eq!(count(text), None, "{text}");
        }
    }

    #[test]
    fn a_rate_is_parsed_as_an_interval() {
        assert_eq!(interval("32/s"), Some(Span::from_ms(31.25)));
        assert_eq!(interval("0.5 /s"), Some(Span::from_ms(2_000.0)));
        assert_eq!(interval("32"), interval("32/s"));
        assert_eq!(interval("12/min"), Some(Span::from_ms(5_000.0)));
        assert_eq!(interval("1/h"), Some(Span::from_ms(3_600_000.0)));
        assert_eq!(interval("1000000000/s"), Some(Span::from_ns(1)));
        for text in "0/s,-1/s,nan,32/ms,2000000000/s,0.0001/s,0.9/h".split(',') {
            assert_eq!(interval(text), None, "{text}");
        }
    }

    #[test]
    fn a_percentage_may_lack_its_sign_if_that_is_unambiguous() {
        assert_eq!(typed_fraction("67"), typed_fraction("67 %"));
        assert_eq!(typed_fraction("1.5"), Some(0.015));
        assert_eq!(typed_fraction("0.5%"), Some(0.005));
        assert_eq!(typed_fraction("0"), Some(0.0));
        for text in ["0.67", "1", "-5", "nan", "inf", "67 s", ""] {
            assert_eq!(typed_fraction(text), None, "{text}");
        }
    }

    #[test]
    fn binary_sizes_are_suggested_for_decimal_ones() {
        assert_eq!(binary_size("4KB").as_deref(), Some("4 KiB"));
        assert_eq!(binary_size("20_0 mb"), None);
        assert_eq!(binary_size("2 GB").as_deref(), Some("2 GiB"));
        for text in ["4 KiB", "4k", "KB", "4.5 KB", "4 TB"] {
            assert_eq!(binary_size(text), None, "{text}");
        }
    }

    #[test]
    fn a_rotation_is_a_speed_or_a_period() {
        // 60 s / 7500 = 8 ms, exactly.
        assert_eq!(period_ns("7500 rpm"), Some(8e6));
        assert_eq!(period_ns("11.115 ms"), Some(11_115_000.0));
        for text in ["5400", "5400 rps", "rpm", "1e4 rpm"] {
            assert_eq!(period_ns(text), None, "{text}");
        }
    }
}
