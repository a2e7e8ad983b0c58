//! Serving a read.
//!
//! A read larger than its segment stalls: the media may be at most one segment ahead of the bus.

use super::arm::{Arm, Goal, Reading};
use super::bus::{Arrivals, Sending};
use super::core::{Command, Core, Service};
use crate::buffer::SegmentId;
use crate::device::{Breakdown, Outcome};
use crate::mechanics::{Approach, Piece, Position};
use crate::request::{Op, Request};
use crate::spec::{DeliveredBlocks, PreSeek, ReadAhead};
use crate::units::{Instant, Lbn, SectorCount, Span};

struct Media {
    called: Instant,
    approach: Approach,
    end: Instant,
}

pub(super) struct HitTimes {
    overhead: Span,
    processed: Instant,
    /// The time at which the drive continues with the read, after pending flushes.
    go: Instant,
    sent: Instant,
}

impl Core {
    #[inline]
    pub(super) fn read(&mut self, command: &Command) -> Service {
        let (request, begin) = (&command.request, command.begin());
        if self.pass_may_add(request.start) {
            if let Arm::Reading(reading) = &mut self.arm {
                reading.advance(&self.mechanism, begin);
            }
            self.arm
                .keep(&self.mechanism, &mut self.buffer, begin, &self.rules);
        }
        let pass = match &self.arm {
            Arm::Reading(reading) => Some(reading),
            Arm::Free(_) => None,
        };
        let mut held = self.buffered(request, begin, pass);
        if let Some((segment, _)) = held
            && self.fate.is_some()
            && self.fails(request, segment, begin)
        {
            held = None;
        }
        let served = match held {
            Some((segment, end)) if end >= request.end() => self.read_hit(command, segment, end),
            Some((segment, end)) => self.read_partial(command, segment, end),
            None => self.read_miss(command),
        };
        if self.fate.is_some() {
            let segment = self.buffer.newest();
            self.buffer.record_transfer(segment, request);
        }
        served
    }

    /// If the read-ahead of a request failed, drops its blocks and returns true.
    #[cold]
    #[inline(never)]
    fn fails(&mut self, request: &Request, segment: SegmentId, begin: Instant) -> bool {
        let ahead = self.buffer.is_read_ahead(segment, request.start);
        let fails = ahead && self.fate.as_mut().is_some_and(|fate| fate.fails());
        if fails {
            self.forget(request, begin);
        }
        fails
    }

    /// Returns true if the current pass may add block `start` to its segment.
    #[inline]
    fn pass_may_add(&self, start: Lbn) -> bool {
        match &self.arm {
            Arm::Reading(reading) if self.rules.caching && start < reading.end => {
                self.rules.read_whole_track || self.buffer.begins_by(reading.segment, start)
            }
            _ => false,
        }
    }

    /// Returns the segment that holds or receives the first block of a read begun at `begin`, and
    /// the end of the blocks that it holds from there on. A pass that [may add](Self::pass_may_add)
    /// the block must have been advanced to `begin`.
    #[inline]
    fn buffered(
        &self,
        request: &Request,
        begin: Instant,
        pass: Option<&Reading>,
    ) -> Option<(SegmentId, Lbn)> {
        if request.force_unit_access {
            return None;
        }
        self.held(request.start, begin, pass)
    }

    /// Like [`Self::buffered`], but from block `start`, for requests that may use the buffer.
    #[inline]
    pub(super) fn held(
        &self,
        start: Lbn,
        begin: Instant,
        pass: Option<&Reading>,
    ) -> Option<(SegmentId, Lbn)> {
        if !self.rules.caching {
            return None;
        }
        let held = match pass.filter(|_| self.pass_may_add(start)) {
            Some(pass) => {
                let is_dropped = self.rules.delivered == DeliveredBlocks::Dropped;
                let dropped = is_dropped.then_some(pass.requested);
                let end = pass.read_end(begin);
                (self.buffer).holding_once_filled(start, pass.segment, end, dropped)
            }
            None => self.buffer.holding(start),
        };
        let arriving = pass
            .filter(|pass| self.rules.arriving_hits && pass.is_at(&self.mechanism, start, begin));
        held.or_else(|| arriving.map(|pass| (pass.segment, start)))
    }

