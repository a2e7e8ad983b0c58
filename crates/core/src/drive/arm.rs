//! What the arm is doing, and what it takes to get hold of it.

use super::reading::Reading;
use crate::buffer::Buffer;
use crate::mechanics::{Mechanism, Position};
use crate::spec::{self, Delivered};
use crate::units::{Instant, SectorCount};

/// What the arm is doing.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arm {
    /// Nothing, from this position's instant on; until then it finishes a write.
    Free(Position),
    /// Reading for a host, or ahead.
    Reading(Reading),
}

impl Arm {
    /// Lets the buffer know what has been read by `now`.
    #[inline]
    pub fn settle(
        &mut self,
        mechanism: &Mechanism,
        buffer: &mut Buffer,
        now: Instant,
        rules: &spec::Buffer,
    ) {
        if let Self::Reading(reading) = self {
            reading.go_on(mechanism, now);
            keep(reading, buffer, now, rules);
        }
    }

    /// Calls the head at `at`: where it is, and when it is free to move. What it still reads
    /// until then, the sector under it or required read-ahead, gets into the buffer.
    #[inline(always)]
    pub fn call(
        &mut self,
        mechanism: &Mechanism,
        buffer: &mut Buffer,
        at: Instant,
        rules: &spec::Buffer,
    ) -> Position {
        let at = self.released(mechanism, at, rules);
        match self {
            Self::Free(position) => Position {
                since: position.since.max(at),
                ..*position
            },
            Self::Reading(reading) => {
                reading.go_on(mechanism, at);
                let position = reading.stopped(at, !rules.read_ahead_stops_mid_sector);
                keep(reading, buffer, position.since, rules);
                position
            }
        }
    }

    /// What [`Self::call`] would give, for one who only asks.
    #[inline(always)]
    pub fn if_called(&self, mechanism: &Mechanism, at: Instant, rules: &spec::Buffer) -> Position {
        let at = self.released(mechanism, at, rules);
        match self {
            Self::Free(position) => Position {
                since: position.since.max(at),
                ..*position
            },
            Self::Reading(reading) => {
                reading.if_stopped(mechanism, at, !rules.read_ahead_stops_mid_sector)
            }
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

/// Puts in the buffer what a pass that has gone on to `now` has read by then.
#[inline]
fn keep(reading: &Reading, buffer: &mut Buffer, now: Instant, rules: &spec::Buffer) {
    buffer.fill(reading.segment, reading.reached(now));
    if rules.delivered == Delivered::Dropped {
        buffer.drop_before(reading.segment, reading.requested);
    }
}
