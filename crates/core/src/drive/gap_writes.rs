//! Writes of dirty data in the gaps of commands: while a command waits for its first sector, a write
//! cache that chooses its destages writes other data.

use super::core::{Command, Core};
use super::deferred::Deferred;
use crate::freeblock::DirtySearch;
use crate::request::Op;
use crate::units::Instant;

/// The most writes in a gap.
const WRITES: usize = 5;

impl Deferred {
    /// Puts on the media, in the gap of a command that begins at `at` and needs the media, what
    /// does not delay it.
    ///
    /// The movements that are expected are the mean ones. If the head arrives late at a write, it
    /// begins with the sector that comes next, and what has passed stays dirty.
    #[cold]
    #[inline(never)]
    pub(super) fn destage_in_gap(&mut self, command: &Command, at: Instant, core: &mut Core) {
        if self.ranges.is_empty() {
            return;
        }
        let found = core.fill_gap(command, Op::Write, |gap| {
            let conservatism = core.rules.destage_conservatism;
            let ranges = self.ranges.blocks();
            DirtySearch::new(&core.mechanism, ranges, gap, conservatism).fill(gap, WRITES)
        });
        let Some((found, mut from)) = found else {
            return;
        };
        let period = core.mechanism.rotation.period();
        for find in &found {
            let passed = core.pass_in_gap(from, find, Op::Write);
            from = passed.end;
            let Some(piece) = passed.piece else {
                continue;
            };
            let (change, writes) = self.ranges.replace(at, (piece.first, piece.end_lbn()));
            self.change(change, core);
            self.figures.destaged.0 += piece.sectors.0;
            self.figures.in_gaps.0 += piece.sectors.0;
            self.figures.writes_in_gaps += 1;
            if let Some(landings) = &mut core.landings {
                landings.add_all(piece, &writes, period);
            }
        }
    }
}
