//! Several reads in one gap.

use super::search::{Find, Gap, Limits, Track};
use super::tasks::Tasks;
use crate::mechanics::{Mechanism, Position};
use crate::request::Op;

impl Tasks {
    /// The reads of a gap, at most so many, in order.
    ///
    /// Takes the best read, and fills what is left before and behind it in the same way. As often
    /// as
    /// `alternatives` says, one within the other, it also tries to take the best read on the track
    /// where the gap begins, or on the one where it ends, and of the three ways goes the one that
    /// is worth most. Between two reads, the care of arriving is taken for both movements.
    pub fn fill(
        &self,
        mechanism: &Mechanism,
        gap: &Gap,
        limits: &Limits,
        reads: usize,
        alternatives: usize,
    ) -> Vec<Find> {
        if reads == 0 {
            return Vec::new();
        }
        let source = Track {
            cylinder: gap.from.cylinder,
            head: gap.from.head,
        };
        let best = self.search(mechanism, gap, limits, &[]);
        let mut firsts: Vec<Find> = best.into_iter().collect();
        if reads > 1 && alternatives > 0 {
            for track in [source, gap.to] {
                let found = self.search_on(mechanism, gap, limits, track);
                firsts.extend(found.filter(|found| !firsts.contains(found)));
            }
        }
        let filled = firsts.into_iter().map(|find| {
            let before = Gap {
                to: find.track,
                op: Op::Read,
                until: find.begin,
                ..*gap
            };
            let behind = Gap {
                from: Position {
                    cylinder: find.track.cylinder,
                    head: find.track.head,
                    since: find.end + limits.turn,
                },
                ..*gap
            };
            let less = alternatives.saturating_sub(1);
            let inner = Limits {
                leaving: limits.arriving,
                ..*limits
            };
            let mut all = self.fill(mechanism, &before, &inner, reads - 1, less);
            all.push(find);
            let rest = self.fill(mechanism, &behind, limits, reads - all.len(), less);
            all.extend(rest);
            all
        });
        let worth = |all: &Vec<Find>| all.iter().map(|find| find.worth).sum::<u64>();
        let mut most = Vec::new();
        for all in filled {
            if worth(&all) > worth(&most) {
                most = all;
            }
        }
        most
    }
}
