//! What is wrong with a geometry.

use std::fmt;

/// A geometry that describes no drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutError {
    /// Path of the field, for example `geometry.zones[3].sectors_per_track`.
    pub field: String,
    /// The value found there.
    pub value: String,
    /// What was expected instead.
    pub expected: String,
}

impl LayoutError {
    pub(super) fn new(
        field: impl Into<String>,
        value: impl fmt::Display,
        expected: impl Into<String>,
    ) -> Self {
        Self {
            field: field.into(),
            value: value.to_string(),
            expected: expected.into(),
        }
    }

    /// Of a field in zone `zone`, counted from 0.
    pub(super) fn in_zone(
        zone: usize,
        field: &str,
        value: impl fmt::Display,
        expected: impl Into<String>,
    ) -> Self {
        Self::new(format!("geometry.zones[{zone}].{field}"), value, expected)
    }
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} = {}: expected {}",
            self.field, self.value, self.expected
        )
    }
}

impl std::error::Error for LayoutError {}
