//! The measured drives, as `drives.toml` lists them.

use std::sync::LazyLock;

use serde::Deserialize;

/// A drive whose measurements are in `data/validation`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drive {
    /// Its name in the catalogue and of its file.
    pub name: String,
    /// The demerit that its model must not exceed.
    pub bound_us: f64,
    /// The demerit of DiskSim 4.0 on the same rows.
    pub disksim_us: f64,
    /// True for a published figure, which no run of the 64-bit port gave.
    pub published: bool,
    /// What was improved, and what remains.
    pub remains: String,
    /// The demerit on the second half that a fit to the first half must not exceed.
    pub half_bound_us: f64,
    /// The bound of predictions of single requests, for traces with an unbroken clock.
    pub single: Option<Bound>,
    /// Why the drive differs from its parameter set. The numbers come from the traces, by comparing
    /// completions with the angle of the last sector.
    pub cause: String,
}

/// The required accuracy of predictions of single requests.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    pub same_revolution_rate: f64,
    /// The maximum, if one is required.
    pub median_abs_error_ms: Option<f64>,
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3}", self.same_revolution_rate)?;
        match self.median_abs_error_ms {
            Some(max) => write!(f, ", {max:.3}"),
            None => Ok(()),
        }
    }
}

#[derive(Deserialize)]
struct Drives {
    drive: Vec<Drive>,
}

/// In the order of the document.
pub static DRIVES: LazyLock<Vec<Drive>> = LazyLock::new(|| {
    let drives: Drives = toml::from_str(include_str!("drives.toml")).expect("drives.toml");
    drives.drive
});
