//! Transfers that go on to the next track.
//!
//! # Hypothesis
//! A transfer that comes to the end of a track goes on to the next track of the cylinder, and loses
//! a revolution if the head is not there within the pause that the skew leaves it. That may take
//! less than a request on another track does, before which the head settles.
//!
//! # Test vector
//! A request on a track, and one of two sectors across the end of it, half a revolution longer
//! before its first sector passes than is needed to catch that. At places with pauses of different
//! lengths, the shortest first.
//!
//! # Decision
//! It ends when both sectors have passed, or a revolution later.
//!
//! # Confidence
//! Two of up to three pairs at each pause. That the head is there in time says no more than that
//! it takes no longer than the pause.
//!
//! # Cost
//! Nothing where pairs switch heads within the shortest pause; two pairs, most often, where they do
//! not; up to 96 where a revolution is lost at the end of each track.

use diskarm_core::units::{Lbn, SectorCount, Span};

use super::Leads;
use crate::pairs::Access;
use crate::threshold::span;
use crate::track::Track;
use crate::{Error, Estimate, idle};

/// Where pauses are looked for: as many places, at equal distances.
const PLACES: u64 = 32;
/// Pauses differ that differ by more than this, in nanoseconds.
const DIFFERENT: f64 = 1e3;
/// Pairs at a pause that must agree, and how often that is tried.
const AGREEING: u32 = 2;
const TRIALS: u32 = 8;

impl Leads<'_, '_> {
    /// The shortest pause between two tracks of a cylinder within which requests go on that catch
    /// their first sector with this lead; `None` if there is none, or if no pause is shorter than
    /// the time to `switch` heads that pairs need, if that is known.
    pub(super) fn goes_on(
        &mut self,
        access: Access,
        lead: Estimate,
        switch: Option<Span>,
    ) -> Result<Option<Span>, Error> {
        let lead = lead.value.as_ns() as f64 + self.pairs.clock.period() / 2.0;
        for (pause, from, across) in self.pauses() {
            if switch.is_some_and(|switch| switch <= span(pause)) {
                break;
            }
            if self.is_in_time(access, (&from, &across), lead)? {
                return Ok(Some(span(pause)));
            }
        }
        Ok(None)
    }

    /// Pauses, in nanoseconds, with a track in front of each and the two sectors around it; the
    /// shortest first.
    fn pauses(&self) -> Vec<(f64, Track, Track)> {
        let layout = self.setup.layout;
        let pause = |place: u64| {
            let at = Lbn(layout.sectors().0 * place / PLACES);
            let from = idle::beginning(layout, layout.extent(at).cylinder.0)?;
            let across = from.across_end(layout, 1, 2)?;
            let (first, extent) = across.runs[0];
            let next = layout.extent(first + SectorCount(1));
            let sectors = (extent.sector_angle + next.sector_angle).as_revolutions();
            let pause = self.pairs.passing(first, 2) - sectors * self.pairs.clock.period();
            (next.cylinder == extent.cylinder).then_some((pause, from, across))
        };
        let mut pauses: Vec<_> = (0..PLACES).filter_map(pause).collect();
        pauses.sort_by(|a, b| a.0.total_cmp(&b.0));
        pauses.dedup_by(|next, kept| next.0 - kept.0 < DIFFERENT);
        pauses
    }

    /// Whether a request across the end of a track loses no revolution there.
    fn is_in_time(
        &mut self,
        access: Access,
        (from, across): (&Track, &Track),
        lead: f64,
    ) -> Result<bool, Error> {
        // In time, and late.
        let mut ended = [0; 2];
        for _ in 0..TRIALS {
            let pair = self.pairs.bring(access, from, 1);
            let pair = pair.and_then(|()| self.pairs.catch(access, across, 2, lead));
            if self.pairs.is_unreadable(&pair)? {
                continue;
            }
            if let Some(trial) = pair? {
                let late = trial.bounds.1 - trial.lead > self.pairs.clock.period() / 2.0;
                ended[usize::from(late)] += 1;
            }
            if ended.contains(&AGREEING) {
                break;
            }
        }
        Ok(ended[0] >= AGREEING)
    }
}
