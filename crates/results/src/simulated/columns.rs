//! Parts of simulation results: table lines, times of request classes, load, and device parts.

use diskarm_core::device::{ComponentReport, Work};
use diskarm_core::report::{ReplicatedTotals, Replications, Report, RequestTotals};
use diskarm_core::stats::ResponseStats;
use diskarm_core::units::Span;
use diskarm_simulate::devices::{CellFormat, PART_KINDS, PartKind, PartMetric};
use diskarm_simulate::{Origin, Run};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::metrics::{Metric, RESPONSE, SERVICE};
use crate::prose;

const LABEL: usize = 16;

pub fn decimals(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.3}"))
}

/// Formats a unit and the confidence interval of the preceding number.
pub fn with_interval(unit: &str, ci95: Option<f64>) -> String {
    match ci95 {
        Some(ci95) => format!("{unit}  ± {ci95:.3} (95 % confidence)"),
        None => unit.to_owned(),
    }
}

/// Lines with a label, a number in a column, and its unit.
#[derive(Default)]
pub struct Table {
    pub lines: String,
}

impl Table {
    /// Adds a label and a text; a long label replaces spaces at the start of the text.
    pub fn line(&mut self, label: &str, rest: &str) {
        let spaces = rest.len() - rest.trim_start().len();
        let excess = label.chars().count().saturating_sub(LABEL);
        let rest = &rest[excess.min(spaces.saturating_sub(1))..];
        self.lines += format!("{label:<LABEL$}{rest}").trim_end();
        self.gap();
    }

    pub fn gap(&mut self) {
        self.lines.push('\n');
    }

    pub fn text(&mut self, label: &str, text: &str) {
        self.lines += &prose::labelled(label, text, LABEL);
    }

    /// Adds cells in columns, right-aligned.
    pub fn cells(&mut self, label: &str, cells: impl IntoIterator<Item: AsRef<str>>) {
        let cells = cells.into_iter();
        let cells: String = cells.map(|cell| format!("{:>12}", cell.as_ref())).collect();
        self.line(label, &cells);
    }

    /// Adds a count of requests and numbers with three decimals, right-aligned in columns.
    pub fn numbers(&mut self, label: &str, requests: u64, numbers: [Option<f64>; 4]) {
        let [a, b, c, d] = numbers.map(decimals);
        self.cells(label, [&requests.to_string(), &a, &b, &c, &d]);
    }

    pub fn count(&mut self, label: &str, count: u64, unit: &str) {
        // Aligned with the integer parts of numbers that have three decimals.
        self.line(label, &format!("{count:>12}     {unit}"));
    }

    /// Adds a number, aligned at the decimal point, or a dash.
    pub fn row(&mut self, label: &str, value: Option<f64>, decimals: usize, unit: &str) {
        let Some(value) = value else {
            return self.line(label, &format!("{:>12}", "-"));
        };
        let width = 12 + if decimals > 0 { decimals + 1 } else { 0 };
        let number = format!("{value:>width$.decimals$}");
        self.line(label, &format!("{number:<16} {unit}"));
    }
}

#[derive(Serialize)]
pub struct RequestClass {
    pub requests: u64,
    pub response_ms: Metrics<ResponseStats>,
    pub service_ms: Metrics<RequestTotals>,
}

/// The metrics of one table; JSON uses their keys.
pub struct Metrics<T: 'static> {
    table: &'static [Metric<T>],
    /// The values; `None` if nothing was counted.
    pub of: Option<T>,
}

impl RequestClass {
    /// Returns the metrics of one run or of several together.
    pub fn new(runs: &ReplicatedTotals) -> Self {
        let all = runs.all();
        Self {
            requests: all.requests_count(),
            response_ms: Metrics::response(runs.stats()),
            service_ms: Metrics {
                table: SERVICE,
                of: Some(all),
            },
        }
    }