    /// Returns true if the buffer holds or receives the first block of a read begun at `begin`.
    pub(super) fn is_buffered(&self, request: &Request, begin: Instant) -> bool {
        let Arm::Reading(mut pass) = self.arm else {
            return self.buffered(request, begin, None).is_some();
        };
        if self.pass_may_add(request.start) {
            pass.advance(&self.mechanism, begin);
        }
        self.buffered(request, begin, Some(&pass)).is_some()
            || self.rules.read_whole_track && self.is_in_whole_track(request, begin, &pass)
    }

    #[cold]
    pub(super) fn is_held(&self, request: &Request, begin: Instant) -> bool {
        let held = self.buffered(request, begin, self.pass_at(begin).as_ref());
        held.is_some_and(|(_, end)| end >= request.end())
    }

    pub(super) fn pass_at(&self, at: Instant) -> Option<Reading> {
        let Arm::Reading(mut pass) = self.arm else {
            return None;
        };
        pass.advance(&self.mechanism, at);
        Some(pass)
    }

    /// Returns true if `pass`, advanced to `begin`, adds the first block by keeping its last track.
    fn is_in_whole_track(&self, request: &Request, begin: Instant, pass: &Reading) -> bool {
        if !self.pass_may_add(request.start) || request.force_unit_access {
            return false;
        }
        let end = pass.read_end(begin);
        pass.whole_track(&self.mechanism, begin, &self.rules)
            .map(|first| self.buffer.first_once_filled(pass.segment, end, first))
            .is_some_and(|first| (first..end).contains(&request.start))
    }

    /// Returns the end of read-ahead: at least the end of the request's last physical sector.
    #[inline]
    pub(super) fn read_ahead_end(&self, request: &Request) -> Lbn {
        let rules = &self.rules;
        let physical = self.mechanism.layout.physical();
        let requested = physical.end(request.end());
        if !rules.caching || rules.read_ahead == ReadAhead::None {
            return requested;
        }
        if rules.read_ahead_on_run && !self.is_sequential(Op::Read, request) {
            return requested;
        }
        let capacity = rules.segment.0;
        let room = match rules.delivered {
            DeliveredBlocks::Kept => capacity.saturating_sub(request.sectors.0),
            DeliveredBlocks::Dropped => capacity,
        };
        let ahead = rules.read_ahead_max.0.min(room).max(rules.read_ahead_min.0);
        let end = Lbn((request.end().0 + ahead).min(self.mechanism.layout.sectors().0));
        physical.first(end).max(requested)
    }

    /// Returns true if the track before the request's last track is buffered or also requested.
    ///
    /// On the RZ26, a read that crosses to another track leaves the rest of that track and the
    /// start of the next one in the buffer. A read that ends on the track where it began does not.
    #[inline]
    pub(super) fn follows_buffered_track(&self, request: &Request) -> bool {
        if self.rules.read_ahead != ReadAhead::OneTrack {
            return false;
        }
        let last = Lbn(request.end().0 - 1);
        let first = self.mechanism.layout.track_first(last);
        request.start < first || first.0 > 0 && self.buffer.holds(Lbn(first.0 - 1))
    }

    #[inline]
    fn goal(&self, request: &Request) -> Goal {
        Goal {
            requested: request.end(),
            end: self.read_ahead_end(request),
        }
    }

    fn read_hit(&mut self, command: &Command, segment: SegmentId, held: Lbn) -> Service {
        let request = &command.request;
        let times = self.hit_times(command);
        self.buffer.touch(segment);
        self.read_on_after_hit(command, (segment, held), times.go);
        if self.rules.delivered == DeliveredBlocks::Dropped {
            self.buffer.drop_before(segment, request.end());
        }
        self.complete_hit(command, &times)
    }

    #[inline(always)]
    pub(super) fn hit_times(&self, command: &Command) -> HitTimes {
        let overhead = self.costs.read_hit.after(self.last.op);
        let processed = command.processed(overhead);
        let go = processed.max(self.flushed(command.begin()));
        let data = go.max(self.bus_free) + self.path.preparation;
        let sent = data + self.path.read_sector * command.request.sectors.0;
        HitTimes {
            overhead,
            processed,
            go,
            sent,
        }
    }

