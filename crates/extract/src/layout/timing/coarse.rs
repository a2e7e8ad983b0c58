//! Looks where the ends of reads scatter so much that they distinguish a track from the next, but
//! not a sector from the next.
//!
//! Between two tracks the angle jumps by a skew, which is much longer than a sector. So it is exact
//! with which block a track begins. Which of its sectors are slipped is not known: they are placed
//! at its end. Decisions that matter take many reads.

use super::Timed;
use crate::Error;
use crate::layout::chart::{Tracks, ZoneChart};
use crate::layout::phases::apart;
use crate::layout::walk::{FEW_SLIPS, NEARLY};

/// Angles that a look distinguishes, in standard deviations of one read.
pub(super) const AWAY: f64 = 3.0;
/// The least skew for that, in the same unit.
pub(super) const SKEW_MIN: f64 = 4.5;
/// Reads of a block that show which track it is in line with.
pub(super) const READS: u32 = 32;
/// Standard deviation of a number of slipped sectors.
const ROUGHLY: f64 = 0.3;

impl Timed<'_, '_> {
    /// Whether looks only distinguish tracks.
    pub(super) fn is_coarse(&self, sectors: u64) -> bool {
        !self.phases.tells_sectors(sectors)
    }

    /// Whether a block ends at an angle, as closely as a look that only distinguishes tracks shows.
    pub(super) fn is_near(&mut self, at: u64, angle: f64) -> Result<bool, Error> {
        let away = AWAY * self.phases.noise();
        self.phases.is_likelier_at(at, angle, away)
    }

    /// The zone that begins with block `next`, behind the last one. The first tracks of a zone may
    /// be nearly in line with those of the last one: as long as the blocks in front of it are where
    /// its own tracks have them, they belong to it.
    pub(super) fn next_coarse_zone(
        &mut self,
        next: u64,
        last: &mut ZoneChart,
    ) -> Result<ZoneChart, Error> {
        let mut zone = self.zone(next, Some(last))?;
        while zone.blocks > 0 {
            let begin = zone.gaps.first().filter(|gap| gap.place == 0);
            let before = begin.map_or(0, |gap| gap.places);
            let mut longer = zone.clone();
            let blocks = match before {
                0 => {
                    longer.push_in(1);
                    longer.tracks.cylinder()
                }
                before => before,
            };
            if blocks >= zone.tracks.cylinder().min(last.blocks) + u64::from(before == 0) {
                break;
            }
            longer.gaps.remove(0);
            longer.first -= blocks;
            longer.blocks += blocks;
            let [begin, middle, end] = [0, blocks / 2, blocks];
            let at = |place: u64| (longer.first + place, place);
            if !self.are_exactly_apart(&longer.tracks, [at(begin), at(end)], NEARLY)?
                || !self.are_exactly_apart(&longer.tracks, [at(middle), at(end)], NEARLY)?
            {
                break;
            }
            last.drop_last(blocks);
            longer.tracks.first_cylinder = last.end_cylinder();
            zone = longer;
        }
        Ok(zone)
    }

    /// The beginnings of tracks where block `at` may be, none before `least`, in ascending order.
    pub(super) fn beginnings(
        &mut self,
        tracks: &Tracks,
        at: u64,
        min: u64,
    ) -> Result<Vec<u64>, Error> {
        let Tracks {
            sectors, surfaces, ..
        } = *tracks;
        let revolution = sectors as f64;
        let begin = self.phases.mean(at, READS)? * revolution - 1.0;
        let near = AWAY / 2.0 * self.scatter(sectors);
        let first = min.div_ceil(sectors);
        let ahead = 2 * u64::from(surfaces) + 2;
        let is_here = |&track: &u64| {
            let off = apart(tracks.track_angle(track) / revolution, begin / revolution);
            (off * revolution).abs() < near
        };
        Ok((first..first + ahead)
            .filter(is_here)
            .map(|track| track * sectors)
            .collect())
    }

    /// How many sectors are slipped between a block and the next one that is not in line, if that
    /// is on the same track; rather too few than too many, as the end of the track shows the rest.
    pub(super) fn few_slips(
        &mut self,
        tracks: &Tracks,
        [from, to]: [(u64, u64); 2],
    ) -> Result<Option<u64>, Error> {
        let revolution = tracks.sectors as f64;
        let reads = 2.0 * (self.scatter(tracks.sectors) / ROUGHLY).powi(2);
        let turned = self.phases.between(from.0, to.0, reads.ceil() as u32)? * revolution;
        let slipped = (turned - (to.1 - from.1) as f64).rem_euclid(revolution);
        let min = (slipped - 1.5 * ROUGHLY).round().max(1.0);
        Ok((min < FEW_SLIPS as f64).then_some(min as u64))
    }

    /// Whether the angle between two blocks is that between two places, rather than `away` sectors
    /// or more off.
    pub(super) fn are_exactly_apart(
        &mut self,
        tracks: &Tracks,
        [from, to]: [(u64, u64); 2],
        away: u64,
    ) -> Result<bool, Error> {
        let angle = tracks.angle(to.1) - tracks.angle(from.1);
        let away = away as f64 / tracks.sectors as f64;
        self.phases.is_likelier_between((from.0, to.0), angle, away)
    }

    /// Standard deviation of one read, in sectors.
    pub(super) fn scatter(&self, sectors: u64) -> f64 {
        self.phases.noise() * sectors as f64
    }

    /// Refuses skews that are too short to distinguish tracks.
    pub(super) fn refuse_short_skews(&self, tracks: &Tracks) -> Result<(), Error> {
        let revolution = tracks.sectors as f64;
        let min = SKEW_MIN * self.scatter(tracks.sectors);
        let is_short = |skew: f64| {
            let skew = skew.rem_euclid(revolution);
            skew.min(revolution - skew) < min
        };
        let switches = tracks.surfaces > 1 && is_short(tracks.track_skew);
        if switches || is_short(tracks.cylinder_skew) {
            return Err(Error::Undecided(format!(
                "the ends of reads scatter by {:.3} ms, and skews of {:.0} and {:.0} sectors are \
                 too short to tell one track from the next",
                self.phases.noise_ms(),
                tracks.track_skew,
                tracks.cylinder_skew
            )));
        }
        Ok(())
    }

    /// The error where the ends of reads scatter too much.
    pub(in crate::layout) fn scatters_too_much(&self, sectors: u64) -> Error {
        Error::Undecided(format!(
            "the ends of reads scatter by {:.3} ms: to tell one of some {sectors} sectors of a \
             track from the next takes {:.0} reads, and a layout takes many such looks",
            self.phases.noise_ms(),
            self.phases.reads_of_a_look(sectors)
        ))
    }
}
