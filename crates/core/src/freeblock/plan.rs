//! Plans of the background reads in the gap before a foreground request.

use super::gap::{Gap, GapTransfer, SearchLimits, Track};
use super::tasks::Tasks;
use crate::mechanics::Mechanism;
use crate::request::Op;
use crate::units::{Lbn, SectorCount, Span};

/// Maximum number of searches for one more read. Each assumes a larger turn than the previous one.
const TRIES: usize = 4;

/// The background reads in a gap.
#[derive(Clone, Debug, Default)]
pub struct GapPlan {
    /// Reads that are separate commands, in order.
    pub reads: Vec<GapTransfer>,
    /// A read of the blocks just before the foreground request, as a part of its command.
    pub lead: Option<GapTransfer>,
}

impl GapPlan {
    /// Returns true if the plan has no reads.
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.lead.is_none()
    }

    fn gain(&self) -> u64 {
        let reads = self.reads.iter().map(|read| read.gain);
        reads.sum::<u64>() + self.lead.map_or(0, |lead| lead.gain)
    }
}

/// The foreground request before which a lead may be read.
#[derive(Clone, Copy, Debug)]
pub struct LeadTarget {
    /// The first block of the request.
    pub start: Lbn,
    /// Maximum number of blocks of the lead.
    pub max: SectorCount,
}

/// The result of rehearsing a plan.
#[derive(Clone, Copy, Debug)]
pub struct PlanOutcome {
    /// The delay of the foreground request.
    pub delay: Span,
    /// Time from the end of the last read until the arm moved for the foreground request; `None` if
    /// no read needed the media.
    pub turn: Option<Span>,
}

/// A planner for the reads in one gap.
#[derive(Clone, Copy, Debug)]
pub struct GapPlanner<'a> {
    /// Background tasks whose blocks may be read.
    pub tasks: &'a Tasks,
    /// The mechanism of the drive, or its model.
    pub mechanism: &'a Mechanism,
    /// The gap to be filled.
    pub gap: Gap,
    /// The limits of each search.
    pub limits: SearchLimits,
}

