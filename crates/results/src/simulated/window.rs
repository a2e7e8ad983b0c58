//! The figures of a window of time.

use diskarm_core::report::Window;
use serde::Serialize;

use super::kind::ResponseMs;
use super::table::{Table, decimals};

/// One window; the names are those of the JSON.
#[derive(Serialize)]
pub struct WindowFigures {
    start_s: f64,
    requests: u64,
    response_ms: ResponseMs,
    utilisation: f64,
    queue_mean: f64,
}

impl WindowFigures {
    /// The figures of `window`.
    pub fn of(window: &Window) -> Self {
        Self {
            start_s: window.start.as_s(),
            requests: window.arrived_count,
            response_ms: ResponseMs::of(window.responses),
            utilisation: window.utilisation_fraction,
            queue_mean: window.waiting_mean_count,
        }
    }

    /// A line in the table of windows.
    pub fn line(&self, t: &mut Table) {
        let r = &self.response_ms;
        let busy = Some(self.utilisation * 100.0);
        let cells = [r.mean, r.p95, busy, Some(self.queue_mean)].map(decimals);
        let [mean, p95, busy, waiting] = cells.each_ref().map(String::as_str);
        let label = format!("{} s", self.start_s);
        t.cells(
            &label,
            [&self.requests.to_string(), mean, p95, busy, waiting],
        );
    }
}
