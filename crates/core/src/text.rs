//! The syntax of names, of quantities with units, and of calls with parameters.
//!
//! Specifications, workloads and policies consist of words, and of calls such as
//! `poisson(rate=60/s)`. This module parses the punctuation; its callers define the meaning.

mod error;
pub mod quantity;

pub use error::{InputError, line_of, nearest};

use std::fmt::Display;
use std::ops::RangeInclusive;

use crate::units::Span;

/// Formats a count with its noun: `1 claim`, `2 claims`.
pub fn with_noun<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let s = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{s}")
}

/// A name with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call<'t> {
    /// The name before the parentheses.
    pub name: &'t str,
    /// The parameters in order. A key may occur twice.
    pub parameters: Vec<(&'t str, &'t str)>,
}

impl<'t> Call<'t> {
    /// Returns the name of a call, without parameters.
    pub fn name_of(text: &'t str) -> &'t str {
        text.split_once('(').map_or(text, |(name, _)| name).trim()
    }

    /// Parses `name` or `name(key=value, ...)`. Errors refer to the field `field`.
    pub fn read(text: &'t str, field: &str) -> Result<Self, InputError> {
        Self::read_in_order(text, field, &[])
    }

    /// Like [`Self::read`], but the first parameters may be bare values for `keys`, in order.
    pub fn read_in_order(text: &'t str, field: &str, keys: &[&'t str]) -> Result<Self, InputError> {
        let trimmed = text.trim();
        let Some((before_parenthesis, rest)) = trimmed.split_once('(') else {
            if trimmed.contains('=') {
                return Err(InputError::new(field, trimmed, CALL_SYNTAX));
            }
            let (name, parameters) = (trimmed, Vec::new());
            return Ok(Self { name, parameters });
        };
        let Some(arguments) = rest.strip_suffix(')').filter(|inner| is_balanced(inner)) else {
            return Err(InputError::new(field, trimmed, expected_call(trimmed)));
        };
        let name = before_parenthesis.trim();
        let (mut parameters, mut keys, mut before) = (Vec::new(), keys.iter(), "");
        let parts = list(arguments).into_iter();
        for part in parts.filter(|part| !part.is_empty()) {
            // A bare value may be a call with its own parameters.
            let keyed = part.split_once('=').filter(|(key, _)| !key.contains('('));
            let (key, value) = match keyed {
                Some(keyed) => {
                    keys = [].iter();
                    keyed
                }
                None => match keys.next() {
                    Some(key) => (*key, part),
                    None => {
                        let expected = "parameters as key=value";
                        return Err(if before.is_empty() {
                            InputError::new(name, part, expected)
                        } else {
                            let found = format_args!("{part:?} after {before:?}");
                            InputError::shown(name, found, expected)
                        });
                    }
                },
            };
            parameters.push(parameter(name, key.trim(), value.trim())?);
            before = part;
        }
        Ok(Self { name, parameters })
    }
}

const CALL_SYNTAX: &str = "a name with its parameters in parentheses, name(key=value, ...)";

/// Returns the "expected" part of the error for `text`, whose parentheses do not match.
fn expected_call(text: &str) -> String {
    let [opened, closed] = ['(', ')'].map(|mark| text.matches(mark).count());
    match opened.abs_diff(closed) {
        0 => CALL_SYNTAX.to_owned(),
        missing if opened > closed => format!("{missing} more \")\""),
        surplus => format!("{surplus} fewer \")\""),
    }
}

/// Returns a parameter of the call `name`. Fails if another parameter follows without a comma.
fn parameter<'t>(
    name: &str,
    key: &'t str,
    value: &'t str,
) -> Result<(&'t str, &'t str), InputError> {
    if words(value).iter().skip(1).any(|word| word.contains('=')) {
        let expected = "one value, and a comma before the next parameter";
        return Err(InputError::new(format!("{name}.{key}"), value, expected));
    }
    let unquoted = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
    Ok((key, unquoted.unwrap_or(value)))
}

/// Returns the entries of `text`, separated by commas outside parentheses.
pub fn list(text: &str) -> Vec<&str> {
    let entries = split_outside(text, |c| c == ',').into_iter();
    entries.map(str::trim).collect()
}

