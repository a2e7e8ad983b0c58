//! The workload of a run as it is printed.

use std::path::Path;

use diskarm_core::units::{Bytes, SectorCount, Span};
use diskarm_simulate::{Drawn, Issue, Origin, Replayed};
use serde::Serialize;

/// How a workload was given.
pub enum Given {
    /// By the flags behind `--random`.
    Flags {
        /// Size of a request.
        sectors: SectorCount,
        /// The fraction of reads.
        read_share: f64,
        /// When they arrive.
        arrivals: FlagArrivals,
    },
    /// As the text of `--workload`.
    Text(String),
    /// In the file of this name.
    File(String),
}

impl Given {
    /// The value of `--workload`.
    pub fn of(text: &str) -> Self {
        let is_file = Path::new(text).extension().is_some_and(|end| end == "toml");
        let given = if is_file { Self::File } else { Self::Text };
        given(text.to_owned())
    }
}

/// Arrivals as given by flags.
#[derive(Clone, Copy)]
pub enum FlagArrivals {
    /// Open.
    Poisson {
        /// The mean time between two.
        mean: Span,
    },
    /// Closed.
    Closed {
        /// Requests outstanding.
        outstanding: usize,
        /// The pause after each completion.
        think: Span,
    },
}

/// The workload, under the names of the flags.
#[derive(Serialize)]
#[serde(rename_all = "lowercase", tag = "source")]
pub enum Workload {
    /// Random requests.
    Random {
        /// Requests, warm-up included.
        requests: u64,
        /// Completions that are left out.
        warmup_requests: u64,
        /// Size of a request.
        size_bytes: u64,
        /// The fraction of reads.
        reads: f64,
        /// When they arrive.
        #[serde(flatten)]
        arrivals: ArrivalsInput,
    },
    /// A workload expression, or a workload in a file.
    Written {
        /// The expression; `null` where it is in a file.
        text: Option<String>,
        /// The file; `null` where there is none.
        file: Option<String>,
        /// Requests, warm-up included.
        requests: u64,
        /// Completions that are left out.
        warmup_requests: u64,
    },
    /// A replay.
    Trace {
        /// The traces.
        files: Vec<File>,
        /// `null` for several.
        device: Option<u32>,
        /// `traced`, `closed` or `outstanding`.
        arrivals: &'static str,
        /// `null` where the trace tells when requests come, like the next.
        outstanding: Option<usize>,
        /// The pause after each completion.
        think_ms: Option<f64>,
        /// Completions that are left out.
        warmup_requests: u64,
    },
}

/// A trace that is replayed.
#[derive(Serialize)]
pub struct File {
    file: String,
    format: &'static str,
}

/// When random requests come.
#[derive(Serialize)]
#[serde(rename_all = "lowercase", tag = "arrivals")]
pub enum ArrivalsInput {
    /// Open.
    Poisson { interarrival_ms: f64 },
    /// Closed.
    Closed { outstanding: usize, think_ms: f64 },
}

impl ArrivalsInput {
    fn of(arrivals: FlagArrivals) -> Self {
        match arrivals {
            FlagArrivals::Poisson { mean } => Self::Poisson {
                interarrival_ms: mean.as_ms(),
            },
            FlagArrivals::Closed { outstanding, think } => Self::Closed {
                outstanding,
                think_ms: think.as_ms(),
            },
        }
    }
}

impl Workload {
    /// Of requests that are drawn.
    pub fn of_drawn(drawn: &Drawn, given: &Given, sector: Bytes, warmup: u64) -> Self {
        let requests = drawn.requests_count();
        let (text, file) = match given {
            Given::Flags {
                sectors,
                read_share,
                arrivals,
            } => {
                return Self::Random {
                    requests,
                    warmup_requests: warmup,
                    size_bytes: sectors.0 * sector.0,
                    reads: *read_share,
                    arrivals: ArrivalsInput::of(*arrivals),
                };
            }
            Given::Text(text) => (Some(text.clone()), None),
            Given::File(name) => (None, Some(name.clone())),
        };
        Self::Written {
            text,
            file,
            requests,
            warmup_requests: warmup,
        }
    }

    /// Of a trace that was replayed so.
    pub fn of_trace(replayed: &Replayed, warmup: u64) -> Self {
        let files = replayed.files.iter().map(|traced| File {
            file: traced.file.clone(),
            format: traced.format,
        });
        let (arrivals, outstanding, think) = match replayed.issue {
            Issue::Traced => ("traced", None, None),
            Issue::Pauses => ("closed", None, None),
            Issue::Outstanding { clients, think } => {
                ("outstanding", Some(clients as usize), Some(think.as_ms()))
            }
        };
        Self::Trace {
            files: files.collect(),
            device: match replayed.origins[..] {
                [Origin { device, .. }] => Some(device),
                _ => None,
            },
            arrivals,
            outstanding,
            think_ms: think,
            warmup_requests: warmup,
        }
    }

    /// For people.
    pub fn sentence(&self) -> String {
        match self {
            Self::Random {
                requests,
                size_bytes,
                reads,
                arrivals,
                ..
            } => {
                let when = match arrivals {
                    ArrivalsInput::Poisson { interarrival_ms } => {
                        format!("Poisson arrivals {interarrival_ms} ms apart")
                    }
                    ArrivalsInput::Closed {
                        outstanding,
                        think_ms,
                    } => format!("{outstanding} outstanding, {think_ms} ms of think time"),
                };
                let percent = reads * 100.0;
                format!("{requests} random, {size_bytes} bytes each, {percent:.1} % reads, {when}")
            }
            Self::Written {
                text,
                file,
                requests,
                ..
            } => {
                let what = text.as_ref().or(file.as_ref());
                format!("{requests} of {}", what.map_or("", String::as_str))
            }
            Self::Trace {
                files,
                arrivals,
                outstanding,
                think_ms,
                ..
            } => {
                let when = match (*arrivals, outstanding) {
                    (_, Some(clients)) => {
                        let think_ms = think_ms.unwrap_or_default();
                        format!("{clients} outstanding, {think_ms} ms of think time")
                    }
                    ("traced", _) => "arrivals as traced".to_owned(),
                    _ => "one at a time, with its pauses".to_owned(),
                };
                let name = |file: &File| format!("{} ({})", file.file, file.format);
                let names: Vec<String> = files.iter().map(name).collect();
                format!("{}, {when}", names.join(" and "))
            }
        }
    }

    /// Completions that were left out.
    pub fn warmup_requests(&self) -> u64 {
        match *self {
            Self::Random {
                warmup_requests, ..
            }
            | Self::Written {
                warmup_requests, ..
            }
            | Self::Trace {
                warmup_requests, ..
            } => warmup_requests,
        }
    }
}
