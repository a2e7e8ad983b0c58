//! A workload, as an expression or in TOML.

use diskarm_core::workload::Workload as Parsed;
use diskarm_simulate::{Error, System};
use pyo3::prelude::*;

/// The fields of `diskarm.Workload`.
#[derive(FromPyObject)]
pub struct Workload {
    /// The workload, as the user wrote it.
    pub text: String,
    is_toml: bool,
}

impl Workload {
    /// Parses the workload for `system`.
    pub fn parse(&self, system: &System) -> Result<Parsed, Error> {
        if !self.is_toml {
            return system.workload(&self.text);
        }
        Ok(Parsed::parse_toml(
            &self.text,
            "workload.toml",
            system.disk(),
        )?)
    }
}
