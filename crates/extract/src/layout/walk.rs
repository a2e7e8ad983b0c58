//! Maps the blocks of a zone to positions, with few checks.
//!
//! If the positions of two blocks are as far apart as their numbers, all blocks in between are in
//! line. So steps grow while blocks are in line, and then a bisection finds the first one that is
//! not. Just before that block, there are positions without blocks, or the zone ends; the following
//! tracks show which. Once positions without blocks recur at the end (or the front) of regions of
//! equal size, one check per region is enough unless the region has slips.
//!
//! If checks distinguish only tracks, a slip is noticed and recorded at the end of its track, so
//! other blocks of the track may be a few sectors from their recorded positions.

use super::zone_map::{Tracks, ZoneMap};
use crate::Error;

mod regions;

/// Maximum number of zones, which is more than any drive has.
pub(super) const ZONES_MAX: usize = 5_000;

/// Maximum number of adjacent sectors that are slipped because of one defect.
pub(super) const MAX_SLIPS: u64 = 12;

/// Minimum offset of another zone's tracks, in sectors. Unnoticed slips cause smaller offsets.
pub(super) const MIN_ZONE_OFFSET: u64 = 3;

pub(super) type Placement = (u64, u64);

pub(super) trait BlockLocator {
    /// True if a block may be in line by coincidence, so that a second check is needed.
    const MAY_COINCIDE: bool;
    /// True if all blocks up to `capacity` are known to be in the zone.
    const KNOWS_END: bool;

    /// Returns true if checks take many reads, so that unlikely explanations are not tried.
    fn is_costly(&self, _: &Tracks) -> bool {
        false
    }

    /// Returns true if checks distinguish sectors, and not only tracks.
    fn resolves_sectors(&self, _: &Tracks) -> bool {
        true
    }

    /// Returns true if blocks are as far apart as their positions, rather than `away` sectors off.
    fn are_apart(&mut self, _: &Tracks, _: [Placement; 2], _away: u64) -> Result<bool, Error> {
        Ok(true)
    }

    /// Returns the number of sectors slipped between two blocks of a track, given that the first is
    /// at its position; `None` if the number cannot be measured.
    fn slips_between(&mut self, _: &Tracks, _: [Placement; 2]) -> Result<Option<u64>, Error> {
        Ok(None)
    }

    /// Returns true if one check shows that block `at` is at `position`.
    fn is_at(&mut self, tracks: &Tracks, at: u64, position: u64) -> Result<bool, Error>;

    /// Returns the candidate positions of block `at` from `min` on, in ascending order.
    fn positions(&mut self, tracks: &Tracks, at: u64, min: u64) -> Result<Vec<u64>, Error>;
}

/// Regions of equal size, each with the same number of positions without blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RegionRule {
    region: u64,
    /// Number of positions without blocks per region.
    spares: u64,
    /// True if the spares are at the front of the region.
    front: bool,
}

pub(super) struct Walk<'a, L> {
    locator: &'a mut L,
    zone: ZoneMap,
    capacity: u64,
    /// The next block, and its expected position.
    block: u64,
    position: u64,
    rule: Option<RegionRule>,
    /// True if slipped sectors have recurred as spare sectors do.
    slips_recur: bool,
    /// Number of consecutive regions that the rule failed to explain.
    failures: u32,
    /// Number of tracks to pass with one costly check. It doubles until a check fails, then halves.
    stride: u64,
    stride_shrinks: bool,
}

#[derive(PartialEq)]
enum Change {
    None,
    End,
    Recorded,
}

impl<'a, L: BlockLocator> Walk<'a, L> {
    /// Maximum number of exceptions, which is more than any drive has.
    const EXCEPTIONS_MAX: usize = 2_000_000;
    /// Number of tracks that decide whether a zone continues after a gap.
    const TRACKS_AHEAD: u64 = 8;
    /// Maximum number of runs of blocks on these tracks.
    const RUNS_AHEAD: u64 = 24;
    /// Maximum number of repetitions of a search that contradicts itself.
    const MAX_REPETITIONS: u32 = 3;
    /// Distances in tracks to earlier blocks that are also checked if checks are coarse.
    const TRACKS_BACK: [u64; 2] = [13, 31];

