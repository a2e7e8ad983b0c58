//! The requests of a foreground.

use std::iter::Copied;
use std::slice;

use diskarm_core::device::Completion;
use diskarm_core::engine::{Load, OpenLoop, Streams};
use diskarm_core::request::Request;
use diskarm_core::units::Instant;
use diskarm_core::workload::{Disk, Workload};

/// The requests of a foreground.
#[derive(Clone, Copy, Debug)]
pub enum Requests<'a> {
    /// Generated, without end.
    Generated(&'a Workload),
    /// These, at these times, ascending, whatever the device does. With the last of them the run
    /// ends, whether the scan is complete or not.
    Recorded(&'a [(Instant, Request)]),
}

/// The same as they come.
pub(crate) enum Coming<'a> {
    Generated(Streams),
    Recorded(OpenLoop<Copied<slice::Iter<'a, (Instant, Request)>>>),
}

impl<'a> Requests<'a> {
    /// The requests to `disk`, from the first.
    pub(crate) fn coming(self, disk: Disk, seed: u64) -> Coming<'a> {
        match self {
            Self::Generated(workload) => {
                Coming::Generated(Streams::new(workload, disk, seed, u64::MAX))
            }
            Self::Recorded(requests) => Coming::Recorded(OpenLoop::new(requests.iter().copied())),
        }
    }

    /// `most`, or as many as there are.
    pub(crate) fn at_most(self, max: u64) -> u64 {
        match self {
            Self::Generated(_) => max,
            Self::Recorded(requests) => max.min(requests.len() as u64),
        }
    }
}

impl Load for Coming<'_> {
    fn next_arrival(&mut self) -> Option<Instant> {
        match self {
            Self::Generated(load) => load.next_arrival(),
            Self::Recorded(load) => load.next_arrival(),
        }
    }

    fn take(&mut self) -> Request {
        match self {
            Self::Generated(load) => load.take(),
            Self::Recorded(load) => load.take(),
        }
    }

    fn completed(&mut self, completion: &Completion) {
        match self {
            Self::Generated(load) => load.completed(completion),
            Self::Recorded(load) => load.completed(completion),
        }
    }
}
