//! Where in a study file something stands, for errors that say so.

use std::fmt::Display;
use std::ops::Range;

use diskarm_core::text::{InputError, line_of};

/// A study file as it is read.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a> {
    /// What errors call it.
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
}

impl<'a> Text<'a> {
    /// The place of the field `field`, whose value spans these bytes.
    pub(crate) fn at(self, span: &Range<usize>, field: impl Into<String>) -> Place {
        Place {
            file: self.file.to_owned(),
            line: line_of(self.text, span.start),
            field: field.into(),
        }
    }

    /// What the parser of TOML has to say.
    pub(crate) fn not_toml(self, error: &toml::de::Error) -> InputError {
        let span = error.span().unwrap_or(0..0);
        let message = error.message().trim().replace('\n', " ").replace('`', "\"");
        InputError::message(message).in_file(self.file, line_of(self.text, span.start))
    }
}

/// Where something stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) line: u64,
    pub(crate) field: String,
}

impl Place {
    /// `found`, as written, is not what stands to reason here.
    pub(crate) fn error(&self, found: impl Display, expected: impl Into<String>) -> InputError {
        InputError::shown(&self.field, found, expected).in_file(&self.file, self.line)
    }

    /// The place of a part of what stands here.
    pub(crate) fn part(&self, name: &str) -> Self {
        Self {
            field: format!("{}.{name}", self.field),
            ..self.clone()
        }
    }

    /// `found` is none of the `known` names; the nearest is suggested, or all are listed.
    pub(crate) fn unknown(&self, found: &str, what: &str, known: &[&str]) -> InputError {
        InputError::unknown(&self.field, found, what, known).in_file(&self.file, self.line)
    }
}
