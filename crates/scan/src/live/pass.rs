//! A sequential pass over a device without a foreground.

use diskarm_core::device::{Completion, Device};
use diskarm_core::freeblock::{BlockSet, Delivery};
use diskarm_core::request::{Op, Request};
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};

use super::inbox::Inbox;

/// Number of successive failures, other than of unreadable blocks, after which a pass gives up.
const MAX_FAILURES: u32 = 8;

/// Pause after a second successive failure.
const PAUSE: Span = Span::from_ns(1_000_000_000);

/// A pass over the blocks of a device.
pub struct SequentialPass<D, S> {
    device: D,
    wanted: BlockSet,
    sink: S,
    depth: usize,
    max: SectorCount,
    next: Lbn,
    ids: u64,
    /// Number of reads under way.
    under_way: usize,
    /// The end of the current pause.
    from: Instant,
    /// Number of failed reads since the last successful one.
    failures: u32,
}

impl<D: Device, S: FnMut(&Delivery)> SequentialPass<D, S> {
    /// Creates a pass over the `wanted` blocks with at most `depth` reads at the same time, each of
    /// at most `max` blocks. Calls `sink` with all deliveries: each block once, as task 0.
    pub fn new(device: D, wanted: BlockSet, depth: usize, max: SectorCount, sink: S) -> Self {
        Self {
            device,
            wanted,
            sink,
            depth,
            max: max.min(Request::MAX_SECTORS),
            next: Lbn(0),
            ids: 0,
            under_way: 0,
            from: Instant::START,
            failures: 0,
        }
    }

    /// Reads by the clock of `inbox` until everything is delivered, it has given up, the source is
    /// lost, or it is stopped. It does not wait for reads that are under way then.
    pub fn run(&mut self, inbox: &Inbox) {
        while !self.is_over() && !inbox.is_stopped() && inbox.lost().is_none() {
            let (now, event) = (inbox.now(), self.next_event());
            match event.filter(|event| *event <= now) {
                Some(event) => self.advance(event),
                None => inbox.wait(event),
            }
        }
    }

    fn next_event(&self) -> Option<Instant> {
        let can_send = self.under_way < self.depth && !self.wanted.is_empty();
        let send = can_send.then_some(self.from);
        [self.device.next_event(), send].into_iter().flatten().min()
    }

    fn advance(&mut self, now: Instant) {
        while let Some(completion) = self.device.advance(now) {
            self.complete(&completion);
        }
        self.feed(now);
    }

    fn is_over(&self) -> bool {
        self.has_given_up() || self.under_way == 0 && self.wanted.is_empty()
    }

    /// Returns true if the pass has ended because of too many successive failures.
    pub fn has_given_up(&self) -> bool {
        self.failures >= MAX_FAILURES
    }

    /// Sends reads while the device has room.
    fn feed(&mut self, now: Instant) {
        while now >= self.from && self.under_way < self.depth && self.device.has_room() {
            let Some((first, sectors)) = self.next_run() else {
                return;
            };
            self.wanted.remove(first, sectors);
            self.next = first + sectors;
            self.ids += 1;
            self.under_way += 1;
            let read = Request::new(self.ids, Op::Read, first, sectors);
            let taken = self.device.submit(now, read);
            assert_eq!(taken, Ok(()), "a device with room refused {read:?}");
        }
    }

    /// Returns the next run of wanted blocks.
    fn next_run(&self) -> Option<(Lbn, SectorCount)> {
        let all = Lbn(self.wanted.sectors().0);
        let next = self.wanted.first_in(self.next, all);
        let first = next.or_else(|| self.wanted.first_in(Lbn(0), self.next))?;
        let end = Lbn((first.0 + self.max.0).min(all.0));
        self.wanted.runs_in(first, end).next()
    }

    fn complete(&mut self, completion: &Completion) {
        self.under_way -= 1;
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
                self.from = completion.at + PAUSE;
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
