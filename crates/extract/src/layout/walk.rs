//! Follows the blocks of a zone from place to place, and looks only where something may change.
//!
//! Between two places that are as far apart as their blocks nothing can be missing. So steps grow
//! while the drive agrees, and a bisection finds the first block that is not where it should be.
//! There, either places are missing or the zone ends; what follows decides. Once the missing
//! places recur at the end (or the front) of regions of one size, one look at each region finds
//! its slips.
//!
//! Where looks only distinguish tracks, all but the ends of tracks may be a few sectors from their
//! places: what is slipped on a track is seen, and noted, at its end.

use super::chart::{Gap, Tracks, ZoneChart};
use crate::Error;
use regions::{Rule, Stride};

mod behind;
mod change;
mod regions;
mod spares;

/// Neighbouring sectors that a defect may slip.
pub(super) const FEW_SLIPS: u64 = 12;

/// Sectors that tracks of another zone are off by, at least, where they are not taken for tracks of
/// this one; a slipped one or two are not seen.
pub(super) const NEARLY: u64 = 3;

/// Answers where blocks are.
pub(super) trait Looks {
    /// A block can look as if it were in line although it is not: two looks decide.
    const MAY_COINCIDE: bool;
    /// All blocks up to the capacity are known to be in the zone.
    const KNOWS_END: bool;

    /// Whether looks take many reads: what is unlikely is then not followed up.
    fn are_costly(&self, _: &Tracks) -> bool {
        false
    }

    /// Whether looks distinguish a sector from the next; if not, they distinguish tracks, and what
    /// is slipped on a track counts at its end.
    fn tell_sectors(&self, _: &Tracks) -> bool {
        true
    }

    /// Whether one block is as many sectors behind another one as the two places are apart, rather
    /// than this many more or fewer, even where looks do not tell sectors.
    fn are_apart(&mut self, _: &Tracks, _: [(u64, u64); 2], _: u64) -> Result<bool, Error> {
        Ok(true)
    }

    /// How many sectors are slipped between a block at its place and another one that is not at its
    /// place on the same track, if that is seen although looks do not tell sectors.
    fn slips_between(&mut self, _: &Tracks, _: [(u64, u64); 2]) -> Result<Option<u64>, Error> {
        Ok(None)
    }

    /// Whether block `at` is at `place`, as far as one look tells.
    fn is_at(&mut self, tracks: &Tracks, at: u64, place: u64) -> Result<bool, Error>;

    /// The places where block `at` may be, none before `least`, in ascending order; none if it
    /// cannot be in the zone.
    fn places(&mut self, tracks: &Tracks, at: u64, min: u64) -> Result<Vec<u64>, Error>;
}

pub(super) struct Walk<'a, L> {
    looks: &'a mut L,
    zone: ZoneChart,
    /// Blocks of the drive.
    capacity: u64,
    /// The next block: all before it are explained.
    block: u64,
    /// Where it should be.
    place: u64,
    rule: Option<Rule>,
    /// Slipped sectors have recurred as spare ones do.
    slips_recur: bool,
    /// Regions in a row that the rule failed to explain.
    failures: u32,
    /// Regions that one look may pass over.
    stride: Stride,
}

/// What a search for the next change has found.
enum Change {
    /// Nothing changes before this block.
    None,
    End,
    Noted,
}

impl<'a, L: Looks> Walk<'a, L> {
    /// More exceptions than any drive has.
    const EXCEPTIONS_MAX: usize = 2_000_000;
    /// Tracks that decide whether places are missing or the zone has ended.
    const TRACKS_AHEAD: u64 = 8;
    /// Runs of blocks on these.
    const RUNS_AHEAD: u64 = 24;
    /// How often a search for a change is repeated that contradicts itself.
    const DOUBTS: u32 = 3;
    /// How many tracks back blocks must be in line as well, if looks do not tell sectors.
    const BACK: [u64; 2] = [13, 31];

