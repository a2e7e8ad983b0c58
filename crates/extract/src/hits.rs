//! Requests that the buffer serves, and the rate of the path to the host (worthington96 sections
//! 5.6 and 5.8).
//!
//! # Hypothesis
//! A read of blocks that the buffer holds takes an overhead, which depends on the command before,
//! and a time for each sector. So does a write that the write cache takes in, and the overhead may
//! be longer if the arm is elsewhere.
//!
//! # Test vector
//! Read hits: a read of the first block of a cylinder from the media, a rest during which the drive
//! reads ahead, and a read of the blocks that follow; of one sector, and of as many as read-ahead
//! brings, up to 33. On a drive without read-ahead, reads of what has just been read. Behind a
//! write: the same with a write elsewhere in between, and where that empties the buffer, a read of
//! the block that was written.
//!
//! Where the buffer serves no read: reads from the media ([`slow_bus`]).
//!
//! When a write that the cache took in can reach the media: [`landing`].
//!
//! Write hits: writes of one and of 17 sectors after a read, and after a write that has had time
//! to reach the media; on the arm's cylinder, on another one, and in another zone. No place is used
//! twice in a row, so that nothing is found in the buffer by chance.
//!
//! # Decision
//! Services that agree within a few hundredths of a millisecond are from the buffer, as the media
//! make them differ by up to a revolution. The rate is the difference of two sizes' mean services
//! over the difference of their sectors.
//!
//! # Confidence
//! 95 % interval of the mean of those that agree.
//!
//! # Cost
//! Some 150 commands and 10 s for reads, 300 commands for writes.

mod landing;
mod slow_bus;

use diskarm_core::units::{Lbn, SectorCount, Span};
use serde::{Deserialize, Serialize};

use crate::pairs::{Access, Pairs};
use crate::threshold::span;
use crate::track::Track;
use crate::{CommandTimes, Disk, Effort, Error, Estimate, Setup, idle};

/// Services of reads from the buffer; nothing of what the buffer did not do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadHits {
    /// Time of a sector to the host.
    pub sector: Option<Estimate>,
    /// Service of one sector after a read.
    pub after_read: Option<Estimate>,
    /// Time of a sector to the host by reads from the media, if reads from the buffer did not show
    /// it and it is more than that of a sector on the media.
    #[serde(default)]
    pub slow_bus: Option<Estimate>,
}

/// Services of requests from and to the buffer that need writes to be measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteHits {
    /// Service of a read of one sector after a write.
    pub read_after_write: Option<Estimate>,
    /// Time of a sector from the host.
    pub sector: Option<Estimate>,
    /// Service of a write of one sector that the write cache takes in, after a read.
    pub after_read: Option<Estimate>,
    /// The same after a write.
    pub after_write: Option<Estimate>,
    /// The lead of a write of one sector that the write cache takes in, on the track of a read
    /// before; `None` if the arm waits for all data, or nothing tells when it is on the media.
    #[serde(default)]
    pub lands: Option<Estimate>,
    /// What it takes longer if the arm is on another cylinder.
    pub elsewhere: Span,
    /// What it takes longer than that if the arm is in another zone.
    pub other_zone: Span,
}

/// Time for read-ahead, and for a write cache to be emptied.
const LONG: Span = Span::from_ns(250_000_000);
/// Sizes of the larger request: read-ahead may be short.
const LARGE: [u16; 4] = [33, 17, 9, 5];
/// Services agree that are this near their median, in nanoseconds, beyond the scatter of ends.
const NEAR: f64 = 1e4;
/// Where ends scatter, so does what a command takes to the drive: services also agree within this
/// share of a revolution.
const APART: f64 = 32.0;

/// Measures read hits. Reads only.
///
/// # Errors
/// A command failed.
pub fn measure(
    disk: &mut Disk<'_>,
    setup: &Setup<'_>,
    effort: Effort,
    seed: u64,
) -> Result<ReadHits, Error> {
    let mut bench = Bench::new(disk, setup, effort, seed)?;
    let ahead = bench.read_hits(|bench, sectors| bench.read_ahead_hit(sectors, false))?;
    let mut found = match ahead.after_read {
        Some(_) => ahead,
        None => bench.read_hits(Bench::reread_hit)?,
    };
    if found.sector.is_none() {
        found.slow_bus = bench.slow_bus()?;
    }
    Ok(found)
}

