//! The background tasks of a scheduler, the control of conservatism, and the gaps before foreground
//! requests, in which reads are planned and rehearsed.

use diskarm_core::device::{Completion, Outcome};
use diskarm_core::drive::Core;
use diskarm_core::freeblock::{
    BackgroundStats, BlockSet, Claim, Delivery, Gap, GapPlan, GapPlanner, LeadTarget, PlanOutcome,
    SearchLimits, TaskId, Tasks,
};
use diskarm_core::request::{Op, Priority, Request};
use diskarm_core::sched::Estimate;
use diskarm_core::spec::Spec;
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};

use crate::watch::{Lag, Observations};

/// Pause of an idle device after a failure other than an unreadable block.
const PAUSE_AFTER_FAILURE: Span = Span::from_ns(1_000_000_000);

/// Maximum number of blocks of a read in idle time: 64 KiB in sectors of 512 bytes.
const MAX_IDLE_READ: u64 = 128;

/// Number of used gaps after which conservatism is adjusted.
const ADJUST_GAPS: u64 = 250;
/// The same number, while reads in gaps cost more than allowed.
const ADJUST_GAPS_SOON: u64 = 50;

/// Number of foreground requests after which conservatism is adjusted even if few gaps were used.
const ADJUST_REQUESTS: u64 = 2_500;

/// Minimum adjustment of conservatism. Larger adjustments are an eighth of the conservatism, or
/// half of it when more is lost than allowed.
const MIN_STEP: Span = Span::from_ns(25_000);

/// Maximum conservatism: a revolution of the slowest drives, so that no read fits into a gap.
const MAX_CONSERVATISM: Span = Span::from_ns(25_000_000);

/// Parameters for choosing background reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackgroundSettings {
    /// Time added to each predicted seek to and from a background read: twice the scatter of the
    /// drive's seeks, or more.
    pub conservatism: Span,
    /// If true, reads in one gap are on different tracks, and none is on the track where the gap
    /// begins. Reads on the track where the gap ends are part of the foreground's command. A drive
    /// mistakes several commands on one track for a sequential stream and reads ahead (lumb01,
    /// section 5).
    pub one_per_track: bool,
    /// Time after which an idle device is used for background reads.
    pub idle: Option<Span>,
    /// Maximum slowdown of the foreground, relative to the time in which it is served. Conservatism
    /// is adjusted so that, according to the model, background reads cause a quarter to a half of
    /// this slowdown. Conservatism is then also added to head switches. While most predictions are
    /// wrong, the slowdown is unknown, and conservatism grows until nothing is read.
    pub max_slowdown: Option<f64>,
}

impl Default for BackgroundSettings {
    /// 0.3 ms of conservatism, one command per track, and no reads in idle time.
    fn default() -> Self {
        Self {
            conservatism: Span::from_ns(300_000),
            one_per_track: true,
            idle: None,
            max_slowdown: None,
        }
    }
}

/// The counts at the last adjustment of conservatism.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    requests: u64,
    gaps: u64,
    /// The time in which the foreground was served, including reads in its gaps.
    busy: Span,
    delay: Span,
    right: u64,
    predicted: u64,
}

pub struct Background {
    tasks: Tasks,
    settings: BackgroundSettings,
    sink: Box<dyn FnMut(&Delivery) + Send>,
    /// Time from the last background read to the next seek, for foreground reads and for writes.
    turnaround: [Span; 2],
    /// The time to transfer a sector over the bus.
    sector: Span,
    /// Maximum number of blocks of a command.
    max: SectorCount,
    stats: BackgroundStats,
    /// The block at which reads in idle time continue.
    next: Lbn,
    /// The number of foreground requests served, and the time it took to serve them.
    served: u64,
    busy: Span,
    /// The end of the last of these requests.
    served_until: Instant,
    adjusted: Counts,
    is_paused: bool,
}

pub(crate) struct FreeRead {
    pub first: Lbn,
    pub sectors: SectorCount,
    pub claim: Claim,
}

