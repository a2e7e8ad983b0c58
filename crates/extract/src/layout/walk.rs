//! Follows the blocks of a zone from place to place, and looks only where something may change.
//!
//! Between two places that are as far apart as their blocks nothing can be missing. So steps grow
//! while the drive agrees, and a bisection finds the first block that is not where it should be.
//! There, either places are missing or the zone ends; what lies behind decides. Once the missing
//! places recur at the end (or the front) of regions of one size, one look at each region finds
//! its slips.

use super::chart::{Gap, Tracks, ZoneChart};
use crate::Error;

/// Answers where blocks are.
pub(super) trait Looks {
    /// A block can look as if it were in line although it is not: two looks decide.
    const MAY_COINCIDE: bool;
    /// All blocks up to the capacity are known to be in the zone.
    const KNOWS_END: bool;

    /// Whether block `at` is at `place`, as far as one look tells.
    fn is_at(&mut self, tracks: &Tracks, at: u64, place: u64) -> Result<bool, Error>;

    /// The places where block `at` may be, none before `least`, in ascending order; none if it
    /// cannot be in the zone.
    fn places(&mut self, tracks: &Tracks, at: u64, least: u64) -> Result<Vec<u64>, Error>;
}

/// Regions of one size with the same number of places without blocks in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rule {
    /// Places in a region.
    region: u64,
    /// Places without blocks in a region.
    spares: u64,
    /// They are at its front.
    front: bool,
}

/// Follows a zone.
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
    /// Regions in a row that the rule failed to explain.
    failures: u32,
}

/// The tracks behind a gap.
#[derive(Default)]
struct Ahead {
    /// Those that lack nothing.
    whole: u32,
    /// How many places each lacks.
    lacks: Vec<u64>,
    /// Those that lack none between their blocks.
    unbroken: usize,
}

impl Ahead {
    /// Whether nearly all tracks lack as many places as the one before, and most at their ends.
    fn agree(&self) -> bool {
        let same = self.lacks.windows(2).filter(|pair| pair[0] == pair[1]);
        same.count() > 4 && 2 * self.unbroken > self.lacks.len()
    }
}

/// What a search for the next change has found.
enum Change {
    /// Nothing changes before this block.
    None,
    /// The zone ends.
    End,
    /// It was noted.
    Noted,
}

impl<'a, L: Looks> Walk<'a, L> {
    /// More exceptions than any drive has.
    const EXCEPTIONS_MAX: usize = 2_000_000;
    /// Tracks that decide whether places are missing or the zone has ended.
    const TRACKS_AHEAD: u64 = 8;
    /// Runs of blocks on these.
    const RUNS_AHEAD: u64 = 24;
    /// Neighbouring sectors that a defect may slip.
    const FEW_SLIPS: u64 = 12;

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
            failures: 0,
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
                self.rule = self.recurring();
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

    /// Advances through a region, or to its first exception.
    fn region(&mut self, rule: Rule) -> Result<bool, Error> {
        let begin = self.place / rule.region * rule.region;
        let end = begin + rule.region;
        let missing = self.missing(begin, end);
        let left = rule.spares.saturating_sub(missing);
        let blocks = (end - self.place).saturating_sub(left);
        let last = (self.block + blocks).min(self.capacity);
        let at_front = rule.front && self.place == begin && left > 0;
        if blocks > 0 && last > self.block {
            let ahead = if at_front { left } else { 0 };
            let look = if at_front { self.block } else { last - 1 };
            if self.is_at(look, self.place + ahead + (look - self.block))? {
                self.failures = 0;
                if at_front {
                    self.note(left);
                }
                self.advance(last);
                if last < self.capacity && !rule.front {
                    self.note(left);
                }
                return Ok(false);
            }
            if self.turns(begin)? {
                return Ok(false);
            }
        }
        self.failures += 1;
        if self.failures > 3 {
            self.rule = None;
            return Ok(false);
        }
        match self.explore(last.max(self.block + 1))? {
            Change::None => Ok(false),
            Change::End => Ok(true),
            Change::Noted => {
                self.failures -= 1;
                Ok(false)
            }
        }
    }

