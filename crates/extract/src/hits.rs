//! Service times of buffer hits, and the transfer rate of the bus (worthington96 sections 5.6 and
//! 5.8).
//!
//! # Hits
//! A read hit takes an overhead, which depends on the previous command, plus a time for each
//! sector. So does a write that the write cache absorbs, but its overhead may also depend on where
//! the arm is.
//!
//! The test vector of a read hit reads the first block of a cylinder from the media, pauses for
//! read-ahead, and reads the following block, or up to 33 blocks. On a drive without read-ahead it
//! repeats the first read instead. For hits after a write, it writes to another zone in between or,
//! if that empties the buffer, reads the block that was written. Write hits have one or 17 sectors,
//! and follow a read or a write that has had time to reach the media. They are on the current
//! cylinder, on another one, or in another zone. No block is used twice in a row.
//!
//! Service times that agree within a few hundredths of a millisecond are those of hits, because the
//! service times of misses differ by up to a revolution. The time per sector is the difference
//! between the mean service times of two sizes, divided by the difference in sectors. Confidence:
//! the 95 % interval of the mean of the times that agree. Cost: about 150 commands (10 s) for
//! reads, 300 for writes.
//!
//! # Slow bus
//! On a drive without read hits, one sector and several sectors on one track are read from the
//! media. If larger reads take longer to end after their last sector has passed, the bus is slower
//! than the media by that difference. Otherwise it is faster, and its time is part of the
//! overheads. Cost: about 30 reads.
//!
//! # Settling before absorbed writes
//! The arm also settles on its track before it writes what the cache has absorbed, but without the
//! overhead of a miss. The lead at which such a write just catches its sector therefore shows the
//! settling time, unless the media wait for data that arrive after the arm. The test vector is a
//! read, an absorbed write of one sector on the same track, and immediately a read from the media
//! of a sector that passes half a revolution later. The second read waits until the write is on the
//! media. It ends when its sector has passed or, if the write missed its own sector, a revolution
//! later. The same is done with writes of two and of 17 sectors. If the media wait for data, the
//! lead for two sectors differs from that for one, and so does the lead for 17 sectors, although a
//! slow bus alone also lengthens the latter. Confidence: half the interval of the lead, about 0.003
//! ms. The result includes the time to reconnect, which follows a miss but not an absorbed write,
//! so settling may be shorter. Cost: 50 to 200 times three commands for each size.

use diskarm_core::units::{Lbn, SectorCount, Span};
use serde::{Deserialize, Serialize};

use crate::clock::Access;
use crate::mtbrc;
use crate::pairs::{LONG, Pairs};
use crate::threshold::{Threshold, ThresholdEstimate, span};
use crate::track::Track;
use crate::{CommandTimes, Disk, Effort, Error, Estimate, Setup, idle};

/// Service times of read hits; `None` for kinds of hits that did not occur.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadHits {
    /// Transfer time of a sector to the host.
    pub sector: Option<Estimate>,
    /// Service time of one sector after a read.
    pub after_read: Option<Estimate>,
    /// Like `sector`, but from media reads over a bus slower than the media, if there are no hits.
    #[serde(default)]
    pub slow_bus: Option<Estimate>,
}

/// Service times of hits that are measured with writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteHits {
    /// Service time of a one-sector read hit after a write.
    pub read_after_write: Option<Estimate>,
    /// Transfer time of a sector from the host.
    pub sector: Option<Estimate>,
    /// Service time of a one-sector write that the cache absorbs, after a read.
    pub after_read: Option<Estimate>,
    /// Service time of a one-sector write that the cache absorbs, after a write.
    pub after_write: Option<Estimate>,
    /// Lead of a one-sector write that the cache absorbs, on the track of the previous read; `None`
    /// if the media wait for data, or if the time at which the write reaches the media is unknown.
    #[serde(default)]
    pub lands: Option<Estimate>,
    /// Extra service time of an absorbed write if the arm is on another cylinder.
    pub elsewhere: Span,
    /// Further extra time if the arm is in another zone.
    pub other_zone: Span,
}

/// Sizes to try for the larger read. Large ones may exceed the number of blocks read ahead.
const LARGE_SIZES: [u16; 4] = [33, 17, 9, 5];
/// Maximum deviation of agreeing service times from their median, without noise, in nanoseconds.
const MAX_DEVIATION_NS: f64 = 1e4;
/// If completion times are noisy, the maximum is at least a revolution divided by this number.
const NOISY_DIVISOR: f64 = 32.0;

