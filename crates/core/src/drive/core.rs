//! The state of one drive, and how it serves one command after another.
//!
//! The times of all phases of a command are computed in one step: arm movement, media transfer, bus
//! transfer and completion message. Later commands cannot change them, because the mechanism does
//! one thing at a time.

use std::sync::Arc;

use super::arm::Arm;
use super::bus::HostPath;
use super::costs::{Costs, Fate};
use super::ranges::PersistLog;
use crate::buffer::Buffer;
use crate::device::{Breakdown, Completion, Outcome, Status};
use crate::geometry::{Layout, Physical};
use crate::mechanics::{Mechanism, Piece, Position, Rotation};
use crate::request::{Op, Ordering, Request, Stroke};
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
    pub(super) dirty: Dirty,
    /// The end of the bus transfers of earlier commands.
    pub(super) bus_free: Instant,
    pub(super) last: Last,
    /// Pieces of the pass being computed. They are kept to reuse the allocation.
    pub(super) pieces: Vec<Piece>,
    /// Random behaviour; `None` in copies on which requests are tried.
    pub(super) fate: Option<Box<Fate>>,
    pub(super) persist_log: Option<Box<PersistLog>>,
    /// True while the drive destages, or serves a read from the deferred write cache.
    pub(super) from_cache: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Dirty {
    pub end: Lbn,
    /// The time at which all dirty data are on the media.
    pub on_media: Instant,
    /// The runs that write the dirty data, except those already complete at the latest append.
    pub runs: Vec<Piece>,
    /// The last of these runs, if it ends within a physical sector.
    pub tail: Option<Tail>,
    /// The block after the most recently destaged range, if the head is still there.
    pub destaged: Lbn,
    /// True if ranges wait for the arm or are being destaged.
    pub waits: bool,
}

impl Dirty {
    /// Creates a state without dirty data; earlier data are on the media at `on_media`.
    pub fn none(on_media: Instant) -> Self {
        Self {
            end: Lbn(u64::MAX),
            on_media,
            runs: Vec::new(),
            tail: None,
            destaged: Lbn(u64::MAX),
            waits: false,
        }
    }
}

/// A planned run of dirty data that ends within a physical sector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    pub from: Position,
    /// True if the run continues one on another track.
    pub continues: bool,
    /// The first block of the run that the host wrote.
    pub first: Lbn,
    /// The parts that must be read first.
    pub lacks: Lacks,
}

/// The ends of a write at which the rest of a physical sector must be read first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lacks {
    /// The part of the first physical sector that precedes the write.
    pub before: bool,
    /// The part of the last physical sector that follows the write.
    pub behind: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Last {
    pub op: Op,
    pub end: Lbn,
}

impl Last {
    /// The state before the first command, when no request is sequential.
    pub const NONE: Self = Self {
        op: Op::Read,
        end: Lbn(u64::MAX),
    };
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Service {
    pub completion: Completion,
    /// Earliest start of the next command.
    pub open: Instant,
}

/// A command and its earliest start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    pub request: Request,
    pub arrived: Instant,
    /// The earliest time at which the previous command lets the drive begin (see `PreSeek`).
    pub open: Instant,
}

impl Command {
    #[inline(always)]
    pub fn new(request: Request, arrived: Instant, open: Instant) -> Self {
        Self {
            request,
            arrived,
            open,
        }
    }

    #[inline]
    pub fn begin(&self) -> Instant {
        self.arrived.max(self.open)
    }

