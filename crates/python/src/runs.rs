//! Runs simulations.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use diskarm_core::stats::ResponseSummary;
use diskarm_core::units::{SectorCount, Span};
use diskarm_core::workload::Workload as Parsed;
use diskarm_results::Simulated;
use diskarm_simulate::{
    Error, GeneratedRequests, Input, Issue, Run, Simulation, Sink, System, parallel, size,
};
use pyo3::prelude::*;
use serde_json::Value;

use crate::convert::{py_error, python, wrong};
use crate::drive::Drive;
use crate::policy::GivenPolicy;
use crate::requests::{Batch, Columns};
use crate::trace::Trace;
use crate::wait;

/// The fields of `diskarm._options.Options`, which defines their defaults.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    workload: Option<Workload>,
    trace: Option<Trace>,
    requests: Option<u64>,
    warm_up: u64,
    seed: u64,
    replications: Option<u64>,
    outstanding: Option<u64>,
    think_ms: f64,
    merge: Option<String>,
    window_ms: Option<f64>,
    max_waiting: Option<u64>,
    per_request: bool,
}

/// A limit on memory: each run needs about 200 KiB until all are done.
const MAX_REPLICATIONS: u64 = 1_000;

/// The metrics, a flag that is true if the run is saturated, the quantiles of the response times,
/// and the requests if `per_request` is set.
type PolicyResult<'py> = (Bound<'py, PyAny>, bool, Vec<f64>, Option<Batch>);

/// Simulates each policy and returns a [`PolicyResult`] for each.
#[pyfunction]
pub fn simulate<'py>(
    py: Python<'py>,
    drive: &Drive,
    policies: Vec<Bound<'py, PyAny>>,
    options: Options,
) -> PyResult<Vec<PolicyResult<'py>>> {
    let policies = policies.iter().map(GivenPolicy::from_argument);
    let policies = policies.collect::<PyResult<Vec<GivenPolicy>>>()?;
    let arguments = Arguments::new(py, drive, options)?;
    let outcomes = wait::stoppable(py, |stop| {
        let job = |number: usize| arguments.simulate(&policies[number], stop);
        match policies.len() {
            // A single run uses this thread, whose Python state `wait` created.
            1 => vec![job(0)],
            count => parallel::map(count, job, |_| {}),
        }
    })?;
    if let Some(exception) = policies.iter().find_map(|policy| policy.exception(py)) {
        return Err(exception);
    }
    let results = outcomes.into_iter().map(|outcome| {
        let outcome = outcome.map_err(|error| py_error(py, &error))?;
        let requests = outcome.requests.map(Columns::batch).transpose()?;
        let metrics = python(py, &outcome.metrics)?;
        Ok((
            metrics,
            outcome.is_saturated,
            outcome.response_ms_quantiles,
            requests,
        ))
    });
    results.collect()
}

struct Arguments {
    system: Arc<System>,
    input: Input,
    /// The workload, as the user wrote it.
    workload: String,
    merge: Option<SectorCount>,
    warm_up: u64,
    window: Option<Span>,
    max_waiting: Option<u64>,
    per_request: bool,
}

struct Outcome {
    metrics: Value,
    is_saturated: bool,
    /// The quantiles 0, 0.001, ..., 0.999 of the response times, in ms; empty if there are none.
    response_ms_quantiles: Vec<f64>,
    requests: Option<Columns>,
}

