//! What the arm is doing, and what it takes to get hold of it.

use super::reading::Reading;
use crate::buffer::Buffer;
use crate::mechanics::{Mechanism, Position};
use crate::spec::{self, DeliveredBlocks, ReadAhead};
use crate::units::{Instant, Lbn, SectorCount};

/// What the arm is doing.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arm {
    /// Nothing, from this position's instant on; until then it finishes a write.
    Free(Position),
    /// Reading for a host, or ahead.
    Reading(Reading),
}

impl Arm {
    /// Calls the head at `at`: where it is, and when it is free to move. Until then it reads on:
    /// the sector under it, or read-ahead that is required.
    #[inline(always)]
    pub fn call(&mut self, mechanism: &Mechanism, at: Instant, rules: &spec::Buffer) -> Position {
        let at = self.released(mechanism, at, rules);
        if let Self::Reading(reading) = self {
            reading.go_on(mechanism, at);
        }
        self.position(at, rules)
    }

    /// What [`Self::call`] gives on a copy. None is made where the pass is still in the run that
    /// was located last.
    #[inline(always)]
    pub fn if_called(&self, mechanism: &Mechanism, at: Instant, rules: &spec::Buffer) -> Position {
        let released = self.released(mechanism, at, rules);
        match self {
            Self::Reading(reading) if reading.has_gone_on_by(released) => {
                let mut copy = *self;
                copy.call(mechanism, at, rules)
            }
            _ => self.position(released, rules),
        }
    }

    /// Where the head is, and when it is free, if it is called at `at`, to which it has continued.
    #[inline(always)]
    fn position(&self, at: Instant, rules: &spec::Buffer) -> Position {
        match self {
            Self::Free(position) => Position {
                since: position.since.max(at),
                ..*position
            },
            Self::Reading(reading) => reading.stopped(at, !rules.read_ahead_stops_mid_sector),
        }
    }

    /// Puts in the buffer what a pass that has continued to `now` has read by then.
    #[inline(always)]
    pub fn keep(
        &self,
        mechanism: &Mechanism,
        buffer: &mut Buffer,
        now: Instant,
        rules: &spec::Buffer,
    ) {
        if let Self::Reading(reading) = self {
            buffer.fill(reading.segment, reading.reached(now));
            if rules.delivered == DeliveredBlocks::Dropped {
                buffer.drop_before(reading.segment, reading.requested);
            } else if rules.read_whole_track {
                self.keep_whole_track(mechanism, buffer, now, rules);
            }
        }
    }

    /// Apart, because few drives do.
    #[cold]
    #[inline(never)]
    fn keep_whole_track(
        &self,
        mechanism: &Mechanism,
        buffer: &mut Buffer,
        now: Instant,
        rules: &spec::Buffer,
    ) {
        if let Self::Reading(reading) = self
            && let Some(first) = self.whole_track(mechanism, now, rules)
        {
            buffer.fill_before(reading.segment, first);
        }
    }

    /// The first block of the track that a pass which has continued to `now` has read entirely.
    pub fn whole_track(
        &self,
        mechanism: &Mechanism,
        now: Instant,
        rules: &spec::Buffer,
    ) -> Option<Lbn> {
        match self {
            Self::Reading(reading)
                if rules.read_whole_track
                    && rules.read_ahead != ReadAhead::None
                    && rules.delivered == DeliveredBlocks::Kept =>
            {
                reading.whole_track(mechanism, now)
            }
            _ => None,
        }
    }

    /// When the read-ahead that the drive owes is done, or `at` if that is later.
    #[inline(always)]
    fn released(&self, mechanism: &Mechanism, at: Instant, rules: &spec::Buffer) -> Instant {
        match self {
            Self::Reading(reading) if rules.read_ahead_min > SectorCount(0) => {
                let owed = (reading.requested + rules.read_ahead_min).min(reading.end);
                at.max(reading.when(mechanism, owed))
            }
            _ => at,
        }
    }
}
