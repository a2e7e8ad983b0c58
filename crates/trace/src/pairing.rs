//! Combines events of the Linux block layer into requests, which begin with one event and end with
//! another.

use std::collections::VecDeque;

use diskarm_core::request::Op;
use diskarm_core::units::{Instant, Lbn, SectorCount};

use crate::format::{ArrivalEvent, TraceMetadata};
use crate::record::{Location, Record, Urgency};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The request entered the block layer.
    Queue,
    /// The request was handed to the device.
    Issue,
    /// The device could not accept the request, which will be issued again.
    Requeue,
    /// The request, or the part of it that the event names, was completed.
    Complete,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) action: Action,
    pub(crate) location: Location,
    pub(crate) at: Instant,
    pub(crate) device: u32,
    pub(crate) op: Op,
    pub(crate) urgency: Option<Urgency>,
    pub(crate) start: Lbn,
    pub(crate) sectors: SectorCount,
}

/// The maximum number of outstanding requests. At this number, the oldest is returned without a
/// response, on the assumption that its completion was lost.
const MAX_OUTSTANDING: usize = 4096;

/// The size of the hash table of recent requests, which must be a power of two.
const RECENT: usize = 4096;

/// The outstanding requests. Once completed, they are returned in the order in which they began.
pub(crate) struct Pairing {
    first_action: Action,
    /// In the order in which they began; any but the first may already be complete.
    waiting: VecDeque<WaitingRequest>,
    /// The number of the first request in `waiting`, counted from the start of the trace.
    done: u64,
    /// The number of the latest request, by the hash of its device and first block. A completion
    /// nearly always ends this request; otherwise all are searched.
    recent: Vec<u64>,
}

struct WaitingRequest {
    record: Record,
    /// The number of blocks that have not completed yet; at 0, the request may be returned.
    missing: u64,
    /// True if it was requeued, so that it does not count as a request.
    is_void: bool,
}

impl WaitingRequest {
    #[inline]
    fn waits_for(&self, event: &Event) -> bool {
        self.missing > 0 && self.record.device == event.device && self.record.op == event.op
    }

    #[inline]
    fn end(&mut self, sectors: u64, at: Instant) {
        self.missing = self.missing.saturating_sub(sectors);
        if self.missing == 0 {
            let arrival = self.record.arrival.unwrap_or(at);
            self.record.response = Some(at.since_or_zero(arrival));
        }
    }
}

impl Pairing {
    pub(crate) fn new(begins_at: ArrivalEvent) -> Self {
        Self {
            first_action: match begins_at {
                ArrivalEvent::Issue => Action::Issue,
                ArrivalEvent::Queue => Action::Queue,
            },
            waiting: VecDeque::new(),
            done: 0,
            recent: vec![0; RECENT],
        }
    }

    /// Adds an event; events must come in order of time.
    #[inline]
    pub(crate) fn put(&mut self, event: &Event, metadata: &mut TraceMetadata) {
        match event.action {
            Action::Complete => self.complete(event, metadata),
            // A requeued request still waits for its issue, but no longer for its completion.
            Action::Requeue if self.first_action == Action::Issue => self.requeue(event, metadata),
            action if action == self.first_action => self.begin(event),
            Action::Queue | Action::Issue | Action::Requeue => {}
        }
    }

    #[inline]
    fn begin(&mut self, event: &Event) {
        self.recent[hash(event)] = self.done + self.waiting.len() as u64;
        let record = Record {
            arrival: Some(event.at),
            device: event.device,
            urgency: event.urgency,
            ..Record::new(event.location, event.op, event.start, event.sectors)
        };
        self.waiting.push_back(WaitingRequest {
            record,
            missing: event.sectors.0,
            is_void: false,
        });
    }

    #[inline]
    fn complete(&mut self, event: &Event, metadata: &mut TraceMetadata) {
        let index = self.recent[hash(event)].wrapping_sub(self.done) as usize;
        if let Some(waiting) = self.waiting.get_mut(index) {
            let record = &waiting.record;
            let is_match = record.start == event.start && record.sectors == event.sectors;
            if is_match && waiting.waits_for(event) {
                return waiting.end(event.sectors.0, event.at);
            }
        }
        self.search(event, metadata);
    }

    /// Completes all requests within the event; they may have been merged since they began. If
    /// there are none, completes part of the request that contains the event.
    #[cold]
    fn search(&mut self, event: &Event, metadata: &mut TraceMetadata) {
        let (start, end) = (event.start, event.start + event.sectors);
        let mut has_ended = false;
        for waiting in self.waiting.iter_mut().filter(|w| w.waits_for(event)) {
            let record = &waiting.record;
            if start <= record.start && record.end() <= end {
                waiting.end(waiting.missing, event.at);
                has_ended = true;
            }
        }
        if has_ended {
            return;
        }
        let contains_event = |w: &&mut WaitingRequest| {
            w.waits_for(event) && w.record.start <= start && end <= w.record.end()
        };
        match self.waiting.iter_mut().find(contains_event) {
            Some(waiting) => waiting.end(event.sectors.0, event.at),
            None => metadata.ignore("completions of unknown requests"),
        }
    }

    #[cold]
    fn requeue(&mut self, event: &Event, metadata: &mut TraceMetadata) {
        let is_match =
            |w: &&mut WaitingRequest| w.waits_for(event) && w.record.start == event.start;
        if let Some(waiting) = self.waiting.iter_mut().rfind(is_match) {
            waiting.is_void = true;
            waiting.missing = 0;
            metadata.ignore("issues undone by a requeue");
        }
    }

    /// Returns the oldest request if it completed, its completion was lost, or no events remain.
    #[inline]
    pub(crate) fn take(&mut self, is_at_end: bool, metadata: &mut TraceMetadata) -> Option<Record> {
        loop {
            let is_lost = self.waiting.front()?.missing > 0;
            if is_lost && !is_at_end && self.waiting.len() < MAX_OUTSTANDING {
                return None;
            }
            let first = self.waiting.pop_front()?;
            self.done += 1;
            metadata.incomplete += u64::from(is_lost);
            if !first.is_void {
                return Some(first.record);
            }
        }
    }
}

/// Returns the slot of an event in the hash table: the high bits of the product with 2^64 over the
/// golden ratio, which spreads neighbours (Knuth, The Art of Computer Programming 3, section 6.4).
#[inline]
fn hash(event: &Event) -> usize {
    let key = event.start.0 ^ u64::from(event.device) << 40;
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - RECENT.trailing_zeros())) as usize
}
