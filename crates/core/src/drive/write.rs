//! Serving a write.

use super::arm::Arm;
use super::bus::HostPath;
use super::core::{Command, Core, Served};
use crate::device::{Breakdown, Outcome};
use crate::mechanics::{Approach, Piece, Position};
use crate::request::{Op, Request};
use crate::spec::{ExtraWriteDisconnect, WriteLeaves};
use crate::units::{Instant, Lbn, SectorCount, Span};

/// When a write's data come and its arm is called.
pub(super) struct Setup {
    /// Command overhead.
    overhead: Span,
    /// When the command has been processed.
    processed: Instant,
    /// When the drive may go on with it: owed data are flushed.
    go: Instant,
    /// When the bus begins to carry data.
    pub data: Instant,
    /// When the arm is called.
    pub arm_called: Instant,
    /// The media are not touched before this.
    ready: Instant,
    /// The extra disconnect, if the drive does one here.
    extra: Option<ExtraWriteDisconnect>,
    /// It continues data that are not on the media yet.
    appends: bool,
    /// It completes before it is on the media.
    absorbed: bool,
}

/// The media's and the bus's part of a write.
struct Transfer {
    /// How the arm got to the first piece.
    approach: Approach,
    /// When the last sector was on the media, and where the head is then.
    end: Position,
    /// When the drive had the last data.
    received: Instant,
}

