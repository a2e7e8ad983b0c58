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

/// Background tasks of a drive.
///
/// What it does: when the drive begins a command whose blocks are not in its buffer, it looks for
/// the reads that gain most before the first of them passes, on the track where the arm is, the one
/// where it goes, or any other. What they bring stays in the drive, and takes no time on the bus.
///
/// The movements that it expects are the mean ones: if they scatter, conservatism has to make up
/// for it. Nothing is read in idle time.
pub struct InGaps {
    tasks: Tasks,
    limits: Limits,
    /// The most reads in a gap.
    reads: usize,
    sink: Box<dyn FnMut(&Delivered) + Send>,
    figures: Figures,
}

impl InGaps {
    /// Reads what `tasks` want, with this `conservatism` added to each seek. Calls `sink` for all
    /// that a gap brings when the gap begins.
    pub fn new(
        tasks: Tasks,
        conservatism: Span,
        sink: impl FnMut(&Delivered) + Send + 'static,
    ) -> Self {
        let limits = Limits {
            conservatism,
            turn: Span::ZERO,
            sector: Span::ZERO,
            max: Request::MAX_SECTORS,
            ends: true,
            tracks: 256,
        };
        Self {
            tasks,
            limits,
            reads: 3,
            sink: Box::new(sink),
            figures: Figures::default(),
        }
    }

    /// The same with at most so many reads in a gap, for each of which at most so many tracks are
    /// looked at. By default these are 3 and 256.
    pub fn bounded(self, reads: usize, tracks: u32) -> Self {
        Self {
            limits: Limits {
                tracks,
                ..self.limits
            },
            reads,
            ..self
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

    /// The reads that gain most in the gap of a command, in order.
    fn chosen(&mut self, core: &Core, command: &Command) -> Vec<Find> {
        let Command {
            request,
            arrived,
            open,
        } = *command;
        let view = core.view(arrived, open);
        if !request.is_simple_transfer() || self.tasks.is_done() || view.is_buffered(&request) {
            return Vec::new();
        }
        let place = core.locate(&request);
        let (arm, ready) = view.called(&request, &place);
        let read = Request::new(0, Op::Read, request.start, SectorCount(1));
        let mut gap = Gap {
            from: view.called(&read, &place).0,
            to: Track::of(&place),
            op: request.op,
            until: arm.since + core.mechanism.positioning(arm, request.op, &place, ready),
        };
        let mut alone = core.without_fate();
        let alone = (alone.serve(command).completion, alone.transferred());
        let mut found = Vec::new();
        if alone.0.outcome == Outcome::Hit {
            return found;
        }
        let mut before = core.without_fate();
        while found.len() < self.reads {
            let find = self.tasks.search(&core.mechanism, &gap, &self.limits, &[]);
            let Some(find) = find else {
                break;
            };
            let end = before.read_in_gap(gap.from.since, &find);
            let mut trial = before.clone();
            let done = trial.serve(command).completion;
            let rounding = Span::from_ns((core.mechanism.rotation.period().as_ns() >> 19) + 4);
            let late = [
                done.at.after(alone.0.at),
                trial.transferred().after(alone.1),
            ];
            if late.into_iter().any(|late| late > rounding) {
                break;
            }
            let claim = self.tasks.claim(find.first, find.sectors);
            self.tasks.deliver(&claim);
            self.figures.sectors += claim.sectors().0;
            for part in claim.parts() {
                (self.sink)(&Delivered {
                    task: part.task,
                    first: part.first,
                    sectors: part.sectors,
                    at: end,
                    is_readable: true,
                });
            }
            found.push(find);
            gap.from = Position {
                cylinder: find.track.cylinder,
                head: find.track.head,
                since: end,
            };
        }
        self.figures.reads += found.len() as u64;
        self.figures.gaps += u64::from(!found.is_empty());
        found
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
        let view = self.core.view(arrived, self.open);
        let read = Request::new(0, Op::Read, Lbn(0), SectorCount(1));
        let (from, _) = view.called(&read, &self.core.locate(&read));
        let mut at = from.since;
        for find in gaps.chosen(&self.core, &command) {
            at = self.core.read_in_gap(at, &find);
        }
    }
}

impl Core {
    /// Reads the blocks of `find`, for which the arm is called at `at`; when they have passed.
    fn read_in_gap(&mut self, at: Instant, find: &Find) -> Instant {
        let from = self.call(at);
        let late = self.scatter(Op::Read, from, find.first);
        let from = Position {
            since: from.since.shifted(late),
            ..from
        };
        let blocks = (find.first, find.first + find.sectors);
        let start = Instant::START;
        let (approach, mut piece) = self.mechanism.piece(from, Op::Read, blocks, start);
        if self.rules.read_on_arrival {
            let period = self.mechanism.rotation.period();
            piece = piece.on_arrival(approach.wait, find.sectors, period);
        }
        self.arm = Arm::Free(piece.position_after());
        piece.end()
    }
}
