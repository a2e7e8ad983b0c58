//! Reads a device that has no foreground, in the order of its blocks.

use diskarm_core::device::{Completion, Device};
use diskarm_core::freeblock::{BlockSet, Delivery};
use diskarm_core::request::{Op, Request};
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};

use super::answers::Inbox;

/// Reads in a row that may fail, other than for an unreadable block, before a pass gives up.
const FAILURES: u32 = 8;

/// After a second failure in a row, nothing is sent for this long.
const REST: Span = Span::from_ns(1_000_000_000);

/// A pass over the blocks of a device.
pub struct SequentialPass<D, S> {
    device: D,
    wanted: BlockSet,
    sink: S,
    depth: usize,
    max: SectorCount,
    next: Lbn,
    ids: u64,
    inside: usize,
    /// Nothing is sent before this instant.
    from: Instant,
    /// Reads that have failed since one has not.
    failures: u32,
}

impl<D: Device, S: FnMut(&Delivery)> SequentialPass<D, S> {
    /// Reads what is wanted with `depth` reads at one time of at most `most` blocks, and calls
    /// `sink` for all that was read or cannot be: each block once, as task 0.
    pub fn new(device: D, wanted: BlockSet, (depth, max): (usize, SectorCount), sink: S) -> Self {
        Self {
            device,
            wanted,
            sink,
            depth,
            max: max.min(Request::MAX_SECTORS),
            next: Lbn(0),
            ids: 0,
            inside: 0,
            from: Instant::START,
            failures: 0,
        }
    }

    /// Reads by the clock of `answers` until everything is delivered, it has given up, the source
    /// is lost, or it is stopped. What is under way then is not waited for.
    pub fn run(&mut self, answers: &Inbox) {
        while !self.is_over() && !answers.is_stopped() && answers.lost().is_none() {
            let (now, event) = (answers.now(), self.next_event());
            match event.filter(|event| *event <= now) {
                Some(event) => self.advance(event),
                None => answers.wait(event),
            }
        }
    }

    fn next_event(&self) -> Option<Instant> {
        let can_send = self.inside < self.depth && !self.wanted.is_empty();
        let send = can_send.then_some(self.from);
        [self.device.next_event(), send].into_iter().flatten().min()
    }

    fn advance(&mut self, now: Instant) {
        while let Some(completion) = self.device.advance(now) {
            self.completed(&completion);
        }
        self.feed(now);
    }

    fn is_over(&self) -> bool {
        self.has_given_up() || self.inside == 0 && self.wanted.is_empty()
    }

    /// Whether too many reads in a row have failed to continue.
    pub fn has_given_up(&self) -> bool {
        self.failures >= FAILURES
    }

    /// Sends what can be sent.
    fn feed(&mut self, now: Instant) {
        while now >= self.from && self.inside < self.depth && self.device.has_room() {
            let Some((first, sectors)) = self.chosen() else {
                return;
            };
            self.wanted.remove(first, sectors);
            self.next = first + sectors;
            self.ids += 1;
            self.inside += 1;
            let read = Request::new(self.ids, Op::Read, first, sectors);
            let taken = self.device.submit(now, read);
            assert_eq!(taken, Ok(()), "a device with room refused {read:?}");
        }
    }

    /// The next run of wanted blocks.
    fn chosen(&self) -> Option<(Lbn, SectorCount)> {
        let all = Lbn(self.wanted.sectors().0);
        let next = self.wanted.first_in(self.next, all);
        let first = next.or_else(|| self.wanted.first_in(Lbn(0), self.next))?;
        let end = Lbn((first.0 + self.max.0).min(all.0));
        self.wanted.runs_in(first, end).next()
    }

    fn completed(&mut self, completion: &Completion) {
        self.inside -= 1;
        let (first, end) = (completion.request.start, completion.request.end());
        let (read, rest) = match completion.bad_block() {
            Some(bad) => (bad, Lbn(bad.0 + 1)),
            None if completion.status.is_success() => (end, end),
            None => (first, first),
        };
        self.deliver(first, read, completion.at, true);
        if completion.bad_block().is_some() {
            self.deliver(read, rest, completion.at, false);
        }
        if rest > first {
            self.failures = 0;
        } else {
            self.failures += 1;
            if self.failures > 1 {
                self.from = completion.at + REST;
            }
        }
        self.wanted.insert(rest, end - rest);
        if rest > first {
            self.next = self.next.min(rest.max(first));
        }
    }

    fn deliver(&mut self, first: Lbn, end: Lbn, at: Instant, is_readable: bool) {
        if first < end {
            (self.sink)(&Delivery {
                task: 0,
                first,
                sectors: end - first,
                at,
                is_readable,
            });
        }
    }
}
