//! Claims about cells that the short form of a study leaves out.

use std::sync::Arc;

use super::{Check, Claim, Found, Verdict};
use crate::results::Results;

#[derive(Debug)]
struct LeftOut;

impl Check for LeftOut {
    fn judge(&self, _: &Results<'_>) -> Found {
        Found {
            verdict: Verdict::NotMeasured,
            ours: "left out of the short form".to_owned(),
            numbers: Vec::new(),
            is_left_out: true,
        }
    }
}

impl Claim {
    /// The same claim in a short form without its cells.
    pub(crate) fn left_out(&self) -> Self {
        Self {
            check: Arc::new(LeftOut),
            ..self.clone()
        }
    }
}
