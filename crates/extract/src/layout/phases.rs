//! Angles of blocks, derived from the completion times of reads.
//!
//! A read of one block from the media completes a constant time after the block has passed. The
//! completion time in revolutions is therefore the angle at which the block ends, plus a constant.

use diskarm_core::units::{Instant, Lbn};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::rotation::{Rereads, Rotation};
use crate::{Disk, Error};

/// Required accuracy of the period in nanoseconds. If completions scatter, clock readings are
/// compared over minutes, so the required accuracy is higher.
const PERIOD_UNCERTAINTY_NS: f64 = 10.0;
const PERIOD_UNCERTAINTY_NS_IF_SCATTERED: f64 = 1.0;
/// Standard deviation above which completions count as scattered, in nanoseconds.
const SCATTERS_NS: f64 = 1_000.0;

pub(super) struct Phases<'d, 't> {
    /// After using the disk for other measurements, call [`Self::mark`].
    pub disk: &'d mut Disk<'t>,
    clock: Clock,
    /// Standard deviation of the angle of one read, in revolutions.
    pub noise: f64,
    reads: u64,
}

/// Natural log odds needed to accept that a block is at its expected angle rather than a sector
/// off, and to reject that. Rejection needs higher odds, because few blocks are at another angle.
const LOG_ODDS: (f64, f64) = (10.5, 12.0);

/// Maximum number of reads per check with which every check of a layout distinguishes sectors.
const READS_PER_CHECK_MAX: f64 = 60.0;

struct Clock {
    origin: Instant,
    period_ns: f64,
    /// Revolutions and nanoseconds from the origin to each read of the reference block.
    marks: Vec<(f64, f64)>,
    /// Standard deviation of a mark; infinite until it is known.
    noise_ns: f64,
    /// Maximum number of marks in the fit.
    max: usize,
    /// Linear fit through the marks: the time of revolution 0, and the duration of one revolution.
    fit: (f64, f64),
}

impl Clock {
    /// Number of marks in the fit. It is limited because a spindle's speed drifts over minutes.
    const MARKS: usize = 64;

    fn new(period_ns: f64) -> Self {
        Self {
            origin: Instant::START,
            period_ns,
            marks: Vec::new(),
            noise_ns: f64::INFINITY,
            max: Self::MARKS,
            fit: (0.0, period_ns),
        }
    }

    fn revolutions(&self, at: Instant) -> f64 {
        let ns = at.after(self.origin).as_ns() as f64;
        (ns - self.fit.0) / self.fit.1
    }

    /// Records the completion of a read of the reference block.
    fn mark(&mut self, at: Instant) {
        let turn = self.revolutions(at).round();
        let ns = at.after(self.origin).as_ns() as f64;
        if self.marks.len() == self.max {
            self.marks.remove(0);
        }
        self.marks.push((turn, ns));
        let n = self.marks.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| self.marks.iter().map(of).sum::<f64>() / n;
        let (turns, times) = (mean(|mark| mark.0), mean(|mark| mark.1));
        let square: f64 = self.marks.iter().map(|mark| (mark.0 - turns).powi(2)).sum();
        let product = self.marks.iter().map(|mark| {
            let late = mark.1 - times - self.period_ns * (mark.0 - turns);
            (mark.0 - turns) * late
        });
        // The initial period is weighted by its accuracy relative to that of the marks.
        let is_noisy = self.noise_ns.is_finite() && self.noise_ns > SCATTERS_NS;
        let uncertainty = if is_noisy {
            PERIOD_UNCERTAINTY_NS_IF_SCATTERED
        } else {
            PERIOD_UNCERTAINTY_NS
        };
        let given = (self.noise_ns.max(1.0) / uncertainty).powi(2);
        let period = self.period_ns + product.sum::<f64>() / (square + given);
        self.fit = (times - turns * period, period);
    }

    /// Returns the standard deviation of the marks around the fit, in revolutions.
    fn scatter(&self) -> f64 {
        let off = |(turn, ns): &(f64, f64)| (ns - self.fit.0) / self.fit.1 - turn;
        let square: f64 = self.marks.iter().map(|mark| off(mark).powi(2)).sum();
        // The fit uses two degrees of freedom.
        (square / (self.marks.len() as f64 - 2.0)).sqrt()
    }
}

