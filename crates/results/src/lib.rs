//! Results: the JSON and tables that commands print, and the same as values for other languages, so
//! that names and numbers agree everywhere.
//!
//! Nothing is printed here; [`output_file`] is where commands write files. Doubts about a trace are
//! in the notes of its results.

pub mod calibrated;
pub mod compared;
pub mod declustering;
pub mod drive;
#[cfg(feature = "extract")]
pub mod extracted;
pub mod html;
pub mod metrics;
pub mod output_file;
pub mod predicted;
pub mod prose;
pub mod queueing;
pub mod scanned;
pub mod simulated;

use std::time::Duration;

use diskarm_core::sched::INFOS;
use diskarm_core::units::SectorCount;
use diskarm_simulate::devices::infos;
use diskarm_simulate::{Input, Model, Run, System};
use serde::Serialize;
use serde_json::{Value, json};

use crate::simulated::{Inputs, SimulationMetrics, Workload, WorkloadSource};

#[derive(Clone, Copy)]
pub struct Simulated<'a> {
    pub system: &'a System,
    /// The policy, as the user wrote it.
    pub policy: &'a str,
    /// The largest merged command, if any are merged.
    pub merge: Option<SectorCount>,
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
                WorkloadSource::new(simulated.workload),
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
    value(&SimulationMetrics::new(inputs, runs, wall))
}

/// The output of `diskarm drives show --json`.
pub fn drive(model: &Model) -> Value {
    Value::Object(drive::object(&model.spec))
}

/// Returns the JSON of `diskarm policies --json`: an object per policy, in the order of the table.
pub fn policies() -> Value {
    let rows = INFOS.iter().map(|info| {
        json!({
            "name": info.name,
            "summary": info.summary,
            "parameters": parameters(info.parameters),
            "knowledge": info.knowledge.name(),
            "origin": info.origin,
        })
    });
    rows.collect()
}

/// Returns the JSON of `diskarm devices --json`.
pub fn devices() -> Value {
    let rows = infos().map(|info| {
        json!({
            "name": info.name,
            "summary": info.summary,
            "parameters": parameters(info.parameters),
            "needs": info.needs.name(),
            "provides": info.provided(),
            "example": info.example,
        })
    });
    rows.collect()
}

fn parameters(all: &[(&str, &str)]) -> Value {
    let all = all.iter();
    all.map(|(written, meaning)| json!({ "written": written, "meaning": meaning }))
        .collect()
}

/// Returns results as a JSON value.
///
/// # Panics
/// Never: keys are strings, and numbers that are not finite become null.
pub fn value(figures: &impl Serialize) -> Value {
    match serde_json::to_value(figures) {
        Ok(value) => value,
        Err(error) => panic!("figures do not serialize: {error}"),
    }
}
