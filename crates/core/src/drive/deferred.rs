//! A write cache of many dirty ranges, which are destaged in the order of the drive's queue policy.
//!
//! The controller and the arm work in parallel. The controller serves one command at a time. A
//! write that the cache absorbs, or a read of blocks that it holds, does not need the arm. The arm
//! serves all other commands and destages ranges between them. Commands have priority, but while
//! the oldest waiting write has no room in the cache, commands and ranges alternate. Nothing is
//! interrupted. How real drives divide the arm's time is not published; these rules are
//! assumptions.
//!
//! - The data of a write occupy room in the cache from the start of the write until they are on the
//!   media. They become a range once all of them have arrived. To the policy, a range that grows
//!   is a new request. Writes that wait for room keep their order.
//! - A read whose blocks are all in the segments, or all in the cache, is served from there. If no
//!   other command waits and only the arm is busy, it is served immediately. Before any other read,
//!   the ranges that the read overlaps are destaged.
//! - A flush destages the whole cache, in the policy's order, before anything else is served.
//! - A write that is not absorbed removes its blocks from the cache.
//! - With `destage_in_gaps`, ranges or parts of them are also destaged during the rotational
//!   latency of a command that needs the arm. This does not delay the command.

use std::collections::VecDeque;

use super::Drive;
use super::arm::Arm;
use super::core::{Command, Core, Service};
use super::ranges::{Blocks, Change, Ranges, Writes};
use super::write::{Setup, Transfer};
use crate::device::{Breakdown, BufferWork, Outcome};
use crate::freeblock::DirtySearch;
use crate::mechanics::Approach;
use crate::request::{Op, Ordering, Request, Stroke};
use crate::sched::{Pending, Policy, take};
use crate::spec::{Spec, WriteCache};
use crate::units::{Instant, Lbn, SectorCount};

pub(super) struct Deferred {
    policy: Box<dyn Policy<Core>>,
    pub(super) ranges: Ranges,
    room: SectorCount,
    /// Maximum length of a range merged from adjacent ones.
    longest: SectorCount,
    incoming: VecDeque<Pending>,
    /// The most recently absorbed write, and the time at which its last data arrive.
    arriving: Option<(Pending, Instant)>,
    /// The range being destaged, and the time at which it will be on the media.
    writing: Option<(Blocks, Instant)>,
    arm_open: Instant,
    /// The latest time at which an operation started or data arrived.
    clock: Instant,
    served_command: bool,
    pub(super) work: BufferWork,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    Absorb,
    Command,
    Destage,
}

impl Deferred {
    /// Creates the empty cache of a drive; `None` if the cache is not deferred.
    pub fn new(spec: &Spec, core: &Core) -> Option<Box<Self>> {
        let rules = &spec.buffer;
        let defers = rules.caching && rules.write_cache == WriteCache::Deferred;
        defers.then(|| {
            Box::new(Self {
                policy: spec.queue.policy.policy(core),
                ranges: Ranges::default(),
                room: rules.dirty_max,
                longest: rules.segment,
                incoming: VecDeque::new(),
                arriving: None,
                writing: None,
                arm_open: Instant::START,
                clock: Instant::START,
                served_command: false,
                work: BufferWork::default(),
            })
        })
    }

    /// Returns the number of dirty blocks that are not being destaged.
    fn waiting(&self) -> u64 {
        let arriving = self.arriving.map(|(write, _)| write.request.sectors);
        (self.ranges.sectors() + arriving.unwrap_or_default()).0
    }

    /// Returns the time from which a write has room; `None` if a range must be destaged first.
    fn room_for(&self, sectors: SectorCount) -> Option<Instant> {
        let wanted = self.waiting() + sectors.0;
        let (writing, until) = match self.writing {
            Some(((first, end), until)) => (end.0 - first.0, until),
            None => (0, Instant::START),
        };
        if wanted + writing <= self.room.0 {
            Some(self.clock)
        } else {
            (wanted <= self.room.0).then_some(until)
        }
    }