impl<'d, 't> Phases<'d, 't> {
    /// Interval between reads of the reference block, in seconds.
    const MARK_EVERY_S: f64 = 2.0;
    /// Number of reads of the reference block at each interval if completions scatter.
    const MARKS_EACH: u32 = 8;
    /// Maximum number of reads, which is more than any layout needs.
    const READS_ALL: u64 = 500_000;
    /// Maximum number of reads of one block.
    const READS_MAX: u32 = 4_000;
    /// The block whose angle is the origin of all angles.
    const REFERENCE: Lbn = Lbn(0);

    /// Warms up the drive, and measures the noise of angles.
    pub fn new(disk: &'d mut Disk<'t>, period_ns: f64, seed: u64) -> Result<Self, Error> {
        let mut generator = Pcg64Mcg::seed_from_u64(seed);
        for _ in 0..20 {
            let at = Lbn(generator.next_u64() % disk.sectors().0);
            disk.read_media(at, 1)?;
        }
        let mut phases = Self {
            disk,
            clock: Clock::new(period_ns),
            noise: 0.0,
            reads: 0,
        };
        let first = phases.disk.read_media(Self::REFERENCE, 1)?.ended;
        phases.clock.origin = first;
        phases.clock.mark(first);
        phases.noise = phases.measure_noise()?;
        phases.clock.noise_ns = phases.noise * period_ns;
        phases.clock.max = Clock::MARKS;
        if phases.is_noisy() {
            phases.clock.max *= Self::MARKS_EACH as usize;
        }
        Ok(phases)
    }

    fn is_noisy(&self) -> bool {
        self.noise * self.clock.period_ns > SCATTERS_NS
    }

    pub fn capacity(&self) -> u64 {
        self.disk.sectors().0
    }

    pub fn rotation(&self) -> Rotation {
        Rotation {
            period_ns: self.clock.period_ns,
            uncertainty_ns: PERIOD_UNCERTAINTY_NS,
            scatter_ns: self.noise * self.clock.period_ns,
            samples: self.clock.marks.len() as u64,
            rereads: Rereads::FromMedia,
        }
    }

    /// Resynchronizes the clock by reading the reference block.
    pub fn mark(&mut self) -> Result<(), Error> {
        let reads = if self.is_noisy() { Self::MARKS_EACH } else { 1 };
        self.mark_by(reads)
    }

    fn mark_by(&mut self, reads: u32) -> Result<(), Error> {
        for _ in 0..reads {
            let end = self.disk.read_media(Self::REFERENCE, 1)?.ended;
            self.clock.mark(end);
        }
        Ok(())
    }

    fn measure_noise(&mut self) -> Result<f64, Error> {
        for reads in [40, 200] {
            self.clock.max = reads as usize;
            self.mark_by(reads)?;
            if self.clock.scatter() * self.clock.period_ns < SCATTERS_NS {
                break;
            }
        }
        Ok(self.clock.scatter())
    }

    /// Returns three standard deviations of the mean angle of this many reads, in revolutions.
    pub fn uncertainty(&self, reads: u32) -> f64 {
        3.0 * self.noise / f64::from(reads).sqrt()
    }

    pub fn noise_ms(&self) -> f64 {
        self.noise * self.clock.period_ns / 1e6
    }

    /// Reads a block. Returns the angle at which it ends, in revolutions from the reference block.
    pub fn read_angle(&mut self, at: u64) -> Result<f64, Error> {
        self.reads += 1;
        if self.reads > Self::READS_ALL {
            return Err(Error::Undecided(format!(
                "the layout is not clear after {} reads: read completion times scatter by {:.3} ms",
                Self::READS_ALL,
                self.noise_ms()
            )));
        }
        let end = self.disk.read_media(Lbn(at), 1)?.ended;
        let last = self.clock.marks.last().map_or(0.0, |mark| mark.1);
        let since = end.after(self.clock.origin).as_ns() as f64 - last;
        let angle = self.clock.revolutions(end).rem_euclid(1.0);
        if since > Self::MARK_EVERY_S * 1e9 {
            self.mark()?;
        }
        Ok(angle)
    }

    /// Returns the angle at which a block ends; `tolerance` is three standard deviations.
    pub fn angle(&mut self, at: u64, tolerance: f64) -> Result<f64, Error> {
        let reads = (3.0 * self.noise / tolerance).powi(2).ceil();
        self.mean(at, (reads as u32).clamp(1, Self::READS_MAX))
    }

    /// Returns the angle at which a block ends, as the mean of this many reads.
    pub fn mean(&mut self, at: u64, reads: u32) -> Result<f64, Error> {
        let mean = self.mean_of(reads, |phases| phases.read_angle(at))?;
        Ok(mean.rem_euclid(1.0))
    }

