//! Response times and their parts: the measure of nearly every study.

use diskarm_core::report::{Report, RequestTotals};
use diskarm_core::request::Op;
use diskarm_results::metrics::{LOAD, Metric, RESPONSE, SERVICE};
use diskarm_simulate::{Run, Simulation};

use crate::metric::{Column, Figures, MeasureInfo, Stop};

pub(super) const INFO: MeasureInfo = MeasureInfo {
    name: "responses",
    summary: "response times, the parts of service, queues and hits",
    columns: || {
        let figures = figures(&Report::new(0)).into_iter();
        figures.map(|(column, _)| column).collect()
    },
};

/// Metrics that reads and writes have by themselves too.
const BY_DIRECTION: [&str; 5] = [
    "response_ms_mean",
    "response_ms_std",
    "response_cv2",
    "response_ms_p95",
    "response_ms_max",
];

pub(super) fn run(simulation: &Simulation<'_>, stop: Stop<'_>) -> Result<Figures, String> {
    measured(simulation, stop, |run| figures(&run.report))
}

/// Runs once, and takes the columns from the run.
pub(super) fn measured(
    simulation: &Simulation<'_>,
    stop: Stop<'_>,
    of: impl Fn(&Run) -> Vec<(Column, Option<f64>)>,
) -> Result<Figures, String> {
    let run = simulation.run(&|_| stop(), None);
    let run = run.map_err(|error| error.to_string())?;
    if run.is_stopped {
        return Ok(Figures::Stopped);
    }
    if run.is_saturated {
        return Ok(Figures::Saturated);
    }
    let figures = of(&run).into_iter();
    let figures = figures.map(|(_, value)| value.filter(|value| value.is_finite()));
    Ok(Figures::Measured(figures.collect()))
}

/// Every column, with its value in `report`.
pub(super) fn figures(report: &Report) -> Vec<(Column, Option<f64>)> {
    let all = report.all();
    let mut figures = responses(&all);
    figures.extend(columns(SERVICE, Some(&all)));
    figures.extend(columns(LOAD, Some(report)));
    for (kind, op) in [("reads", Op::Read), ("writes", Op::Write)] {
        let responses = responses(report.of(op)).into_iter();
        let responses = responses.filter(|(c, _)| BY_DIRECTION.contains(&c.name.as_str()));
        figures.extend(responses.map(|(column, value)| {
            let title = format!("response time of {kind}");
            let title = column.title.replace("response time", &title);
            let name = format!("{kind}_{}", column.name);
            (Column::measured(&name, &title), value)
        }));
    }
    figures
}

fn responses(served: &RequestTotals) -> Vec<(Column, Option<f64>)> {
    columns(RESPONSE, served.responses().figures().as_ref())
}

fn columns<T>(metrics: &[Metric<T>], of: Option<&T>) -> Vec<(Column, Option<f64>)> {
    let columns = metrics.iter().filter_map(|metric| {
        let (name, title) = metric.column?;
        Some((Column::measured(name, title), of.and_then(metric.of)))
    });
    columns.collect()
}
