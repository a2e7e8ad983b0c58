//! The spanned TOML tree, and readers that convert a value into a checked quantity or an error.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::DeValue;

use crate::sched::PolicyConfig;
use crate::spec::Key;
use crate::spec::geometry::MAX_CYLINDERS;
use crate::text::{InputError, line_of, nearest, quantity};
use crate::units::{Bytes, SectorCount, Span};

#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl<'a> Text<'a> {
    pub(super) fn error_at(self, offset: usize, error: InputError) -> InputError {
        error.in_file(self.file, line_of(self.text, offset))
    }

    pub(super) fn line_at(self, offset: usize) -> &'a str {
        let (before, after) = (self.text.split_at_checked(offset)).unwrap_or((self.text, ""));
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let end = before.len() + after.find('\n').unwrap_or(after.len());
        self.text.get(start..end).unwrap_or_default().trim()
    }

    fn quote(self, span: Range<usize>) -> String {
        const LONGEST: usize = 60;
        let full = self.text.get(span).unwrap_or_default();
        let line = full.lines().next().unwrap_or_default();
        let short: String = line.chars().take(LONGEST).collect();
        if short.len() < full.len() {
            format!("{short}...")
        } else {
            short
        }
    }
}

/// A path in the tree, and the value there, if any.
pub(super) struct Node<'a> {
    text: Text<'a>,
    path: String,
    span: Range<usize>,
    value: Option<&'a DeValue<'a>>,
}

impl<'a> Node<'a> {
    pub(super) fn root(text: Text<'a>, tree: &'a DeValue<'a>) -> Self {
        Self {
            text,
            path: String::new(),
            span: 0..0,
            value: Some(tree),
        }
    }

    fn child(&self, path: String, node: Option<&'a Spanned<DeValue<'a>>>) -> Self {
        let start = self.span.start;
        Self {
            text: self.text,
            path,
            span: node.map_or(start..start, |node| node.span()),
            value: node.map(|node| node.get_ref()),
        }
    }

    pub(super) fn error(&self, expected: impl Into<String>) -> InputError {
        let error = match self.value {
            None => InputError::missing(&self.path, expected),
            Some(DeValue::Table(_)) => InputError::shown(&self.path, "a table", expected),
            Some(_) => InputError::shown(&self.path, self.text.quote(self.span.clone()), expected),
        };
        self.text.error_at(self.span.start, error)
    }

    pub(super) fn is_absent(&self) -> bool {
        self.value.is_none()
    }

    pub(super) fn string(&self) -> Option<&'a str> {
        self.value?.as_str()
    }

    /// Returns the value if it is a non-negative integer.
    pub(super) fn integer(&self) -> Option<u64> {
        let written = self.value?.as_integer()?;
        u64::from_str_radix(written.as_str(), written.radix()).ok()
    }

    pub(super) fn number(&self) -> Option<f64> {
        let number = match self.value? {
            DeValue::Float(written) => written.as_str().parse::<f64>().ok()?,
            _ => self.integer()? as f64,
        };
        number.is_finite().then_some(number)
    }

    pub(super) fn elements(&self) -> Option<Vec<Self>> {
        let array = self.value?.as_array()?.iter().enumerate();
        let path = |index| format!("{}[{index}]", self.path);
        let elements = array.map(|(index, node)| self.child(path(index), Some(node)));
        Some(elements.collect())
    }

    /// Checks that the node is a table. An absent one counts as empty, so errors name its keys.
    pub(super) fn table(&self) -> Result<&Self, InputError> {
        match self.value {
            None | Some(DeValue::Table(_)) => Ok(self),
            Some(_) => Err(self.error("a table")),
        }
    }

    pub(super) fn get(&self, key: &str) -> Self {
        let node = self.value.and_then(|value| value.get(key));
        self.child(self.path_of(key), node)
    }

    pub(super) fn get_path(&self, path: &str) -> Result<Self, InputError> {
        match path.split_once('.') {
            Some((key, rest)) => self.get(key).table()?.get_path(rest),
            None => Ok(self.get(path)),
        }
    }

    pub(super) fn maybe<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Node<'a>) -> Result<T, InputError>,
    ) -> Result<Option<T>, InputError> {
        let node = self.get(key);
        node.value.map(|_| read(&node)).transpose()
    }

    /// Returns the value of `key`, or `default` if it is omitted.
    pub(super) fn or<T>(
        &self,
        key: &str,
        default: T,
        read: impl FnOnce(&Node<'a>) -> Result<T, InputError>,
    ) -> Result<T, InputError> {
        Ok(self.maybe(key, read)?.unwrap_or(default))
    }

    /// Reports the first key that is not one of the `known` ones.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), InputError> {
        let entries = self.value.and_then(DeValue::as_table).into_iter();
        let keys = entries.flat_map(|entries| entries.keys());
        let unknown = keys
            .filter(|key| !known.contains(&key.get_ref().as_ref()))
            .min_by_key(|key| key.span().start);
        unknown.map_or(Ok(()), |key| Err(self.unknown(key, known)))
    }

    fn unknown(&self, key: &Spanned<Cow<'_, str>>, known: &[&str]) -> InputError {
        let written: &str = key.get_ref();
        let mut all = Key::all().into_iter();
        let nested = all.find(|key| key.name() == written);
        let expected = match nearest(written, known) {
            _ if let (Some(nested), "") = (nested, &*self.path) => {
                format!("a known key, perhaps \"{}\"", nested.path)
            }
            Some(near) => format!("a known key, perhaps \"{near}\""),
            None => format!("a known key: {}", known.join(", ")),
        };
        let path = self.path_of(written);
        let error = InputError::shown(path, "an unknown key", expected);
        self.text.error_at(key.span().start, error)
    }

    fn path_of(&self, key: &str) -> String {
        match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        }
    }
}