    /// Returns the mean of repeatedly measured angles, each taken relative to the first.
    fn mean_of(
        &mut self,
        reads: u32,
        mut read: impl FnMut(&mut Self) -> Result<f64, Error>,
    ) -> Result<f64, Error> {
        let first = read(self)?;
        let mut sum = 0.0;
        for _ in 1..reads {
            sum += angle_to(first, read(self)?);
        }
        Ok(first + sum / f64::from(reads))
    }

    /// Returns true if a block ends at this angle, to within `share` of a sector.
    pub fn is_at(&mut self, at: u64, angle: f64, share: f64, sectors: u64) -> Result<bool, Error> {
        let sector = 1.0 / sectors as f64;
        let tolerance = share * sector;
        if !self.resolves(tolerance) {
            return self.is_likelier_at(at, angle, sector);
        }
        // Angles are relative to the first, so that an offset of half a revolution keeps its sign.
        let first = self.read_angle(at)?;
        let off = angle_to(angle, first);
        let mut sum = off;
        for n in 1..=Self::READS_MAX {
            let (mean, bound) = (sum / f64::from(n), self.uncertainty(n));
            // A single late read may have waited for something other than the platter.
            if mean.abs() + bound < tolerance {
                return Ok(true);
            }
            if mean.abs() - bound > tolerance && n > 1 {
                return Ok(false);
            }
            sum += off + angle_to(first, self.read_angle(at)?);
        }
        Ok((sum / f64::from(Self::READS_MAX)).abs() < tolerance)
    }

    /// Returns true if one read is accurate to `tolerance` revolutions. The tolerance must be
    /// twelve standard deviations, because thousands of reads must be right and skews add up.
    pub fn resolves(&self, tolerance: f64) -> bool {
        4.0 * self.uncertainty(1) < tolerance
    }

    /// Returns the typical number of reads that distinguish a sector from the next one.
    pub fn reads_per_check(&self, sectors: u64) -> f64 {
        2.0 * LOG_ODDS.1 * (self.noise * sectors as f64).powi(2)
    }

    /// Returns true if every check of a layout can distinguish sectors.
    pub fn resolves_sectors(&self, sectors: u64) -> bool {
        self.reads_per_check(sectors) <= READS_PER_CHECK_MAX
    }

    /// Returns the angle between two blocks, from -1/2 to 1/2 revolutions, using alternating reads.
    pub fn between(&mut self, from: u64, to: u64, reads: u32) -> Result<f64, Error> {
        let mean = self.mean_of(reads, |phases| {
            Ok(angle_to(phases.read_angle(from)?, phases.read_angle(to)?))
        })?;
        Ok(angle_to(0.0, mean))
    }

    /// Returns true if a block ends at this angle rather than at least `away` revolutions from it.
    pub fn is_likelier_at(&mut self, at: u64, angle: f64, away: f64) -> Result<bool, Error> {
        let off = |phases: &mut Self| Ok(angle_to(angle, phases.read_angle(at)?));
        self.is_likelier_zero(off, self.noise.powi(2), away)
    }

    /// Like [`Self::is_likelier_at`] for the angle between two blocks. Clock errors cancel.
    pub fn is_likelier_between(
        &mut self,
        from: u64,
        to: u64,
        angle: f64,
        away: f64,
    ) -> Result<bool, Error> {
        let off = |phases: &mut Self| {
            let from = phases.read_angle(from)?;
            Ok(angle_to(from + angle, phases.read_angle(to)?))
        };
        self.is_likelier_zero(off, 2.0 * self.noise.powi(2), away)
    }

    /// Decides by Wald's sequential test whether an angle is 0 rather than `away` or more.
    fn is_likelier_zero(
        &mut self,
        mut read_angle: impl FnMut(&mut Self) -> Result<f64, Error>,
        variance: f64,
        away: f64,
    ) -> Result<bool, Error> {
        let usual = 2.0 * LOG_ODDS.1 * variance / away.powi(2);
        let max = (3.0 * usual).clamp(20.0, f64::from(Self::READS_MAX));
        let first = read_angle(self)?;
        let mut sum = first;
        let mut n = 1.0;
        loop {
            let middle = n * away / 2.0;
            let odds = away * (middle - sum.abs()) / variance;
            // A single late read may have waited for something other than the platter.
            if odds > LOG_ODDS.0 || odds < -LOG_ODDS.1 && n > 1.0 || n >= max {
                return Ok(odds > 0.0);
            }
            sum += first + angle_to(first, read_angle(self)?);
            n += 1.0;
        }
    }
}