    #[inline(always)]
    pub(super) fn complete_hit(&self, command: &Command, times: &HitTimes) -> Service {
        let HitTimes {
            overhead,
            processed,
            go,
            sent,
        } = *times;
        let at = sent + self.overheads.read_completion;
        let (queue, owed) = self.waits(command, overhead);
        let breakdown = Breakdown {
            queue,
            owed: owed + (go - processed),
            overhead: overhead + self.path.preparation + self.overheads.read_completion,
            bus: sent - go - self.path.preparation,
            ..Breakdown::default()
        };
        let open = self.next_open(go, sent, at);
        let completion = command.completed(at, breakdown, Outcome::Hit);
        Service { completion, open }
    }

    /// Continues read-ahead after a buffer hit. A pass in progress is extended. Read-ahead that has
    /// ended resumes if the drive resumes it after hits and no dirty data need the arm.
    fn read_on_after_hit(&mut self, command: &Command, held: (SegmentId, Lbn), go: Instant) {
        let request = &command.request;
        let goal = self.goal(request);
        let follows = self.follows_buffered_track(request);
        let resumes = self.rules.read_ahead_on_hit && !self.dirty.waits;
        let begin = command.begin();
        match &mut self.arm {
            Arm::Reading(reading) if reading.segment == held.0 => {
                let live = !reading.is_over(begin);
                if live || resumes {
                    let now = if live { begin } else { go };
                    let pieces = &mut self.pieces;
                    reading.extend(&self.mechanism, now, held.1, goal, follows, pieces);
                    pieces.clear();
                }
            }
            Arm::Free(position) if resumes && goal.end > held.1 => {
                let from = position.with_since(position.since.max(go));
                let blocks = (held.1, goal.end);
                let start = Instant::START;
                let (approach, piece) = self.mechanism.piece(false, from, Op::Read, blocks, start);
                let in_place = piece.begin - approach.wait;
                let scheme = self.rules.read_ahead;
                let pass = Reading::new(held.0, goal, piece, in_place, scheme, follows);
                self.arm = Arm::Reading(pass);
                self.dirty.destaged = Lbn(u64::MAX);
            }
            _ => {}
        }
    }

    fn read_partial(&mut self, command: &Command, segment: SegmentId, held: Lbn) -> Service {
        let request = &command.request;
        let mark = self.costs.read_mark.sectors(request.sectors);
        let at_once = self.rules.partial_hits_at_once || held - request.start >= mark;
        let [hit, miss] = [self.costs.read_hit, self.costs.read_miss];
        let overhead = if at_once { hit } else { miss }.after(self.last.op);
        let go = self.ready(command, overhead);
        self.buffer.touch(segment);
        let media = self.rest_from_media(command, segment, held, go);
        let send = at_once.then_some(go);
        self.deliver(command, overhead, &media, send, Outcome::PartialHit)
    }

    fn rest_from_media(
        &mut self,
        command: &Command,
        segment: SegmentId,
        held: Lbn,
        go: Instant,
    ) -> Media {
        let request = &command.request;
        let goal = self.goal(request);
        let follows = self.follows_buffered_track(request);
        match &mut self.arm {
            Arm::Reading(reading) if reading.segment == segment => {
                let begin = command.begin();
                let now = if reading.is_over(begin) { go } else { begin };
                let pieces = &mut self.pieces;
                pieces.clear();
                reading.extend(&self.mechanism, now, held, goal, follows, pieces);
                let approach = Approach {
                    wait: pieces[0].begin.since_or_zero(go),
                    ..Approach::default()
                };
                let done = reading.when(&self.mechanism, request.end());
                Media {
                    called: go,
                    approach,
                    end: done.max(go),
                }
            }
            _ => {
                let position = self.call(go);
                let held = self.mechanism.layout.physical().first(held);
                self.read_from_media(command, held, segment, position)
            }
        }
    }

