//! A workload, as an expression or in TOML.

use diskarm_core::workload::Workload as Meant;
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
    pub fn meant(&self, system: &System) -> Result<Meant, Error> {
        if !self.is_toml {
            return system.workload(&self.text);
        }
        Ok(Meant::parse_toml(
            &self.text,
            "workload.toml",
            system.disk(),
        )?)
    }
}
