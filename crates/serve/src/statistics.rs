//! Request counts and reply lateness of an export, and the summary of its recorded trace.

use std::fmt::Write;

use diskarm_core::stats::Histogram;
use diskarm_core::units::Span;
use serde::Serialize;

#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Connections that completed the handshake.
    pub connections: u64,
    /// Requests, including failed ones.
    pub counts: Counts,
    /// Lateness of the replies to requests that take time: the time sent minus the time due.
    pub lateness: Histogram,
    pub total_lateness: Span,
    /// The error of the store when the service ended: data written without a flush may be lost.
    pub sync_error: Option<String>,
}

impl Statistics {
    /// Records the result of the synchronisation of the store when the service ended.
    pub fn record_last_sync(&mut self, result: std::io::Result<()>) {
        self.sync_error = result.err().map(|error| error.to_string());
    }

    /// Records a reply that was sent `late` after it was due.
    pub fn record_lateness(&mut self, late: Span) {
        self.lateness.record(late);
        self.total_lateness += late;
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub reads: u64,
    pub writes: u64,
    pub flushes: u64,
    pub trims: u64,
    pub zeroes: u64,
    pub status: u64,
    /// Commands that do not access data.
    pub others: u64,
    pub refused: u64,
    /// Requests that failed in the device or the store.
    pub failed: u64,
    /// Requests that were aborted because their client had disconnected.
    pub aborted: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
}

/// The type of a request's access to the data of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    Flush,
    Trim,
    Zero,
    Status,
    Other,
    Refused,
}

impl Counts {
    pub const fn kinds(&self) -> [(&'static str, u64); 7] {
        [
            ("reads", self.reads),
            ("writes", self.writes),
            ("flushes", self.flushes),
            ("trims", self.trims),
            ("writes of zeroes", self.zeroes),
            ("block status", self.status),
            ("other commands", self.others),
        ]
    }

    pub const fn unsuccessful(&self) -> [(&'static str, u64); 3] {
        [
            ("refused", self.refused),
            ("failed", self.failed),
            ("aborted", self.aborted),
        ]
    }

    pub fn count(&mut self, access: Access, bytes: u64) {
        match access {
            Access::Read => {
                self.reads += 1;
                self.read_bytes += bytes;
            }
            Access::Write => {
                self.writes += 1;
                self.written_bytes += bytes;
            }
            Access::Flush => self.flushes += 1,
            Access::Trim => self.trims += 1,
            Access::Zero => self.zeroes += 1,
            Access::Status => self.status += 1,
            Access::Other => self.others += 1,
            Access::Refused => self.refused += 1,
        }
    }
}

/// The statistics of an export with its description, for output.
#[derive(Clone, Debug, Serialize)]
pub struct ExportStatistics {
    pub export: String,
    /// The drive, or the device stack.
    pub drive: String,
    /// Policy of the queue in front of the device; `None` if requests took no time.
    pub policy: Option<String>,
    pub bytes: u64,
    pub store: String,
    /// Seconds of drive time per second of wall-clock time; `None` if requests took no time.
    pub speed: Option<f64>,
    pub connections: u64,
    #[serde(flatten)]
    pub counts: Counts,
    /// `None` if no request took time.
    pub lateness: Option<Lateness>,
    /// The trace of the client requests, if one was recorded.
    pub recording: Option<RecordingSummary>,
}

/// Lateness of replies, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lateness {
    pub replies: u64,
    pub mean_us: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    pub max_us: f64,
    /// The limit on the 99th percentile.
    pub bound_us: f64,
    /// True if the 99th percentile is within the limit.
    pub keeps_time: bool,
}

impl Lateness {
    /// Computes the mean and the quantiles; `None` if no reply was timed.
    pub fn new(statistics: &Statistics, bound: Span) -> Option<Self> {
        let lateness = &statistics.lateness;
        let us = |fraction| Some(lateness.quantile(fraction)?.as_ms() * 1e3);
        let p99 = lateness.quantile(0.99)?;
        let replies = lateness.count();
        Some(Self {
            replies,
            mean_us: statistics.total_lateness.as_ms() * 1e3 / replies as f64,
            p50_us: us(0.5)?,
            p99_us: us(0.99)?,
            p999_us: us(0.999)?,
            max_us: us(1.0)?,
            bound_us: bound.as_ms() * 1e3,
            keeps_time: p99 <= bound,
        })
    }
}

pub const TOO_SLOW: &str = "this host is too slow for this drive";

impl ExportStatistics {
    /// Formats the statistics as lines of text, with the notes of the recording.
    pub fn text(&self) -> String {
        let mut text = self.line() + "\n";
        if let Some(recorded) = &self.recording {
            text += &format!("{}\n", recorded.line());
            for note in &recorded.notes {
                text += &format!("note: {note}\n");
            }
        }
        text
    }