    #[inline]
    fn read_miss(&mut self, command: &Command) -> Service {
        let mut overhead = self.costs.read_miss.after(self.last.op);
        if self.is_sequential(Op::Read, &command.request) {
            overhead += self.overheads.read_miss_in_sequence;
            if let Some(fate) = &mut self.fate {
                overhead += fate.in_sequence(overhead);
            }
        }
        let go = self.ready(command, overhead);
        let start = command.request.start;
        // Blocks that the pass reads until then enter the buffer before the oldest segment is
        // emptied.
        let position = self.call(go);
        if command.request.force_unit_access {
            self.buffer.forget(&command.request);
        }
        let first = self.mechanism.layout.physical().first(start);
        let segment = self.buffer.claim_for_read(first);
        let media = self.read_from_media(command, first, segment, position);
        self.deliver(command, overhead, &media, None, Outcome::Miss)
    }

    /// With the arm at `position`, reads into `segment` from block `from` to the end of the
    /// request's last physical sector, and starts read-ahead. `from` begins a physical sector.
    #[inline]
    fn read_from_media(
        &mut self,
        command: &Command,
        from: Lbn,
        segment: SegmentId,
        position: Position,
    ) -> Media {
        let request = &command.request;
        let goal = self.goal(request);
        let late = self.scatter(Op::Read, position, from);
        let (mut at, mut head) = (from, position);
        head.since = head.since.shifted(late);
        let mut first: Option<Approach> = None;
        let requested = self.mechanism.layout.physical().end(request.end());
        self.pieces.clear();
        let (piece, in_place) = loop {
            let (approach, piece) = self.read_piece(head, (at, goal.end), requested, request);
            self.pieces.push(piece);
            first.get_or_insert_with(|| approach.delayed_by(late));
            if piece.end_lbn() >= request.end() {
                break (piece, piece.begin - approach.wait);
            }
            (at, head) = (piece.end_lbn(), piece.position_after());
        };
        let approach = first.unwrap_or_default();
        if self.rules.read_before_requested {
            // The drive also keeps blocks that pass while the head waits for the first wanted one.
            let passed = self.pieces[0].sectors_in(approach.wait);
            let run = from - self.mechanism.layout.track_first(from);
            self.buffer
                .fill_before(segment, Lbn(from.0 - passed.min(run).0));
        }
        let end = piece.after(request.end() - piece.first);
        let (scheme, follows) = (self.rules.read_ahead, self.follows_buffered_track(request));
        let pass = Reading::new(segment, goal, piece, in_place, scheme, follows);
        self.arm = Arm::Reading(pass);
        Media {
            called: position.since,
            approach,
            end,
        }
    }

    /// Returns the next run of a read of `blocks`. Those at or after `requested` are read-ahead.
    #[inline]
    fn read_piece(
        &self,
        from: Position,
        blocks: (Lbn, Lbn),
        requested: Lbn,
        request: &Request,
    ) -> (Approach, Piece) {
        let continues = !self.pieces.is_empty();
        let start = Instant::START;
        let (approach, piece) = (self.mechanism).piece(continues, from, Op::Read, blocks, start);
        // A segment that cannot hold the whole request is filled in order.
        if !self.rules.read_on_arrival || self.outgrows(request.sectors) {
            return (approach, piece);
        }
        let wanted = requested.min(piece.end_lbn()) - piece.first;
        let period = self.mechanism.rotation.period();
        (approach, piece.on_arrival(approach.wait, wanted, period))
    }

