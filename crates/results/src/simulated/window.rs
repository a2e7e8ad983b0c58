//! The figures of a window of time.

use diskarm_core::report::Window;
use diskarm_core::stats::ResponseStats;
use serde::Serialize;

use super::kind::Metrics;
use super::load;
use super::table::Table;

/// One window; the names are those of the JSON.
#[derive(Serialize)]
pub struct WindowFigures {
    start_s: f64,
    requests: u64,
    response_ms: Metrics<ResponseStats>,
    utilisation: f64,
    queue_mean: f64,
}

impl WindowFigures {
    /// The figures of `window`.
    pub fn of(window: &Window) -> Self {
        Self {
            start_s: window.start.as_s(),
            requests: window.arrived_count,
            response_ms: Metrics::response(window.responses),
            utilisation: window.utilisation_fraction,
            queue_mean: window.waiting_mean_count,
        }
    }

    /// A line in the table of windows.
    pub fn line(&self, t: &mut Table) {
        let label = format!("{} s", self.start_s);
        let responses = self.response_ms.of;
        let (utilisation, waiting) = (Some(self.utilisation), Some(self.queue_mean));
        load::line(&label, self.requests, responses, [utilisation, waiting], t);
    }
}
