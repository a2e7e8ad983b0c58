//! How often blocks were written.

use std::collections::BTreeMap;

use super::ranges::Blocks;
use crate::units::Lbn;

/// The number of writes of each block, as steps: however often blocks are overwritten, there are no
/// more steps than blocks, and one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Writes {
    /// The number of writes from a block on, until the next that is here. Neighbours differ.
    steps: BTreeMap<Lbn, u64>,
}

impl Writes {
    /// Takes note of `times` writes of some blocks.
    pub fn add(&mut self, (first, end): Blocks, times: u64) {
        for at in [first, end] {
            let times = self.before(at);
            self.steps.entry(at).or_insert(times);
        }
        for (_, step) in self.steps.range_mut(first..end) {
            *step += times;
        }
        for at in [first, end] {
            if self.steps.get(&at) == Some(&self.before(at)) {
                self.steps.remove(&at);
            }
        }
    }

    /// The number of writes of the block before `at`.
    fn before(&self, at: Lbn) -> u64 {
        self.steps
            .range(..at)
            .next_back()
            .map_or(0, |(_, times)| *times)
    }

    /// Blocks that were written equally often, and how often, in the order of blocks.
    pub fn runs(&self) -> impl Iterator<Item = (Blocks, u64)> {
        let ends = self.steps.keys().skip(1);
        let runs = self.steps.iter().zip(ends);
        let runs = runs.map(|((first, times), end)| ((*first, *end), *times));
        runs.filter(|(_, times)| *times > 0)
    }

    /// The same within some blocks.
    pub fn runs_in(&self, within: Blocks) -> impl Iterator<Item = (Blocks, u64)> {
        let runs = self.runs();
        let runs =
            runs.map(move |(run, times)| ((run.0.max(within.0), run.1.min(within.1)), times));
        runs.filter(|(run, _)| run.0 < run.1)
    }

    /// Takes note of as many writes as there are in others.
    pub fn add_all(&mut self, runs: impl IntoIterator<Item = (Blocks, u64)>) {
        for (blocks, times) in runs {
            self.add(blocks, times);
        }
    }

    pub fn clear(&mut self) {
        self.steps.clear();
    }

    /// How much memory it takes: the number of steps.
    #[cfg(test)]
    pub fn steps(&self) -> usize {
        self.steps.len()
    }
}
