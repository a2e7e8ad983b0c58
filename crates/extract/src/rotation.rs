//! The rotation period (worthington96 section 5.5).
//!
//! # Hypothesis
//! The drive rotates at a constant speed. A command that is served from the media ends at the same
//! angle each time it is repeated, so the times between completions are whole revolutions.
//!
//! # Test vector
//! The paper writes one block repeatedly. Here it is read with force unit access, so that no data
//! are lost. Reads without delay give the period to about a microsecond. Then pauses between reads
//! increase, but only as far as the number of revolutions in between is certain. The precision
//! depends on the time from the first read to the last, not on the number of reads.
//!
//! A drive that reads ahead for some revolutions seems to rotate more slowly if the next read
//! follows immediately. If reads after pauses end at another angle, reads at random times are used.
//!
//! Drives from 1992 may ignore force unit access and serve the reads from the buffer. Such reads
//! end at varying angles, or in less than three quarters of a revolution. In that case, enough
//! other blocks are read in between to evict the block from the buffer.
//!
//! # Decision
//! The first estimate is the largest period between 3 and 25 ms (20,000 and 2,400 revolutions a
//! minute) for which the initial completions are at the same angle. The result is the slope of a
//! line through completion times against the number of revolutions.
//!
//! # Confidence
//! The 95 % interval of the slope, given how much completions deviate from the line.
//!
//! # Cost
//! About 50 commands, or 600 if completions deviate by more than a microsecond.

use diskarm_core::random::below;
use diskarm_core::units::{Lbn, Span};
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

use crate::estimate::Line;
use crate::{Disk, Effort, Error};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rotation {
    pub period_ns: f64,
    /// Half the width of the 95 % confidence interval, in nanoseconds.
    pub uncertainty_ns: f64,
    /// Standard deviation of completion times from the expected ones, in nanoseconds.
    pub scatter_ns: f64,
    pub samples: u64,
    pub rereads: Rereads,
}

/// The source of the data when a block is read again with force unit access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rereads {
    /// The media, as SBC-3 requires for force unit access.
    FromMedia,
    /// The buffer, because the drive ignores force unit access.
    FromBuffer,
}

const PERIODS_NS: (f64, f64) = (3e6, 25e6);
/// Number of initial reads without delay.
const INITIAL: usize = 24;
/// Time per initial read above which reads count as slow: a revolution at 3,300 per minute.
const SLOW_NS: f64 = 18e6;
/// Minimum number of pauses if initial reads are slow.
const MIN_PAUSES: usize = 6;
/// Number of reads after random pauses, and the longest pause in nanoseconds.
const READS_AFTER_PAUSES: usize = 12;
const PAUSE_NS: u64 = 250_000_000;
/// Number of reads of other blocks that evict a block from the buffer.
const EVICTING_READS: usize = 24;
/// If completions deviate by more than this, in nanoseconds, more samples are needed.
const CALM_NS: f64 = 1e3;
/// Minimum deviation of an outlier, in standard deviations of the other completions.
const OUTLIER_DEVIATIONS: f64 = 6.0;

/// Measures the rotation period, using only reads.
pub fn measure(disk: &mut Disk<'_>, effort: Effort, seed: u64) -> Result<Rotation, Error> {
    let mut generator = Pcg64Mcg::seed_from_u64(seed);
    warm_up(disk, &mut generator)?;
    let block = random_block(disk, &mut generator);
    match Reader::new(disk, block, 0).measure(effort, &mut generator) {
        Err(Error::Undecided(_)) => {
            Reader::new(disk, block, EVICTING_READS).measure(effort, &mut generator)
        }
        result => result,
    }
}

/// Sends twenty random reads: after being idle, a drive may be slow at first (section 5.2).
pub(crate) fn warm_up(disk: &mut Disk<'_>, generator: &mut Pcg64Mcg) -> Result<(), Error> {
    for _ in 0..20 {
        let at = random_block(disk, generator);
        if let Err(error) = disk.read(at, 1)
            && !error.is_medium_error()
        {
            return Err(error);
        }
    }
    Ok(())
}

fn random_block(disk: &Disk<'_>, generator: &mut Pcg64Mcg) -> Lbn {
    Lbn(below(generator, disk.sectors().0))
}

struct Reader<'a, 'd> {
    disk: &'a mut Disk<'d>,
    block: Lbn,
    /// Number of reads of other blocks before each read of `block`.
    others: usize,
    /// Completion times of the reads of the block, in nanoseconds.
    ends: Vec<f64>,
    services: Vec<Span>,
}

impl<'a, 'd> Reader<'a, 'd> {
    fn new(disk: &'a mut Disk<'d>, block: Lbn, others: usize) -> Self {
        Self {
            disk,
            block,
            others,
            ends: Vec::new(),
            services: Vec::new(),
        }
    }