    /// Completes a read. Its bus transfer starts at `at_once`, or when enough blocks are buffered.
    #[inline]
    fn deliver(
        &mut self,
        command: &Command,
        overhead: Span,
        media: &Media,
        at_once: Option<Instant>,
        outcome: Outcome,
    ) -> Service {
        let request = &command.request;
        let data = self.arrivals(request);
        let mark = self.costs.read_mark.sectors(request.sectors);
        let (bus, connect) = match at_once {
            Some(go) => (go.max(self.bus_free), self.path.preparation),
            None => {
                let disconnected = media.called + self.costs.read_disconnect.after(self.last.op);
                let enough = data.after(mark).unwrap_or(media.called);
                (
                    enough.max(disconnected).max(self.bus_free),
                    self.path.reselect[0],
                )
            }
        };
        let start = bus + connect;
        let connections = usize::from(at_once.is_none());
        let mut end = media.end;
        if self.outgrows(request.sectors) {
            let sending = Sending {
                watermark: Some(mark).filter(|_| !self.path.hold_read),
                connections,
                ..Sending::from(start)
            };
            end = self.stall(request, sending).unwrap_or(end);
        }
        let data = self.arrivals(request);
        let sent = if self.path.hold_read {
            self.path.delivered(&data, start)
        } else {
            (self.path).delivered_in_turns(&data, start, mark, connections)
        };
        let at = sent + self.overheads.read_completion;
        // Only the part of the connection after the media transfer is on the critical path.
        let exposed = start.since_or_zero(end).min(connect);
        let Approach {
            seek, settle, wait, ..
        } = media.approach;
        let processed = command.processed(overhead);
        let (queue, owed) = self.waits(command, overhead);
        let breakdown = Breakdown {
            queue,
            owed: owed + (media.called - processed),
            overhead: overhead + exposed + self.overheads.read_completion,
            seek,
            settle,
            rotation: wait,
            transfer: end - media.called - seek - settle - wait,
            bus: sent - end - exposed,
        };
        let open = match self.preseek {
            PreSeek::Acknowledged => at,
            PreSeek::CompletionReady => sent,
            // The next command begins after the required read-ahead.
            PreSeek::MediaDone => self.arm.if_called(&self.mechanism, end, &self.rules).since,
        };
        let completion = command.completed(at, breakdown, outcome);
        Service { completion, open }
    }

    #[inline]
    fn arrivals(&self, request: &Request) -> Arrivals<'_> {
        Arrivals {
            first: request.start,
            end: request.end(),
            pieces: &self.pieces,
        }
    }

    /// Delays the pass when the segment is full: a sector that would begin before the bus has made
    /// room for it is read a revolution later. Returns the time at which the last block has passed.
    #[cold]
    pub(super) fn stall(&mut self, request: &Request, mut sending: Sending) -> Option<Instant> {
        let physical = self.mechanism.layout.physical();
        let mut last = 0;
        let mut block = physical.first(request.start) + self.rules.segment;
        while block < request.end() {
            let data = self.arrivals(request);
            // The space of a physical sector is free once its last block has been sent.
            let freed = Lbn(block.0 - self.rules.segment.0) + physical.blocks() - request.start;
            while sending.sent < freed {
                self.path.send_next(&data, &mut sending);
            }
            while self.pieces.get(last)?.end_lbn() <= block {
                last += 1;
            }
            let piece = self.pieces[last];
            // Blocks before the first piece are already in the buffer.
            if piece.first <= block && piece.after(block - piece.first) < sending.now {
                self.wait_for_room(request, last, block, sending.now);
            }
            block = block + physical.blocks();
        }
        let piece = self.pieces.last()?;
        Some(piece.after(request.end() - piece.first))
    }

    /// Ends piece `number` before `block`, and reads `block` no earlier than `room`.
    fn wait_for_room(&mut self, request: &Request, number: usize, block: Lbn, room: Instant) {
        let Arm::Reading(reading) = self.arm else {
            return;
        };
        let piece = self.pieces[number];
        self.pieces.truncate(number);
        let read = block - piece.first;
        let mut from = if read.0 > 0 {
            let read = piece.before(read);
            self.pieces.push(read);
            read.position_after()
        } else {
            piece.position_after().with_since(piece.begin)
        };
        let goal = self.goal(request);
        let (mut at, mut ready) = (block, room);
        let (piece, in_place) = loop {
            let blocks = (at, goal.end);
            let (approach, piece) = self.mechanism.piece(true, from, Op::Read, blocks, ready);
            self.pieces.push(piece);
            if piece.end_lbn() >= request.end() {
                break (piece, piece.begin - approach.wait);
            }
            (at, from, ready) = (piece.end_lbn(), piece.position_after(), Instant::START);
        };
        let (scheme, follows) = (self.rules.read_ahead, self.follows_buffered_track(request));
        let pass = Reading::new(reading.segment, goal, piece, in_place, scheme, follows);
        self.arm = Arm::Reading(pass);
    }

    #[inline]
    pub(super) fn outgrows(&self, sectors: SectorCount) -> bool {
        sectors > self.rules.segment
    }
}
