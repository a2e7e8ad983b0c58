//! `diskarm trace info`: summarises a trace.

use std::fmt::Write;

use diskarm_core::units::Span;
use diskarm_results::prose;
use diskarm_trace::{Reader, Summary};
use serde::Serialize;

use super::Input;
use crate::error::Error;
use crate::output;
use crate::progress::Progress;

/// Summarise a trace
///
/// Prints length, requests, devices, directions, sizes, sequential share, times between arrivals
/// and, if the trace has them, responses and queue lengths. Also draws charts of the arrivals over
/// time and of the addresses of the busiest device. A request is sequential if it begins where the
/// previous request of the same device ended.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    input: Input,

    /// Print JSON: one object; key names end in the unit; null for what the trace does not have
    #[arg(long)]
    json: bool,
}

/// The results; field names are the JSON keys.
#[derive(Serialize)]
struct TraceSummary {
    file: String,
    format: &'static str,
    /// The first record's time on the format's own clock, if later times are relative to it.
    origin_ns: Option<u64>,
    length_s: Option<f64>,
    requests: u64,
    read_share: f64,
    sequential_share: f64,
    sequential_read_share: f64,
    size_bytes_mean: Option<f64>,
    sizes: Vec<Size>,
    interarrival_ms_mean: Option<f64>,
    interarrival_cv: Option<f64>,
    response_ms_mean: Option<f64>,
    service_ms_mean: Option<f64>,
    /// The numbers of arrivals that found 0, 1, 2 ... requests at their device.
    queue_requests: Option<Vec<u64>>,
    arrivals: Option<Arrivals>,
    devices: Vec<Device>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Size {
    bytes: u64,
    share: f64,
}

#[derive(Serialize)]
struct Arrivals {
    from_s: f64,
    interval_s: f64,
    requests: Vec<u64>,
}

#[derive(Serialize)]
struct Device {
    number: u32,
    name: Option<String>,
    requests: u64,
    read_share: f64,
    /// One past the last block.
    end_lbn: u64,
    interval_sectors: u64,
    requests_by_lbn: Vec<u64>,
}

/// The number of records between updates of the progress bar; each update reads the clock.
const STRIDE: u64 = 1 << 16;

pub fn run(args: Args) -> Result<(), Error> {
    let mut trace = args.input.open()?;
    let mut summary = Summary::default();
    let progress = Progress::new(None);
    while let Some(record) = trace.next() {
        summary.record(&record?, trace.name())?;
        if summary.requests_count.is_multiple_of(STRIDE) {
            progress.set(summary.requests_count);
        }
    }
    drop(progress);
    let results = TraceSummary::new(&summary, &trace);
    output::print_as(args.json, &results, || results.text(trace.format().summary))
}

impl TraceSummary {
    fn new(summary: &Summary, trace: &Reader) -> Self {
        let share = |count: u64| count as f64 / summary.requests_count as f64;
        let length = summary.arrivals.map(|(first, last)| last - first);
        let mut sizes: Vec<_> = summary.sizes.iter().collect();
        sizes.sort_by_key(|(sectors, count)| (u64::MAX - *count, **sectors));
        let most_frequent = sizes.into_iter().take(MAX_SIZES);
        let sizes = most_frequent.map(|(sectors, count)| Size {
            bytes: sectors.0 * 512,
            share: share(*count),
        });
        Self {
            file: trace.name().to_owned(),
            format: trace.format().name,
            origin_ns: trace.origin().map(|origin| origin.as_ns()),
            length_s: length.map(Span::as_s),
            requests: summary.requests_count,
            read_share: share(summary.reads_count),
            sequential_share: share(summary.sequential_count),
            sequential_read_share: share(summary.sequential_reads_count),
            size_bytes_mean: summary.size_bytes_mean(),
            sizes: sizes.collect(),
            interarrival_ms_mean: summary.interarrivals.mean().map(Span::as_ms),
            interarrival_cv: summary.interarrivals.cv2().map(f64::sqrt),
            response_ms_mean: summary.responses.mean().map(Span::as_ms),
            service_ms_mean: summary.services.mean().map(Span::as_ms),
            queue_requests: (!summary.queues.is_empty()).then(|| summary.queues.clone()),
            arrivals: summary.arrivals.map(|(first, _)| {
                let (requests, interval_ns) = summary.over_time.columns(COLUMNS);
                Arrivals {
                    from_s: first.as_s(),
                    interval_s: interval_ns as f64 / 1e9,
                    requests,
                }
            }),
            devices: devices(summary, &trace.metadata().device_names),
            notes: trace.notes(),
        }
    }
}

const MAX_SIZES: usize = 6;

fn devices(summary: &Summary, names: &[String]) -> Vec<Device> {
    let devices = summary.devices.iter().map(|(number, device)| {
        let (requests_by_lbn, interval_sectors) = device.over_space.columns(COLUMNS);
        Device {
            number: *number,
            name: names.get(*number as usize).cloned(),
            requests: device.requests_count,
            read_share: device.reads_count as f64 / device.requests_count as f64,
            end_lbn: device.end.0,
            interval_sectors,
            requests_by_lbn,
        }
    });
    let mut devices: Vec<Device> = devices.collect();
    devices.sort_by_key(|device| (u64::MAX - device.requests, device.number));
    devices
}

const MAX_DEVICES: usize = 12;

/// Queue lengths below this are listed one by one.
const SHORT_QUEUES: usize = 4;

impl TraceSummary {
    /// Formats the results as text; `summary` describes the format.
    fn text(&self, summary: &str) -> String {
        let mut text = String::new();
        line(&mut text, "trace", &self.file);
        line(&mut text, "format", &format!("{} ({summary})", self.format));
        if let Some(length_s) = self.length_s {
            let (length, unit) = brief(length_s);
            line(&mut text, "length", &format!("{length:.3} {unit}"));
        }
        let percent = |share: f64| format!("{:.2} %", share * 100.0);
        line(&mut text, "requests", &self.requests.to_string());
        line(&mut text, "reads", &percent(self.read_share));
        let sequential = percent(self.sequential_share);
        let reads = percent(self.sequential_read_share);
        let sequential = format!("{sequential} of requests; {reads} are sequential reads");
        line(&mut text, "sequential", &sequential);
        if let Some(bytes) = self.size_bytes_mean {
            let mean = format!("{:.3} KiB", bytes / 1024.0);
            line(&mut text, "size, mean", &mean);
        }
        let size = |size: &Size| {
            let kib = size.bytes as f64 / 1024.0;
            format!("{kib} KiB ({})", percent(size.share))
        };
        let mut sizes: Vec<String> = self.sizes.iter().map(size).collect();
        let listed: f64 = self.sizes.iter().map(|size| size.share).sum();
        if self.sizes.len() == MAX_SIZES && listed < 1.0 - 5e-5 {
            sizes.push(format!("others ({})", percent(1.0 - listed)));
        }
        line(&mut text, "sizes", &sizes.join(", "));
        if let Some(mean) = self.interarrival_ms_mean {
            let (mean, unit) = brief(mean / 1_000.0);
            let mut shown = format!("{mean:.3} {unit}");
            if let Some(cv) = self.interarrival_cv {
                shown += &format!(", coefficient of variation {cv:.3}");
            }
            line(&mut text, "interarrival", &shown);
        }
        let (response, service) = (self.response_ms_mean, self.service_ms_mean);
        for (name, mean) in [("response", response), ("service", service)] {
            if let Some((mean, unit)) = mean.map(prose::time_of) {
                line(&mut text, name, &format!("{mean:.3} {unit}"));
            }
        }
        self.queues(&mut text);
        self.charts(&mut text);
        for note in &self.notes {
            text += &format!("note: {note}\n");
        }
        text
    }

