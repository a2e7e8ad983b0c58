//! The background tasks of a scheduler, statistics of their reads, and the control of conservatism.

use diskarm_core::device::Completion;
use diskarm_core::freeblock::{
    BackgroundStats, BlockSet, Claim, Delivery, GapPlan, SearchLimits, TaskId, Tasks,
};
use diskarm_core::request::{Op, Priority};
use diskarm_core::spec::Spec;
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};

use crate::gap::Undelayed;
use crate::watch::Observations;

/// Pause of an idle device after a failure other than of a block.
const AFTER_FAILURE: Span = Span::from_ns(1_000_000_000);

/// Maximum number of blocks of a read in idle time: 64 KiB in sectors of 512 bytes.
const MAX_IDLE_READ: u64 = 128;

/// Number of used gaps after which conservatism is adjusted.
const ADJUST_GAPS: u64 = 250;

/// Like [`ADJUST_GAPS`], while more is lost than allowed.
const ADJUST_GAPS_SOON: u64 = 50;

/// Number of foreground requests after which it is adjusted however few gaps were used.
const ADJUST_REQUESTS: u64 = 2_500;

/// Minimum adjustment of conservatism. The adjustment is an eighth of it, or a half upwards while
/// more is lost than allowed, if that is more.
const MIN_STEP: Span = Span::from_ns(25_000);

/// Maximum conservatism: a revolution of the slowest drives, with which no read fits into a gap.
const MAX_CONSERVATISM: Span = Span::from_ns(25_000_000);

/// Parameters of the choice of background reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackgroundSettings {
    /// Time added to each predicted seek to and from a background read: twice the scatter of the
    /// drive's seeks, or more.
    pub conservatism: Span,
    /// Reads in one gap are on different tracks, none of them the one where the gap begins; on the
    /// one where it ends they are part of the foreground's command. The drive takes several
    /// commands for a track for a sequence, and then reads ahead (lumb01, section 5).
    pub one_per_track: bool,
    /// Time after which an idle device is used for background reads.
    pub idle: Option<Span>,
    /// Maximum slowdown of the foreground, as a share of the time in which it is served.
    /// Conservatism is adjusted so that losses after background reads, according to the model, take
    /// a quarter to a half of that. It is then also added to head switches. It also grows while
    /// most predictions are wrong, as losses are then unknown: eventually nothing is read.
    pub max_slowdown: Option<f64>,
}