impl Background {
    /// Creates background reads of `tasks` on a drive that `spec` describes. Delivers each wanted
    /// block of each task to `sink` exactly once.
    pub fn new(
        tasks: Tasks,
        spec: &Spec,
        settings: BackgroundSettings,
        sink: impl FnMut(&Delivery) + Send + 'static,
    ) -> Self {
        Self {
            tasks,
            settings,
            sink: Box::new(sink),
            turnaround: [Span::ZERO; 2],
            sector: spec.bus.read_sector,
            max: spec.buffer.segment,
            stats: BackgroundStats::default(),
            next: Lbn(0),
            served: 0,
            busy: Span::ZERO,
            served_until: Instant::START,
            adjusted: Counts::default(),
            is_paused: false,
        }
    }

    /// Adds a task, possibly while others are in progress.
    pub fn add(&mut self, wanted: BlockSet, priority: Priority) -> TaskId {
        self.tasks.add(wanted, priority)
    }

    /// Returns the tasks with the blocks that they still want.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    pub fn stats(&self) -> &BackgroundStats {
        &self.stats
    }

    pub fn conservatism(&self) -> Span {
        self.settings.conservatism
    }

    pub(crate) fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// Removes blocks from all tasks, unless they are claimed.
    pub(crate) fn forget(&mut self, first: Lbn, sectors: SectorCount) {
        let claim = self.tasks.claim(first, sectors);
        self.tasks.deliver(&claim);
    }

    pub(crate) fn limits(&self, op: Op) -> SearchLimits {
        let settings = &self.settings;
        SearchLimits {
            arriving: settings.conservatism,
            leaving: settings.conservatism,
            // A slowdown limit is only set for a model that may be inexact.
            on_switches: settings.max_slowdown.is_some(),
            turn: self.turnaround[usize::from(!op.is_read())],
            sector: self.sector,
            max: self.max,
            ends: !settings.one_per_track,
            tracks: SearchLimits::TRACKS,
        }
    }

    pub(crate) fn record_turnaround(&mut self, op: Op, turnaround: Span) {
        self.turnaround[usize::from(!op.is_read())] = turnaround;
    }

    /// Claims and counts the reads of a plan. Returns its commands, and the claim on its lead.
    pub(crate) fn start(&mut self, plan: &GapPlan) -> (Vec<FreeRead>, Claim) {
        self.stats.gaps += 1;
        self.stats.reads += plan.reads.len() as u64;
        self.stats.merged += u64::from(plan.lead.is_some());
        let mut free_reads = Vec::with_capacity(plan.reads.len());
        for read in &plan.reads {
            free_reads.push(self.free_read(read.first, read.sectors));
        }
        let lead = plan.lead.as_ref();
        let claim = lead.map(|lead| self.tasks.claim(lead.first, lead.sectors));
        (free_reads, claim.unwrap_or_default())
    }

    fn free_read(&mut self, first: Lbn, sectors: SectorCount) -> FreeRead {
        FreeRead {
            first,
            sectors,
            claim: self.tasks.claim(first, sectors),
        }
    }

    pub(crate) fn restore(&mut self, claim: &Claim) {
        self.tasks.restore(claim);
    }

    /// Delivers the blocks that a command has read; the others, except a bad one, are wanted again.
    pub(crate) fn settle(&mut self, claim: Claim, completion: &Completion) {
        let empty = Claim::default;
        let (read, lost, rest) = match completion.bad_block() {
            Some(bad) => {
                let (read, rest) = claim.split(bad);
                let (lost, rest) = rest.split(Lbn(bad.0 + 1));
                (read, lost, rest)
            }
            None if completion.status.is_success() => (claim, empty(), empty()),
            None => (empty(), empty(), claim),
        };
        self.stats.sectors += read.sectors().0;
        self.stats.unreadable += lost.sectors().0;
        for (claim, is_readable) in [(read, true), (lost, false)] {
            self.tasks.deliver(&claim);
            for delivered in claim.deliveries(completion.at, is_readable) {
                (self.sink)(&delivered);
            }
        }
        self.tasks.restore(&rest);
    }

    /// Records the delay of a foreground request after background reads. The request, or its media
    /// transfer, ended at `at`. A delay of more than `pause` has another cause.
    pub(crate) fn record_delay(&mut self, undelayed: &UndelayedService, at: Instant, pause: Span) {
        let late = at.since_or_zero(undelayed.at);
        if late > undelayed.rounding && late <= pause {
            self.stats.delayed += 1;
            self.stats.delay += late;
        }
    }

    /// Records a foreground request that arrived at `arrived` and was served by `now`, and adjusts
    /// conservatism to the cost of reads in gaps.
    pub(crate) fn record_service(
        &mut self,
        arrived: Instant,
        now: Instant,
        observations: &Observations,
    ) {
        self.served += 1;
        self.busy += now.since_or_zero(self.served_until.max(arrived));
        self.served_until = now;
        if let Some(max) = self.settings.max_slowdown {
            let counts = Counts {
                requests: self.served,
                gaps: self.stats.gaps,
                busy: self.busy,
                delay: self.stats.delay,
                right: observations.right,
                predicted: observations.predicted,
            };
            self.adjust(max, counts);
        }
    }

    fn adjust(&mut self, max: f64, counts: Counts) {
        let before = self.adjusted;
        let gaps = counts.gaps - before.gaps;
        let requests = counts.requests - before.requests;
        let busy = counts.busy - before.busy;
        if (gaps < ADJUST_GAPS_SOON && requests < ADJUST_REQUESTS) || busy <= Span::ZERO {
            return;
        }
        let lost = (counts.delay - before.delay).as_s() / busy.as_s();
        let is_too_much = gaps >= ADJUST_GAPS_SOON && lost > max;
        if gaps < ADJUST_GAPS && requests < ADJUST_REQUESTS && !is_too_much {
            return;
        }
        let right = counts.right - before.right;
        let is_mostly_wrong = 2 * right < counts.predicted - before.predicted;
        let old = self.settings.conservatism;
        let step = |part| MIN_STEP.max(Span::from_ns(old.as_ns() / part));
        // Delays are estimates of an inexact model: aim for half of the allowed loss.
        self.settings.conservatism = if is_too_much {
            (old + step(2)).min(MAX_CONSERVATISM)
        } else if is_mostly_wrong || lost > max / 2.0 {
            (old + step(8)).min(MAX_CONSERVATISM)
        } else if lost < max / 4.0 {
            (old - step(8)).or_zero()
        } else {
            old
        };
        self.adjusted = counts;
    }

    pub(crate) fn wants_any(&self) -> bool {
        !self.is_paused && !self.tasks.is_done()
    }

    /// Returns the start time of background reads on a device that has been idle since `now`.
    pub(crate) fn idle_from(&self, now: Instant) -> Option<Instant> {
        let wait = self.settings.idle.filter(|_| self.wants_any());
        wait.map(|wait| now + wait)
    }

    /// Like [`Self::idle_from`], after a failure at `now`.
    pub(crate) fn idle_after_failure(&self, now: Instant) -> Option<Instant> {
        self.idle_from(now + PAUSE_AFTER_FAILURE)
    }

    pub(crate) fn next_in_order(&mut self) -> Option<FreeRead> {
        let all = Lbn(self.tasks.sectors().0);
        let next = self.tasks.first_wanted(self.next, all);
        let first = next.or_else(|| self.tasks.first_wanted(Lbn(0), self.next))?;
        let max = MAX_IDLE_READ.min(self.max.0).min(all.0 - first.0);
        let end = self.tasks.last_wanted(first, Lbn(first.0 + max))?;
        let sectors = SectorCount(end.0 - first.0 + 1);
        self.next = first + sectors;
        self.stats.reads += 1;
        Some(self.free_read(first, sectors))
    }
}

