//! Background reads in the gaps of the commands that a drive serves (lumb01, section 2): in its
//! firmware, where positions are known and a read takes no command.

use super::Drive;
use super::arm::Arm;
use super::core::{Command, Core};
use crate::device::Outcome;
use crate::freeblock::{
    BackgroundStats, Delivery, Gap, GapPlanner, GapTransfer, SearchLimits, Tasks, Track,
};
use crate::mechanics::{Piece, Position};
use crate::request::{Op, Request};
use crate::sched::{Estimate, Outlook};
use crate::units::{Instant, Lbn, SectorCount, Span};

/// The most reads in a gap.
const READS: usize = 5;

/// Background tasks of a drive.
///
/// What it does: when the drive begins a command whose blocks are not in its buffer, it looks for
/// the reads that gain most before the first of them passes, on the track where the arm is, the one
/// where it goes, or any other. What they bring stays in the drive, and takes no time on the bus.
///
/// The movements that it expects are the mean ones. If they scatter, conservatism has to make up
/// for it where the head leaves for the command. If it arrives late at a read, it begins with the
/// sector that comes next, and what has passed stays wanted. Nothing is read in idle time.
pub struct InGaps {
    tasks: Tasks,
    limits: SearchLimits,
    sink: Box<dyn FnMut(&Delivery) + Send>,
    stats: BackgroundStats,
}

impl InGaps {
    /// Reads what `tasks` want, with this `conservatism` added to each seek to a command. Calls
    /// `sink` for all that a gap brings when the gap begins.
    pub fn new(
        tasks: Tasks,
        conservatism: Span,
        sink: impl FnMut(&Delivery) + Send + 'static,
    ) -> Self {
        let limits = SearchLimits {
            arriving: Span::ZERO,
            leaving: conservatism,
            on_switches: false,
            turn: Span::ZERO,
            sector: Span::ZERO,
            max: Request::MAX_SECTORS,
            ends: true,
            tracks: SearchLimits::TRACKS,
        };
        Self {
            tasks,
            limits,
            sink: Box::new(sink),
            stats: BackgroundStats::default(),
        }
    }

    /// What was read.
    pub fn stats(&self) -> &BackgroundStats {
        &self.stats
    }

    /// The tasks with what they still want.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// The reads that gain most in the gap of a command, in order, and when the gap begins.
    fn chosen(&mut self, core: &Core, command: &Command) -> Option<(Vec<GapTransfer>, Instant)> {
        if core.defers(&command.request) || self.tasks.is_done() {
            return None;
        }
        let (found, begin) = core.fill_gap(command, Op::Read, |gap| {
            let planner = GapPlanner {
                tasks: &self.tasks,
                mechanism: &core.mechanism,
                gap: *gap,
                limits: self.limits,
            };
            planner.fill(READS)
        })?;
        self.stats.reads += found.len() as u64;
        self.stats.gaps += u64::from(!found.is_empty());
        Some((found, begin))
    }

    /// Takes note that blocks from `first` to `end` have been read by `at`.
    fn take(&mut self, first: Lbn, end: Lbn, at: Instant) {
        let claim = self.tasks.claim(first, end - first);
        self.tasks.deliver(&claim);
        self.stats.sectors += claim.sectors().0;
        for delivered in claim.deliveries(at, true) {
            (self.sink)(&delivered);
        }
    }
}

impl Drive {
    /// The same drive with background reads in the gaps of its commands.
    pub fn reading_in_gaps(self, gaps: InGaps) -> Self {
        Self {
            gaps: Some(Box::new(gaps)),
            ..self
        }
    }

    /// The background reads, if any.
    pub fn in_gaps(&self) -> Option<&InGaps> {
        self.gaps.as_deref()
    }

    /// Reads in the gap of the command that begins now.
    #[cold]
    #[inline(never)]
    pub(super) fn read_in_gap(&mut self, request: &Request, arrived: Instant) {
        let Some(gaps) = &mut self.gaps else {
            return;
        };
        let command = Command {
            request: *request,
            arrived,
            open: self.open,
        };
        let Some((found, mut at)) = gaps.chosen(&self.core, &command) else {
            return;
        };
        for find in found {
            let passed = self.core.pass_in_gap(at, &find, Op::Read);
            gaps.take(passed.first, find.first + find.sectors, passed.end);
            at = passed.end;
        }
    }
}

