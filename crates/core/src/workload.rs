//! Synthetic requests: the uniformly random workload of the classic studies.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::request::{Op, Request};
use crate::units::{Instant, Lbn, SectorCount, Span};

/// What every random number of a run comes from: PCG XSL 128/64 (MCG), named here because runs
/// are compared to the bit for years.
type Generator = Pcg64Mcg;

/// The workload of worthington94 section 5 and what varies in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Random {
    /// Size of every request.
    pub sectors: SectorCount,
    /// Share of reads, from 0 to 1.
    pub read_fraction: f64,
    /// Blocks of the disk. Requests begin at multiples of their size, uniformly over the disk.
    pub disk: SectorCount,
}

/// A stream of requests without times.
#[derive(Clone, Debug)]
pub struct Requests {
    generator: Generator,
    what: Random,
    /// Places where a request may begin.
    places: u64,
    /// A draw of 64 bits below this is a read.
    read_below: u64,
    next_id: u64,
}

impl Random {
    /// 8 KB in sectors of 512 bytes, reads to writes 2:1, over `disk` blocks.
    pub fn worthington94(disk: SectorCount) -> Self {
        Self {
            sectors: SectorCount(16),
            read_fraction: 2.0 / 3.0,
            disk,
        }
    }

    /// The stream that `seed` gives.
    ///
    /// # Panics
    /// When the disk has no room for a request, or the share of reads is not within 0 and 1.
    pub fn requests(self, seed: u64) -> Requests {
        assert!(
            (0.0..=1.0).contains(&self.read_fraction),
            "share of reads: {self:?}"
        );
        let places = self.disk.0 / self.sectors.0.max(1);
        assert!(
            self.sectors.0 > 0 && places > 0,
            "no room for a request: {self:?}"
        );
        Requests {
            generator: Generator::seed_from_u64(seed),
            what: self,
            places,
            read_below: (self.read_fraction * 2f64.powi(64)) as u64,
            next_id: 0,
        }
    }
}

/// A uniform number in `[0, bound)`: the high half of a product, off by less than
/// `bound / 2^64` in probability.
#[inline]
fn below(generator: &mut Generator, bound: u64) -> u64 {
    ((u128::from(generator.next_u64()) * u128::from(bound)) >> 64) as u64
}

impl Iterator for Requests {
    type Item = Request;

    #[inline]
    fn next(&mut self) -> Option<Request> {
        let Random {
            sectors,
            read_fraction,
            ..
        } = self.what;
        let reads = self.generator.next_u64() < self.read_below || read_fraction >= 1.0;
        let start = Lbn(below(&mut self.generator, self.places) * sectors.0);
        let id = self.next_id;
        self.next_id += 1;
        Some(Request {
            id,
            op: if reads { Op::Read } else { Op::Write },
            start,
            sectors,
        })
    }
}

/// Poisson arrivals: exponential pauses, independent of everything else.
#[derive(Clone, Debug)]
pub struct Poisson {
    generator: Generator,
    mean: Span,
    now: Instant,
}

impl Poisson {
    /// Arrivals `mean` apart on average, from the stream that `seed` gives (another than the
    /// one of [`Random::requests`] with the same seed).
    ///
    /// # Panics
    /// When the mean is not positive.
    pub fn new(mean: Span, seed: u64) -> Self {
        assert!(mean > Span::ZERO, "mean pause: {mean}");
        let generator = Generator::seed_from_u64(seed ^ 0x5bd1_e995_9d1b_58d3);
        Self {
            generator,
            mean,
            now: Instant::START,
        }
    }
}

impl Iterator for Poisson {
    type Item = Instant;

    #[inline]
    fn next(&mut self) -> Option<Instant> {
        let pause: f64 = rand_distr::Distribution::sample(&rand_distr::Exp1, &mut self.generator);
        self.now += Span::from_ns((pause * self.mean.as_ns() as f64) as i64);
        Some(self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: SectorCount = SectorCount(2_054_864);
    const N: usize = 200_000;

    #[test]
    fn two_thirds_are_reads_and_places_are_uniform() {
        let mut reads = 0;
        let mut sum = 0.0;
        for r in Random::worthington94(DISK).requests(1).take(N) {
            reads += usize::from(r.op.is_read());
            assert!(r.start.0 % 16 == 0 && r.end().0 <= DISK.0);
            sum += r.start.0 as f64 / DISK.0 as f64;
        }
        // Five standard deviations of a binomial share and of a mean of uniforms.
        let n = N as f64;
        assert!((reads as f64 / n - 2.0 / 3.0).abs() < 5.0 * (2.0 / 9.0 / n).sqrt());
        assert!((sum / n - 0.5).abs() < 5.0 * (1.0 / 12.0 / n).sqrt());
    }

    #[test]
    fn pauses_are_exponential() {
        let mean = Span::from_ms(31.2);
        let mut last = Instant::START;
        let (mut sum, mut squares) = (0.0, 0.0);
        for at in Poisson::new(mean, 7).take(N) {
            let pause = (at - last).as_ms() / mean.as_ms();
            last = at;
            sum += pause;
            squares += pause * pause;
        }
        // Mean 1, second moment 2 with variance 24 - 4 = 20.
        let n = N as f64;
        assert!((sum / n - 1.0).abs() < 5.0 / n.sqrt());
        assert!((squares / n - 2.0).abs() < 5.0 * (20.0 / n).sqrt());
    }

    #[test]
    fn a_seed_gives_one_stream_for_good() {
        // Drawn once and kept: a change here changes every recorded result.
        let starts: Vec<u64> = Random::worthington94(DISK)
            .requests(1)
            .take(3)
            .map(|r| r.start.0)
            .collect();
        assert_eq!(starts, FIRST_STARTS);
    }

    const FIRST_STARTS: [u64; 3] = [282_640, 1_492_336, 1_144_864];
}