/// Measures read hits after writes and write hits. Data are lost at random places.
///
/// # Errors
/// A command failed.
pub fn measure_writes(
    disk: &mut Disk<'_>,
    setup: &Setup<'_>,
    effort: Effort,
    seed: u64,
) -> Result<WriteHits, Error> {
    let mut bench = Bench::new(disk, setup, effort, seed)?;
    let mut found = WriteHits::default();
    let mut read = bench.services(|bench| bench.read_ahead_hit(1, true))?;
    if read.is_none() {
        read = bench.services(Bench::written_hit)?;
    }
    found.read_after_write = read.as_ref().map(Services::estimate);
    let far = [Far::Here, Far::Cylinder, Far::Zone];
    let [here, cylinder, zone] =
        far.map(|far| bench.services(|bench| bench.write_hit((Access::Read, 1), far)));
    let (Some(here), Some(cylinder), Some(zone)) = (here?, cylinder?, zone?) else {
        return Ok(found);
    };
    found.after_read = Some(here.estimate());
    // Less than the resolution is nothing.
    let longer = |from: &Services, to: &Services| match to.mean - from.mean {
        little if little < 5e3 => Span::ZERO,
        longer => span(longer),
    };
    found.elsewhere = longer(&here, &cylinder);
    found.other_zone = longer(&cylinder, &zone);
    let behind_write = bench.services(|bench| bench.write_hit((Access::Write, 1), Far::Here))?;
    found.after_write = behind_write.as_ref().map(Services::estimate);
    let sectors = 17;
    if let Some(more) =
        bench.services(|bench| bench.write_hit((Access::Read, sectors), Far::Here))?
    {
        let sector = per_sector(&here, &more, sectors);
        found.sector = Some(sector);
        found.lands = bench.landing(effort, (sectors, sector.value))?;
    }
    Ok(found)
}

/// The time of a sector, from the services of one and of more.
fn per_sector(one: &Services, more: &Services, sectors: u16) -> Estimate {
    let steps = f64::from(sectors - 1);
    Estimate {
        value: span((more.mean - one.mean) / steps),
        uncertainty: span(one.uncertainty.hypot(more.uncertainty) / steps),
        samples: one.samples + more.samples,
    }
}

/// Services that agree, in nanoseconds.
struct Services {
    mean: f64,
    uncertainty: f64,
    samples: u64,
}

