//! Response times and their parts: the measure `responses`, which nearly every study uses, and
//! `parts`, which adds the metrics of the device's parts: disks, caches and others.

use diskarm_core::device::{ComponentReport, Work};
use diskarm_core::report::{Report, RequestTotals};
use diskarm_core::request::Op;
use diskarm_results::metrics::{LOAD, Metric, RESPONSE, SERVICE};
use diskarm_simulate::devices::{PART_KINDS, PartMetric};
use diskarm_simulate::{Run, Simulation};

use crate::metric::{Column, MeasureInfo, RunOutcome, Stop};

pub(super) const INFO: MeasureInfo = MeasureInfo {
    name: "responses",
    summary: "response times, the parts of the service time, queues and hits",
    columns: || names(response_columns(&Report::new(0))),
};

pub(super) const PARTS: MeasureInfo = MeasureInfo {
    name: "parts",
    summary: "the columns of responses, means of disks, caches and rebuilds, and the busiest disk",
    columns: || names(part_columns(&Report::new(0), &[])),
};

type MeasuredColumn = (Column, Option<f64>);

fn names(columns: Vec<MeasuredColumn>) -> Vec<Column> {
    columns.into_iter().map(|(column, _)| column).collect()
}

fn values(columns: Vec<MeasuredColumn>) -> Vec<Option<f64>> {
    columns.into_iter().map(|(_, value)| value).collect()
}

/// Metrics that are also reported for reads and for writes.
const BY_DIRECTION: [&str; 5] = [
    "response_ms_mean",
    "response_ms_std",
    "response_cv2",
    "response_ms_p95",
    "response_ms_max",
];

pub(super) fn run(simulation: &Simulation<'_>, stop: Stop<'_>) -> Result<RunOutcome, String> {
    run_once(simulation, stop, |run| {
        values(response_columns(&run.report))
    })
}

pub(super) fn parts(simulation: &Simulation<'_>, stop: Stop<'_>) -> Result<RunOutcome, String> {
    run_once(simulation, stop, |run| {
        values(part_columns(&run.report, &run.parts))
    })
}

/// Runs the simulation once; `values` returns the values of the columns.
pub(super) fn run_once(
    simulation: &Simulation<'_>,
    stop: Stop<'_>,
    values: impl FnOnce(&Run) -> Vec<Option<f64>>,
) -> Result<RunOutcome, String> {
    let run = simulation.run(&|_| stop(), None);
    let run = run.map_err(|error| error.to_string())?;
    if run.is_stopped {
        return Ok(RunOutcome::Stopped);
    }
    if run.is_saturated {
        return Ok(RunOutcome::Saturated);
    }
    let values = values(&run).into_iter();
    let values = values.map(|value| value.filter(|value| value.is_finite()));
    Ok(RunOutcome::Measured(values.collect()))
}

fn response_columns(report: &Report) -> Vec<MeasuredColumn> {
    let all = report.all();
    let mut measured = responses(&all);
    measured.extend(columns(SERVICE, Some(&all)));
    measured.extend(columns(LOAD, Some(report)));
    for (kind, op) in [("reads", Op::Read), ("writes", Op::Write)] {
        let responses = responses(report.of(op)).into_iter();
        let responses = responses.filter(|(c, _)| BY_DIRECTION.contains(&c.name.as_str()));
        measured.extend(responses.map(|(column, value)| {
            let title = format!("response time of {kind}");
            let title = column.title.replace("response time", &title);
            let name = format!("{kind}_{}", column.name);
            (Column::measured(&name, &title), value)
        }));
    }
    measured
}

fn part_columns(report: &Report, parts: &[ComponentReport]) -> Vec<MeasuredColumn> {
    let mut columns = response_columns(report);
    for kind in PART_KINDS {
        let metrics = kind.metrics.iter();
        columns.extend(metrics.filter_map(|metric| mean(metric, parts)));
        if kind.name == "disk" {
            columns.push(busiest_disk(parts));
        }
    }
    columns
}

/// Returns the column of `metric`, if any, with the mean over the parts that have this metric.
fn mean(metric: &PartMetric, parts: &[ComponentReport]) -> Option<MeasuredColumn> {
    let (name, title) = metric.column?;
    let values = parts.iter().filter_map(|part| (metric.value)(&part.work));
    let values: Vec<f64> = values.collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let mean = (!values.is_empty()).then_some(mean);
    Some((Column::measured(name, title), mean))
}

fn busiest_disk(parts: &[ComponentReport]) -> MeasuredColumn {
    let busy = parts.iter().filter_map(|part| match &part.work {
        Work::Disk(disk) => Some(disk.reading_fraction + disk.writing_fraction),
        _ => None,
    });
    let column = Column::measured("disk_busy_max", "Share of time the busiest disk works");
    (column, busy.reduce(f64::max))
}

fn responses(served: &RequestTotals) -> Vec<MeasuredColumn> {
    columns(RESPONSE, served.responses().stats().as_ref())
}

fn columns<T>(metrics: &[Metric<T>], source: Option<&T>) -> Vec<MeasuredColumn> {
    let columns = metrics.iter().filter_map(|metric| {
        let (name, title) = metric.column?;
        Some((Column::measured(name, title), source.and_then(metric.of)))
    });
    columns.collect()
}
