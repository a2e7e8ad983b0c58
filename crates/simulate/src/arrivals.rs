//! The requests of a trace at their arrivals, for what serves them otherwise than a simulation.

use diskarm_core::request::Request;
use diskarm_core::units::Instant;

use crate::adapt::Fitting;
use crate::error::Error;
use crate::input::{Issue, Traced};
use crate::model::Model;
use crate::trace_rows::TraceRows;

/// The requests of a trace for a single device, in order of their arrivals.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// The requests.
    pub requests: Vec<(Instant, Request)>,
    /// Doubts about the trace, one line each.
    pub doubts: Vec<String>,
    /// Requested changes, one line each.
    pub changes: Vec<String>,
}

impl Arrivals {
    /// Reads `traced` for a device like `model`.
    ///
    /// # Errors
    /// An invalid trace; one without arrivals or of several devices; requests that are not to be
    /// issued at their arrivals, or are spread over several disks.
    pub fn read(traced: &Traced, model: &Model) -> Result<Self, Error> {
        let name = traced.files.join(", ");
        if let Issue::Outstanding { clients, .. } = traced.issue {
            let expected = "none, as requests are issued at their arrivals";
            return Err(Error::argument(
                "outstanding",
                clients.to_string(),
                expected,
            ));
        }
        if let Fitting::Spread(disks) = traced.fitting {
            let expected = "refuse, scale or fold, as the requests are those of one device";
            return Err(Error::argument("fit", format!("spread {disks}"), expected));
        }
        let mut rows = TraceRows::open(traced, model)?;
        let requests = rows.by_ref().map(|row| Some((row.arrival?, row.request)));
        let requests: Option<Vec<_>> = requests.collect();
        rows.finish()?;
        let Some(requests) = requests else {
            let expected = "a trace with the time of each arrival";
            return Err(Error::argument("trace", name, expected));
        };
        if rows.origins().len() > 1 {
            let expected = "a trace of one device, or `device` to choose";
            return Err(Error::argument("trace", name, expected));
        }
        Ok(Self {
            doubts: rows.doubts(),
            changes: rows.changes(),
            requests,
        })
    }
}
