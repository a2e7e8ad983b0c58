//! Background tasks of a scheduler, and what became of them.

use diskarm_core::device::Completion;
use diskarm_core::freeblock::{
    BackgroundStats, BlockSet, Claim, Delivery, GapTransfer, TaskId, Tasks,
};
use diskarm_core::request::Priority;
use diskarm_core::spec::Spec;
use diskarm_core::units::{Instant, Lbn, SectorCount, Span};

use crate::external::Free;
use crate::gap::Undelayed;
use crate::watch::Observations;

/// After a failure that is not of a block, an idle device is left alone for this long.
const AFTER_FAILURE: Span = Span::from_ns(1_000_000_000);

/// Blocks that one read in idle time covers at most: those of 64 KiB in sectors of 512 bytes.
const IN_ORDER: u64 = 128;

/// Used gaps after which conservatism is adjusted.
const ADJUSTED_AFTER: u64 = 250;

/// The same while more is lost than allowed.
const ADJUSTED_SOON: u64 = 50;

/// Foreground requests after which it is adjusted however few gaps were used.
const ADJUSTED_ANYHOW: u64 = 2_500;

/// By how much it is adjusted at least. If that is more, it is an eighth of it, or a half of it
/// upwards while more is lost than allowed.
const STEP: Span = Span::from_ns(25_000);

/// The most that conservatism is adjusted to: a revolution of the slowest drives, behind which no
/// read fits into a gap.
const MAX: Span = Span::from_ns(25_000_000);

/// How background reads are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackgroundSettings {
    /// Added to the time of each predicted seek to a background read and behind it. Twice the
    /// scatter of the drive's seeks, or more.
    pub conservatism: Span,
    /// Reads in one gap are on different tracks, none of them the one where the gap begins; on the
    /// one where it ends they are part of the foreground's command. Several commands for a track
    /// look like a sequence to the drive, which then reads ahead (lumb01, section 5).
    pub one_per_track: bool,
    /// Use the device when it has been idle for this long.
    pub idle: Option<Span>,
    /// The most that the foreground may be slowed down, as a share of the time in which it is
    /// served. Conservatism is adjusted so that losses behind background reads, as far as the model
    /// tells, take a quarter to a half of that. It is then also added to head switches. It grows,
    /// too, while most predictions are wrong, which do not tell what is lost: in the end nothing is
    /// read.
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

/// What was counted by the time that conservatism was adjusted last.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    requests: u64,
    gaps: u64,
    /// The time in which the foreground was served, with what was read in its gaps.
    busy: Span,
    delay: Span,
    right: u64,
    predicted: u64,
}

/// Background tasks in front of a device.
pub struct Background {
    pub(crate) tasks: Tasks,
    pub(crate) settings: BackgroundSettings,
    sink: Box<dyn FnMut(&Delivery) + Send>,
    /// From the end of a background read until the arm moves for a read or a write, as it was last.
    pub(crate) turn: [Span; 2],
    /// The time of a sector on the bus.
    pub(crate) sector: Span,
    /// The most blocks of a command.
    pub(crate) max: SectorCount,
    pub(crate) stats: BackgroundStats,
    /// Where reads in idle time continue.
    next: Lbn,
    /// Foreground requests that were served, in how much time, and the end of the last.
    served: (u64, Span, Instant),
    adjusted: Counted,
    /// Nothing is read currently.
    pub(crate) is_paused: bool,
}

