//! Angles of blocks, from the instants at which reads of them end.
//!
//! A read of one block from the media ends a constant time after the block has passed the head,
//! whatever came before. So the end of the read, in revolutions, is the angle at which the block
//! ends, plus a constant.

use diskarm_core::units::{Bytes, Instant, Lbn};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::rotation::{Rereads, Rotation};
use crate::{Disk, Error};

/// How exactly the period must be known, in nanoseconds: where ends scatter, marks must be compared
/// over minutes.
const PERIOD_UNCERTAINTY_NS: f64 = 10.0;
const PERIOD_UNCERTAINTY_NS_IF_SCATTERED: f64 = 1.0;
/// Ends that scatter by more do scatter, in nanoseconds.
const SCATTERS_NS: f64 = 1_000.0;

/// Reads blocks, and tells the angles at which they end.
pub(super) struct Phases<'d, 't> {
    disk: &'d mut Disk<'t>,
    clock: Clock,
    /// Standard deviation of an angle, in revolutions.
    noise: f64,
    reads: u64,
}

/// How much likelier it must be that a block is where it is looked for than a sector from there, or
/// the reverse, as a natural logarithm. Few blocks are elsewhere, and these are looked at again.
const SURE: (f64, f64) = (10.5, 12.0);

/// Reads of a look that are reasonable.
const READS_OF_A_LOOK_MAX: f64 = 60.0;

/// The same for the few decisions that matter most.
const READS_OF_SOME_LOOKS_MAX: f64 = 2_000.0;

/// The platter's clock: when it has turned how often.
struct Clock {
    origin: Instant,
    period_ns: f64,
    /// Revolutions at which the reference block was read, and when, in ns from the origin.
    marks: Vec<(f64, f64)>,
    /// Standard deviation of a mark; infinite until it is known.
    noise_ns: f64,
    /// How many marks the fit rests on.
    max: usize,
    /// Linear fit through the marks: time of revolution 0, and of one revolution.
    fit: (f64, f64),
}

impl Clock {
    /// Marks that the fit rests on: a spindle's speed wanders over minutes.
    const MARKS: usize = 64;

    fn new(origin: Instant, period_ns: f64) -> Self {
        Self {
            origin,
            period_ns,
            marks: Vec::new(),
            noise_ns: f64::INFINITY,
            max: Self::MARKS,
            fit: (0.0, period_ns),
        }
    }

    /// Revolutions from the origin.
    fn revolutions(&self, at: Instant) -> f64 {
        let ns = at.after(self.origin).as_ns() as f64;
        (ns - self.fit.0) / self.fit.1
    }

    /// The reference block has passed at these instants.
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
        // The given period counts as much as it is certain, against marks that scatter.
        let given = (self.noise_ns.max(1.0) / self.period_uncertainty_ns()).powi(2);
        let period = self.period_ns + product.sum::<f64>() / (square + given);
        self.fit = (times - turns * period, period);
    }
}

impl Clock {
    fn period_uncertainty_ns(&self) -> f64 {
        let scatters = self.noise_ns.is_finite() && self.noise_ns > SCATTERS_NS;
        if scatters {
            PERIOD_UNCERTAINTY_NS_IF_SCATTERED
        } else {
            PERIOD_UNCERTAINTY_NS
        }
    }

    /// Standard deviation of the marks around the fit, in revolutions.
    fn scatter(&self) -> f64 {
        let off = |(turn, ns): &(f64, f64)| (ns - self.fit.0) / self.fit.1 - turn;
        let square: f64 = self.marks.iter().map(|mark| off(mark).powi(2)).sum();
        // The fit takes two degrees of freedom.
        (square / (self.marks.len() as f64 - 2.0)).sqrt()
    }
}

impl<'d, 't> Phases<'d, 't> {
    /// How often the reference block is read again, in seconds.
    const MARK_EVERY_S: f64 = 2.0;
    /// How many reads of it these are, if their ends scatter.
    const MARKS_EACH: u32 = 8;
    /// More reads than a layout needs.
    const READS_ALL: u64 = 500_000;
    /// More reads of one block than any noise needs.
    const READS_MAX: u32 = 4_000;
    /// The block whose angle is the origin of all angles.
    const REFERENCE: Lbn = Lbn(0);

