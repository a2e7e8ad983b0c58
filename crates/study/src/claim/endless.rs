//! Which metrics have no limit where a load cannot be kept up with.

use crate::metric::{Column, Metric};

/// Starts of the names of times and numbers that grow with the queue: of a saturated cell they are
/// beyond those of any other. Of other metrics, as shares and parts of service, saturation tells
/// nothing.
const ENDLESS: &[&str] = &[
    "response_ms_",
    "reads_response_ms_",
    "writes_response_ms_",
    "queue_",
    "waiting_",
];

/// Whether `metric`, or what it is a multiple of, grows without bound in saturation.
pub(super) fn is_endless(columns: &[Column], metric: Metric) -> bool {
    let column = &columns[metric.0];
    match column.multiple(columns, |_| None) {
        Some((of, _)) => is_endless(columns, Metric(of)),
        None => ENDLESS.iter().any(|start| column.name.starts_with(start)),
    }
}