impl Core {
    /// The gap in front of a request that reaches the drive at `arrived`, and with which it may not
    /// begin before `open`; `None` if the buffer has its first block.
    pub fn gap(&self, request: &Request, arrived: Instant, open: Instant) -> Option<Gap> {
        let view = self.view(arrived, open);
        if view.is_buffered(request) {
            return None;
        }
        let place = self.locate(request);
        let (arm, ready) = view.called(request, &place);
        let read = Request::new(0, Op::Read, request.start, SectorCount(1));
        let (from, _) = view.called(&read, &place);
        Some(Gap {
            from,
            to: Track::of(&place),
            op: request.op,
            until: arm.since + self.mechanism.positioning(arm, request.op, &place, ready),
        })
    }

    /// What `fill` finds in the gap of a command, each of them an `op`, and when the gap begins:
    /// as many, from the first on, as delay the command by no more than rounding. `None` if it has
    /// no gap.
    pub(super) fn fill_gap(
        &self,
        command: &Command,
        op: Op,
        fill: impl FnOnce(&Gap) -> Vec<GapTransfer>,
    ) -> Option<(Vec<GapTransfer>, Instant)> {
        if !command.request.is_simple_transfer() {
            return None;
        }
        let gap = self.gap(&command.request, command.arrived, command.open)?;
        let mut alone = self.without_fate();
        let alone = (alone.serve(command).completion, alone.transferred());
        if alone.0.outcome == Outcome::Hit {
            return None;
        }
        let mut found = fill(&gap);
        let rounding = self.mechanism.rotation.rounding();
        while !found.is_empty() {
            let mut trial = self.without_fate();
            let mut at = gap.from.since;
            for find in &found {
                at = trial.pass_in_gap(at, find, op).end;
            }
            let done = trial.serve(command).completion;
            let late = [
                done.at.after(alone.0.at),
                trial.transferred().after(alone.1),
            ];
            if late.into_iter().all(|late| late <= rounding) {
                break;
            }
            found.pop();
        }
        Some((found, gap.from.since))
    }

    /// Reads or writes the blocks of `find`, for which the arm is called at `at`. If the head
    /// arrives late, it begins with the sector that comes next.
    pub(super) fn pass_in_gap(&mut self, at: Instant, find: &GapTransfer, op: Op) -> Passed {
        let mut from = self.call(at);
        let late = self.scatter(op, from, find.first);
        from.since = from.since.shifted(late);
        let way = (from.cylinder, find.track.cylinder);
        let moved = (self.mechanism.seek).total(op, way, from.head != find.track.head);
        let there = from.since + moved;
        let rounding = self.mechanism.rotation.rounding();
        let missed = there.since_or_zero(find.begin + rounding);
        let physical = self.mechanism.layout.physical();
        let end = find.first + find.sectors;
        let (whole, whole_end) = (physical.first(find.first), physical.end(end));
        let sectors = (whole_end - whole).0 / physical.blocks().0;
        let sector_ns = (find.end - find.begin).as_ns() / sectors as i64;
        let first = match missed {
            Span::ZERO => find.first,
            missed => {
                let passed = missed.as_ns() / sector_ns.max(1) + 1;
                (whole + SectorCount(physical.blocks().0 * passed as u64)).min(end)
            }
        };
        let mut position = Position {
            cylinder: find.track.cylinder,
            head: find.track.head,
            since: there,
        };
        let piece = (first < end).then(|| {
            let start = Instant::START;
            let blocks = (physical.first(first), whole_end);
            let (_, piece) = (self.mechanism).next_piece(position, op, blocks, start);
            piece
        });
        if let Some(piece) = piece {
            position = piece.position_after();
        }
        self.arm = Arm::Free(position);
        Passed {
            first,
            piece,
            end: position.since,
        }
    }
}

/// What was read or written in a gap.
pub(super) struct Passed {
    /// The first block, from which on all were.
    pub first: Lbn,
    /// The run, if any of it was.
    pub piece: Option<Piece>,
    /// When it had passed.
    pub end: Instant,
}
