//! Requests from the events of Linux's block layer: each begins with one event and ends with
//! another.

use std::collections::{BTreeMap, VecDeque};

use diskarm_core::request::Op;
use diskarm_core::units::{Instant, Lbn, SectorCount};

use crate::format::{Moment, Told};
use crate::record::{Place, Record, Urgency};

/// What happened to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// It entered the block layer.
    Queue,
    /// It was handed to the device.
    Issue,
    /// The device could not take it; it will be issued again.
    Requeue,
    /// It was completed, or the part of it that the event names.
    Complete,
}

/// One event that concerns a request for data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) action: Action,
    pub(crate) place: Place,
    pub(crate) at: Instant,
    pub(crate) device: u32,
    pub(crate) op: Op,
    pub(crate) urgency: Option<Urgency>,
    pub(crate) start: Lbn,
    /// At least one.
    pub(crate) sectors: SectorCount,
}

/// How many requests may be outstanding before the oldest is handed out without its response:
/// its completion was lost.
const MOST_OUTSTANDING: usize = 4096;

/// Hands out requests in the order in which they began, once they are completed.
pub(crate) struct Pairing {
    begins_at: Moment,
    /// In the order of their beginnings; those behind the first may be completed.
    waiting: VecDeque<Waiting>,
    /// Requests handed out before the first that waits.
    done: u64,
    /// By (device, first block, number): the requests that are not completed.
    outstanding: BTreeMap<(u32, u64, u64), u64>,
}

struct Waiting {
    record: Record,
    /// Blocks of it that are not completed; 0 when it may be handed out.
    missing: u64,
    /// It was taken back: there is no such request.
    is_void: bool,
}

impl Pairing {
    /// For requests that begin with their issue, or when they are queued.
    pub(crate) fn new(begins_at: Moment) -> Self {
        Self {
            begins_at,
            waiting: VecDeque::new(),
            done: 0,
            outstanding: BTreeMap::new(),
        }
    }

    /// Takes notice of an event; they come in the order of their times.
    pub(crate) fn put(&mut self, event: &Event, told: &mut Told) {
        let begins = match self.begins_at {
            Moment::Issue => Action::Issue,
            Moment::Queue => Action::Queue,
        };
        match event.action {
            Action::Complete => self.complete(event, told),
            // Requeued, a request still waits for its issue, but no longer for its completion.
            Action::Requeue if begins == Action::Issue => self.requeue(event, told),
            action if action == begins => self.begin(event),
            Action::Queue | Action::Issue | Action::Requeue => {}
        }
    }

    fn begin(&mut self, event: &Event) {
        let number = self.done + self.waiting.len() as u64;
        let key = (event.device, event.start.0, number);
        self.outstanding.insert(key, event.sectors.0);
        let record = Record {
            arrival: Some(event.at),
            device: event.device,
            urgency: event.urgency,
            ..Record::new(event.place, event.op, event.start, event.sectors)
        };
        self.waiting.push_back(Waiting {
            record,
            missing: event.sectors.0,
            is_void: false,
        });
    }

    /// A completion ends all requests within it, for they may have been merged since they began;
    /// one within a request ends a part of that.
    fn complete(&mut self, event: &Event, told: &mut Told) {
        let (first, end) = (event.start.0, (event.start + event.sectors).0);
        let mut has_ended = false;
        while let Some((&key, &sectors)) = self
            .outstanding
            .range((event.device, first, 0)..(event.device, end, 0))
            .find(|(key, sectors)| {
                key.1 + **sectors <= end && self.waiting_at(key.2).is_some_and(|w| w == event.op)
            })
        {
            self.outstanding.remove(&key);
            self.end(key.2, sectors, event);
            has_ended = true;
        }
        if !has_ended && !self.complete_part(event) {
            told.pass_over("completions without a beginning");
        }
    }

    /// Whether there is a request of which `event` completes a part.
    fn complete_part(&mut self, event: &Event) -> bool {
        // A part is looked for where requests begin at most so far before it.
        let least = event.start.0.saturating_sub(1 << 16);
        let end = (event.start + event.sectors).0;
        let range = (event.device, least, 0)..=(event.device, event.start.0, u64::MAX);
        let found = self.outstanding.range(range).find(|(key, sectors)| {
            key.1 + **sectors >= end && self.waiting_at(key.2) == Some(event.op)
        });
        let Some((&key, _)) = found else {
            return false;
        };
        let number = key.2;
        let sectors = event.sectors.0;
        if self.end(number, sectors, event) {
            self.outstanding.remove(&key);
        }
        true
    }

    fn waiting_at(&self, number: u64) -> Option<Op> {
        let waiting = self.waiting.get((number - self.done) as usize)?;
        Some(waiting.record.op)
    }

    /// So many blocks of a request are completed; whether that was the last of it.
    fn end(&mut self, number: u64, sectors: u64, event: &Event) -> bool {
        let index = (number - self.done) as usize;
        let Some(waiting) = self.waiting.get_mut(index) else {
            return true;
        };
        waiting.missing = waiting.missing.saturating_sub(sectors);
        if waiting.missing == 0 {
            let arrival = waiting.record.arrival.unwrap_or(event.at);
            waiting.record.response = Some(event.at.since_or_zero(arrival));
        }
        waiting.missing == 0
    }

    fn requeue(&mut self, event: &Event, told: &mut Told) {
        let range = (event.device, event.start.0, 0)..=(event.device, event.start.0, u64::MAX);
        let Some((&key, _)) = self.outstanding.range(range).next_back() else {
            return;
        };
        self.outstanding.remove(&key);
        if let Some(waiting) = self.waiting.get_mut((key.2 - self.done) as usize) {
            waiting.is_void = true;
            waiting.missing = 0;
            told.pass_over("issues taken back by a requeue");
        }
    }

    /// The oldest request, if it is completed or given up; any if there `is_end` of events.
    pub(crate) fn take(&mut self, is_end: bool, told: &mut Told) -> Option<Record> {
        loop {
            let first = self.waiting.front()?;
            let is_lost = first.missing > 0;
            if is_lost && !is_end && self.waiting.len() < MOST_OUTSTANDING {
                return None;
            }
            let key = (first.record.device, first.record.start.0, self.done);
            let first = self.waiting.pop_front()?;
            self.done += 1;
            if is_lost {
                self.outstanding.remove(&key);
                told.unanswered += 1;
            }
            if !first.is_void {
                return Some(first.record);
            }
        }
    }
}
