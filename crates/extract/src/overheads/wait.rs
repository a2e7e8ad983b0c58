//! Measures how the media wait for the data of a write.
//!
//! # Hypothesis
//! The media transfer starts when a number of sectors have arrived, or all sectors of a smaller
//! write. If the bus is slower than the media, no sector may pass before its data arrive.
//!
//! # Test vector
//! Writes of increasing size after a write on the same track. If each further sector lengthens the
//! lead, also writes that continue on the next track.
//!
//! # Decision
//! For each further sector, a wait for data lengthens the lead of writes on one track by the bus
//! time of a sector, and a slow bus by the difference between its bus time and its media time.
//! Between two tracks the media pause, and a slow bus catches up: a write across the end of a track
//! then has a shorter lead than an equally long write on one track. If the media wait for data,
//! both leads are equal. If each further sector lengthens the lead by a large part of a revolution,
//! sectors are missed for another reason, and neither the bus nor the wait can be determined.
//!
//! # Confidence
//! The confidence is that of the leads. If the gap between tracks is too short to distinguish a
//! slow bus from a wait, [`Undetermined`] is reported; if a drive has both, only the slow bus is.
//!
//! # Cost
//! About 100 pairs for each of up to twelve sizes.

use diskarm_core::units::{SectorCount, Span};
use serde::{Deserialize, Serialize};

use super::{Leads, MIN_DIFFERENCE_NS};
use crate::clock::Access;
use crate::mtbrc::{self, Kind, To};
use crate::threshold::{Threshold, ThresholdEstimate, span};
use crate::track::Track;
use crate::{Error, Estimate, idle};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    pub sectors: SectorCount,
    /// Transfer time of a sector on the bus, if the media wait for several or the bus is slower.
    pub sector: Option<Estimate>,
    /// Extra time to wait for all data of a write instead of that many sectors of a larger write.
    pub least_delay: Span,
    #[serde(default)]
    pub unsure: Option<Undetermined>,
}

/// The part of a wait for data that could not be determined from writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Undetermined {
    /// Either the media wait for more sectors, or the bus is slower than the media.
    SlowBus,
    /// The media may wait for more sectors than were written.
    More,
    /// The number of sectors, because longer writes miss sectors, as if the buffer were small.
    Missed,
}

/// Maximum number of sectors that a drive waits for.
const MAX_SECTORS: u16 = 64;
/// Size in sectors of the writes that detect whether the media overtake the bus.
const PROBE_SECTORS: u16 = 9;
/// Number of sectors of these writes that are before the end of a track.
const SECTORS_BEFORE_END: u16 = 4;
/// Maximum size in sectors of the writes that measure a slower bus.
const LONG_WRITE_SECTORS: u16 = 33;
/// Maximum transfer time of a sector as a fraction of a revolution.
const MAX_SECTOR_SHARE: f64 = 1.0 / 8.0;

impl Leads<'_, '_> {
    /// Measures a write's lead after a write on the same track of the first zone, in nanoseconds.
    fn lead_of_size(&mut self, sectors: u16) -> Result<ThresholdEstimate, Error> {
        let kind = Kind {
            accesses: (Access::Write, Access::Write),
            sectors: (1, sectors),
            to: To::SameTrack,
        };
        Ok(mtbrc::in_zone(&mut self.pairs, kind, 0, self.setup.effort)?
            .search
            .found)
    }

    pub(super) fn wait(&mut self) -> Result<Wait, Error> {
        let wait = self.wait_by_size()?;
        let slowest = span(MAX_SECTOR_SHARE * self.setup.rotation.period_ns);
        Ok(match wait.sector {
            Some(sector) if sector.value > slowest => Wait {
                sectors: SectorCount(1),
                sector: None,
                least_delay: Span::ZERO,
                unsure: Some(Undetermined::Missed),
            },
            _ => wait,
        })
    }

    /// Measures the wait assuming that the media miss no sectors.
    fn wait_by_size(&mut self) -> Result<Wait, Error> {
        let (one, two) = (self.lead_of_size(1)?, self.lead_of_size(2)?);
        if two.median - one.median > MIN_DIFFERENCE_NS {
            return match self.is_overtaken(one, two)? {
                Some(false) => self.data_wait(one, per_sector(one, two, 1)),
                Some(true) => self.wait_on_slow_bus([one, two]),
                None => Ok(Wait {
                    unsure: Some(Undetermined::SlowBus),
                    ..self.wait_on_slow_bus([one, two])?
                }),
            };
        }
        // The media wait for one sector only. A minimum delay does not hide a slower bus here.
        if self.lead_of_size(3)?.median - two.median > MIN_DIFFERENCE_NS {
            return self.wait_on_slow_bus([one, two]);
        }
        let delay = one.median - two.median;
        Ok(Wait {
            sectors: SectorCount(1),
            sector: None,
            least_delay: zero_if_negligible(delay),
            unsure: None,
        })
    }

    /// Computes the wait for one sector on a bus slower than the media, from leads of small writes.
    fn wait_on_slow_bus(&mut self, [one, two]: [ThresholdEstimate; 2]) -> Result<Wait, Error> {
        let many = LONG_WRITE_SECTORS.min(self.room());
        let growth_per_sector = per_sector(two, self.lead_of_size(many)?, many - 2);
        let media = self.setup.rotation.period_ns / self.sectors_per_track() as f64;
        let delay = one.median - two.median + growth_per_sector.value.as_ns() as f64;
        Ok(Wait {
            sectors: SectorCount(1),
            sector: Some(Estimate {
                value: growth_per_sector.value + span(media),
                ..growth_per_sector
            }),
            least_delay: zero_if_negligible(delay),
            unsure: None,
        })
    }

