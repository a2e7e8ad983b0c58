//! Times of the requests of one kind.

use diskarm_core::report::{ReplicatedTotals, RequestTotals};
use diskarm_core::stats::ResponseStats;
use diskarm_core::units::Span;
use serde::{Serialize, Serializer};

use super::table::{Table, known};
use crate::metrics::{Metric, RESPONSE, SERVICE};

/// Requests of one kind.
#[derive(Serialize)]
pub struct Kind {
    pub requests: u64,
    pub response_ms: Metrics<ResponseStats>,
    pub service_ms: Metrics<RequestTotals>,
}

/// Metrics of one table; in JSON by their keys.
pub struct Metrics<T: 'static> {
    table: &'static [Metric<T>],
    /// What they describe; `None` where nothing was counted.
    pub of: Option<T>,
}

impl Kind {
    /// The figures of one run or of several together.
    pub fn of(runs: &ReplicatedTotals) -> Self {
        let all = runs.all();
        Self {
            requests: all.requests_count(),
            response_ms: Metrics::response(runs.figures()),
            service_ms: Metrics {
                table: SERVICE,
                of: Some(all),
            },
        }
    }

    /// A line in the table of kinds.
    pub fn line(&self, label: &str, t: &mut Table) {
        let r = self.response_ms.of;
        let service = self
            .service_ms
            .of
            .as_ref()
            .and_then(RequestTotals::mean_service);
        let numbers = [
            r.map(|r| r.mean_ms),
            r.map(|r| r.p95_ms),
            r.and_then(|r| r.cv2),
            service.map(Span::as_ms),
        ];
        t.numbers(label, self.requests, numbers);
    }
}

impl Metrics<ResponseStats> {
    pub fn response(of: Option<ResponseStats>) -> Self {
        let table = RESPONSE;
        Self { table, of }
    }
}

impl<T> Metrics<T> {
    /// Prints them as text; `ci95` belongs to the first.
    pub fn lines(&self, mut ci95: Option<f64>, t: &mut Table) {
        for metric in self.table {
            if let Some((label, unit)) = metric.line {
                t.row(label, self.value(metric), 3, &known(unit, ci95.take()));
            }
        }
    }

    fn value(&self, metric: &Metric<T>) -> Option<f64> {
        self.of.as_ref().and_then(metric.of)
    }
}

impl<T> Serialize for Metrics<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let keyed = self.table.iter().filter(|metric| !metric.key.is_empty());
        serializer.collect_map(keyed.map(|metric| (metric.key, self.value(metric))))
    }
}
