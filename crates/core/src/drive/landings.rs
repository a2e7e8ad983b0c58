//! When what a drive writes reaches the media.

use std::collections::VecDeque;

use crate::device::Landed;
use crate::mechanics::Piece;
use crate::units::{Instant, SectorCount, Span};

/// The runs of writes that have begun, until they are reported to be on the media.
#[derive(Clone, Debug, Default)]
pub(super) struct Landings {
    /// In the order in which they get there, with how many of their sectors have been reported.
    runs: VecDeque<(Piece, SectorCount)>,
}

impl Landings {
    /// Adds a run that is written when all before have been; a revolution takes `period`.
    pub fn add(&mut self, run: Piece, period: Span) {
        let parts = run.in_passing_order(period).into_iter().flatten();
        let parts = parts.filter(|part| part.sectors > SectorCount(0));
        self.runs.extend(parts.map(|part| (part, SectorCount(0))));
    }

    /// What has reached the media by `now` and has not been reported.
    pub fn by(&mut self, now: Instant) -> Vec<Landed> {
        let mut landed = Vec::new();
        while let Some((run, reported)) = self.runs.front_mut() {
            let done = run.done(now);
            if done > *reported {
                landed.push(Landed {
                    first: run.first + *reported,
                    sectors: SectorCount(done.0 - reported.0),
                });
            }
            *reported = done;
            if done < run.sectors {
                break;
            }
            self.runs.pop_front();
        }
        landed
    }
}
