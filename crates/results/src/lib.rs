//! Results: the JSON and tables that commands print, and the same as values for other languages, so
//! that names and numbers agree everywhere.
//!
//! Nothing is printed here; [`output_file`] is where commands write files. Doubts about a trace are in
//! the notes of its results.

#[cfg(feature = "calibrate")]
pub mod calibrated;
pub mod compared;
pub mod declustering;
pub mod drive;
#[cfg(feature = "extract")]
pub mod extracted;
pub mod html;
pub mod listed;
pub mod metrics;
pub mod output_file;
pub mod predicted;
pub mod prose;
pub mod queueing;
pub mod scanned;
pub mod simulated;

use std::time::Duration;

use diskarm_core::units::SectorCount;
use diskarm_simulate::measured::RowRange;
use diskarm_simulate::{Error, Input, Model, Reading, Run, System};
use serde::Serialize;
use serde_json::Value;

use crate::simulated::{Figures, Given, Inputs, Workload};

/// What was simulated.
#[derive(Clone, Copy)]
pub struct Simulated<'a> {
    /// The drive.
    pub system: &'a System,
    /// The policy, as the user wrote it.
    pub policy: &'a str,
    /// The largest merged command, if any are merged.
    pub merge: Option<SectorCount>,
    /// The requests.
    pub input: &'a Input,
    /// The workload expression, or its file, if requests are generated.
    pub workload: &'a str,
    /// The number of completions left out of the results.
    pub warm_up: u64,
}

/// The output of `diskarm simulate --json`, for one run or several replications that took `wall`.
///
/// # Panics
/// If there is no run.
pub fn simulated(simulated: Simulated<'_>, runs: &[Run], wall: Duration) -> Value {
    let warm_up = simulated.warm_up;
    let (workload, seed) = match (simulated.input, &runs[0].replayed) {
        (Input::Traced(_), Some(replayed)) => (Workload::of_trace(replayed, warm_up), None),
        (Input::Generated(generated), _) => {
            let (given, sector) = (
                Given::of(simulated.workload),
                simulated.system.disk().sector,
            );
            let workload = Workload::of_generated(generated, &given, sector, warm_up);
            (workload, Some(generated.seed))
        }
        (Input::Traced(_), None) => panic!("a trace that was not replayed"),
    };
    let inputs = Inputs {
        drive: simulated.system.name.clone(),
        policy: simulated.policy.to_owned(),
        is_in_drive: false,
        merge: simulated.merge,
        workload,
        seed,
    };
    value(&Figures::new(inputs, runs, wall))
}

/// The output of `diskarm drives show --json`.
pub fn drive(model: &Model) -> Value {
    Value::Object(drive::object(&model.spec))
}

/// The output of `diskarm policies --json`.
pub fn policies() -> Value {
    listed::policies()
}

/// The output of `diskarm validate --json`.
///
/// # Errors
/// If the trace is invalid.
pub fn validated(
    model: &Model,
    file: &str,
    reading: &Reading,
    rows: RowRange,
) -> Result<Value, Error> {
    let compared = compared::compare(model, file, reading, rows, |_| {})?;
    Ok(value(&compared::json(&model.name, &compared)))
}

/// The output of `diskarm validate --locked --json`.
///
/// # Errors
/// If the trace is invalid.
pub fn predicted(
    model: &Model,
    file: &str,
    reading: &Reading,
    rows: RowRange,
) -> Result<Value, Error> {
    let judged = predicted::judge(model, file, reading, rows)?;
    Ok(value(&predicted::json(&model.name, &judged)))
}

fn value(figures: &impl Serialize) -> Value {
    match serde_json::to_value(figures) {
        Ok(value) => value,
        // Cannot fail: keys are strings, and numbers that are not finite become null.
        Err(error) => panic!("figures do not serialize: {error}"),
    }
}