impl Default for BackgroundSettings {
    /// 0.3 ms of conservatism, one command per track, not in idle time.
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

/// Background tasks in front of a device.
pub struct Background {
    tasks: Tasks,
    settings: BackgroundSettings,
    sink: Box<dyn FnMut(&Delivery) + Send>,
    /// The last time from the end of a background read until the arm moved for a read or a write.
    turn: [Span; 2],
    /// The time of a sector on the bus.
    sector: Span,
    /// Maximum number of blocks of a command.
    max: SectorCount,
    stats: BackgroundStats,
    /// The block at which reads in idle time continue.
    next: Lbn,
    served: Service,
    /// The counts at the last adjustment of conservatism.
    adjusted: Counts,
    is_paused: bool,
}

/// The service of the foreground so far.
#[derive(Clone, Copy, Default)]
struct Service {
    requests: u64,
    busy: Span,
    /// The end of the last request.
    until: Instant,
}

/// A background read that is a command of its own.
pub(crate) struct FreeRead {
    pub first: Lbn,
    pub sectors: SectorCount,
    pub claim: Claim,
}

impl Background {
    /// Creates background reads of `tasks` on a drive of `spec`. Calls `sink` with all deliveries:
    /// each wanted block of each task once.
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
            turn: [Span::ZERO; 2],
            sector: spec.bus.read_sector,
            max: spec.buffer.segment,
            stats: BackgroundStats::default(),
            next: Lbn(0),
            served: Service::default(),
            adjusted: Counts::default(),
            is_paused: false,
        }
    }

    /// Adds a task; others may be under way.
    pub fn add(&mut self, wanted: BlockSet, priority: Priority) -> TaskId {
        self.tasks.add(wanted, priority)
    }

    /// Returns the tasks with the blocks that they still want.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Returns statistics of the background reads.
    pub fn stats(&self) -> &BackgroundStats {
        &self.stats
    }

    /// Returns the current conservatism.
    pub fn conservatism(&self) -> Span {
        self.settings.conservatism
    }

    /// Stops or resumes reading.
    pub(crate) fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// Removes blocks from all tasks, unless they are claimed.
    pub(crate) fn forget(&mut self, first: Lbn, sectors: SectorCount) {
        let claim = self.tasks.claim(first, sectors);
        self.tasks.deliver(&claim);
    }

    /// Returns the limits of a search in the gap of a request.
    pub(crate) fn limits(&self, op: Op) -> SearchLimits {
        let settings = &self.settings;
        SearchLimits {
            arriving: settings.conservatism,
            leaving: settings.conservatism,
            // Feedback is only requested for a model that may be inexact.
            on_switches: settings.max_slowdown.is_some(),
            turn: self.turn[usize::from(!op.is_read())],
            sector: self.sector,
            max: self.max,
            ends: !settings.one_per_track,
            tracks: SearchLimits::TRACKS,
        }
    }

    /// Records the turn after the reads in the gap of a request.
    pub(crate) fn record_turn(&mut self, op: Op, turn: Span) {
        self.turn[usize::from(!op.is_read())] = turn;
    }

    /// Claims and counts the reads of a plan; returns its commands, and the claim of its lead.
    pub(crate) fn start(&mut self, plan: &GapPlan) -> (Vec<FreeRead>, Claim) {
        self.stats.gaps += 1;
        self.stats.reads += plan.reads.len() as u64;
        self.stats.merged += u64::from(plan.lead.is_some());
        let reads = plan.reads.iter().map(|read| FreeRead {
            first: read.first,
            sectors: read.sectors,
            claim: self.tasks.claim(read.first, read.sectors),
        });
        let reads = reads.collect();
        let lead = plan.lead.as_ref();
        let claim = lead.map(|lead| self.tasks.claim(lead.first, lead.sectors));
        (reads, claim.unwrap_or_default())
    }

    pub(crate) fn restore(&mut self, claim: &Claim) {
        self.tasks.restore(claim);
    }

    /// Delivers the blocks that a command has read; the others are wanted again, except a bad
    /// block.
    pub(crate) fn settle(&mut self, claim: Claim, completion: &Completion) {
        let bad = completion.bad_block();
        let (read, rest) = match bad {
            Some(bad) => claim.split(bad),
            None if completion.status.is_success() => (claim, Claim::default()),
            None => (Claim::default(), claim),
        };
        let (lost, rest) = match bad {
            Some(bad) => rest.split(Lbn(bad.0 + 1)),
            None => (Claim::default(), rest),
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

    /// Records the delay of a foreground request after background reads, which ended, or whose
    /// media transfer ended, at `at`. A delay of more than `pause` has another cause inside the
    /// drive.
    pub(crate) fn record_delay(&mut self, undelayed: &Undelayed, at: Instant, pause: Span) {
        let late = at.since_or_zero(undelayed.at);
        if late > undelayed.rounding && late <= pause {
            self.stats.delayed += 1;
            self.stats.delay += late;
        }
    }

    /// Records a foreground request that arrived at `arrived` and was served by `now`, and adjusts
    /// conservatism to the cost of reads in gaps.
    pub(crate) fn record_service(&mut self, arrived: Instant, now: Instant, seen: &Observations) {
        let Service {
            requests,
            busy,
            until,
        } = &mut self.served;
        *requests += 1;
        *busy += now.since_or_zero((*until).max(arrived));
        *until = now;
        if let Some(max) = self.settings.max_slowdown {
            let counts = Counts {
                requests: self.served.requests,
                gaps: self.stats.gaps,
                busy: self.served.busy,
                delay: self.stats.delay,
                right: seen.right,
                predicted: seen.predicted,
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
        // Delays are estimates of an inexact model: aim at half of the allowed loss.
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

    /// Returns true if there is anything to read.
    pub(crate) fn wants_any(&self) -> bool {
        !self.is_paused && !self.tasks.is_done()
    }

    /// Returns when a device that is idle since `now` is used.
    pub(crate) fn idle_from(&self, now: Instant) -> Option<Instant> {
        let wait = self.settings.idle.filter(|_| self.wants_any());
        wait.map(|wait| now + wait)
    }

    /// Like [`Self::idle_from`], after a failure at `now`.
    pub(crate) fn idle_after_failure(&self, now: Instant) -> Option<Instant> {
        self.idle_from(now + AFTER_FAILURE)
    }

    /// Returns the next read in the order of blocks.
    pub(crate) fn next_in_order(&mut self) -> Option<FreeRead> {
        let all = Lbn(self.tasks.sectors().0);
        let next = self.tasks.first_wanted(self.next, all);
        let first = next.or_else(|| self.tasks.first_wanted(Lbn(0), self.next))?;
        let max = MAX_IDLE_READ.min(self.max.0).min(all.0 - first.0);
        let end = self.tasks.last_wanted(first, Lbn(first.0 + max))?;
        let sectors = SectorCount(end.0 - first.0 + 1);
        self.next = first + sectors;
        self.stats.reads += 1;
        Some(FreeRead {
            first,
            sectors,
            claim: self.tasks.claim(first, sectors),
        })
    }
}