impl GapPlanner<'_> {
    /// Plans at most `reads` reads for a drive that needs no commands for them.
    ///
    /// Makes three plans: around the most valuable read, around the best read on the track where
    /// the gap begins, and around the best on the track where it ends. Returns the most valuable
    /// plan. A movement between two reads has only the margin for arriving.
    pub fn fill(&self, reads: usize) -> Vec<GapTransfer> {
        let anywhere = self.search(&[]);
        let [source, end] = [self.gap.source(), self.gap.to]
            .map(|track| (self.tasks).search_on(self.mechanism, &self.gap, &self.limits, track));
        let worth = |all: &Vec<GapTransfer>| all.iter().map(|read| read.worth).sum::<u64>();
        let mut best = Vec::new();
        for read in [anywhere, source, end].into_iter().flatten() {
            let all = self.fill_around(read, reads);
            if worth(&all) > worth(&best) {
                best = all;
            }
        }
        best
    }

    /// Returns at most `reads` reads: the best in the gap, and those that fit before and after it.
    fn fill_greedily(&self, reads: usize) -> Vec<GapTransfer> {
        if reads == 0 {
            return Vec::new();
        }
        let best = self.search(&[]);
        best.map_or_else(Vec::new, |read| self.fill_around(read, reads))
    }

    /// Returns `read`, and the reads that fit before and after it.
    fn fill_around(&self, read: GapTransfer, reads: usize) -> Vec<GapTransfer> {
        let before = Self {
            gap: Gap {
                to: read.track,
                op: Op::Read,
                until: read.begin,
                ..self.gap
            },
            limits: SearchLimits {
                leaving: self.limits.arriving,
                ..self.limits
            },
            ..*self
        };
        let after = Self {
            gap: Gap {
                from: read.position_after(self.limits.turn),
                ..self.gap
            },
            ..*self
        };
        let mut all = before.fill_greedily(reads - 1);
        all.push(read);
        let later = after.fill_greedily(reads - all.len());
        all.extend(later);
        all
    }

    fn search(&self, except: &[Track]) -> Option<GapTransfer> {
        (self.tasks).search(self.mechanism, &self.gap, &self.limits, except)
    }

    /// Plans at most `reads` commands, and a lead before `target`, for a scheduler outside the
    /// drive. Returns the plan and the turn after its last read.
    ///
    /// Adds commands as long as each gains something and delays the foreground request in a
    /// rehearsal by no more than `rounding`. The first search uses the turn in [`Self::limits`]. If
    /// that proves too short, the search is repeated with a longer one.
    pub fn plan_commands(
        &self,
        reads: usize,
        target: Option<LeadTarget>,
        rounding: Span,
        rehearse: impl Fn(&GapPlan) -> PlanOutcome,
    ) -> (GapPlan, Span) {
        let mut turn = self.limits.turn;
        let mut plan = GapPlan::default();
        while plan.reads.len() < reads {
            let usual = self.with_turn(turn);
            let (better, next_turn) = usual.improve(&plan, target, rounding, &rehearse);
            turn = next_turn;
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

    /// Returns the plan with one more command or a longer lead, if that does not delay the
    /// foreground request, and the turn after its last command.
    fn improve(
        &self,
        plan: &GapPlan,
        target: Option<LeadTarget>,
        rounding: Span,
        rehearse: &impl Fn(&GapPlan) -> PlanOutcome,
    ) -> (Option<GapPlan>, Span) {
        let usual = self.limits.turn;
        let mut turn = usual;
        for _ in 0..TRIES {
            let longer = self.with_turn(turn).extend(plan, target);
            if longer.gain() <= plan.gain() {
                return (None, usual);
            }
            let outcome = rehearse(&longer);
            if outcome.delay <= rounding {
                return (Some(longer), outcome.turn.unwrap_or(usual));
            }
            turn = match outcome.turn {
                Some(seen) if seen > turn => seen,
                _ => turn + outcome.delay,
            };
        }
        (None, usual)
    }

    fn with_turn(&self, turn: Span) -> Self {
        let limits = SearchLimits {
            turn,
            ..self.limits
        };
        Self { limits, ..*self }
    }

    /// Returns the better of two plans: with one more read, or without. Each has a lead that fits.
    fn extend(&self, plan: &GapPlan, target: Option<LeadTarget>) -> GapPlan {
        let mut except = Vec::new();
        let mut gap = self.gap;
        if let Some(last) = plan.reads.last() {
            gap.from = last.position_after(self.limits.turn);
            if !self.limits.ends {
                except.extend(plan.reads.iter().map(|read| read.track));
                except.push(self.gap.source());
            }
        }
        let planner = Self { gap, ..*self };
        let found = planner.search(&except);
        let without = self.with_lead(plan.reads.clone(), target);
        let Some(found) = found else {
            return without;
        };
        let reads = [&plan.reads[..], &[found]].concat();
        let with = self.with_lead(reads, target);
        if with.gain() >= without.gain() {
            with
        } else {
            without
        }
    }

    fn with_lead(&self, reads: Vec<GapTransfer>, target: Option<LeadTarget>) -> GapPlan {
        let lead = target
            .and_then(|target| self.lead(reads.last(), target))
            .filter(|lead| !reads.iter().any(|read| read.overlaps(lead)));
        GapPlan { reads, lead }
    }

    fn lead(&self, last: Option<&GapTransfer>, target: LeadTarget) -> Option<GapTransfer> {
        let limits = &self.limits;
        let from = last.map_or(self.gap.from, |last| last.position_after(limits.turn));
        let to = self.gap.to;
        let source = Gap { from, ..self.gap }.source();
        let margin = limits.margin_between(source, to, limits.leaving);
        let seek = &self.mechanism.seek;
        let cylinders = (from.cylinder, to.cylinder);
        let moved = seek.total(Op::Read, cylinders, from.head != to.head) + margin;
        let since = from.since + moved;
        (self.tasks).search_lead(
            self.mechanism,
            since,
            self.gap.until,
            target.start,
            target.max,
        )
    }
}