impl Core {
    #[inline(always)]
    pub(super) fn write_setup(&self, command: &Command, extra_hit: Span) -> Setup {
        let request = &command.request;
        let begin = command.begin();
        let sequential = self.is_sequential(Op::Write, request);
        let (appends, absorbed) = (self.appends(request, begin), self.absorbs(request, begin));
        let after_write = self.last.op == Op::Write;
        // worthington94 appendix A: of two non-sequential writes the second has it.
        let extra = self
            .overheads
            .extra_write_disconnect
            .filter(|_| after_write && !sequential);
        let overhead = match extra {
            Some(extra) => extra.command,
            None if absorbed => self.costs.write_hit.of(self.last.op) + extra_hit,
            None => self.costs.write_miss.of(self.last.op),
        };
        let owed = if appends { begin } else { self.flushed(begin) };
        let processed = command.processed(overhead);
        let go = processed.max(owed);
        let (data, arm_called) = match extra {
            Some(extra) => {
                let back = go + extra.disconnect + extra.duration;
                (
                    back.max(self.bus_free) + self.path.reselect[0],
                    go + extra.seek_delay,
                )
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

    /// When the media write of a request of `sectors` may begin, whose data come from `data` on and
    /// which may continue the write before: when enough of them are there; if these are all, a
    /// minimum delay later.
    ///
    /// worthington94 table A.5 gives the number of blocks and the delay without saying what it
    /// begins with. On the HP C2247 writes of 1 to 9 blocks that need no seek begin 0.6 ms
    /// behind their last block, to within 0.1 ms; longer ones when ten blocks are there.
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

    pub(super) fn write(&mut self, command: &Command) -> Served {
        let request = &command.request;
        let mut setup = self.write_setup(command, Span::ZERO);
        if setup.absorbed && self.costs.write_hit_moves.is_some() {
            setup = self.setup_from_here(command, setup);
        }
        let stop = if setup.absorbed && self.rules.write_stops_read_ahead {
            command.begin()
        } else {
            setup.arm_called
        };
        let from = self.call(stop);
        let from = Position {
            since: from.since.max(setup.arm_called),
            ..from
        };
        if !setup.appends {
            self.dirty.runs.clear();
        }
        let late = self.scatter(Op::Write, from, request.start);
        let start = Position {
            since: from.since.shifted(late),
            ..from
        };
        let mut transfer = self.transfer(request, &setup, start);
        if late != Span::ZERO {
            transfer.approach = transfer.approach.late(late);
        }
        self.keep_written(request);
        self.arm = Arm::Free(transfer.end);
        if setup.absorbed {
            self.dirty.end = request.end();
            self.dirty.on_media = transfer.end.since;
        }
        self.complete_write(command, &setup, from, &transfer)
    }

    /// The setup of an absorbed write with the arm where it is; `setup` if it is on the cylinder.
    #[inline(never)]
    fn setup_from_here(&self, command: &Command, setup: Setup) -> Setup {
        let Some(moves) = self.costs.write_hit_moves else {
            return setup;
        };
        let from = self
            .arm
            .if_called(&self.mechanism, setup.arm_called, &self.rules);
        let to = self.mechanism.layout.extent(command.request.start);
        match self.costs.moves(from.cylinder, to.cylinder) {
            Some(far) => self.write_setup(command, moves[usize::from(far)]),
            None => setup,
        }
    }

    fn complete_write(
        &self,
        command: &Command,
        setup: &Setup,
        from: Position,
        transfer: &Transfer,
    ) -> Served {
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
            return Served { completion, open };
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
        Served { completion, open }
    }

    /// When the completion message of a write that went to the media is ready.
    fn write_reconnected(&self, setup: &Setup, transfer: &Transfer) -> Instant {
        let end = transfer.end.since;
        let stays = match self.write_leaves {
            WriteLeaves::AfterData => false,
            WriteLeaves::IfSeeking => transfer.arm_rests_at(setup) <= transfer.received,
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

    /// The buffer after a write: what it makes stale is dropped, its data stay in a segment.
    fn keep_written(&mut self, request: &Request) {
        if !self.rules.caching {
            return;
        }
        self.buffer.invalidate(request);
        let before = request.start.0.checked_sub(1).map(Lbn);
        let continued = before
            .filter(|_| self.rules.combine_writes && self.is_sequential(Op::Write, request))
            .and_then(|before| self.buffer.holding(before));
        let segment = match continued {
            Some((segment, _)) => segment,
            None => self.buffer.claim_for_write(request.start),
        };
        if self.rules.hits_on_written {
            self.buffer.fill(segment, request.end());
            if self.fate.is_some() {
                self.buffer.transferred(segment, request);
            }
        }
    }

    /// Moves the data of a write through the buffer to the media.
    #[inline]
    fn transfer(&mut self, request: &Request, setup: &Setup, from: Position) -> Transfer {
        if self.unwritten(setup) + request.sectors <= self.rules.segment {
            self.transfer_with_room(request, setup, from)
        } else {
            self.transfer_in_step(request, setup, from)
        }
    }

    /// Sectors that the write appends to and that are not on the media when its data come.
    #[inline]
    fn unwritten(&mut self, setup: &Setup) -> SectorCount {
        if !setup.appends {
            return SectorCount(0);
        }
        let runs = &mut self.dirty.runs;
        runs.retain(|run| run.end() > setup.data);
        let left = runs
            .iter()
            .map(|run| run.sectors.0 - run.done(setup.data).0);
        SectorCount(left.sum())
    }

    /// The common case: the segment has room for all, so the bus never waits. A sector that the
    /// media reach before it has come is written a revolution later.
    #[inline]
    fn transfer_with_room(&mut self, request: &Request, setup: &Setup, from: Position) -> Transfer {
        let sector = self.path.write_sector;
        let received = setup.data + sector * request.sectors.0;
        let (mut at, mut position, mut ready) = (request.start, from, setup.ready);
        let mut first = None;
        let mut is_late = false;
        while at < request.end() {
            let blocks = (at, request.end());
            let (approach, mut piece) =
                self.mechanism
                    .any_piece(first.is_some(), position, Op::Write, blocks, ready);
            first.get_or_insert(approach);
            let before = (at - request.start).0;
            let come = setup.data + sector * before;
            let taken = in_time(&piece, come, sector);
            if taken < piece.sectors {
                is_late = true;
                // The rest waits for its sector to come round.
                ready = come + sector * (taken.0 + 1);
                position = Position {
                    since: piece.after(taken),
                    ..piece.position_after()
                };
                piece = piece.before(taken);
            } else {
                let landed_with_all = received <= piece.begin - approach.wait;
                if self.rules.write_on_arrival && landed_with_all && !is_late {
                    let period = self.mechanism.rotation.period();
                    piece = piece.on_arrival(approach.wait, piece.sectors, period);
                }
                position = piece.position_after();
            }
            at = piece.end_lbn();
            if setup.absorbed && taken.0 > 0 {
                self.dirty.runs.push(piece);
            }
            if let Some(landings) = &mut self.landings {
                landings.add(piece, self.mechanism.rotation.period());
            }
        }
        Transfer {
            approach: first.unwrap_or_default(),
            end: position,
            received,
        }
    }

    /// Sector by sector, as the segment may be full: then a sector is taken from the host only when
    /// there is room again.
    #[cold]
    fn transfer_in_step(&mut self, request: &Request, setup: &Setup, from: Position) -> Transfer {
        let mut flow = Flow {
            path: &self.path,
            capacity: self.rules.segment.0 as usize,
            resume_below: self.resume_below(request),
            received: setup.data,
            written: Vec::new(),
        };
        // What it appends to takes room in the same segment.
        for run in &self.dirty.runs {
            let done = run.done(setup.data).0;
            flow.written
                .extend((done..run.sectors.0).map(|k| run.after(SectorCount(k + 1))));
        }
        let (mut at, mut position, mut ready) = (request.start, from, setup.ready);
        let mut first: Option<Approach> = None;
        while at < request.end() {
            let blocks = (at, request.end());
            let (approach, piece) =
                self.mechanism
                    .any_piece(first.is_some(), position, Op::Write, blocks, ready);
            first.get_or_insert(approach);
            let (taken, late) = flow.write(&piece);
            at = piece.first + taken;
            if setup.absorbed && taken.0 > 0 {
                self.dirty.runs.push(piece.before(taken));
            }
            if let Some(landings) = &mut self.landings {
                landings.add(piece.before(taken), self.mechanism.rotation.period());
            }
            position = match taken {
                SectorCount(0) => Position {
                    since: piece.begin,
                    ..piece.position_after()
                },
                _ => piece.before(taken).position_after(),
            };
            // The media may have overtaken the bus: the rest waits for its sector to come round.
            ready = late.unwrap_or(ready);
        }
        let approach = first.unwrap_or_default();
        Transfer {
            approach,
            end: position,
            received: flow.received,
        }
    }

    /// Of a write that fills the buffer, how many sectors may be left to write when the bus
    /// comes back; `None` when it goes on as soon as there is room, because it held on or has
    /// no watermark.
    fn resume_below(&self, request: &Request) -> Option<usize> {
        let holds = self.hold_write || self.never_disconnect || self.rules.write_watermark == 0.0;
        (!holds).then(|| self.costs.write_mark.sectors(request.sectors).0 as usize)
    }
}

/// Sectors of `piece` that the media write when they pass for the first time: those that are in the
/// buffer by then. `come` is when the bus begins with the first, and each takes it `sector`.
#[inline]
fn in_time(piece: &Piece, come: Instant, sector: Span) -> SectorCount {
    let is_late = |k: u64| come + sector * (k + 1) > piece.after(SectorCount(k));
    if is_late(0) {
        return SectorCount(0);
    }
    // If the bus is faster, no sector is later than the first, and if it is slower, than the last.
    let (mut taken, mut late) = (0, piece.sectors.0 - 1);
    if !is_late(late) {
        return piece.sectors;
    }
    while taken + 1 < late {
        let middle = taken.midpoint(late);
        *(if is_late(middle) {
            &mut late
        } else {
            &mut taken
        }) = middle;
    }
    SectorCount(late)
}

/// Data of a write on their way from the bus through a segment to the media.
struct Flow<'a> {
    path: &'a HostPath,
    /// Room in the segment.
    capacity: usize,
    /// See [`Core::resume_below`].
    resume_below: Option<usize>,
    /// When the newest sector came over the bus.
    received: Instant,
    /// When each sector was on the media.
    written: Vec<Instant>,
}

impl Flow<'_> {
    /// Writes the sectors of `piece` that come in time; how many, and when the first one that
    /// did not was there.
    fn write(&mut self, piece: &Piece) -> (SectorCount, Option<Instant>) {
        for taken in 0..piece.sectors.0 {
            let there = self.receive();
            if there > piece.after(SectorCount(taken)) {
                return (SectorCount(taken), Some(there));
            }
            self.received = there;
            self.written.push(piece.after(SectorCount(taken + 1)));
        }
        (piece.sectors, None)
    }

    /// When the next sector is in the buffer.
    fn receive(&self) -> Instant {
        let next = self.written.len();
        let sector = self.path.write_sector;
        let full = next
            .checked_sub(self.capacity)
            .map(|freed| (freed, self.written[freed]));
        match (full, self.resume_below) {
            (Some((_, room)), None) if room > self.received => room + sector,
            (Some((freed, room)), Some(left)) if room > self.received => {
                // Until only `left` of the sectors in the buffer are still to be written.
                let low = (next - left.min(self.capacity)).clamp(freed, next - 1);
                self.written[low] + self.path.reselect[1] + sector
            }
            _ => self.received + sector,
        }
    }
}

impl Transfer {
    /// When the arm stood over the first track.
    fn arm_rests_at(&self, setup: &Setup) -> Instant {
        setup.arm_called + (self.approach.seek + self.approach.settle)
    }
}
