//! Combines independent runs of one model into one result.

use super::{Report, RequestTotals};
use crate::stats::ResponseStats;
use crate::stats::student::half_width_95;
use crate::units::Span;

/// Runs that differ only in their seeds.
///
/// Their requests are pooled; shares, rates and queue lengths are means over the runs. Confidence
/// intervals are Student's over the runs' figures, which are independent even if the requests
/// within a run are not: they also hold near saturation, where those by batch means are too narrow.
/// With fewer than two runs there are none.
#[derive(Clone, Debug)]
pub struct Replications<'r> {
    runs: Vec<&'r Report>,
}

impl<'r> Replications<'r> {
    /// Combines these runs.
    pub fn new(runs: impl IntoIterator<Item = &'r Report>) -> Self {
        Self {
            runs: runs.into_iter().collect(),
        }
    }

    /// Number of requests counted.
    pub fn requests_count(&self) -> u64 {
        self.runs.iter().map(|run| run.requests_count()).sum()
    }

    /// The sum of the measured periods.
    pub fn elapsed(&self) -> Span {
        self.runs
            .iter()
            .map(|run| run.elapsed())
            .fold(Span::ZERO, |sum, span| sum + span)
    }

    /// See [`Report::utilisation_fraction`]; `None` when no run has it.
    pub fn utilisation_fraction(&self) -> Option<f64> {
        mean(&self.each(Report::utilisation_fraction))
    }

    /// Half the width of its confidence interval.
    pub fn utilisation_ci95_fraction(&self) -> Option<f64> {
        half_width_95(&self.each(Report::utilisation_fraction))
    }

    /// See [`Report::waiting_mean_count`]; `None` when no run has it.
    pub fn waiting_mean_count(&self) -> Option<f64> {
        mean(&self.each(Report::waiting_mean_count))
    }

    /// Half the width of its confidence interval.
    pub fn waiting_ci95_count(&self) -> Option<f64> {
        half_width_95(&self.each(Report::waiting_mean_count))
    }

    /// The largest number of requests waiting in any run.
    pub fn waiting_max_count(&self) -> u64 {
        let counts = self.runs.iter().map(|run| run.waiting_max_count());
        counts.max().unwrap_or(0)
    }

    /// See [`Report::throughput_per_s`]; `None` when no run has it.
    pub fn throughput_per_s(&self) -> Option<f64> {
        mean(&self.each(Report::throughput_per_s))
    }

    /// Half the width of its confidence interval.
    pub fn throughput_ci95_per_s(&self) -> Option<f64> {
        half_width_95(&self.each(Report::throughput_per_s))
    }

    /// See [`Report::cache_hit_fraction`]; `None` when no run has it.
    pub fn cache_hit_fraction(&self) -> Option<f64> {
        mean(&self.each(Report::cache_hit_fraction))
    }

    /// Half the width of its confidence interval.
    pub fn cache_hit_ci95_fraction(&self) -> Option<f64> {
        half_width_95(&self.each(Report::cache_hit_fraction))
    }

    /// The figure of each run that has one.
    fn each(&self, figure: impl Fn(&Report) -> Option<f64>) -> Vec<f64> {
        self.runs.iter().filter_map(|run| figure(run)).collect()
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Requests of one kind in each of several runs.
#[derive(Clone, Debug)]
pub struct ReplicatedTotals {
    runs: Vec<RequestTotals>,
}

impl ReplicatedTotals {
    /// Combines these runs, at least one.
    ///
    /// # Panics
    /// Without any.
    pub fn new(runs: Vec<RequestTotals>) -> Self {
        assert!(!runs.is_empty(), "no runs");
        Self { runs }
    }

    /// All runs together, without a valid confidence interval.
    pub fn all(&self) -> RequestTotals {
        let mut all = RequestTotals::default();
        self.runs.iter().for_each(|run| all.merge(run));
        all
    }

    /// Response times of all requests: for a single run with its interval by batch means, for
    /// several with the interval over the runs. `None` when nothing was counted.
    pub fn figures(&self) -> Option<ResponseStats> {
        match &self.runs[..] {
            [only] => only.responses().figures(),
            runs => ResponseStats::from_replications(runs.iter().map(RequestTotals::responses)),
        }
    }

    /// Half the width of the confidence interval of the mean service time.
    pub fn service_ci95_ms(&self) -> Option<f64> {
        let means = self.runs.iter().filter_map(RequestTotals::mean_service);
        half_width_95(&means.map(Span::as_ms).collect::<Vec<f64>>())
    }
}