    fn read(&mut self, generator: &mut Pcg64Mcg) -> Result<f64, Error> {
        for _ in 0..self.others {
            let at = random_block(self.disk, generator);
            self.disk.read(at, 1)?;
        }
        let read = self.disk.read_media(self.block, 1)?;
        let ended = read.ended.as_ns() as f64;
        self.ends.push(ended);
        self.services.push(read.service());
        Ok(ended)
    }

    fn measure(&mut self, effort: Effort, generator: &mut Pcg64Mcg) -> Result<Rotation, Error> {
        // The first read does not follow another read of the block.
        for _ in 0..=INITIAL {
            self.read(generator)?;
        }
        let period = self.coherent_period().ok_or_else(|| {
            let reason = "rotation: reads of one block do not end at the same angle for any \
                          rotation period from 3 to 25 ms; delays in the host, or between it and \
                          the drive, may vary too much";
            Error::Undecided(reason.to_owned())
        })?;
        self.refuse_buffered(period)?;
        let mut fit = self.fit(period)?;
        let mut is_long = self.lengthen(&mut fit, effort, generator);
        // One noisy completion may be late.
        let late = u32::from(fit.line.scatter() > CALM_NS);
        if fit.missed > late
            && let Some(period) = self.after_pauses(generator)?
        {
            fit = self.fit(period)?;
            is_long = self.lengthen(&mut fit, effort, generator);
        }
        is_long?;
        let rereads = match self.others {
            0 => Rereads::FromMedia,
            _ => Rereads::FromBuffer,
        };
        Ok(Rotation {
            period_ns: fit.period(),
            uncertainty_ns: fit.uncertainty(),
            scatter_ns: fit.line.scatter(),
            samples: fit.line.points(),
            rereads,
        })
    }

    fn fit(&self, period: f64) -> Result<Fit, Error> {
        let mut fit = Fit::new(self.ends[0], period);
        for &ended in &self.ends {
            fit.add(ended)?;
        }
        Ok(fit)
    }

    fn after_pauses(&mut self, generator: &mut Pcg64Mcg) -> Result<Option<f64>, Error> {
        for _ in 0..READS_AFTER_PAUSES {
            let pause = below(generator, PAUSE_NS);
            self.disk.sleep(Span::from_ns(pause as i64));
            self.read(generator)?;
        }
        Ok(coherent_period(&self.ends))
    }

    /// Fails if most repeated reads of a block take less than three quarters of a revolution.
    fn refuse_buffered(&self, period: f64) -> Result<(), Error> {
        let again = &self.services[1..];
        let short = |service: &&Span| (service.as_ns() as f64) < 0.75 * period;
        if self.others == 0 && 2 * again.iter().filter(short).count() > again.len() {
            let reason = "rotation: repeated reads of a block are served from the buffer";
            return Err(Error::Undecided(reason.to_owned()));
        }
        Ok(())
    }

    /// Reads after increasing pauses until the interval is narrow enough or time runs out.
    fn lengthen(
        &mut self,
        fit: &mut Fit,
        effort: Effort,
        generator: &mut Pcg64Mcg,
    ) -> Result<(), Error> {
        // Target half-width of the interval, maximum time from the first read to the last, both in
        // nanoseconds, and number of extra reads on a noisy drive.
        let (target_width, time, reads) =
            effort.choose([(4.0, 10e9, 50), (2.0, 40e9, 250), (1.0, 120e9, 500)]);
        let is_noisy = fit.line.scatter() > CALM_NS && self.others == 0;
        let mut left = if is_noisy { reads } else { 0 };
        for _ in 0..left {
            fit.add(self.read(generator)?)?;
        }
        // Each pause doubles the total time, unless the number of revolutions would be uncertain.
        let before = self.ends.len();
        let is_slow = self.ends[before - 1] - self.ends[0] > INITIAL as f64 * SLOW_NS;
        let min = if is_slow { MIN_PAUSES } else { 0 };
        for _ in 0..64 {
            let so_far = self.ends[self.ends.len() - 1] - self.ends[0];
            let pauses = self.ends.len() - before;
            if so_far > 1e9 && fit.uncertainty() <= target_width && pauses >= min {
                return Ok(());
            }
            if so_far >= time {
                break;
            }
            let pause = so_far.min(fit.certain_for()).min(time - so_far);
            self.disk.sleep(Span::from_ns(pause as i64));
            fit.add(self.read(generator)?)?;
        }
        while left > 0 && fit.uncertainty() > target_width {
            fit.add(self.read(generator)?)?;
            left -= 1;
        }
        Ok(())
    }

    /// Returns the largest period at which all completions, or all but one noisy one, are in phase.
    fn coherent_period(&self) -> Option<f64> {
        let all = coherent_period(&self.ends);
        if all.is_some_and(|period| scatter(&self.ends, period) < CALM_NS) {
            return all;
        }
        let without = |late: usize| {
            let mut others = self.ends.clone();
            let end = others.remove(late);
            let period = coherent_period(&others)?;
            let is_late = |all: f64| {
                let turns = (end - others[0]) / all - direction(&others, all).1;
                (turns - turns.round()).abs() * all > OUTLIER_DEVIATIONS * scatter(&others, period)
            };
            (all.is_none_or(is_late)).then_some(period)
        };
        let periods = (0..self.ends.len()).filter_map(without);
        periods.chain(all).reduce(f64::max)
    }
}

