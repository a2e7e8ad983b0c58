//! The printed workload of a run.

use std::path::Path;

use diskarm_core::units::Span;
use diskarm_simulate::{GeneratedRequests, Issue, Origin, ReplayInfo};
use serde::Serialize;
use serde_json::{Value, json};

use crate::merged;
use crate::prose::milliseconds;

#[derive(Clone, Copy)]
pub enum OptionArrivals {
    Poisson {
        mean: Span,
    },
    Closed {
        outstanding: usize,
        /// The pause after each completion.
        think: Span,
    },
}

/// The workload as JSON, under the names of the options, and as a sentence.
#[derive(Serialize)]
#[serde(transparent)]
pub struct Workload {
    json: Value,
    #[serde(skip)]
    pub sentence: String,
    /// The number of completions that the results omit.
    #[serde(skip)]
    pub warmup_requests: u64,
}

impl Workload {
    /// Describes random requests of one size, from `--random` and its options.
    pub fn random(
        requests: u64,
        size_bytes: u64,
        reads: f64,
        arrivals: OptionArrivals,
        warmup_requests: u64,
    ) -> Self {
        let (arrivals, when) = match arrivals {
            OptionArrivals::Poisson { mean } => {
                let ms = mean.as_ms();
                (
                    json!({ "arrivals": "poisson", "interarrival_ms": ms }),
                    format!("Poisson arrivals {} apart", milliseconds(ms)),
                )
            }
            OptionArrivals::Closed { outstanding, think } => {
                let ms = think.as_ms();
                (
                    json!({ "arrivals": "closed", "outstanding": outstanding, "think_ms": ms }),
                    format!(
                        "{outstanding} outstanding, {} of think time",
                        milliseconds(ms)
                    ),
                )
            }
        };
        let json = json!({
            "source": "random",
            "requests": requests,
            "warmup_requests": warmup_requests,
            "size_bytes": size_bytes,
            "reads": reads,
        });
        let percent = reads * 100.0;
        Self {
            json: merged([json, arrivals]),
            sentence: format!(
                "{requests} random requests, {size_bytes} bytes each, {percent:.1} % reads, {when}"
            ),
            warmup_requests,
        }
    }

    /// Describes the requests that `--workload` specifies as an expression or the name of a file.
    pub fn written(generated: &GeneratedRequests, given: &str, warmup_requests: u64) -> Self {
        let requests = generated.requests_count();
        let is_file = Path::new(given)
            .extension()
            .is_some_and(|end| end == "toml");
        Self {
            json: json!({
                "source": "written",
                "text": (!is_file).then_some(given),
                "file": is_file.then_some(given),
                "requests": requests,
                "warmup_requests": warmup_requests,
            }),
            sentence: format!("{requests} requests of {given}"),
            warmup_requests,
        }
    }

    pub fn trace(replayed: &ReplayInfo, warmup_requests: u64) -> Self {
        let files = replayed.files.iter();
        let names = files
            .clone()
            .map(|traced| format!("{} ({})", traced.file, traced.format));
        let files = files.map(|traced| json!({ "file": traced.file, "format": traced.format }));
        let device = match replayed.origins[..] {
            [Origin { device, .. }] => Some(device),
            _ => None,
        };
        let (arrivals, outstanding, think_ms, when) = match replayed.issue {
            Issue::Traced => ("traced", None, None, "arrivals as traced".to_owned()),
            Issue::Pauses => {
                let when = "one at a time, with its pauses".to_owned();
                ("closed", None, None, when)
            }
            Issue::Outstanding { clients, think } => {
                let ms = think.as_ms();
                let when = format!("{clients} outstanding, {} of think time", milliseconds(ms));
                ("outstanding", Some(clients), Some(ms), when)
            }
        };
        Self {
            json: json!({
                "source": "trace",
                "files": files.collect::<Value>(),
                "device": device,
                "arrivals": arrivals,
                "outstanding": outstanding,
                "think_ms": think_ms,
                "warmup_requests": warmup_requests,
            }),
            sentence: format!("{}, {when}", names.collect::<Vec<_>>().join(" and ")),
            warmup_requests,
        }
    }
}
