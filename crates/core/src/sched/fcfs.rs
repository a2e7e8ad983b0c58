//! First come, first served.
//!
//! # What it does
//! Serves requests in the order of their arrival.
//!
//! # Origin
//! The baseline of every scheduling study: worthington94 section 3, jacobson91 section 2.
//!
//! # Cost
//! Constant time per decision; one entry per pending request.
//!
//! # When it is bad
//! Under any load that builds a queue, it is the first policy to saturate (worthington94 figure 3),
//! because it saves no seeks. At light load, its response times have the lowest variance.

use std::collections::VecDeque;

use super::policy::{Estimate, Knowledge, Pending, Policy, PolicyInfo, Rule, take};
use crate::text::{Args, InputError};
use crate::units::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fcfs;

impl Rule for Fcfs {
    const INFO: PolicyInfo = PolicyInfo {
        name: "fcfs",
        summary: "first come, first served",
        parameters: &[],
        knowledge: Knowledge::Nothing,
        origin: "worthington94 section 3",
        example: "fcfs",
    };

    fn read(_: &mut Args<'_>) -> Result<Self, InputError> {
        Ok(Self)
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Queue::default())
    }
}

#[derive(Debug, Default)]
struct Queue {
    queue: VecDeque<Pending>,
}

impl<E: Estimate> Policy<E> for Queue {
    fn add(&mut self, pending: Pending, _: &E) {
        self.queue.push_back(pending);
    }

    fn next(&mut self, _: Instant, _: &E) -> Option<Pending> {
        self.queue.pop_front()
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        take(&mut self.queue, id)
    }
}