/// Measures read hits, using only reads.
pub fn measure(disk: &mut Disk<'_>, setup: &Setup<'_>) -> Result<ReadHits, Error> {
    let mut measurement = HitMeasurement::new(disk, setup)?;
    let ahead =
        measurement.read_hits(|measurement, sectors| measurement.read_ahead_hit(sectors, false))?;
    let mut found = match ahead.after_read {
        Some(_) => ahead,
        None => measurement.read_hits(HitMeasurement::reread_hit)?,
    };
    if found.sector.is_none() {
        found.slow_bus = measurement.slow_bus()?;
    }
    Ok(found)
}

/// Measures read hits after writes, and write hits. Destroys data in random blocks.
pub fn measure_writes(disk: &mut Disk<'_>, setup: &Setup<'_>) -> Result<WriteHits, Error> {
    let mut measurement = HitMeasurement::new(disk, setup)?;
    let mut found = WriteHits::default();
    let mut read = measurement.services(|measurement| measurement.read_ahead_hit(1, true))?;
    if read.is_none() {
        read = measurement.services(HitMeasurement::written_hit)?;
    }
    found.read_after_write = read.as_ref().map(Services::estimate);
    let arm = [
        ArmPosition::SameTrack,
        ArmPosition::OtherCylinder,
        ArmPosition::OtherZone,
    ];
    let [here, cylinder, zone] = arm
        .map(|arm| measurement.services(|measurement| measurement.write_hit(Access::Read, 1, arm)));
    let (Some(here), Some(cylinder), Some(zone)) = (here?, cylinder?, zone?) else {
        return Ok(found);
    };
    found.after_read = Some(here.estimate());
    // Values below the resolution count as zero.
    let longer = |from: &Services, to: &Services| match to.mean - from.mean {
        short if short < 5e3 => Span::ZERO,
        longer => span(longer),
    };
    found.elsewhere = longer(&here, &cylinder);
    found.other_zone = longer(&cylinder, &zone);
    let mut hits = |before, sectors| {
        measurement
            .services(|measurement| measurement.write_hit(before, sectors, ArmPosition::SameTrack))
    };
    found.after_write = hits(Access::Write, 1)?.as_ref().map(Services::estimate);
    let sectors = 17;
    if let Some(more) = hits(Access::Read, sectors)? {
        let sector = per_sector(&here, &more, sectors);
        found.sector = Some(sector);
        found.lands = measurement.landing_lead(sectors, sector.value)?;
    }
    Ok(found)
}

fn per_sector(one: &Services, more: &Services, sectors: u16) -> Estimate {
    let steps = f64::from(sectors - 1);
    Estimate {
        value: span((more.mean - one.mean) / steps),
        uncertainty: span(one.uncertainty.hypot(more.uncertainty) / steps),
        samples: one.samples + more.samples,
    }
}

/// Service times in nanoseconds.
struct Services {
    mean: f64,
    uncertainty: f64,
    samples: u64,
}

impl Services {
    /// Returns the mean of the service times within `near` of the median, if most are that close.
    fn near_median(services: &[Span], near: f64) -> Option<Self> {
        let mut sorted: Vec<f64> = services.iter().map(|span| span.as_ns() as f64).collect();
        sorted.sort_by(f64::total_cmp);
        let median = sorted[sorted.len() / 2];
        sorted.retain(|service| (service - median).abs() <= near);
        if 10 * sorted.len() < 7 * services.len() {
            return None;
        }
        let samples = sorted.len() as f64;
        let mean = sorted.iter().sum::<f64>() / samples;
        let squares = sorted.iter().map(|service| (service - mean).powi(2));
        let deviation = (squares.sum::<f64>() / (samples - 1.0)).sqrt();
        Some(Self {
            mean,
            uncertainty: (2.0 * deviation / samples.sqrt()).max(1.0),
            samples: sorted.len() as u64,
        })
    }

    fn estimate(&self) -> Estimate {
        Estimate {
            value: span(self.mean),
            uncertainty: span(self.uncertainty),
            samples: self.samples,
        }
    }
}

