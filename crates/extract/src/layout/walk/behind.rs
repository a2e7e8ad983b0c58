//! What lies after the last block that is in line: places without blocks, or the end of the zone.

use super::{FEW_SLIPS, Looks, NEARLY, Walk};
use crate::Error;

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

impl<L: Looks> Walk<'_, L> {
    /// The place of block `at`, after places without blocks: the one that explains the following
    /// tracks with the fewest further gaps.
    pub(super) fn behind(&mut self, at: u64) -> Result<Option<u64>, Error> {
        let mut best: Option<(u32, u64)> = None;
        let is_inside = !self.place.is_multiple_of(self.zone.tracks.sectors);
        let held = if is_inside { self.held_on_track() } else { 0 };
        let places = self.places(at, self.place, held)?;
        for &place in &places {
            if !self.is_gap(self.place, place) || !self.may_go_on(at, place)? {
                continue;
            }
            if place - self.place > FEW_SLIPS {
                // Another zone may begin at nearly the same angle.
                let held = self.held_on_track();
                let before = (self.block - held, self.place - held);
                let here = (at, place);
                if held > 0
                    && !self
                        .looks
                        .are_apart(&self.zone.tracks, [before, here], NEARLY)?
                {
                    continue;
                }
            }
            let gaps = match self.slips_here(at, place)? {
                Some(gaps) => Some(gaps),
                None => self.goes_on(at, place)?,
            };
            if let Some(gaps) = gaps
                && best.is_none_or(|(min, _)| gaps < min)
            {
                best = Some((gaps, place));
            }
            if best.is_some_and(|(min, _)| min == 0) {
                break;
            }
        }
        let nearest = places.first().copied().filter(|_| L::KNOWS_END);
        Ok(best.map(|(_, place)| place).or(nearest))
    }

    /// Blocks in line on the track of the last block, behind the last place without a block.
    fn held_on_track(&self) -> u64 {
        let sectors = self.zone.tracks.sectors;
        let begin = self.place.saturating_sub(1) / sectors * sectors;
        let gap = self.zone.gaps.last().map_or(0, |gap| gap.end());
        self.place.saturating_sub(begin.max(gap))
    }

    /// The places where block `at` may be, which is not at `place`, the next of `held` blocks in
    /// line.
    fn places(&mut self, at: u64, place: u64, held: u64) -> Result<Vec<u64>, Error> {
        let tracks = &self.zone.tracks;
        let mut places = self.looks.places(tracks, at, place + 1)?;
        let left = tracks.track_end(place) - place;
        if held > 0 && left > FEW_SLIPS / 4 && !self.looks.tell_sectors(tracks) {
            // Many slipped sectors in a row are seen in the middle of a track.
            let blocks = [(at - held, place - held), (at, place)];
            let slipped = self.looks.slips_between(tracks, blocks)?;
            let behind = slipped.map(|slipped| place + slipped);
            let behind = behind.filter(|&behind| behind < tracks.track_end(place));
            places.splice(0..0, behind);
        }
        Ok(places)
    }

    /// Whether most of the track continues after block `at`, if looks are costly: where another
    /// zone has begun it does not. No long gap ends so late in a track that little is left of it.
    fn may_go_on(&mut self, at: u64, place: u64) -> Result<bool, Error> {
        if !self.looks.are_costly(&self.zone.tracks) {
            return Ok(true);
        }
        let left = self.zone.tracks.track_end(place) - place;
        if 2 * left < self.zone.tracks.sectors && place - self.place > FEW_SLIPS {
            return Ok(false);
        }
        let left = left.min(self.left_of_region(place));
        // More may be slipped than is seen if looks do not distinguish sectors.
        let spared = match self.looks.tell_sectors(&self.zone.tracks) {
            true => left.div_ceil(8),
            false => left.div_ceil(2),
        };
        let max = (left - spared).min(self.capacity - 1 - at);
        self.is_at(at + max, place + max)
    }

    /// How many places behind the next block, which is at `place`, hold blocks before the spares
    /// at the end of its region, if these are known.
    fn left_of_region(&self, place: u64) -> u64 {
        let Some(rule) = self.rule.filter(|rule| !rule.front) else {
            return u64::MAX;
        };
        let begin = place / rule.region * rule.region;
        let end = begin + rule.region;
        let slipped = self.missing(begin, end) + (place - self.place.max(begin));
        let spares = rule.spares.saturating_sub(slipped);
        end.saturating_sub(spares + place)
    }

    /// Whether places from `from` to `to` may be a gap: it ends with a track, or is small, or in
    /// front of a cylinder.
    fn is_gap(&self, from: u64, to: u64) -> bool {
        let tracks = &self.zone.tracks;
        to - from <= FEW_SLIPS
            || to % tracks.sectors <= FEW_SLIPS
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
        let few = place - self.place <= FEW_SLIPS / 4;
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
            let left = self.zone.tracks.track_end(place) - place;
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
            let next = match run == left || self.looks.tell_sectors(&self.zone.tracks) {
                true => self.looks.places(&self.zone.tracks, at, place)?,
                false => self.places(at, place, run)?,
            };
            let Some(next) = next.first().copied().filter(|&to| self.is_gap(place, to)) else {
                // The zone may end soon after the gap.
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
}
