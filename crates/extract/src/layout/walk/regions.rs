//! Regions of one size that hold equally many blocks: one check per region finds its slips.

use super::{BlockLocator, Change, FEW_SLIPS, RegionRule, Stride, Walk};
use crate::Error;

impl<L: BlockLocator> Walk<'_, L> {
    /// Advances through a region, or to its first exception. Returns true if the zone has ended.
    pub(super) fn region(&mut self, rule: RegionRule) -> Result<bool, Error> {
        let begin = self.position / rule.region * rule.region;
        let end = begin + rule.region;
        if self.position == begin && self.stride(rule)? {
            return Ok(false);
        }
        let missing = self.missing(begin, end);
        let left = rule.spares.saturating_sub(missing);
        let blocks = (end - self.position).saturating_sub(left);
        let last = (self.block + blocks).min(self.capacity);
        let at_front = rule.front && self.position == begin && left > 0;
        if blocks > 0 && last > self.block {
            let ahead = if at_front { left } else { 0 };
            let probe = if at_front {
                self.block
            } else {
                self.visible_end(last) - 1
            };
            let position = self.position + ahead + (probe - self.block);
            let is_there = if self.locator.resolves_sectors(&self.zone.tracks) {
                self.is_at(probe, position)?
            } else {
                // Slipped sectors may recur for some time as spare ones do.
                self.is_far_in_line(probe, position)?
                    && (rule.front || last == self.capacity || self.is_at(last, end)?)
            };
            if is_there {
                self.failures = 0;
                if at_front {
                    self.skip(left);
                }
                self.advance(last);
                if last < self.capacity && !rule.front {
                    self.skip(left);
                }
                return Ok(false);
            }
            if self.rotates_tracks(begin)? {
                return Ok(false);
            }
        }
        self.failures += 1;
        self.stride = Stride::ONE;
        if self.failures > 3 {
            self.rule = None;
            return Ok(false);
        }
        match self.explore(last.max(self.block + 1))? {
            Change::None => Ok(false),
            Change::End => Ok(true),
            Change::Recorded => {
                self.failures -= 1;
                Ok(false)
            }
        }
    }

    /// Returns true if the few positions missing at the end of the last region are spares. If
    /// checks do not resolve sectors, slips are recorded at the end of their track and may recur as
    /// well.
    pub(super) fn is_regular(&mut self, rule: RegionRule) -> Result<bool, Error> {
        if self.locator.resolves_sectors(&self.zone.tracks) || rule.spares > FEW_SLIPS || rule.front
        {
            return Ok(true);
        }
        if self.slips_recur {
            return Ok(false);
        }
        let Some(gap) = self
            .zone
            .gaps
            .last()
            .filter(|gap| gap.end() == self.position)
        else {
            return Ok(true);
        };
        let begin = gap.start / self.zone.tracks.sectors * self.zone.tracks.sectors;
        let before = self
            .zone
            .gaps
            .iter()
            .rev()
            .nth(1)
            .map_or(0, |gap| gap.end());
        let held = gap.start.saturating_sub(begin.max(before));
        if held < 2 {
            return Ok(true);
        }
        let first = (self.block - held, gap.start - held);
        let last = (self.block - 1, gap.start - 1);
        let is_regular = self
            .locator
            .are_apart(&self.zone.tracks, [first, last], rule.spares)?;
        self.slips_recur = !is_regular;
        Ok(is_regular)
    }

    /// Returns the last end of a track up to block `last` at which previous slips show. Where
    /// checks do not resolve sectors, slips on the last track of a region move no other block.
    fn visible_end(&self, last: u64) -> u64 {
        let back = (self.position + (last - self.block)) % self.zone.tracks.sectors;
        let is_visible =
            self.locator.resolves_sectors(&self.zone.tracks) || last <= self.block + back;
        if is_visible { last } else { last - back }
    }

    /// Passes over several tracks with one check, if checks are costly and each track has spare
    /// sectors of its own, so that a slip moves no other track. Returns true if it did.
    fn stride(&mut self, rule: RegionRule) -> Result<bool, Error> {
        let sectors = self.zone.tracks.sectors;
        let costly = self.locator.is_costly(&self.zone.tracks);
        if !costly || rule.front || rule.region != sectors {
            return Ok(false);
        }
        let held = sectors - rule.spares;
        let tracks = self.stride.tracks.min((self.capacity - self.block) / held);
        if tracks > 1 {
            let (last, position) = (tracks * held - 1, (tracks - 1) * sectors + held - 1);
            if !self.is_in_line(self.block + last, self.position + position)? {
                self.stride = Stride {
                    tracks: tracks / 2,
                    shrinks: true,
                };
                return Ok(true);
            }
            for _ in 0..tracks {
                self.advance(self.block + held);
                if self.block < self.capacity {
                    self.skip(rule.spares);
                }
            }
        }
        if !self.stride.shrinks {
            self.stride.tracks *= 2;
        }
        Ok(tracks > 1)
    }

    /// Returns true if all tracks from here on are rotated by the slips of the previous region.
    fn rotates_tracks(&mut self, begin: u64) -> Result<bool, Error> {
        let resolves_sectors = self.locator.resolves_sectors(&self.zone.tracks);
        let may_turn = resolves_sectors && self.position == begin && begin > 0;
        let Some(rule) = self.rule.filter(|_| may_turn) else {
            return Ok(false);
        };
        let (before, spares) = (begin - rule.region, rule.spares);
        let gaps = self.zone.gaps.iter().rev();
        let slipped: u64 = gaps
            .take_while(|gap| gap.start >= before)
            .filter(|gap| gap.end() < begin && gap.start > before)
            .map(|gap| gap.length)
            .sum();
        if slipped == 0 || slipped > spares {
            return Ok(false);
        }
        let turned = self.zone.tracks.rotations.last().map_or(0, |&(_, by)| by);
        self.zone.tracks.rotations.push((begin, turned + slipped));
        let few = (rule.region - spares).min(self.zone.tracks.sectors).min(8) - 1;
        let near = (self.block + few).min(self.capacity - 1);
        if self.is_at(self.block, self.position)?
            && self.is_at(near, self.position + (near - self.block))?
        {
            return Ok(true);
        }
        self.zone.tracks.rotations.pop();
        Ok(false)
    }

    /// Returns true if a region that holds blocks up to `end` lacks the number of positions that
    /// the rule demands, given further gaps (from, to).
    pub(super) fn completes(&self, gaps: &[(u64, u64)], end: u64) -> bool {
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

    /// Returns the rule that the last regions follow.
    pub(super) fn recurring_rule(&self) -> Option<RegionRule> {
        let tracks = &self.zone.tracks;
        let cylinder = tracks.cylinder();
        let end = self.position;
        let track = end.is_multiple_of(tracks.sectors).then_some(tracks.sectors);
        let mut sizes: Vec<u64> = track.into_iter().collect();
        sizes.push(cylinder);
        let cylinders = self.zone.gaps.iter().rev().take(4);
        let ends: Vec<u64> = cylinders
            .map(|gap| gap.end())
            .filter(|end| end % cylinder == 0)
            .collect();
        if let [last, before, ..] = ends[..] {
            sizes.push(last - before);
        }
        sizes.into_iter().find_map(|region| {
            [false, true]
                .into_iter()
                .find_map(|front| self.rule_for(region, front))
        })
    }

    /// Returns the rule with regions of this size if the last three regions follow it.
    fn rule_for(&self, region: u64, front: bool) -> Option<RegionRule> {
        let lead = match self.zone.gaps.first() {
            Some(gap) if gap.start == 0 => gap.end(),
            _ => 0,
        };
        // The first region may be partly reserved.
        let first = lead.div_ceil(region);
        let end = if front {
            // The gap at the front of the current region is known.
            self.position - self.position % region
        } else {
            self.position
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
                    gap.start <= edge && gap.end() > edge && gap.start == edge
                } else {
                    gap.start < edge && gap.end() == edge
                }
            })
        };
        let regions = last.saturating_sub(3).max(from)..last;
        let same = spares(last - 1);
        let follow = same > 0
            && same < region
            && regions.clone().all(|n| spares(n) == same)
            && regions.clone().filter(|&n| has_gap(n)).count() >= 2;
        follow.then_some(RegionRule {
            region,
            spares: same,
            front,
        })
    }
}
