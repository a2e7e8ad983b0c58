//! Estimates of request times for policies and predictions, and trial runs on a copy of the drive.

use super::core::{Command, Core};
use crate::extent::Extent;
use crate::mechanics::Position;
use crate::request::{Op, Request};
use crate::sched::{Estimate, Outlook, Rehearse, Shape};
use crate::units::{Angle, Cylinder, Instant, Lbn, SectorCount, Span};

/// The state of a drive for a command that is chosen at a given instant.
pub struct View<'a> {
    core: &'a Core,
    /// Position of the head if the request is a read.
    read_from: Position,
    /// Position of the head if the request is a write; read-ahead may have moved the head.
    write_from: Position,
    /// Maximum distance in cylinders between the position for reads and any position for writes.
    max_distance: u32,
    write_data: Instant,
    /// Positions and data arrivals of absorbed writes to another cylinder and to another zone, if
    /// these take longer. Their times are measured from the same instant as those of other writes.
    moved: Option<[(Position, Instant); 2]>,
    /// True if all writes start from the same position and none has to read blocks first.
    is_plain: bool,
    begin: Instant,
}

impl Estimate for Core {
    type Outlook<'a> = View<'a>;
    type Rehearsal = Rehearsal;

    fn shape(&self) -> Shape {
        let layout = &self.mechanism.layout;
        Shape {
            sectors: layout.sectors(),
            cylinders: layout.cylinders(),
            revolution: self.mechanism.rotation.period(),
        }
    }

    #[inline]
    fn locate(&self, request: &Request) -> Extent {
        let layout = &self.mechanism.layout;
        layout.extent(layout.physical().first(request.start))
    }

    /// Commands that wait in the drive have been processed, so their overhead has already passed.
    fn outlook(&self, now: Instant) -> View<'_> {
        self.view(Instant::START, now)
    }

    fn rehearse(&self) -> Rehearsal {
        Rehearsal::new(self, true, Instant::START)
    }
}

impl Core {
    /// Returns the state for a command that arrived at `arrived` and is chosen at `now`. Assumes
    /// that its blocks are not in the buffer and that it does not continue the previous command.
    pub fn view(&self, arrived: Instant, now: Instant) -> View<'_> {
        let request = Request::new(0, Op::Write, Lbn(u64::MAX), SectorCount(1));
        let command = Command::new(request, arrived, now);
        let write = self.write_setup(&command, Span::ZERO);
        let read = command.processed(self.costs.read_miss.after(self.last.op));
        let called = |at| self.arm.if_called(&self.mechanism, at, &self.rules);
        let read_from = called(read.max(self.flushed(now)));
        let from_cache = self.from_cache;
        let write_from = called(if from_cache { now } else { write.arm_called });
        let moved = self.costs.write_hit_moves.map(|moves| {
            moves.map(|extra| {
                let write = self.write_setup(&command, extra);
                (called(write.arm_called), write.data)
            })
        });
        let away = |from: Position| read_from.cylinder.distance(from.cylinder);
        let farthest = moved.iter().flatten().map(|(from, _)| away(*from)).max();
        View {
            core: self,
            read_from,
            write_from,
            max_distance: away(write_from).max(farthest.unwrap_or(0)),
            write_data: write.data,
            is_plain: !from_cache && moved.is_none() && self.writes_blocks(),
            moved,
            begin: command.begin(),
        }
    }

    /// Returns a copy for trials of requests that an external scheduler submits one at a time. The
    /// drive cannot begin before `open`, because an absorbed write may keep it busy after its
    /// completion.
    pub fn rehearse_outside(&self, open: Instant) -> Rehearsal {
        Rehearsal::new(self, false, open)
    }
}

