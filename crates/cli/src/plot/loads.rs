//! The load of each disk of an array.

use diskarm_plot::{Axis, BarGroup, BarSeries, Bars};
use diskarm_results::declustering::{Compared, Found};

/// The load of each disk without failures, the same for all layouts, beside that with them.
pub fn loads(compared: &Compared) -> String {
    let groups = (0..compared.disks).map(|disk| BarGroup {
        name: disk.to_string(),
        remark: match compared.failed.contains(&disk) {
            true => "failed".to_owned(),
            false => String::new(),
        },
    });
    let normal = BarSeries {
        label: "all, without failures".to_owned(),
        values: vec![Some(1.0); compared.disks],
        is_reference: true,
    };
    let degraded = |of: &Found| BarSeries {
        label: match of.is_lost {
            true => format!("{}: data lost", of.layout),
            false => of.layout.to_owned(),
        },
        values: of
            .loads
            .iter()
            .map(|load| load.degraded_over_normal)
            .collect(),
        is_reference: false,
    };
    let degraded = compared.layouts.iter().map(degraded);
    let failed: Vec<String> = compared.failed.iter().map(usize::to_string).collect();
    let reads = (1_000.0 * compared.read_share).round() / 10.0;
    let bars = Bars {
        title: "Load of each disk with failures, beside that without".to_owned(),
        note: format!(
            "{} disks, clusters of {}, {reads} % reads; failed: {}",
            compared.disks,
            compared.cluster,
            failed.join(", ")
        ),
        x: "Disk".to_owned(),
        groups: groups.collect(),
        y: Axis::linear("Load, as a multiple of that without failures"),
        series_heading: "Layout".to_owned(),
        series: [normal].into_iter().chain(degraded).collect(),
    };
    bars.svg()
}
