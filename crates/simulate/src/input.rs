//! Where the requests of a simulation come from.

use diskarm_core::units::Span;
use diskarm_core::workload::{Arrivals, Workload, replication_seeds};

use crate::adapt::{Fitting, Part};
use crate::error::Error;
use crate::reading::Reading;

/// Default number of requests of a run.
pub const REQUESTS: u64 = 100_000;

/// The longest run that its clock is trusted with: 146 years.
const LONGEST_NS: i128 = 1 << 62;

/// The requests of a simulation.
#[derive(Clone, Debug)]
pub enum Input {
    /// Drawn at random.
    Drawn(Drawn),
    /// Read from traces.
    Traced(Traced),
}

/// Requests that are drawn.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// What they are drawn from.
    pub workload: Workload,
    /// How many, the warm-up included; else [`REQUESTS`].
    pub requests: Option<u64>,
    /// Of all that is random.
    pub seed: u64,
    /// How often, each time with a seed of its own; else once, with `seed`.
    pub replications: Option<u64>,
}

impl Drawn {
    /// Requests of `workload`, once, with seed 1.
    pub fn new(workload: Workload) -> Self {
        Self {
            workload,
            requests: None,
            seed: 1,
            replications: None,
        }
    }

    /// How many requests a run has.
    pub fn requests_count(&self) -> u64 {
        self.requests.unwrap_or(REQUESTS)
    }

    /// The seeds of its runs.
    pub fn seeds(&self) -> Vec<u64> {
        let count = self.replications.unwrap_or(1);
        replication_seeds(self.seed).take(count as usize).collect()
    }

    /// Whether requests come by themselves, so that they can outrun the drive.
    pub fn is_open(&self) -> bool {
        let mut streams = self.workload.streams.iter();
        streams.any(|stream| matches!(stream.arrivals, Arrivals::Open(_)))
    }

    /// Checks that it can be run, with `warm_up` requests left out of the report.
    ///
    /// # Errors
    /// When the run is too long for its clock, or over before it is warm.
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

/// Requests of traces, each device of each on a drive of its own.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The traces, merged where there are several.
    pub files: Vec<String>,
    /// How they are read.
    pub reading: Reading,
    /// Which of their requests are taken, and when.
    pub part: Part,
    /// At which blocks.
    pub fitting: Fitting,
    /// When they are issued.
    pub issue: Issue,
}

impl Traced {
    /// Those of `files` as they are, at their arrivals.
    pub fn new(files: Vec<String>) -> Self {
        Self {
            files,
            reading: Reading::default(),
            part: Part::default(),
            fitting: Fitting::default(),
            issue: Issue::default(),
        }
    }
}

/// When the requests of a trace are issued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Issue {
    /// At their arrivals; where the trace has none, as [`Self::Pauses`].
    #[default]
    Traced,
    /// One at a time, with the pauses between each completion and the next arrival that were
    /// measured.
    Pauses,
    /// A fixed number at a time, whatever the trace's times.
    Outstanding {
        /// Clients, each of which asks again when its request is completed.
        clients: u32,
        /// Pause of a client before it asks again.
        think: Span,
    },
}
