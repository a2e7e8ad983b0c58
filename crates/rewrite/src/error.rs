//! Why a text cannot be rewritten.

use std::error::Error;
use std::fmt;

use toml_edit::TomlError;

/// Why a text cannot be rewritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RewriteError {
    /// The base is not TOML.
    NotToml {
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// A table stands where a value is to be set, or a value where its table should be.
    Misplaced {
        /// The key to set.
        key: String,
    },
}

impl RewriteError {
    pub(super) fn not_toml(base: &str, error: &TomlError) -> Self {
        let offset = error.span().map_or(0, |span| span.start).min(base.len());
        let before = &base.as_bytes()[..offset];
        Self::NotToml {
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            message: error.message().replace('\n', " "),
        }
    }
}

impl fmt::Display for RewriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotToml { line, message } => write!(f, "line {line}: not TOML: {message}"),
            Self::Misplaced { key } => write!(
                f,
                "{key}: cannot be set, as a table stands for a value or a value for a table"
            ),
        }
    }
}

impl Error for RewriteError {}
