//! One drive's state, and how it serves one command after another.
//!
//! Serving a command computes its whole future at once: when the arm moves, when data pass,
//! when the bus carries them, when the host learns of it. Nothing that happens later changes
//! it, because a drive does one thing at a time with its mechanism.

use super::Rehearsal;
use super::arm::Arm;
use super::bus::HostPath;
use super::chance::Fate;
use super::costs::Costs;
use super::landings::Landings;
use super::part::Tail;
use crate::buffer::Buffer;
use crate::device::{Breakdown, Completion, Outcome, Status};
use crate::extent::Extent;
use crate::geometry::Physical;
use crate::mechanics::{Mechanism, Piece, Position};
use crate::request::{Op, Ordering, Request, Stroke};
use crate::sched::{Estimate, Outlook, Shape};
use crate::spec::{self, Overheads, PreSeek, Spec, WriteCache, WriteLeaves};
use crate::units::{Angle, Cylinder, Head, Instant, Lbn, SectorCount, Span};

/// Mechanism, buffer and host path of a drive, without its command queue.
#[derive(Clone, Debug)]
pub struct Core {
    pub(super) mechanism: Mechanism,
    pub(super) path: HostPath,
    pub(super) rules: spec::Buffer,
    pub(super) costs: Costs,
    pub(super) overheads: Overheads,
    pub(super) write_leaves: WriteLeaves,
    pub(super) never_disconnect: bool,
    pub(super) hold_write: bool,
    pub(super) preseek: PreSeek,
    pub(super) buffer: Buffer,
    pub(super) arm: Arm,
    /// The newest data that the write cache took.
    pub(super) dirty: Dirty,
    /// The bus carries an earlier command's data and messages until then.
    pub(super) bus_free: Instant,
    pub(super) last: Last,
    /// Pieces of the pass being computed, kept for its memory.
    pub(super) pieces: Vec<Piece>,
    /// What it does at random. Copies on which requests are tried have none.
    pub(super) fate: Option<Box<Fate>>,
    /// When what it writes gets to the media, if somebody asks.
    pub(super) landings: Option<Box<Landings>>,
    /// The write cache holds the data of what is served, and of the writes that are asked about.
    pub(super) from_cache: bool,
}

/// Data that the write cache took.
#[derive(Clone, Debug)]
pub(super) struct Dirty {
    /// One past the last block.
    pub end: Lbn,
    /// When they are on the media, and all that it took before.
    pub on_media: Instant,
    /// The runs in which they get there, as far as they did not by the newest append.
    pub runs: Vec<Piece>,
    /// The newest of these runs, if it ends with part of a physical sector.
    pub tail: Option<Tail>,
    /// One past the last block of the range that was destaged last, if the head is still there.
    pub destaged: Lbn,
    /// Ranges wait for the arm, or are being put on the media.
    pub waits: bool,
}

/// The command served last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Last {
    pub op: Op,
    /// One past its last block.
    pub end: Lbn,
}

/// The future of one command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served {
    pub completion: Completion,
    /// When the drive may begin with the next command.
    pub open: Instant,
}

/// A command and the earliest instant at which the drive may begin with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    pub request: Request,
    pub arrived: Instant,
    /// When the drive was done with the command before, as far as pre-seeking asks.
    pub open: Instant,
}

impl Command {
    /// When the drive turns to it.
    #[inline]
    pub fn begin(&self) -> Instant {
        self.arrived.max(self.open)
    }

    /// When `overhead` of processing, which began on arrival, is over and the drive may continue.
    #[inline]
    pub fn processed(&self, overhead: Span) -> Instant {
        (self.arrived + overhead).max(self.open)
    }

    /// Its completion at `at`.
    #[inline]
    pub fn completed(&self, at: Instant, breakdown: Breakdown, outcome: Outcome) -> Completion {
        Completion {
            request: self.request,
            arrived: self.arrived,
            at,
            breakdown,
            outcome,
            status: Status::Good,
        }
    }
}

impl Core {
    pub(super) fn new(spec: &Spec, mechanism: Mechanism) -> Self {
        let start = mechanism.layout.extent(Lbn(0));
        let position = Position {
            cylinder: start.cylinder,
            head: Head(0),
            since: Instant::START,
        };
        Self {
            path: HostPath::new(spec),
            rules: spec.buffer.clone(),
            costs: Costs::new(spec),
            overheads: overheads(spec, mechanism.layout.physical()),
            write_leaves: spec.bus.write_leaves,
            never_disconnect: spec.bus.never_disconnect,
            hold_write: spec.bus.hold_write,
            preseek: spec.queue.preseek,
            buffer: Buffer::new(&spec.buffer),
            arm: Arm::Free(position),
            dirty: Dirty {
                end: Lbn(u64::MAX),
                on_media: Instant::START,
                runs: Vec::new(),
                tail: None,
                destaged: Lbn(u64::MAX),
                waits: false,
            },
            bus_free: Instant::START,
            last: Last {
                op: Op::Read,
                end: Lbn(u64::MAX),
            },
            pieces: Vec::new(),
            fate: None,
            landings: None,
            from_cache: false,
            mechanism,
        }
    }

