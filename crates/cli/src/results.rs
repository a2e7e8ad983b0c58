//! What the commands print as JSON, as values: for other languages, whose results then have the
//! same names and the same numbers.
//!
//! Nothing is printed here; what is doubtful about a trace is in its notes.

use std::time::Duration;

use diskarm_calibrate::calibrate as fit;
use diskarm_core::mechanics::SeekTimes;
use diskarm_core::units::SectorCount;
use diskarm_simulate::measured::{self, Rows, Taken};
use diskarm_simulate::{Error, Input, Model, Reading, Run};
use serde::Serialize;
use serde_json::Value;

use crate::calibrate::{FitNames, outcome, report as calibration};
use crate::drives::show;
use crate::policies;
use crate::simulate::figures::{Figures, Inputs, Workload};
use crate::simulate::workload::Told;
use crate::validate::{self, locked, report};

/// What was simulated, as it is told.
#[derive(Clone, Copy)]
pub struct Simulated<'a> {
    /// The drive.
    pub model: &'a Model,
    /// The policy, as it is written.
    pub policy: &'a str,
    /// The largest merged command, if any are merged.
    pub merge: Option<SectorCount>,
    /// The requests.
    pub input: &'a Input,
    /// The workload, or its file, of requests that are drawn.
    pub workload: &'a str,
    /// Completions that were left out.
    pub warm_up: u64,
}

/// As `diskarm simulate --json`, of one run or several replications that took `wall`.
///
/// # Panics
/// Without a run.
pub fn simulated(asked: Simulated<'_>, runs: &[Run], wall: Duration) -> Value {
    let warm_up = asked.warm_up;
    let (workload, seed) = match (asked.input, &runs[0].replayed) {
        (Input::Traced(_), Some(replayed)) => (Workload::of_trace(replayed, warm_up), None),
        (Input::Drawn(drawn), _) => {
            let (told, sector) = (Told::of(asked.workload), asked.model.disk().sector);
            let workload = Workload::of_drawn(drawn, &told, sector, warm_up);
            (workload, Some(drawn.seed))
        }
        (Input::Traced(_), None) => panic!("a trace that was not replayed"),
    };
    let inputs = Inputs {
        drive: asked.model.name.clone(),
        policy: asked.policy.to_owned(),
        merge: asked.merge,
        workload,
        seed,
    };
    value(&Figures::new(inputs, runs, wall))
}

/// As `diskarm drives show --json`.
pub fn drive(model: &Model) -> Value {
    let spec = &model.spec;
    let seek = SeekTimes::new(&spec.mechanics, spec.geometry.cylinders);
    Value::Object(show::object(spec, &seek))
}

/// As `diskarm policies --json`.
pub fn policies() -> Value {
    value(&policies::rows())
}

/// As `diskarm validate --json`.
///
/// # Errors
/// What is wrong with the trace.
pub fn validated(model: &Model, file: &str, reading: &Reading, rows: Rows) -> Result<Value, Error> {
    let compared = validate::compare(model, file, reading, rows)?;
    Ok(value(&report::file(&model.name, &compared)))
}

/// As `diskarm validate --locked --json`.
///
/// # Errors
/// What is wrong with the trace.
pub fn predicted(model: &Model, file: &str, reading: &Reading, rows: Rows) -> Result<Value, Error> {
    let judged = locked::judge(model, file, reading, rows)?;
    Ok(value(&locked::report::file(&model.name, &judged)))
}

/// A specification that was fitted to a trace.
pub struct Calibrated {
    /// As `diskarm calibrate --json`.
    pub figures: Value,
    /// It, under its new name.
    pub model: Model,
    /// What to know before it is trusted, one line each.
    pub warnings: Vec<String>,
}

/// As `diskarm calibrate`: `model` fitted to `rows` of the trace in `file`, under a new `name`.
///
/// # Errors
/// What is wrong with the trace; one that tells nothing of the drive.
pub fn calibrated(
    model: &Model,
    file: &str,
    reading: &Reading,
    rows: Rows,
    name: &str,
) -> Result<Calibrated, Error> {
    let asked = FitNames {
        drive: &model.name,
        trace: file,
        output: name,
        rows,
    };
    let Taken { rows, notes, .. } = measured::read(file, reading, rows, model)?;
    let fitted = fit(&model.spec, &model.layout, &rows, |_| {});
    let fitted = fitted.map_err(|unfit| outcome::error(unfit, file, &model.name))?;
    let printed = calibration::printed(asked, rows.len(), &fitted, &notes);
    Ok(Calibrated {
        figures: value(&printed),
        model: outcome::model(model, &fitted, asked, rows.len())?,
        warnings: outcome::warnings(&fitted, rows.len(), file),
    })
}

fn value(figures: &impl Serialize) -> Value {
    match serde_json::to_value(figures) {
        Ok(value) => value,
        // Names are strings, and numbers that are not finite become null.
        Err(error) => panic!("figures that are no JSON: {error}"),
    }
}