    /// Removes the range that is on the media by `now`, and adds the write whose data have arrived.
    fn settle(&mut self, now: Instant, core: &mut Core) {
        self.clock = self.clock.max(now);
        self.writing = self.writing.filter(|(_, until)| *until > now);
        if let Some((write, arrival)) = self.arriving.take_if(|(_, at)| *at <= now) {
            let blocks = (write.request.start, write.request.end());
            let keeps_writes = core.persist_log.is_some();
            let change = (self.ranges).add(arrival, blocks, self.longest, keeps_writes);
            self.change(change, core);
        }
    }

    pub(super) fn change(&mut self, change: Change, core: &mut Core) {
        core.from_cache = true;
        for id in change.gone {
            let gone = self.policy.take(id);
            assert!(gone.is_some(), "the policy lost a range");
        }
        for new in change.new {
            self.policy.add(new, core);
        }
        core.from_cache = false;
    }

    /// Starts destaging the policy's choice at `now`. Returns false if no range waits.
    fn destage(&mut self, now: Instant, core: &mut Core) -> bool {
        core.from_cache = true;
        let next = self.policy.next(now, core);
        core.from_cache = false;
        let Some(Pending { request, .. }) = next else {
            assert!(self.ranges.is_empty(), "the policy lost a range");
            return false;
        };
        let range = self.ranges.take(request.start);
        let writes = range.map_or_else(Writes::default, |range| range.writes);
        self.destage_range(now, &request, &writes, core);
        true
    }

    fn destage_range(&mut self, now: Instant, request: &Request, writes: &Writes, core: &mut Core) {
        let end = core.destage(request, now, writes);
        self.writing = Some(((request.start, request.end()), end));
        self.arm_open = end;
        self.served_command = false;
        self.work.destaged.0 += request.sectors.0;
    }

    fn destage_all(&mut self, now: Instant, core: &mut Core) {
        let arrival = self.arriving.map_or(now, |(_, at)| at.max(now));
        self.settle(arrival, core);
        while self.destage(self.arm_open.max(arrival), core) {}
    }

    fn destage_some(&mut self, now: Instant, blocks: Blocks, core: &mut Core) {
        for first in self.ranges.overlapping(blocks) {
            if let Some((request, writes)) = self.ranges.take_request(first) {
                let removed = self.policy.take(request.id);
                assert!(removed.is_some(), "the policy lost a range");
                self.destage_range(self.arm_open.max(now), &request, &writes, core);
            }
        }
    }

    fn replace(&mut self, now: Instant, blocks: Blocks, core: &mut Core) {
        let (change, replaced) = self.ranges.replace(now, blocks);
        self.change(change, core);
        if let Some(persist_log) = &mut core.persist_log {
            persist_log.replaced = replaced;
        }
    }

    fn covers(&self, request: &Request) -> bool {
        let mut at = request.start;
        while at < request.end() {
            let writing = self.writing.map(|(blocks, _)| blocks);
            let holding = writing.filter(|(first, end)| (*first..*end).contains(&at));
            match self.ranges.holding(at).or(holding.map(|(_, end)| end)) {
                Some(end) => at = end,
                None => return false,
            }
        }
        !request.force_unit_access
    }

    pub fn arm_is_busy(&mut self, end: Instant) {
        self.arm_open = self.arm_open.max(end);
    }

    fn is_dirty(&self, at: Instant) -> bool {
        let is_writing = self.writing.is_some_and(|(_, until)| until > at);
        is_writing || self.waiting() > 0
    }

    pub fn take(&mut self, id: u64) -> Option<Pending> {
        take(&mut self.incoming, id)
    }
}