pub(crate) fn words(text: &str) -> Vec<&str> {
    let mut words = split_outside(text, char::is_whitespace);
    words.retain(|word| !word.is_empty());
    words
}

/// Splits `text` at the separators that are outside parentheses.
fn split_outside(text: &str, is_separator: impl Fn(char) -> bool) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 && is_separator(c) => {
                pieces.push(&text[start..at]);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    pieces.push(&text[start..]);
    pieces
}

fn is_balanced(text: &str) -> bool {
    let mut depth = 0i64;
    for c in text.chars() {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}

/// The parameters of one call, and the keys that have been read so far. Errors name the parameter.
pub struct Args<'t, C = ()> {
    /// Additional input for the parser.
    pub context: C,
    name: &'t str,
    parameters: Vec<(&'t str, &'t str)>,
    known: Vec<&'static str>,
}

pub(crate) const NO_PARAMETERS: &str = "only the name, without parameters";

const TIME: &str = "a time above 0, up to an hour, with its unit, such as \"31.2 ms\"";
const TIME_OR_NONE: &str = "a time from 0 to an hour with its unit, such as \"5 ms\"";
const RATE: &str = "a rate from one per hour to 1000000000/s, such as \"32/s\"";
const SHARE: &str = "a percentage from 0 % to 100 %, with the % sign, such as \"67 %\"";

impl<'t, C> Args<'t, C> {
    /// Creates the parameters of `call`, for a parser that needs `context`.
    pub fn new(call: &Call<'t>, context: C) -> Self {
        Self {
            context,
            name: call.name,
            parameters: call.parameters.clone(),
            known: Vec::new(),
        }
    }

    /// Returns the value of `key`, parsed by `read`; `None` if the key is not given.
    pub fn maybe<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, InputError> {
        self.maybe_read(key, |value, field| {
            read(value).ok_or_else(|| InputError::new(field, value, expected))
        })
    }

