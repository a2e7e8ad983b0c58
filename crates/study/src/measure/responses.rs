//! Response times and their parts: the measure of nearly every study.

use diskarm_core::report::{Report, Served};
use diskarm_core::request::Op;
use diskarm_core::units::Span;
use diskarm_simulate::Simulation;

use super::{Figures, MeasureInfo, Stop};

pub(super) const INFO: MeasureInfo = MeasureInfo {
    name: "responses",
    summary: "response times, the parts of service, queues and hits",
    columns: &[
        ("response_ms_mean", "Mean response time, ms"),
        ("response_ms_std", "Standard deviation of response time, ms"),
        (
            "response_cv2",
            "Squared coefficient of variation of response time",
        ),
        ("response_ms_p50", "Median response time, ms"),
        ("response_ms_p90", "90th percentile of response time, ms"),
        ("response_ms_p95", "95th percentile of response time, ms"),
        ("response_ms_p99", "99th percentile of response time, ms"),
        ("response_ms_max", "Longest response time, ms"),
        ("queue_ms_mean", "Mean wait in queues, ms"),
        ("service_ms_mean", "Mean service time, ms"),
        ("overhead_ms_mean", "Mean command overhead, ms"),
        ("seek_ms_mean", "Mean seek time, ms"),
        ("settle_ms_mean", "Mean head switch and settle, ms"),
        ("rotation_ms_mean", "Mean rotational wait, ms"),
        ("transfer_ms_mean", "Mean media transfer, ms"),
        ("bus_ms_mean", "Mean bus transfer not overlapped, ms"),
        ("cache_hit_rate", "Share of reads served from the buffer"),
        ("utilisation", "Share of time with a request outstanding"),
        ("queue_mean", "Mean number of requests waiting"),
        ("queue_max", "Largest number of requests waiting"),
        ("throughput_per_s", "Throughput, requests/s"),
        ("requests", "Requests counted"),
        ("reads_response_ms_mean", "Mean response time of reads, ms"),
        (
            "reads_response_ms_std",
            "Standard deviation of response time of reads, ms",
        ),
        (
            "reads_response_cv2",
            "Squared coefficient of variation of response time of reads",
        ),
        (
            "reads_response_ms_p95",
            "95th percentile of response time of reads, ms",
        ),
        (
            "reads_response_ms_max",
            "Longest response time of reads, ms",
        ),
        (
            "writes_response_ms_mean",
            "Mean response time of writes, ms",
        ),
        (
            "writes_response_ms_std",
            "Standard deviation of response time of writes, ms",
        ),
        (
            "writes_response_cv2",
            "Squared coefficient of variation of response time of writes",
        ),
        (
            "writes_response_ms_p95",
            "95th percentile of response time of writes, ms",
        ),
        (
            "writes_response_ms_max",
            "Longest response time of writes, ms",
        ),
    ],
};

pub(super) fn run(simulation: &Simulation<'_>, stop: Stop<'_>) -> Result<Figures, String> {
    let run = simulation.run(&|_| stop(), None);
    let run = run.map_err(|error| error.to_string())?;
    if run.is_stopped {
        return Ok(Figures::Stopped);
    }
    if run.is_saturated {
        return Ok(Figures::Saturated);
    }
    let figures = figures(&run.report);
    let named = INFO.columns.iter().map(|(name, _)| {
        let found = figures.iter().find(|(other, _)| other == name);
        found
            .and_then(|(_, value)| *value)
            .filter(|value| value.is_finite())
    });
    Ok(Figures::Measured(named.collect()))
}

/// Every column by its name; the table above has the order.
fn figures(report: &Report) -> Vec<(String, Option<f64>)> {
    let all = report.all();
    let mut figures = responses("", &all);
    let ms = |span: Span| span.as_ms();
    figures.push(("service_ms_mean".into(), all.mean_service().map(ms)));
    if let Some(mean) = all.mean_breakdown() {
        let parts = [
            ("queue", mean.queue),
            ("overhead", mean.overhead + mean.owed),
            ("seek", mean.seek),
            ("settle", mean.settle),
            ("rotation", mean.rotation),
            ("transfer", mean.transfer),
            ("bus", mean.bus),
        ];
        figures.extend(parts.map(|(part, span)| (format!("{part}_ms_mean"), Some(ms(span)))));
    }
    figures.extend([
        ("cache_hit_rate".into(), report.cache_hit_fraction()),
        ("utilisation".into(), report.utilisation_fraction()),
        ("queue_mean".into(), report.waiting_mean_count()),
        ("queue_max".into(), Some(report.waiting_max_count() as f64)),
        ("throughput_per_s".into(), report.throughput_per_s()),
        ("requests".into(), Some(report.requests_count() as f64)),
    ]);
    figures.extend(responses("reads_", report.of(Op::Read)));
    figures.extend(responses("writes_", report.of(Op::Write)));
    figures
}

fn responses(prefix: &str, served: &Served) -> Vec<(String, Option<f64>)> {
    let responses = served.responses();
    let Some(figures) = responses.figures() else {
        return Vec::new();
    };
    let p90 = responses.histogram().quantile(0.9).map(Span::as_ms);
    let named = [
        ("ms_mean", Some(figures.mean_ms)),
        ("ms_std", figures.std_ms),
        ("cv2", figures.cv2),
        ("ms_p50", Some(figures.p50_ms)),
        ("ms_p90", p90),
        ("ms_p95", Some(figures.p95_ms)),
        ("ms_p99", Some(figures.p99_ms)),
        ("ms_max", Some(figures.max_ms)),
    ];
    let named = named.map(|(name, value)| (format!("{prefix}response_{name}"), value));
    named.into()
}
