//! Response times, and the parts of the device: the disks of a pair or an array, and caches.

use diskarm_core::device::{ComponentReport, DiskWork, Work};
use diskarm_core::report::Report;
use diskarm_results::metrics::{CACHE, DISK, Metric, REDUNDANCY};
use diskarm_simulate::Simulation;

use super::{Figures, MeasureInfo, Stop, responses};
use crate::metric::Column;

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
    let disks = parts.iter().filter_map(|part| match &part.work {
        Work::Disk(work) => Some(work),
        _ => None,
    });
    let caches = parts.iter().filter_map(|part| match &part.work {
        Work::Cache(work) => Some(work),
        _ => None,
    });
    let redundancies = parts.iter().filter_map(|part| match &part.work {
        Work::Redundancy(work) => Some(work),
        _ => None,
    });
    let disks: Vec<&DiskWork> = disks.collect();
    let mut figures = responses::figures(report);
    figures.extend(means(DISK, &disks));
    let busy = disks
        .iter()
        .map(|disk| disk.reading_fraction + disk.writing_fraction);
    let column = Column::measured("disk_busy_max", "Share of time the busiest disk works");
    figures.push((column, busy.reduce(f64::max)));
    figures.extend(means(CACHE, &caches.collect::<Vec<_>>()));
    figures.extend(means(REDUNDANCY, &redundancies.collect::<Vec<_>>()));
    figures
}

/// The columns of `metrics`, each with its mean over the parts that have it.
fn means<T>(metrics: &[Metric<T>], parts: &[&T]) -> Vec<(Column, Option<f64>)> {
    let columns = metrics.iter().filter_map(|metric| {
        let (name, title) = metric.column?;
        let values: Vec<f64> = parts.iter().filter_map(|part| (metric.of)(part)).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let mean = (!values.is_empty()).then_some(mean);
        Some((Column::measured(name, title), mean))
    });
    columns.collect()
}