pub(super) fn text(value: &Node<'_>) -> Result<String, InputError> {
    match value.string().map(str::trim) {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(value.error("a non-empty string in quotes")),
    }
}

pub(super) fn flag(value: &Node<'_>) -> Result<bool, InputError> {
    let flag = value.value.and_then(DeValue::as_bool);
    flag.ok_or_else(|| value.error("true or false"))
}

pub(super) fn word(value: &Node<'_>, words: &[&'static str]) -> Result<&'static str, InputError> {
    let found = words.iter().find(|word| value.string() == Some(word));
    found.copied().ok_or_else(|| {
        let known: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        value.error(format!("one of {}", known.join(", ")))
    })
}

pub(super) fn policy(value: &Node<'_>) -> Result<PolicyConfig, InputError> {
    let expected = "a policy, such as \"sptf\"";
    let text = value.string().ok_or_else(|| value.error(expected))?;
    text.parse().map_err(|error: InputError| {
        value.error(match error.field.as_str() {
            "policy" => error.expected,
            field => format!("{} (for {field})", error.expected),
        })
    })
}

pub(super) fn count(value: &Node<'_>, range: RangeInclusive<u64>) -> Result<u64, InputError> {
    match value.integer() {
        Some(number) if range.contains(&number) => Ok(number),
        _ => {
            let (min, max) = range.into_inner();
            Err(value.error(format!("a whole number from {min} to {max}")))
        }
    }
}

pub(super) fn count_u32(value: &Node<'_>, range: RangeInclusive<u32>) -> Result<u32, InputError> {
    let wide = u64::from(*range.start())..=u64::from(*range.end());
    count(value, wide).map(|number| number as u32)
}

pub(super) fn number(value: &Node<'_>) -> Result<f64, InputError> {
    match value.number() {
        Some(number) if number >= 0.0 => Ok(number),
        _ => Err(value.error("a number, zero or more")),
    }
}

const LONGEST_MS: f64 = 1e3;

/// Returns a time from zero to a second.
pub(super) fn time(value: &Node<'_>) -> Result<Span, InputError> {
    time_in(value, false)
}

/// Returns a time of at most a second, which may be negative if it is `signed`.
pub(super) fn time_in(value: &Node<'_>, signed: bool) -> Result<Span, InputError> {
    let (min_ms, range) = if signed {
        (-LONGEST_MS, "a time from -1 s to 1 s")
    } else {
        (0.0, "a time from 0 s to 1 s")
    };
    match value.string().and_then(quantity::nanoseconds) {
        Some(ns) if (min_ms..=LONGEST_MS).contains(&(ns / 1e6)) => {
            Ok(Span::from_ns(ns.round() as i64))
        }
        Some(_) => Err(value.error(range)),
        None => Err(value.error("a time with its unit (ns, us, ms, s), such as \"0.89 ms\"")),
    }
}

