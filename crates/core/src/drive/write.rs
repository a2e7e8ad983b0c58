//! Serving a write.
//!
//! A drive can write only whole physical sectors. If a run begins or ends within a physical sector
//! whose other blocks are not in the buffer, the run passes the head twice: the drive reads the
//! missing blocks, and writes the run a revolution later. No measurement shows how real drives do
//! this. The model assumes that the head settles as for a write, and that the whole run is written
//! in the second revolution. The blocks that were read stay in the buffer with the data of the
//! write.
//!
//! A write may append to dirty data in the write cache. If the last run of these data ends within a
//! physical sector and has not begun, it is planned again together with the new data.

use super::arm::{Arm, Reading};
use super::bus::{Flow, in_time};
use super::core::{Command, Core, Lacks, Service, Tail};
use crate::device::{Breakdown, Outcome};
use crate::mechanics::{Approach, Piece, Position};
use crate::request::{Op, Request};
use crate::spec::{ExtraWriteDisconnect, WriteCache, WriteLeaves};
use crate::units::{Instant, Lbn, SectorCount, Span};

/// The times at which a write's data arrive and at which it needs the arm.
pub(super) struct Setup {
    overhead: Span,
    processed: Instant,
    /// The time at which the drive may continue with the write, after pending flushes.
    go: Instant,
    pub data: Instant,
    pub arm_called: Instant,
    /// Earliest access to the media.
    pub ready: Instant,
    extra: Option<ExtraWriteDisconnect>,
    /// True if the write continues data that are not yet on the media.
    appends: bool,
    absorbed: bool,
}

pub(super) struct Transfer {
    pub approach: Approach,
    /// The position of the head at the end of the last sector.
    pub end: Position,
    pub received: Instant,
}

impl Core {
    #[inline(always)]
    pub(super) fn write_setup(&self, command: &Command, extra_hit: Span) -> Setup {
        let request = &command.request;
        let begin = command.begin();
        let sequential = self.is_sequential(Op::Write, request);
        let (appends, absorbed) = (self.appends(request, begin), self.absorbs(request, begin));
        let after_write = self.last.op == Op::Write;
        // A nonsequential write after a write disconnects once more (worthington94, appendix A).
        let has_extra = after_write && !sequential;
        let extra = (self.overheads.extra_write_disconnect).filter(|_| has_extra);
        let overhead = match extra {
            Some(extra) => extra.command,
            None if absorbed => self.costs.write_hit.after(self.last.op) + extra_hit,
            None => self.costs.write_miss.after(self.last.op),
        };
        let owed = if appends { begin } else { self.flushed(begin) };
        let processed = command.processed(overhead);
        let go = processed.max(owed);
        let (data, arm_called) = match extra {
            Some(extra) => {
                let back = (go + extra.disconnect + extra.duration).max(self.bus_free);
                (back + self.path.reselect[0], go + extra.seek_delay)
            }
            None => (go.max(self.bus_free) + self.path.preparation, go),
        };
        let ready = self.write_ready(request.sectors, sequential, data);
        Setup {
            overhead,
            processed,
            go,
            data,
            arm_called,
            ready,
            extra,
            appends,
            absorbed,
        }
    }

    /// Returns the earliest time to write a request whose data arrive from `data` on: when enough
    /// are buffered or, if that is the whole request, a minimum delay later.
    ///
    /// Table A.5 of worthington94 gives the number of blocks and the delay, but not when the delay
    /// starts. On the HP C2247, writes of 1 to 9 blocks that need no seek begin 0.6 ms after their
    /// last block has arrived, to within 0.1 ms. Longer writes begin when ten blocks have arrived.
    #[inline]
    pub(super) fn write_ready(
        &self,
        sectors: SectorCount,
        is_sequential: bool,
        data: Instant,
    ) -> Instant {
        let start = self.overheads.write_start;
        let wanted = match start.sequential {
            Some(sequential) if is_sequential => sequential,
            _ if sectors < start.large_from => start.small,
            _ => start.large,
        };
        let first = wanted.min(sectors).min(self.rules.segment);
        let enough = data + self.path.write_sector * first.0;
        if first == sectors {
            enough + self.overheads.write_minimum_delay
        } else {
            enough
        }
    }

