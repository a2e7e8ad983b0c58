//! The pieces of the results of a simulation: lines of a table, times of a class of requests, load.

use std::fmt::Write;

use diskarm_core::report::{ReplicatedTotals, Replications, Report, RequestTotals};
use diskarm_core::stats::ResponseStats;
use diskarm_core::units::Span;
use diskarm_simulate::Origin;
use serde::{Serialize, Serializer};

use crate::metrics::{Metric, RESPONSE, SERVICE};
use crate::prose;

/// Width of a label in columns.
const LABEL: usize = 16;

/// A number for a cell, or a dash.
pub fn decimals(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.3}"))
}

/// A unit, and the confidence interval of the number before it.
pub fn with_interval(unit: &str, ci95: Option<f64>) -> String {
    match ci95 {
        Some(ci95) => format!("{unit}  ± {ci95:.3} (95 % confidence)"),
        None => unit.to_owned(),
    }
}

/// Lines of a label, a number in a column, and its unit.
#[derive(Default)]
pub struct Table {
    pub lines: String,
}

impl Table {
    /// A label and the text after it. A long label takes the place of spaces before the text.
    pub fn line(&mut self, label: &str, rest: &str) {
        let spaces = rest.len() - rest.trim_start().len();
        let excess = label.chars().count().saturating_sub(LABEL);
        let rest = &rest[excess.min(spaces.saturating_sub(1))..];
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.lines,
            "{}",
            format!("{label:<LABEL$}{rest}").trim_end()
        );
    }

    pub fn gap(&mut self) {
        self.lines.push('\n');
    }

    /// Adds text, on several lines if necessary.
    pub fn text(&mut self, label: &str, text: &str) {
        self.lines += &prose::labelled(label, text, LABEL);
    }

    /// Cells in columns, right-aligned.
    pub fn cells(&mut self, label: &str, cells: impl IntoIterator<Item: AsRef<str>>) {
        let cells = cells.into_iter();
        let cells: String = cells.map(|cell| format!("{:>12}", cell.as_ref())).collect();
        self.line(label, &cells);
    }

    /// Formats a count of requests and numbers with three decimals, right-aligned in columns.
    pub fn numbers(&mut self, label: &str, requests: u64, numbers: [Option<f64>; 4]) {
        let [a, b, c, d] = numbers.map(decimals);
        self.cells(label, [&requests.to_string(), &a, &b, &c, &d]);
    }

    pub fn count(&mut self, label: &str, count: u64, unit: &str) {
        // Aligned with the integer parts of numbers that have three decimals.
        self.line(label, &format!("{count:>12}     {unit}"));
    }

    /// A number, aligned at the decimal point; a dash if there is none.
    pub fn row(&mut self, label: &str, value: Option<f64>, decimals: usize, unit: &str) {
        let Some(value) = value else {
            return self.line(label, &format!("{:>12}", "-"));
        };
        let width = 12 + if decimals > 0 { decimals + 1 } else { 0 };
        let number = format!("{value:>width$.decimals$}");
        self.line(label, &format!("{number:<16} {unit}"));
    }
}

/// Requests of one kind.
#[derive(Serialize)]
pub struct RequestClass {
    pub requests: u64,
    pub response_ms: Metrics<ResponseStats>,
    pub service_ms: Metrics<RequestTotals>,
}

/// Metrics of one table; in JSON by their keys.
pub struct Metrics<T: 'static> {
    table: &'static [Metric<T>],
    /// The values; `None` if nothing was counted.
    pub of: Option<T>,
}

impl RequestClass {
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
                t.row(
                    label,
                    self.value(metric),
                    3,
                    &with_interval(unit, ci95.take()),
                );
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

/// Hits, utilisation, queue and throughput; the names are those of the JSON.
#[derive(Serialize)]
pub struct Load {
    pub cache_hit_rate: Option<f64>,
    pub utilisation: Option<f64>,
    pub queue: Queue,
    pub throughput_per_s: Option<f64>,
}

#[derive(Serialize)]
pub struct Queue {
    pub mean: Option<f64>,
    pub max: u64,
}

impl Load {
    pub fn of(report: &Report) -> Self {
        Self::of_all(&Replications::new([report]), &[])
    }

    /// In one run or several; of several disks the mean utilisation, and the sum of what waits.
    pub fn of_all(runs: &Replications<'_>, disks: &[(Origin, Report)]) -> Self {
        let mut load = Self {
            cache_hit_rate: runs.mean(Report::cache_hit_fraction),
            utilisation: runs.mean(Report::utilisation_fraction),
            queue: Queue {
                mean: runs.mean(Report::waiting_mean_count),
                max: runs.waiting_max_count(),
            },
            throughput_per_s: runs.mean(Report::throughput_per_s),
        };
        if !disks.is_empty() {
            let reports = || disks.iter().map(|(_, report)| report);
            let busy: Option<f64> = reports().map(Report::utilisation_fraction).sum();
            load.utilisation = busy.map(|busy| busy / disks.len() as f64);
            load.queue = Queue {
                mean: reports().map(Report::waiting_mean_count).sum(),
                max: reports().map(Report::waiting_max_count).max().unwrap_or(0),
            };
        }
        load
    }

    /// A line with the responses of `all` requests.
    pub fn line(&self, label: &str, all: &RequestClass, t: &mut Table) {
        let load = [self.utilisation, self.queue.mean];
        load_line(label, all.requests, all.response_ms.of, load, t);
    }
}

/// The columns of [`load_line()`].
pub const LOAD_HEADINGS: [&str; 5] = ["requests", "mean, ms", "95 %, ms", "busy, %", "waiting"];

/// Responses and load of some `requests`, in a line.
pub fn load_line(
    label: &str,
    requests: u64,
    responses: Option<ResponseStats>,
    [utilisation, waiting]: [Option<f64>; 2],
    t: &mut Table,
) {
    let busy = utilisation.map(|share| share * 100.0);
    let (mean, p95) = (responses.map(|r| r.mean_ms), responses.map(|r| r.p95_ms));
    t.numbers(label, requests, [mean, p95, busy, waiting]);
}
