//! Transfers that continue on the next track.
//!
//! # Hypothesis
//! A transfer that reaches the end of a track continues on the next track of the cylinder. It loses
//! a revolution if the head switch takes longer than the gap that the skew leaves. This head switch
//! may be shorter than that of a request, which includes settling.
//!
//! # Test vector
//! Two pairs of requests. In both, the first request is on some track. The second request of one
//! pair is for the last sector of that track. In the other pair, it is for two sectors across the
//! end of the track. The second requests are sent at a random time, from an eighth to five eighths
//! of a revolution before they would just catch the last sector. Gaps of different lengths are
//! tried, shortest first.
//!
//! # Decision
//! Both second requests must end at the angles of their last sectors, as misses do; hits end a
//! fixed time after they are sent. The one-sector request must end at the first pass of its sector,
//! which shows that the head was on the track in time. The two-sector request then ends either when
//! both sectors have passed, or a revolution later.
//!
//! # Confidence
//! At each gap, two vectors (three with noise) must agree before as many are inconclusive. A head
//! that arrives in time takes no longer than the gap, but may take less.
//!
//! # Cost
//! None if the head switch of pairs fits into the shortest gap; otherwise usually four pairs, or
//! about 130 if each track end costs a revolution and all gaps differ.

use diskarm_core::units::{Lbn, SectorCount, Span};

use super::Leads;
use crate::clock::Access;
use crate::pairs::Trial;
use crate::track::Track;
use crate::{Error, Estimate};

const PLACES: u64 = 32;
/// Pauses closer than this are treated as equal, in nanoseconds.
const MIN_DIFFERENCE_NS: f64 = 1e3;
/// Maximum error of a pause due to rounding of angles and times, in nanoseconds.
const MAX_ROUNDING_NS: f64 = 10.0;
/// Number of vectors that must agree for a pause, without and with noise.
const MIN_AGREEING: [u32; 2] = [2, 3];
/// Tolerated error of completion times, in revolutions. Those of writes vary.
const MAX_ERROR_SHARE: f64 = 1.0 / 32.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    InTime,
    Late,
    Unclear,
}

/// A place where a transfer continues to the next track.
struct Place {
    /// Gap between the tracks in nanoseconds.
    pause: f64,
    from: Track,
    /// The last sector of that track, and that sector with the first one of the next track.
    last: Track,
    across: Track,
}

impl Leads<'_, '_> {
    /// Returns the shortest pause between two tracks of a cylinder that lets a request continue on
    /// the second track; `lead` is the lead of a request on the first. Returns `None` if no pause
    /// does so, or if the pause is no shorter than the known head `switch` of pairs.
    pub(super) fn shortest_pause(
        &mut self,
        access: Access,
        lead: Estimate,
        switch: Option<Span>,
    ) -> Result<Option<Span>, Error> {
        let lead = lead.value.as_ns() as f64;
        for place in self.places() {
            let pause = Span::from_ns((place.pause - MAX_ROUNDING_NS).floor() as i64);
            if switch.is_some_and(|switch| switch <= pause) {
                break;
            }
            if self.is_in_time(access, &place, lead)? {
                return Ok(Some(pause));
            }
        }
        Ok(None)
    }

    /// Returns places with different pauses, shortest first.
    fn places(&self) -> Vec<Place> {
        let layout = self.setup.layout;
        let place = |place: u64| {
            let at = Lbn(layout.sectors().0 * place / PLACES);
            let from = Track::first_in_cylinder(layout, layout.extent(at).cylinder.0)?;
            let last = from.across_end(layout, 1, 1)?;
            let across = from.across_end(layout, 1, 2)?;
            let (first, extent) = across.runs[0];
            let next = layout.extent(first + SectorCount(1));
            let sectors = (extent.sector_angle + next.sector_angle).as_revolutions();
            let pause = self.pairs.passing(first, 2) - sectors * self.pairs.clock.period();
            (next.cylinder == extent.cylinder && pause > MAX_ROUNDING_NS).then_some(Place {
                pause,
                from,
                last,
                across,
            })
        };
        let mut places: Vec<_> = (0..PLACES).filter_map(place).collect();
        places.sort_by(|a, b| a.pause.total_cmp(&b.pause));
        places.dedup_by(|next, kept| next.pause - kept.pause < MIN_DIFFERENCE_NS);
        places
    }

    /// Returns true if a request across the end of a track loses no revolution there.
    fn is_in_time(&mut self, access: Access, place: &Place, lead: f64) -> Result<bool, Error> {
        let agreeing = MIN_AGREEING[usize::from(self.pairs.is_noisy)];
        let mut counts = [0; 3];
        while !counts.contains(&agreeing) {
            counts[self.vector(access, place, lead)? as usize] += 1;
        }
        Ok(counts[Verdict::InTime as usize] == agreeing)
    }

    fn vector(&mut self, access: Access, place: &Place, lead: f64) -> Result<Verdict, Error> {
        if self.end_of_second(access, &place.from, &place.last, 1, lead)? != Verdict::InTime {
            return Ok(Verdict::Unclear);
        }
        self.end_of_second(access, &place.from, &place.across, 2, lead)
    }

    /// Classifies a pair by whether its second request ends when its sectors first pass, or later.
    fn end_of_second(
        &mut self,
        access: Access,
        from: &Track,
        to: &Track,
        sectors: u16,
        lead: f64,
    ) -> Result<Verdict, Error> {
        let period = self.pairs.clock.period();
        let lead = lead + (0.125 + 0.5 * self.pairs.uniform()) * period;
        let pair = self.pairs.move_head(access, from, 1);
        let pair = pair.and_then(|()| self.pairs.catch(access, to, sectors, lead));
        if self.pairs.is_unreadable(&pair)? {
            return Ok(Verdict::Unclear);
        }
        // `catch` knows the end of a one-sector read more precisely.
        let tolerance = self.pairs.clock.tolerance().max(MAX_ERROR_SHARE * period);
        let is_late = |trial: Trial| trial.bounds.1 - trial.lead > period / 2.0;
        let as_expected = pair?.filter(|trial| trial.deviation.abs() <= tolerance);
        Ok(match as_expected.map(is_late) {
            Some(true) => Verdict::Late,
            Some(false) => Verdict::InTime,
            None => Verdict::Unclear,
        })
    }
}

#[cfg(test)]
mod tests;