/// Returns the largest number of service times in any interval of `length` nanoseconds.
fn largest_cluster(services: &[Span], length: f64) -> usize {
    let count_from = |from: &Span| {
        let is_within = |at: &&Span| (0.0..=length).contains(&((**at - *from).as_ns() as f64));
        services.iter().filter(is_within).count()
    };
    services.iter().map(count_from).max().unwrap_or(0)
}

#[derive(Clone, Copy)]
enum ArmPosition {
    SameTrack,
    OtherCylinder,
    OtherZone,
}

struct HitMeasurement<'a, 'd> {
    pairs: Pairs<'a, 'd>,
    effort: Effort,
    places: [Track; 3],
    /// Maximum deviation of agreeing service times from their median.
    near: f64,
    repeats: u32,
}

impl<'a, 'd> HitMeasurement<'a, 'd> {
    fn new(disk: &'a mut Disk<'d>, setup: &Setup<'a>) -> Result<Self, Error> {
        let pairs = setup.pairs(disk)?;
        let scatter = setup.rotation.scatter_ns;
        // Misses are spread over a revolution.
        let mut near = MAX_DEVIATION_NS + 3.0 * scatter;
        if pairs.is_noisy {
            near = near.max(setup.rotation.period_ns / NOISY_DIVISOR);
        }
        let repeats = setup.effort.choose([5, 9, 25]);
        Ok(Self {
            effort: setup.effort,
            places: idle::zones(setup.layout),
            near,
            repeats: if pairs.is_noisy { 6 * repeats } else { repeats },
            pairs,
        })
    }

    /// Measures a service time repeatedly. Returns the mean if most values agree.
    fn services(
        &mut self,
        mut once: impl FnMut(&mut Self) -> Result<CommandTimes, Error>,
    ) -> Result<Option<Services>, Error> {
        self.repeat(|measurement| Ok(once(measurement)?.service()))
    }

    /// Measures a time repeatedly. Returns the mean if most values agree.
    fn repeat(
        &mut self,
        mut once: impl FnMut(&mut Self) -> Result<Span, Error>,
    ) -> Result<Option<Services>, Error> {
        let mut services = Vec::new();
        for left in (0..self.repeats as usize).rev() {
            services.push(once(self)?);
            let agreeing = largest_cluster(&services, 2.0 * self.near);
            if self.pairs.is_noisy && 10 * (agreeing + left) < 7 * self.repeats as usize {
                return Ok(None);
            }
        }
        Ok(Services::near_median(&services, self.near))
    }

    fn read_hits(
        &mut self,
        mut once: impl FnMut(&mut Self, u16) -> Result<CommandTimes, Error>,
    ) -> Result<ReadHits, Error> {
        let mut found = ReadHits::default();
        let Some(one) = self.services(|measurement| once(measurement, 1))? else {
            return Ok(found);
        };
        found.after_read = Some(one.estimate());
        for sectors in LARGE_SIZES {
            if let Some(more) = self.services(|measurement| once(measurement, sectors))? {
                found.sector = Some(per_sector(&one, &more, sectors));
                break;
            }
        }
        Ok(found)
    }

    /// Returns the first track of another cylinder on each call, with room for the largest request.
    fn fresh_track(&mut self) -> Track {
        let layout = self.pairs.layout;
        let max = SectorCount(1 + u64::from(LARGE_SIZES[0]));
        let mut track = self.pairs.equivalent.next(layout, &self.places[0]);
        if track.first() + max > Lbn(layout.sectors().0) {
            track = self.places[0].clone();
        }
        track
    }

    /// Reads `sectors` blocks that were read ahead, after a read or after a write elsewhere.
    fn read_ahead_hit(&mut self, sectors: u16, after_write: bool) -> Result<CommandTimes, Error> {
        let first = self.fresh_track().first();
        self.pairs.send(Access::Read, first, 1)?;
        self.sleep_randomly(LONG);
        if after_write {
            let middle = self.places[1].first().0;
            let room = (self.pairs.layout.sectors().0 - middle).min(10_000);
            let elsewhere = Lbn(middle + self.pairs.below(room));
            self.pairs.send(Access::Write, elsewhere, 1)?;
        }
        self.pairs
            .send_buffered(Access::Read, first + SectorCount(1), sectors)
    }