    pub(super) fn write(&mut self, command: &Command) -> Service {
        let request = &command.request;
        let mut setup = self.write_setup(command, Span::ZERO);
        if setup.absorbed && self.rules.write_cache == WriteCache::Deferred {
            return self.absorb(command, &setup);
        }
        if setup.absorbed && self.costs.write_hit_moves.is_some() {
            setup = self.setup_from_here(command, setup);
        }
        let stop = if setup.absorbed && self.rules.write_stops_read_ahead {
            command.begin()
        } else {
            setup.arm_called
        };
        let mut from = self.call(stop);
        from.since = from.since.max(setup.arm_called);
        if !setup.appends {
            self.dirty.runs.clear();
        }
        let mut media = self.media_of(request, from);
        let mut late = Span::ZERO;
        if self.dirty.tail.is_some()
            && let Some(joining) = self.joining(request, &setup)
        {
            media = joining;
        } else {
            late = self.scatter(Op::Write, from, request.start);
            media.from.since = from.since.shifted(late);
        }
        let mut transfer = self.transfer(request, &setup, media);
        if late != Span::ZERO {
            transfer.approach = transfer.approach.delayed_by(late);
        }
        self.keep_written(request);
        self.arm = Arm::Free(transfer.end);
        if setup.absorbed {
            self.dirty.end = request.end();
            self.dirty.on_media = transfer.end.since;
        }
        self.complete_write(command, &setup, from, &transfer)
    }

    /// Returns the setup of an absorbed write, including the extra time if the arm must move.
    #[inline(never)]
    fn setup_from_here(&self, command: &Command, setup: Setup) -> Setup {
        let Some(moves) = self.costs.write_hit_moves else {
            return setup;
        };
        let (at, rules) = (setup.arm_called, &self.rules);
        let from = self.arm.if_called(&self.mechanism, at, rules);
        let to = self.mechanism.layout.extent(command.request.start);
        match self.costs.moves(from.cylinder, to.cylinder) {
            Some(far) => self.write_setup(command, moves[usize::from(far)]),
            None => setup,
        }
    }

    #[inline(always)]
    pub(super) fn complete_write(
        &self,
        command: &Command,
        setup: &Setup,
        from: Position,
        transfer: &Transfer,
    ) -> Service {
        let completion = self.overheads.write_completion;
        let preparation = self.path.preparation;
        let (queue, owed) = self.waits(command, setup.overhead);
        let flush = owed + (setup.go - setup.processed);
        if setup.absorbed {
            let at = transfer.received + completion;
            let breakdown = Breakdown {
                queue,
                owed: flush,
                overhead: setup.overhead + preparation + completion,
                bus: transfer.received - setup.go - preparation,
                ..Breakdown::default()
            };
            let open = self.next_open(transfer.received, transfer.received, at);
            let completion = command.completed(at, breakdown, Outcome::Absorbed);
            return Service { completion, open };
        }
        let end = transfer.end.since;
        let ready = self.write_reconnected(setup, transfer);
        let at = ready + completion;
        let Approach {
            seek,
            settle,
            hold,
            wait,
        } = transfer.approach;
        let late_call = setup.arm_called - setup.go;
        let breakdown = Breakdown {
            queue,
            owed: flush + (from.since - setup.arm_called),
            overhead: setup.overhead + late_call + (ready - end) + completion,
            seek,
            settle,
            rotation: wait,
            transfer: end - from.since - seek - settle - hold - wait,
            bus: hold,
        };
        let open = self.next_open(end, ready, at);
        let completion = command.completed(at, breakdown, Outcome::Miss);
        Service { completion, open }
    }

