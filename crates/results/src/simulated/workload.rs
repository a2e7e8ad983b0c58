//! The workload of a run as it is printed.

use std::path::Path;

use diskarm_core::units::{Bytes, SectorCount, Span};
use diskarm_simulate::{GeneratedRequests, Issue, Origin, ReplayInfo};
use serde::Serialize;

use crate::prose::milliseconds;

/// The way a workload was specified.
pub enum WorkloadSource {
    /// With `--random` and the flags that go with it.
    Options {
        /// Size of a request.
        sectors: SectorCount,
        /// The fraction of reads.
        read_share: f64,
        arrivals: OptionArrivals,
    },
    /// As an expression after `--workload`.
    Text(String),
    /// As the name of a file.
    File(String),
}

impl WorkloadSource {
    /// The value of `--workload`.
    pub fn new(text: &str) -> Self {
        let is_file = Path::new(text).extension().is_some_and(|end| end == "toml");
        let given = if is_file { Self::File } else { Self::Text };
        given(text.to_owned())
    }
}

/// Arrivals as specified by flags.
#[derive(Clone, Copy)]
pub enum OptionArrivals {
    Poisson {
        /// The mean time between two arrivals.
        mean: Span,
    },
    Closed {
        outstanding: usize,
        /// The pause after each completion.
        think: Span,
    },
}

/// The workload, under the names of the flags.
#[derive(Serialize)]
#[serde(rename_all = "lowercase", tag = "source")]
pub enum Workload {
    Random {
        requests: u64,
        /// Completions left out of the results.
        warmup_requests: u64,
        /// Size of a request.
        size_bytes: u64,
        /// The fraction of reads.
        reads: f64,
        #[serde(flatten)]
        arrivals: ArrivalsInput,
    },
    /// A workload expression, or a workload in a file.
    Written {
        /// The expression; `null` if it is in a file.
        text: Option<String>,
        /// The file; `null` if there is none.
        file: Option<String>,
        requests: u64,
        /// Completions left out of the results.
        warmup_requests: u64,
    },
    Trace {
        files: Vec<File>,
        /// `null` for several.
        device: Option<u32>,
        /// `traced`, `closed` or `outstanding`.
        arrivals: &'static str,
        /// This and the next are `null` if requests arrive as in the trace.
        outstanding: Option<usize>,
        /// The pause after each completion.
        think_ms: Option<f64>,
        /// Completions left out of the results.
        warmup_requests: u64,
    },
}

#[derive(Serialize)]
pub struct File {
    file: String,
    format: &'static str,
}

/// The arrivals of random requests.
#[derive(Serialize)]
#[serde(rename_all = "lowercase", tag = "arrivals")]
pub enum ArrivalsInput {
    Poisson { interarrival_ms: f64 },
    Closed { outstanding: usize, think_ms: f64 },
}

impl ArrivalsInput {
    fn of(arrivals: OptionArrivals) -> Self {
        match arrivals {
            OptionArrivals::Poisson { mean } => Self::Poisson {
                interarrival_ms: mean.as_ms(),
            },
            OptionArrivals::Closed { outstanding, think } => Self::Closed {
                outstanding,
                think_ms: think.as_ms(),
            },
        }
    }
}

impl Workload {
    /// The description of generated requests.
    pub fn of_generated(
        generated: &GeneratedRequests,
        given: &WorkloadSource,
        sector: Bytes,
        warmup: u64,
    ) -> Self {
        let requests = generated.requests_count();
        let (text, file) = match given {
            WorkloadSource::Options {
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
            WorkloadSource::Text(text) => (Some(text.clone()), None),
            WorkloadSource::File(name) => (None, Some(name.clone())),
        };
        Self::Written {
            text,
            file,
            requests,
            warmup_requests: warmup,
        }
    }

    /// The description of a replay.
    pub fn of_trace(replayed: &ReplayInfo, warmup: u64) -> Self {
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

    /// The description as a sentence.
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
                        format!("Poisson arrivals {} apart", milliseconds(*interarrival_ms))
                    }
                    ArrivalsInput::Closed {
                        outstanding,
                        think_ms,
                    } => format!(
                        "{outstanding} outstanding, {} of think time",
                        milliseconds(*think_ms)
                    ),
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
                        format!(
                            "{clients} outstanding, {} of think time",
                            milliseconds(think_ms)
                        )
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

    /// Completions left out of the results.
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
