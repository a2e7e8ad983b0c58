//! Which metrics grow without bound in saturation.

use crate::metric::{Column, Metric};

/// Prefixes of metrics that grow with the queue: in a saturated cell they exceed those of any
/// other. Saturation says nothing about other metrics, such as shares and parts of service.
const ENDLESS: &[&str] = &[
    "response_ms_",
    "reads_response_ms_",
    "writes_response_ms_",
    "queue_",
    "waiting_",
];

/// Whether `metric`, or the metric that it is a multiple of, grows without bound in saturation.
pub(super) fn is_endless(columns: &[Column], metric: Metric) -> bool {
    let column = &columns[metric.0];
    match column.multiple(columns, |_| None) {
        Some((of, _)) => is_endless(columns, Metric(of)),
        None => ENDLESS.iter().any(|start| column.name.starts_with(start)),
    }
}