    /// The zone that begins with block `first` at `place`, for as long as it goes.
    pub fn zone(
        looks: &'a mut L,
        tracks: Tracks,
        (first, place): (u64, u64),
        capacity: u64,
    ) -> Result<ZoneChart, Error> {
        let mut gaps = Vec::new();
        if place > 0 {
            gaps.push(Gap {
                place: 0,
                places: place,
            });
        }
        let zone = ZoneChart {
            tracks,
            first,
            blocks: 0,
            gaps,
            moved: Vec::new(),
            lost: Vec::new(),
        };
        let mut walk = Self {
            looks,
            zone,
            capacity,
            block: first,
            place,
            rule: None,
            slips_recur: false,
            failures: 0,
            stride: Stride::ONE,
        };
        while walk.block < capacity && !walk.step()? {
            if walk.zone.gaps.len() + walk.zone.moved.len() > Self::EXCEPTIONS_MAX {
                return Err(Error::Undecided(format!(
                    "blocks from {first} on follow no pattern of tracks"
                )));
            }
        }
        walk.zone.blocks = walk.block - first;
        Ok(walk.zone)
    }

    /// Advances as far as one look confirms, or to the next change; whether the zone has ended.
    fn step(&mut self) -> Result<bool, Error> {
        if let Some(rule) = self.rule {
            return self.region(rule);
        }
        match self.explore(self.capacity)? {
            Change::None => Ok(false),
            Change::End => Ok(true),
            Change::Noted => {
                self.rule = match self.recurring() {
                    Some(rule) if self.is_regular(rule)? => Some(rule),
                    _ => None,
                };
                self.failures = 0;
                Ok(false)
            }
        }
    }

    /// Whether block `at` is at `place`.
    fn is_at(&mut self, at: u64, place: u64) -> Result<bool, Error> {
        self.looks.is_at(&self.zone.tracks, at, place)
    }

    fn advance(&mut self, block: u64) {
        self.place += block - self.block;
        self.block = block;
    }

    fn note(&mut self, places: u64) {
        match self.zone.gaps.last_mut() {
            Some(gap) if gap.end() == self.place => gap.places += places,
            _ => self.zone.gaps.push(Gap {
                place: self.place,
                places,
            }),
        }
        self.place += places;
    }

    /// Places without blocks from `from` on.
    fn missing(&self, from: u64, end: u64) -> u64 {
        let gaps = self.zone.gaps.iter().rev();
        gaps.take_while(|gap| gap.end() > from)
            .map(|gap| gap.end().min(end).saturating_sub(gap.place.max(from)))
            .sum()
    }

    /// Advances to the first change before `end`.
    fn explore(&mut self, end: u64) -> Result<Change, Error> {
        let deviates = self.sure_deviation(end)?;
        let Some(at) = deviates else {
            self.advance(end);
            return Ok(Change::None);
        };
        self.advance(at);
        if let Some(length) = self.moved()? {
            match self.looks.places(&self.zone.tracks, at, 0)?[..] {
                [actual] => {
                    let moved = (0..length).map(|n| (self.place + n, actual + n));
                    self.zone.moved.extend(moved);
                }
                _ => self.zone.lost.extend(at..at + length),
            }
            self.advance(at + length);
            return Ok(Change::Noted);
        }
        let behind = match self.behind(at)? {
            None => self.spares_in_line()?,
            behind => behind,
        };
        match behind {
            Some(place) => {
                self.note(place - self.place);
                Ok(Change::Noted)
            }
            None => Ok(Change::End),
        }
    }

    /// The number of blocks from here on that are elsewhere, behind which the blocks are in line
    /// again: reallocated ones.
    fn moved(&mut self) -> Result<Option<u64>, Error> {
        if !self.looks.tell_sectors(&self.zone.tracks) {
            return Ok(None);
        }
        for length in [1, self.zone.tracks.sectors] {
            let (at, place) = (self.block + length, self.place + length);
            let far = at + self.zone.tracks.sectors.min(7);
            if far < self.capacity && self.is_at(at, place)? {
                let in_line = self.is_at(far, place + (far - at))?;
                return Ok(in_line.then_some(length));
            }
        }
        Ok(None)
    }
}