/// Maximum number of reads in a gap, not counting the foreground's own command.
const MAX_GAP_READS: usize = 2;

/// The behaviour of a foreground request without background reads in its gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UndelayedService {
    /// The time at which the request or, with `is_media_time`, its media transfer would end.
    pub at: Instant,
    /// True for a write that the cache absorbs while other requests wait for the media.
    pub is_media_time: bool,
    /// Maximum difference between times that count as equal.
    pub rounding: Span,
}

/// The state of the drive, according to its model, when a foreground request is chosen.
#[derive(Clone, Copy)]
pub(crate) struct ModelState<'a> {
    pub core: &'a Core,
    /// The instant from which the drive can start another command.
    pub open: Instant,
    /// The time at which the command inside the drive will be answered; `None` without a command.
    pub answer: Option<Instant>,
    /// Maximum number of commands inside the drive.
    pub depth: usize,
    pub lag: Lag,
}

pub(crate) struct ForegroundGap<'a> {
    drive: ModelState<'a>,
    /// The instant at which the first command reaches the drive.
    sent: Instant,
    request: Request,
    others_wait: bool,
    gap: Gap,
    alone: Completion,
    transferred: Instant,
}

impl<'a> ForegroundGap<'a> {
    /// Returns the gap before a request chosen at `now`; `None` if the request needs no media.
    pub fn new(
        drive: ModelState<'a>,
        now: Instant,
        request: Request,
        others_wait: bool,
    ) -> Option<Self> {
        let sent = now + drive.lag.max();
        let gap = drive.core.gap(&request, sent, drive.open.max(sent))?;
        let mut trial = drive.core.clone();
        let (alone, _) = trial.serve_queued(request, sent, drive.open);
        let transferred = trial.transferred();
        (alone.outcome != Outcome::Hit).then_some(Self {
            drive,
            sent,
            request,
            others_wait,
            gap,
            alone,
            transferred,
        })
    }

