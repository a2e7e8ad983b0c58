//! The rules of Linux's mq-deadline.
//!
//! # What it does
//! Reads and writes are queued separately, each in order of arrival and in order of blocks. It
//! serves batches of up to `batch` reads or writes, in ascending order from the block served last
//! in the same direction. A new batch consists of reads if any are pending, unless writes are
//! pending too and have been passed over `starved` times. It begins with the oldest request of its
//! direction if that has expired or no request is ahead of the block served last; otherwise, with
//! the next request ahead.
//!
//! # Origin
//! The scheduler `mq-deadline` of the Linux kernel with its default settings, for comparison. The
//! kernel calls its parameters read_expire, write_expire, fifo_batch and writes_starved. Here,
//! requests have a single priority class and are not merged. The kernel keeps several requests
//! inside the drive; here, the depth of the drive's queue determines how many. The first batch
//! consists of reads if any are pending.
//!
//! # Cost
//! A binary search per arrival; per decision, up to a scan of the pending requests to remove one
//! from the order of arrival.
//!
//! # When it is bad
//! It ignores rotation and jumps back for each expired request. Expiry is checked only between
//! batches: an expired request with k older ones in its direction waits for at most (k + 1)
//! (`starved` + 1) full batches.

use std::collections::VecDeque;

use super::line::Sorted;
use super::policy::{Estimate, Knowledge, Pending, Policy, PolicyInfo, Rule, take};
use crate::request::{Op, Request};
use crate::text::{Args, InputError};
use crate::units::{Instant, Lbn, Span};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MqDeadline {
    reads: Span,
    writes: Span,
    batch: u64,
    starved: u64,
}

impl Rule for MqDeadline {
    const INFO: PolicyInfo = PolicyInfo {
        name: "mq-deadline",
        summary: "ascending batches of reads or writes, starting with expired requests",
        parameters: &[
            (
                "reads=500 ms",
                "the time after which a read expires, from 0 to an hour",
            ),
            (
                "writes=5 s",
                "the time after which a write expires, from 0 to an hour",
            ),
            ("batch=16", "requests in a batch, from 1 to 1000000"),
            (
                "starved=2",
                "the number of batches of reads that may precede pending writes, from 1 to 1000000",
            ),
        ],
        knowledge: Knowledge::Blocks,
        origin: "the Linux kernel's scheduler of this name",
        example: "mq-deadline(batch=1)",
    };

    fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        Ok(Self {
            reads: args.maybe_time("reads")?.unwrap_or(Span::from_ms(500.0)),
            writes: args.maybe_time("writes")?.unwrap_or(Span::from_s(5.0)),
            batch: args.maybe_count("batch", 1..=1_000_000)?.unwrap_or(16),
            starved: args.maybe_count("starved", 1..=1_000_000)?.unwrap_or(2),
        })
    }

    fn policy<E: Estimate>(&self, _: &E) -> Box<dyn Policy<E>> {
        Box::new(Deadline {
            rule: *self,
            reads: OpQueue::new(self.reads),
            writes: OpQueue::new(self.writes),
            last: Op::Read,
            served: 0,
            passed_over: 0,
        })
    }
}

struct OpQueue {
    expiry: Span,
    fifo: VecDeque<Pending>,
    sorted: Sorted<Lbn, Pending>,
    /// First block of the request served last.
    latest: Lbn,
}

impl OpQueue {
    fn new(expiry: Span) -> Self {
        Self {
            expiry,
            fifo: VecDeque::new(),
            sorted: Sorted::default(),
            latest: Lbn(0),
        }
    }

    fn add(&mut self, pending: Pending) {
        self.fifo.push_back(pending);
        self.sorted.insert(pending.request.start, pending);
    }

    /// Returns the next request at or beyond the block served last.
    fn ahead(&self) -> Option<u64> {
        let index = self.sorted.count_below(self.latest);
        (index < self.sorted.len()).then(|| self.sorted.get(index).request.id)
    }

    fn batch_start(&self, now: Instant) -> Option<u64> {
        let oldest = self.fifo.front()?;
        let has_expired = now.since_or_zero(oldest.arrived) >= self.expiry;
        let ahead = self.ahead().filter(|_| !has_expired);
        Some(ahead.unwrap_or(oldest.request.id))
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        let index = self.sorted.find(|p| p.request.id == id)?;
        self.sorted.remove(index);
        take(&mut self.fifo, id)
    }
}

struct Deadline {
    rule: MqDeadline,
    reads: OpQueue,
    writes: OpQueue,
    last: Op,
    served: u64,
    /// Number of batches of reads since the last batch of writes, while writes waited.
    passed_over: u64,
}

impl Deadline {
    fn queue(&mut self, op: Op) -> &mut OpQueue {
        match op {
            Op::Read => &mut self.reads,
            Op::Write | Op::Flush => &mut self.writes,
        }
    }

    fn next_in_batch(&mut self) -> Option<u64> {
        if self.served >= self.rule.batch {
            return None;
        }
        self.queue(self.last).ahead()
    }

    fn start_batch(&mut self, now: Instant) -> Option<u64> {
        let (has_reads, has_writes) = (!self.reads.fifo.is_empty(), !self.writes.fifo.is_empty());
        let is_write = has_writes && (!has_reads || self.passed_over >= self.rule.starved);
        self.passed_over += u64::from(has_writes);
        let op = if is_write { Op::Write } else { Op::Read };
        let first = self.queue(op).batch_start(now)?;
        self.enter(op);
        Some(first)
    }

    /// Starts an empty batch of direction `op`.
    fn enter(&mut self, op: Op) {
        self.last = op;
        self.served = 0;
        if op == Op::Write {
            self.passed_over = 0;
        }
    }

    fn serve(&mut self, request: &Request) {
        self.served += 1;
        self.queue(request.op).latest = request.start;
    }
}

impl<E: Estimate> Policy<E> for Deadline {
    fn add(&mut self, pending: Pending, _: &E) {
        self.queue(pending.request.op).add(pending);
    }

    /// Continues the batch if the request could have been next in it; otherwise starts a new one.
    fn note_bypass(&mut self, request: &Request, _: &E) {
        let latest = self.queue(request.op).latest;
        let is_next = request.op == self.last && request.start >= latest;
        if !is_next || self.served >= self.rule.batch {
            self.enter(request.op);
        }
        self.serve(request);
    }

    fn next(&mut self, now: Instant, _: &E) -> Option<Pending> {
        let id = match self.next_in_batch() {
            Some(id) => id,
            None => self.start_batch(now)?,
        };
        let chosen = self.queue(self.last).take(id)?;
        self.serve(&chosen.request);
        Some(chosen)
    }

    fn take(&mut self, id: u64) -> Option<Pending> {
        self.reads.take(id).or_else(|| self.writes.take(id))
    }
}