    pub fn line(&self, label: &str, t: &mut Table) {
        let r = self.response_ms.of;
        let service = self.service_ms.of.as_ref();
        let service = service.and_then(RequestTotals::mean_service);
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
    /// Adds a line for each metric; `ci95` belongs to the first.
    pub fn lines(&self, mut ci95: Option<f64>, t: &mut Table) {
        for metric in self.table {
            if let Some((label, unit)) = metric.line {
                let unit = with_interval(unit, ci95.take());
                t.row(label, self.value(metric), 3, &unit);
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

/// Hits, utilisation, queue and throughput.
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
    pub fn new(report: &Report) -> Self {
        Self::of_all(&Replications::new([report]), &[])
    }

    /// Returns the load of one or more runs: mean utilisation of the disks, and their total queue.
    pub fn of_all(runs: &Replications<'_>, disks: &[(Origin, Report)]) -> Self {
        let mut load = Self {
            cache_hit_rate: runs.mean_number(Report::cache_hit_fraction),
            utilisation: runs.mean_number(Report::utilisation_fraction),
            queue: Queue {
                mean: runs.mean_number(Report::waiting_mean_count),
                max: runs.waiting_max_count(),
            },
            throughput_per_s: runs.mean_number(Report::throughput_per_s),
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

    pub fn line(&self, label: &str, all: &RequestClass, t: &mut Table) {
        let load = [self.utilisation, self.queue.mean];
        load_line(label, all.requests, all.response_ms.of, load, t);
    }
}

pub const LOAD_HEADINGS: [&str; 5] = ["requests", "mean, ms", "95 %, ms", "busy, %", "waiting"];

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

/// A part of the device, with the mean of each metric over one or several runs.
pub struct PartMetrics {
    /// The name of the part; empty if there is only one.
    part: String,
    kind: &'static str,
    /// The role of a disk among the others, for the table.
    role: &'static str,
    figures: Vec<(&'static str, Option<f64>)>,
}

impl PartMetrics {
    /// Returns the parts of the device, which are the same in all runs.
    pub fn all(runs: &[Run]) -> Vec<Self> {
        let first = runs.first().map_or(&[][..], |run| &run.parts);
        let parts = first.iter().enumerate().map(|(number, part)| {
            let in_runs = runs.iter().filter_map(|run| run.parts.get(number));
            Self::new(part, role(part, first), &in_runs.collect::<Vec<_>>())
        });
        parts.collect()
    }

    fn new(first: &ComponentReport, role: &'static str, runs: &[&ComponentReport]) -> Self {
        let name = first.work.kind();
        let kind = PART_KINDS.iter().find(|kind| kind.name == name);
        let kind = kind.unwrap_or_else(|| panic!("parts of kind {name} have no metrics"));
        let mean = |metric: &PartMetric| {
            let values = runs.iter().filter_map(|part| (metric.value)(&part.work));
            let values: Vec<f64> = values.collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            (metric.key, (!values.is_empty()).then_some(mean))
        };
        Self {
            part: first.name.clone(),
            kind: name,
            role,
            figures: kind.metrics.iter().map(mean).collect(),
        }
    }

    fn figure(&self, key: &str) -> Option<f64> {
        let found = self.figures.iter().find(|(name, _)| *name == key);
        found.and_then(|(_, value)| *value)
    }

    fn line(&self, kind: &PartKind, t: &mut Table) {
        let cells = kind.metrics.iter().filter_map(|metric| {
            let (_, format) = metric.cell?;
            let value = self.figure(metric.key);
            Some(match format {
                CellFormat::Count => value.map_or("-".to_owned(), |count| format!("{count:.0}")),
                CellFormat::Percent => decimals(value.map(|share| share * 100.0)),
                CellFormat::Decimals => decimals(value),
            })
        });
        let name = format!("{} {} {}", self.kind, self.part, self.role);
        t.cells(name.trim_end(), cells);
    }
}

impl Serialize for PartMetrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("part", &self.part)?;
        map.serialize_entry("kind", self.kind)?;
        for (key, value) in &self.figures {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Returns the role of a disk among all `parts`: failed, part of a failed member, or the spare of a
/// rebuild (the last member of its array).
fn role(disk: &ComponentReport, parts: &[ComponentReport]) -> &'static str {
    let Work::Disk(_) = disk.work else {
        return "";
    };
    let mut role = "";
    for array in parts {
        let (Work::Redundancy(work), Some(number)) = (&array.work, member(disk, array)) else {
            continue;
        };
        let mut failed = work.failures.iter().take(work.failed as usize);
        if failed.any(|failure| failure.member == number) {
            return "(failed)";
        }
        let last = parts.iter().filter_map(|part| member(part, array)).max();
        if work.rebuilt_fraction.is_some() && last == Some(number) {
            role = "(spare)";
        }
    }
    role
}

/// Returns the number of the member of `array` that contains a part.
fn member(part: &ComponentReport, array: &ComponentReport) -> Option<usize> {
    let path = match array.name.as_str() {
        "" => &part.name,
        name => part.name.strip_prefix(name)?.strip_prefix('.')?,
    };
    path.split('.').next()?.parse().ok()
}

/// Adds lines on the effects of failures on an array, and on the progress of its rebuild.
fn redundancy(part: &PartMetrics, t: &mut Table) {
    // Block numbers are relative to the part, which may be one of several.
    let (failed, of_part) = match part.part.as_str() {
        "" => ("disks failed".to_owned(), String::new()),
        name => (
            format!("disks failed in part {name}"),
            format!("of part {name}"),
        ),
    };
    let mut line = |label: &str, value: Option<f64>, digits: usize, unit: &str| {
        if value.is_some() {
            t.row(label, value, digits, unit);
        }
    };
    let figure = |key| part.figure(key);
    let some = |key| figure(key).filter(|value| *value > 0.0);
    let Some(count) = some("failed_disks") else {
        return;
    };
    line(&failed, Some(count), 0, "");
    line("  first failure at", some("failed_at_s"), 3, "s");
    let rebuilt = figure("rebuilt").map(|share| 100.0 * share);
    line("  rebuilt", rebuilt, 1, "% of the disk that failed first");
    let unit = "s; it continues after the last request";
    line("  rebuild took", figure("rebuild_s"), 3, unit);
    let unit = "s if all of it ran under this load";
    line("  whole rebuild", figure("rebuild_projected_s"), 3, unit);
    let block = figure("rebuild_stopped_at_block");
    let unit = "(a block that could not be read)";
    line("  rebuild stopped at", block, 0, unit);
    let Some(lost) = some("lost_blocks") else {
        return;
    };
    line("  data lost at", figure("lost_at_s"), 3, "s");
    line("  blocks lost", Some(lost), 0, &of_part);
    line("  first block lost", figure("lost_from_block"), 0, &of_part);
}

pub fn part_lines(parts: &[PartMetrics], t: &mut Table) {
    for kind in PART_KINDS {
        let parts: Vec<_> = parts.iter().filter(|part| part.kind == kind.name).collect();
        let heads = kind.metrics.iter().filter_map(|metric| metric.cell);
        let heads: Vec<&str> = heads.map(|(head, _)| head).collect();
        if !(parts.is_empty() || heads.is_empty()) {
            t.cells("", heads);
            for part in &parts {
                part.line(kind, t);
                let lost = part.figure("failed").filter(|failed| *failed > 0.0);
                if kind.name == "cache" && lost.is_some() {
                    let destages = match lost {
                        Some(1.0) => "destage failed: its data are lost",
                        _ => "destages failed: their data are lost",
                    };
                    t.row("", lost, 0, destages);
                }
            }
        }
        if kind.name == "redundancy" {
            for part in parts {
                redundancy(part, t);
            }
        }
    }
}
