//! What a power cut does.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

/// A power cut. By default every write survives that is on the media as a whole, and no other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PowerCut {
    /// Of the write in progress the sectors survive that are on the media; where requests take no
    /// time, a part of the oldest write that is not, at random.
    pub torn: bool,
    /// Of the writes that no flush and no FUA has made safe, those survive that the seed chooses.
    pub worst: bool,
    /// What is random.
    pub seed: u64,
}

/// What a power cut has taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// Writes that had been acknowledged and are not there, or only in part.
    pub lost_writes: u64,
    /// Writes that had not been acknowledged.
    pub unfinished_writes: u64,
    /// Sectors that hold older data than before.
    pub reverted_sectors: u64,
}

/// How much of a write survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    All,
    Nothing,
    /// This many sectors from its first on.
    First(u64),
}

/// What decides by chance: PCG XSL 128/64 (MCG).
pub(super) struct Choice(Pcg64Mcg);

impl Choice {
    pub fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// A uniform number below `bound`, off by less than `bound / 2^64` in probability.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Whether a write survives: even odds.
    pub fn fate(&mut self) -> Fate {
        match self.below(2) {
            0 => Fate::Nothing,
            _ => Fate::All,
        }
    }

    /// A part of a write of this many sectors, which may be nothing but not all.
    pub fn part(&mut self, sectors: u64) -> Fate {
        Fate::First(self.below(sectors))
    }
}