    /// Returns the value of `key`, if any, as parsed by `read`, which takes the value and the
    /// field.
    pub fn maybe_read<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&str, &str) -> Result<T, InputError>,
    ) -> Result<Option<T>, InputError> {
        self.known.push(key);
        let mut values = self.parameters.iter().filter(|(name, _)| *name == key);
        let Some((_, value)) = values.next() else {
            return Ok(None);
        };
        if let Some((_, second)) = values.next() {
            let found = format_args!("{value:?} and {second:?}");
            return Err(InputError::shown(self.field(key), found, "a single value"));
        }
        read(value, &self.field(key)).map(Some)
    }

    /// Like [`Self::maybe`], for a required key.
    pub fn need<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, InputError> {
        let value = self.maybe(key, expected, read)?;
        value.ok_or_else(|| match self.misspelt(key) {
            Some(given) => InputError::unknown(self.name, given, "a known parameter", &[key]),
            None => InputError::missing(self.field(key), expected),
        })
    }

    /// Returns the mean time between events, which is given as `mean` or as `rate`.
    pub fn mean_or_rate(&mut self) -> Result<Span, InputError> {
        let mean = self.maybe("mean", TIME, positive_span)?;
        let rate = self.maybe("rate", RATE, quantity::interval)?;
        match (mean, rate) {
            (Some(pause), None) | (None, Some(pause)) => Ok(pause),
            (Some(_), Some(_)) => {
                let found = "both a rate and a mean";
                Err(InputError::shown(self.field("rate"), found, "one of them"))
            }
            (None, None) => self.need("rate", RATE, quantity::interval),
        }
    }

    /// Returns a time above zero.
    pub fn time(&mut self, key: &'static str) -> Result<Span, InputError> {
        self.need(key, TIME, positive_span)
    }

    /// Returns an optional time, or zero if none is given.
    pub fn time_or_none(&mut self, key: &'static str) -> Result<Span, InputError> {
        Ok(self.maybe_time(key)?.unwrap_or_default())
    }

    /// Returns an optional time that may be zero.
    pub fn maybe_time(&mut self, key: &'static str) -> Result<Option<Span>, InputError> {
        let read = |text: &str| quantity::span(text).filter(|span| *span >= Span::ZERO);
        self.maybe(key, TIME_OR_NONE, read)
    }

    /// Returns a share from 0 to 1.
    pub fn share(&mut self, key: &'static str) -> Result<f64, InputError> {
        self.need(key, SHARE, share)
    }

    /// Returns a share strictly between 0 and 1.
    pub(crate) fn partial_share(&mut self, key: &'static str) -> Result<f64, InputError> {
        let part = |text: &str| share(text).filter(|share| *share > 0.0 && *share < 1.0);
        self.need(key, "a share above 0 % and below 100 %", part)
    }

    /// Like [`Self::share`], for an optional key.
    pub fn maybe_share(&mut self, key: &'static str) -> Result<Option<f64>, InputError> {
        self.maybe(key, SHARE, share)
    }

    /// Returns a whole number within `range`.
    pub fn count(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<u64, InputError> {
        let expected = expected_range("a whole number", &range);
        self.need(key, &expected, |text| whole_number(text, &range))
    }

    /// Like [`Self::count`], for an optional key.
    pub fn maybe_count(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, InputError> {
        let expected = expected_range("a whole number", &range);
        self.maybe(key, &expected, |text| whole_number(text, &range))
    }

    pub(crate) fn number(
        &mut self,
        key: &'static str,
        range: RangeInclusive<f64>,
    ) -> Result<f64, InputError> {
        let expected = expected_range("a number", &range);
        self.need(key, &expected, |text| number(text, &range))
    }

    pub(crate) fn maybe_number(
        &mut self,
        key: &'static str,
        range: RangeInclusive<f64>,
    ) -> Result<Option<f64>, InputError> {
        let expected = expected_range("a number", &range);
        self.maybe(key, &expected, |text| number(text, &range))
    }

    /// Returns an optional `yes` or `no`.
    pub fn maybe_yes(&mut self, key: &'static str) -> Result<Option<bool>, InputError> {
        self.maybe(key, "yes or no", |text| match text {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        })
    }

    /// Returns the values of a key that may be given several times.
    pub fn several<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, InputError> {
        self.known.push(key);
        let wrong = |value: &str| InputError::new(self.field(key), value, expected);
        let values = self.parameters.iter().filter(|(name, _)| *name == key);
        values
            .map(|(_, value)| read(value).ok_or_else(|| wrong(value)))
            .collect()
    }

    pub(crate) fn shares(&mut self, key: &'static str) -> Result<Vec<f64>, InputError> {
        match self.several(key, SHARE, share)? {
            shares if shares.is_empty() => Err(InputError::missing(self.field(key), SHARE)),
            shares => Ok(shares),
        }
    }

    /// Returns all parameters as given, for calls whose keys are themselves values.
    pub fn pairs(&mut self) -> Vec<(&'t str, &'t str)> {
        std::mem::take(&mut self.parameters)
    }

    /// Returns the name that errors use for the parameter `key`.
    pub fn field(&self, key: &str) -> String {
        format!("{}.{key}", self.name)
    }

    /// Checks that every key was read.
    pub fn finish(&self) -> Result<(), InputError> {
        let mut keys = self.parameters.iter().map(|(key, _)| *key);
        let Some(unknown) = keys.find(|key| !self.known.contains(key)) else {
            return Ok(());
        };
        let expected = match (nearest(unknown, &self.known), self.known.join(", ")) {
            (_, known) if known.is_empty() => NO_PARAMETERS.to_owned(),
            (Some(near), known) => format!("a known parameter: \"{near}\" or one of {known}"),
            (None, known) => format!("a known parameter: {known}"),
        };
        Err(InputError::new(self.name, unknown, expected))
    }

    /// Returns a given parameter name that is probably a misspelling of `key`.
    fn misspelt(&self, key: &str) -> Option<&'t str> {
        let mut keys = self.parameters.iter().map(|(name, _)| *name);
        keys.find(|name| !self.known.contains(name) && nearest(name, &[key]).is_some())
    }
}

fn positive_span(text: &str) -> Option<Span> {
    quantity::span(text).filter(|span| *span > Span::ZERO)
}