    fn reread_hit(&mut self, sectors: u16) -> Result<CommandTimes, Error> {
        let first = self.fresh_track().first();
        self.pairs.send_buffered(Access::Read, first, sectors)?;
        self.sleep_randomly(Span::ZERO);
        self.pairs.send_buffered(Access::Read, first, sectors)
    }

    fn written_hit(&mut self) -> Result<CommandTimes, Error> {
        let at = self.fresh_track().first();
        self.pairs.send(Access::Write, at, 1)?;
        self.sleep_randomly(Span::ZERO);
        self.pairs.send_buffered(Access::Read, at, 1)
    }

    /// Sleeps for `min` plus up to a revolution, so that service times of misses vary.
    fn sleep_randomly(&mut self, min: Span) {
        let random = self.pairs.uniform() * self.pairs.clock.period();
        self.pairs.sleep(min + span(random));
    }

    /// Writes `sectors` blocks, which the cache may absorb, after another command.
    fn write_hit(
        &mut self,
        before: Access,
        sectors: u16,
        arm: ArmPosition,
    ) -> Result<CommandTimes, Error> {
        let from = self.fresh_track();
        let at = match arm {
            ArmPosition::SameTrack => from.clone(),
            ArmPosition::OtherCylinder => self.fresh_track(),
            ArmPosition::OtherZone => self.places[2].clone(),
        };
        // The write is not contiguous with the previous command, and is at a random angle.
        let min = 5.min(at.sectors() - 1);
        let room = (at.sectors() / 2).min(at.sectors() - min);
        let at = at.first() + SectorCount(min + self.pairs.below(room));
        self.pairs.sleep(LONG);
        match before {
            Access::Read => drop(self.pairs.send(before, from.first(), 1)?),
            Access::Write => {
                self.pairs.send_buffered(Access::Write, from.first(), 1)?;
                self.pairs.sleep(LONG);
            }
        }
        self.pairs.send_buffered(Access::Write, at, sectors)
    }
}

/// Maximum number of writes for which no read shows when they reach the media.
const MAX_FAILURES: u32 = 20;
/// Leads that differ by less than this plus their uncertainty count as equal, in nanoseconds.
const LEAD_TOLERANCE_NS: f64 = 5e3;

impl HitMeasurement<'_, '_> {
    /// Measures the lead of a one-sector absorbed write; `None` if the media wait for data.
    fn landing_lead(&mut self, sectors: u16, sector: Span) -> Result<Option<Estimate>, Error> {
        let Some(one) = self.lead_of_hits(1)? else {
            return Ok(None);
        };
        let bus = sector.as_ns() as f64;
        let media = self.pairs.clock.period() / self.places[0].sectors() as f64;
        let slower = (bus - media).max(0.0);
        let many = sectors.min((self.places[0].sectors() / 2).max(2) as u16);
        // Halfway between the increase for a slow bus and that for media that wait for all data.
        let max = f64::from(many - 1) * slower.midpoint(bus);
        for (sectors, max) in [(2, 0.0), (many, max)] {
            let Some(more) = self.lead_of_hits(sectors)? else {
                return Ok(None);
            };
            let longer = more.median - one.median;
            let little = LEAD_TOLERANCE_NS + one.uncertainty + more.uncertainty;
            if longer < -little || longer > max.max(little) {
                return Ok(None);
            }
        }
        Ok(Some(one.estimate()))
    }

    /// Measures the lead of absorbed writes of this size; `None` if later reads do not reveal it.
    fn lead_of_hits(&mut self, sectors: u16) -> Result<Option<ThresholdEstimate>, Error> {
        let (target_width, max) = mtbrc::precision(self.effort);
        let mut threshold = Threshold::default();
        let mut failures = 0;
        for _ in 0..max {
            let lead = threshold.aim(target_width, self.pairs.uniform()).max(1e3);
            match self.landing_bounds(sectors, lead)? {
                Some((missed, caught)) => threshold.add(missed, caught),
                None => failures += 1,
            }
            if threshold.is_done(target_width) || failures > MAX_FAILURES {
                break;
            }
        }
        Ok(threshold.is_done(target_width).then(|| threshold.found()))
    }