impl Drive {
    fn next_start(&self, deferred: &Deferred) -> Option<(Instant, Start)> {
        let (queue, clock) = (&self.queue, deferred.clock);
        let first = deferred.incoming.front();
        let room = first.and_then(|first| deferred.room_for(first.request.sectors));
        let absorb = room.map(|room| (self.open.max(room).max(clock), Start::Absorb));
        let is_ordered = queue.is_special() && queue.next_is_ordered();
        let commands = !(queue.is_empty() || is_ordered && first.is_some());
        let arrival = if deferred.ranges.is_empty() {
            deferred.arriving.map(|(_, at)| at)
        } else {
            Some(Instant::START)
        };
        let is_turn = first.is_some() && room.is_none() && deferred.served_command;
        let arm = match arrival {
            Some(arrival) if !commands || is_turn => {
                Some((deferred.arm_open.max(arrival).max(clock), Start::Destage))
            }
            _ if commands => {
                let ordered = if is_ordered { self.last } else { clock };
                let mut open = self.open.max(ordered).max(clock);
                // A flush does not need exclusive use of the arm.
                if !queue.next_is_flush() {
                    open = open.max(deferred.arm_open);
                }
                Some((open, Start::Command))
            }
            _ => None,
        };
        match (absorb, arm) {
            (Some(absorb), Some(arm)) => {
                let goes_first = queue.is_special() && arm.1 == Start::Command;
                let is_first = arm.0 < absorb.0 || arm.0 == absorb.0 && goes_first;
                Some(if is_first { arm } else { absorb })
            }
            (absorb, arm) => absorb.or(arm),
        }
    }

    /// Returns the time of the next event in the drive; `completes` is its next completion.
    #[cold]
    #[inline(never)]
    pub(super) fn next_deferred(&self, completes: Option<Instant>) -> Option<Instant> {
        let waits = |of: &&Deferred| !of.incoming.is_empty() || !self.queue.is_empty();
        let Some(deferred) = self.deferred.as_deref().filter(waits) else {
            return completes;
        };
        let next = self.next_start(deferred).map(|(at, _)| at);
        let arrival = deferred.arriving.map(|(_, arrival)| arrival);
        completes.into_iter().chain(next).chain(arrival).min()
    }

    #[cold]
    #[inline(never)]
    pub(super) fn begin_deferred(&mut self, now: Instant) {
        let Some(mut deferred) = self.deferred.take() else {
            return;
        };
        while let Some(at) = self.begin_first(&mut deferred, now) {
            deferred.settle(at, &mut self.core);
        }
        deferred.settle(now, &mut self.core);
        self.deferred = Some(deferred);
    }

