//! Results of a simulation.

use diskarm_core::device::Part;
use diskarm_core::report::{Report, Served, Window};

use crate::input::Issue;
use crate::trace_rows::Origin;

/// The results of a run.
#[derive(Debug)]
pub struct Run {
    /// `None` if nothing is random.
    pub seed: Option<u64>,
    /// The report on all requests.
    pub report: Report,
    /// The requests of each stream of the workload, if it has several.
    pub streams: Vec<Served>,
    /// Time windows, if requested.
    pub windows: Option<Vec<Window>>,
    /// What each disk of a trace holds, and its results, if there are several.
    pub disks: Vec<(Origin, Report)>,
    /// The parts of a device that has several: disks of a pair, caches. Disks are as they were when
    /// the last request was completed; caches, failures and rebuilds as they were at the end of all
    /// that the device did by itself afterwards.
    pub parts: Vec<Part>,
    /// Doubts about the drive or a trace, one line each.
    pub doubts: Vec<String>,
    /// Requested changes to the trace, one line each.
    pub changes: Vec<String>,
    /// How a trace was replayed.
    pub replayed: Option<Replayed>,
    /// Whether requests of an open load arrived faster than the drive served them.
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
    /// The name that the user gave.
    pub file: String,
    /// The name of its format.
    pub format: &'static str,
}
