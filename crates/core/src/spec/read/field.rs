//! The kinds of fields: each reader converts a value into a checked quantity, or reports what it
//! expected.

use std::ops::RangeInclusive;

use super::tree::Value;
use crate::sched::PolicyConfig;
use crate::spec::geometry::MAX_CYLINDERS;
use crate::text::{InputError, quantity};
use crate::units::{Bytes, SectorCount, Span};

pub(super) fn text(value: &Value<'_>) -> Result<String, InputError> {
    match value.string().map(str::trim) {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(value.error("text in quotes")),
    }
}

pub(super) fn flag(value: &Value<'_>) -> Result<bool, InputError> {
    value.boolean().ok_or_else(|| value.error("true or false"))
}

/// One of a list of words.
pub(super) fn word(value: &Value<'_>, words: &[&'static str]) -> Result<&'static str, InputError> {
    let found = words.iter().find(|word| value.string() == Some(word));
    found.copied().ok_or_else(|| {
        let known: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        value.error(format!("one of {}", known.join(", ")))
    })
}

pub(super) fn policy(value: &Value<'_>) -> Result<PolicyConfig, InputError> {
    let expected = "a policy, such as \"sptf\"";
    let text = value.string().ok_or_else(|| value.error(expected))?;
    text.parse().map_err(|error: InputError| {
        let InputError {
            field, expected, ..
        } = error;
        value.error(match field.as_str() {
            "policy" => expected,
            _ => format!("of {field} {expected}"),
        })
    })
}

/// A whole number within bounds, inclusive.
pub(super) fn count(value: &Value<'_>, range: RangeInclusive<u64>) -> Result<u64, InputError> {
    match value.integer() {
        Some(number) if range.contains(&number) => Ok(number),
        _ => Err(value.error(format!(
            "a whole number from {} to {}",
            range.start(),
            range.end()
        ))),
    }
}

/// The same, in 32 bits.
pub(super) fn count_u32(value: &Value<'_>, range: RangeInclusive<u32>) -> Result<u32, InputError> {
    let wide = u64::from(*range.start())..=u64::from(*range.end());
    count(value, wide).map(|number| number as u32)
}

/// A finite number that is not negative.
pub(super) fn number(value: &Value<'_>) -> Result<f64, InputError> {
    match value.number() {
        Some(number) if number >= 0.0 => Ok(number),
        _ => Err(value.error("a number, zero or more")),
    }
}

/// The maximum of a single time, in milliseconds; the tables of seek times may contain
/// twice this.
const LONGEST_MS: f64 = 1e3;

/// A time from zero to a second.
pub(super) fn time(value: &Value<'_>) -> Result<Span, InputError> {
    time_in(value, 0.0, "a time from 0 s to 1 s")
}

/// A time that may be negative.
pub(super) fn signed_time(value: &Value<'_>) -> Result<Span, InputError> {
    time_in(value, -LONGEST_MS, "a time from -1 s to 1 s")
}

fn time_in(value: &Value<'_>, least_ms: f64, range: &str) -> Result<Span, InputError> {
    match value.string().and_then(quantity::nanoseconds) {
        Some(ns) if (least_ms..=LONGEST_MS).contains(&(ns / 1e6)) => {
            Ok(Span::from_ns(ns.round() as i64))
        }
        Some(_) => Err(value.error(range)),
        None => Err(value.error("a time with its unit (ns, us, ms, s), such as \"0.89 ms\"")),
    }
}

/// A time written as a bare number of milliseconds, in a list whose key names the unit.
pub(super) fn bare_ms(value: &Value<'_>) -> Result<Span, InputError> {
    match value.number() {
        Some(ms) if (0.0..=LONGEST_MS).contains(&ms) => Ok(Span::from_ms(ms)),
        _ => Err(value.error("a number of milliseconds from 0 to 1000")),
    }
}