    /// Starts the next operation due by `now`, unless data arrive first. Returns the time of
    /// whichever comes first.
    fn begin_first(&mut self, deferred: &mut Deferred, now: Instant) -> Option<Instant> {
        let next = self.next_start(deferred);
        if let Some((_, arrival)) = deferred.arriving
            && next.is_none_or(|(at, _)| arrival <= at)
        {
            return (arrival <= now).then_some(arrival);
        }
        let (at, start) = next.filter(|(at, _)| *at <= now)?;
        deferred.settle(at, &mut self.core);
        match start {
            Start::Destage => {
                deferred.destage(at, &mut self.core);
            }
            Start::Absorb => {
                if let Some(write) = deferred.incoming.pop_front() {
                    self.absorb(deferred, write, at);
                }
            }
            Start::Command => {
                if let Some(command) = self.queue.next(at, &self.core) {
                    self.begin_command(deferred, command, at);
                }
            }
        }
        Some(at)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn submit_deferred(&mut self, now: Instant, request: Request) {
        let arrived = now;
        let pending = Pending { request, arrived };
        let is_simple = request.is_simple_transfer();
        let Some(mut deferred) = self.deferred.take() else {
            return;
        };
        if is_simple && self.core.defers(&request) && !self.queue.is_fenced() {
            deferred.incoming.push_back(pending);
        } else if is_simple && self.queue.is_empty() && self.may_begin(&deferred, &request, now) {
            self.queue.note_bypass(&request, &self.core);
            self.begin_command(&mut deferred, pending, now);
        } else if is_simple {
            self.queue.add(pending, &self.core);
        } else {
            self.queue.add_special(pending, &self.core);
        }
        self.deferred = Some(deferred);
        self.begin_deferred(now);
    }

    /// Returns true if a simple command that is not absorbed may begin on arrival.
    fn may_begin(&self, deferred: &Deferred, request: &Request, now: Instant) -> bool {
        let is_read = request.op == Op::Read;
        let is_held = is_read && (self.is_held(request, now) || deferred.covers(request));
        let is_turn = deferred.incoming.is_empty() || !deferred.served_command;
        self.open <= now && (is_held || deferred.arm_open <= now && is_turn)
    }

    fn is_held(&self, request: &Request, now: Instant) -> bool {
        self.core.is_held(request, now.max(self.open))
    }

    fn absorb(&mut self, deferred: &mut Deferred, write: Pending, at: Instant) {
        self.core.dirty.on_media = at;
        let (outcome, end) = self.begin_one_cold(write.request, write.arrived);
        assert_eq!(outcome, Outcome::Absorbed);
        let received = end - self.core.overheads.write_completion;
        assert!(deferred.arriving.is_none(), "two writes are arriving");
        deferred.arriving = Some((write, received));
    }

    fn begin_command(&mut self, deferred: &mut Deferred, command: Pending, at: Instant) {
        let request = &command.request;
        if !request.is_simple_transfer() {
            self.queue.note_served(request, &self.core);
        }
        let is_ordered = request.ordering == Ordering::Ordered;
        if is_ordered {
            self.open = at;
        }
        self.serve_command(deferred, command, at);
        if is_ordered {
            self.open = self.open.max(self.last);
        }
    }

    fn serve_command(&mut self, deferred: &mut Deferred, command: Pending, at: Instant) {
        let Pending { request, arrived } = command;
        let blocks = (request.start, request.end());
        let core = &mut self.core;
        match request.op {
            Op::Write if core.defers(&request) => {
                // Unlike writes in `incoming`, a write from the queue has not waited for room yet.
                let mut room = deferred.room_for(request.sectors);
                while room.is_none() {
                    let next = deferred.arm_open.max(at);
                    deferred.settle(next, core);
                    deferred.destage(next, core);
                    room = deferred.room_for(request.sectors);
                }
                return self.absorb(deferred, command, room.map_or(at, |room| room.max(at)));
            }
            Op::Flush => {
                deferred.destage_all(at, core);
                core.dirty.on_media = core.dirty.on_media.max(deferred.arm_open);
            }
            Op::Write => deferred.replace(at, blocks, core),
            Op::Read if core.is_held(&request, at) => {}
            Op::Read if deferred.covers(&request) => core.from_cache = true,
            Op::Read => deferred.destage_some(at, blocks, core),
        }
        let dirty = &mut self.core.dirty;
        dirty.on_media = at.max(dirty.on_media);
        dirty.waits = deferred.is_dirty(at);
        if self.core.rules.destage_in_gaps {
            let command = Command::new(request, arrived, self.open);
            deferred.destage_in_gap(&command, at, &mut self.core);
        }
        let (outcome, _) = self.begin_one_cold(request, arrived);
        self.core.from_cache = false;
        if let Some(persist_log) = &mut self.core.persist_log {
            persist_log.replaced = Writes::default();
        }
        if request.op != Op::Flush && outcome != Outcome::Hit {
            self.core.dirty.destaged = Lbn(u64::MAX);
            deferred.arm_open = deferred.arm_open.max(self.open);
            deferred.served_command = true;
        }
    }

    /// Changes the rules of the cache at `now`. If the cache is no longer deferred, its contents
    /// are destaged. Writes that no longer fit are added to the queue of other commands.
    pub(super) fn set_deferred(&mut self, now: Instant, spec: &Spec) {
        let new = Deferred::new(spec, &self.core);
        match (&mut self.deferred, new) {
            (Some(deferred), Some(new)) => {
                (deferred.room, deferred.longest) = (new.room, new.longest);
                deferred.clock = deferred.clock.max(now);
                let incoming = std::mem::take(&mut deferred.incoming);
                for pending in incoming {
                    if pending.request.sectors <= deferred.room {
                        deferred.incoming.push_back(pending);
                    } else {
                        self.queue.add_in_front(pending, &self.core);
                    }
                }
            }
            (Some(_), None) => {
                self.destage_all(now);
                let incoming = self.deferred.take().map(|deferred| deferred.incoming);
                for pending in incoming.into_iter().flatten() {
                    self.queue.add_in_front(pending, &self.core);
                }
                self.core.dirty.waits = false;
                // Commands that waited for the arm may begin, but not in the past.
                self.open = self.open.max(now);
            }
            (None, new) => {
                self.deferred = new.map(|mut deferred| {
                    deferred.clock = now;
                    deferred.arm_open = self.open.max(self.core.dirty.on_media);
                    deferred
                });
            }
        }
    }

    pub(super) fn destage_all(&mut self, now: Instant) {
        if let Some(deferred) = &mut self.deferred {
            deferred.destage_all(now, &mut self.core);
            self.core.dirty.on_media = self.core.dirty.on_media.max(deferred.arm_open);
        }
    }
}

const WRITES: usize = 5;

impl Deferred {
    /// Destages ranges in the gap before a command that begins at `at`, without delaying it.
    ///
    /// Arm movements are assumed to take their mean times. If the head arrives late for a write,
    /// the write begins with the next sector, and the blocks that have passed stay dirty.
    #[cold]
    #[inline(never)]
    pub(super) fn destage_in_gap(&mut self, command: &Command, at: Instant, core: &mut Core) {
        if self.ranges.is_empty() {
            return;
        }
        let found = core.fill_gap(command, Op::Write, |gap| {
            let conservatism = core.rules.destage_conservatism;
            let ranges = self.ranges.blocks();
            DirtySearch::new(&core.mechanism, ranges, gap, conservatism).fill(gap, WRITES)
        });
        let Some((found, mut from)) = found else {
            return;
        };
        let period = core.mechanism.rotation.period();
        for transfer in &found {
            let result = core.pass_in_gap(from, transfer, Op::Write);
            from = result.end;
            let Some(piece) = result.piece else {
                continue;
            };
            let (change, writes) = self.ranges.replace(at, (piece.first, piece.end_lbn()));
            self.change(change, core);
            self.work.destaged.0 += piece.sectors.0;
            self.work.in_gaps.0 += piece.sectors.0;
            self.work.writes_in_gaps += 1;
            if let Some(persist_log) = &mut core.persist_log {
                persist_log.add_all(piece, &writes, period);
            }
        }
    }
}

impl Core {
    #[inline]
    pub(super) fn defers(&self, request: &Request) -> bool {
        self.rules.write_cache == WriteCache::Deferred
            && request.op == Op::Write
            && self.absorbs(request, Instant::START)
    }

