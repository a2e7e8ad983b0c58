//! One stream of a workload whose requests come by themselves.

use super::Load;
use crate::device::Completion;
use crate::request::Request;
use crate::units::Instant;
use crate::workload::{Requests, Times};

/// Requests and their times, of a known number. It does what [`OpenLoop`](super::OpenLoop) does with an
/// iterator of both, in half the instructions: a request is drawn when it is taken and never kept.
#[derive(Clone, Debug)]
pub struct ArrivalStream {
    times: Times,
    requests: Requests,
    /// When the next one arrives.
    at: Instant,
    /// Requests yet to come.
    left: u64,
}

impl ArrivalStream {
    /// The first `count` of `requests`, each at the next of `times`.
    pub fn new(mut times: Times, requests: Requests, count: u64) -> Self {
        let at = times.next_instant();
        Self {
            times,
            requests,
            at,
            left: count,
        }
    }
}

impl Load for ArrivalStream {
    #[inline]
    fn next_arrival(&mut self) -> Option<Instant> {
        (self.left > 0).then_some(self.at)
    }

    #[inline]
    fn take(&mut self) -> Request {
        assert!(self.left > 0, "taken beyond the last arrival");
        self.left -= 1;
        self.at = self.times.next_instant();
        self.requests.next_request()
    }

    #[inline]
    fn completed(&mut self, _: &Completion) {}
}