    /// Returns the time at which the drive may continue after processing, which starts on arrival.
    #[inline]
    pub fn processed(&self, overhead: Span) -> Instant {
        (self.arrived + overhead).max(self.open)
    }

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
            dirty: Dirty::none(Instant::START),
            bus_free: Instant::START,
            last: Last::NONE,
            pieces: Vec::new(),
            fate: None,
            persist_log: None,
            from_cache: false,
            mechanism,
        }
    }

    #[inline(always)]
    pub(super) fn serve(&mut self, command: &Command) -> Service {
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

    /// Interrupts the arm at `at` and moves it to the stops that a policy requires on the way.
    /// These are full seeks without a write's settle. The next write does not continue an earlier
    /// one.
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

    /// Interrupts the arm at `at`. Returns its position and the time from which it is free to move.
    #[inline]
    pub(super) fn call(&mut self, at: Instant) -> Position {
        let (mechanism, rules) = (&self.mechanism, &self.rules);
        let position = self.arm.call(mechanism, at, rules);
        self.arm
            .keep(mechanism, &mut self.buffer, position.since, rules);
        position
    }

    /// Returns the earliest start of the next command (see [`PreSeek`]).
    #[inline]
    pub(super) fn next_open(&self, media: Instant, message: Instant, at: Instant) -> Instant {
        match self.preseek {
            PreSeek::Acknowledged => at,
            PreSeek::CompletionReady => message,
            PreSeek::MediaDone => media,
        }
    }

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

    /// Returns the time by which a command has been processed, which takes `overhead`, and earlier
    /// data have been flushed.
    #[inline]
    pub(super) fn ready(&self, command: &Command, overhead: Span) -> Instant {
        command
            .processed(overhead)
            .max(self.flushed(command.begin()))
    }

    /// Returns the time at which the data that delay a command begun at `now` are flushed.
    #[inline]
    pub(super) fn flushed(&self, now: Instant) -> Instant {
        self.dirty.on_media.max(now)
    }

    /// Returns true if a write begun at `now` continues data that are not on the media yet.
    #[inline]
    pub(super) fn appends(&self, request: &Request, now: Instant) -> bool {
        self.rules.combine_writes && self.dirty.on_media > now && self.dirty.end == request.start
    }

    /// Returns true if a write completes before it is on the media.
    #[inline]
    pub(super) fn absorbs(&self, request: &Request, now: Instant) -> bool {
        match self.rules.write_cache {
            _ if request.force_unit_access => false,
            WriteCache::Off => false,
            WriteCache::Always => self.rules.caching,
            WriteCache::Streams => {
                self.rules.caching && (self.flushed(now) == now || self.appends(request, now))
            }
            WriteCache::Deferred => self.rules.caching && request.sectors <= self.rules.dirty_max,
        }
    }

    /// Returns a copy without random behaviour, on which requests can be tried.
    pub(super) fn without_fate(&self) -> Self {
        Self {
            fate: None,
            persist_log: None,
            ..self.clone()
        }
    }

    /// Returns a random deviation from the mean time of the movement from `from` to `block`.
    #[inline(always)]
    pub(super) fn scatter(&mut self, op: Op, from: Position, block: Lbn) -> Span {
        if self.fate.is_none() {
            return Span::ZERO;
        }
        self.scatter_of(op, from, block)
    }

    /// A separate function because few drives have random movements.
    #[cold]
    #[inline(never)]
    fn scatter_of(&mut self, op: Op, from: Position, block: Lbn) -> Span {
        let Some(fate) = &mut self.fate else {
            return Span::ZERO;
        };
        let to = self.mechanism.layout.extent(block);
        let mean = self.mechanism.movement(op, from, to.cylinder, to.head);
        fate.scatter(op, from, to.cylinder, mean)
    }

    /// Returns true if the previous command was also an `op` and a request continues it.
    #[inline]
    pub(super) fn is_sequential(&self, op: Op, request: &Request) -> bool {
        self.last.op == op && self.last.end == request.start
    }

    /// Serves a flush, which completes once all data in the write cache are on the media.
    ///
    /// No published parameter set covers a flush. The model assumes the processing time of a
    /// buffered read and the completion time of a write.
    #[cold]
    pub(super) fn flush(&mut self, command: &Command) -> Service {
        let processing = self.costs.read_hit.after(self.last.op);
        let processed = command.processed(processing);
        let on_media = self.flushed(processed);
        let message = on_media.max(self.bus_free);
        let at = message + self.overheads.write_completion;
        let (queue, owed) = self.waits(command, processing);
        self.bus_free = at;
        let breakdown = Breakdown {
            queue,
            owed: owed + (on_media - processed),
            overhead: processing + self.overheads.write_completion,
            bus: message - on_media,
            ..Breakdown::default()
        };
        Service {
            completion: command.completed(at, breakdown, Outcome::Miss),
            open: self.next_open(on_media, message, at),
        }
    }

    /// Creates a drive from `spec` and its layout. The platter starts at angle zero.
    pub fn with_layout(spec: &Spec, layout: Arc<Layout>) -> Self {
        Self::with_mechanism(spec, Mechanism::new(spec, layout, Angle::ZERO))
    }

    /// Creates a drive from `spec` with an existing mechanism. Copies share the mechanism's tables.
    ///
    /// A deferred write cache is assumed to write in order of arrival: its real order is unknown.
    pub fn with_mechanism(spec: &Spec, mechanism: Mechanism) -> Self {
        let mut core = Self::new(spec, mechanism);
        if core.rules.write_cache == WriteCache::Deferred {
            core.rules.write_cache = WriteCache::Always;
        }
        core
    }

    /// Serves a command that reaches the idle drive at `arrived`, after the last completion.
    pub fn serve_alone(&mut self, request: Request, arrived: Instant) -> Completion {
        self.serve_queued(request, arrived, arrived).0
    }

    /// Serves a command that reaches the drive at `arrived` and cannot begin before `open`, the end
    /// of the previous command. Returns its completion, and the earliest start of the next command.
    pub fn serve_queued(
        &mut self,
        request: Request,
        arrived: Instant,
        open: Instant,
    ) -> (Completion, Instant) {
        let served = self.serve(&Command::new(request, arrived, open));
        (served.completion, served.open)
    }

    /// Returns the end of the media transfer of the most recently served command.
    pub fn transferred(&self) -> Instant {
        match &self.arm {
            Arm::Free(position) => position.since,
            Arm::Reading(reading) => reading.when(&self.mechanism, reading.requested),
        }
    }

    /// Returns the layout, rotation and arm.
    pub fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    /// Returns the rotation of the platter.
    pub fn rotation(&self) -> &Rotation {
        &self.mechanism.rotation
    }

    /// At `at`, delays the platter and transfers by `late`, and sets the rotation period.
    pub fn correct_rotation(&mut self, at: Instant, late: Span, period_ns: f64) {
        self.mechanism.rotation = self.mechanism.rotation.corrected(at, late, period_ns);
        self.delay_media(late);
    }

    /// Delays the current media transfer by `by`.
    pub fn delay_media(&mut self, by: Span) {
        match &mut self.arm {
            Arm::Free(position) => position.since = position.since.shifted(by),
            Arm::Reading(reading) => reading.delay(by),
        }
    }

    /// Records that the last command completed at `at`. Unless the write cache absorbed it, all
    /// dirty data are then on the media.
    pub fn completed_at(&mut self, at: Instant, outcome: Outcome) {
        self.bus_free = at;
        if outcome != Outcome::Absorbed && self.dirty.on_media > at {
            self.dirty.on_media = at;
            self.dirty.runs.clear();
        }
    }

    /// Corrects the buffer at `at`, so that it holds no block of `request`.
    pub fn forget(&mut self, request: &Request, at: Instant) {
        self.arm = Arm::Free(self.call(at));
        self.buffer.forget(request);
    }

    /// Corrects the buffer at `at`, so that it holds all blocks of `request`.
    pub fn remember(&mut self, request: &Request, at: Instant) {
        self.arm = Arm::Free(self.call(at));
        let segment = self.buffer.claim_for_read(request.start);
        self.buffer.fill(segment, request.end());
    }

    /// Returns true if the instant of a completion depends on the angle of the platter.
    pub fn reveals_angle(completion: &Completion) -> bool {
        completion.request.op != Op::Flush
            && matches!(completion.outcome, Outcome::Miss | Outcome::PartialHit)
    }
}

/// Returns the overheads of a specification. The sector counts at which writes start are rounded up
/// to whole physical sectors.
pub(super) fn overheads(spec: &Spec, physical: Physical) -> Overheads {
    let mut overheads = spec.overheads.clone();
    let start = &mut overheads.write_start;
    let sizes = [&mut start.small, &mut start.large].into_iter();
    for sectors in sizes.chain(&mut start.sequential) {
        *sectors = SectorCount(physical.up(sectors.0));
    }
    overheads
}