    /// Returns the time at which the completion message of a write to the media is ready.
    fn write_reconnected(&self, setup: &Setup, transfer: &Transfer) -> Instant {
        let end = transfer.end.since;
        let stays = match self.write_leaves {
            WriteLeaves::AfterData => false,
            WriteLeaves::IfSeeking => {
                let Approach { seek, settle, .. } = transfer.approach;
                setup.arm_called + (seek + settle) <= transfer.received
            }
        };
        if self.never_disconnect || stays {
            return end;
        }
        let o = &self.overheads;
        let (leave, back) = match setup.extra {
            Some(extra) => (extra.second_disconnect, o.other_reselect),
            None => (o.write_disconnect, o.first_reselect),
        };
        end.max(transfer.received + leave) + back
    }

    /// Updates the buffer after a write: drops stale blocks and keeps the write's data.
    #[inline(always)]
    pub(super) fn keep_written(&mut self, request: &Request) {
        if !self.rules.caching {
            return;
        }
        self.buffer.invalidate(request);
        let physical = self.mechanism.layout.physical();
        let before = request.start.0.checked_sub(1).map(Lbn);
        let continued = before
            .filter(|_| self.rules.combine_writes && self.is_sequential(Op::Write, request))
            .and_then(|before| self.buffer.holding(before));
        let segment = match continued {
            Some((segment, _)) => segment,
            None => self.buffer.claim_for_write(physical.first(request.start)),
        };
        if self.rules.hits_on_written {
            self.buffer.fill(segment, physical.end(request.end()));
            if self.fate.is_some() {
                self.buffer.record_transfer(segment, request);
            }
        }
    }

    #[inline(always)]
    fn transfer(&mut self, request: &Request, setup: &Setup, media: Media) -> Transfer {
        let held = self.unwritten(setup) + media.joined(request);
        if held + request.sectors <= self.rules.segment {
            self.transfer_with_room(request, setup, media)
        } else {
            self.transfer_in_step(request, setup, media)
        }
    }

    /// Returns the number of preceding sectors still unwritten when the data of a write arrive.
    #[inline]
    pub(super) fn unwritten(&mut self, setup: &Setup) -> SectorCount {
        if !setup.appends {
            return SectorCount(0);
        }
        let runs = &mut self.dirty.runs;
        runs.retain(|run| run.end() > setup.data);
        let left = |run: &Piece| run.sectors.0 - run.done(setup.data).0;
        SectorCount(runs.iter().map(left).sum())
    }

    /// Transfers a write in the common case: the segment holds all data, so the bus never waits. A
    /// sector that passes the head before its data have arrived is written a revolution later.
    #[inline(always)]
    fn transfer_with_room(
        &mut self,
        request: &Request,
        setup: &Setup,
        mut media: Media,
    ) -> Transfer {
        let sector = self.path.write_sector;
        let received = setup.data + sector * request.sectors.0;
        let come = |end: Lbn| {
            let sectors = end.min(request.end()).0.saturating_sub(request.start.0);
            setup.data + sector * sectors
        };
        let physical = self.mechanism.layout.physical();
        let period = self.mechanism.rotation.period();
        let (mut at, end) = (physical.first(media.first), physical.end(media.end));
        let (mut position, mut ready) = (media.from, setup.ready);
        let mut first: Option<Approach> = None;
        let mut is_late = false;
        let ends_within = setup.absorbed && !physical.begins_at(media.end);
        while at < end {
            let continues = media.continues || first.is_some();
            let (mut approach, mut piece) =
                (self.mechanism).piece(continues, position, Op::Write, (at, end), ready);
            if ends_within {
                self.dirty.tail = Some(media.tail(position, continues, at));
            }
            let reads = media.reads(&piece);
            if reads {
                piece = piece.next_time(period);
                approach.wait += period;
            }
            first.get_or_insert(approach);
            let taken = if received <= piece.begin {
                piece.sectors
            } else {
                in_time(&piece, physical, come)
            };
            if taken < piece.sectors {
                is_late = true;
                // The rest is written a revolution later.
                ready = come(at + taken + physical.blocks());
                position = piece.position_after().with_since(piece.after(taken));
                piece = piece.before(taken);
            } else {
                let landed_with_all = received <= piece.begin - approach.wait;
                if self.rules.write_on_arrival && landed_with_all && !is_late && !reads {
                    piece = piece.on_arrival(approach.wait, piece.sectors, period);
                }
                position = piece.position_after();
            }
            at = piece.end_lbn();
            self.put_on_media(piece, (media.first, media.end), setup.absorbed);
        }
        Transfer {
            approach: first.unwrap_or_default(),
            end: position,
            received,
        }
    }