    /// Maps a zone from a block at a position to the end of the zone.
    pub fn zone(
        locator: &'a mut L,
        tracks: Tracks,
        start: Placement,
        capacity: u64,
    ) -> Result<ZoneMap, Error> {
        let (first, position) = start;
        let zone = ZoneMap {
            tracks,
            first,
            ..ZoneMap::default()
        };
        let mut walk = Self {
            locator,
            zone,
            capacity,
            block: first,
            position: 0,
            rule: None,
            slips_recur: false,
            failures: 0,
            stride: 1,
            stride_shrinks: false,
        };
        if position > 0 {
            walk.skip(position);
        }
        while walk.block < capacity && !walk.step()? {
            if walk.zone.gaps.len() + walk.zone.moved.len() > Self::EXCEPTIONS_MAX {
                return Err(Error::Undecided(format!(
                    "no pattern of tracks explains the blocks from {first} on"
                )));
            }
        }
        walk.zone.blocks = walk.block - first;
        Ok(walk.zone)
    }

    /// Advances to the next exception or past a regular region. Returns true if the zone has ended.
    fn step(&mut self) -> Result<bool, Error> {
        if let Some(rule) = self.rule {
            return self.region(rule);
        }
        let change = self.explore(self.capacity)?;
        if change == Change::Recorded {
            self.rule = match self.recurring_rule() {
                Some(rule) if self.is_regular(rule)? => Some(rule),
                _ => None,
            };
            self.failures = 0;
        }
        Ok(change == Change::End)
    }

    fn sectors(&self) -> u64 {
        self.zone.tracks.sectors
    }

    fn resolves_sectors(&self) -> bool {
        self.locator.resolves_sectors(&self.zone.tracks)
    }

    fn is_costly(&self) -> bool {
        self.locator.is_costly(&self.zone.tracks)
    }

    fn are_apart(&mut self, blocks: [Placement; 2], away: u64) -> Result<bool, Error> {
        self.locator.are_apart(&self.zone.tracks, blocks, away)
    }

    fn expected(&self, block: u64) -> u64 {
        self.position + (block - self.block)
    }

    fn is_expected(&mut self, block: u64) -> Result<bool, Error> {
        self.is_at(block, self.expected(block))
    }

    fn is_at(&mut self, at: u64, position: u64) -> Result<bool, Error> {
        self.locator.is_at(&self.zone.tracks, at, position)
    }

    fn advance(&mut self, block: u64) {
        self.position += block - self.block;
        self.block = block;
    }

    /// Records positions without blocks.
    fn skip(&mut self, positions: u64) {
        let end = self.position + positions;
        match self.zone.gaps.last_mut() {
            Some(gap) if gap.end == self.position => gap.end = end,
            _ => self.zone.gaps.push(self.position..end),
        }
        self.position = end;
    }

    /// Counts the positions without blocks in `from..end`.
    fn missing(&self, from: u64, end: u64) -> u64 {
        let gaps = self.zone.gaps.iter().rev();
        gaps.take_while(|gap| gap.end > from)
            .map(|gap| gap.end.min(end).saturating_sub(gap.start.max(from)))
            .sum()
    }

