//! Several reads in one gap.

use super::search::{Gap, GapTransfer, SearchLimits};
use super::tasks::Tasks;
use crate::mechanics::Mechanism;
use crate::request::Op;

impl Tasks {
    /// The reads of a gap, at most `reads` of them, in order.
    ///
    /// Begins with the read that is worth most, with the best one on the track where the gap
    /// begins, and with the best one on the track where it ends; fills what is left of the gap in
    /// each case, and returns what is worth most. Between two reads, the care of arriving is taken
    /// for both movements.
    pub fn fill(
        &self,
        mechanism: &Mechanism,
        gap: &Gap,
        limits: &SearchLimits,
        reads: usize,
    ) -> Vec<GapTransfer> {
        let anywhere = self.search(mechanism, gap, limits, &[]);
        let [source, end] =
            [gap.source(), gap.to].map(|track| self.search_on(mechanism, gap, limits, track));
        let worth = |all: &Vec<GapTransfer>| all.iter().map(|find| find.worth).sum::<u64>();
        let mut max = Vec::new();
        for find in [anywhere, source, end].into_iter().flatten() {
            let all = self.fill_around(mechanism, gap, limits, find, reads);
            if worth(&all) > worth(&max) {
                max = all;
            }
        }
        max
    }

    /// At most `reads` reads: the best of the gap, and those that fit around it.
    fn fill_greedily(
        &self,
        mechanism: &Mechanism,
        gap: &Gap,
        limits: &SearchLimits,
        reads: usize,
    ) -> Vec<GapTransfer> {
        if reads == 0 {
            return Vec::new();
        }
        let best = self.search(mechanism, gap, limits, &[]);
        best.map_or_else(Vec::new, |find| {
            self.fill_around(mechanism, gap, limits, find, reads)
        })
    }

    /// A read, and those that fit before and after it.
    fn fill_around(
        &self,
        mechanism: &Mechanism,
        gap: &Gap,
        limits: &SearchLimits,
        find: GapTransfer,
        reads: usize,
    ) -> Vec<GapTransfer> {
        let before = Gap {
            to: find.track,
            op: Op::Read,
            until: find.begin,
            ..*gap
        };
        let after = Gap {
            from: find.position_after(limits.turn),
            ..*gap
        };
        let inner = SearchLimits {
            leaving: limits.arriving,
            ..*limits
        };
        let mut all = self.fill_greedily(mechanism, &before, &inner, reads - 1);
        all.push(find);
        let rest = self.fill_greedily(mechanism, &after, limits, reads - all.len());
        all.extend(rest);
        all
    }
}
