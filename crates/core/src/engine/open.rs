//! OpenLoop arrivals: requests come when they come, whatever the device does.

use std::iter::Fuse;

use super::Load;
use crate::device::Completion;
use crate::request::Request;
use crate::units::Instant;

/// Arrivals from an iterator of (instant, request) in ascending order of time.
#[derive(Clone, Debug)]
pub struct OpenLoop<I: Iterator<Item = (Instant, Request)>> {
    rest: Fuse<I>,
    /// What comes next, once somebody has asked.
    next: Option<(Instant, Request)>,
}

impl<I: Iterator<Item = (Instant, Request)>> OpenLoop<I> {
    /// All that `arrivals` yields.
    pub fn new(arrivals: I) -> Self {
        Self {
            rest: arrivals.fuse(),
            next: None,
        }
    }
}

impl<I: Iterator<Item = (Instant, Request)>> Load for OpenLoop<I> {
    #[inline]
    fn next_arrival(&mut self) -> Option<Instant> {
        if self.next.is_none() {
            self.next = self.rest.next();
        }
        self.next.as_ref().map(|&(at, _)| at)
    }

    #[inline]
    fn take(&mut self) -> Request {
        match self.next.take() {
            Some((_, request)) => request,
            None => panic!("taken beyond the last arrival"),
        }
    }

    #[inline]
    fn completed(&mut self, _: &Completion) {}
}