fn expected_range<T: Display>(kind: &str, range: &RangeInclusive<T>) -> String {
    format!("{kind} from {} to {}", range.start(), range.end())
}

fn number(text: &str, range: &RangeInclusive<f64>) -> Option<f64> {
    text.parse().ok().filter(|number| range.contains(number))
}

fn whole_number(text: &str, range: &RangeInclusive<u64>) -> Option<u64> {
    quantity::count(text).filter(|number| range.contains(number))
}

pub(crate) fn share(text: &str) -> Option<f64> {
    quantity::typed_fraction(text).filter(|share| (0.0..=1.0).contains(share))
}

/// Returns a share as a percentage, without the rounding error of binary fractions.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", (share * 1e8).round() / 1e6)
}

pub(crate) fn invalid_share(field: &str, found: &str) -> InputError {
    InputError::new(field, found, SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_at_spaces_outside_parentheses() {
        let text = " poisson( rate = 60/s )  local(share=30%, deviation=10 sectors) reads=5% ";
        let expected = [
            "poisson( rate = 60/s )",
            "local(share=30%, deviation=10 sectors)",
            "reads=5%",
        ];
        assert_eq!(words(text), expected);
    }

    #[test]
    fn calls_nest() {
        let call = Call::read("closed(clients=4, think=erlang(k=2, mean=5 ms),)", "x");
        let parameters = vec![("clients", "4"), ("think", "erlang(k=2, mean=5 ms)")];
        let name = "closed";
        assert_eq!(call, Ok(Call { name, parameters }));
        assert_eq!(Call::read("uniform()", "x").unwrap().parameters, []);
        let quoted = Call::read("f(a=\"every 5 s\", b=\", c=\"\")", "x").unwrap();
        let quoted = quoted.parameters;
        assert_eq!(quoted, [("a", "every 5 s"), ("b", "\""), ("c", "")]);
    }

    #[test]
    fn bare_values_are_assigned_to_the_first_keys() {
        let read = |text: &'static str| Call::read_in_order(text, "x", &["a", "b"]);
        let parameters = |text| read(text).expect(text).parameters;
        assert_eq!(parameters("f(1)"), [("a", "1")]);
        assert_eq!(parameters("f(1, b=2)"), [("a", "1"), ("b", "2")]);
        let three = [("a", "1 s"), ("b", "g(c=2)"), ("d", "3")];
        assert_eq!(parameters("f(1 s, g(c=2), d=3)"), three);
        for (text, found) in [
            ("f(1, 2, 3)", "\"3\" after \"2\""),
            ("f(b=1, 2)", "\"2\" after \"b=1\""),
        ] {
            let expected = format!("f: found {found}, expected parameters as key=value");
            assert_eq!(read(text).expect_err(text).to_string(), expected);
        }
    }

    #[test]
    fn malformed_calls_are_errors() {
        for text in [
            "f(", "f(a=1", "f(a=1))", "f(a=1)b", "f(a)", "f)(", "f(=)(=)", "f a=1",
        ] {
            let call = Call::read(text, "x");
            assert!(call.is_err() || text == "f)(", "{text}: {call:?}");
        }
    }

    #[test]
    fn errors_name_the_missing_punctuation() {
        let keyed = "parameters as key=value";
        let comma = "one value, and a comma before the next parameter";
        for (text, found, expected) in [
            ("f(a=g(b=1)", "x: found \"f(a=g(b=1)\"", "1 more \")\""),
            ("f(1)", "f: found \"1\"", keyed),
            ("f(a=0,,1)", "f: found \"1\" after \"a=0\"", keyed),
            ("f(a=1)))", "x: found \"f(a=1)))\"", "2 fewer \")\""),
            ("f(a=1 s b=2)", "f.a: found \"1 s b=2\"", comma),
        ] {
            let error = Call::read(text, "x").expect_err(text);
            assert_eq!(error.to_string(), format!("{found}, expected {expected}"));
        }
        let read_with_g = Call::read("f(a=1 s, b=g(c=1 d=2))", "x");
        assert!(read_with_g.is_ok(), "{read_with_g:?}");
    }
}
