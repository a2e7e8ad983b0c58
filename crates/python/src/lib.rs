//! Diskarm as a module for Python: it converts what Python hands over, runs, and converts what
//! comes of it. What users import stands in `python/src/diskarm`; this is its `_diskarm`.

mod convert;
mod drive;
mod error;
mod measured;
mod pending;
mod policy;
mod requests;
mod runs;
mod study;
mod trace;
mod wait;
mod workload;

/// The compiled part of `diskarm`.
#[pyo3::pymodule]
mod _diskarm {
    use std::ffi::OsString;

    use pyo3::pyfunction;

    #[pymodule_export]
    use crate::drive::{Drive, drives};
    #[pymodule_export]
    use crate::error::nearest;
    #[pymodule_export]
    use crate::measured::{calibrate, validate};
    #[pymodule_export]
    use crate::pending::Pending;
    #[pymodule_export]
    use crate::policy::policies;
    #[pymodule_export]
    use crate::requests::{Batch, Column};
    #[pymodule_export]
    use crate::runs::simulate;
    #[pymodule_export]
    use crate::study::{Keeper, Study, study_texts};
    #[pymodule_export]
    use crate::trace::check_trace;

    /// The version of Diskarm.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Does what the program diskarm does with these arguments, of which the first is its name;
    /// returns its exit code.
    #[pyfunction]
    fn main(arguments: Vec<OsString>) -> u8 {
        diskarm_cli::main_with(arguments)
    }
}
