//! Results: the JSON and the tables that commands print. Bindings for other languages return the
//! same values, so that names and numbers agree everywhere.
//!
//! Nothing is printed here; commands write files with [`output_file`]. Warnings about a trace are
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
use serde_json::{Value, json};

use crate::simulated::{Inputs, SimulationMetrics, Workload};

#[derive(Clone, Copy)]
pub struct Simulated<'a> {
    pub system: &'a System,
    /// The policy, as the user wrote it.
    pub policy: &'a str,
    /// The largest merged command; `None` without merging.
    pub merge: Option<SectorCount>,
    pub input: &'a Input,
    /// The workload expression, or its file, if requests are generated.
    pub workload: &'a str,
    /// The number of completions that the results omit.
    pub warm_up: u64,
}

/// Returns the JSON of `diskarm simulate --json`, for runs that took `wall`.
///
/// # Panics
/// If `runs` is empty.
pub fn simulated(simulated: Simulated<'_>, runs: &[Run], wall: Duration) -> Value {
    let warm_up = simulated.warm_up;
    let (workload, seed) = match (simulated.input, &runs[0].replayed) {
        (Input::Traced(_), Some(replayed)) => (Workload::trace(replayed, warm_up), None),
        (Input::Generated(generated), _) => {
            let workload = Workload::written(generated, simulated.workload, warm_up);
            (workload, Some(generated.seed))
        }
        (Input::Traced(_), None) => panic!("the trace was not replayed"),
    };
    let inputs = Inputs {
        drive: simulated.system.name.clone(),
        policy: simulated.policy.to_owned(),
        is_in_drive: false,
        merge: simulated.merge,
        workload,
        seed,
    };
    match serde_json::to_value(SimulationMetrics::new(inputs, runs, wall)) {
        Ok(value) => value,
        Err(error) => panic!("metrics cannot be serialized: {error}"),
    }
}

/// Returns the JSON of `diskarm drives show --json`.
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
    let object =
        |(written, meaning): &(&str, &str)| json!({ "written": written, "meaning": meaning });
    all.iter().map(object).collect()
}

fn merged<const N: usize>(objects: [Value; N]) -> Value {
    let entries = objects.into_iter().flat_map(|object| match object {
        Value::Object(map) => map,
        other => panic!("expected an object, found {other}"),
    });
    entries.collect()
}
