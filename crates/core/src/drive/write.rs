//! Serving a write.

use super::arm::Arm;
use super::core::{Command, Core, Dirty, Served, watermark};
use super::{Breakdown, Outcome};
use crate::mechanics::{Approach, Pass, Piece, Position};
use crate::request::{Op, Request};
use crate::spec::{ExtraWriteDisconnect, WatermarkOf, WriteLeaves};
use crate::units::{Instant, Lbn, SectorCount, Span};

/// When a write's data come and its arm is called.
pub(super) struct Setup {
    /// Command overhead.
    overhead: Span,
    /// When it is over.
    go: Instant,
    /// When the bus begins to carry data.
    data: Instant,
    /// When the arm is called.
    pub arm_called: Instant,
    /// The media are not touched before this.
    pub ready: Instant,
    /// The extra disconnect, if the drive does one here.
    extra: Option<ExtraWriteDisconnect>,
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
    pub(super) fn write_setup(&self, command: &Command) -> Setup {
        let request = &command.request;
        let begin = command.begin();
        let sequential = self.is_sequential_write(request);
        let (appends, absorbed) = (self.appends(request, begin), self.absorbs(request, begin));
        let after_write = self.last.op == Op::Write;
        // worthington94 appendix A: of two non-sequential writes the second has it.
        let extra = self
            .overheads
            .extra_write_disconnect
            .filter(|_| after_write && !sequential);
        let o = &self.overheads;
        let overhead = match extra {
            Some(extra) => extra.command,
            None => match (absorbed, after_write) {
                (true, false) => o.write_hit_after_read,
                (true, true) => o.write_hit_after_write,
                (false, false) => o.write_miss_after_read,
                (false, true) => o.write_miss_after_write,
            },
        };
        let owed = if appends { begin } else { self.flushed(begin) };
        let go = command.processed(overhead).max(owed);
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
        let first = self.write_start(request);
        let enough = data + self.path.write_sector * first.0;
        let minimum = if first == request.sectors {
            o.write_minimum_delay
        } else {
            Span::ZERO
        };
        let ready = enough + minimum;
        Setup {
            overhead,
            go,
            data,
            arm_called,
            ready,
            extra,
            absorbed,
        }
    }

    /// How many sectors the media write of a request waits for (worthington94 table A.5).
    fn write_start(&self, request: &Request) -> SectorCount {
        let start = self.overheads.write_start;
        let wanted = if request.sectors < start.large_from {
            start.small
        } else {
            start.large
        };
        wanted.min(request.sectors).min(self.rules.segment)
    }

    pub(super) fn write(&mut self, command: &Command) -> Served {
        let request = &command.request;
        let setup = self.write_setup(command);
        let stop = if setup.absorbed && self.rules.write_stops_read_ahead {
            command.begin()
        } else {
            setup.arm_called
        };
        let from = self
            .arm
            .leave(&self.mechanism, &mut self.buffer, stop, &self.rules);
        let from = Position {
            since: from.since.max(setup.arm_called),
            ..from
        };
        let transfer = self.transfer(request, &setup, from);
        self.keep_written(request);
        self.arm = Arm::Free(transfer.end);
        self.dirty = setup.absorbed.then_some(Dirty {
            end: request.end(),
            on_media: transfer.end.since,
        });
        self.complete_write(command, &setup, from, &transfer)
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
        let queue = setup.go - command.arrived - setup.overhead;
        if setup.absorbed {
            let at = transfer.received + completion;
            let breakdown = Breakdown {
                queue,
                overhead: setup.overhead + preparation + completion,
                bus: transfer.received - setup.go - preparation,
                ..Breakdown::default()
            };
            let open = self.next_open(transfer.received, transfer.received, at);
            return Served {
                at,
                open,
                breakdown,
                outcome: Outcome::Absorbed,
            };
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
            queue: queue + (from.since - setup.arm_called),
            overhead: setup.overhead + late_call + (ready - end) + completion,
            seek,
            settle,
            rotation: wait,
            transfer: end - from.since - seek - settle - hold - wait,
            bus: hold,
        };
        let open = self.next_open(end, ready, at);
        Served {
            at,
            open,
            breakdown,
            outcome: Outcome::Miss,
        }
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
            .filter(|_| self.rules.combine_writes && self.is_sequential_write(request))
            .and_then(|before| self.buffer.holding(before));
        let segment = match continued {
            Some((segment, _)) => segment,
            None => self.buffer.claim_for_write(request.start),
        };
        if self.rules.hits_on_written {
            self.buffer.fill(segment, request.end());
        }
    }