    /// Serves a write that the cache absorbs. Read-ahead ends, because its blocks may become stale.
    #[cold]
    pub(super) fn absorb(&mut self, command: &Command, setup: &Setup) -> Service {
        let position = match self.arm {
            Arm::Free(position) => position,
            Arm::Reading(_) => self.call(command.begin()),
        };
        self.arm = Arm::Free(position);
        self.keep_written(&command.request);
        let received = setup.data + self.path.write_sector * command.request.sectors.0;
        let transfer = Transfer {
            approach: Approach::default(),
            end: position,
            received,
        };
        self.complete_write(command, setup, position, &transfer)
    }

    /// Serves a read from the cache, or, on a trial copy, a write that destages a range.
    #[cold]
    #[inline(never)]
    pub(super) fn serve_from_cache(&mut self, command: &Command) -> Service {
        let request = &command.request;
        if request.op == Op::Write {
            let end = self.destage(request, command.begin(), &Writes::default());
            let completion = command.completed(end, Breakdown::default(), Outcome::Miss);
            return Service {
                completion,
                open: end,
            };
        }
        let times = self.hit_times(command);
        self.complete_hit(command, &times)
    }

    /// Interrupts the arm at `at` to destage a range. Returns the time at which it is on the media.
    ///
    /// The data are in the cache, so neither the bus nor processing takes time. A range that
    /// continues the previously destaged one needs no settle if the head is still in place.
    pub(super) fn destage(&mut self, request: &Request, at: Instant, writes: &Writes) -> Instant {
        if let Ordering::Simple(stroke) = request.ordering
            && stroke != Stroke::Direct
        {
            self.go_by(stroke, at);
        }
        let mut continues = self.dirty.destaged == request.start;
        let from = self.call(at);
        let mut media = self.media_of(request, from);
        if !continues {
            let late = self.scatter(Op::Write, from, request.start);
            media.from.since = from.since.shifted(late);
        }
        let physical = self.mechanism.layout.physical();
        let period = self.mechanism.rotation.period();
        let (mut first, end) = (physical.first(media.first), physical.end(media.end));
        let mut position = media.from;
        while first < end {
            let (blocks, start) = ((first, end), Instant::START);
            let (approach, mut piece) =
                (self.mechanism).piece(continues, position, Op::Write, blocks, start);
            if media.reads(&piece) {
                piece = piece.next_time(period);
            } else if self.rules.write_on_arrival {
                piece = piece.on_arrival(approach.wait, piece.sectors, period);
            }
            if let Some(persist_log) = &mut self.persist_log {
                persist_log.add_all(piece, writes, period);
            }
            (first, position, continues) = (piece.end_lbn(), piece.position_after(), true);
        }
        self.arm = Arm::Free(position);
        self.dirty.destaged = request.end();
        position.since
    }
}

#[cfg(all(test, feature = "toml"))]
mod tests {
    use super::*;
    use crate::drive::Drive;
    use crate::sched::{Estimate, Outlook};
    use crate::spec::parse;
    use crate::units::{Angle, Lbn, SectorCount, Span};

