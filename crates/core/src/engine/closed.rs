//! A closed system: a fixed number of clients, each of which waits for its request, thinks, and
//! asks again.

use std::collections::VecDeque;

use super::Load;
use crate::drive::Completion;
use crate::request::Request;
use crate::units::{Instant, Span};

/// Requests from an iterator, a fixed number of them outstanding or being thought about.
#[derive(Clone, Debug)]
pub struct Closed<I: Iterator<Item = Request>> {
    rest: I,
    next: Option<Request>,
    think: Span,
    /// When the clients that think will ask. Thinking takes all the same time, so they ask in
    /// the order in which they began.
    asking: VecDeque<Instant>,
}

impl<I: Iterator<Item = Request>> Closed<I> {
    /// `clients` clients that ask for all that `requests` yields, thinking for `think` after
    /// each completion. All ask at the start.
    pub fn new(mut requests: I, clients: usize, think: Span) -> Self {
        let next = requests.next();
        Self {
            rest: requests,
            next,
            think,
            asking: vec![Instant::START; clients].into(),
        }
    }
}

impl<I: Iterator<Item = Request>> Load for Closed<I> {
    #[inline]
    fn next_arrival(&mut self) -> Option<Instant> {
        self.next.and(self.asking.front().copied())
    }

    #[inline]
    fn take(&mut self) -> Request {
        self.asking.pop_front();
        match std::mem::replace(&mut self.next, self.rest.next()) {
            Some(request) => request,
            None => panic!("taken beyond the last request"),
        }
    }

    #[inline]
    fn completed(&mut self, completion: &Completion) {
        self.asking.push_back(completion.at + self.think);
    }
}