    #[inline(always)]
    pub(super) fn serve(&mut self, command: &Command) -> Served {
        if let Ordering::Simple(stroke) = command.request.ordering
            && stroke != Stroke::Direct
        {
            self.go_by(stroke, command.begin());
        }
        let served = match command.request.op {
            _ if self.from_cache => self.serve_from_cache(command),
            Op::Read => self.read(command),
            Op::Write => self.write(command),
            Op::Flush => return self.flush(command),
        };
        self.last = Last {
            op: command.request.op,
            end: command.request.end(),
        };
        self.bus_free = served.completion.at;
        served
    }

    /// Sends the arm, called at `at`, where a policy wants it to go first: full seeks without a
    /// write's settle. What continues the write before does not find the arm in place.
    #[cold]
    #[inline(never)]
    pub(super) fn go_by(&mut self, stroke: Stroke, at: Instant) {
        let mut arm = self.call(at);
        let last = Cylinder(self.mechanism.layout.cylinders() - 1);
        let stops = match stroke {
            Stroke::Direct => [arm.cylinder; 2],
            Stroke::ByFirst => [Cylinder(0); 2],
            Stroke::ByLast => [last; 2],
            Stroke::ByLastAndFirst => [last, Cylinder(0)],
        };
        for stop in stops {
            if stop != arm.cylinder {
                let way = (arm.cylinder, stop);
                arm.since += self.mechanism.seek.total(Op::Read, way, false);
                arm.cylinder = stop;
            }
        }
        self.arm = Arm::Free(arm);
        self.dirty.end = Lbn(u64::MAX);
        self.dirty.destaged = Lbn(u64::MAX);
    }

    /// Calls the arm at `at`: where it is then, and when it is free to move.
    #[inline]
    pub(super) fn call(&mut self, at: Instant) -> Position {
        let position = self.arm.call(&self.mechanism, at, &self.rules);
        self.arm.keep(
            &self.mechanism,
            &mut self.buffer,
            position.since,
            &self.rules,
        );
        position
    }

    /// When the drive may begin with the next command (spec::PreSeek).
    #[inline]
    pub(super) fn next_open(&self, media: Instant, message: Instant, at: Instant) -> Instant {
        match self.preseek {
            PreSeek::Acknowledged => at,
            PreSeek::CompletionReady => message,
            PreSeek::MediaDone => media,
        }
    }

    /// What a command waits before it is processed: for the commands before, and for read-ahead
    /// that the drive owes for them when it has completed them.
    #[inline(always)]
    pub(super) fn waits(&self, command: &Command, overhead: Span) -> (Span, Span) {
        let early = command.arrived + overhead;
        let wait = command.open.since_or_zero(early);
        if self.preseek != PreSeek::MediaDone || command.open <= self.bus_free {
            return (wait, Span::ZERO);
        }
        let queue = self.bus_free.since_or_zero(early);
        (queue, wait - queue)
    }

    /// When the data are flushed that must be before a command begun at `now` is served.
    #[inline]
    pub(super) fn flushed(&self, now: Instant) -> Instant {
        self.dirty.on_media.max(now)
    }

    /// Whether a write begun at `now` continues data that are not on the media yet.
    #[inline]
    pub(super) fn appends(&self, request: &Request, now: Instant) -> bool {
        self.rules.combine_writes && self.dirty.on_media > now && self.dirty.end == request.start
    }

    /// Whether a write completes before it is on the media.
    #[inline]
    pub(super) fn absorbs(&self, request: &Request, now: Instant) -> bool {
        match self.rules.write_cache {
            _ if request.force_unit_access => false,
            WriteCache::Off => false,
            WriteCache::Always => self.rules.caching,
            WriteCache::Streams => {
                let clean = self.flushed(now) == now;
                self.rules.caching && (clean || self.appends(request, now))
            }
            WriteCache::Deferred => self.rules.caching && request.sectors <= self.rules.dirty_max,
        }
    }

    /// A copy on which requests are tried: it does what is most likely.
    pub(super) fn without_fate(&self) -> Self {
        Self {
            fate: None,
            landings: None,
            ..self.clone()
        }
    }

    /// By how much the movement from `from` to `block` takes longer than its mean.
    #[inline(always)]
    pub(super) fn scatter(&mut self, op: Op, from: Position, block: Lbn) -> Span {
        if self.fate.is_none() {
            return Span::ZERO;
        }
        self.scatter_of(op, from, block)
    }

    /// [`Core::scatter`], apart because few drives scatter.
    #[cold]
    #[inline(never)]
    fn scatter_of(&mut self, op: Op, from: Position, block: Lbn) -> Span {
        let Some(fate) = &mut self.fate else {
            return Span::ZERO;
        };
        let to = self.mechanism.layout.extent(block);
        let way = (from.cylinder, to.cylinder);
        let mean = self.mechanism.seek.total(op, way, from.head != to.head);
        fate.scatter(op, from, to.cylinder, mean)
    }