/// Returns a time written as a bare number of milliseconds, in a list whose key names the unit.
pub(super) fn bare_ms(value: &Node<'_>) -> Result<Span, InputError> {
    match value.number() {
        Some(ms) if (0.0..=LONGEST_MS).contains(&ms) => Ok(Span::from_ms(ms)),
        _ => Err(value.error("a number of milliseconds from 0 to 1000")),
    }
}

/// Returns the time of a revolution, in nanoseconds, from a microsecond to ten seconds.
pub(super) fn period_ns(value: &Node<'_>) -> Result<f64, InputError> {
    match value.string().and_then(quantity::period_ns) {
        Some(ns) if (1e3..=1e10).contains(&ns) => Ok(ns),
        Some(_) => Err(value.error("6 rpm to 60000000 rpm, or 1 us to 10 s")),
        None => {
            let example = "such as \"5400 rpm\" or \"11.115 ms\"";
            Err(value.error(format!("a speed or a period with its unit, {example}")))
        }
    }
}

/// The maximum size: far above any buffer, and far from the end of the 64-bit range.
const MAX_SECTORS: u64 = 1_000_000_000_000;

/// Returns a size in whole sectors of `sector` bytes; zero is allowed only if `min` is 0.
pub(super) fn size(value: &Node<'_>, sector: Bytes, min: u64) -> Result<SectorCount, InputError> {
    let text = value.string();
    match text.and_then(|text| quantity::sectors(text, sector)) {
        Some(SectorCount(0)) if min > 0 => Err(value.error("a size of at least one sector")),
        Some(size) if size.0 <= MAX_SECTORS => Ok(size),
        Some(_) => Err(value.error(format!("a size of at most {MAX_SECTORS} sectors"))),
        None => Err(value.error(format!(
            "a size in whole sectors of {} B with its unit (sectors, B, KiB, MiB, GiB), \
             such as \"128 sectors\"",
            sector.0
        ))),
    }
}

/// Returns a fraction from 0 to 1, as a percentage or a bare number.
pub(super) fn fraction(value: &Node<'_>) -> Result<f64, InputError> {
    let written = value.string().and_then(quantity::fraction);
    match written.or_else(|| value.number()) {
        Some(fraction) if (0.0..=1.0).contains(&fraction) => Ok(fraction),
        _ => Err(value.error("a fraction from 0 to 1, such as \"75 %\" or 0.75")),
    }
}

pub(super) fn distance(value: &Node<'_>) -> Result<u32, InputError> {
    let max = u64::from(MAX_CYLINDERS);
    match value.string().and_then(quantity::cylinders) {
        Some(distance) if (1..=max).contains(&distance) => Ok(distance as u32),
        Some(_) => Err(value.error(format!("a distance from 1 to {max} cylinders"))),
        None => Err(value.error("a distance with its unit, such as \"300 cylinders\"")),
    }
}

pub(super) fn rate_ms(value: &Node<'_>, unit: &str) -> Result<f64, InputError> {
    let text = value.string();
    match text.and_then(|text| quantity::rate_ms(text, unit)) {
        Some(rate) if (0.0..=LONGEST_MS).contains(&rate) => Ok(rate),
        Some(_) => Err(value.error(format!("0 to 1000 {unit}"))),
        None => Err(value.error(format!("a number with its unit, such as \"0.4 {unit}\""))),
    }
}

pub(super) fn list<'a, T>(
    value: &Node<'a>,
    expected: &str,
    read: impl FnMut(&Node<'a>) -> Result<T, InputError>,
) -> Result<Vec<T>, InputError> {
    let elements = value.elements().ok_or_else(|| value.error(expected))?;
    elements.iter().map(read).collect()
}

pub(super) fn pair<'a, A, B>(
    value: &Node<'a>,
    expected: &str,
    first: impl FnOnce(&Node<'a>) -> Result<A, InputError>,
    second: impl FnOnce(&Node<'a>) -> Result<B, InputError>,
) -> Result<(A, B), InputError> {
    match value.elements().as_deref() {
        Some([a, b]) => Ok((first(a)?, second(b)?)),
        _ => Err(value.error(expected)),
    }
}
