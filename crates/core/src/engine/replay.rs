//! Replay of a measured trace as the measurement was made: one request at a time, each issued
//! the measured pause after the device's own completion of the one before.

use super::Load;
use crate::device::Completion;
use crate::request::Request;
use crate::units::{Instant, Span};

/// One measured request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayStep {
    /// What was asked.
    pub request: Request,
    /// Pause between its completion and the next request.
    pub think: Span,
}

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct Replay<I: Iterator<Item = ReplayStep>> {
    rest: I,
    next: Option<ReplayStep>,
    /// Pause behind the request outstanding.
    think: Span,
    /// When the next request is issued; `None` while one is outstanding.
    at: Option<Instant>,
}

impl<I: Iterator<Item = ReplayStep>> Replay<I> {
    /// All that `steps` yields, the first at `start`.
    pub fn new(mut steps: I, start: Instant) -> Self {
        let next = steps.next();
        Self {
            rest: steps,
            next,
            think: Span::ZERO,
            at: Some(start),
        }
    }
}

impl<I: Iterator<Item = ReplayStep>> Load for Replay<I> {
    #[inline]
    fn next_arrival(&mut self) -> Option<Instant> {
        self.next.and(self.at)
    }

    #[inline]
    fn take(&mut self) -> Request {
        self.at = None;
        match std::mem::replace(&mut self.next, self.rest.next()) {
            Some(ReplayStep { request, think }) => {
                self.think = think;
                request
            }
            None => panic!("taken beyond the last step"),
        }
    }

    #[inline]
    fn completed(&mut self, completion: &Completion) {
        self.at = Some(completion.at + self.think);
    }
}
