//! A recorder: takes a trace at its level of a device stack.
//!
//! # What it does
//! Keeps every request that the wrapped device accepts, in order of arrival, with its completion,
//! and changes nothing.
//!
//! # Cost
//! Memory for each request, and a search in a tree of those outstanding.
//!
//! # When it is bad
//! In long runs, whose records fill the memory: your own [`Observer`] in [`ObservedDevice`] can
//! write each completion as it comes.
//!
//! # Example
//! ```
//! use diskarm_core::device::Device;
//! use diskarm_core::wrap::{Recorder, Recording};
//!
//! fn recorded<D: Device>(device: D) -> Recorder<D> {
//!     Recorder::new(device, Recording::default())
//! }
//! ```

use std::collections::BTreeMap;

use super::ObservedDevice;
use crate::device::Completion;
use crate::engine::Observer;
use crate::request::Request;
use crate::units::Instant;

/// A device whose requests and completions are kept.
pub type Recorder<D> = ObservedDevice<D, Recording>;

/// The requests that a [`Recorder`] has seen.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    passed: Vec<RecordedRequest>,
    /// Indices in `passed` of outstanding requests, by id.
    outstanding: BTreeMap<u64, usize>,
}

/// A request that passed a [`Recorder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedRequest {
    /// Instant at which it was submitted.
    pub arrived: Instant,
    /// The request, as it was submitted.
    pub request: Request,
    /// Its completion; `None` while it is outstanding.
    pub completion: Option<Completion>,
}

impl Recording {
    /// Returns all requests, in order of arrival.
    pub fn passed(&self) -> &[RecordedRequest] {
        &self.passed
    }
}

impl Observer for Recording {
    fn arrived(&mut self, now: Instant, request: &Request) {
        self.outstanding.insert(request.id, self.passed.len());
        self.passed.push(RecordedRequest {
            arrived: now,
            request: *request,
            completion: None,
        });
    }

    /// A request that arrived before the recording began is not in it.
    fn completed(&mut self, completion: &Completion) {
        if let Some(place) = self.outstanding.remove(&completion.request.id) {
            self.passed[place].completion = Some(*completion);
        }
    }
}