/// The time of a revolution, in nanoseconds, from a microsecond to ten seconds.
pub(super) fn period_ns(value: &Value<'_>) -> Result<f64, InputError> {
    match value.string().and_then(quantity::period_ns) {
        Some(ns) if (1e3..=1e10).contains(&ns) => Ok(ns),
        Some(_) => Err(value.error("6 rpm to 60000000 rpm, or 1 us to 10 s")),
        None => {
            Err(value
                .error("a speed or a period with its unit, such as \"5400 rpm\" or \"11.115 ms\""))
        }
    }
}

/// The maximum size: far above any buffer, and far from the end of the 64-bit range.
const MAX_SECTORS: u64 = 1_000_000_000_000;

/// A size in whole sectors of `sector` bytes.
pub(super) fn size(value: &Value<'_>, sector: Bytes) -> Result<SectorCount, InputError> {
    let size = value
        .string()
        .and_then(|text| quantity::sectors(text, sector));
    match size {
        Some(size) if size.0 <= MAX_SECTORS => Ok(size),
        Some(_) => Err(value.error(format!("a size of at most {MAX_SECTORS} sectors"))),
        None => Err(value.error(format!(
            "a size in whole sectors of {} B with its unit (sectors, B, KiB, MiB, GiB), \
             such as \"128 sectors\"",
            sector.0
        ))),
    }
}

/// A size of at least one sector.
pub(super) fn some_size(value: &Value<'_>, sector: Bytes) -> Result<SectorCount, InputError> {
    match size(value, sector)? {
        SectorCount(0) => Err(value.error("a size of at least one sector")),
        size => Ok(size),
    }
}

/// A fraction from 0 to 1, as a percentage or a bare number.
pub(super) fn fraction(value: &Value<'_>) -> Result<f64, InputError> {
    let written = value.string().and_then(quantity::fraction);
    match written.or_else(|| value.number()) {
        Some(fraction) if (0.0..=1.0).contains(&fraction) => Ok(fraction),
        _ => Err(value.error("a fraction from 0 to 1, such as \"75 %\" or 0.75")),
    }
}

/// A distance of at least one cylinder.
pub(super) fn distance(value: &Value<'_>) -> Result<u32, InputError> {
    let max = u64::from(MAX_CYLINDERS);
    match value.string().and_then(quantity::cylinders) {
        Some(distance) if (1..=max).contains(&distance) => Ok(distance as u32),
        Some(_) => Err(value.error(format!("a distance from 1 to {max} cylinders"))),
        None => Err(value.error("a distance with its unit, such as \"300 cylinders\"")),
    }
}

/// Milliseconds per `unit`, zero or more.
pub(super) fn rate_ms(value: &Value<'_>, unit: &str) -> Result<f64, InputError> {
    let rate = value
        .string()
        .and_then(|text| quantity::rate_ms(text, unit));
    match rate {
        Some(rate) if (0.0..=LONGEST_MS).contains(&rate) => Ok(rate),
        Some(_) => Err(value.error(format!("0 to 1000 {unit}"))),
        None => Err(value.error(format!("a number with its unit, such as \"0.4 {unit}\""))),
    }
}

/// A list, each element read by `read`.
pub(super) fn list<'a, T>(
    value: &Value<'a>,
    expected: &str,
    read: impl Fn(&Value<'a>) -> Result<T, InputError>,
) -> Result<Vec<T>, InputError> {
    let elements = value.elements().ok_or_else(|| value.error(expected))?;
    elements.iter().map(read).collect()
}

/// A list of two, each read by its own reader.
pub(super) fn pair<'a, A, B>(
    value: &Value<'a>,
    expected: &str,
    first: impl FnOnce(&Value<'a>) -> Result<A, InputError>,
    second: impl FnOnce(&Value<'a>) -> Result<B, InputError>,
) -> Result<(A, B), InputError> {
    match value.elements().as_deref() {
        Some([a, b]) => Ok((first(a)?, second(b)?)),
        _ => Err(value.error(expected)),
    }
}
