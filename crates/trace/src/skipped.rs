//! Counts invalid rows by reason.

use crate::error::{ErrorKind, TraceError};
use crate::plural::counted;

/// Invalid rows that were skipped, by reason.
#[derive(Clone, Debug, Default)]
pub struct Skipped {
    reasons: Vec<SkipReason>,
}

/// Rows that were skipped for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkipReason {
    /// The kind of error.
    pub kind: ErrorKind,
    /// The invalid field, if it is one.
    pub field: Option<String>,
    /// The number of rows.
    pub count: u64,
    /// The message of the first error.
    pub first: String,
}

impl Skipped {
    /// The reasons in order of first appearance.
    pub fn reasons(&self) -> &[SkipReason] {
        &self.reasons
    }

    pub(crate) fn count(&mut self, error: &TraceError) {
        let known = self
            .reasons
            .iter_mut()
            .find(|reason| reason.kind == error.kind() && reason.field.as_deref() == error.field());
        match known {
            Some(reason) => reason.count += 1,
            None => self.reasons.push(SkipReason {
                kind: error.kind(),
                field: error.field().map(str::to_owned),
                count: 1,
                first: error.to_string(),
            }),
        }
    }

    /// One line per reason.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.reasons.iter().map(|reason| {
            let what = match (&reason.field, reason.kind) {
                (Some(field), _) => format!("invalid {field}"),
                (None, ErrorKind::FieldCount) => "wrong number of fields".to_owned(),
                (None, ErrorKind::Truncated) => "truncated record".to_owned(),
                (None, _) => "invalid text".to_owned(),
            };
            let SkipReason { count, first, .. } = reason;
            format!(
                "{} skipped: {what}; the first: {first}",
                counted(*count, "invalid row")
            )
        })
    }
}
