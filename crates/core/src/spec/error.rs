//! What is wrong with a specification, and where.

use std::error::Error;
use std::fmt;

/// One thing wrong with a specification. Displays as one line:
/// `hp.toml:12: mechanics.head_switch: found "0.89", expected a time with its unit ...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// The file, as the caller named it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The path of the field, for example `geometry.zones[3].spares`; zones count from 0.
    pub field: String,
    /// The value as the file writes it, or `nothing`.
    pub found: String,
    /// What would have been accepted.
    pub expected: String,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            field,
            found,
            expected,
        } = self;
        write!(
            f,
            "{file}:{line}: {field}: found {found}, expected {expected}"
        )
    }
}

impl Error for SpecError {}
