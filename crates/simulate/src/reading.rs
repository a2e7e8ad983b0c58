//! How a trace is read.

use diskarm_trace::{ArrivalEvent, OnError, Options, Reader, TraceError};

/// The name that stands for standard input.
pub const STANDARD_INPUT: &str = "-";

/// How to read a trace.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Its format, if it is not to be detected from the content.
    pub format: Option<String>,
    /// What to do at an invalid row.
    pub on_error: OnError,
    /// Which event counts as the arrival in a trace of Linux's block layer.
    pub arrival: ArrivalEvent,
}

impl Reading {
    /// Opens the trace in `file`.
    ///
    /// # Errors
    /// An error before the first record.
    pub fn open(&self, file: &str) -> Result<Reader, TraceError> {
        let options = Options {
            format: self.format.as_deref(),
            on_error: self.on_error,
            arrival: self.arrival,
        };
        if file == STANDARD_INPUT {
            return diskarm_trace::read_with(std::io::stdin(), "standard input", &options);
        }
        diskarm_trace::open_with(file, &options)
    }
}

impl Default for Reading {
    fn default() -> Self {
        let Options {
            on_error, arrival, ..
        } = Options::default();
        Self {
            format: None,
            on_error,
            arrival,
        }
    }
}
