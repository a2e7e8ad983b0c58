//! Searches for the first block that is not in line.

use super::{Looks, Walk};
use crate::Error;
use crate::layout::search::first_off;

impl<L: Looks> Walk<'_, L> {
    /// The first block before `end` that is not where the blocks before it put it: looked at again,
    /// with the one before it, if looks are costly and therefore not beyond doubt.
    pub(super) fn sure_deviation(&mut self, end: u64) -> Result<Option<u64>, Error> {
        let mut found = self.deviation(end)?;
        for _ in 0..Self::DOUBTS {
            let Some(at) = found.filter(|_| self.looks.are_costly(&self.zone.tracks)) else {
                break;
            };
            let place = self.place + (at - self.block);
            let is_first = at == self.block || self.is_at(at - 1, place - 1)?;
            if is_first && !self.is_at(at, place)? {
                break;
            }
            found = self.deviation(end)?;
        }
        Ok(found)
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
            if !self.is_far_in_line(last, last_place)? {
                break last;
            }
            // The last block of the track before: after the end of the zone, places of another
            // pattern may be the same by chance.
            let back = last_place % self.zone.tracks.sectors + 1;
            let is_off = tracks > 1 && !self.is_in_line(last - back, last_place - back)?;
            if is_off && last - back >= good {
                break last - back;
            }
            good = last + 1;
            tracks *= 2;
        };
        self.bisect(good, bad).map(Some)
    }

    /// Whether block `at` is at `place`, and if looks are costly and therefore coarse, the block a
    /// third of a track before it is in line as well: another zone's tracks may end at like angles.
    pub(super) fn is_in_line(&mut self, at: u64, place: u64) -> Result<bool, Error> {
        let third = self.zone.tracks.sectors / 3;
        let has_room = at >= self.block + third && place % self.zone.tracks.sectors >= third;
        let before = has_room && self.looks.are_costly(&self.zone.tracks);
        Ok(self.is_at(at, place)? && (!before || self.is_at(at - third, place - third)?))
    }

    /// The same; if looks do not distinguish sectors, blocks of tracks farther back are in line as
    /// well: tracks that are nearly alike part only over a distance.
    pub(super) fn is_far_in_line(&mut self, at: u64, place: u64) -> Result<bool, Error> {
        if !self.is_in_line(at, place)? {
            return Ok(false);
        }
        if !self.looks.tell_sectors(&self.zone.tracks) {
            for tracks in Self::BACK {
                let back = tracks * self.zone.tracks.sectors;
                if at >= self.block + back && !self.is_at(at - back, place - back)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
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
            if self.is_far_in_line(middle, self.place + (middle - self.block))? {
                good = middle + 1;
            } else {
                bad = middle;
            }
        }
        if !self.looks.tell_sectors(&self.zone.tracks) {
            // What is off at the end of a track is in line again on the next.
            let place = self.place + (good - self.block);
            let last = good + self.zone.tracks.track_end(place) - place - 1;
            if last < bad {
                if self.is_far_in_line(last, self.place + (last - self.block))? {
                    good = last + 1;
                } else {
                    bad = last;
                }
            }
        }
        first_off(good, bad, |probe| {
            self.is_at(probe, self.place + (probe - self.block))
        })
    }

    /// The number of blocks from `at` on, the first at `place`, that follow one another on this
    /// track.
    pub(super) fn run(&mut self, at: u64, place: u64) -> Result<u64, Error> {
        let max = self.zone.tracks.track_end(place) - place;
        let max = max.min(self.capacity - at);
        if self.is_at(at + max - 1, place + max - 1)? {
            return Ok(max);
        }
        let run = first_off(1, max - 1, |probe| self.is_at(at + probe, place + probe))?;
        Ok(run.min(max))
    }
}
