//! The gap in front of a foreground request, and rehearsals of what is read in it.

use diskarm_core::device::{Completion, Outcome};
use diskarm_core::drive::Core;
use diskarm_core::freeblock::{
    Gap, GapPlan, GapPlanner, LeadTarget, PlanOutcome, SearchLimits, Tasks,
};
use diskarm_core::request::{Op, Request};
use diskarm_core::sched::Estimate;
use diskarm_core::units::{Instant, SectorCount, Span};

use crate::watch::Lag;

/// Maximum number of reads in a gap, besides the foreground's own command.
const READS: usize = 2;

/// The behaviour of a foreground request without background reads in its gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Undelayed {
    /// When it would complete, or with `is_of_media`, when its media transfer would end.
    pub at: Instant,
    /// It is a write that the cache takes while other requests wait for the media.
    pub is_of_media: bool,
    /// Maximum difference of times that count as equal.
    pub rounding: Span,
}

/// The drive, according to its model, when a foreground request is chosen.
#[derive(Clone, Copy)]
pub(crate) struct ModelState<'a> {
    pub core: &'a Core,
    /// The instant from which the drive can start another command.
    pub open: Instant,
    /// The answer to the command inside the drive; `None` if there is none.
    pub answer: Option<Instant>,
    /// Maximum number of commands inside the drive.
    pub depth: usize,
    pub lag: Lag,
}

/// The gap in front of a foreground request.
pub(crate) struct ForegroundGap<'a> {
    drive: ModelState<'a>,
    /// The instant at which the first command reaches the drive.
    sent: Instant,
    request: Request,
    /// Other requests of the foreground wait.
    others_wait: bool,
    gap: Gap,
    /// The completion of the request without background reads.
    alone: Completion,
    /// The end of its media transfer without background reads.
    transferred: Instant,
}

impl<'a> ForegroundGap<'a> {
    /// Returns the gap of a request that is chosen at `now`; `None` if it does not need the media.
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

    pub fn undelayed(&self) -> Undelayed {
        let is_of_media = self.is_absorbed_for_others();
        Undelayed {
            at: if is_of_media {
                self.transferred
            } else {
                self.alone.at
            },
            is_of_media,
            rounding: self.drive.core.rotation().rounding(),
        }
    }

    /// Returns true if the write cache takes the request while others wait for the media: then the
    /// foreground waits for the media, which the cache needs later. Otherwise it waits for the
    /// completion.
    fn is_absorbed_for_others(&self) -> bool {
        self.alone.outcome == Outcome::Absorbed && self.others_wait
    }

    /// Plans the reads that gain most of `tasks`; also returns the turn after them.
    pub fn plan(&self, tasks: &Tasks, limits: SearchLimits) -> (GapPlan, Span) {
        let core = self.drive.core;
        let planner = GapPlanner {
            tasks,
            mechanism: core.mechanism(),
            gap: self.gap,
            limits,
        };
        let Request {
            op,
            start,
            sectors,
            force_unit_access,
            ..
        } = self.request;
        let can_lead = op.is_read() && sectors < limits.max && !force_unit_access;
        let target = can_lead.then(|| LeadTarget {
            start,
            max: SectorCount(limits.max.0 - sectors.0),
        });
        let rounding = core.rotation().rounding();
        planner.plan_commands(READS, target, rounding, |plan| self.rehearse(plan))
    }

    /// Returns the delay of the foreground request if everything happens as predicted. A longer
    /// answer because of a lead does not count as a delay.
    fn rehearse(&self, plan: &GapPlan) -> PlanOutcome {
        let ModelState {
            mut open,
            answer,
            depth,
            lag,
            ..
        } = self.drive;
        let mut core = self.drive.core.clone();
        let mut answers: Vec<Instant> = answer.into_iter().collect();
        // A command is sent when the one `depth` before it has been answered.
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
        let turn = read_until.map(|until| {
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
        PlanOutcome {
            delay: delay.or_zero(),
            turn,
        }
    }
}
