//! Where in a study file something stands, for errors that say so.

use std::ops::Range;

use crate::error::FileError;

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
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        Place {
            file: self.file.to_owned(),
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            field: field.into(),
        }
    }

    /// What the parser of TOML has to say.
    pub(crate) fn not_toml(self, error: &toml::de::Error) -> FileError {
        let span = error.span().unwrap_or(0..0);
        let Place { file, line, .. } = self.at(&span, "");
        FileError {
            file,
            line,
            field: String::new(),
            found: String::new(),
            expected: error.message().trim().replace('\n', " ").replace('`', "\""),
        }
    }
}

/// Where something stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) field: String,
}

impl Place {
    /// `found`, as written, is not what stands to reason here.
    pub(crate) fn error(&self, found: impl Into<String>, expected: impl Into<String>) -> FileError {
        FileError {
            file: self.file.clone(),
            line: self.line,
            field: self.field.clone(),
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// The place of a part of what stands here.
    pub(crate) fn part(&self, name: &str) -> Self {
        Self {
            field: format!("{}.{name}", self.field),
            ..self.clone()
        }
    }

    /// `found` is none of the `known` names; the nearest is suggested, or all are listed.
    pub(crate) fn unknown(&self, found: &str, what: &str, known: &[&str]) -> FileError {
        let expected = match (diskarm_core::text::nearest(found, known), known) {
            (Some(near), _) => format!("{what}, perhaps {near:?}"),
            (None, []) => format!("no {what}, as there are none"),
            (None, known) => format!("{what}: {}", known.join(", ")),
        };
        self.error(format!("{found:?}"), expected)
    }
}
