//! A device for tests that completes commands after random times and records the order.

use std::sync::{Arc, Mutex};

use super::{Breakdown, Completion, Device, Outcome, Status, SubmitError};
use crate::random::{Generator, Purpose, below, generator};
use crate::request::Request;
use crate::units::{Bytes, Instant, SectorCount, Span};

/// Commands in order of completion, each with the number of its device.
pub(crate) type Log = Arc<Mutex<Vec<(usize, Request)>>>;

/// A device that serves a few commands concurrently, each for a random time.
pub(crate) struct Slow {
    number: usize,
    sectors: SectorCount,
    /// Maximum number of concurrent commands.
    room: usize,
    dice: Generator,
    inside: Vec<Completion>,
    log: Log,
}

impl Slow {
    /// Creates the device `number` of several that write the same log.
    pub fn new(number: usize, sectors: SectorCount, dice: &mut Generator, log: &Log) -> Self {
        Self {
            number,
            sectors,
            room: 1 + below(dice, 3) as usize,
            dice: generator(below(dice, 1 << 40), 0, Purpose::Requests),
            inside: Vec::new(),
            log: Arc::clone(log),
        }
    }
}

impl Device for Slow {
    fn capacity(&self) -> SectorCount {
        self.sectors
    }

    fn sector_size(&self) -> Bytes {
        Bytes(512)
    }

    fn has_room(&self) -> bool {
        self.inside.len() < self.room
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), SubmitError> {
        self.check(&request)?;
        let takes = Span::from_ns(1 + below(&mut self.dice, 1_000) as i64);
        self.inside.push(Completion {
            request,
            arrived: now,
            at: now + takes,
            breakdown: Breakdown {
                transfer: takes,
                ..Breakdown::default()
            },
            outcome: Outcome::Miss,
            status: Status::Good,
        });
        self.inside.sort_by_key(|done| std::cmp::Reverse(done.at));
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        self.inside.last().map(|done| done.at)
    }

    fn advance(&mut self, now: Instant) -> Option<Completion> {
        let done = self.inside.pop_if(|done| done.at <= now)?;
        let mut log = self.log.lock().expect("no other has failed");
        log.push((self.number, done.request));
        Some(done)
    }

    fn abort(&mut self, _: Instant, _: u64) -> bool {
        false
    }
}