impl Arguments {
    fn new(py: Python<'_>, drive: &Drive, options: Options) -> PyResult<Self> {
        let system = Arc::clone(&drive.system);
        let merge = options
            .merge
            .map(|text| size("merge", &text, system.disk()));
        let merge = merge.transpose().map_err(|error| py_error(py, &error))?;
        let think = time(py, "think_ms", options.think_ms, 0.0)?;
        // The shortest window is a nanosecond.
        let window = options.window_ms.map(|ms| time(py, "window_ms", ms, 1e-6));
        let window = window.transpose()?;
        if let Some(count) = options.replications
            && !(1..=MAX_REPLICATIONS).contains(&count)
        {
            let expected = format!("a whole number from 1 to {MAX_REPLICATIONS}");
            return Err(wrong(py, "replications", &count.to_string(), &expected));
        }
        let mut workload = String::new();
        let input = match (options.workload, options.trace) {
            (Some(given), None) => {
                let parsed = given.parse(&system);
                workload = given.text;
                Input::Generated(GeneratedRequests {
                    workload: parsed.map_err(|error| py_error(py, &error))?,
                    requests: options.requests,
                    seed: options.seed,
                    replications: options.replications.filter(|&count| count > 1),
                })
            }
            (None, Some(trace)) => {
                let mut traced = trace.parse(py, options.seed)?;
                if let Some(count) = options.outstanding {
                    let clients = u32::try_from(count).map_err(|_| {
                        let expected = format!("at most {}", u32::MAX);
                        wrong(py, "outstanding", &count.to_string(), &expected)
                    })?;
                    traced.issue = Issue::Outstanding { clients, think };
                }
                Input::Traced(traced)
            }
            _ => {
                let expected = "a workload or a trace";
                return Err(wrong(py, "workload", "", expected));
            }
        };
        Ok(Self {
            system,
            input,
            workload,
            merge,
            warm_up: options.warm_up,
            window,
            max_waiting: options.max_waiting,
            per_request: options.per_request,
        })
    }

    fn simulate(&self, policy: &GivenPolicy, stop: &AtomicBool) -> Result<Outcome, Error> {
        let began = Instant::now();
        let simulation = Simulation {
            merge: self.merge,
            warm_up: self.warm_up,
            window: self.window,
            max_waiting: self.max_waiting,
            ..Simulation::new(&self.system, policy.maker(), &self.input)
        };
        let progress = |_| {
            if stop.load(Ordering::Relaxed) || policy.has_failed() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let is_replicated =
            matches!(&self.input, Input::Generated(generated) if generated.replications.is_some());
        let mut requests = self.per_request.then(Columns::default);
        let runs: Vec<Run> = if is_replicated {
            simulation.replications(&progress, |_| {})?
        } else {
            let sink = requests.as_mut().map(|columns| columns as &mut dyn Sink);
            vec![simulation.run(&progress, sink)?]
        };
        let simulated = Simulated {
            system: &self.system,
            policy: &policy.name(),
            merge: self.merge,
            input: &self.input,
            workload: &self.workload,
            warm_up: self.warm_up,
        };
        Ok(Outcome {
            metrics: diskarm_results::simulated(simulated, &runs, began.elapsed()),
            is_saturated: runs.iter().any(|run| run.is_saturated),
            response_ms_quantiles: response_ms_quantiles(&runs),
            requests,
        })
    }
}

/// Returns the quantiles 0, 0.001, ..., 0.999 of the response times in all runs.
fn response_ms_quantiles(runs: &[Run]) -> Vec<f64> {
    let mut all = ResponseSummary::default();
    for run in runs {
        all.merge(run.report.all().responses());
    }
    let quantiles = (0..1000).map(|k| all.histogram().quantile(f64::from(k) / 1e3));
    quantiles.flatten().map(Span::as_ms).collect()
}

/// Checks a time in milliseconds, from `min` to an hour.
fn time(py: Python<'_>, field: &str, ms: f64, min: f64) -> PyResult<Span> {
    const HOUR_MS: f64 = 3_600_000.0;
    if (min..=HOUR_MS).contains(&ms) {
        return Ok(Span::from_ms(ms));
    }
    let expected = format!("milliseconds from {min} to {HOUR_MS}");
    Err(wrong(py, field, &ms.to_string(), &expected))
}

/// The fields of `diskarm.Workload`.
#[derive(FromPyObject)]
pub struct Workload {
    /// The workload, as the user wrote it.
    pub text: String,
    is_toml: bool,
}

impl Workload {
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
