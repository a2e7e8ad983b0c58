//! A closed system: a fixed number of clients, each of which waits for its request, thinks, and
//! asks again.

use std::collections::VecDeque;
use std::iter::{Repeat, repeat};

use super::Load;
use crate::device::Completion;
use crate::request::Request;
use crate::units::{Instant, Span};

/// Requests from an iterator, a fixed number of them outstanding or being thought about.
#[derive(Clone, Debug)]
pub struct ClosedLoop<I: Iterator<Item = Request>, T: Iterator<Item = Span> = Repeat<Span>> {
    rest: I,
    next: Option<Request>,
    think: T,
    /// When the clients that think will ask, in ascending order. Where thinking takes all the
    /// same time they ask in the order in which they began, and each goes to the end at once.
    asking: VecDeque<Instant>,
}

impl<I: Iterator<Item = Request>> ClosedLoop<I> {
    /// `clients` clients that ask for all that `requests` yields, thinking for `think` after
    /// each completion. All ask at the start.
    pub fn new(requests: I, clients: usize, think: Span) -> Self {
        Self::with_think_times(requests, clients, repeat(think))
    }
}

impl<I: Iterator<Item = Request>, T: Iterator<Item = Span>> ClosedLoop<I, T> {
    /// The same with a think time of its own for each completion, the next that `think` yields;
    /// when that has ended, none asks again.
    pub fn with_think_times(mut requests: I, clients: usize, think: T) -> Self {
        let next = requests.next();
        Self {
            rest: requests,
            next,
            think,
            asking: vec![Instant::START; clients].into(),
        }
    }
}

impl<I: Iterator<Item = Request>, T: Iterator<Item = Span>> Load for ClosedLoop<I, T> {
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
        let Some(think) = self.think.next() else {
            return;
        };
        let at = completion.at + think;
        if self.asking.back().is_some_and(|last| *last > at) {
            let place = self.asking.partition_point(|asks| *asks <= at);
            self.asking.insert(place, at);
        } else {
            self.asking.push_back(at);
        }
    }
}