    /// Whether all tracks from here on are rotated by the slips of the region before.
    fn turns(&mut self, begin: u64) -> Result<bool, Error> {
        let Some(rule) = self.rule.filter(|_| self.place == begin && begin > 0) else {
            return Ok(false);
        };
        let (before, spares) = (begin - rule.region, rule.spares);
        let gaps = self.zone.gaps.iter().rev();
        let slipped: u64 = gaps
            .take_while(|gap| gap.place >= before)
            .filter(|gap| gap.end() < begin && gap.place > before)
            .map(|gap| gap.places)
            .sum();
        if slipped == 0 || slipped > spares {
            return Ok(false);
        }
        let turned = self.zone.tracks.turned.last().map_or(0, |&(_, by)| by);
        self.zone.tracks.turned.push((begin, turned + slipped));
        let few = (rule.region - spares).min(self.zone.tracks.sectors).min(8) - 1;
        let near = (self.block + few).min(self.capacity - 1);
        if self.is_at(self.block, self.place)?
            && self.is_at(near, self.place + (near - self.block))?
        {
            return Ok(true);
        }
        self.zone.tracks.turned.pop();
        Ok(false)
    }

    /// Advances to the first change before `end`.
    fn explore(&mut self, end: u64) -> Result<Change, Error> {
        let deviates = self.deviation(end)?;
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
        match self.behind(at)? {
            Some(place) => {
                self.note(place - self.place);
                Ok(Change::Noted)
            }
            None => Ok(Change::End),
        }
    }

    /// The place of block `at`, behind places without blocks: the one that explains the following
    /// tracks with the fewest further gaps.
    fn behind(&mut self, at: u64) -> Result<Option<u64>, Error> {
        let mut best: Option<(u32, u64)> = None;
        let places = self.looks.places(&self.zone.tracks, at, self.place + 1)?;
        for &place in &places {
            if !self.is_gap(self.place, place) {
                continue;
            }
            let gaps = match self.slips_here(at, place)? {
                Some(gaps) => Some(gaps),
                None => self.goes_on(at, place)?,
            };
            if let Some(gaps) = gaps
                && best.is_none_or(|(least, _)| gaps < least)
            {
                best = Some((gaps, place));
            }
            if best.is_some_and(|(least, _)| least == 0) {
                break;
            }
        }
        let nearest = places.first().copied().filter(|_| L::KNOWS_END);
        Ok(best.map(|(_, place)| place).or(nearest))
    }

    /// The first block before `end` that is not where the blocks before it put it.
    fn deviation(&mut self, end: u64) -> Result<Option<u64>, Error> {
        let mut good = self.block;
        let mut tracks = 1;
        let bad = loop {
            if good >= end {
                return Ok(None);
            }
            let place = self.place + (good - self.block);
            let track = place / self.zone.tracks.sectors;
            let reach = (track + tracks) * self.zone.tracks.sectors - place;
            let last = (good + reach).min(end) - 1;
            let last_place = place + (last - good);
            if !self.is_at(last, last_place)? {
                break last;
            }
            // The last block of the track before: behind the end of the zone, places of another
            // pattern may be the same by chance.
            let back = last_place % self.zone.tracks.sectors + 1;
            if tracks > 1 && !self.is_at(last - back, last_place - back)? {
                break last - back;
            }
            good = last + 1;
            tracks *= 2;
        };
        self.bisect(good, bad).map(Some)
    }

    /// The first block of `good..=bad` that is not in line, given that `bad` is not: at the ends of
    /// tracks as long as there are any between, then with growing steps along the track, as blocks
    /// further on may be in line by chance.
    fn bisect(&mut self, mut good: u64, mut bad: u64) -> Result<u64, Error> {
        loop {
            let mut middle = good + (bad - good) / 2;
            let place = self.place + (middle - self.block);
            let back = place % self.zone.tracks.sectors + 1;
            if middle < good + back {
                break;
            }
            middle -= back;
            if self.is_at(middle, self.place + (middle - self.block))? {
                good = middle + 1;
            } else {
                bad = middle;
            }
        }
        let mut step = 1;
        while good < bad {
            let probe = good + step.min(bad - good) - 1;
            if self.is_at(probe, self.place + (probe - self.block))? {
                good = probe + 1;
                step *= 2;
            } else {
                bad = probe;
                step = (bad - good).div_ceil(2).max(1);
            }
        }
        Ok(good)
    }

