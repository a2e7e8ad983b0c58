//! The Python module: converts arguments, runs simulations, and converts the results. Users import
//! `python/src/diskarm`; this crate is its `_diskarm`.

mod convert;
mod device;
mod drive;
mod measured;
mod policy;
mod requests;
mod runs;
mod study;
mod trace;
mod wait;

/// The compiled part of `diskarm`.
#[pyo3::pymodule]
mod _diskarm {
    #[cfg(feature = "program")]
    use pyo3::pyfunction;

    #[pymodule_export]
    use crate::convert::{distributions, nearest, rounded};
    #[pymodule_export]
    use crate::device::{Completion, Device};
    #[pymodule_export]
    use crate::drive::{Drive, drives};
    #[pymodule_export]
    use crate::measured::{calibrate, validate};
    #[pymodule_export]
    use crate::policy::{Pending, policies};
    #[pymodule_export]
    use crate::requests::{Batch, Column};
    #[pymodule_export]
    use crate::runs::simulate;
    #[pymodule_export]
    use crate::study::{CheckpointWriter, Study, study_texts};
    #[pymodule_export]
    use crate::trace::check_trace;

    /// The version of Diskarm.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Runs the command-line program with these arguments, of which the first is the program's
    /// name; returns its exit code.
    #[cfg(feature = "program")]
    #[pyfunction]
    fn main(arguments: Vec<std::ffi::OsString>) -> u8 {
        diskarm_cli::main_with(arguments)
    }
}