    /// Adds the percentage of each short queue length, then those of ranges of doubling width.
    fn queues(&self, text: &mut String) {
        let Some(counts) = &self.queue_requests else {
            return;
        };
        let all: u64 = counts.iter().sum();
        let mut parts = Vec::new();
        let mut from = 0;
        while from < counts.len() {
            let end = if from < SHORT_QUEUES {
                from + 1
            } else {
                from * 2
            };
            let sum: u64 = counts[from..end.min(counts.len())].iter().sum();
            let percent = sum as f64 / all as f64 * 100.0;
            parts.push(match end - from {
                1 => format!("{from}: {percent:.2} %"),
                _ => format!("{from} to {}: {percent:.2} %", end - 1),
            });
            from = end;
        }
        line(text, "queue found", &parts.join(", "));
    }

    fn charts(&self, text: &mut String) {
        if let Some(arrivals) = &self.arrivals {
            *text += &arrivals.text();
        }
        let _ = writeln!(
            text,
            "\n{:>12} {:>12} {:>9} {:>16}  name",
            "device", "requests", "reads", "end, blocks"
        );
        for device in self.devices.iter().take(MAX_DEVICES) {
            let row = format!(
                "{:>12} {:>12} {:>7.2} % {:>16}  {}",
                device.number,
                device.requests,
                device.read_share * 100.0,
                device.end_lbn,
                device.name.as_deref().unwrap_or("")
            );
            let _ = writeln!(text, "{}", row.trim_end());
        }
        if self.devices.len() > MAX_DEVICES {
            let _ = writeln!(text, "{:>12} more", self.devices.len() - MAX_DEVICES);
        }
        if let Some(device) = self.devices.first() {
            let end = device.interval_sectors as f64 * device.requests_by_lbn.len() as f64;
            let _ = writeln!(
                text,
                "\nfirst blocks on device {} from 0 to {end}, {} blocks a column:",
                device.number, device.interval_sectors
            );
            *text += &bars(&device.requests_by_lbn);
        }
    }
}

impl Arrivals {
    fn text(&self) -> String {
        let from = self.from_s;
        let end = from + self.interval_s * self.requests.len() as f64;
        if self.requests.len() == 1 {
            let (at, unit) = brief(from);
            return format!("\nall requests arrived at {at:.3} {unit}\n");
        }
        let tallest = self.requests.iter().copied().max().unwrap_or(0);
        let rate = tallest as f64 / self.interval_s;
        let (shown, unit) = brief(end);
        let scale = shown / end;
        let (column, column_unit) = match self.interval_s * scale {
            column if column < 1e-3 => brief(self.interval_s),
            column => (column, unit),
        };
        let first = from * scale;
        let window = if shown - first < 0.1 {
            // With three decimals, the two ends would look the same.
            let (length, length_unit) = brief(end - from);
            format!("in {length:.3} {length_unit} from {first:.3} {unit} on")
        } else {
            format!("from {first:.3} to {shown:.3} {unit}")
        };
        let title = format!(
            "arrivals {window}, {column:.6} {column_unit} a column, up to {rate:.3} requests/s:"
        );
        format!("\n{}{}", prose::wrapped(&title, 0), bars(&self.requests))
    }
}

/// Converts a time to a convenient unit, nanoseconds or larger.
fn brief(seconds: f64) -> (f64, &'static str) {
    match seconds {
        0.0 => (0.0, "s"),
        ..1e-6 => (seconds * 1e9, "ns"),
        ..1e-3 => (seconds * 1e6, "us"),
        ..1.0 => (seconds * 1e3, "ms"),
        _ => prose::time(seconds),
    }
}

fn line(text: &mut String, label: &str, value: &str) {
    *text += &prose::labelled(label, value, 13);
}

const COLUMNS: usize = 64;

/// The height of a chart in lines, each of which has eight steps.
const LINES: usize = 4;

const STEPS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws a bar for each of `counts`. The tallest fills the chart; no nonzero count is hidden.
fn bars(counts: &[u64]) -> String {
    let tallest = counts.iter().copied().max().unwrap_or(0).max(1);
    let top = (LINES * 8) as u128;
    let height = |count: &u64| (u128::from(*count) * top).div_ceil(tallest.into()) as usize;
    let mut text = String::new();
    for line in (0..LINES).rev() {
        let bar = |count| STEPS[height(count).saturating_sub(line * 8).min(8)];
        let row: String = counts.iter().map(bar).collect();
        text += &format!("  {}\n", row.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tallest_bar_fills_the_chart_and_the_smallest_is_visible() {
        let text = bars(&[0, 1, 500, 1_000]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines, ["     █", "     █", "    ██", "   ▁██"]);
    }
}
