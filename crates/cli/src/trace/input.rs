//! The trace that a command reads, and how to read it.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser};
use diskarm_trace::{ArrivalEvent, FORMATS, OnError, Reader, TraceError, disabled_formats};

/// Which trace, and how to read it.
#[derive(clap::Args)]
pub struct Input {
    /// The trace; - for standard input
    #[arg(value_name = "FILE")]
    file: String,

    #[command(flatten)]
    reading: Reading,
}

/// How to read a trace.
#[derive(clap::Args, Clone, Debug)]
pub struct Reading {
    /// Format of the trace, if it cannot be detected
    #[arg(long, value_parser = formats())]
    format: Option<String>,

    /// On an invalid row: stop, or skip it and count it by reason
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Bad::Stop)]
    on_error: Bad,

    /// Which event counts as the arrival in traces of the Linux block layer (blktrace, blkparse):
    /// issue to the device, or queueing
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = When::Issue)]
    arrival: When,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Bad {
    Stop,
    Skip,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum When {
    Issue,
    Queue,
}

impl Input {
    /// Its name, as typed.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Opens it.
    pub fn open(&self) -> Result<Reader, TraceError> {
        self.reading.meant().open(&self.file)
    }
}

impl Reading {
    /// The options of the library.
    pub fn meant(&self) -> diskarm_simulate::Reading {
        diskarm_simulate::Reading {
            format: self.format.clone(),
            on_error: match self.on_error {
                Bad::Stop => OnError::Stop,
                Bad::Skip => OnError::Skip,
            },
            arrival: match self.arrival {
                When::Issue => ArrivalEvent::Issue,
                When::Queue => ArrivalEvent::Queue,
            },
        }
    }
}

fn formats() -> PossibleValuesParser {
    let value = |entry: &diskarm_trace::FormatEntry| {
        PossibleValue::new(entry.info.name).help(entry.info.summary)
    };
    PossibleValuesParser::new(FORMATS.iter().map(value).chain(missing()))
}

/// Names of formats that this build lacks; for these the library reports what is missing.
pub fn missing() -> impl Iterator<Item = PossibleValue> {
    let names = disabled_formats().iter().map(|format| format.name);
    names.map(|name| PossibleValue::new(name).hide(true))
}
