//! Walks through regions of equal size that hold equally many blocks, with one check per region.

use super::{BlockLocator, Change, MAX_SLIPS, RegionRule, Walk};
use crate::Error;
use crate::layout::zone_map::length;

impl<L: BlockLocator> Walk<'_, L> {
    /// Advances to the end of a region or the first exception. Returns true if the zone has ended.
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
            let (probe, position) = if at_front {
                (self.block, self.position + left)
            } else {
                let probe = self.visible_end(last) - 1;
                (probe, self.expected(probe))
            };
            let is_there = if self.resolves_sectors() {
                self.is_at(probe, position)?
            } else {
                // Like spare sectors, slipped ones may recur for a while.
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
        (self.stride, self.stride_shrinks) = (1, false);
        if self.failures > 3 {
            self.rule = None;
            return Ok(false);
        }
        let change = self.explore(last.max(self.block + 1))?;
        self.failures -= u32::from(change == Change::Recorded);
        Ok(change == Change::End)
    }

    /// Returns true if the few positions missing at the end of the last region are spares. If
    /// checks do not resolve sectors, these positions may be slips, which are also recorded there.
    pub(super) fn is_regular(&mut self, rule: RegionRule) -> Result<bool, Error> {
        if self.resolves_sectors() || rule.spares > MAX_SLIPS || rule.front {
            return Ok(true);
        }
        if self.slips_recur {
            return Ok(false);
        }
        let mut gaps = self.zone.gaps.iter().rev();
        let last = gaps.next().filter(|gap| gap.end == self.position);
        let Some(start) = last.map(|gap| gap.start) else {
            return Ok(true);
        };
        let begin = start / self.sectors() * self.sectors();
        let before = gaps.next().map_or(0, |gap| gap.end);
        let held = start.saturating_sub(begin.max(before));
        if held < 2 {
            return Ok(true);
        }
        let first = (self.block - held, start - held);
        let last = (self.block - 1, start - 1);
        let is_regular = self.are_apart([first, last], rule.spares)?;
        self.slips_recur = !is_regular;
        Ok(is_regular)
    }

    /// Returns the last end of a track, up to block `last`, at which earlier slips are visible. If
    /// checks do not resolve sectors, slips on the last track of a region are not.
    fn visible_end(&self, last: u64) -> u64 {
        let back = self.expected(last) % self.sectors();
        let is_visible = self.resolves_sectors() || last <= self.block + back;
        if is_visible { last } else { last - back }
    }

    /// Tries to pass several tracks with one check, if checks are costly and each track has its own
    /// spare sectors, so that slips affect no other track. Returns false if this had no effect.
    fn stride(&mut self, rule: RegionRule) -> Result<bool, Error> {
        let sectors = self.sectors();
        if !self.is_costly() || rule.front || rule.region != sectors {
            return Ok(false);
        }
        let held = sectors - rule.spares;
        let tracks = self.stride.min((self.capacity - self.block) / held);
        if tracks > 1 {
            let (last, position) = (tracks * held - 1, (tracks - 1) * sectors + held - 1);
            if !self.is_in_line(self.block + last, self.position + position)? {
                (self.stride, self.stride_shrinks) = (tracks / 2, true);
                return Ok(true);
            }
            for _ in 0..tracks {
                self.advance(self.block + held);
                if self.block < self.capacity {
                    self.skip(rule.spares);
                }
            }
        }
        if !self.stride_shrinks {
            self.stride *= 2;
        }
        Ok(tracks > 1)
    }

    /// Returns true if the slips of the previous region have rotated all tracks from here on.
    fn rotates_tracks(&mut self, begin: u64) -> Result<bool, Error> {
        let may_turn = self.resolves_sectors() && self.position == begin && begin > 0;
        let Some(rule) = self.rule.filter(|_| may_turn) else {
            return Ok(false);
        };
        let (before, spares) = (begin - rule.region, rule.spares);
        let gaps = self.zone.gaps.iter().rev();
        let slipped: u64 = gaps
            .take_while(|gap| gap.start >= before)
            .filter(|gap| gap.end < begin && gap.start > before)
            .map(length)
            .sum();
        if slipped == 0 || slipped > spares {
            return Ok(false);
        }
        let turned = self.zone.tracks.rotations.last().map_or(0, |&(_, by)| by);
        self.zone.tracks.rotations.push((begin, turned + slipped));
        let few = (rule.region - spares).min(self.sectors()).min(8) - 1;
        let near = (self.block + few).min(self.capacity - 1);
        if self.is_expected(self.block)? && self.is_expected(near)? {
            return Ok(true);
        }
        self.zone.tracks.rotations.pop();
        Ok(false)
    }

    /// Returns true if the region that holds blocks up to `end` has as many positions without
    /// blocks as the rule requires, including those in the further `gaps` (from, to).
    pub(super) fn completes(&self, gaps: &[(u64, u64)], end: u64) -> bool {
        let Some(rule) = self.rule else { return false };
        let begin = (end - 1) / rule.region * rule.region;
        let region_end = begin + rule.region;
        let remaining = region_end - end;
        if rule.front && remaining > 0 {
            return false;
        }
        let missing = |&(from, to): &(u64, u64)| to.saturating_sub(from.max(begin));
        let further: u64 = gaps.iter().map(missing).sum();
        self.missing(begin, region_end) + further + remaining == rule.spares
    }

    pub(super) fn recurring_rule(&self) -> Option<RegionRule> {
        let tracks = &self.zone.tracks;
        let cylinder = tracks.cylinder();
        let is_track_end = self.position.is_multiple_of(tracks.sectors);
        let track = is_track_end.then_some(tracks.sectors);
        let last_ends = self.zone.gaps.iter().rev().take(4).map(|gap| gap.end);
        let mut ends = last_ends.filter(|end| end % cylinder == 0);
        let last_two = ends.next().zip(ends.next());
        let range = last_two.map(|(last, before)| last - before);
        let sizes = [track, Some(cylinder), range];
        sizes.into_iter().flatten().find_map(|region| {
            self.rule_for(region, false)
                .or_else(|| self.rule_for(region, true))
        })
    }

    /// Returns the rule with regions of this size if the last three regions follow it.
    fn rule_for(&self, region: u64, front: bool) -> Option<RegionRule> {
        // The first region may be partly reserved. Gaps at the front are already known.
        let first = self.zone.lead().div_ceil(region);
        let from = if front { first.max(1) } else { first };
        let last = self.position / region;
        let ends_here = front || self.position.is_multiple_of(region);
        if !ends_here || last < from + 2 {
            return None;
        }
        let spares = |n: u64| self.missing(n * region, (n + 1) * region);
        let has_gap = |n: u64| {
            let mut gaps = self.zone.gaps.iter().rev();
            gaps.any(|gap| {
                let is_edge = if front {
                    gap.start == n * region
                } else {
                    gap.end == (n + 1) * region
                };
                is_edge && !gap.is_empty()
            })
        };
        let regions = last.saturating_sub(3).max(from)..last;
        let same = spares(last - 1);
        let is_followed = same > 0
            && same < region
            && regions.clone().all(|n| spares(n) == same)
            && regions.clone().filter(|&n| has_gap(n)).count() >= 2;
        is_followed.then_some(RegionRule {
            region,
            spares: same,
            front,
        })
    }
}
