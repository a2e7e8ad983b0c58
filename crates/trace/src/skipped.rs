//! The count of bad rows, by reason.

use crate::error::{ErrorKind, TraceError};
use crate::plural::counted;

/// Bad rows that were left out, by what is wrong with them.
#[derive(Clone, Debug, Default)]
pub struct Skipped {
    reasons: Vec<SkipReason>,
}

/// Rows that were left out for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkipReason {
    /// What kind of error.
    pub kind: ErrorKind,
    /// The field that is wrong, if it is one.
    pub field: Option<String>,
    /// How many rows.
    pub count: u64,
    /// The first of the errors, as it would have ended the trace.
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

    /// One line a reason.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.reasons.iter().map(|reason| {
            let what = match (&reason.field, reason.kind) {
                (Some(field), _) => format!("{field} with a value that it cannot have"),
                (None, ErrorKind::FieldCount) => "too few or too many fields".to_owned(),
                (None, ErrorKind::Truncated) => "a record cut short".to_owned(),
                (None, _) => "no text of rows".to_owned(),
            };
            let SkipReason { count, first, .. } = reason;
            format!(
                "{} skipped: {what}; the first: {first}",
                counted(*count, "bad row")
            )
        })
    }
}