    const TINY: &str = include_str!("../../tests/drive/tiny.toml");

    /// Returns a drive that destages block `at`, and the time at which this block is on the media.
    fn after(at: u64) -> (Core, Instant) {
        let text = format!(
            "{}[buffer]\ncaching = true\ndirty_max = \"9 sectors\"\n\
             write_cache = \"deferred\"\n[overheads]\nwrite_miss_after_read = \"0.4 ms\"\n\
             write_minimum_delay = \"0.9 ms\"\n[bus]\nwrite_sector = \"0.1 ms\"\n",
            TINY.replace("head_switch", "write_settle = \"0.7 ms\"\nhead_switch"),
        );
        let spec = parse(&text, "tiny.toml").expect("a valid specification");
        let mut core = Drive::new(&spec, Angle::ZERO).expect("a layout").core;
        core.from_cache = true;
        let range = Request::new(0, Op::Write, Lbn(at), SectorCount(1));
        let begin = Instant::START + Span::from_ms(0.3);
        let end = core.destage(&range, begin, &Writes::default());
        (core, end)
    }

    #[test]
    fn policies_estimate_the_time_to_destage_a_range() {
        for (at, start, sectors) in (0..200).flat_map(|n| [(7, n, 1), (n, 90, 12), (n, 23, 4)]) {
            let (mut core, now) = after(at);
            if at + 1 == start {
                // Policies do not know that a range that continues another needs no settle.
                continue;
            }
            let range = Request::new(1, Op::Write, Lbn(start), SectorCount(sectors));
            let place = core.locate(&range);
            let estimate = now + core.outlook(now).access(&range, &place);
            let command = Command::new(range, Instant::START, now);
            let tried = core.clone().serve_from_cache(&command);
            let end = core.destage(&range, now, &Writes::default());
            assert_eq!((estimate, tried.open), (end, end), "{at} {start}");
        }
    }

    #[test]
    fn a_range_that_continues_another_needs_no_settle() {
        // The next sector of the same track, and the first of the next track, skewed by two.
        for (at, ms) in [(23, 1.0), (29, 3.0)] {
            let (mut core, now) = after(at);
            let range = Request::new(1, Op::Write, Lbn(at + 1), SectorCount(1));
            let elapsed = core.destage(&range, now, &Writes::default()) - now;
            let error = elapsed - Span::from_ms(ms);
            assert!(error.as_ns().abs() < 10, "{at} {elapsed}");
        }
    }
}
