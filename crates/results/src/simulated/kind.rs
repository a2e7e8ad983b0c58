//! Times of the requests of one kind.

use diskarm_core::device::Breakdown;
use diskarm_core::report::{Alike, Served};
use diskarm_core::stats::ResponseFigures;
use diskarm_core::units::Span;
use serde::Serialize;

use super::table::{Table, decimals, known};

/// Requests of one kind.
#[derive(Serialize)]
pub struct Kind {
    pub requests: u64,
    pub response_ms: ResponseMs,
    pub service_ms: ServiceMs,
}

/// Response times.
#[derive(Default, Serialize)]
pub struct ResponseMs {
    pub mean: Option<f64>,
    pub ci95: Option<f64>,
    std: Option<f64>,
    pub cv2: Option<f64>,
    p50: Option<f64>,
    pub p95: Option<f64>,
    p99: Option<f64>,
    p999: Option<f64>,
    pub max: Option<f64>,
}

/// Service times.
#[derive(Serialize)]
pub struct ServiceMs {
    pub mean: Option<f64>,
    owed: Option<f64>,
    overhead: Option<f64>,
    seek: Option<f64>,
    settle: Option<f64>,
    rotation: Option<f64>,
    transfer: Option<f64>,
    bus: Option<f64>,
}

impl Kind {
    /// The figures of one run or of several together.
    pub fn of(runs: &Alike) -> Self {
        let all = runs.all();
        Self {
            requests: all.requests_count(),
            response_ms: ResponseMs::of(runs.figures()),
            service_ms: ServiceMs::of(&all),
        }
    }

    /// A line in the table of kinds.
    pub fn line(&self, label: &str, t: &mut Table) {
        let r = &self.response_ms;
        let cells = [r.mean, r.p95, r.cv2, self.service_ms.mean].map(decimals);
        let [mean, p95, cv2, service] = cells.each_ref().map(String::as_str);
        t.cells(label, [&self.requests.to_string(), mean, p95, cv2, service]);
    }
}

impl ResponseMs {
    /// The response times, if there are any.
    pub fn of(figures: Option<ResponseFigures>) -> Self {
        let Some(figures) = figures else {
            return Self::default();
        };
        Self {
            mean: Some(figures.mean_ms),
            ci95: figures.ci95_ms,
            std: figures.std_ms,
            cv2: figures.cv2,
            p50: Some(figures.p50_ms),
            p95: Some(figures.p95_ms),
            p99: Some(figures.p99_ms),
            p999: Some(figures.p999_ms),
            max: Some(figures.max_ms),
        }
    }

    /// Prints it as text.
    pub fn lines(&self, t: &mut Table) {
        let r = self;
        t.row("response, mean", r.mean, 3, &known("ms", r.ci95));
        t.row("  std", r.std, 3, "ms");
        t.row("  cv2", r.cv2, 3, "(std / mean) squared");
        t.row("  median", r.p50, 3, "ms");
        t.row("  95 %", r.p95, 3, "ms");
        t.row("  99 %", r.p99, 3, "ms");
        t.row("  99.9 %", r.p999, 3, "ms");
        t.row("  max", r.max, 3, "ms");
    }
}

impl ServiceMs {
    fn of(served: &Served) -> Self {
        let breakdown = served.mean_breakdown();
        let part = |of: fn(Breakdown) -> Span| breakdown.map(|b| of(b).as_ms());
        Self {
            mean: served.mean_service().map(Span::as_ms),
            owed: part(|b| b.owed),
            overhead: part(|b| b.overhead),
            seek: part(|b| b.seek),
            settle: part(|b| b.settle),
            rotation: part(|b| b.rotation),
            transfer: part(|b| b.transfer),
            bus: part(|b| b.bus),
        }
    }

    /// Prints it as text.
    pub fn lines(&self, ci95: Option<f64>, t: &mut Table) {
        let s = self;
        t.row("service, mean", s.mean, 3, &known("ms", ci95));
        t.row("  owed", s.owed, 3, "ms");
        t.row("  overhead", s.overhead, 3, "ms");
        t.row("  seek", s.seek, 3, "ms");
        t.row("  settle", s.settle, 3, "ms");
        t.row("  rotation", s.rotation, 3, "ms");
        t.row("  transfer", s.transfer, 3, "ms");
        t.row("  bus", s.bus, 3, "ms");
    }
}