    pub fn line(&self) -> String {
        let name = match &*self.export {
            "" => &self.drive,
            name => name,
        };
        let mut line = format!("{name}: connections {}", self.connections);
        let counts = [self.counts.kinds().as_slice(), &self.counts.unsuccessful()].concat();
        for (kind, count) in counts {
            if count > 0 {
                let _ = write!(line, ", {kind} {count}");
            }
        }
        if let Some(late) = &self.lateness {
            let _ = write!(
                line,
                "; late by {:.1} us (median), {:.1} us (99 %), {:.1} us (99.9 %), {:.1} us (max)",
                late.p50_us, late.p99_us, late.p999_us, late.max_us
            );
            if !late.keeps_time {
                let _ = write!(line, ", above {:.0} us: {TOO_SLOW}", late.bound_us);
            }
        }
        line
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecordingSummary {
    pub file: String,
    pub format: String,
    /// Reads and writes in the trace.
    pub requests: u64,
    /// Flushes, which are not in the trace.
    pub flushes: u64,
    /// Trims, which take the drive no time and are not in the trace.
    pub trims: u64,
    /// Reads and writes that failed or were aborted, which are not in the trace.
    pub failed: u64,
    /// Power cuts, which are not in the trace.
    pub power_cuts: u64,
    /// Differences between a replay and the recorded run.
    pub notes: Vec<String>,
}

impl RecordingSummary {
    /// Adds the counts of requests that do not reach the device.
    pub fn add_requests(&mut self, counts: &Counts) {
        self.trims = counts.trims;
        if counts.zeroes > 0 {
            let zeroes = counts.zeroes;
            let note = format!("writes of zeroes recorded as plain writes: {zeroes}");
            self.notes.push(note);
        }
    }

    pub fn line(&self) -> String {
        let mut line = format!("{}: {} requests recorded", self.file, self.requests);
        let omitted = [
            (self.flushes, "flush", "flushes"),
            (self.trims, "trim", "trims"),
            (self.failed, "failed request", "failed requests"),
            (self.power_cuts, "power cut", "power cuts"),
        ];
        let omitted: Vec<String> = omitted
            .iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, singular, plural)| match count {
                1 => format!("1 {singular}"),
                _ => format!("{count} {plural}"),
            })
            .collect();
        if !omitted.is_empty() {
            line += &format!("; left out: {}", omitted.join(", "));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_depends_on_the_99th_percentile() {
        let verdict = |late_count: usize| {
            let mut statistics = Statistics::default();
            for number in 0..1000 {
                let us = if number < late_count { 500.0 } else { 10.0 };
                statistics.record_lateness(Span::from_us(us));
            }
            let found = Lateness::new(&statistics, Span::from_us(100.0)).expect("replies");
            assert_eq!(found.replies, 1000);
            let expected = 10.0 + 490.0 * late_count as f64 / 1000.0;
            assert!((found.mean_us - expected).abs() < 1e-9, "{found:?}");
            found.keeps_time
        };
        assert!(verdict(0) && verdict(10) && !verdict(11));
        assert_eq!(Lateness::new(&Statistics::default(), Span::ZERO), None);
    }

    #[test]
    fn the_line_counts_omitted_requests() {
        let mut recorded = RecordingSummary {
            file: "w.csv".to_owned(),
            requests: 41,
            ..RecordingSummary::default()
        };
        assert_eq!(recorded.line(), "w.csv: 41 requests recorded");
        (recorded.flushes, recorded.trims) = (1, 2);
        let line = "w.csv: 41 requests recorded; left out: 1 flush, 2 trims";
        assert_eq!(recorded.line(), line);
    }
}