    /// Whether a request continues the previous command, which was an `op` too.
    #[inline]
    pub(super) fn is_sequential(&self, op: Op, request: &Request) -> bool {
        self.last.op == op && self.last.end == request.start
    }
}

/// The overheads of a specification; a write starts when whole physical sectors are there.
pub(super) fn overheads(spec: &Spec, physical: Physical) -> Overheads {
    let mut overheads = spec.overheads.clone();
    let start = &mut overheads.write_start;
    for sectors in [&mut start.small, &mut start.large]
        .into_iter()
        .chain(&mut start.sequential)
    {
        *sectors = SectorCount(physical.up(sectors.0));
    }
    overheads
}

/// The state that a command chosen at some instant would meet.
pub struct View<'a> {
    core: &'a Core,
    /// Where the head is when the arm is called for a read.
    read_from: Position,
    /// The same for a write. Read-ahead may have moved on to another cylinder in between.
    write_from: Position,
    /// The most cylinders between that of reads and one of writes.
    apart: u32,
    /// When the bus begins to carry a write's data.
    write_data: Instant,
    /// Position and data of a write that is absorbed on another cylinder, and in another zone, if
    /// such a write takes longer. Its times are measured from the same instant as other writes'.
    moved: Option<[(Position, Instant); 2]>,
    /// All writes are served from the same position, and none reads first.
    is_plain: bool,
    /// When the drive turns to it.
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

    /// What waits in the drive has been processed meanwhile: its overhead is over.
    fn outlook(&self, now: Instant) -> View<'_> {
        self.view(Instant::START, now)
    }

    fn rehearse(&self) -> Rehearsal {
        Rehearsal::inside(self)
    }
}

impl Core {
    /// What a command chosen at `now`, which arrived at `arrived`, would meet: as if it were not
    /// in the buffer and did not continue the one before.
    pub fn view(&self, arrived: Instant, now: Instant) -> View<'_> {
        let request = Request::new(0, Op::Write, Lbn(u64::MAX), SectorCount(1));
        let command = Command {
            request,
            arrived,
            open: now,
        };
        let write = self.write_setup(&command, Span::ZERO);
        let read = command.processed(self.costs.read_miss.of(self.last.op));
        let called = |at| self.arm.if_called(&self.mechanism, at, &self.rules);
        let read_from = called(read.max(self.flushed(now)));
        let write_from = called(match self.from_cache {
            true => now,
            false => write.arm_called,
        });
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
            apart: away(write_from).max(farthest.unwrap_or(0)),
            write_data: write.data,
            is_plain: !self.from_cache && moved.is_none() && self.writes_blocks(),
            moved,
            begin: command.begin(),
        }
    }
}

impl View<'_> {
    /// Where the head is and when it is free to move for a request at `place`, and when the
    /// transfer may begin at the earliest.
    pub fn called(&self, request: &Request, place: &Extent) -> (Position, Instant) {
        let (from, ready, _) = self.start(request, place);
        (from, ready)
    }

    /// Where the head is for a request, when its data are there, and how much longer it takes than
    /// from there: by as much as the head is called later than for other requests of its kind, and
    /// as it reads first.
    #[inline]
    fn start(&self, request: &Request, place: &Extent) -> (Position, Instant, Span) {
        if request.op.is_read() {
            return (self.read_from, Instant::START, Span::ZERO);
        }
        if !self.is_plain {
            return self.start_write(request, place);
        }
        let ready = self
            .core
            .write_ready(request.sectors, false, self.write_data);
        (self.write_from, ready, Span::ZERO)
    }

    /// [`View::start`] of a write: of one from the cache, of an absorbed one that takes longer on
    /// another cylinder, of part of a physical sector.
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
        let from = if op.is_read() {
            self.read_from
        } else {
            self.write_from
        };
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
        let (_, mut piece) = mechanism.piece_of(from, op, (start, end), place, ready);
        while piece.end_lbn() < end {
            let rest = (piece.end_lbn(), end);
            (_, piece) = mechanism.next_piece(piece.position_after(), op, rest, ready);
        }
        late + (piece.end() - from.since)
    }

    fn seek(&self, request: &Request, place: &Extent) -> Span {
        let (from, ..) = self.start(request, place);
        let way = (from.cylinder, place.cylinder);
        let head_changes = from.head != place.head;
        self.core
            .mechanism
            .seek
            .total(request.op, way, head_changes)
    }

    fn is_buffered(&self, request: &Request) -> bool {
        request.op.is_read() && self.core.is_buffered(request, self.begin)
    }

    #[inline]
    fn min_seek(&self, distance: u32) -> Span {
        let nearer = distance.saturating_sub(self.apart);
        self.core.mechanism.seek.min(nearer)
    }
}
