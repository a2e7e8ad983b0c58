//! Traces, and changes to them before they are replayed.

use diskarm_core::units::Instant;
use diskarm_simulate::{Fitting, Issue, ReadOptions, TraceReplay, TraceSelection};
use diskarm_trace::adapt::{Factor, parse_instant};
use diskarm_trace::{ArrivalEvent, OnError};
use pyo3::prelude::*;

use crate::convert::wrong;

/// The fields of `diskarm.Trace`.
#[derive(FromPyObject)]
pub struct Trace {
    files: Vec<String>,
    #[pyo3(attribute)]
    reading: ReadingOptions,
    device: Vec<u32>,
    from_: Option<String>,
    until: Option<String>,
    faster: Option<f64>,
    fit: String,
    disks: Option<u32>,
    replay: String,
}

/// The fields of `diskarm.Reading`.
#[derive(FromPyObject)]
pub struct ReadingOptions {
    format: Option<String>,
    on_error: String,
    arrival: String,
}

impl ReadingOptions {
    pub fn parse(self, py: Python<'_>) -> PyResult<ReadOptions> {
        Ok(ReadOptions {
            format: self.format,
            on_error: match &self.on_error[..] {
                "stop" => OnError::Stop,
                "skip" => OnError::Skip,
                other => return Err(wrong(py, "on_error", other, "stop or skip")),
            },
            arrival: match &self.arrival[..] {
                "issue" => ArrivalEvent::Issue,
                "queue" => ArrivalEvent::Queue,
                other => return Err(wrong(py, "arrival", other, "issue or queue")),
            },
        })
    }
}

impl Trace {
    pub fn parse(self, py: Python<'_>, seed: u64) -> PyResult<TraceReplay> {
        Ok(TraceReplay {
            seed,
            files: self.files,
            reading: self.reading.parse(py)?,
            selection: TraceSelection {
                devices: self.device,
                from: instant(py, "from_", self.from_)?,
                until: instant(py, "until", self.until)?,
                faster: self.faster.map(|times| factor(py, times)).transpose()?,
            },
            fitting: fitting(py, &self.fit, self.disks)?,
            issue: match &self.replay[..] {
                "traced" => Issue::Traced,
                "pauses" => Issue::Pauses,
                other => return Err(wrong(py, "replay", other, "traced or pauses")),
            },
        })
    }
}

fn fitting(py: Python<'_>, fit: &str, disks: Option<u32>) -> PyResult<Fitting> {
    let expected = match (fit, disks) {
        ("refuse", None) => return Ok(Fitting::Refuse),
        ("scale", None) => return Ok(Fitting::Scale),
        ("fold", None) => return Ok(Fitting::Fold),
        ("spread", Some(disks @ 1..)) => return Ok(Fitting::Spread(disks)),
        ("spread", _) => "refuse, scale or fold; or spread with the number of disks",
        ("refuse" | "scale" | "fold", Some(_)) => "spread, because a number of disks is given",
        _ => "refuse, scale, fold or spread",
    };
    Err(wrong(py, "fit", fit, expected))
}

fn instant(py: Python<'_>, field: &str, text: Option<String>) -> PyResult<Option<Instant>> {
    let expected = "a time with its unit, such as \"90 s\" or \"1.5 h\"";
    let read = |text: String| {
        let read = parse_instant(&text);
        read.ok_or_else(|| wrong(py, field, &text, expected))
    };
    text.map(read).transpose()
}

/// Parses the shortest decimal with this float value, which is what the user typed.
fn factor(py: Python<'_>, times: f64) -> PyResult<Factor> {
    let text = format!("{times}");
    let expected = "a number above 0 with at most nine decimals, such as 1.5";
    Factor::parse(&text).ok_or_else(|| wrong(py, "faster", &text, expected))
}

/// Raises an Error if the fields of a Trace are invalid.
#[pyfunction]
pub fn check_trace(py: Python<'_>, trace: Trace) -> PyResult<()> {
    trace.parse(py, 1).map(drop)
}