    /// The number of blocks from here on that are elsewhere, behind which the blocks are in line
    /// again: reallocated ones.
    fn moved(&mut self) -> Result<Option<u64>, Error> {
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

    /// Whether places from `from` to `to` may be a gap: it ends with a track, or is small, or in
    /// front of a cylinder.
    fn is_gap(&self, from: u64, to: u64) -> bool {
        let tracks = &self.zone.tracks;
        to - from <= Self::FEW_SLIPS
            || to % tracks.sectors <= Self::FEW_SLIPS
            || from.is_multiple_of(tracks.cylinder())
    }

    /// Whether places are missing inside a track of a cylinder that has begun as it should: no zone
    /// ends there. If one look may mislead, the next track must begin behind this one, or few
    /// places be missing.
    fn slips_here(&mut self, at: u64, place: u64) -> Result<Option<u32>, Error> {
        let tracks = &self.zone.tracks;
        let begin = self.place / tracks.cylinder() * tracks.cylinder();
        let track = self.place / tracks.sectors * tracks.sectors;
        let behind_front = self
            .zone
            .gaps
            .iter()
            .rev()
            .take_while(|gap| gap.end() > begin);
        let regular = behind_front
            .clone()
            .all(|gap| gap.place <= begin || gap.place >= track);
        let same = place / tracks.sectors == self.place / tracks.sectors;
        // Places up to the index mark are missing as well where the next zone's tracks are shorter.
        let at_index = tracks.angle(place) * (tracks.sectors as f64) < 0.5;
        if same && self.place > track && !L::MAY_COINCIDE && !at_index {
            return Ok(Some(0));
        }
        if !(same && regular && track > begin && self.place > track) {
            return Ok(None);
        }
        let run = self.run(at, place)?;
        let (end, next) = (place + run, at + run);
        if self.completes(&[(self.place, place)], end) {
            return Ok(Some(0));
        }
        if next < self.capacity && end % self.zone.tracks.sectors != 0 {
            return Ok(None);
        }
        if !L::MAY_COINCIDE || next < self.capacity && self.is_at(next, end)? {
            return Ok(Some(0));
        }
        let few = place - self.place <= Self::FEW_SLIPS / 4;
        Ok(few.then_some(Self::TRACKS_AHEAD as u32))
    }

    /// Whether blocks from `at` on, the first at `place`, belong to this zone: two of the next
    /// tracks are whole, or all lack the same number of places. Returns the number of gaps before
    /// that.
    fn goes_on(&mut self, at: u64, place: u64) -> Result<Option<u32>, Error> {
        let sectors = self.zone.tracks.sectors;
        let (mut at, mut place) = (at, place);
        let first = place / sectors;
        let mut gaps = vec![(self.place, place)];
        let mut ahead = Ahead::default();
        let mut held = 0;
        for _ in 0..Self::RUNS_AHEAD {
            let run = self.run(at, place)?;
            held += run;
            at += run;
            place += run;
            ahead.whole += u32::from(run == sectors);
            let count = gaps.len() as u32 - 1;
            if at >= self.capacity {
                let ends = ahead.whole > 0 || place % sectors == 0 || run > 1;
                return Ok(ends.then_some(count));
            }
            if ahead.whole > 1 || self.completes(&gaps, place) {
                return Ok(Some(count));
            }
            let next = self.looks.places(&self.zone.tracks, at, place)?;
            let Some(next) = next.first().copied().filter(|&to| self.is_gap(place, to)) else {
                // The zone may end soon behind the gap.
                let ends = (ahead.whole > 0).then_some(count + Self::TRACKS_AHEAD as u32);
                return Ok(ends);
            };
            if next > place {
                gaps.push((place, next));
            }
            let (track, after) = ((place - 1) / sectors, next / sectors);
            if after > track {
                // No scheme spares half a track.
                if 2 * held < sectors && track > first {
                    return Ok(None);
                }
                if track > first {
                    ahead.lacks.push(sectors - held);
                    ahead.unbroken += usize::from(held == run);
                }
                held = 0;
            }
            if after - first >= Self::TRACKS_AHEAD {
                break;
            }
            place = next;
        }
        Ok(ahead.agree().then_some(gaps.len() as u32 - 1))
    }

    /// Whether a region that holds blocks up to `end` lacks as many places as the rule says, given
    /// further gaps from a place to another one.
    fn completes(&self, gaps: &[(u64, u64)], end: u64) -> bool {
        let Some(rule) = self.rule else { return false };
        let begin = (end - 1) / rule.region * rule.region;
        let region_end = begin + rule.region;
        let rest = region_end - end;
        if rule.front && rest > 0 {
            return false;
        }
        let within = |&(from, to): &(u64, u64)| to.saturating_sub(from.max(begin));
        let further: u64 = gaps.iter().map(within).sum();
        self.missing(begin, region_end) + further + rest == rule.spares
    }

    /// The number of blocks from `at` on, the first at `place`, that follow one another on this
    /// track.
    fn run(&mut self, at: u64, place: u64) -> Result<u64, Error> {
        let most = self.zone.tracks.track_end(place) - place;
        let most = most.min(self.capacity - at);
        if self.is_at(at + most - 1, place + most - 1)? {
            return Ok(most);
        }
        let (mut good, mut bad, mut step) = (1, most - 1, 1);
        while good < bad {
            let probe = (good + step).min(bad) - 1;
            if self.is_at(at + probe, place + probe)? {
                good = probe + 1;
                step *= 2;
            } else {
                bad = probe;
                step = (bad - good).div_ceil(2).max(1);
            }
        }
        Ok(good.min(most))
    }

    /// The rule that the last regions follow.
    fn recurring(&self) -> Option<Rule> {
        let tracks = &self.zone.tracks;
        let cylinder = tracks.cylinder();
        let end = self.place;
        let track = end.is_multiple_of(tracks.sectors).then_some(tracks.sectors);
        let mut sizes: Vec<u64> = track.into_iter().collect();
        sizes.push(cylinder);
        let cylinders = self.zone.gaps.iter().rev().take(4);
        let ends = cylinders
            .map(|gap| gap.end())
            .filter(|end| end % cylinder == 0);
        let ends: Vec<u64> = ends.collect();
        if let [last, before, ..] = ends[..] {
            sizes.push(last - before);
        }
        sizes.into_iter().find_map(|region| {
            [false, true]
                .into_iter()
                .find_map(|front| self.follows(region, front))
        })
    }

    /// The rule with regions of this size, if the last three follow it.
    fn follows(&self, region: u64, front: bool) -> Option<Rule> {
        let lead = match self.zone.gaps.first() {
            Some(gap) if gap.place == 0 => gap.end(),
            _ => 0,
        };
        // The region in front may be reserved in part.
        let first = lead.div_ceil(region);
        let end = if front {
            // The gap at the front of the region under way is known.
            self.place - self.place % region
        } else {
            self.place
        };
        if end % region != 0 {
            return None;
        }
        let last = end / region;
        let from = if front { first.max(1) } else { first };
        if last < from + 2 {
            return None;
        }
        let spares = |n: u64| self.missing(n * region, (n + 1) * region);
        let has_gap = |n: u64| {
            let edge = if front { n * region } else { (n + 1) * region };
            self.zone.gaps.iter().rev().any(|gap| {
                if front {
                    gap.place <= edge && gap.end() > edge && gap.place == edge
                } else {
                    gap.place < edge && gap.end() == edge
                }
            })
        };
        let regions = last.saturating_sub(3).max(from)..last;
        let same = spares(last - 1);
        let follow = same > 0
            && same < region
            && regions.clone().all(|n| spares(n) == same)
            && regions.clone().filter(|&n| has_gap(n)).count() >= 2;
        follow.then_some(Rule {
            region,
            spares: same,
            front,
        })
    }
}