impl Services {
    /// The mean of those near the median, if most are.
    fn of(services: &[Span], near: f64) -> Option<Self> {
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

/// The largest number of services that lie in an interval of this length, in nanoseconds.
fn largest_cluster(services: &[Span], length: f64) -> usize {
    let within = |from: &Span| {
        let is_within = |at: &&Span| (0.0..=length).contains(&((**at - *from).as_ns() as f64));
        services.iter().filter(is_within).count()
    };
    services.iter().map(within).max().unwrap_or(0)
}

/// Where a write is, seen from the arm.
#[derive(Clone, Copy)]
enum Far {
    Here,
    /// On another cylinder of its zone.
    Cylinder,
    Zone,
}

struct Bench<'a, 'd> {
    pairs: Pairs<'a, 'd>,
    places: [Track; 3],
    /// How near services are that agree.
    near: f64,
    repeats: u32,
}

impl<'a, 'd> Bench<'a, 'd> {
    fn new(
        disk: &'a mut Disk<'d>,
        setup: &Setup<'a>,
        effort: Effort,
        seed: u64,
    ) -> Result<Self, Error> {
        let pairs = setup.pairs(disk, seed)?;
        let scatter = setup.rotation.scatter_ns;
        // What the media serve is spread over a revolution.
        let late = match pairs.scatters {
            true => setup.rotation.period_ns / APART,
            false => 0.0,
        };
        let near = (NEAR + 3.0 * scatter).max(late);
        let calm = match effort {
            Effort::Quick => 5,
            Effort::Normal => 9,
            Effort::Thorough => 25,
        };
        Ok(Self {
            places: idle::zones(setup.layout),
            near,
            repeats: if pairs.scatters { 6 * calm } else { calm },
            pairs,
        })
    }

    /// The services of a command, repeated, if they agree.
    fn services(
        &mut self,
        mut once: impl FnMut(&mut Self) -> Result<CommandTimes, Error>,
    ) -> Result<Option<Services>, Error> {
        self.agreeing(|bench| Ok(once(bench)?.service()))
    }

    /// Times, repeated, if they agree.
    fn agreeing(
        &mut self,
        mut once: impl FnMut(&mut Self) -> Result<Span, Error>,
    ) -> Result<Option<Services>, Error> {
        let mut services = Vec::new();
        for left in (0..self.repeats as usize).rev() {
            services.push(once(self)?);
            let alike = largest_cluster(&services, 2.0 * self.near);
            if self.pairs.scatters && 10 * (alike + left) < 7 * self.repeats as usize {
                return Ok(None);
            }
        }
        Ok(Services::of(&services, self.near))
    }

    /// Reads that the buffer serves, of one sector and of more.
    fn read_hits(
        &mut self,
        mut once: impl FnMut(&mut Self, u16) -> Result<CommandTimes, Error>,
    ) -> Result<ReadHits, Error> {
        let mut found = ReadHits::default();
        let Some(one) = self.services(|bench| once(bench, 1))? else {
            return Ok(found);
        };
        found.after_read = Some(one.estimate());
        for sectors in LARGE {
            if let Some(more) = self.services(|bench| once(bench, sectors))? {
                found.sector = Some(per_sector(&one, &more, sectors));
                break;
            }
        }
        Ok(found)
    }

    /// A cylinder's first track, another one each time, with room for the largest request.
    fn fresh(&mut self) -> Track {
        let layout = self.pairs.layout;
        let max = SectorCount(1 + u64::from(LARGE[0]));
        let mut track = self.pairs.equivalent.next(layout, &self.places[0]);
        if track.first() + max > Lbn(layout.sectors().0) {
            // The disk's last cylinder, or one of its last few if cylinders are that small.
            track = self.places[0].clone();
        }
        track
    }

    /// A read of `sectors` blocks that read-ahead has brought, after a read or after a write
    /// elsewhere.
    fn read_ahead_hit(&mut self, sectors: u16, behind_write: bool) -> Result<CommandTimes, Error> {
        let first = self.fresh().first();
        self.pairs.send(Access::Read, first, 1)?;
        self.rest(LONG);
        if behind_write {
            let middle = self.places[1].first().0;
            let room = (self.pairs.layout.sectors().0 - middle).min(10_000);
            let elsewhere = Lbn(middle + self.pairs.below(room));
            self.pairs.send(Access::Write, elsewhere, 1)?;
        }
        self.read(first + SectorCount(1), sectors)
    }

    /// A read of `sectors` blocks that have just been read.
    fn reread_hit(&mut self, sectors: u16) -> Result<CommandTimes, Error> {
        let first = self.fresh().first();
        self.read(first, sectors)?;
        self.rest(Span::ZERO);
        self.read(first, sectors)
    }

    /// A read of a block that has just been written.
    fn written_hit(&mut self) -> Result<CommandTimes, Error> {
        let at = self.fresh().first();
        self.pairs.send(Access::Write, at, 1)?;
        self.rest(Span::ZERO);
        self.read(at, 1)
    }

    /// Rests for `least` and up to a revolution more, so that what the media serve does not take as
    /// long each time.
    fn rest(&mut self, min: Span) {
        let random = self.pairs.uniform() * self.pairs.clock.period();
        self.pairs.rest(min + span(random));
    }

    fn read(&mut self, at: Lbn, sectors: u16) -> Result<CommandTimes, Error> {
        let timed = self.pairs.disk.read(at, sectors)?;
        self.pairs.record(Access::Read, at, sectors, &timed);
        Ok(timed)
    }

    /// A write of `sectors` that may be taken in by the write cache, after a read from the media
    /// or a write that is there.
    fn write_hit(
        &mut self,
        (before, sectors): (Access, u16),
        far: Far,
    ) -> Result<CommandTimes, Error> {
        let from = self.fresh();
        let at = match far {
            Far::Here => from.clone(),
            Far::Cylinder => self.fresh(),
            Far::Zone => self.places[2].clone(),
        };
        // Not the blocks that follow those of the command before, and on the media at any angle.
        let min = 5.min(at.sectors() - 1);
        let room = (at.sectors() / 2).min(at.sectors() - min);
        let at = at.first() + SectorCount(min + self.pairs.below(room));
        self.pairs.rest(LONG);
        match before {
            Access::Read => drop(self.pairs.send(before, from.first(), 1)?),
            Access::Write => {
                self.write(from.first(), 1)?;
                self.pairs.rest(LONG);
            }
        }
        self.write(at, sectors)
    }

    fn write(&mut self, at: Lbn, sectors: u16) -> Result<CommandTimes, Error> {
        let timed = self.pairs.disk.write(at, sectors)?;
        self.pairs.record(Access::Write, at, sectors, &timed);
        Ok(timed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_agree_if_most_are_near_the_median() {
        let us = |us: f64| Span::from_us(us);
        let agreeing = [500.0, 502.0, 498.0, 500.0, 7_000.0].map(us);
        let found = Services::of(&agreeing, NEAR).unwrap();
        assert_eq!((found.mean, found.samples), (500_000.0, 4));
        // Deviation of 0, 2, -2, 0: the root of 8/3; twice that over the root of four samples.
        assert!((found.uncertainty - 1e3 * (8.0f64 / 3.0).sqrt()).abs() < 1e-6);
        let spread = [500.0, 2_500.0, 4_500.0, 6_500.0, 8_500.0].map(us);
        assert!(Services::of(&spread, NEAR).is_none());
    }
}
