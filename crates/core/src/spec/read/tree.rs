//! A walk over the spanned TOML tree: the place of a value, and its path.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::spec::Key;
use crate::text::{InputError, line_of, nearest};

/// The text and the name of a file, for errors that point into it.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl<'a> Text<'a> {
    /// The error at a byte offset.
    pub(super) fn at(self, offset: usize, error: InputError) -> InputError {
        error.in_file(self.file, line_of(self.text, offset))
    }

    /// The line around a byte offset.
    pub(super) fn line_at(self, offset: usize) -> &'a str {
        let (before, after) = self
            .text
            .split_at_checked(offset)
            .unwrap_or((self.text, ""));
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let end = after
            .find('\n')
            .map_or(self.text.len(), |newline| offset + newline);
        self.text.get(start..end).unwrap_or_default().trim()
    }

    /// The text of a value, shortened to fit on the line of an error.
    fn quote(self, span: Range<usize>) -> String {
        const LONGEST: usize = 60;
        let whole = self.text.get(span).unwrap_or_default();
        let line = whole.lines().next().unwrap_or_default();
        let short: String = line.chars().take(LONGEST).collect();
        if short.len() < whole.len() {
            format!("{short}...")
        } else {
            short
        }
    }
}

/// A place in the tree, and its value if it has one.
pub(super) struct Value<'a> {
    text: Text<'a>,
    path: String,
    span: Range<usize>,
    node: Option<&'a DeValue<'a>>,
}

impl<'a> Value<'a> {
    fn at(text: Text<'a>, path: String, node: &'a Spanned<DeValue<'a>>) -> Self {
        Self {
            text,
            path,
            span: node.span(),
            node: Some(node.get_ref()),
        }
    }

    /// The error that something else was expected here.
    pub(super) fn error(&self, expected: impl Into<String>) -> InputError {
        let error = match self.node {
            None => InputError::missing(&self.path, expected),
            Some(DeValue::Table(_)) => InputError::shown(&self.path, "a table", expected),
            Some(_) => InputError::shown(&self.path, self.text.quote(self.span.clone()), expected),
        };
        self.text.at(self.span.start, error)
    }

    /// Whether there is no value here.
    pub(super) fn is_absent(&self) -> bool {
        self.node.is_none()
    }

    /// The string here, if it is one.
    pub(super) fn string(&self) -> Option<&'a str> {
        self.node?.as_str()
    }

    /// The boolean here, if it is one.
    pub(super) fn boolean(&self) -> Option<bool> {
        self.node?.as_bool()
    }

    /// The integer here, if it is one and not negative.
    pub(super) fn integer(&self) -> Option<u64> {
        let written = self.node?.as_integer()?;
        u64::from_str_radix(written.as_str(), written.radix()).ok()
    }

    /// The number here, whole or not, if it is one and finite.
    pub(super) fn number(&self) -> Option<f64> {
        let number = match self.node? {
            DeValue::Float(written) => written.as_str().parse::<f64>().ok()?,
            _ => self.integer()? as f64,
        };
        number.is_finite().then_some(number)
    }

    /// The elements of the array here, if it is one.
    pub(super) fn elements(&self) -> Option<Vec<Value<'a>>> {
        let array = self.node?.as_array()?;
        let name = |index| format!("{}[{index}]", self.path);
        Some(
            array
                .iter()
                .enumerate()
                .map(|(index, node)| Value::at(self.text, name(index), node))
                .collect(),
        )
    }

    /// The table here. If there is none, an empty one, so that errors name its missing keys.
    pub(super) fn table(&self) -> Result<Table<'a>, InputError> {
        let entries = match self.node {
            None => None,
            Some(DeValue::Table(entries)) => Some(entries),
            Some(_) => return Err(self.error("a table")),
        };
        Ok(Table {
            text: self.text,
            path: self.path.clone(),
            offset: self.span.start,
            entries,
        })
    }
}

/// A table being read.
pub(super) struct Table<'a> {
    text: Text<'a>,
    path: String,
    offset: usize,
    entries: Option<&'a DeTable<'a>>,
}

impl<'a> Table<'a> {
    /// The table of the whole file.
    pub(super) fn root(text: Text<'a>, entries: &'a DeTable<'a>) -> Self {
        Self {
            text,
            path: String::new(),
            offset: 0,
            entries: Some(entries),
        }
    }

    /// The value of a key, if any.
    pub(super) fn value(&self, key: &str) -> Value<'a> {
        let path = self.path_of(key);
        match self.entries.and_then(|entries| entries.get(key)) {
            Some(node) => Value::at(self.text, path, node),
            None => Value {
                text: self.text,
                path,
                span: self.offset..self.offset,
                node: None,
            },
        }
    }

    /// The value at the end of a dotted path.
    pub(super) fn at(&self, path: &str) -> Result<Value<'a>, InputError> {
        match path.split_once('.') {
            Some((key, rest)) => self.value(key).table()?.at(rest),
            None => Ok(self.value(path)),
        }
    }

    /// Reads the value of an optional key.
    pub(super) fn maybe<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Value<'a>) -> Result<T, InputError>,
    ) -> Result<Option<T>, InputError> {
        let value = self.value(key);
        value.node.map(|_| read(&value)).transpose()
    }

    /// Reads the value of a key that is `default` when left out.
    pub(super) fn or<T>(
        &self,
        key: &str,
        default: T,
        read: impl FnOnce(&Value<'a>) -> Result<T, InputError>,
    ) -> Result<T, InputError> {
        Ok(self.maybe(key, read)?.unwrap_or(default))
    }

    /// Reports the first key that is not one of the `known` ones.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), InputError> {
        let keys = self.entries.into_iter().flat_map(|entries| entries.keys());
        let unknown = keys
            .filter(|key| !known.contains(&key.get_ref().as_ref()))
            .min_by_key(|key| key.span().start);
        unknown.map_or(Ok(()), |key| Err(self.unknown(key, known)))
    }

    /// The error that a key is not one of the `known` ones.
    fn unknown(&self, key: &Spanned<Cow<'_, str>>, known: &[&str]) -> InputError {
        let written: &str = key.get_ref();
        let mut all = Key::all().into_iter();
        let inside = all.find(|key| key.name() == written);
        let expected = match nearest(written, known) {
            _ if let (Some(inside), "") = (inside, &*self.path) => {
                format!("a known key, perhaps \"{}\"", inside.path)
            }
            Some(near) => format!("a known key, perhaps \"{near}\""),
            None => format!("a known key: {}", known.join(", ")),
        };
        let path = self.path_of(written);
        let error = InputError::shown(path, "an unknown key", expected);
        self.text.at(key.span().start, error)
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }
}
