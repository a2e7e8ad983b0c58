//! The values in a study file: scalars, their locations, and templates.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::iter;
use std::ops::Range;

use diskarm_core::text::{InputError, line_of};
use serde::{Deserialize, Serialize};

/// A single value of a study file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// The value `true` or `false`.
    Flag(bool),
    /// A finite number.
    Number(f64),
    /// Anything else.
    Text(String),
}

impl Scalar {
    pub(crate) fn new(value: &toml::Value) -> Option<Self> {
        match value {
            toml::Value::Boolean(flag) => Some(Self::Flag(*flag)),
            toml::Value::Integer(number) => Some(Self::Number(*number as f64)),
            toml::Value::Float(number) if number.is_finite() => Some(Self::Number(*number)),
            toml::Value::String(text) => Some(Self::Text(text.clone())),
            _ => None,
        }
    }

    /// Returns its value, if it is a number.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }
}

impl fmt::Display for Scalar {
    /// Numbers are written in the shortest form that reads back as the same number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct StudyText<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
}

impl<'a> StudyText<'a> {
    pub(crate) fn location(self, span: &Range<usize>, field: impl Into<String>) -> Location {
        Location {
            file: self.file.to_owned(),
            line: line_of(self.text, span.start),
            field: field.into(),
            keys: self.keys_below(span.start),
        }
    }

    /// Returns the keys below the header `[[...]]` that begins at byte `start`, with their lines.
    fn keys_below(self, start: usize) -> Vec<(String, u64)> {
        let is_header = |line: &str| line.trim_start().starts_with('[');
        let (before, rest) = self.text.split_at(start);
        let begins_line = before.is_empty() || before.ends_with('\n');
        if !begins_line || !rest.starts_with("[[") {
            return Vec::new();
        }
        let first = line_of(self.text, start);
        let lines = (first..).zip(rest.lines()).skip(1);
        let lines = lines.take_while(|(_, line)| !is_header(line));
        let keys = lines.filter_map(|(number, line)| {
            let (key, _) = line.split_once('=')?;
            Some((key.trim().to_owned(), number))
        });
        keys.collect()
    }

    pub(crate) fn syntax_error(self, error: &toml::de::Error) -> InputError {
        let span = error.span().unwrap_or(0..0);
        let message = error.message().trim().replace('\n', " ").replace('`', "\"");
        InputError::message(message).in_file(self.file, line_of(self.text, span.start))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Location {
    pub(crate) file: String,
    pub(crate) line: u64,
    pub(crate) field: String,
    /// The keys below the field, with the numbers of their lines.
    keys: Vec<(String, u64)>,
}

impl Location {
    /// Returns the error for a field that is `found` instead of `expected`.
    pub(crate) fn error(&self, found: impl Display, expected: impl Into<String>) -> InputError {
        InputError::shown(&self.field, found, expected).in_file(&self.file, self.line)
    }

    pub(crate) fn part(&self, name: &str) -> Self {
        let line = self.keys.iter().find(|(key, _)| key == name);
        Self {
            file: self.file.clone(),
            line: line.map_or(self.line, |(_, line)| *line),
            field: format!("{}.{name}", self.field),
            keys: Vec::new(),
        }
    }

    /// Returns the error for an unknown name. It suggests the closest `known` name, or lists all.
    pub(crate) fn unknown(&self, found: &str, what: &str, known: &[&str]) -> InputError {
        InputError::unknown(&self.field, found, what, known).in_file(&self.file, self.line)
    }
}

/// The values of placeholders in one cell, by name.
pub type Names<'a> = BTreeMap<&'a str, &'a Scalar>;

/// Returns the expressions between braces, in order; `None` if a brace is unmatched.
pub fn placeholders(text: &str) -> Option<Vec<&str>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find(['{', '}']) {
        let inside = rest[open..].strip_prefix('{')?;
        let close = inside.find(['{', '}'])?;
        if !inside[close..].starts_with('}') {
            return None;
        }
        found.push(&inside[..close]);
        rest = &inside[close + 1..];
    }
    Some(found)
}

/// Returns the names in an expression: everything except numbers and operators.
pub fn names(expression: &str) -> impl Iterator<Item = &str> {
    let parts = expression.split(['*', '/']).map(str::trim);
    parts.filter(|part| part.parse::<f64>().is_err())
}

/// Replaces each placeholder in `text`. If one has no value, the error says what was expected.
pub fn fill(text: &str, known: &Names<'_>) -> Result<Scalar, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once('{') {
        let (expression, after) = inside.split_once('}').unwrap_or((inside, ""));
        let value = evaluate(expression, known)?;
        if before.is_empty() && filled.is_empty() && after.is_empty() {
            // A lone placeholder keeps its type: a number stays a number.
            return Ok(value);
        }
        filled += before;
        filled += &value.to_string();
        rest = after;
    }
    filled += rest;
    Ok(Scalar::Text(filled))
}

fn evaluate(expression: &str, known: &Names<'_>) -> Result<Scalar, String> {
    if let Some(value) = known.get(expression.trim()) {
        return Ok((*value).clone());
    }
    product(expression, |name| known.get(name)?.number()).map(Scalar::Number)
}

/// Computes products and quotients of numbers and names, from left to right. If a name has no
/// number or the result is not finite, the error says what was expected.
pub fn product(expression: &str, number: impl Fn(&str) -> Option<f64>) -> Result<f64, String> {
    let operators = iter::once("*").chain(expression.matches(['*', '/']));
    let mut value = 1.0;
    for (name, operator) in expression.split(['*', '/']).map(str::trim).zip(operators) {
        let factor = name.parse::<f64>().ok().or_else(|| number(name));
        let factor = factor
            .ok_or_else(|| format!("numbers in {{{expression}}}, but {name:?} is not a number"))?;
        match operator {
            "/" => value /= factor,
            _ => value *= factor,
        }
    }
    let value = Some(value).filter(|value| value.is_finite());
    value.ok_or_else(|| format!("a finite value of {{{expression}}}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill_in(text: &str) -> Result<Scalar, String> {
        let values = [
            ("rate", Scalar::Number(1.5)),
            ("base", Scalar::Number(60.0)),
            ("policy", Scalar::Text("clook(by=lbn)".into())),
        ];
        fill(text, &values.iter().map(|(n, v)| (*n, v)).collect())
    }

    #[test]
    fn placeholders_are_replaced_by_values_and_products() {
        let text = |text: &str| Ok(Scalar::Text(text.to_owned()));
        let poisson = fill_in("poisson(rate={rate*base}/s)");
        assert_eq!(poisson, text("poisson(rate=90/s)"));
        assert_eq!(fill_in("{policy} {base/rate/2}"), text("clook(by=lbn) 20"));
        assert_eq!(fill_in("{rate}"), Ok(Scalar::Number(1.5)));
        assert_eq!(fill_in("plain"), text("plain"));
        assert!(fill_in("{nothing}").unwrap_err().contains("nothing"));
        assert!(fill_in("{policy*2}").is_err());
        assert!(fill_in("{rate/0}").unwrap_err().contains("finite"));
    }

    #[test]
    fn braces_must_match() {
        assert_eq!(placeholders("a{b}c{d*2}"), Some(vec!["b", "d*2"]));
        for text in ["a{b", "a}b", "a{b{c}}"] {
            assert_eq!(placeholders(text), None, "{text}");
        }
        assert_eq!(names("a*2 / b").collect::<Vec<_>>(), ["a", "b"]);
    }
}