/// Returns the difference between two angles, from -1/2 to 1/2 revolutions.
pub(super) fn angle_to(from: f64, to: f64) -> f64 {
    let off = to - from;
    off - off.round()
}

/// Number of reads that determine whether a block is on the track.
const ROUGH_READS: u32 = 36;
/// Maximum number of tracks to try, because a track may have slipped sectors or end soon.
const TRACKS: u32 = 6;
/// Target standard deviation of the number of sectors.
const SECTORS_DEVIATION: f64 = 0.11;

pub(super) enum SectorsPerTrack {
    Exactly(u64),
    /// About `1 / step`: `step` is a sector's angle in revolutions, measured over `over` sectors.
    About {
        step: f64,
        over: u64,
    },
}

impl Phases<'_, '_> {
    /// Measures the sectors per track, using many reads, on the track of block `first` or later.
    ///
    /// The angle of a sector is the angle between two blocks divided by their distance. The result
    /// is more accurate over longer distances, so distances grow until blocks are out of line.
    pub fn sectors_per_track(&mut self, first: u64) -> Result<SectorsPerTrack, Error> {
        let mut from = first;
        for _ in 0..TRACKS {
            if from >= self.capacity() {
                break;
            }
            let aligned = AlignedBlocks::follow(self, from)?;
            if let Some(sectors) = aligned.sectors(self)? {
                return Ok(sectors);
            }
            from += aligned.next_attempt;
        }
        Err(Error::Undecided(format!(
            "read completion times scatter by {:.3} ms, so the number of sectors per track is not \
             clear from block {first} on",
            self.noise_ms()
        )))
    }
}

/// Blocks that appear to follow one another on one track.
struct AlignedBlocks {
    from: u64,
    /// Distance to the last block that appears to be in line.
    length: u64,
    /// Angle from block to block, in revolutions.
    step: f64,
    /// Distance from `from` to the block where the next attempt starts.
    next_attempt: u64,
}

impl AlignedBlocks {
    fn follow(phases: &mut Phases<'_, '_>, from: u64) -> Result<Self, Error> {
        let start = phases.mean(from, ROUGH_READS)?;
        let room = phases.capacity() - 1 - from;
        let mut aligned = Self {
            from,
            length: 0,
            step: 0.0,
            next_attempt: 4,
        };
        // Skews are assumed to exceed the error of an extrapolated angle.
        let max_deviation = 5.0 * phases.uncertainty(ROUGH_READS);
        for length in (2..40).flat_map(|power| [1u64 << power, 3u64 << (power - 1)]) {
            aligned.next_attempt = length;
            if length > room || aligned.step * length as f64 > 0.98 {
                break;
            }
            let end = phases.mean(from + length, ROUGH_READS)?;
            let expected = aligned.step * length as f64;
            let off = angle_to(start + expected, end);
            if aligned.length > 0 && off.abs() > max_deviation {
                break;
            }
            let turned = if aligned.length == 0 {
                (end - start).rem_euclid(1.0)
            } else {
                expected + off
            };
            aligned.length = length;
            aligned.step = turned / length as f64;
        }
        Ok(aligned)
    }

    /// Returns the number of sectors, or `None` if the track ends soon or has slipped sectors.
    fn sectors(&self, phases: &mut Phases<'_, '_>) -> Result<Option<SectorsPerTrack>, Error> {
        let length = self.length as f64;
        if self.step * length < 0.3 {
            return Ok(None);
        }
        let about = (1.0 / self.step).round() as u64;
        if !phases.resolves_sectors(about) {
            return Ok(Some(SectorsPerTrack::About {
                step: self.step,
                over: self.length,
            }));
        }
        let square = self.step.powi(2);
        let deviation = phases.noise * std::f64::consts::SQRT_2 / (square * length);
        let reads = (deviation / SECTORS_DEVIATION).powi(2).max(4.0);
        let middle = self.length / 2;
        let mut angles = [0.0; 3];
        for (angle, at) in angles.iter_mut().zip([0, middle, self.length]) {
            *angle = phases.mean(self.from + at, reads.ceil() as u32)?;
        }
        let expected = self.step * length;
        let turned = expected + angle_to(angles[0] + expected, angles[2]);
        let step = turned / length;
        let bend = angle_to(angles[0] + step * middle as f64, angles[1]);
        let sectors = SectorsPerTrack::Exactly((1.0 / step).round() as u64);
        Ok((bend.abs() < 0.3 * step).then_some(sectors))
    }
}
