//! What measurements cost, and may cost.

use diskarm_core::units::Span;
use serde::{Deserialize, Serialize};

/// What measurements have cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Commands sent.
    pub commands: u64,
    /// Of these, sent again because the drive was busy or had something else to report.
    pub repeated: u64,
    /// From the first command to the end of the last, with all pauses.
    pub time: Span,
}

impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), |sum, cost| Self {
            commands: sum.commands + cost.commands,
            repeated: sum.repeated + cost.repeated,
            time: sum.time + cost.time,
        })
    }
}

/// What measurements may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Commands sent.
    pub commands: u64,
    /// From the first command on, with all pauses.
    pub time: Span,
}
