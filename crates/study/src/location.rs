//! Locations in a study file, for errors.

use std::fmt::Display;
use std::ops::Range;

use diskarm_core::text::{InputError, line_of};

/// The text of a study file.
#[derive(Clone, Copy)]
pub(crate) struct StudyText<'a> {
    /// Its name in errors.
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
}

impl<'a> StudyText<'a> {
    /// The location of the field `field`, whose value has these bytes.
    pub(crate) fn at(self, span: &Range<usize>, field: impl Into<String>) -> Location {
        Location {
            file: self.file.to_owned(),
            line: line_of(self.text, span.start),
            field: field.into(),
            keys: self.keys_below(span.start),
        }
    }

    /// The keys below a header `[[...]]` that begins at this byte, with their lines; none if there
    /// is no header.
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

    /// An error of the TOML parser.
    pub(crate) fn not_toml(self, error: &toml::de::Error) -> InputError {
        let span = error.span().unwrap_or(0..0);
        let message = error.message().trim().replace('\n', " ").replace('`', "\"");
        InputError::message(message).in_file(self.file, line_of(self.text, span.start))
    }
}

/// A field of a study file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Location {
    pub(crate) file: String,
    pub(crate) line: u64,
    pub(crate) field: String,
    /// The keys within it and their lines, as far as they have lines of their own.
    keys: Vec<(String, u64)>,
}

impl Location {
    /// An error: this field has `found` instead of `expected`.
    pub(crate) fn error(&self, found: impl Display, expected: impl Into<String>) -> InputError {
        InputError::shown(&self.field, found, expected).in_file(&self.file, self.line)
    }

    /// The location of a key within this field.
    pub(crate) fn part(&self, name: &str) -> Self {
        let line = self.keys.iter().find(|(key, _)| key == name);
        Self {
            file: self.file.clone(),
            line: line.map_or(self.line, |(_, line)| *line),
            field: format!("{}.{name}", self.field),
            keys: Vec::new(),
        }
    }

    /// An error: `found` is none of the `known` names. Suggests the nearest, or lists all.
    pub(crate) fn unknown(&self, found: &str, what: &str, known: &[&str]) -> InputError {
        InputError::unknown(&self.field, found, what, known).in_file(&self.file, self.line)
    }
}