    /// Records a run, of which the host wrote only the blocks `written`.
    #[inline(always)]
    fn put_on_media(&mut self, piece: Piece, written: (Lbn, Lbn), absorbed: bool) {
        if absorbed && piece.sectors.0 > 0 {
            self.dirty.runs.push(piece);
        }
        if self.persist_log.is_some() {
            self.log_run(piece, written);
        }
    }

    /// A separate function because the log is rarely enabled.
    #[cold]
    #[inline(never)]
    fn log_run(&mut self, piece: Piece, written: (Lbn, Lbn)) {
        if let Some(persist_log) = &mut self.persist_log {
            persist_log.add(piece, written, self.mechanism.rotation.period());
        }
    }

    /// Transfers a write sector by sector, because a full segment makes the bus wait.
    #[cold]
    fn transfer_in_step(&mut self, request: &Request, setup: &Setup, mut media: Media) -> Transfer {
        let physical = self.mechanism.layout.physical();
        let mut flow = Flow {
            path: &self.path,
            capacity: self.rules.segment.0 as usize,
            resume_below: self.resume_below(request),
            received: setup.data,
            written: Vec::new(),
        };
        // The data to which the write appends occupy room in the same segment.
        for run in &self.dirty.runs {
            let done = run.done(setup.data).0;
            let left = done..run.sectors.0;
            (flow.written).extend(left.map(|k| run.after(SectorCount(k + 1))));
        }
        let (mut at, end) = (physical.first(media.first), physical.end(media.end));
        let (mut position, mut ready) = (media.from, setup.ready);
        let mut first: Option<Approach> = None;
        let mut runs = Vec::new();
        while at < end {
            let (mut approach, mut piece) =
                (self.mechanism).piece(first.is_some(), position, Op::Write, (at, end), ready);
            if media.reads(&piece) {
                let period = self.mechanism.rotation.period();
                piece = piece.next_time(period);
                approach.wait += period;
            }
            first.get_or_insert(approach);
            let (taken, late) = flow.write(&piece, physical, request);
            at = piece.first + taken;
            runs.push(piece.before(taken));
            position = match taken {
                SectorCount(0) => piece.position_after().with_since(piece.begin),
                _ => piece.before(taken).position_after(),
            };
            // If the media have overtaken the bus, the rest is written a revolution later.
            ready = late.unwrap_or(ready);
        }
        let received = flow.received;
        for run in runs {
            self.put_on_media(run, (media.first, media.end), setup.absorbed);
        }
        Transfer {
            approach: first.unwrap_or_default(),
            end: position,
            received,
        }
    }

    /// Returns the number of unwritten sectors at which the bus reconnects after a write has filled
    /// the buffer; `None` if the bus stays connected or has no watermark.
    fn resume_below(&self, request: &Request) -> Option<usize> {
        let holds = self.hold_write || self.never_disconnect || self.rules.write_watermark == 0.0;
        (!holds).then(|| self.costs.write_mark.sectors(request.sectors).0 as usize)
    }
}

/// The blocks `first..end` that a write puts on the media, which may include earlier dirty data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Media {
    pub from: Position,
    /// True if the write continues a run on another track.
    pub continues: bool,
    pub first: Lbn,
    pub end: Lbn,
    pub lacks: Lacks,
}