impl View<'_> {
    /// Returns the head's position and the earliest start of the transfer for a request at `place`.
    pub fn called(&self, request: &Request, place: &Extent) -> (Position, Instant) {
        let (from, ready, _) = self.start(request, place);
        (from, ready)
    }

    /// Returns the position of the head for a request, the time at which its data are available,
    /// and the extra time if it needs the arm later than usual or must read missing blocks first.
    #[inline]
    fn start(&self, request: &Request, place: &Extent) -> (Position, Instant, Span) {
        if request.op.is_read() {
            return (self.read_from, Instant::START, Span::ZERO);
        }
        if !self.is_plain {
            return self.start_write(request, place);
        }
        let data = self.write_data;
        let ready = self.core.write_ready(request.sectors, false, data);
        (self.write_from, ready, Span::ZERO)
    }

    /// Like [`View::start`], but for less common writes: those from the cache, those that take
    /// extra time on another cylinder, and those of part of a physical sector.
    #[inline(never)]
    fn start_write(&self, request: &Request, place: &Extent) -> (Position, Instant, Span) {
        let reading = self.core.reads_before(request, self.begin);
        if self.core.from_cache {
            return (self.write_from, Instant::START, reading);
        }
        let (mut from, mut data) = (self.write_from, self.write_data);
        if let Some(moved) = &self.moved
            && self.core.absorbs(request, self.begin)
            && let Some(far) = self.core.costs.moves(from.cylinder, place.cylinder)
        {
            (from, data) = moved[usize::from(far)];
        }
        let ready = self.core.write_ready(request.sectors, false, data);
        (from, ready, from.since - self.write_from.since + reading)
    }
}

impl Outlook for View<'_> {
    #[inline]
    fn cylinder(&self) -> Cylinder {
        self.read_from.cylinder
    }

    #[inline]
    fn angle(&self, op: Op) -> Angle {
        let (read, write) = (&self.read_from, &self.write_from);
        let from = if op.is_read() { read } else { write };
        self.core.mechanism.rotation.angle(from.since)
    }

    #[inline]
    fn positioning(&self, request: &Request, place: &Extent) -> Span {
        let (from, ready, late) = self.start(request, place);
        let mechanism = &self.core.mechanism;
        late + mechanism.positioning(from, request.op, place, ready)
    }

    fn access(&self, request: &Request, place: &Extent) -> Span {
        let (from, ready, late) = self.start(request, place);
        let mechanism = &self.core.mechanism;
        let physical = mechanism.layout.physical();
        let op = request.op;
        let (start, end) = (physical.first(request.start), physical.end(request.end()));
        let (_, mut piece) = mechanism.piece_of(false, from, op, (start, end), place, ready);
        while piece.end_lbn() < end {
            let remaining = (piece.end_lbn(), end);
            (_, piece) = mechanism.piece(true, piece.position_after(), op, remaining, ready);
        }
        late + (piece.end() - from.since)
    }

    fn seek(&self, request: &Request, place: &Extent) -> Span {
        let (from, ..) = self.start(request, place);
        let mechanism = &self.core.mechanism;
        mechanism.movement(request.op, from, place.cylinder, place.head)
    }

    fn is_buffered(&self, request: &Request) -> bool {
        request.op.is_read() && self.core.is_buffered(request, self.begin)
    }

    #[inline]
    fn min_seek(&self, distance: u32) -> Span {
        let nearer = distance.saturating_sub(self.max_distance);
        self.core.mechanism.seek.min(nearer)
    }
}

/// A copy of a drive's mechanism, buffer and host path.
#[derive(Clone, Debug)]
pub struct Rehearsal {
    core: Core,
    /// True if requests wait in the drive's own queue, where they have already been processed.
    is_inside: bool,
    open: Instant,
    over: Instant,
}

impl Rehearsal {
    fn new(core: &Core, is_inside: bool, open: Instant) -> Self {
        Self {
            core: core.without_fate(),
            is_inside,
            open,
            over: Instant::START,
        }
    }

    fn arrival(&self, now: Instant) -> Instant {
        if self.is_inside { Instant::START } else { now }
    }
}

impl Estimate for Rehearsal {
    type Outlook<'a> = View<'a>;
    type Rehearsal = Self;

    crate::forward!(core: shape locate);

    #[inline]
    fn outlook(&self, now: Instant) -> View<'_> {
        self.core.view(self.arrival(now), now)
    }

    fn rehearse(&self) -> Self {
        self.clone()
    }
}

impl Rehearse for Rehearsal {
    fn serve(&mut self, now: Instant, request: &Request) -> Instant {
        let command = Command::new(*request, self.arrival(now), now.max(self.open));
        let served = self.core.serve(&command);
        self.open = served.open;
        self.over = served.completion.at;
        if self.is_inside { self.open } else { self.over }
    }

    fn completed_at(&self) -> Instant {
        self.over
    }
}
