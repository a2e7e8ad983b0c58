//! Background reads in the gaps between a drive's commands (lumb01, section 2). The firmware does
//! this on its own, because it knows the position of the head.

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

const READS: usize = 5;

/// Background reads of a drive in the gaps between its commands.
///
/// When the drive begins a command whose blocks are not in its buffer, it searches all tracks for
/// the most valuable reads that fit before the first of these blocks passes the head. Their data
/// stay in the drive and take no time on the bus.
///
/// Arm movements are assumed to take their mean times. If actual times vary, `conservatism` must be
/// large enough to cover the difference. If the head is late for a read, the read begins with the
/// next sector, and the blocks that have passed remain wanted. Idle time is not used.
pub struct GapReader {
    tasks: Tasks,
    limits: SearchLimits,
    sink: Box<dyn FnMut(&Delivery) + Send>,
    stats: BackgroundStats,
}

impl GapReader {
    /// Creates a reader for `tasks` that adds `conservatism` to each planned seek to a command. At
    /// the beginning of a gap, it calls `sink` for all blocks read in that gap.
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

    /// Returns the statistics of the reads.
    pub fn stats(&self) -> &BackgroundStats {
        &self.stats
    }

    /// Returns the tasks, with the blocks that they still want.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Returns the most valuable reads in the gap before a command, in order, and the gap's start.
    fn choose(&mut self, core: &Core, command: &Command) -> Option<(Vec<GapTransfer>, Instant)> {
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
    /// Adds background reads in the gaps between commands.
    pub fn with_gap_reader(self, gaps: GapReader) -> Self {
        Self {
            gaps: Some(Box::new(gaps)),
            ..self
        }
    }

    /// Returns the background reader.
    pub fn gap_reader(&self) -> Option<&GapReader> {
        self.gaps.as_deref()
    }

    #[cold]
    #[inline(never)]
    pub(super) fn read_in_gap(&mut self, request: &Request, arrived: Instant) {
        let Some(gaps) = &mut self.gaps else {
            return;
        };
        let command = Command::new(*request, arrived, self.open);
        let Some((found, mut at)) = gaps.choose(&self.core, &command) else {
            return;
        };
        for transfer in found {
            let result = self.core.pass_in_gap(at, &transfer, Op::Read);
            gaps.take(result.first, transfer.first + transfer.sectors, result.end);
            at = result.end;
        }
    }
}

impl Core {
    /// Returns the gap before a request that reaches the drive at `arrived` and cannot begin before
    /// `open`; `None` if the buffer holds the first block of the request.
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
            to: Track::from_extent(&place),
            op: request.op,
            until: arm.since + self.mechanism.positioning(arm, request.op, &place, ready),
        })
    }

    /// Returns the transfers that `fill` finds in the gap before a command, and the gap's start.
    /// Drops the last transfers until the others delay the command by at most a rounding error.
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
            for transfer in &found {
                at = trial.pass_in_gap(at, transfer, op).end;
            }
            let done = trial.serve(command).completion;
            let late = done.at.after(alone.0.at);
            if late.max(trial.transferred().after(alone.1)) <= rounding {
                break;
            }
            found.pop();
        }
        Some((found, gap.from.since))
    }

    /// Interrupts the arm at `at` to execute a transfer. If the head arrives late, the transfer
    /// begins with the next sector.
    pub(super) fn pass_in_gap(&mut self, at: Instant, transfer: &GapTransfer, op: Op) -> GapResult {
        let mut from = self.call(at);
        let late = self.scatter(op, from, transfer.first);
        from.since = from.since.shifted(late);
        let Track { cylinder, head } = transfer.track;
        let in_place = from.since + self.mechanism.movement(op, from, cylinder, head);
        let rounding = self.mechanism.rotation.rounding();
        let missed = in_place.since_or_zero(transfer.begin + rounding);
        let physical = self.mechanism.layout.physical();
        let end = transfer.first + transfer.sectors;
        let (physical_first, physical_end) = (physical.first(transfer.first), physical.end(end));
        let sectors = (physical_end - physical_first).0 / physical.blocks().0;
        let sector_ns = (transfer.end - transfer.begin).as_ns() / sectors as i64;
        let first = match missed {
            Span::ZERO => transfer.first,
            missed => {
                let passed = missed.as_ns() / sector_ns.max(1) + 1;
                (physical_first + SectorCount(physical.blocks().0 * passed as u64)).min(end)
            }
        };
        let arrived = Position {
            cylinder,
            head,
            since: in_place,
        };
        let piece = (first < end).then(|| {
            let blocks = (physical.first(first), physical_end);
            (self.mechanism)
                .piece(true, arrived, op, blocks, Instant::START)
                .1
        });
        let position = piece.map_or(arrived, |piece| piece.position_after());
        self.arm = Arm::Free(position);
        GapResult {
            first,
            piece,
            end: position.since,
        }
    }
}

pub(super) struct GapResult {
    pub first: Lbn,
    /// The transferred run; `None` if the head arrived too late for all its sectors.
    pub piece: Option<Piece>,
    pub end: Instant,
}
