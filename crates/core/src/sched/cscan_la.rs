//! C-SCAN with a look-ahead of `i` requests.
//!
//! # What it does
//! Considers the next `i` requests of C-LOOK, tries all orders of them on a copy of the drive, and
//! serves the first request of the order that finishes earliest. Ties go to the order closest to
//! C-LOOK's. It decides again after each request, so a new arrival ahead of the arm may be
//! considered. A request that is passed over stays among the `i` until it is served. Requests
//! beyond the end of a sweep are not considered until all requests ahead are served.
//!
//! # Origin
//! liu05 sections 3.1 and 5.1 (CSCAN-LAi; LA2 and LA3 in section 5.2). Departures: requests that
//! are passed over stay among the `i`, because otherwise they would wait for the next sweep; the
//! thesis does not mention this. Service times include overheads and the buffer, whereas the thesis
//! uses seek, rotation and transfer. With `i=1`, it is C-LOOK.
//!
//! # Cost
//! Per decision, up to i + i(i-1) + ... + i! requests served on copies of the drive: 4 with i = 2,
//! 15 with i = 3, 64 with i = 4. With 64 requests outstanding on the HP C2247, simulating a request
//! takes about 2, 6 and 19 µs, but less than 1 µs under C-LOOK.
//!
//! # When it is bad
//! It reorders only neighbours, so it is slower than SPTF. On the same workload, the service time
//! is 13.5, 13.1 and 12.9 ms with i = 2, 3 and 4, between C-LOOK's 15.3 ms and SPTF's 12.4 ms. It
//! breaks up sequential streams unless the buffer holds them. Waits are bounded, as under C-LOOK.

use super::line::{InCylinder, Line, LineQueue, Metric, Origin, Position};
use super::policy::{Estimate, Knowledge, Pending, Policy, PolicyInfo, Rehearse, Rule};
use crate::request::Request;
use crate::text::{Args, InputError};
use crate::units::{Instant, Lbn};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CScanLa {
    i: u64,
    metric: Metric,
}

impl Rule for CScanLa {
    const INFO: PolicyInfo = PolicyInfo {
        name: "cscan-la",
        summary: "the next few requests of clook in the order that finishes earliest",
        parameters: &[
            ("i=2", "the number of requests considered, from 1 to 5"),
            Line::PARAMETER,
            Origin::FIRST,
        ],
        knowledge: Knowledge::TimesAndBuffer,
        origin: "liu05 sections 3.1 and 5.1",
        example: "cscan-la(i=3, by=map)",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        Ok(Self {
            i: args.maybe_count("i", 1..=5)?.unwrap_or(2),
            metric: Metric::read(args, Origin::First)?,
        })
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        let (i, metric) = (self.i as usize, self.metric);
        match metric.line {
            Line::Lbn => Box::new(Ahead::<Lbn>::new(i, metric, drive)),
            Line::Fixed(_) | Line::Map => Box::new(Ahead::<InCylinder>::new(i, metric, drive)),
        }
    }
}

#[derive(Debug)]
struct Ahead<P> {
    i: usize,
    queue: LineQueue<P>,
    /// Fewer than `i` requests that were passed over in this sweep, in the order of the sweep.
    passed_over: Vec<Pending>,
}

impl<P: Position> Ahead<P> {
    fn new<E: Estimate>(i: usize, metric: Metric, drive: &E) -> Self {
        Self {
            i,
            queue: LineQueue::new(metric, drive),
            passed_over: Vec::new(),
        }
    }

    fn ahead(&self) -> Vec<usize> {
        let count = self.i - self.passed_over.len();
        let ahead: Vec<usize> = self.queue.ascending().take(count).collect();
        if ahead.is_empty() && self.passed_over.is_empty() {
            // The sweep has ended.
            (0..self.queue.len()).take(count).collect()
        } else {
            ahead
        }
    }

    /// Removes the `chosen`-th request of `ahead`, passing over the preceding ones.
    fn serve<E: Estimate>(&mut self, ahead: &[usize], chosen: usize, drive: &E) -> Pending {
        let mut index = ahead[chosen];
        for (removed, &passed) in ahead[..chosen].iter().enumerate() {
            let before = ahead[..removed].iter().filter(|&&other| other < passed);
            self.passed_over
                .push(self.queue.remove(passed - before.count()));
            index -= usize::from(passed < ahead[chosen]);
        }
        self.queue.serve(index, drive)
    }
}

impl<E: Estimate, P: Position> Policy<E> for Ahead<P> {
    fn add(&mut self, pending: Pending, drive: &E) {
        self.queue.add(pending, drive);
    }

    fn note_bypass(&mut self, request: &Request, drive: &E) {
        self.queue.move_past(request, drive);
    }

    fn next(&mut self, now: Instant, drive: &E) -> Option<Pending> {
        let ahead = self.ahead();
        let from_queue = ahead.iter().map(|&index| self.queue.get(index));
        let considered = self.passed_over.iter().chain(from_queue);
        let requests: Vec<Request> = considered.map(|pending| pending.request).collect();
        let chosen = match requests.len() {
            0 => return None,
            1 => 0,
            _ => earliest(&drive.rehearse(), now, &requests).0,
        };
        Some(match chosen.checked_sub(self.passed_over.len()) {
            None => self.passed_over.remove(chosen),
            Some(chosen) => self.serve(&ahead, chosen, drive),
        })
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        let mut passed_over = self.passed_over.iter();
        match passed_over.position(|pending| pending.request.id == id) {
            Some(index) => Some(self.passed_over.remove(index)),
            None => self.queue.take(id),
        }
    }
}

/// Returns the first request of the order that finishes earliest, and the end of that order. Ties
/// go to the first order.
fn earliest<R: Rehearse>(drive: &R, now: Instant, requests: &[Request]) -> (usize, Instant) {
    let mut best = (0, Instant::NEVER);
    for (first, request) in requests.iter().enumerate() {
        let mut drive = drive.clone();
        let mut done = drive.serve(now, request);
        if requests.len() > 1 {
            let others = [&requests[..first], &requests[first + 1..]].concat();
            (_, done) = earliest(&drive, done, &others);
        }
        if done < best.1 {
            best = (first, done);
        }
    }
    best
}
