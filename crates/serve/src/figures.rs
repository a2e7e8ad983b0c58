//! What was served, and how late.

use std::fmt::Write;

use diskarm_core::stats::Histogram;
use diskarm_core::units::Span;
use serde::Serialize;

use crate::recording::RecordingSummary;

/// What an export has served.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Connections that got beyond the handshake.
    pub connections: u64,
    /// Requests, those that failed included.
    pub counts: Counts,
    /// How late replies were handed to their sockets, of requests that take time.
    pub lateness: Histogram,
    /// How late all of them together.
    pub late: Span,
}

impl Statistics {
    /// A reply has left, this much later than it was due.
    pub fn left_late(&mut self, late: Span) {
        self.lateness.record(late);
        self.late += late;
    }
}

/// Requests by what they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Trims.
    pub trims: u64,
    /// Writes of zeroes.
    pub zeroes: u64,
    /// Block status.
    pub status: u64,
    /// Commands that do not touch data.
    pub others: u64,
    /// Requests that were refused: they are not valid.
    pub refused: u64,
    /// Requests that failed: by the device, or by the store.
    pub failed: u64,
    /// Requests that were taken back because their client was gone.
    pub aborted: u64,
    /// Data that reads asked for, in bytes.
    pub read_bytes: u64,
    /// Data that were written, in bytes.
    pub written_bytes: u64,
}

/// What a request does to the data of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads data.
    Read,
    /// Writes data.
    Write,
    /// Flushes what was written.
    Flush,
    /// Trims.
    Trim,
    /// Writes zeroes.
    Zero,
    /// Asks for the status of blocks.
    Status,
    /// Nothing: it is about the disk itself.
    Other,
    /// Nothing: it is refused.
    Refused,
}

impl Counts {
    /// Requests by what they do.
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

    /// Requests that did not succeed, by why.
    pub const fn unsuccessful(&self) -> [(&'static str, u64); 3] {
        [
            ("refused", self.refused),
            ("failed", self.failed),
            ("aborted", self.aborted),
        ]
    }

    /// Counts a request for this many bytes.
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

/// What an export has served, for output.
#[derive(Clone, Debug, Serialize)]
pub struct ExportStatistics {
    /// Its name.
    pub export: String,
    /// The drive, or the tower.
    pub drive: String,
    /// The policy of the queue in front of it; `None` if requests took no time.
    pub policy: Option<String>,
    /// Its size.
    pub bytes: u64,
    /// Where its data are.
    pub store: String,
    /// Seconds of the drive for each second of the wall; `None` if requests took no time.
    pub speed: Option<f64>,
    /// Connections that got beyond the handshake.
    pub connections: u64,
    /// Requests.
    #[serde(flatten)]
    pub counts: Counts,
    /// How late replies were; `None` if none took time.
    pub lateness: Option<Lateness>,
    /// The trace of what clients did; `None` if none was recorded.
    pub recording: Option<RecordingSummary>,
}

/// How late replies left, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lateness {
    /// How many replies.
    pub replies: u64,
    /// Their mean.
    pub mean_us: f64,
    /// Half of them were no later.
    pub p50_us: f64,
    /// The same of 99 in a hundred.
    pub p99_us: f64,
    /// The same of 999 in a thousand.
    pub p999_us: f64,
    /// The latest.
    pub max_us: f64,
    /// How late one in a hundred may be.
    pub bound_us: f64,
    /// Whether 99 in a hundred were within the bound.
    pub keeps_time: bool,
}

impl Lateness {
    /// The mean and the quantiles; `None` if no reply was late or in time.
    pub fn of(served: &Statistics, bound: Span) -> Option<Self> {
        let lateness = &served.lateness;
        let us = |fraction| Some(lateness.quantile(fraction)?.as_ms() * 1e3);
        let p99 = lateness.quantile(0.99)?;
        let replies = lateness.count();
        Some(Self {
            replies,
            mean_us: served.late.as_ms() * 1e3 / replies as f64,
            p50_us: us(0.5)?,
            p99_us: us(0.99)?,
            p999_us: us(0.999)?,
            max_us: us(1.0)?,
            bound_us: bound.as_ms() * 1e3,
            keeps_time: p99 <= bound,
        })
    }
}

/// What is said of a host that is too slow.
pub const TOO_SLOW: &str = "this host cannot keep this drive's time";

impl ExportStatistics {
    /// Lines for people.
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

    /// What was served, and how late.
    pub fn line(&self) -> String {
        let name = match &*self.export {
            "" => &self.drive,
            name => name,
        };
        let mut line = format!("{name}: connections {}", self.connections);
        let counts = [self.counts.kinds().as_slice(), &self.counts.unsuccessful()].concat();
        for (what, count) in counts {
            if count > 0 {
                let _ = write!(line, ", {what} {count}");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_is_about_99_in_a_hundred() {
        let verdict = |late_ones: usize| {
            let mut served = Statistics::default();
            for number in 0..1000 {
                let us = if number < late_ones { 500.0 } else { 10.0 };
                served.left_late(Span::from_us(us));
            }
            let found = Lateness::of(&served, Span::from_us(100.0)).expect("replies");
            assert_eq!(found.replies, 1000);
            let expected = 10.0 + 490.0 * late_ones as f64 / 1000.0;
            assert!((found.mean_us - expected).abs() < 1e-9, "{found:?}");
            found.keeps_time
        };
        assert!(verdict(0) && verdict(10) && !verdict(11));
        assert_eq!(Lateness::of(&Statistics::default(), Span::ZERO), None);
    }
}
