//! Open arrivals: requests come when they come, whatever the device does.

use super::Load;
use crate::drive::Completion;
use crate::request::Request;
use crate::units::Instant;

/// Arrivals from an iterator of (instant, request) in ascending order of time.
#[derive(Clone, Debug)]
pub struct Open<I: Iterator<Item = (Instant, Request)>> {
    rest: I,
    next: Option<(Instant, Request)>,
}

impl<I: Iterator<Item = (Instant, Request)>> Open<I> {
    /// All that `arrivals` yields.
    pub fn new(mut arrivals: I) -> Self {
        let next = arrivals.next();
        Self {
            rest: arrivals,
            next,
        }
    }
}

impl<I: Iterator<Item = (Instant, Request)>> Load for Open<I> {
    #[inline]
    fn next_arrival(&mut self) -> Option<Instant> {
        self.next.as_ref().map(|&(at, _)| at)
    }

    #[inline]
    fn take(&mut self) -> Request {
        match std::mem::replace(&mut self.next, self.rest.next()) {
            Some((_, request)) => request,
            None => panic!("taken beyond the last arrival"),
        }
    }

    #[inline]
    fn completed(&mut self, _: &Completion) {}
}