/// Returns the length of the mean vector of completions, and its angle from the first, in turns.
fn direction(ends: &[f64], period: f64) -> (f64, f64) {
    let turns = ends.iter().map(|end| (end - ends[0]) / period);
    let (cos, sin) = turns.fold((0.0, 0.0), |(cos, sin), turns| {
        let angle = std::f64::consts::TAU * turns.fract();
        (cos + angle.cos(), sin + angle.sin())
    });
    let length = f64::hypot(cos, sin) / ends.len() as f64;
    (length, sin.atan2(cos) / std::f64::consts::TAU)
}

/// Returns the standard deviation of completions from their mean angle, in nanoseconds.
fn scatter(ends: &[f64], period: f64) -> f64 {
    let (_, phase) = direction(ends, period);
    let squares = ends.iter().map(|end| {
        let turns = (end - ends[0]) / period - phase;
        (turns - turns.round()).powi(2)
    });
    period * (squares.sum::<f64>() / ends.len() as f64).sqrt()
}

/// Returns the largest period at which completions are in phase.
fn coherent_period(ends: &[f64]) -> Option<f64> {
    let span = ends[ends.len() - 1] - ends[0];
    // Completions within one revolution would be in phase at long periods.
    if span < PERIODS_NS.1 {
        return None;
    }
    let coherence = |period: f64| direction(ends, period).0;
    let mut period = PERIODS_NS.1;
    while period > PERIODS_NS.0 {
        // A step changes the angle of the last completion by a sixteenth of a revolution.
        let step = period * period / (16.0 * span);
        if coherence(period) > 0.95 {
            let mut best = period;
            // Climb the peak, then refine its position in smaller steps.
            while best - step > 0.0 && coherence(best - step) > coherence(best) {
                best -= step;
            }
            let mut width = step / 2.0;
            while width > 1.0 {
                for near in [best - width, best + width] {
                    if coherence(near) > coherence(best) {
                        best = near;
                    }
                }
                width /= 2.0;
            }
            // With noise of 0.1 ms at 10,000 revolutions a minute, the coherence is still 0.994.
            if coherence(best) > 0.985 {
                return Some(best);
            }
            period = period.min(best);
        }
        period -= step;
    }
    None
}

/// A line through completion times against the number of revolutions.
struct Fit {
    first: f64,
    period: f64,
    line: Line,
    missed: u32,
}

impl Fit {
    fn new(first: f64, period: f64) -> Self {
        Self {
            first,
            period,
            line: Line::new(1.0),
            missed: 0,
        }
    }

    fn period(&self) -> f64 {
        self.period + self.line.slope(0.0)
    }

    /// Returns half the 95 % interval of the slope. The host clock resolves one nanosecond.
    fn uncertainty(&self) -> f64 {
        2.0 * self.line.slope_deviation(self.line.scatter().max(0.5))
    }

    /// Returns the longest pause after which the number of revolutions is certain.
    fn certain_for(&self) -> f64 {
        self.period * (self.period / 6.0 - 4.0 * self.line.scatter()).max(0.0)
            / self.uncertainty().max(1e-3)
    }

    /// Records a completion unless it deviates by a quarter of a revolution or more.
    fn add(&mut self, ended: f64) -> Result<(), Error> {
        let since = ended - self.first;
        let is_known = self.line.points() >= 3;
        let so_far = if is_known { self.line.slope(0.0) } else { 0.0 };
        let turns = (since / (self.period + so_far)).round();
        let expected = if is_known {
            self.line.value(turns, 0.0)
        } else {
            0.0
        };
        let late = since - turns * self.period;
        if (late - expected).abs() > self.period / 4.0 {
            self.missed += 1;
            if self.missed > 8 {
                let reason = "rotation: more than eight reads ended at unexpected angles";
                return Err(Error::Undecided(reason.to_owned()));
            }
            return Ok(());
        }
        self.line.add(turns, late);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_within_a_revolution_have_no_period() {
        for apart_us in [1.0, 20.0, 150.0, 900.0] {
            let ends: Vec<f64> = (0..=INITIAL).map(|n| n as f64 * apart_us * 1e3).collect();
            assert_eq!(coherent_period(&ends), None, "{apart_us} us");
        }
    }

    #[test]
    fn completions_a_revolution_apart_have_its_period() {
        let ends: Vec<f64> = (0..=INITIAL).map(|n| n as f64 * 8_333_333.0).collect();
        let period = coherent_period(&ends).expect("a period");
        assert!((period - 8_333_333.0).abs() < 1_000.0, "{period}");
    }
}
