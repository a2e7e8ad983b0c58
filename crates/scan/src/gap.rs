//! Fills the gap in front of a foreground request.

use diskarm_core::device::{Completion, Device, Outcome};
use diskarm_core::drive::Core;
use diskarm_core::freeblock::{Claim, Gap, GapTransfer, SearchLimits};
use diskarm_core::request::{Op, Request};
use diskarm_core::sched::{Estimate, Pending};
use diskarm_core::units::{Instant, SectorCount, Span};

use crate::background::Background;
use crate::external::{ExternalScheduler, Free, Planned, Planning};
use crate::lag::Lag;

/// The most reads in a gap, besides the foreground's own command.
const READS: usize = 2;

/// How often a search is repeated with a larger turn.
const TRIES: usize = 4;

/// What a foreground request would do without background reads in its gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Undelayed {
    /// When it would complete, or the media would be done with it.
    pub at: Instant,
    /// Whether the media count: of a write that the cache takes while others wait for them.
    pub is_of_media: bool,
    /// Times that differ by no more are the same.
    pub rounding: Span,
}

/// A gap, and the drive where it begins.
struct Planner<'a> {
    background: &'a Background,
    core: &'a Core,
    /// When the first command is sent.
    now: Instant,
    /// From the answer that a command waits for until it is sent.
    lag: Lag,
    open: Instant,
    request: Request,
    /// Whether other requests of the foreground wait.
    others_wait: bool,
    /// How many commands the drive has at most.
    depth: usize,
    /// When the one that it has is answered, if it has one.
    inside: Option<Instant>,
    gap: Gap,
    /// The foreground request without background reads.
    alone: Completion,
    /// When its transfer ends then.
    transferred: Instant,
}

/// What is sent in front of the foreground request, and how many blocks in front of its own it
/// reads.
#[derive(Clone, Debug, Default)]
struct Plan {
    reads: Vec<GapTransfer>,
    lead: Option<GapTransfer>,
}

impl<D: Device> ExternalScheduler<D> {
    /// The commands that serve a foreground request and what fits in its gap.
    pub(crate) fn fill_gap(&mut self, now: Instant, pending: Pending) -> Vec<Planned> {
        let alone = || vec![Planned::Foreground(Planning::alone(pending))];
        let is_known = self.watch.is_confident(now) && self.watch.is_complete(self.inside());
        let predictor = &self.watch.predictor;
        let Some(background) = &self.background else {
            return alone();
        };
        if !is_known || !pending.request.is_simple_transfer() || !background.wants_any() {
            return alone();
        }
        let inside = self.watch.next_completion();
        let open = predictor.open();
        let core = predictor.core();
        let lag = self.watch.lag;
        let drive = (core, open, inside, self.depth);
        let others_wait = !self.foreground.is_empty();
        let next = (pending.request, others_wait);
        let planner = Planner::new(background, drive, (now, lag), next);
        let Some(planner) = planner else {
            return alone();
        };
        let (plan, turn) = planner.plan();
        let undelayed = planner.undelayed();
        let op = usize::from(!pending.request.op.is_read());
        let Some(background) = &mut self.background else {
            return alone();
        };
        background.turn[op] = turn;
        plan.commands(background, pending, undelayed)
    }
}

impl Plan {
    fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.lead.is_none()
    }

    fn gain(&self) -> u64 {
        let reads = self.reads.iter().map(|find| find.gain);
        reads.sum::<u64>() + self.lead.map_or(0, |find| find.gain)
    }

    /// The commands, in order.
    fn commands(
        self,
        background: &mut Background,
        pending: Pending,
        undelayed: Undelayed,
    ) -> Vec<Planned> {
        if self.is_empty() {
            return vec![Planned::Foreground(Planning::alone(pending))];
        }
        background.stats.gaps += 1;
        background.stats.reads += self.reads.len() as u64;
        background.stats.merged += u64::from(self.lead.is_some());
        let reads = self.reads.iter().map(|find| {
            Planned::Free(Free {
                first: find.first,
                sectors: find.sectors,
                claim: background.claim(find),
            })
        });
        let mut commands: Vec<Planned> = reads.collect();
        let lead = self.lead.as_ref();
        commands.push(Planned::Foreground(Planning {
            pending,
            lead: lead.map_or(SectorCount(0), |find| find.sectors),
            claim: lead.map_or_else(Claim::default, |find| background.claim(find)),
            undelayed: Some(undelayed),
        }));
        commands
    }
}