    /// Moves the data of a write through the buffer to the media.
    fn transfer(&mut self, request: &Request, setup: &Setup, from: Position) -> Transfer {
        let pass = Pass {
            op: Op::Write,
            next: request.start,
            end: request.end(),
            from,
        };
        if request.sectors <= self.rules.segment
            && let Some(transfer) = self.transfer_freely(request, setup, pass)
        {
            return transfer;
        }
        self.transfer_in_step(request, setup, pass)
    }

    /// The common case: the segment has room for all, and the media never catch up with the
    /// bus. `None` where they would.
    #[inline]
    fn transfer_freely(
        &self,
        request: &Request,
        setup: &Setup,
        mut pass: Pass,
    ) -> Option<Transfer> {
        let sector = self.path.write_sector;
        let received = setup.data + sector * request.sectors.0;
        let mut first = None;
        while pass.next < request.end() {
            let at = (pass.next - request.start).0;
            let (approach, mut piece) = pass.step(&self.mechanism, setup.ready);
            let last = SectorCount(piece.sectors.0 - 1);
            let in_time = setup.data + sector * (at + 1) <= piece.begin
                && setup.data + sector * (at + last.0 + 1) <= piece.after(last);
            if !in_time {
                return None;
            }
            let landed_with_all = received <= piece.begin - approach.wait;
            if self.rules.write_on_arrival && landed_with_all {
                let period = self.mechanism.rotation.period();
                piece = piece.on_arrival(approach.wait, piece.sectors, period);
                pass.continue_after(&piece);
            }
            first.get_or_insert(approach);
        }
        let approach = first.unwrap_or_default();
        Some(Transfer {
            approach,
            end: pass.from,
            received,
        })
    }

    /// Sector by sector: a sector is written when it is in the buffer, else a revolution later;
    /// it is taken from the host when the segment has room.
    fn transfer_in_step(&self, request: &Request, setup: &Setup, mut pass: Pass) -> Transfer {
        let capacity = self.rules.segment.0 as usize;
        let mut written: Vec<Instant> = Vec::with_capacity(request.sectors.0 as usize);
        let mut received = setup.data;
        let mut ready = setup.ready;
        let mut first: Option<Approach> = None;
        while pass.next < request.end() {
            let (approach, piece) = pass.step(&self.mechanism, ready);
            first.get_or_insert(approach);
            let mut taken = 0;
            while taken < piece.sectors.0 {
                let i = written.len();
                if i >= capacity {
                    received = self.room_for(received, &written, i - capacity, request);
                }
                received += self.path.write_sector;
                if received > piece.after(SectorCount(taken)) {
                    break;
                }
                taken += 1;
                written.push(piece.after(SectorCount(taken)));
            }
            if taken < piece.sectors.0 {
                // The media have overtaken the bus: the rest waits for its sector to come round.
                self.cut(&mut pass, &piece, SectorCount(taken));
                ready = received;
                received = received - self.path.write_sector;
            }
        }
        let total = setup.data + self.path.write_sector * request.sectors.0;
        let approach = first.unwrap_or_default();
        Transfer {
            approach,
            end: pass.from,
            received: received.max(total),
        }
    }

    /// Puts a pass back to behind the first `taken` sectors of its newest piece.
    fn cut(&self, pass: &mut Pass, piece: &Piece, taken: SectorCount) {
        if taken.0 > 0 {
            pass.continue_after(&piece.before(taken));
        } else {
            pass.next = piece.first;
            pass.from = Position {
                since: piece.begin,
                ..piece.position_after()
            };
        }
    }

    /// When the bus goes on after the buffer was full: at once when it held on, else when less
    /// than the watermark is left to write and it has reconnected.
    fn room_for(
        &self,
        now: Instant,
        written: &[Instant],
        freed: usize,
        request: &Request,
    ) -> Instant {
        if written[freed] <= now {
            return now;
        }
        if self.hold_write || self.never_disconnect {
            return written[freed];
        }
        let of = match self.rules.watermark_of {
            WatermarkOf::Request => request.sectors,
            WatermarkOf::Segment => self.rules.segment,
        };
        let left = watermark(self.rules.write_watermark, of, self.rules.segment).0 as usize;
        let low = (written.len() - left.min(written.len() - freed)).max(freed + 1) - 1;
        written[low].max(now) + self.path.reselect[1]
    }
}

impl Transfer {
    /// When the arm stood over the first track.
    fn arm_rests_at(&self, setup: &Setup) -> Instant {
        setup.arm_called + (self.approach.seek + self.approach.settle)
    }
}
