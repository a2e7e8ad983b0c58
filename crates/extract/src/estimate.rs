//! Measured quantities, and how much effort goes into them.

use diskarm_core::units::Span;
use serde::{Deserialize, Serialize};

/// A measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// The value.
    pub value: Span,
    /// Half the width of its 95 % confidence interval.
    pub uncertainty: Span,
    /// Number of measurements.
    pub samples: u64,
}

/// The effort of a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effort {
    /// Few samples.
    Quick,
    /// As in worthington96.
    #[default]
    Normal,
    /// Many samples at more places.
    Thorough,
}

impl std::fmt::Display for Effort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Quick => "quick",
            Self::Normal => "normal",
            Self::Thorough => "thorough",
        })
    }
}
