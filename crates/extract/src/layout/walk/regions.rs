//! Regions of one size that hold equally many blocks: one look at each finds what is slipped in it.

use super::{Change, FEW_SLIPS, Looks, Walk};
use crate::Error;

/// Regions of one size with the same number of places without blocks in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// Places in a region.
    pub region: u64,
    /// Places without blocks in a region.
    pub spares: u64,
    /// They are at its front.
    pub front: bool,
}

/// How many tracks with spare sectors of their own one costly look passes over: twice as many as
/// before until one fails, then half as many each time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stride {
    tracks: u64,
    shrinks: bool,
}

impl Stride {
    pub const ONE: Self = Self {
        tracks: 1,
        shrinks: false,
    };
}

impl<L: Looks> Walk<'_, L> {
    /// Advances through a region, or to its first exception.
    pub(super) fn region(&mut self, rule: Rule) -> Result<bool, Error> {
        let begin = self.place / rule.region * rule.region;
        let end = begin + rule.region;
        if self.place == begin && self.stride(rule)? {
            return Ok(false);
        }
        let missing = self.missing(begin, end);
        let left = rule.spares.saturating_sub(missing);
        let blocks = (end - self.place).saturating_sub(left);
        let last = (self.block + blocks).min(self.capacity);
        let at_front = rule.front && self.place == begin && left > 0;
        if blocks > 0 && last > self.block {
            let ahead = if at_front { left } else { 0 };
            let look = if at_front {
                self.block
            } else {
                self.visible_end(last) - 1
            };
            let place = self.place + ahead + (look - self.block);
            let is_there = match self.looks.tell_sectors(&self.zone.tracks) {
                true => self.is_at(look, place)?,
                // Slipped sectors may recur for some time as spare ones do.
                false => {
                    self.is_far_in_line(look, place)?
                        && (rule.front || last == self.capacity || self.is_at(last, end)?)
                }
            };
            if is_there {
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
        self.stride = Stride::ONE;
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

    /// Whether the few places that are missing at the end of the last region are spare ones: if
    /// looks do not distinguish sectors, slipped ones count at the end of their track, and may
    /// recur.
    pub(super) fn is_regular(&mut self, rule: Rule) -> Result<bool, Error> {
        if self.looks.tell_sectors(&self.zone.tracks) || rule.spares > FEW_SLIPS || rule.front {
            return Ok(true);
        }
        if self.slips_recur {
            return Ok(false);
        }
        let Some(gap) = self.zone.gaps.last().filter(|gap| gap.end() == self.place) else {
            return Ok(true);
        };
        let begin = gap.place / self.zone.tracks.sectors * self.zone.tracks.sectors;
        let before = self
            .zone
            .gaps
            .iter()
            .rev()
            .nth(1)
            .map_or(0, |gap| gap.end());
        let held = gap.place.saturating_sub(begin.max(before));
        if held < 2 {
            return Ok(true);
        }
        let first = (self.block - held, gap.place - held);
        let last = (self.block - 1, gap.place - 1);
        let is_regular = self
            .looks
            .are_apart(&self.zone.tracks, [first, last], rule.spares)?;
        self.slips_recur = !is_regular;
        Ok(is_regular)
    }

    /// The last end of a track up to block `last` that shows what is slipped before it: where looks
    /// do not distinguish sectors, what is slipped on the last track of a region moves no other.
    fn visible_end(&self, last: u64) -> u64 {
        let back = (self.place + (last - self.block)) % self.zone.tracks.sectors;
        let is_visible = self.looks.tell_sectors(&self.zone.tracks) || last <= self.block + back;
        if is_visible { last } else { last - back }
    }

    /// Passes over several tracks with one look, if looks are costly and each track has spare
    /// sectors of its own: what is slipped inside one moves no other. Whether it did.
    fn stride(&mut self, rule: Rule) -> Result<bool, Error> {
        let sectors = self.zone.tracks.sectors;
        let costly = self.looks.are_costly(&self.zone.tracks);
        if !costly || rule.front || rule.region != sectors {
            return Ok(false);
        }
        let held = sectors - rule.spares;
        let tracks = self.stride.tracks.min((self.capacity - self.block) / held);
        if tracks > 1 {
            let (last, place) = (tracks * held - 1, (tracks - 1) * sectors + held - 1);
            if !self.is_in_line(self.block + last, self.place + place)? {
                self.stride = Stride {
                    tracks: tracks / 2,
                    shrinks: true,
                };
                return Ok(true);
            }
            for _ in 0..tracks {
                self.advance(self.block + held);
                if self.block < self.capacity {
                    self.note(rule.spares);
                }
            }
        }
        if !self.stride.shrinks {
            self.stride.tracks *= 2;
        }
        Ok(tracks > 1)
    }

    /// Whether all tracks from here on are rotated by the slips of the region before.
    fn turns(&mut self, begin: u64) -> Result<bool, Error> {
        let tell_sectors = self.looks.tell_sectors(&self.zone.tracks);
        let may_turn = tell_sectors && self.place == begin && begin > 0;
        let Some(rule) = self.rule.filter(|_| may_turn) else {
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

    /// Whether a region that holds blocks up to `end` lacks as many places as the rule says, given
    /// further gaps from a place to another one.
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

    /// The rule that the last regions follow.
    pub(super) fn recurring(&self) -> Option<Rule> {
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