    /// Advances past the first exception before `end`.
    fn explore(&mut self, end: u64) -> Result<Change, Error> {
        let Some(at) = self.confirmed_deviation(end)? else {
            self.advance(end);
            return Ok(Change::None);
        };
        self.advance(at);
        if let Some(length) = self.reallocated_run()? {
            match self.locator.positions(&self.zone.tracks, at, 0)?[..] {
                [actual] => {
                    let moved = (0..length).map(|n| (self.position + n, actual + n));
                    self.zone.moved.extend(moved);
                }
                _ => self.zone.lost.extend(at..at + length),
            }
            self.advance(at + length);
            return Ok(Change::Recorded);
        }
        let after_gap = match self.position_after_gap(at)? {
            None => self.aligned_spares()?,
            found => found,
        };
        let Some(position) = after_gap else {
            return Ok(Change::End);
        };
        self.skip(position - self.position);
        Ok(Change::Recorded)
    }

    /// Returns the length of a run of reallocated blocks, if the blocks after it are in line again.
    fn reallocated_run(&mut self) -> Result<Option<u64>, Error> {
        if !self.resolves_sectors() {
            return Ok(None);
        }
        for length in [1, self.sectors()] {
            let at = self.block + length;
            let far = at + self.sectors().min(7);
            if far < self.capacity && self.is_expected(at)? {
                return Ok(self.is_expected(far)?.then_some(length));
            }
        }
        Ok(None)
    }

    /// Like [`Self::deviation`], but confirms the result if checks are costly and so unreliable.
    fn confirmed_deviation(&mut self, end: u64) -> Result<Option<u64>, Error> {
        let mut found = self.deviation(end)?;
        for _ in 0..Self::MAX_REPETITIONS {
            let Some(at) = found.filter(|_| self.is_costly()) else {
                break;
            };
            let is_first = at == self.block || self.is_expected(at - 1)?;
            if is_first && !self.is_expected(at)? {
                break;
            }
            found = self.deviation(end)?;
        }
        Ok(found)
    }

    /// Returns the first block before `end` that is not at its expected position.
    fn deviation(&mut self, end: u64) -> Result<Option<u64>, Error> {
        let mut good = self.block;
        let mut tracks = 1;
        let bad = loop {
            if good >= end {
                return Ok(None);
            }
            let position = self.expected(good);
            let track = position / self.sectors();
            let reach = (track + tracks) * self.sectors() - position;
            let last = (good + reach).min(end) - 1;
            let last_position = self.expected(last);
            if !self.is_far_in_line(last, last_position)? {
                break last;
            }
            // Also check the previous track, because the next zone may be in line by coincidence.
            let back = last_position % self.sectors() + 1;
            let is_off = tracks > 1 && !self.is_in_line(last - back, last_position - back)?;
            if is_off && last - back >= good {
                break last - back;
            }
            good = last + 1;
            tracks *= 2;
        };
        self.bisect(good, bad).map(Some)
    }

    /// Returns true if block `at` is at `position`. If checks are costly, the block a third of a
    /// track earlier must also be in line, because tracks of two zones may end at similar angles.
    fn is_in_line(&mut self, at: u64, position: u64) -> Result<bool, Error> {
        let third = self.sectors() / 3;
        let has_room = at >= self.block + third && position % self.sectors() >= third;
        let before = has_room && self.is_costly();
        Ok(self.is_at(at, position)? && (!before || self.is_at(at - third, position - third)?))
    }