    /// Sends a write about `lead` before its first sector passes. Returns the largest lead that is
    /// then known to be too short, and the smallest known to be enough.
    fn landing_bounds(&mut self, sectors: u16, lead: f64) -> Result<Option<(f64, f64)>, Error> {
        let from = self.fresh_track();
        let Some(track) = self.pairs.head_track(Access::Read, &from) else {
            return Ok(None);
        };
        let period = self.pairs.clock.period();
        let moved = self.pairs.move_head(Access::Read, &from, 1);
        if self.pairs.is_unreadable(&moved)? {
            return Ok(None);
        }
        let Some((at, passes)) = self.pairs.wait_for(&track, sectors, lead) else {
            return Ok(None);
        };
        let written = self.pairs.send_buffered(Access::Write, at, sectors);
        if self.pairs.is_unreadable(&written)? {
            return Ok(None);
        }
        let lead = passes - written?.sent.as_ns() as f64;
        // Halfway between the ends of writes that catch and that miss their first sector.
        let written = self.pairs.passing(at, sectors);
        let later = passes + (period + written) / 2.0 - self.pairs.soonest(0.0);
        if later < 0.0 {
            return Ok(None);
        }
        let read = self.pairs.catch(Access::Read, &track, 1, later);
        if self.pairs.is_unreadable(&read)? {
            return Ok(None);
        }
        let Some(read) = read? else { return Ok(None) };
        let lateness = read.bounds.1 - read.lead;
        Ok(Some((lead + lateness - period, lead + lateness)))
    }
}

/// Maximum sizes in sectors of the reads that detect and measure a slower bus.
const DETECTION_SECTORS: u16 = 9;
const RATE_SECTORS: u16 = 33;
const MIN_PER_SECTOR_NS: f64 = 2e3;

impl HitMeasurement<'_, '_> {
    fn slow_bus(&mut self) -> Result<Option<Estimate>, Error> {
        let track = self.places[0].sectors();
        let max = |sectors: u16| sectors.min((track / 4).max(2) as u16);
        let (several, many) = (max(DETECTION_SECTORS), max(RATE_SECTORS));
        let Some(one) = self.lateness(1, 0.0)? else {
            return Ok(None);
        };
        // Covers a quarter of a revolution below the lateness of one sector, and three above it.
        let later = one.mean + self.pairs.clock.period() / 4.0;
        let Some(more) = self.lateness(several, later)? else {
            return Ok(None);
        };
        let slower = per_sector(&one, &more, several);
        let ns = |span: Span| span.as_ns() as f64;
        if ns(slower.value) < MIN_PER_SECTOR_NS.max(ns(slower.uncertainty)) {
            return Ok(None);
        }
        let later = one.mean + ns(slower.value) * f64::from(many - 1);
        let slower = match self.lateness(many, later)? {
            Some(more) => per_sector(&one, &more, many),
            None => slower,
        };
        let media = self.pairs.clock.period() / track as f64;
        Ok(Some(Estimate {
            value: slower.value + span(media),
            ..slower
        }))
    }

    /// Measures how long after their last sector reads end, within half a revolution of `about`.
    fn lateness(&mut self, sectors: u16, about: f64) -> Result<Option<Services>, Error> {
        self.repeat(|measurement| {
            let first = measurement.fresh_track().first();
            measurement.sleep_randomly(Span::ZERO);
            let read = measurement.pairs.send(Access::Read, first, sectors)?;
            let pairs = &measurement.pairs;
            let last = first + SectorCount(u64::from(sectors - 1));
            let last = pairs.layout.extent(last);
            let ended = read.ended.as_ns() as f64;
            Ok(span(about + pairs.clock.lateness(ended - about, &last)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_agree_if_most_are_near_the_median() {
        let us = |us: f64| Span::from_us(us);
        let agreeing = [500.0, 502.0, 498.0, 500.0, 7_000.0].map(us);
        let found = Services::near_median(&agreeing, MAX_DEVIATION_NS).unwrap();
        assert_eq!((found.mean, found.samples), (500_000.0, 4));
        // Deviations 0, 2, -2, 0 scatter by sqrt(8/3); the uncertainty is twice that / sqrt(4).
        assert!((found.uncertainty - 1e3 * (8.0f64 / 3.0).sqrt()).abs() < 1e-6);
        let spread = [500.0, 2_500.0, 4_500.0, 6_500.0, 8_500.0].map(us);
        assert!(Services::near_median(&spread, MAX_DEVIATION_NS).is_none());
    }
}
