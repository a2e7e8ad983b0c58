//! Spare sectors at the end of a track that are not seen, where looks do not distinguish sectors.

use super::{FEW_SLIPS, Looks, Walk};
use crate::Error;

impl<L: Looks> Walk<'_, L> {
    /// The place of a block before the next one, which becomes the next, if it is on the track that
    /// has just ended, and spare sectors are in front of it: as many as the sectors by which the
    /// next track is turned, or nearly, so that its first blocks seem to be on the one before.
    pub(super) fn spares_in_line(&mut self) -> Result<Option<u64>, Error> {
        let sectors = self.zone.tracks.sectors;
        let gap = self.zone.gaps.last().map_or(0, |gap| gap.end());
        // A whole track has ended.
        let has_ended = self.place.is_multiple_of(sectors) && self.place >= gap + sectors;
        if self.looks.tell_sectors(&self.zone.tracks) || !has_ended {
            return Ok(None);
        }
        let (end, end_place) = (self.block, self.place);
        let first = (end - sectors, end_place - sectors);
        let (mut good, mut bad) = (0, sectors - 1);
        while good < bad {
            // The last block first: most tracks are in line to their end.
            let probe = if good == 0 {
                bad
            } else {
                good + (bad - good) / 2
            };
            let block = (first.0 + probe, first.1 + probe);
            match self.looks.are_apart(&self.zone.tracks, [first, block], 2)? {
                true if good == 0 && probe == sectors - 1 => return Ok(None),
                true => good = probe + 1,
                false if good == 0 => good = 1,
                false => bad = probe,
            }
        }
        (self.block, self.place) = (first.0 + bad, first.1 + bad);
        match self.behind(self.block)? {
            Some(place) if place - self.place > FEW_SLIPS => Ok(Some(place)),
            _ => {
                (self.block, self.place) = (end, end_place);
                Ok(None)
            }
        }
    }
}
