//! A write cache that holds many ranges of dirty blocks, of which the policy of the drive's queue
//! chooses the next to put on the media.
//!
//! Two things continue side by side. The controller serves commands one at a time; a write that the
//! cache takes, and a read of what it holds, need no more. The arm serves all other commands, and
//! puts ranges on the media in between: commands go first, but if the first write that waits for
//! room cannot have it otherwise, commands and ranges take turns. What is begun is finished. How
//! drives divide their arm is not published; this is assumed.
//!
//! - The data of a write take room from its beginning until they are on the media, and join the
//!   ranges when all have come. A range that grows is new to the policy. Writes that wait for room
//!   keep their order.
//! - A read that the segments or the cache hold entirely is served from there, at once if no other
//!   command waits and only the arm is busy. Of any other read, blocks that the cache holds go to
//!   the media first.
//! - A flush puts everything on the media that the cache holds, in the policy's order; until that
//!   is done, nothing else is served.
//! - A write that is not to be absorbed replaces the blocks of it that the cache holds.
//! - If the drive does that, ranges or parts of them are put on the media in the gap of a command
//!   that needs the arm, where they do not delay it (`gap_writes`).

use std::collections::VecDeque;

use super::Drive;
use super::core::{Command, Core};
use super::overwrites::Writes;
use super::ranges::{Blocks, Change, Ranges};
use crate::device::{BufferWork, Outcome};
use crate::request::{Op, Ordering, Request};
use crate::sched::{Pending, Policy};
use crate::spec::{Spec, WriteCache};
use crate::units::{Instant, Lbn, SectorCount};

/// The cache, and what waits for it.
pub(super) struct Deferred {
    /// Chooses among the ranges.
    policy: Box<dyn Policy<Core>>,
    pub(super) ranges: Ranges,
    /// Room for dirty data.
    room: SectorCount,
    /// The longest that ranges become by touching each other.
    longest: SectorCount,
    /// Writes that are to be absorbed, in order.
    incoming: VecDeque<Pending>,
    /// The write that was absorbed last, and when all of its data will have come.
    arriving: Option<(Pending, Instant)>,
    /// The range that is being put on the media, and when it will be there.
    writing: Option<(Blocks, Instant)>,
    /// When the arm is free for the next command or range.
    arm_open: Instant,
    /// When something last began or arrived.
    clock: Instant,
    /// The arm was last used for a command.
    served_command: bool,
    pub(super) figures: BufferWork,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// A write that the cache takes.
    Absorb,
    /// A command of the queue.
    Command,
    /// A range on its way to the media.
    Destage,
}

impl Deferred {
    /// The empty cache of a drive; `None` if its cache is of another kind.
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
                figures: BufferWork::default(),
            })
        })
    }

    /// Dirty blocks that are not on their way to the media.
    fn waiting(&self) -> u64 {
        let arriving = self
            .arriving
            .map_or(0, |(write, _)| write.request.sectors.0);
        self.ranges.sectors().0 + arriving
    }

    /// When there is room for another write of `sectors`; `None` if a range must be written first.
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

    /// Lets go of what is on the media at `now`, and adds what has come by then.
    fn settle(&mut self, now: Instant, core: &mut Core) {
        self.clock = self.clock.max(now);
        self.writing = self.writing.filter(|(_, until)| *until > now);
        if let Some((write, come)) = self.arriving.take_if(|(_, at)| *at <= now) {
            let blocks = (write.request.start, write.request.end());
            let keeps_writes = core.landings.is_some();
            let change = (self.ranges).add(come, blocks, self.longest, keeps_writes);
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

    /// Begins to put the range on the media that the policy chooses at `now`, if any.
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
        self.put(now, &request, &writes, core);
        true
    }

    fn put(&mut self, now: Instant, request: &Request, writes: &Writes, core: &mut Core) {
        let end = core.destage(request, now, writes);
        self.writing = Some(((request.start, request.end()), end));
        self.arm_open = end;
        self.served_command = false;
        self.figures.destaged.0 += request.sectors.0;
    }

    /// Puts everything on the media, from `now` on.
    fn destage_all(&mut self, now: Instant, core: &mut Core) {
        let come = self.arriving.map_or(now, |(_, at)| at.max(now));
        self.settle(come, core);
        while self.destage(self.arm_open.max(come), core) {}
    }

    /// Puts the ranges on the media that have some of these blocks, from `now` on.
    fn destage_some(&mut self, now: Instant, blocks: Blocks, core: &mut Core) {
        for first in self.ranges.overlapping(blocks) {
            if let Some((request, writes)) = self.ranges.take_request(first) {
                let taken = self.policy.take(request.id);
                assert!(taken.is_some(), "the policy lost a range");
                self.put(self.arm_open.max(now), &request, &writes, core);
            }
        }
    }

    /// Drops blocks that a write puts on the media itself.
    fn replace(&mut self, now: Instant, blocks: Blocks, core: &mut Core) {
        let (change, replaced) = self.ranges.replace(now, blocks);
        self.change(change, core);
        if let Some(landings) = &mut core.landings {
            landings.replaced = replaced;
        }
    }

    /// Whether the cache has all blocks of a read.
    fn covers(&self, request: &Request) -> bool {
        let mut at = request.start;
        while at < request.end() {
            let writing = self
                .writing
                .filter(|((first, end), _)| (*first..*end).contains(&at));
            let end = writing.map(|((_, end), _)| end);
            match self.ranges.holding(at).or(end) {
                Some(end) => at = end,
                None => return false,
            }
        }
        !request.force_unit_access
    }

    /// The arm does something else until `end`.
    pub fn arm_is_busy(&mut self, end: Instant) {
        self.arm_open = self.arm_open.max(end);
    }

    /// Whether ranges wait at `at`, or are being put on the media.
    fn is_dirty(&self, at: Instant) -> bool {
        let is_writing = self.writing.is_some_and(|(_, until)| until > at);
        is_writing || self.waiting() > 0
    }

    /// Takes back a write that waits for room.
    pub fn take(&mut self, id: u64) -> Option<Pending> {
        let place = self.incoming.iter().position(|p| p.request.id == id)?;
        self.incoming.remove(place)
    }
}