    pub fn undelayed(&self) -> UndelayedService {
        let is_media_time = self.is_absorbed_for_others();
        let at = if is_media_time {
            self.transferred
        } else {
            self.alone.at
        };
        UndelayedService {
            at,
            is_media_time,
            rounding: self.drive.core.rotation().rounding(),
        }
    }

    /// Returns true if the write cache absorbs the request while others wait for the media. The
    /// delay of the request is then the delay of the media access that the cache makes later.
    fn is_absorbed_for_others(&self) -> bool {
        self.alone.outcome == Outcome::Absorbed && self.others_wait
    }

    /// Plans the reads that gain the most for `tasks`. Also returns the turnaround after them.
    pub fn plan(&self, tasks: &Tasks, limits: SearchLimits) -> (GapPlan, Span) {
        let core = self.drive.core;
        let planner = GapPlanner {
            tasks,
            mechanism: core.mechanism(),
            gap: self.gap,
            limits,
        };
        let request = &self.request;
        let is_short = request.sectors < limits.max;
        let can_lead = request.op.is_read() && is_short && !request.force_unit_access;
        let target = can_lead.then(|| LeadTarget {
            start: request.start,
            max: SectorCount(limits.max.0 - request.sectors.0),
        });
        let rounding = core.rotation().rounding();
        planner.plan_commands(MAX_GAP_READS, target, rounding, |plan| self.rehearse(plan))
    }

    /// Returns the delay of the foreground request if everything happens as predicted. An answer
    /// that takes longer because of a lead does not count as a delay.
    fn rehearse(&self, plan: &GapPlan) -> PlanOutcome {
        let (mut open, depth, lag) = (self.drive.open, self.drive.depth, self.drive.lag);
        let mut core = self.drive.core.clone();
        let mut answers = Vec::from_iter(self.drive.answer);
        // A command is sent when the one `depth` places before it has been answered.
        let sent = |answers: &[Instant]| {
            let before = answers.len().checked_sub(depth);
            before.map_or(self.sent, |before| answers[before] + lag.max())
        };
        let mut read_until = None;
        for transfer in &plan.reads {
            let read = Request::new(0, Op::Read, transfer.first, transfer.sectors);
            let (done, next) = core.serve_queued(read, sent(&answers), open);
            answers.push(done.at + lag.of_data(&read));
            open = next;
            // A buffer hit needs no media.
            read_until = (done.outcome == Outcome::Miss).then(|| core.transferred());
        }
        let mut command = self.request;
        if let Some(lead) = &plan.lead {
            command.start = lead.first;
            command.sectors = command.sectors + lead.sectors;
        }
        let at = sent(&answers);
        let location = core.locate(&self.request);
        let turnaround = read_until.map(|until| {
            let view = core.view(at, open.max(at));
            let (arm, _) = view.called(&self.request, &location);
            arm.since.since_or_zero(until)
        });
        let (done, _) = core.serve_queued(command, at, open);
        let media_delay = core.transferred().after(self.transferred);
        let delay = if self.is_absorbed_for_others() {
            media_delay
        } else {
            media_delay.max(done.at.after(self.alone.at))
        };
        let delay = delay.or_zero();
        PlanOutcome {
            delay,
            turn: turnaround,
        }
    }
}