impl<'a> Planner<'a> {
    /// The gap in front of a request that is chosen at `now` for a drive in the state of `core`,
    /// which may begin with it at `open`; `None` if the media are not needed for it.
    fn new(
        background: &'a Background,
        (core, open, inside, depth): (&'a Core, Instant, Option<Instant>, usize),
        (now, lag): (Instant, Lag),
        (request, others_wait): (Request, bool),
    ) -> Option<Self> {
        let now = now + lag.max();
        let gap = core.gap(&request, now, open.max(now))?;
        let mut trial = core.clone();
        let (alone, _) = trial.serve_queued(request, now, open);
        let transferred = trial.transferred();
        (alone.outcome != Outcome::Hit).then_some(Self {
            background,
            core,
            now,
            lag,
            open,
            request,
            others_wait,
            depth,
            inside,
            gap,
            alone,
            transferred,
        })
    }

    fn undelayed(&self) -> Undelayed {
        let is_of_media = self.is_absorbed_for_others();
        Undelayed {
            at: match is_of_media {
                true => self.transferred,
                false => self.alone.at,
            },
            is_of_media,
            rounding: self.core.rotation().rounding(),
        }
    }

    /// Whether the write cache takes the request, and others wait for the media: these, which it
    /// needs later, are what the foreground waits for. If no other waits, it is the completion.
    fn is_absorbed_for_others(&self) -> bool {
        self.alone.outcome == Outcome::Absorbed && self.others_wait
    }

    /// The reads that gain most, and the turn behind them.
    fn plan(&self) -> (Plan, Span) {
        let op = usize::from(!self.request.op.is_read());
        let mut turn = self.background.turn[op];
        let mut plan = Plan::default();
        // Another command is added as long as it gains anything and none before it is worse off.
        while plan.reads.len() < READS {
            let (better, seen) = self.improved(&plan, turn);
            turn = seen;
            match better {
                Some(better) if better.gain() > plan.gain() => {
                    let is_longer = better.reads.len() > plan.reads.len();
                    plan = better;
                    if !is_longer {
                        break;
                    }
                }
                _ => break,
            }
        }
        (plan, turn)
    }

    /// The plan with one more command or a longer lead, if it does not delay the foreground; and
    /// the turn behind its last command.
    fn improved(&self, plan: &Plan, usual: Span) -> (Option<Plan>, Span) {
        let mut turn = usual;
        for _ in 0..TRIES {
            let longer = self.longer(plan, turn);
            if longer.gain() <= plan.gain() {
                return (None, usual);
            }
            let (late, seen) = self.rehearsed(&longer);
            if late <= self.core.rotation().rounding() {
                return (Some(longer), seen.unwrap_or(usual));
            }
            turn = match seen {
                Some(seen) if seen > turn => seen,
                _ => turn + late,
            };
        }
        (None, usual)
    }

    /// What a read may be, if the head turns away from it so soon.
    fn limits(&self, turn: Span) -> SearchLimits {
        let settings = &self.background.settings;
        SearchLimits {
            arriving: settings.conservatism,
            leaving: settings.conservatism,
            // A model for which feedback is asked is not taken for exact.
            on_switches: settings.max_slowdown.is_some(),
            turn,
            sector: self.background.sector,
            max: self.background.max,
            ends: !settings.one_per_track,
            tracks: SearchLimits::TRACKS,
        }
    }

    /// The plan with one more read, if any, and the lead that then fits.
    fn longer(&self, plan: &Plan, turn: Span) -> Plan {
        let settings = &self.background.settings;
        let mut except = Vec::new();
        if settings.one_per_track {
            except.extend(plan.reads.iter().map(|find| find.track));
        }
        let limits = self.limits(turn);
        let gap = match plan.reads.last() {
            Some(last) => {
                if settings.one_per_track {
                    except.push(self.gap.source());
                }
                Gap {
                    from: last.position_after(turn),
                    ..self.gap
                }
            }
            None => self.gap,
        };
        let mechanism = self.core.mechanism();
        let found = self
            .background
            .tasks
            .search(mechanism, &gap, &limits, &except);
        let without = self.with_lead(plan.reads.clone(), turn);
        let Some(found) = found else {
            return without;
        };
        let reads = [&plan.reads[..], &[found]].concat();
        let with = self.with_lead(reads, turn);
        if with.gain() >= without.gain() {
            with
        } else {
            without
        }
    }

    /// The reads, and the blocks in front of the foreground's that its command can read too.
    fn with_lead(&self, reads: Vec<GapTransfer>, turn: Span) -> Plan {
        let lead = self.lead(reads.last(), turn);
        let lead = lead.filter(|lead| reads.iter().all(|find| !overlap(find, lead)));
        Plan { reads, lead }
    }

    fn lead(&self, last: Option<&GapTransfer>, turn: Span) -> Option<GapTransfer> {
        let is_bounded = self.request.sectors < self.background.max;
        if !self.request.op.is_read() || !is_bounded || self.request.force_unit_access {
            return None;
        }
        let from = last.map_or(self.gap.from, |last| last.position_after(turn));
        let mechanism = self.core.mechanism();
        let way = (from.cylinder, self.gap.to.cylinder);
        let limits = self.limits(turn);
        let source = Gap { from, ..self.gap }.source();
        let care = limits.care_between(source, self.gap.to, limits.leaving);
        let moved = (mechanism.seek).total(Op::Read, way, from.head != self.gap.to.head) + care;
        let max = SectorCount(self.background.max.0 - self.request.sectors.0);
        let there = from.since + moved;
        let times = (there, self.gap.until);
        (self.background.tasks).before(mechanism, times, self.request.start, max)
    }

    /// By how much a plan delays the drive with the foreground request if everything is as
    /// predicted, and the turn behind its last read. That a lead makes the answer longer does not
    /// count.
    fn rehearsed(&self, plan: &Plan) -> (Span, Option<Span>) {
        let mut core = self.core.clone();
        let mut open = self.open;
        let mut answers: Vec<Instant> = self.inside.into_iter().collect();
        // A command is sent when the one `depth` before it has been answered.
        let sent = |answers: &[Instant]| {
            let before = answers.len().checked_sub(self.depth);
            before.map_or(self.now, |before| answers[before] + self.lag.max())
        };
        let mut read_until = None;
        for find in &plan.reads {
            let read = Request::new(0, Op::Read, find.first, find.sectors);
            let (done, next) = core.serve_queued(read, sent(&answers), open);
            answers.push(done.at + self.lag.of_data(&read));
            open = next;
            // What the buffer has needs no media.
            read_until = (done.outcome == Outcome::Miss).then(|| core.transferred());
        }
        let mut request = self.request;
        if let Some(lead) = &plan.lead {
            request.start = lead.first;
            request.sectors = request.sectors + lead.sectors;
        }
        let at = sent(&answers);
        let place = core.locate(&self.request);
        let turn = read_until.map(|until| {
            let view = core.view(at, open.max(at));
            let (arm, _) = view.called(&self.request, &place);
            arm.since.since_or_zero(until)
        });
        let (done, _) = core.serve_queued(request, at, open);
        let late = core.transferred().after(self.transferred);
        let late = match self.is_absorbed_for_others() {
            true => late,
            false => late.max(done.at.after(self.alone.at)),
        };
        (late.or_zero(), turn)
    }
}

fn overlap(one: &GapTransfer, other: &GapTransfer) -> bool {
    one.first < other.first + other.sectors && other.first < one.first + one.sectors
}