impl Drive {
    /// What begins next, and when.
    fn next_start(&self, deferred: &Deferred) -> Option<(Instant, Start)> {
        let (queue, clock) = (&self.queue, deferred.clock);
        let first = deferred.incoming.front();
        let room = first.and_then(|first| deferred.room_for(first.request.sectors));
        let absorb = room.map(|room| (self.open.max(room).max(clock), Start::Absorb));
        let is_ordered = queue.is_special() && queue.next_is_ordered();
        let commands = !(queue.is_empty() || is_ordered && first.is_some());
        let come = match deferred.ranges.is_empty() {
            true => deferred.arriving.map(|(_, at)| at),
            false => Some(Instant::START),
        };
        let is_turn = first.is_some() && room.is_none() && deferred.served_command;
        let arm = match come {
            Some(come) if !commands || is_turn => {
                Some((deferred.arm_open.max(come).max(clock), Start::Destage))
            }
            _ if commands => {
                let ordered = if is_ordered { self.last } else { clock };
                // A flush does not need the arm to itself.
                let arm = if queue.next_is_flush() {
                    clock
                } else {
                    deferred.arm_open
                };
                let open = self.open.max(arm).max(ordered);
                Some((open.max(clock), Start::Command))
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

    /// When something happens that a command waits for, where the next one `completes` then.
    #[cold]
    #[inline(never)]
    pub(super) fn next_deferred(&self, completes: Option<Instant>) -> Option<Instant> {
        let waits = |of: &&Deferred| !of.incoming.is_empty() || !self.queue.is_empty();
        let Some(deferred) = self.deferred.as_deref().filter(waits) else {
            return completes;
        };
        let next = self.next_start(deferred).map(|(at, _)| at);
        let come = deferred.arriving.map(|(_, come)| come);
        completes.into_iter().chain(next).chain(come).min()
    }

    /// Begins all whose time has come by `now`.
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

    /// Begins what comes first, if its time has come by `now`; when that was. Data that have come
    /// make room, as they may overlap others.
    fn begin_first(&mut self, deferred: &mut Deferred, now: Instant) -> Option<Instant> {
        let next = self.next_start(deferred);
        let come = deferred.arriving.map(|(_, come)| come);
        let come = come.filter(|come| next.is_none_or(|(at, _)| *come <= at));
        if come.is_some() {
            return come.filter(|come| *come <= now);
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

    /// Takes a command, which may begin at once.
    #[cold]
    #[inline(never)]
    pub(super) fn submit_deferred(&mut self, now: Instant, request: Request) {
        let pending = Pending {
            request,
            arrived: now,
        };
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

    /// Whether a simple command that is not absorbed may begin on arrival.
    fn may_begin(&self, deferred: &Deferred, request: &Request, now: Instant) -> bool {
        let is_read = request.op == Op::Read;
        let is_held = is_read && (self.is_held(request, now) || deferred.covers(request));
        let is_turn = deferred.incoming.is_empty() || !deferred.served_command;
        self.open <= now && (is_held || deferred.arm_open <= now && is_turn)
    }

    fn is_held(&self, request: &Request, now: Instant) -> bool {
        self.core.is_held(request, now.max(self.open))
    }

    /// Begins a write that the cache has room for at `at`.
    fn absorb(&mut self, deferred: &mut Deferred, write: Pending, at: Instant) {
        self.core.dirty.on_media = at;
        let (outcome, end) = self.begin_apart(write.request, write.arrived);
        assert_eq!(outcome, Outcome::Absorbed);
        let received = end - self.core.overheads.write_completion;
        assert!(deferred.arriving.is_none(), "two writes at one time");
        deferred.arriving = Some((write, received));
    }

    /// Begins a command of the queue at `at`.
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
                // It was not free to wait with others that are absorbed.
                let mut room = deferred.room_for(request.sectors);
                while room.is_none() {
                    let next = deferred.arm_open.max(at);
                    deferred.settle(next, core);
                    deferred.destage(next, core);
                    room = deferred.room_for(request.sectors);
                }
                let room = room.map_or(at, |room| room.max(at));
                return self.absorb(deferred, command, room);
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
            let command = Command {
                request,
                arrived,
                open: self.open,
            };
            deferred.destage_in_gap(&command, at, &mut self.core);
        }
        let (outcome, _) = self.begin_apart(request, arrived);
        self.core.from_cache = false;
        if let Some(landings) = &mut self.core.landings {
            landings.replaced.clear();
        }
        if request.op != Op::Flush && outcome != Outcome::Hit {
            self.core.dirty.destaged = Lbn(u64::MAX);
            deferred.arm_open = deferred.arm_open.max(self.open);
            deferred.served_command = true;
        }
    }

    /// Takes other rules for the cache from `now` on. What it holds goes to the media if it does
    /// not remain such a cache; writes for which it will never have room wait with other commands.
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
                // What waited for the arm may begin, but not in the past.
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

    /// Puts all that the cache holds on the media, before anything else.
    pub(super) fn destage_all(&mut self, now: Instant) {
        if let Some(deferred) = &mut self.deferred {
            deferred.destage_all(now, &mut self.core);
            self.core.dirty.on_media = self.core.dirty.on_media.max(deferred.arm_open);
        }
    }
}
