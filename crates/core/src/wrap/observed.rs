//! An observer at any level of a device stack, and a recorder of all requests at that level.
//!
//! # What it does
//! Calls an [`Observer`] for every request that the wrapped device accepts and for every
//! completion, and changes nothing. The recorder keeps each request and its completion, in order of
//! arrival.
//!
//! # Cost
//! The cost of the observer. The recorder needs memory for each request, and a search in a tree of
//! the outstanding ones. For long runs, write an observer that saves each completion immediately.
//!
//! # When it is bad
//! Ids are those of the observed level: a wrapper around it that submits child requests, such as a
//! host queue, assigns its own ids. A device cannot end a run and does not know when the run ends,
//! so [`Observer::is_over`] and [`Observer::all_completed`] are not called.
//!
//! # Example
//! ```
//! use std::sync::{Arc, Mutex};
//!
//! use diskarm_core::device::Device;
//! use diskarm_core::report::Report;
//! use diskarm_core::wrap::{ObservedDevice, Recorder, Recording};
//!
//! /// The device, and its report, to be read after the run.
//! fn reported<D: Device>(device: D) -> (impl Device, Arc<Mutex<Report>>) {
//!     let report = Arc::new(Mutex::new(Report::new(0)));
//!     (ObservedDevice::new(device, report.clone()), report)
//! }
//!
//! fn recorded<D: Device>(device: D) -> Recorder<D> {
//!     Recorder::new(device, Recording::default())
//! }
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::device::{Completion, Device, SubmitError};
use crate::engine::Observer;
use crate::request::Request;
use crate::sched::Estimate;
use crate::units::Instant;

/// A wrapper that notifies an observer.
pub struct ObservedDevice<D, O> {
    device: D,
    observer: O,
}

impl<D: Device, O: Observer + Send> ObservedDevice<D, O> {
    /// Wraps `device` so that `observer` is notified of its requests.
    pub fn new(device: D, observer: O) -> Self {
        Self { device, observer }
    }

    /// Returns the observer, so that callers can read what it has recorded.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// Returns the observer and drops the device.
    pub fn into_observer(self) -> O {
        self.observer
    }
}

impl<D: Device, O: Observer + Send> Device for ObservedDevice<D, O> {
    crate::forward!(
        device: capacity sector_size check has_room accepts next_event abort components persisted
    );

    #[inline]
    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        self.device.submit(now, request)?;
        self.observer.arrived(now, &request);
        Ok(())
    }

    #[inline]
    fn advance(&mut self, now: Instant) -> Option<Completion> {
        let done = self.device.advance(now);
        if let Some(completion) = &done {
            self.observer.completed(completion);
        }
        done
    }
}

impl<D: Estimate, O: Send + 'static> Estimate for ObservedDevice<D, O> {
    type Outlook<'a> = D::Outlook<'a>;
    type Rehearsal = D::Rehearsal;

    crate::forward!(device: shape locate outlook rehearse);
}

/// An observer that others can read while a device owns it.
impl<O: Observer> Observer for Arc<Mutex<O>> {
    fn arrived(&mut self, now: Instant, request: &Request) {
        let mut observer = self.lock().unwrap_or_else(PoisonError::into_inner);
        observer.arrived(now, request);
    }

    fn completed(&mut self, completion: &Completion) {
        let mut observer = self.lock().unwrap_or_else(PoisonError::into_inner);
        observer.completed(completion);
    }

    fn all_completed(&mut self, device: &dyn Device) {
        let mut observer = self.lock().unwrap_or_else(PoisonError::into_inner);
        observer.all_completed(device);
    }

    fn is_over(&self) -> bool {
        let observer = self.lock().unwrap_or_else(PoisonError::into_inner);
        observer.is_over()
    }
}

/// A device whose requests and completions are recorded.
pub type Recorder<D> = ObservedDevice<D, Recording>;

/// The requests that a [`Recorder`] has seen.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    requests: Vec<RecordedRequest>,
    /// Indices in `requests` of outstanding requests, by id.
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
    pub fn requests(&self) -> &[RecordedRequest] {
        &self.requests
    }
}

impl Observer for Recording {
    fn arrived(&mut self, now: Instant, request: &Request) {
        self.outstanding.insert(request.id, self.requests.len());
        self.requests.push(RecordedRequest {
            arrived: now,
            request: *request,
            completion: None,
        });
    }

    /// A request that arrived before the recording began is not in it.
    fn completed(&mut self, completion: &Completion) {
        if let Some(index) = self.outstanding.remove(&completion.request.id) {
            self.requests[index].completion = Some(*completion);
        }
    }
}
