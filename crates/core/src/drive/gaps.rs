//! Background reads in the gaps of the commands that a drive serves (lumb01, section 2): in its
//! firmware, where positions are known and a read takes no command.

use super::Drive;
use super::arm::Arm;
use super::core::{Command, Core};
use crate::device::Outcome;
use crate::freeblock::{Delivered, Figures, Find, Gap, Limits, Tasks, Track};
use crate::mechanics::Position;
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
    limits: Limits,
    sink: Box<dyn FnMut(&Delivered) + Send>,
    figures: Figures,
}

impl InGaps {
    /// Reads what `tasks` want, with this `conservatism` added to each seek to a command. Calls
    /// `sink` for all that a gap brings when the gap begins.
    pub fn new(
        tasks: Tasks,
        conservatism: Span,
        sink: impl FnMut(&Delivered) + Send + 'static,
    ) -> Self {
        let limits = Limits {
            arriving: Span::ZERO,
            leaving: conservatism,
            turn: Span::ZERO,
            sector: Span::ZERO,
            max: Request::MAX_SECTORS,
            ends: true,
            tracks: Limits::TRACKS,
        };
        Self {
            tasks,
            limits,
            sink: Box::new(sink),
            figures: Figures::default(),
        }
    }

    /// What was read.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// The tasks with what they still want.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// The reads that gain most in the gap of a command, in order, and when the gap begins.
    fn chosen(&mut self, core: &Core, command: &Command) -> (Vec<Find>, Instant) {
        let Command {
            request,
            arrived,
            open,
        } = *command;
        let nothing = (Vec::new(), open);
        if !request.is_simple_transfer() || core.defers(&request) || self.tasks.is_done() {
            return nothing;
        }
        let Some(gap) = core.gap(&request, arrived, open) else {
            return nothing;
        };
        let mut alone = core.without_fate();
        let alone = (alone.serve(command).completion, alone.transferred());
        if alone.0.outcome == Outcome::Hit {
            return nothing;
        }
        let mut found = (self.tasks).fill(&core.mechanism, &gap, &self.limits, READS);
        let rounding = core.mechanism.rotation.rounding();
        while !found.is_empty() {
            let mut trial = core.without_fate();
            let mut at = gap.from.since;
            for find in &found {
                at = trial.read_in_gap(at, find).1;
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
        self.figures.reads += found.len() as u64;
        self.figures.gaps += u64::from(!found.is_empty());
        (found, gap.from.since)
    }

    /// Takes note that blocks from `first` to `end` have been read by `at`.
    fn take(&mut self, first: Lbn, end: Lbn, at: Instant) {
        let claim = self.tasks.claim(first, end - first);
        self.tasks.deliver(&claim);
        self.figures.sectors += claim.sectors().0;
        for delivered in claim.delivered(at, true) {
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

    /// The background reads, if there are any.
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
        let (found, mut at) = gaps.chosen(&self.core, &command);
        for find in found {
            let (first, end) = self.core.read_in_gap(at, &find);
            gaps.take(first, find.first + find.sectors, end);
            at = end;
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

    /// Reads the blocks of `find`, for which the arm is called at `at`. Returns the first block
    /// that was read, from which on all were, and when they had passed.
    fn read_in_gap(&mut self, at: Instant, find: &Find) -> (Lbn, Instant) {
        let mut from = self.call(at);
        let late = self.scatter(Op::Read, from, find.first);
        from.since = from.since.shifted(late);
        let way = (from.cylinder, find.track.cylinder);
        let moved = (self.mechanism.seek).total(Op::Read, way, from.head != find.track.head);
        let there = from.since + moved;
        let rounding = self.mechanism.rotation.rounding();
        let missed = there.since_or_zero(find.begin + rounding);
        let physical = self.mechanism.layout.physical();
        let end = find.first + find.sectors;
        let (whole, whole_end) = (physical.first(find.first), physical.end(end));
        let sector_ns = (find.end - find.begin).as_ns() / (whole_end - whole).0 as i64;
        let first = match missed {
            Span::ZERO => find.first,
            missed => {
                let passed = missed.as_ns() / sector_ns.max(1) + 1;
                Lbn(whole.0 + physical.up(passed as u64)).min(end)
            }
        };
        let mut position = Position {
            cylinder: find.track.cylinder,
            head: find.track.head,
            since: there,
        };
        if first < end {
            let start = Instant::START;
            let blocks = (physical.first(first), whole_end);
            let (_, piece) = (self.mechanism).next_piece(position, Op::Read, blocks, start);
            position = piece.position_after();
        }
        self.arm = Arm::Free(position);
        (first, position.since)
    }
}