    /// Warms the drive up, and measures the noise of its angles.
    pub fn new(disk: &'d mut Disk<'t>, period_ns: f64, seed: u64) -> Result<Self, Error> {
        let mut generator = Pcg64Mcg::seed_from_u64(seed);
        let mut ended = Instant::START;
        for _ in 0..20 {
            let at = Lbn(generator.next_u64() % disk.sectors().0);
            ended = disk.read_media(at, 1)?.ended;
        }
        let mut phases = Self {
            disk,
            clock: Clock::new(ended, period_ns),
            noise: 0.0,
            reads: 0,
        };
        let first = phases.disk.read_media(Self::REFERENCE, 1)?;
        phases.clock.origin = first.ended;
        phases.clock.mark(first.ended);
        phases.noise = phases.spread()?;
        phases.clock.noise_ns = phases.noise * period_ns;
        phases.clock.max = Clock::MARKS;
        if phases.scatters() {
            phases.clock.max *= Self::MARKS_EACH as usize;
        }
        Ok(phases)
    }

    /// Whether the ends of reads scatter.
    fn scatters(&self) -> bool {
        self.noise * self.clock.period_ns > SCATTERS_NS
    }

    /// Blocks of the drive.
    pub fn capacity(&self) -> u64 {
        self.disk.sectors().0
    }

    /// Size of a block.
    pub fn sector_size(&self) -> Bytes {
        self.disk.sector_size()
    }

