//! Response times, and the metrics of the parts of the device: disks, caches and others.

use diskarm_core::device::{ComponentReport, Work};
use diskarm_core::report::Report;
use diskarm_simulate::Simulation;
use diskarm_simulate::devices::{PartMetric, part_kinds};

use super::responses;
use crate::metric::{Column, Figures, MeasureInfo, Stop};

pub(super) const INFO: MeasureInfo = MeasureInfo {
    name: "parts",
    summary: "the columns of responses, means over disks, caches and rebuilds, the busiest disk",
    columns: || {
        let figures = figures(&Report::new(0), &[]).into_iter();
        figures.map(|(column, _)| column).collect()
    },
};

pub(super) fn run(simulation: &Simulation<'_>, stop: Stop<'_>) -> Result<Figures, String> {
    responses::measured(simulation, stop, |run| figures(&run.report, &run.parts))
}

fn figures(report: &Report, parts: &[ComponentReport]) -> Vec<(Column, Option<f64>)> {
    let mut figures = responses::figures(report);
    for kind in part_kinds() {
        let metrics = kind.metrics.iter();
        figures.extend(metrics.filter_map(|metric| mean(metric, parts)));
        if kind.name == "disk" {
            figures.push(busiest_disk(parts));
        }
    }
    figures
}

/// Returns the column of `metric`, if it has one, with the mean over the parts that have it.
fn mean(metric: &PartMetric, parts: &[ComponentReport]) -> Option<(Column, Option<f64>)> {
    let (name, title) = metric.column?;
    let values = parts.iter().filter_map(|part| (metric.value)(&part.work));
    let values: Vec<f64> = values.collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let mean = (!values.is_empty()).then_some(mean);
    Some((Column::measured(name, title), mean))
}

fn busiest_disk(parts: &[ComponentReport]) -> (Column, Option<f64>) {
    let busy = parts.iter().filter_map(|part| match &part.work {
        Work::Disk(disk) => Some(disk.reading_fraction + disk.writing_fraction),
        _ => None,
    });
    let column = Column::measured("disk_busy_max", "Share of time the busiest disk works");
    (column, busy.reduce(f64::max))
}