impl Background {
    /// Reads what `tasks` want on a drive of `spec`, and calls `sink` for all that it gets: each
    /// wanted block of each task once.
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
            served: (0, Span::ZERO, Instant::START),
            adjusted: Counted::default(),
            is_paused: false,
        }
    }

    /// Adds a task while others are under way.
    pub fn add(&mut self, wanted: BlockSet, priority: Priority) -> TaskId {
        self.tasks.add(wanted, priority)
    }

    /// The tasks with what they still want.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// What was done.
    pub fn stats(&self) -> &BackgroundStats {
        &self.stats
    }

    /// What is added to each seek currently.
    pub fn conservatism(&self) -> Span {
        self.settings.conservatism
    }

    /// Blocks that no task wants any more, unless they are on their way.
    pub(crate) fn forget(&mut self, first: Lbn, sectors: SectorCount) {
        let claim = self.tasks.claim(first, sectors);
        self.tasks.deliver(&claim);
    }

    /// Takes note that a read is planned.
    pub(crate) fn claim(&mut self, find: &GapTransfer) -> Claim {
        self.tasks.claim(find.first, find.sectors)
    }

    pub(crate) fn restore(&mut self, claim: &Claim) {
        self.tasks.restore(claim);
    }

    /// Hands over what a command has brought; what it has not is wanted again, except for a bad block.
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

    /// Compares a foreground request behind background reads, or the media's part of it, that was
    /// done `at`, with what it would have been without. If it is later by more than `pause`, the
    /// drive did something of its own.
    pub(crate) fn judge(&mut self, undelayed: &Undelayed, at: Instant, pause: Span) {
        let late = at.since_or_zero(undelayed.at);
        if late > undelayed.rounding && late <= pause {
            self.stats.delayed += 1;
            self.stats.delay += late;
        }
    }

    /// Takes note of a foreground request that had come at `arrived` and was served by `now`, and
    /// adjusts conservatism to what reads in gaps cost.
    pub(crate) fn served(&mut self, arrived: Instant, now: Instant, seen: &Observations) {
        let (requests, busy, until) = self.served;
        let busy = busy + now.since_or_zero(until.max(arrived));
        self.served = (requests + 1, busy, now);
        if let Some(max) = self.settings.max_slowdown {
            let counted = Counted {
                requests: requests + 1,
                gaps: self.stats.gaps,
                busy,
                delay: self.stats.delay,
                right: seen.right,
                predicted: seen.predicted,
            };
            self.adjust(max, counted);
        }
    }

    fn adjust(&mut self, max: f64, counted: Counted) {
        let before = self.adjusted;
        let gaps = counted.gaps - before.gaps;
        let requests = counted.requests - before.requests;
        let busy = counted.busy - before.busy;
        if (gaps < ADJUSTED_SOON && requests < ADJUSTED_ANYHOW) || busy <= Span::ZERO {
            return;
        }
        let lost = (counted.delay - before.delay).as_s() / busy.as_s();
        let is_too_much = gaps >= ADJUSTED_SOON && lost > max;
        if gaps < ADJUSTED_AFTER && requests < ADJUSTED_ANYHOW && !is_too_much {
            return;
        }
        let right = counted.right - before.right;
        let is_mostly_wrong = 2 * right < counted.predicted - before.predicted;
        let old = self.settings.conservatism;
        let step = |part| STEP.max(Span::from_ns(old.as_ns() / part));
        // Delays are as the model tells, and it is not exact: half of them are allowed.
        self.settings.conservatism = if is_too_much {
            (old + step(2)).min(MAX)
        } else if is_mostly_wrong || lost > max / 2.0 {
            (old + step(8)).min(MAX)
        } else if lost < max / 4.0 {
            (old - step(8)).or_zero()
        } else {
            old
        };
        self.adjusted = counted;
    }

    /// Whether there is anything to read.
    pub(crate) fn wants_any(&self) -> bool {
        !self.is_paused && !self.tasks.is_done()
    }

    /// When a device that is idle from `now` on is used.
    pub(crate) fn idle_from(&self, now: Instant) -> Option<Instant> {
        let wait = self.settings.idle.filter(|_| self.wants_any());
        wait.map(|wait| now + wait)
    }

    /// The same after it has failed at `now`.
    pub(crate) fn idle_after_failure(&self, now: Instant) -> Option<Instant> {
        self.idle_from(now + AFTER_FAILURE)
    }

    /// The next read in the order of blocks.
    pub(crate) fn next_in_order(&mut self) -> Option<Free> {
        let all = Lbn(self.tasks.sectors().0);
        let next = self.tasks.first_wanted(self.next, all);
        let first = next.or_else(|| self.tasks.first_wanted(Lbn(0), self.next))?;
        let max = IN_ORDER.min(self.max.0).min(all.0 - first.0);
        let end = self.tasks.last_wanted(first, Lbn(first.0 + max))?;
        let sectors = SectorCount(end.0 - first.0 + 1);
        self.next = first + sectors;
        self.stats.reads += 1;
        Some(Free {
            first,
            sectors,
            claim: self.tasks.claim(first, sectors),
        })
    }
}