    /// The drive, for other measurements: [`Self::mark`] must follow them.
    pub fn disk(&mut self) -> &mut Disk<'t> {
        self.disk
    }

    /// How the drive turns.
    pub fn rotation(&self) -> Rotation {
        Rotation {
            period_ns: self.clock.period_ns,
            uncertainty_ns: PERIOD_UNCERTAINTY_NS,
            scatter_ns: self.noise * self.clock.period_ns,
            samples: self.clock.marks.len() as u64,
            rereads: Rereads::FromMedia,
        }
    }

    /// Finds the present angle by a read of the reference block.
    pub fn mark(&mut self) -> Result<(), Error> {
        let reads = if self.scatters() { Self::MARKS_EACH } else { 1 };
        for _ in 0..reads {
            let end = self.disk.read_media(Self::REFERENCE, 1)?.ended;
            self.clock.mark(end);
        }
        Ok(())
    }

    /// The standard deviation of the angle of one block.
    fn spread(&mut self) -> Result<f64, Error> {
        for reads in [40, 200] {
            self.clock.max = reads;
            for _ in 0..reads {
                let end = self.disk.read_media(Self::REFERENCE, 1)?.ended;
                self.clock.mark(end);
            }
            if self.clock.scatter() * self.clock.period_ns < SCATTERS_NS {
                break;
            }
        }
        Ok(self.clock.scatter())
    }

    /// The least tolerance of an angle that this many reads of one block reach, in revolutions.
    pub fn within(&self, reads: u32) -> f64 {
        3.0 * self.noise / f64::from(reads).sqrt()
    }

    /// The standard deviation of an angle, in milliseconds.
    pub fn noise_ms(&self) -> f64 {
        self.noise * self.clock.period_ns / 1e6
    }

    /// The angle at which a block ends, by one read, in revolutions from the reference's.
    pub fn once(&mut self, at: u64) -> Result<f64, Error> {
        self.reads += 1;
        if self.reads > Self::READS_ALL {
            return Err(Error::Undecided(format!(
                "the layout is not clear after {} reads, whose ends scatter by {:.3} ms",
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

    /// The angle at which a block ends, to within `tolerance` revolutions with three standard
    /// deviations.
    pub fn angle(&mut self, at: u64, tolerance: f64) -> Result<f64, Error> {
        let reads = (3.0 * self.noise / tolerance).powi(2).ceil();
        self.mean(at, (reads as u32).clamp(1, Self::READS_MAX))
    }

    /// The angle at which a block ends, the mean of this many reads.
    pub fn mean(&mut self, at: u64, reads: u32) -> Result<f64, Error> {
        let first = self.once(at)?;
        let mut sum = 0.0;
        for _ in 1..reads {
            sum += apart(first, self.once(at)?);
        }
        Ok((first + sum / f64::from(reads)).rem_euclid(1.0))
    }

    /// Whether a block ends at this angle, to within a share of a sector, of which a revolution has
    /// this many.
    pub fn is_at(
        &mut self,
        at: u64,
        angle: f64,
        (share, sectors): (f64, u64),
    ) -> Result<bool, Error> {
        let sector = 1.0 / sectors as f64;
        if !self.tells(share * sector) {
            return self.is_likelier_at(at, angle, sector);
        }
        let tolerance = share * sector;
        // Later reads count from the first: half a revolution off is not off to either side.
        let first = self.once(at)?;
        let off = apart(angle, first);
        let mut sum = off;
        for n in 1..=Self::READS_MAX {
            let (mean, bound) = (sum / f64::from(n), self.within(n));
            // One read that comes late may have waited for something else than the platter.
            if mean.abs() + bound < tolerance {
                return Ok(true);
            }
            if mean.abs() - bound > tolerance && n > 1 {
                return Ok(false);
            }
            sum += off + apart(first, self.once(at)?);
        }
        Ok((sum / f64::from(Self::READS_MAX)).abs() < tolerance)
    }

    /// Whether one read tells an angle to within this, in revolutions, with twelve standard
    /// deviations: thousands of reads must, and skews are sums of them.
    pub fn tells(&self, tolerance: f64) -> bool {
        4.0 * self.within(1) < tolerance
    }

    /// How many reads it usually takes to tell whether a block is at its place or a sector from it.
    pub fn reads_of_a_look(&self, sectors: u64) -> f64 {
        2.0 * SURE.1 * (self.noise * sectors as f64).powi(2)
    }

    /// Whether few enough reads distinguish a sector from the next for every look of a layout.
    pub fn tells_sectors(&self, sectors: u64) -> bool {
        self.reads_of_a_look(sectors) <= READS_OF_A_LOOK_MAX
    }

    /// Whether few enough reads distinguish a sector from the next for the decisions that matter.
    pub fn tells_some_sectors(&self, sectors: u64) -> bool {
        self.reads_of_a_look(sectors) <= READS_OF_SOME_LOOKS_MAX
    }

    /// The standard deviation of the angle of one read, in revolutions.
    pub fn noise(&self) -> f64 {
        self.noise
    }

    /// From the angle of one block to that of another one, in -1/2 to 1/2 revolutions: the mean of
    /// this many reads of each, in turn, so that what is wrong with the clock is in both.
    pub fn between(&mut self, from: u64, to: u64, reads: u32) -> Result<f64, Error> {
        let first = apart(self.once(from)?, self.once(to)?);
        let mut sum = 0.0;
        for _ in 1..reads {
            sum += apart(first, apart(self.once(from)?, self.once(to)?));
        }
        Ok(apart(0.0, first + sum / f64::from(reads)))
    }

    /// Whether a block ends at this angle rather than `away` revolutions or more from it.
    pub fn is_likelier_at(&mut self, at: u64, angle: f64, away: f64) -> Result<bool, Error> {
        let off = |phases: &mut Self| Ok(apart(angle, phases.once(at)?));
        self.is_likelier_zero(off, self.noise.powi(2), away)
    }

    /// Whether the angle between the ends of two blocks is this rather than `away` revolutions or
    /// more off, whatever is wrong with the clock.
    pub fn is_likelier_between(
        &mut self,
        (from, to): (u64, u64),
        angle: f64,
        away: f64,
    ) -> Result<bool, Error> {
        let off = |phases: &mut Self| {
            let from = phases.once(from)?;
            Ok(apart(from + angle, phases.once(to)?))
        };
        self.is_likelier_zero(off, 2.0 * self.noise.powi(2), away)
    }

    /// Whether an angle, measured again and again, is zero rather than `away` revolutions or more:
    /// Wald's sequential test, as one measurement tells little.
    fn is_likelier_zero(
        &mut self,
        mut once: impl FnMut(&mut Self) -> Result<f64, Error>,
        variance: f64,
        away: f64,
    ) -> Result<bool, Error> {
        let usual = 2.0 * SURE.1 * variance / away.powi(2);
        let max = (3.0 * usual).clamp(20.0, f64::from(Self::READS_MAX));
        // Later angles count from the first: half a revolution off is not off to either side.
        let first = once(self)?;
        let mut sum = first;
        let mut n = 1.0;
        loop {
            let middle = n * away / 2.0;
            let odds = away * (middle - sum.abs()) / variance;
            // One read that comes late may have waited for something else than the platter.
            if odds > SURE.0 || odds < -SURE.1 && n > 1.0 || n >= max {
                return Ok(odds > 0.0);
            }
            sum += first + apart(first, once(self)?);
            n += 1.0;
        }
    }
}

/// From one angle to another, in -1/2 to 1/2 revolutions.
pub(super) fn apart(from: f64, to: f64) -> f64 {
    let off = to - from;
    off - off.round()
}
