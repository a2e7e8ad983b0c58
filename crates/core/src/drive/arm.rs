//! What the arm is doing, and what it takes to get hold of it.

use super::reading::Reading;
use crate::buffer::Buffer;
use crate::mechanics::{Mechanism, Position};
use crate::spec::{self, Delivered};
use crate::units::{Instant, Lbn};

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
        spec: &spec::Buffer,
    ) {
        if let Self::Reading(reading) = self {
            let reached = reading.reached(mechanism, now);
            buffer.fill(reading.segment, reached);
            if spec.delivered == Delivered::Dropped {
                buffer.drop_before(reading.segment, reading.requested);
            }
        }
    }

    /// Calls the head away at `at`: where it is, and when. What it still reads until then, the
    /// sector under it or required read-ahead, gets into the buffer.
    #[inline]
    pub fn leave(
        &mut self,
        mechanism: &Mechanism,
        buffer: &mut Buffer,
        at: Instant,
        spec: &spec::Buffer,
    ) -> Position {
        let position = self.called(mechanism, at, spec);
        self.settle(mechanism, buffer, position.since, spec);
        position
    }

    /// Where the head would be, and when, if it were called at `at`. Required read-ahead
    /// comes first.
    #[inline]
    pub fn called(&self, mechanism: &Mechanism, at: Instant, spec: &spec::Buffer) -> Position {
        match self {
            Self::Free(position) => Position {
                since: position.since.max(at),
                ..*position
            },
            Self::Reading(reading) => {
                let at = match spec.read_ahead_min.0 {
                    0 => at,
                    _ => at.max(reading.when(mechanism, required(reading, spec))),
                };
                reading.stopped(mechanism, at, !spec.read_ahead_stops_mid_sector)
            }
        }
    }
}

/// One past the last block of the read-ahead that `reading` owes.
fn required(reading: &Reading, spec: &spec::Buffer) -> Lbn {
    (reading.requested + spec.read_ahead_min).min(reading.end())
}
