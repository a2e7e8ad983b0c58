//! Single values of a study file: a string, a number or a flag.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A single value of a study file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// `true` or `false`.
    Flag(bool),
    /// A finite number.
    Number(f64),
    /// Anything else.
    Text(String),
}

impl Scalar {
    /// A TOML value, if it is a single one.
    pub(crate) fn of(value: &toml::Value) -> Option<Self> {
        match value {
            toml::Value::Boolean(flag) => Some(Self::Flag(*flag)),
            toml::Value::Integer(number) => Some(Self::Number(*number as f64)),
            toml::Value::Float(number) if number.is_finite() => Some(Self::Number(*number)),
            toml::Value::String(text) => Some(Self::Text(text.clone())),
            _ => None,
        }
    }

    /// The number, where it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }
}

impl fmt::Display for Scalar {
    /// Numbers are written in the shortest form that reads back as the same number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}