    /// Like [`Self::is_in_line`], but if checks do not resolve sectors, blocks on earlier tracks
    /// must be in line too, because tracks of similar zones diverge slowly.
    fn is_far_in_line(&mut self, at: u64, position: u64) -> Result<bool, Error> {
        if !self.is_in_line(at, position)? {
            return Ok(false);
        }
        if !self.resolves_sectors() {
            for tracks in Self::TRACKS_BACK {
                let back = tracks * self.sectors();
                if at >= self.block + back && !self.is_at(at - back, position - back)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Returns the first block of `good..=bad` that is not in line, given that `bad` is not. Probes
    /// the ends of tracks, then nearby blocks, because others may be in line by chance.
    fn bisect(&mut self, mut good: u64, mut bad: u64) -> Result<u64, Error> {
        loop {
            let mut middle = good + (bad - good) / 2;
            let back = self.expected(middle) % self.sectors() + 1;
            if middle < good + back {
                break;
            }
            middle -= back;
            if self.is_far_in_line(middle, self.expected(middle))? {
                good = middle + 1;
            } else {
                bad = middle;
            }
        }
        if !self.resolves_sectors() {
            // A deviation at the end of a track is not visible on the next one.
            let position = self.expected(good);
            let last = good + self.zone.tracks.track_end(position) - position - 1;
            if last < bad {
                if self.is_far_in_line(last, self.expected(last))? {
                    good = last + 1;
                } else {
                    bad = last;
                }
            }
        }
        first_misaligned(good, bad, |probe| self.is_expected(probe))
    }

    /// Returns the number of blocks in line on a track, starting with block `at` at `position`.
    fn run(&mut self, at: u64, position: u64) -> Result<u64, Error> {
        let left = self.zone.tracks.track_end(position) - position;
        let max = left.min(self.capacity - at);
        if self.is_at(at + max - 1, position + max - 1)? {
            return Ok(max);
        }
        let run = first_misaligned(1, max - 1, |probe| self.is_at(at + probe, position + probe))?;
        Ok(run.min(max))
    }

    /// Returns the position of block `at` after a gap: the one with the fewest further gaps.
    fn position_after_gap(&mut self, at: u64) -> Result<Option<u64>, Error> {
        let mut best: Option<(u32, u64)> = None;
        let is_inside = !self.position.is_multiple_of(self.sectors());
        let held = if is_inside { self.blocks_on_track() } else { 0 };
        let positions = self.positions(at, self.position, held)?;
        for &position in &positions {
            if !self.is_gap(self.position, position) || !self.may_continue(at, position)? {
                continue;
            }
            let held = self.blocks_on_track();
            if position - self.position > MAX_SLIPS && held > 0 {
                let before = (self.block - held, self.position - held);
                if !self.are_apart([before, (at, position)], MIN_ZONE_OFFSET)? {
                    continue;
                }
            }
            let gaps = match self.slips_here(at, position)? {
                None => self.continues(at, position)?,
                slips => slips,
            };
            if let Some(gaps) = gaps
                && best.is_none_or(|(min, _)| gaps < min)
            {
                best = Some((gaps, position));
                if gaps == 0 {
                    break;
                }
            }
        }
        let nearest = positions.first().copied().filter(|_| L::KNOWS_END);
        Ok(best.map(|(_, position)| position).or(nearest))
    }

    /// Returns the number of blocks since the last gap on the track of the last block.
    fn blocks_on_track(&self) -> u64 {
        let sectors = self.sectors();
        let begin = self.position.saturating_sub(1) / sectors * sectors;
        self.position.saturating_sub(begin.max(self.last_gap_end()))
    }

    fn last_gap_end(&self) -> u64 {
        self.zone.gaps.last().map_or(0, |gap| gap.end)
    }

    /// Returns candidate positions for block `at` beyond `position`, which follows `held` blocks.
    fn positions(&mut self, at: u64, position: u64, held: u64) -> Result<Vec<u64>, Error> {
        let tracks = &self.zone.tracks;
        let mut positions = self.locator.positions(tracks, at, position + 1)?;
        let left = tracks.track_end(position) - position;
        if held > 0 && left > MAX_SLIPS / 4 && !self.locator.resolves_sectors(tracks) {
            // A long run of slipped sectors is visible in the middle of a track.
            let blocks = [(at - held, position - held), (at, position)];
            let slipped = self.locator.slips_between(tracks, blocks)?;
            let after_slips = slipped.map(|slipped| position + slipped);
            let track_end = tracks.track_end(position);
            positions.splice(0..0, after_slips.filter(|&after| after < track_end));
        }
        Ok(positions)
    }

    /// Returns true if most of the track after block `at` is in line, so that no other zone begins
    /// there. A long gap must leave half a track. Always returns true if checks are cheap.
    fn may_continue(&mut self, at: u64, position: u64) -> Result<bool, Error> {
        if !self.is_costly() {
            return Ok(true);
        }
        let left = self.zone.tracks.track_end(position) - position;
        if 2 * left < self.sectors() && position - self.position > MAX_SLIPS {
            return Ok(false);
        }
        let held = left.min(self.blocks_left_in_region(position));
        // If checks do not resolve sectors, more sectors may be slipped than are visible.
        let divisor = if self.resolves_sectors() { 8 } else { 2 };
        let max = (held - held.div_ceil(divisor)).min(self.capacity - 1 - at);
        self.is_at(at + max, position + max)
    }

    /// Returns the number of positions before the region's spares, or `u64::MAX` if it is unknown.
    fn blocks_left_in_region(&self, position: u64) -> u64 {
        let Some(rule) = self.rule.filter(|rule| !rule.front) else {
            return u64::MAX;
        };
        let begin = position / rule.region * rule.region;
        let end = begin + rule.region;
        let slipped = self.missing(begin, end) + (position - self.position.max(begin));
        let spares = rule.spares.saturating_sub(slipped);
        end.saturating_sub(spares + position)
    }

    /// Returns true if the positions `from..to` may be a gap: if it is short, ends near the start
    /// of a track, or begins at the front of a cylinder.
    fn is_gap(&self, from: u64, to: u64) -> bool {
        let tracks = &self.zone.tracks;
        to - from <= MAX_SLIPS
            || to % tracks.sectors <= MAX_SLIPS
            || from.is_multiple_of(tracks.cylinder())
    }

    /// If the gap is inside a track of a cylinder that began regularly, no zone ends there, and
    /// this returns the number of further gaps to expect. If blocks may be in line by coincidence,
    /// the next track must also continue without a gap, unless the gap is short.
    fn slips_here(&mut self, at: u64, position: u64) -> Result<Option<u32>, Error> {
        let tracks = &self.zone.tracks;
        let begin = self.position / tracks.cylinder() * tracks.cylinder();
        let track = self.position / tracks.sectors * tracks.sectors;
        let gaps = self.zone.gaps.iter().rev();
        let mut after_front = gaps.take_while(|gap| gap.end > begin);
        let is_regular = after_front.all(|gap| gap.start <= begin || gap.start >= track);
        let is_same_track = position / tracks.sectors == self.position / tracks.sectors;
        // A gap up to the index mark may also be the start of a zone with shorter tracks.
        let at_index = tracks.angle(position) * (tracks.sectors as f64) < 0.5;
        if is_same_track && self.position > track && !L::MAY_COINCIDE && !at_index {
            return Ok(Some(0));
        }
        if !(is_same_track && is_regular && track > begin && self.position > track) {
            return Ok(None);
        }
        let run = self.run(at, position)?;
        let (end, next) = (position + run, at + run);
        if self.completes(&[(self.position, position)], end) {
            return Ok(Some(0));
        }
        if next < self.capacity && end % self.sectors() != 0 {
            return Ok(None);
        }
        if !L::MAY_COINCIDE || next < self.capacity && self.is_at(next, end)? {
            return Ok(Some(0));
        }
        let is_short = position - self.position <= MAX_SLIPS / 4;
        Ok(is_short.then_some(Self::TRACKS_AHEAD as u32))
    }

    /// Returns the number of further gaps if this zone continues with block `at` at `position`. It
    /// does so if two of the next tracks are full, or if most lack the same number of blocks.
    fn continues(&mut self, at: u64, position: u64) -> Result<Option<u32>, Error> {
        let sectors = self.sectors();
        let (mut at, mut position) = (at, position);
        let first = position / sectors;
        let mut gaps = vec![(self.position, position)];
        // Number of full tracks, missing blocks of the others, and number of tracks with one run.
        let (mut whole, mut missing, mut unbroken) = (0, Vec::new(), 0);
        let mut held = 0;
        for _ in 0..Self::RUNS_AHEAD {
            let left = self.zone.tracks.track_end(position) - position;
            let run = self.run(at, position)?;
            held += run;
            at += run;
            position += run;
            whole += u32::from(run == sectors);
            let count = gaps.len() as u32 - 1;
            if at >= self.capacity {
                let ends = whole > 0 || position % sectors == 0 || run > 1;
                return Ok(ends.then_some(count));
            }
            if whole > 1 || self.completes(&gaps, position) {
                return Ok(Some(count));
            }
            let is_exact = run == left || self.resolves_sectors();
            let candidates = if is_exact {
                self.locator.positions(&self.zone.tracks, at, position)?
            } else {
                self.positions(at, position, run)?
            };
            let first_candidate = candidates.first().copied();
            let Some(next) = first_candidate.filter(|&to| self.is_gap(position, to)) else {
                // The zone may end soon after the gap.
                return Ok((whole > 0).then_some(count + Self::TRACKS_AHEAD as u32));
            };
            if next > position {
                gaps.push((position, next));
            }
            let (track, after) = ((position - 1) / sectors, next / sectors);
            if after > track {
                if 2 * held < sectors && track > first {
                    return Ok(None);
                }
                if track > first {
                    missing.push(sectors - held);
                    unbroken += usize::from(held == run);
                }
                held = 0;
            }
            if after - first >= Self::TRACKS_AHEAD {
                break;
            }
            position = next;
        }
        let same = missing.windows(2).filter(|pair| pair[0] == pair[1]);
        let agree = same.count() > 4 && 2 * unbroken > missing.len();
        Ok(agree.then_some(gaps.len() as u32 - 1))
    }

    /// Finds hidden spare sectors at the end of the last track. If their number is close to the
    /// skew, the first blocks of the next track appear to be in line with this one. Goes back to
    /// the first of these blocks and returns its position.
    fn aligned_spares(&mut self) -> Result<Option<u64>, Error> {
        let sectors = self.sectors();
        let has_ended =
            self.position.is_multiple_of(sectors) && self.position >= self.last_gap_end() + sectors;
        if self.resolves_sectors() || !has_ended {
            return Ok(None);
        }
        let end = (self.block, self.position);
        let first = (end.0 - sectors, end.1 - sectors);
        let (mut good, mut bad) = (0, sectors - 1);
        while good < bad {
            // Probe the last block first, because most tracks are in line up to their end.
            let probe = if good == 0 { bad } else { good.midpoint(bad) };
            let block = (first.0 + probe, first.1 + probe);
            if self.are_apart([first, block], 2)? {
                if good == 0 && probe == sectors - 1 {
                    return Ok(None);
                }
                good = probe + 1;
            } else if good == 0 {
                good = 1;
            } else {
                bad = probe;
            }
        }
        (self.block, self.position) = (first.0 + bad, first.1 + bad);
        match self.position_after_gap(self.block)? {
            Some(position) if position - self.position > MAX_SLIPS => Ok(Some(position)),
            _ => {
                (self.block, self.position) = end;
                Ok(None)
            }
        }
    }
}

/// Returns the first of `good..bad` that is not in line, or `bad` if all are. Begins with small
/// steps, because blocks beyond the track may be in line by coincidence.
pub(super) fn first_misaligned(
    mut good: u64,
    mut bad: u64,
    mut is_in_line: impl FnMut(u64) -> Result<bool, Error>,
) -> Result<u64, Error> {
    let mut step = 1;
    while good < bad {
        let probe = (good + step).min(bad) - 1;
        if is_in_line(probe)? {
            good = probe + 1;
            step *= 2;
        } else {
            bad = probe;
            step = (bad - good).div_ceil(2).max(1);
        }
    }
    Ok(good)
}
