//! Results of a simulation.

use diskarm_core::report::{Report, Served, Window};

use crate::input::Issue;
use crate::trace_rows::Origin;

/// Results of a run.
#[derive(Debug)]
pub struct Run {
    /// `None` where nothing is random.
    pub seed: Option<u64>,
    /// Of all requests.
    pub report: Report,
    /// Of each stream of the workload, where there are several.
    pub streams: Vec<Served>,
    /// If requested.
    pub windows: Option<Vec<Window>>,
    /// What each disk of a trace holds, and its results, where there are several.
    pub disks: Vec<(Origin, Report)>,
    /// What is doubtful about a trace, one line each.
    pub doubts: Vec<String>,
    /// What was changed of it on request, one line each.
    pub changes: Vec<String>,
    /// What was replayed, of a trace.
    pub replayed: Option<Replayed>,
    /// Whether requests that wait for nothing came faster than the drive served them.
    pub is_saturated: bool,
    /// Whether a [`Progress`](crate::Progress) stopped it early; the report then covers its first
    /// part.
    pub is_stopped: bool,
}

/// How a trace was replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The traces.
    pub files: Vec<TracedFile>,
    /// What each disk held.
    pub origins: Vec<Origin>,
    /// When requests were issued: [`Issue::Traced`] only where the trace has arrivals.
    pub issue: Issue,
}

/// A trace that was replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedFile {
    /// As it was named.
    pub file: String,
    /// The name of its format.
    pub format: &'static str,
}