impl Media {
    #[inline]
    fn tail(&self, from: Position, continues: bool, at: Lbn) -> Tail {
        Tail {
            from,
            continues,
            first: self.first.max(at),
            lacks: self.lacks,
        }
    }

    /// Returns the number of earlier dirty blocks included.
    pub fn joined(&self, request: &Request) -> SectorCount {
        request.start - self.first
    }

    /// Returns true if `run` must be read before it is written. Each end is read once.
    #[inline]
    pub fn reads(&mut self, run: &Piece) -> bool {
        if self.lacks == Lacks::default() {
            return false;
        }
        let before = self.lacks.before && run.first <= self.first;
        let behind = self.lacks.behind && run.end_lbn() >= self.end;
        self.lacks.before &= !before;
        self.lacks.behind &= !behind;
        before || behind
    }
}

impl Core {
    /// Returns the media transfer of a write that begins with the head at `from`.
    #[inline]
    pub(super) fn media_of(&self, request: &Request, from: Position) -> Media {
        Media {
            from,
            continues: false,
            first: request.start,
            end: request.end(),
            lacks: self.lacks(request, Instant::START, None),
        }
    }

    /// Returns true if each block is a physical sector, so that no write covers only part of one.
    #[inline]
    pub(super) fn writes_blocks(&self) -> bool {
        self.mechanism.layout.physical().is_block()
    }

    /// Returns the parts that a write begun at `begin` must read first. `pass` has been advanced to
    /// `begin`.
    #[inline]
    fn lacks(&self, request: &Request, begin: Instant, pass: Option<&Reading>) -> Lacks {
        if self.writes_blocks() {
            return Lacks::default();
        }
        let physical = self.mechanism.layout.physical();
        let (start, end) = (request.start, request.end());
        let lacks = |from: Lbn, to: Lbn| {
            let held = self.held(from, begin, pass);
            from < to && held.is_none_or(|(_, held)| held < to)
        };
        Lacks {
            before: lacks(physical.first(start), start),
            behind: lacks(end, physical.end(end)),
        }
    }

    /// Returns how long reading missing blocks on its first track delays a write begun at `begin`.
    #[cold]
    pub(super) fn reads_before(&self, request: &Request, begin: Instant) -> Span {
        if request.op != Op::Write || self.writes_blocks() {
            return Span::ZERO;
        }
        let lacks = self.lacks(request, begin, self.pass_at(begin).as_ref());
        if lacks.before || lacks.behind {
            self.mechanism.rotation.period()
        } else {
            Span::ZERO
        }
    }

    /// Returns the media transfer of an absorbed write joined with the last run of dirty data, if
    /// that run ends within a physical sector and has not begun.
    #[cold]
    #[inline(never)]
    pub(super) fn joining(&mut self, request: &Request, setup: &Setup) -> Option<Media> {
        let tail = self.dirty.tail.take()?;
        let run = *self.dirty.runs.last()?;
        let fits = self.unwritten(setup) + request.sectors <= self.rules.segment;
        let period = self.mechanism.rotation.period();
        let begins = run.in_passing_order(period)[0].map(|part| part.begin);
        if !(setup.appends && setup.absorbed) || begins <= Some(setup.ready) || !fits {
            return None;
        }
        self.dirty.runs.pop();
        if let Some(persist_log) = &mut self.persist_log {
            persist_log.retract(run, period);
        }
        let physical = self.mechanism.layout.physical();
        let mut lacks = self.lacks(request, Instant::START, None);
        lacks.before = tail.lacks.before;
        if physical.end(request.end()) == run.end_lbn() {
            lacks.behind = tail.lacks.behind && !physical.begins_at(request.end());
        }
        Some(Media {
            from: tail.from,
            continues: tail.continues,
            first: tail.first,
            end: request.end(),
            lacks,
        })
    }
}