    fn sectors_per_track(&self) -> u64 {
        idle::zones(self.setup.layout)[0].sectors()
    }

    /// Returns the maximum size of a write: half a track, so that there are enough starting points.
    fn room(&self) -> u16 {
        let half = self.sectors_per_track() / 2;
        half.clamp(3, u64::from(MAX_SECTORS)) as u16
    }

    /// Returns true if each sector of a write lengthens the lead because the media would overtake
    /// the bus; `None` if unknown. Several sectors are written, because the effect of one is small.
    fn is_overtaken(
        &mut self,
        one: ThresholdEstimate,
        two: ThresholdEstimate,
    ) -> Result<Option<bool>, Error> {
        let several = PROBE_SECTORS.min(self.room());
        let on_one_track = self.lead_of_size(several)?.median;
        let growth = (on_one_track - two.median) / f64::from(several - 2);
        if growth < (two.median - one.median) / 2.0 {
            return Ok(Some(false));
        }
        let before = SECTORS_BEFORE_END.min(several - 1);
        let Some((across, pause)) = self.across_tracks(before, several)? else {
            return Ok(None);
        };
        let period = self.setup.rotation.period_ns;
        // A drive that misses the next track is a revolution late, and its bus catches up.
        let turns = ((on_one_track - across) / period).round();
        let shorter = on_one_track - across - turns * period;
        let lag = growth * f64::from(several - before);
        let is_visible = pause > 2.0 * MIN_DIFFERENCE_NS;
        let expected = if is_visible { lag.min(pause) } else { lag };
        let is_overtaken = shorter > expected / 2.0;
        Ok((is_overtaken || is_visible).then_some(is_overtaken))
    }

    /// Measures the lead of a write of `sectors`, of which `before` precede the end of a track,
    /// after a write on that track. Also returns the pause between the tracks, in nanoseconds;
    /// `None` if no two tracks permit it.
    fn across_tracks(&mut self, before: u16, sectors: u16) -> Result<Option<(f64, f64)>, Error> {
        let place = idle::zones(self.setup.layout)[0].clone();
        let (before, all) = (u64::from(before), u64::from(sectors));
        let mut routes: Vec<(Track, Track)> = Vec::new();
        for _ in 0..20 {
            let from = self.pairs.equivalent.next(self.setup.layout, &place);
            let across = from.across_end(self.setup.layout, before, all);
            routes.extend(across.map(|across| (from, across)));
            if routes.len() == 3 {
                break;
            }
        }
        let Some((_, across)) = routes.first() else {
            return Ok(None);
        };
        let (first, extent) = across.runs[0];
        let on_one = extent.sector_angle.as_revolutions() * all as f64 * self.pairs.clock.period();
        let pause = self.pairs.passing(first, sectors) - on_one;
        let (target_width, max) = mtbrc::precision(self.setup.effort);
        let kinds = (Access::Write, Access::Write);
        let start = Threshold::default();
        let route = |_: &mut crate::pairs::Pairs<'_, '_>, k: u32| {
            let (from, across) = routes[k as usize % routes.len()].clone();
            Ok((from, across, 0.0))
        };
        let search = (self.pairs).search(kinds, (1, sectors), start, (target_width, max), route)?;
        Ok(Some((search.found.median, pause)))
    }

    /// Measures the number of sectors that the media wait for, at least two, and the extra wait.
    /// While they wait for all of a write, each further sector adds the time of a `sector` to the
    /// lead.
    fn data_wait(&mut self, one: ThresholdEstimate, mut sector: Estimate) -> Result<Wait, Error> {
        let max = self.room();
        let (mut waits, mut beyond, mut next) = (2, None, 4.min(max));
        while waits < max && beyond.is_none_or(|beyond| waits + 1 < beyond) {
            let each = sector.value.as_ns() as f64;
            let expected = one.median + each * f64::from(next - 1);
            let found = self.lead_of_size(next)?;
            if found.median > expected - MIN_DIFFERENCE_NS.max(each / 2.0) {
                waits = next;
                sector = per_sector(one, found, next - 1);
            } else {
                beyond = Some(next);
            }
            next = beyond.map_or((2 * waits).min(max), |beyond| waits.midpoint(beyond));
        }
        let mut least_delay = 0.0;
        if beyond.is_some() {
            // A write one sector longer incurs neither the wait for that sector nor the delay.
            let each = sector.value.as_ns() as f64;
            let all = one.median + each * f64::from(waits - 1);
            least_delay = all - self.lead_of_size(waits + 1)?.median;
        }
        Ok(Wait {
            sectors: SectorCount(u64::from(waits)),
            sector: Some(sector),
            least_delay: zero_if_negligible(least_delay),
            unsure: beyond.is_none().then_some(Undetermined::More),
        })
    }
}

/// Returns a delay in nanoseconds as a span, or zero if it is negligible.
fn zero_if_negligible(delay: f64) -> Span {
    if delay > MIN_DIFFERENCE_NS {
        span(delay)
    } else {
        Span::ZERO
    }
}

/// Returns the increase in a lead for each of `sectors` additional sectors.
fn per_sector(less: ThresholdEstimate, more: ThresholdEstimate, sectors: u16) -> Estimate {
    let each = |ns: f64| span(ns / f64::from(sectors));
    Estimate {
        value: each(more.median - less.median),
        uncertainty: each(more.uncertainty + less.uncertainty),
        samples: more.samples + less.samples,
    }
}
