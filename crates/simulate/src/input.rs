//! The source of a simulation's requests.

use diskarm_core::units::Span;
use diskarm_core::workload::{Arrivals, Workload, replication_seeds};

use crate::adapt::{Fitting, TraceSelection};
use crate::error::Error;
use crate::reading::Reading;

/// Default number of requests of a run.
pub const REQUESTS: u64 = 100_000;

/// The longest run that the clock can represent safely: 146 years.
const LONGEST_NS: i128 = 1 << 62;

/// The requests of a simulation.
#[derive(Clone, Debug)]
pub enum Input {
    /// Generated requests.
    Generated(Generated),
    /// Read from traces.
    Traced(Traced),
}

/// Generated requests.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The workload that generates them.
    pub workload: Workload,
    /// The number of requests, including the warm-up; [`REQUESTS`] by default.
    pub requests: Option<u64>,
    /// The seed of everything random.
    pub seed: u64,
    /// The number of replications, each with its own seed; by default one run, with `seed`.
    pub replications: Option<u64>,
}

impl Generated {
    /// One run of `workload`, with seed 1.
    pub fn new(workload: Workload) -> Self {
        Self {
            workload,
            requests: None,
            seed: 1,
            replications: None,
        }
    }

    /// The number of requests in a run.
    pub fn requests_count(&self) -> u64 {
        self.requests.unwrap_or(REQUESTS)
    }

    /// The seeds of its runs.
    pub fn seeds(&self) -> Vec<u64> {
        let count = self.replications.unwrap_or(1);
        replication_seeds(self.seed).take(count as usize).collect()
    }

    /// Whether requests arrive regardless of completions and can thus saturate the drive.
    pub fn is_open(&self) -> bool {
        let mut streams = self.workload.streams.iter();
        streams.any(|stream| matches!(stream.arrivals, Arrivals::Open(_)))
    }

    /// Checks that it can run with `warm_up` requests left out of the report.
    ///
    /// # Errors
    /// If the run is too long for the clock, or ends within the warm-up.
    pub(crate) fn check(&self, warm_up: u64) -> Result<(), Error> {
        let requests = self.requests_count();
        let streams = self.workload.streams.iter();
        let pauses = streams.map(|stream| stream.arrivals.mean_pause());
        let pause = pauses.min().unwrap_or_default();
        let all = i128::from(requests) * i128::from(self.replications.unwrap_or(1));
        if all.saturating_mul(pause.as_ns().into()) > LONGEST_NS {
            let together = match self.replications {
                Some(_) => ", all replications together",
                None => "",
            };
            let expected = format!("a run of less than 146 years at {pause} a request{together}");
            return Err(Error::argument("requests", requests.to_string(), expected));
        }
        if warm_up >= requests {
            let default = if self.requests.is_none() {
                " (the default)"
            } else {
                ""
            };
            let expected = format!("less than the {requests} of `requests`{default}");
            return Err(Error::argument("warm_up", warm_up.to_string(), expected));
        }
        Ok(())
    }
}

/// Requests from traces, with a drive for each device of each trace.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The traces; several are merged.
    pub files: Vec<String>,
    /// How they are read.
    pub reading: Reading,
    /// Which requests are used, and when they arrive.
    pub selection: TraceSelection,
    /// How their blocks are mapped to the drive.
    pub fitting: Fitting,
    /// When they are issued.
    pub issue: Issue,
    /// The seed of what is random in the devices of a tower.
    pub seed: u64,
}

impl Traced {
    /// The requests of `files`, unchanged, at their arrivals, with seed 1.
    pub fn new(files: Vec<String>) -> Self {
        Self {
            files,
            reading: Reading::default(),
            selection: TraceSelection::default(),
            fitting: Fitting::default(),
            issue: Issue::default(),
            seed: 1,
        }
    }
}

/// When the requests of a trace are issued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Issue {
    /// At their arrivals; as [`Self::Pauses`] if the trace has none.
    #[default]
    Traced,
    /// One at a time, with the measured pauses between each completion and the next
    /// arrival.
    Pauses,
    /// A fixed number at a time, regardless of the trace's times.
    Outstanding {
        /// The number of clients. Each issues its next request when the last one is complete.
        clients: u32,
        /// The pause before a client issues its next request.
        think: Span,
    },
}
